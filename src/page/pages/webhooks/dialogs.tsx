import { useState } from 'preact/hooks'

import { Copyable, Secret } from '../../components/base/copyable.tsx'
import { Dialog, FormDialog } from '../../components/base/dialog.tsx'
import { Checkbox, ChoiceField } from '../../components/base/field.tsx'
import { Notice } from '../../components/base/notice.tsx'
import { Time } from '../../components/base/time.tsx'
import { notify } from '../../components/base/toast.tsx'
import { SchemaDialog } from '../../components/form.tsx'
import { useCurrentUser } from '../../hooks/contexts.ts'
import { useAction } from '../../hooks/use-action.ts'
import { postJson } from '../../lib/api.ts'
import type {
  FormField,
  KindForm,
  SecretRotated,
  Webhook,
  WebhookCreated,
} from '../../lib/types.ts'

/** Fields of the form with the kinds by name, the address of the kind, and credentials where it takes them. */
function webhookFields(
  fields: readonly FormField[],
  kinds: readonly KindForm[],
  kind: KindForm | undefined,
  { guessed = false, stored = false }: { guessed?: boolean; stored?: boolean },
): FormField[] {
  return fields.flatMap((it): FormField[] => {
    switch (it.name) {
      case 'url':
        return kind === undefined || stored ? [it] : [{ ...it, hint: `${kind.address}.` }]
      case 'kind': {
        const options = kinds.map(({ name, label }) => [name, label] as const)
        const hint = guessed && kind ? { hint: `Detected: ${kind.label}.` } : {}
        return [{ ...it, ...hint, options: [['', 'detect from the URL'], ...options] }]
      }
      case 'token':
        return kind?.credential
          ? [
              {
                ...it,
                hint: kind.credential.hint,
                label: kind.credential.label,
                ...(stored && { hint: it.hint ?? '' }),
              },
            ]
          : []
      case 'username':
        return kind?.credential?.with_username ? [it] : []
      case 'events':
        return kind?.takes_events ? [{ ...it, options: ITEM_EVENTS }] : []
      default:
        return [it]
    }
  })
}

export function WebhookNewDialog({ close, again }: { close: () => void; again: () => void }) {
  const { monitor_path, webhook_kinds, forms } = useCurrentUser()
  const [webhook, setWebhook] = useState<WebhookCreated | null>(null)
  if (webhook !== null) return <WebhookCreatedDialog webhook={webhook} close={close} />
  return (
    <SchemaDialog<WebhookCreated>
      title="New webhook"
      does="Create"
      doing="Creating …"
      fields={(typed) => {
        const guessed = guessKind(String(typed['url'] ?? ''), webhook_kinds)
        const chosen = webhook_kinds.find(({ name }) => name === typed['kind'])
        return webhookFields(forms['webhook'] ?? [], webhook_kinds, chosen ?? guessed, {
          guessed: chosen === undefined,
        })
      }}
      path={`${monitor_path}/webhook/create`}
      done={(made) => {
        setWebhook(made)
        again()
      }}
      close={close}
    />
  )
}

/** The kind that the daemon will detect from a URL; undefined: unknown. */
export function guessKind(url: string, kinds: readonly KindForm[]): KindForm | undefined {
  const href = URL.parse(url.trim())?.href
  if (href === undefined) return undefined
  return (
    kinds.find(({ infers }) => infers !== null && new RegExp(infers).test(href)) ??
    kinds.find(({ name }) => name === 'webhook')
  )
}

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
  const { monitor_path, webhook_kinds, forms } = useCurrentUser()
  const kind = webhook_kinds.find((it) => it.name === webhook.kind)
  const is_asymmetric = webhook.public_key !== undefined
  const [asymmetric, setAsymmetric] = useState(is_asymmetric)
  const address = `An address of the same kind, ${kind?.label ?? webhook.kind}.${webhook.has_credentials ? ' A new URL needs the token or password again.' : ' The signing secret stays.'}`
  const fields = webhookFields(forms['webhook_update'] ?? [], webhook_kinds, kind, { stored: true })
  return (
    <SchemaDialog<Webhook>
      title="Edit webhook"
      does="Save"
      fields={fields
        .filter(({ name }) => name !== 'url' || webhook.kind !== 'email')
        .map((it) => (it.name === 'url' ? { ...it, hint: address } : it))}
      // Sent only if changed: an email webhook that awaits confirmation keeps its state.
      before={{
        url: webhook.url,
        name: webhook.name ?? '',
        max_per_second: String(webhook.max_per_second ?? ''),
        active: String(webhook.active || ''),
        ordered: String(webhook.ordered || ''),
        events: webhook.events,
      }}
      more={{
        id: webhook.id,
        ...(asymmetric !== is_asymmetric && { signatures: asymmetric ? ['v1', 'v1a'] : ['v1'] }),
      }}
      path={`${monitor_path}/webhook/update`}
      done={({ url }) => {
        notify(url === webhook.url ? 'Saved.' : 'Saved. Test the new address.')
        close()
        again()
      }}
      close={close}
    >
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
    </SchemaDialog>
  )
}

const ITEM_EVENTS = [
  ['item.deleted', 'is deleted'],
  ['item.edited', 'is edited'],
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
