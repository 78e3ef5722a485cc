import { useState } from 'preact/hooks'

import { Secret } from '../../components/base/copyable.tsx'
import { Confirm, Dialog } from '../../components/base/dialog.tsx'
import { Icon } from '../../components/base/icon.tsx'
import { Notice } from '../../components/base/notice.tsx'
import { notify } from '../../components/base/toast.tsx'
import { SchemaDialog } from '../../components/form.tsx'
import { useCurrentUser } from '../../hooks/contexts.ts'
import { useQuery } from '../../hooks/use-query.ts'
import { postJson } from '../../lib/api.ts'
import { dashboardPath, go, useDialogOf } from '../../lib/route.tsx'
import type {
  CustomerAction,
  CustomerInFull,
  FormField,
  KeyIssued,
  Plans,
} from '../../lib/types.ts'

type Props = { close: () => void; again: () => void }
type OfCustomer = Props & { customer: CustomerInFull }

export function NewCustomer() {
  const [open, setOpen] = useState(false)
  return (
    <>
      <button type="button" class="main" onClick={() => setOpen(true)}>
        <Icon name="plus" /> New customer
      </button>
      {open && <NewCustomerDialog close={() => setOpen(false)} />}
    </>
  )
}

/** Fields with the plans of the configuration. */
function usePlans(fields: readonly FormField[]): FormField[] {
  const names = useQuery<Plans>('/operator/plans').value?.plans ?? []
  return fields.map((it) =>
    it.name === 'change plan' ? { ...it, options: names.map((name) => [name, name] as const) } : it,
  )
}

function NewCustomerDialog({ close }: { close: () => void }) {
  const { forms } = useCurrentUser()
  const plans = useQuery<Plans>('/operator/plans')
  const fields = usePlans(forms['customer'] ?? [])
  if (plans.value === undefined) return null
  return (
    <SchemaDialog<{ id: string; name: string }>
      title="New customer"
      does="Create"
      doing="Creating …"
      fields={fields}
      start={{ plan: plans.value.default_plan }}
      path="/operator/customers"
      done={({ id, name }) => {
        close()
        go(dashboardPath('customers', id))
        notify(`${name} created. Its first key is next.`)
      }}
      close={close}
    />
  )
}

export function CustomerActions({ customer, again }: Pick<OfCustomer, 'customer' | 'again'>) {
  const { customer_actions } = useCurrentUser()
  const wanted = useDialogOf('do')
  const [opened, setOpen] = useState<string | null>(null)
  const open = opened ?? wanted.of
  const close = () => {
    setOpen(null)
    wanted.close()
  }
  const action = customer_actions.find(({ name }) => name === open)
  return (
    <>
      <button type="button" class="main" onClick={() => setOpen('key')}>
        <Icon name="plus" /> New key
      </button>
      {customer_actions.map(({ name }) => (
        <button key={name} type="button" onClick={() => setOpen(name)}>
          {capital(name)}
        </button>
      ))}
      {open === 'key' && <KeyDialog customer={customer} again={again} close={close} />}
      {action && <ActionDialog {...{ action, customer, again, close }} />}
    </>
  )
}

const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1)

function ActionDialog({ action, customer, close, again }: OfCustomer & { action: CustomerAction }) {
  const { name, summary, path } = action
  return (
    <SchemaDialog
      title={`${capital(name)}: ${customer.name}`}
      does={capital(name)}
      fields={usePlans(action.fields)}
      start={name === 'plan' ? { plan: customer.plan } : {}}
      path={`/operator${path.replace(':customer', encodeURIComponent(customer.id))}`}
      done={() => {
        notify('Done.')
        close()
        again()
      }}
      close={close}
    >
      <p>{capital(summary)}.</p>
    </SchemaDialog>
  )
}

const SCOPES = [
  ['read', 'read: posts, comments, users, search'],
  ['write', 'write: comment, vote, message, drafts'],
  ['monitor', 'monitor: monitors, deliveries, inbox'],
  ['webhook', 'webhook: where matches are sent (not for a model)'],
  ['approve', 'approve: drafts, by a question of an MCP client'],
  ['operator', 'operator: sources, accounts and customers of this daemon'],
] as const
/** Trust the client or the holder of the key, so they are selected on purpose only. */
const UNSELECTED: readonly string[] = ['approve', 'operator']

function KeyDialog({ customer, close, again }: OfCustomer) {
  const { forms } = useCurrentUser()
  const [issued, setIssued] = useState<KeyIssued | null>(null)
  if (issued !== null)
    return (
      <Dialog title="Key created" close={close}>
        <Notice tone="warn">
          <p>
            <strong>The key is shown only once.</strong> Only its hash is stored. Give it to{' '}
            {customer.name}: it is the password of the API and of the dashboard.
          </p>
        </Notice>
        <Secret text={issued.key} close={close} />
      </Dialog>
    )
  return (
    <SchemaDialog<KeyIssued>
      title={`New key of ${customer.name}`}
      does="Create key"
      doing="Creating …"
      fields={(forms['key'] ?? []).map((it) =>
        it.name === 'scopes' ? { ...it, options: SCOPES } : it,
      )}
      start={{ scopes: SCOPES.map(([it]) => it).filter((it) => !UNSELECTED.includes(it)) }}
      more={{ customer: customer.id }}
      path="/operator/keys"
      done={(key) => {
        setIssued(key)
        again()
      }}
      close={close}
    />
  )
}

type RevokeKeyProps = {
  of_key: CustomerInFull['keys'][number]
  again: () => void
}

export function RevokeKey({ of_key: { id, name, prefix }, again }: RevokeKeyProps) {
  const [open, setOpen] = useState(false)
  return (
    <>
      <button
        type="button"
        class="small"
        aria-label={`Revoke ${name ?? prefix}`}
        onClick={() => setOpen(true)}
      >
        Revoke
      </button>
      {open && (
        <Confirm
          title="Revoke this key?"
          does="Revoke key"
          run={() => postJson(`/operator/keys/${encodeURIComponent(id)}/revoke`, {})}
          close={() => setOpen(false)}
          done={() => {
            notify('The key is revoked.')
            again()
          }}
        >
          <p>
            {name ?? `${prefix}…`} stops working at once, and everyone who is signed in with it is
            signed out. This cannot be undone.
          </p>
        </Confirm>
      )}
    </>
  )
}
