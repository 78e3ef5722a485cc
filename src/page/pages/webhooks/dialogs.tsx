import { useState } from 'preact/hooks'

import { Copyable, Secret } from '../../components/base/copyable.tsx'
import { Dialog, FormDialog } from '../../components/base/dialog.tsx'
import { Checkbox, ChoiceField, TextField } from '../../components/base/field.tsx'
import { assignErrors, Notice } from '../../components/base/notice.tsx'
import { Time } from '../../components/base/time.tsx'
import { notify } from '../../components/base/toast.tsx'
import { useCurrentUser } from '../../hooks/contexts.ts'
import { useAction } from '../../hooks/use-action.ts'
import { postJson } from '../../lib/api.ts'
import type { SecretRotated, Webhook, WebhookCreated } from '../../lib/types.ts'
import { guessKind, ServiceFields, typedCredentials } from './services.tsx'

export function WebhookNewDialog({ close, again }: { close: () => void; again: () => void }) {
  const { monitor_path, webhook_kinds } = useCurrentUser()
  const [url, setUrl] = useState('')
  const [kind, setKind] = useState<string>('')
  const [name, setName] = useState('')
  const [typed, setTyped] = useState({ token: '', username: '' })
  const [webhook, setWebhook] = useState<WebhookCreated | null>(null)
  const action = useAction()
  const guessed = guessKind(url, webhook_kinds)
  const effective = kind === '' ? guessed : webhook_kinds.find(({ name: it }) => it === kind)

  async function create() {
    const answer = await action.run(() =>
      postJson<WebhookCreated>(`${monitor_path}/webhook/create`, {
        url: url.trim(),
        ...(kind !== '' && { kind }),
        ...(name.trim() !== '' && { name: name.trim() }),
        ...typedCredentials(effective, typed),
      }),
    )
    if (!answer.ok) return
    setWebhook(answer.value)
    again()
  }

  if (webhook !== null) return <WebhookCreatedDialog webhook={webhook} close={close} />
  const { errorOf, rest } = assignErrors(action.failure, [
    'url',
    'kind',
    'name',
    'token',
    'username',
  ])
  return (
    <FormDialog
      title="New webhook"
      does="Create"
      doing="Creating …"
      busy={action.busy}
      failure={rest}
      submit={create}
      close={close}
    >
      <TextField
        label="URL"
        hint={
          effective === undefined
            ? 'An https:// URL of your own, a Slack or Discord webhook URL, or mailto:you@example.com'
            : `${effective.address}.`
        }
        error={errorOf('url')}
        inputMode="url"
        value={url}
        spellcheck={false}
        autocapitalize="none"
        change={setUrl}
      />
      <ChoiceField<string>
        label="Kind"
        hint={guessed && kind === '' ? `Detected: ${guessed.label}.` : undefined}
        error={errorOf('kind')}
        value={kind}
        options={[
          ['', 'detect from the URL'],
          ...webhook_kinds.map((it) => [it.name, it.label] as const),
        ]}
        change={setKind}
      />
      <NameField value={name} error={errorOf('name')} change={setName} />
      <ServiceFields kind={effective} typed={typed} change={setTyped} errorOf={errorOf} />
    </FormDialog>
  )
}

type NameFieldProps = { value: string; error: string | null; change: (name: string) => void }

const NameField = (props: NameFieldProps) => (
  <TextField
    {...props}
    label="Name"
    hint="Optional. Shown in place of the address."
    maxLength={100}
  />
)

function WebhookCreatedDialog({ webhook, close }: { webhook: WebhookCreated; close: () => void }) {
  const signed = webhook.kind === 'webhook'
  return (
    <Dialog title="Webhook created" close={close}>
      <p>
        Kind: <strong>{webhook.kind}</strong>
        {webhook.kind_inferred_from !== null && `, inferred from ${webhook.kind_inferred_from}`}.
      </p>
      {webhook.confirmation !== undefined && (
        <Notice tone={webhook.confirmation === 'sent' ? 'plain' : 'warn'}>
          {webhook.confirmation === 'sent'
            ? 'A confirmation email was sent. Deliveries start once its link is opened.'
            : `The confirmation email could not be sent (${webhook.confirmation}). A test sends it again.`}
        </Notice>
      )}
      <Notice tone="warn">
        <p>
          <strong>The signing secret is shown only once.</strong>{' '}
          {signed
            ? 'Your receiver needs it to verify signatures.'
            : 'This kind does not use it; store it anyway.'}
        </p>
      </Notice>
      <Secret text={webhook.secret} close={close} />
    </Dialog>
  )
}

type WebhookEditDialogProps = { webhook: Webhook; close: () => void; again: () => void }

