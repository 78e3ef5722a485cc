import { useState } from 'preact/hooks'

import { Confirm } from '../../components/base/dialog.tsx'
import { ChoiceField, Field } from '../../components/base/field.tsx'
import { Icon } from '../../components/base/icon.tsx'
import { notify } from '../../components/base/toast.tsx'
import { SchemaDialog } from '../../components/form.tsx'
import { useCurrentUser } from '../../hooks/contexts.ts'
import { postJson } from '../../lib/api.ts'
import { words as inWords } from '../../lib/format.ts'
import type { Account, AccountChecked, FormField, Pool } from '../../lib/types.ts'

const JAR_MAX = 512 * 1024

const WAYS = {
  jar: ['jar'],
  password: ['username', 'password', 'totp_secret'],
  oauth: ['client_id', 'client_secret', 'refresh_token'],
  stored: [],
} as const
type Way = keyof typeof WAYS

type Props = { proxies: Pool['proxies']; again: () => void }

export function AddAccount(props: Props) {
  const [open, setOpen] = useState(false)
  return (
    <>
      <button type="button" class="main" onClick={() => setOpen(true)}>
        <Icon name="plus" /> Add account
      </button>
      {open && <AddAccountDialog {...props} close={() => setOpen(false)} />}
    </>
  )
}

function AddAccountDialog({ proxies, again, close }: Props & { close: () => void }) {
  const { forms } = useCurrentUser()
  const names = [['', 'direct'], ...proxies.map((it) => [it.name, it.name] as const)] as const
  return (
    <WayDialog<AccountChecked>
      title="Add an account"
      does="Check and add"
      doing="Checking …"
      ways={[
        ['jar', 'cookies of my own browser'],
        ['password', 'user name and password'],
        ['oauth', 'OAuth application'],
      ]}
      label="Sign in by"
      fields={(way) =>
        (forms['account'] ?? [])
          .filter(
            ({ name }) =>
              name === 'name' ||
              WAYS[way].some((it) => it === name) ||
              (name === 'proxy' && proxies.length > 0),
          )
          .map((it) => (it.name === 'proxy' ? { ...it, options: names } : it))
      }
      more={(way) => ({ kind: way === 'oauth' ? 'oauth' : 'session' })}
      path="/operator/accounts"
      done={(account) => {
        notify(resultOf(account, 'is in the pool'))
        close()
        again()
      }}
      close={close}
    />
  )
}

type WayDialogProps<T> = {
  title: string
  does: string
  doing: string
  ways: readonly (readonly [Way, string])[]
  label: string
  fields: (way: Way) => FormField[]
  more: (way: Way) => object
  path: string
  done: (value: T) => void
  close: () => void
}

/** A dialog for one of several kinds of credentials. */
function WayDialog<T>({ ways, label, fields, more, ...rest }: WayDialogProps<T>) {
  const [way, setWay] = useState<Way>(ways[0]?.[0] ?? 'jar')
  return (
    <SchemaDialog<T>
      {...rest}
      fields={fields(way)}
      more={(typed) => ({
        ...more(way),
        ...(way === 'jar' && { jar: String(typed['jar'] ?? '') }),
      })}
    >
      {(typed, setTyped) => (
        <>
          <p>
            The platform checks the sign-in. Secrets are stored encrypted, and never shown again.
          </p>
          <ChoiceField<Way> label={label} value={way} options={ways} change={setWay} />
          {way === 'jar' && <CookieFile change={(jar) => setTyped({ ...typed, jar })} />}
        </>
      )}
    </SchemaDialog>
  )
}

const CookieFile = ({ change }: { change: (jar: string) => void }) => (
  <>
    <p>Sign in to the platform with your own browser and export its cookies.</p>
    <Field label="Cookie file" hint="A cookies.txt or a JSON export. Or paste it below.">
      {(attributes) => (
        <input
          {...attributes}
          type="file"
          accept=".txt,.json,text/plain,application/json"
          onChange={({ currentTarget }) => {
            const file = currentTarget.files?.[0]
            // One character more than allowed, so that the daemon names the limit.
            if (file)
              void file
                .slice(0, JAR_MAX + 1)
                .text()
                .then(change)
          }}
        />
      )}
    </Field>
  </>
)

const REASONS: { [reason: string]: string } = {
  human_check:
    'The platform requires a human check: sign in with your own browser and add its cookies.',
}

function resultOf({ name, status, reason }: AccountChecked, what: string): string {
  const more = REASONS[reason ?? '']
  return `${name} ${what}: ${inWords(status).toLowerCase()}.${more === undefined ? '' : ` ${more}`}`
}

type OfAccount = { account: Account; close: () => void; again: () => void }

const pathOf = ({ id }: Account, rest: string) =>
  `/operator/accounts/${encodeURIComponent(id)}/${rest}`

export function LoginDialog({ account, close, again }: OfAccount) {
  const { forms } = useCurrentUser()
  return (
    <WayDialog<AccountChecked>
      title={`Sign in ${account.name}`}
      does="Sign in"
      doing="Signing in …"
      ways={
        account.kind === 'oauth'
          ? [
              ['stored', 'the stored secrets'],
              ['oauth', 'new secrets'],
            ]
          : [
              ['stored', 'the stored password'],
              ['password', 'a new password'],
              ['jar', 'cookies of my own browser'],
            ]
      }
      label="With"
      fields={(way) =>
        (forms['account'] ?? [])
          .filter(({ name }) => name !== 'client_id' && WAYS[way].some((it) => it === name))
          .map((it) => ({ ...it, hint: it.name === 'jar' ? '' : 'Empty: as stored.' }))
      }
      more={() => ({})}
      path={pathOf(account, 'login')}
      done={(checked) => {
        notify(resultOf(checked, 'was checked'))
        close()
        again()
      }}
      close={close}
    />
  )
}

export const RemoveAccountDialog = ({ account, close, again }: OfAccount) => (
  <Confirm
    title={`Remove ${account.name}?`}
    does={`Remove ${account.name}`}
    run={() => postJson(pathOf(account, 'remove'), {})}
    close={close}
    done={() => {
      notify(`${account.name} is removed.`)
      again()
    }}
  >
    <p>
      The account <strong>{account.name}</strong> leaves the pool, and its cookies and password are
      deleted. Its session on the platform stays open: sign out there to end it.
    </p>
  </Confirm>
)
