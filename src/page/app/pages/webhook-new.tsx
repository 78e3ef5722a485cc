import { useState } from 'preact/hooks'

import { send } from '../api.ts'
import { useWho } from '../around.ts'
import { useDeed } from '../deed.ts'
import { Dialog } from '../parts/dialog.tsx'
import { Choice, Field, TextField } from '../parts/field.tsx'
import { FormDialog } from '../parts/form-dialog.tsx'
import { Notice, placed } from '../parts/notice.tsx'
import { Secret } from '../parts/secret.tsx'
import type { Webhook, WebhookCreated } from '../types.ts'

const NAMES: Record<Webhook['kind'], string> = {
  webhook: 'webhook',
  slack: 'Slack',
  discord: 'Discord',
  email: 'mail',
}
const KINDS = [['', 'told by the address'] as const, ...Object.entries(NAMES)]

/** Registers a webhook and shows its secret, this once. */
export function WebhookNew({ close, again }: { close: () => void; again: () => void }) {
  const { monitor_path } = useWho()
  const [url, setUrl] = useState('')
  const [kind, setKind] = useState<string>('')
  const [made, setMade] = useState<WebhookCreated | null>(null)
  const deed = useDeed()

  async function create() {
    const answer = await deed.run(() =>
      send<WebhookCreated>(`${monitor_path}/webhook/create`, {
        url: url.trim(),
        ...(kind !== '' && { kind }),
      }),
    )
    if (!answer.ok) return
    setMade(answer.value)
    again()
  }

  if (made !== null) return <Made made={made} close={close} />
  const { errorOf, rest } = placed(deed.failure, ['url', 'kind'])
  return (
    <FormDialog
      title="New webhook"
      does="Register"
      doing="Registering …"
      busy={deed.busy}
      failure={rest}
      submit={create}
      close={close}
    >
      <TextField
        label="Address"
        hint="https://… of your own, of a Slack or Discord channel, or mailto:you@example.com"
        error={errorOf('url')}
        inputMode="url"
        value={url}
        spellcheck={false}
        autocapitalize="none"
        change={setUrl}
      />
      <Field
        label="Kind"
        hint={guess(url) && kind === '' ? `This looks like ${guess(url)}.` : undefined}
        error={errorOf('kind')}
      >
        {(tied) => <Choice<string> {...tied} value={kind} options={KINDS} change={setKind} />}
      </Field>
    </FormDialog>
  )
}

function Made({ made, close }: { made: WebhookCreated; close: () => void }) {
  const signed = made.kind === 'webhook'
  return (
    <Dialog title="Registered" close={close}>
      <p>
        It is of kind <strong>{made.kind}</strong>
        {made.kind_inferred_from !== null && `, told by ${made.kind_inferred_from}`}.
      </p>
      {made.confirmation !== undefined && (
        <Notice tone={made.confirmation === 'sent' ? 'plain' : 'warn'}>
          {made.confirmation === 'sent'
            ? 'A mail with a link was sent: it gets matches once that link is followed.'
            : `The mail with the confirmation link could not be sent (${made.confirmation}). A test sends it again.`}
        </Notice>
      )}
      <Notice tone="warn">
        <p>
          <strong>This is its secret, shown this once.</strong>{' '}
          {signed
            ? 'Your receiver needs it to check signatures.'
            : 'This kind does not use it; keep it all the same.'}
        </p>
      </Notice>
      <Secret text={made.secret} close={close} />
    </Dialog>
  )
}

/** What the daemon will make of an address; it decides by itself. */
function guess(url: string): string | null {
  if (/^mailto:/i.test(url.trim())) return 'mail'
  const host = URL.parse(url.trim())?.hostname ?? ''
  if (host === 'hooks.slack.com') return 'Slack'
  if (host === 'discord.com' || host.endsWith('.discord.com') || host === 'discordapp.com')
    return 'Discord'
  return host === '' ? null : 'a webhook of your own'
}
