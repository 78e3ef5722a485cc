import { useState } from 'preact/hooks'

import { Secret } from '../../components/base/copyable.tsx'
import { CallDialog, Confirm, Dialog } from '../../components/base/dialog.tsx'
import { Checkbox, ChoiceField, TextField } from '../../components/base/field.tsx'
import { Icon } from '../../components/base/icon.tsx'
import { Notice } from '../../components/base/notice.tsx'
import { notify } from '../../components/base/toast.tsx'
import { useCurrentUser } from '../../hooks/contexts.ts'
import { useQuery } from '../../hooks/use-query.ts'
import { callApi, postJson } from '../../lib/api.ts'
import { usd } from '../../lib/format.ts'
import { dashboardPath, go, useDialogOf } from '../../lib/route.tsx'
import { randomName } from '../../lib/runtime.ts'
import type { CustomerAction, CustomerInFull, KeyIssued, Plans } from '../../lib/types.ts'

type Props = { close: () => void; again: () => void }
type OfCustomer = Props & { customer: CustomerInFull }

const pathOf = ({ id }: CustomerInFull, rest: string) =>
  `/operator/customers/${encodeURIComponent(id)}/${rest}`

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

function NewCustomerDialog({ close }: { close: () => void }) {
  const plans = useQuery<Plans>('/operator/plans')
  const [name, setName] = useState('')
  const [plan, setPlan] = useState<string | null>(null)
  return (
    <CallDialog<{ id: string }>
      title="New customer"
      does="Create"
      doing="Creating …"
      fields={['name', 'plan']}
      lacking={plans.failure}
      call={() => postJson('/operator/customers', { name, ...(plan !== null && { plan }) })}
      done={({ id }) => {
        close()
        go(dashboardPath('customers', id))
        notify(`${name} created. Its first key is next.`)
      }}
      close={close}
    >
      {(errorOf) => (
        <>
          <TextField
            label="Name"
            hint="At most 64 characters. It gets the starting credit of the configuration."
            error={errorOf('name')}
            value={name}
            maxLength={64}
            change={setName}
          />
          <PlanField
            plans={plans.value?.plans ?? []}
            value={plan ?? plans.value?.default_plan ?? ''}
            error={errorOf('plan')}
            change={setPlan}
          />
        </>
      )}
    </CallDialog>
  )
}

type PlanFieldProps = {
  plans: readonly string[]
  value: string
  error: string | null
  change: (plan: string) => void
}

const PlanField = ({ plans, value, error, change }: PlanFieldProps) => (
  <ChoiceField<string>
    label="Plan"
    hint="A plan of [plans] in the configuration."
    error={error}
    value={value}
    options={plans.map((it) => [it, it] as const)}
    change={change}
  />
)

const DIALOGS = { key: KeyDialog, credits: CreditDialog, plan: PlanDialog }

export function CustomerActions({ customer, again }: Pick<OfCustomer, 'customer' | 'again'>) {
  const { customer_actions } = useCurrentUser()
  const wanted = useDialogOf('do')
  const [opened, setOpen] = useState<string | null>(null)
  const open = opened ?? wanted.of
  const Opened = open === 'key' || open === 'credits' || open === 'plan' ? DIALOGS[open] : null
  const close = () => {
    setOpen(null)
    wanted.close()
  }
  return (
    <>
      <button type="button" class="main" onClick={() => setOpen('key')}>
        <Icon name="plus" /> New key
      </button>
      <button type="button" onClick={() => setOpen('credits')}>
        Add credits
      </button>
      <button type="button" onClick={() => setOpen('plan')}>
        Change plan
      </button>
      {customer_actions.map(({ name }) => (
        <button key={name} type="button" onClick={() => setOpen(name)}>
          {capital(name)}
        </button>
      ))}
      {Opened && <Opened customer={customer} again={again} close={close} />}
      {customer_actions
        .filter(({ name }) => name === open)
        .map((it) => (
          <ActionDialog key={it.name} action={it} customer={customer} again={again} close={close} />
        ))}
    </>
  )
}

const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1)