export function WebhookEditDialog({ webhook, close, again }: WebhookEditDialogProps) {
  const { monitor_path, webhook_kinds } = useCurrentUser()
  const kind = webhook_kinds.find((it) => it.name === webhook.kind)
  const [url, setUrl] = useState(webhook.url)
  const [name, setName] = useState(webhook.name ?? '')
  const [active, setActive] = useState(webhook.active)
  const [pace, setPace] = useState(String(webhook.max_per_second ?? ''))
  const [ordered, setOrdered] = useState(webhook.ordered)
  const wasAsymmetric = webhook.public_key !== undefined
  const [asymmetric, setAsymmetric] = useState(wasAsymmetric)
  const [events, setEvents] = useState(webhook.events)
  const [typed, setTyped] = useState({ token: '', username: '' })
  const action = useAction()
  const paceText = pace.trim()
  const moved = url.trim() !== webhook.url

  async function save() {
    const answer = await action.run(() =>
      postJson(`${monitor_path}/webhook/update`, {
        id: webhook.id,
        ...(moved && { url: url.trim() }),
        name: name.trim() === '' ? null : name.trim(),
        // Sent only if changed: an email webhook that awaits confirmation keeps its state.
        ...(active !== webhook.active && { active }),
        max_per_second:
          paceText === '' ? null : /^\d+(\.\d+)?$/.test(paceText) ? Number(paceText) : paceText,
        ordered,
        ...(asymmetric !== wasAsymmetric && {
          signatures: asymmetric ? ['v1', 'v1a'] : ['v1'],
        }),
        ...(events !== webhook.events && { events }),
        ...typedCredentials(kind, typed),
      }),
    )
    if (!answer.ok) return
    notify(moved ? 'Saved. Test the new address.' : 'Saved.')
    close()
    again()
  }
  const { errorOf, rest } = assignErrors(action.failure, [
    'url',
    'name',
    'max_per_second',
    'events',
    'token',
    'username',
  ])
  return (
    <FormDialog
      title="Edit webhook"
      does="Save"
      busy={action.busy}
      failure={rest}
      submit={save}
      close={close}
    >
      {webhook.kind !== 'email' && (
        <TextField
          label="URL"
          hint={`An address of the same kind, ${kind?.label ?? webhook.kind}.${webhook.has_credentials ? ' A new URL needs the token or password again.' : ' The signing secret stays.'}`}
          error={errorOf('url')}
          inputMode="url"
          value={url}
          spellcheck={false}
          autocapitalize="none"
          change={setUrl}
        />
      )}
      <NameField value={name} error={errorOf('name')} change={setName} />
      <TextField
        label="Rate limit"
        hint="Deliveries per second, such as 0.5. Empty: no limit."
        error={errorOf('max_per_second')}
        inputMode="decimal"
        value={pace}
        change={setPace}
      />
      <ServiceFields kind={kind} typed={typed} change={setTyped} errorOf={errorOf} stored />
      <Checkbox label="Active" checked={active} change={setActive} />
      <Checkbox
        label="Ordered: one delivery at a time, in the order of each monitor"
        checked={ordered}
        change={setOrdered}
      />
      {webhook.kind === 'webhook' && (
        <>
          <Checkbox
            label="Sign with a key pair too (v1a, Ed25519)"
            checked={asymmetric}
            change={setAsymmetric}
          />
          {webhook.public_key !== undefined && (
            <Copyable text={webhook.public_key} label="Public key" />
          )}
        </>
      )}
      {kind?.takes_events &&
        ITEM_EVENTS.map(([event, label]) => (
          <Checkbox
            key={event}
            label={label}
            checked={events.includes(event)}
            change={(on) =>
              setEvents(on ? [...events, event] : events.filter((it) => it !== event))
            }
          />
        ))}
    </FormDialog>
  )
}

const ITEM_EVENTS = [
  ['item.deleted', 'Notify when a delivered item is deleted'],
  ['item.edited', 'Notify when a delivered item is edited'],
] as const

const OVERLAPS = [
  ['0', 'not at all'],
  ['600', '10 minutes'],
  ['3600', 'an hour'],
  ['86400', 'a day'],
] as const

export function WebhookRotateDialog({ webhook, close }: { webhook: Webhook; close: () => void }) {
  const { monitor_path } = useCurrentUser()
  const [overlap, setOverlap] = useState<string>('3600')
  const [rotation, setRotation] = useState<SecretRotated | null>(null)
  const action = useAction()
  async function rotate() {
    const answer = await action.run(() =>
      postJson<SecretRotated>(`${monitor_path}/webhook/rotate`, {
        id: webhook.id,
        overlap_s: Number(overlap),
      }),
    )
    if (answer.ok) setRotation(answer.value)
  }
  if (rotation !== null)
    return (
      <Dialog title="New secret" close={close}>
        <Notice tone="warn">
          <p>
            <strong>Shown only once.</strong>{' '}
            {rotation.old_secret_until === null ? (
              'The old secret is no longer used.'
            ) : (
              <>
                The old secret also signs; it expires <Time at={rotation.old_secret_until} />.
              </>
            )}
          </p>
        </Notice>
        <Secret text={rotation.secret} close={close} />
      </Dialog>
    )
  return (
    <FormDialog
      title="Rotate the secret?"
      does="Rotate secret"
      busy={action.busy}
      failure={action.failure}
      submit={rotate}
      close={close}
    >
      <p>
        Deliveries can be signed with both secrets for a while, so that your receiver can switch
        without losing any.
      </p>
      <ChoiceField<string>
        label="Keep signing with the old secret for"
        value={overlap}
        options={OVERLAPS}
        change={setOverlap}
      />
    </FormDialog>
  )
}