/** An action as the daemon publishes it: a text for each of its fields. */
function ActionDialog({ action, customer, close, again }: OfCustomer & { action: CustomerAction }) {
  const { name, summary, path, fields } = action
  const [typed, setTyped] = useState<{ [field: string]: string }>(() =>
    Object.fromEntries(fields.map((field) => [field, ''])),
  )
  return (
    <CallDialog
      title={`${capital(name)} ${customer.name}`}
      does={capital(name)}
      fields={fields}
      call={() =>
        postJson(`/operator${path.replace(':customer', encodeURIComponent(customer.id))}`, typed)
      }
      done={() => {
        notify('Done.')
        close()
        again()
      }}
      close={close}
    >
      {(errorOf) => (
        <>
          <p>{capital(summary)}.</p>
          {fields.map((field) => (
            <TextField
              key={field}
              label={capital(field)}
              error={errorOf(field)}
              value={typed[field] ?? ''}
              change={(text) => setTyped({ ...typed, [field]: text })}
            />
          ))}
        </>
      )}
    </CallDialog>
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
  const [name, setName] = useState('')
  const [scopes, setScopes] = useState<readonly string[]>(
    SCOPES.map(([it]) => it).filter((it) => !UNSELECTED.includes(it)),
  )
  const [expires, setExpires] = useState('')
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
    <CallDialog<KeyIssued>
      title={`New key of ${customer.name}`}
      does="Create key"
      doing="Creating …"
      fields={['name', 'scopes', 'expires_at']}
      call={() =>
        postJson('/operator/keys', {
          customer: customer.id,
          name: name.trim(),
          scopes,
          expires_at: expires.trim() === '' ? null : expires.trim(),
        })
      }
      done={(key) => {
        setIssued(key)
        again()
      }}
      close={close}
    >
      {(errorOf) => (
        <>
          <TextField
            label="Key name"
            hint="Optional. Its purpose, such as the program that uses it."
            error={errorOf('name')}
            value={name}
            maxLength={100}
            change={setName}
          />
          <fieldset>
            <legend>Scopes</legend>
            {SCOPES.map(([scope, label]) => (
              <Checkbox
                key={scope}
                label={label}
                checked={scopes.includes(scope)}
                change={(on) =>
                  setScopes(on ? [...scopes, scope] : scopes.filter((it) => it !== scope))
                }
              />
            ))}
            {errorOf('scopes') && (
              <p class="error" role="alert">
                {errorOf('scopes')}
              </p>
            )}
          </fieldset>
          <TextField
            label="Expires"
            hint="Optional. A day such as 2027-01-31, or an ISO 8601 time with its zone."
            error={errorOf('expires_at')}
            value={expires}
            change={setExpires}
          />
        </>
      )}
    </CallDialog>
  )
}

function CreditDialog({ customer, close, again }: OfCustomer) {
  const [amount, setAmount] = useState('')
  const [note, setNote] = useState('')
  // One name for each dialog: a second click, or a repeat after a lost answer, books nothing.
  const [name, setName] = useState(randomName)
  /** Another payment than the one that may have been booked under the present name. */
  const changed = (change: (text: string) => void) => (text: string) => {
    change(text)
    setName(randomName())
  }
  return (
    <CallDialog<{ credits_remaining: number }>
      title={`Add credits to ${customer.name}`}
      does="Add"
      doing="Adding …"
      fields={['usd', 'note']}
      call={() =>
        callApi(pathOf(customer, 'credits'), {
          method: 'POST',
          body: { usd: amount.trim(), note: note.trim() },
          headers: { 'idempotency-key': name },
        })
      }
      done={({ credits_remaining }) => {
        notify(`${customer.name} has ${usd(credits_remaining)}.`)
        close()
        again()
      }}
      close={close}
    >
      {(errorOf) => (
        <>
          <TextField
            label="Amount in USD"
            hint={`The customer has ${customer.unlimited ? 'unlimited credit' : usd(customer.credits_remaining)} now.`}
            error={errorOf('usd')}
            inputMode="decimal"
            value={amount}
            change={changed(setAmount)}
          />
          <TextField
            label="Note"
            hint="Optional. Shown in the payments of the customer."
            error={errorOf('note')}
            value={note}
            maxLength={200}
            change={changed(setNote)}
          />
        </>
      )}
    </CallDialog>
  )
}

function PlanDialog({ customer, close, again }: OfCustomer) {
  const plans = useQuery<Plans>('/operator/plans')
  const [plan, setPlan] = useState(customer.plan)
  return (
    <CallDialog
      title={`Plan of ${customer.name}`}
      does="Save"
      fields={['plan']}
      lacking={plans.failure}
      call={() => postJson(pathOf(customer, 'plan'), { plan })}
      done={() => {
        notify(`${customer.name} is on plan ${plan}.`)
        close()
        again()
      }}
      close={close}
    >
      {(errorOf) => (
        <>
          <p>On a smaller plan the customer keeps its monitors and cannot add more.</p>
          <PlanField
            plans={plans.value?.plans ?? [customer.plan]}
            value={plan}
            error={errorOf('plan')}
            change={setPlan}
          />
        </>
      )}
    </CallDialog>
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
