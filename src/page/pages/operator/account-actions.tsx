import { useState } from 'preact/hooks'

import { CallDialog, Confirm } from '../../components/base/dialog.tsx'
import { ChoiceField, Field, LinesField, TextField } from '../../components/base/field.tsx'
import { Icon } from '../../components/base/icon.tsx'
import { notify } from '../../components/base/toast.tsx'
import { postJson } from '../../lib/api.ts'
import { words as inWords } from '../../lib/format.ts'
import type { Account, AccountChecked, Pool } from '../../lib/types.ts'

const JAR_MAX = 512 * 1024
const SECRET_MAX = 4096

type Props = { proxies: Pool['proxies']; again: () => void }

/** The typed credentials of an account; empty texts are not sent. */
type Typed = {
  jar: string
  username: string
  password: string
  totp_secret: string
  client_id: string
  client_secret: string
  refresh_token: string
}
type Secret = keyof Typed

const NOTHING: Typed = {
  jar: '',
  username: '',
  password: '',
  totp_secret: '',
  client_id: '',
  client_secret: '',
  refresh_token: '',
}

const WAYS = {
  jar: ['jar'],
  password: ['username', 'password', 'totp_secret'],
  oauth: ['client_id', 'client_secret', 'refresh_token'],
  stored: [],
} as const satisfies Record<string, readonly Secret[]>
type Way = keyof typeof WAYS

const typedOf = (way: Way, typed: Typed): Partial<Typed> =>
  Object.fromEntries(WAYS[way].flatMap((it) => (typed[it] === '' ? [] : [[it, typed[it]]])))

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
  const [name, setName] = useState('')
  const [way, setWay] = useState<Way>('jar')
  const [typed, setTyped] = useState(NOTHING)
  const [proxy, setProxy] = useState<string>('')
  const add = () =>
    postJson<AccountChecked>('/operator/accounts', {
      name: name.trim(),
      kind: way === 'oauth' ? 'oauth' : 'session',
      ...typedOf(way, typed),
      ...(way === 'jar' && { jar: typed.jar }),
      proxy: proxy === '' ? null : proxy,
    })
  return (
    <CallDialog
      title="Add an account"
      does="Check and add"
      doing="Checking …"
      fields={['name', 'proxy', 'kind', ...WAYS[way]]}
      call={add}
      done={(account) => {
        notify(resultOf(account, 'is in the pool'))
        close()
        again()
      }}
      close={close}
    >
      {(errorOf) => (
        <>
          <p>
            The platform checks the sign-in. Secrets are stored encrypted, and never shown again.
          </p>
          <TextField
            label="Account name"
            hint="Your name for it: letters, digits, dots, _ and -."
            error={errorOf('name')}
            value={name}
            maxLength={64}
            spellcheck={false}
            autocapitalize="none"
            change={setName}
          />
          <ChoiceField<Way>
            label="Sign in by"
            error={errorOf('kind')}
            value={way}
            options={[
              ['jar', 'cookies of my own browser'],
              ['password', 'user name and password'],
              ['oauth', 'OAuth application'],
            ]}
            change={setWay}
          />
          <CredentialFields way={way} typed={typed} setTyped={setTyped} errorOf={errorOf} />
          {proxies.length > 0 && (
            <ChoiceField<string>
              label="Proxy"
              error={errorOf('proxy')}
              value={proxy}
              options={[['', 'direct'], ...proxies.map((it) => [it.name, it.name] as const)]}
              change={setProxy}
            />
          )}
        </>
      )}
    </CallDialog>
  )
}

type CredentialFieldsProps = {
  way: Way
  typed: Typed
  setTyped: (typed: Typed) => void
  errorOf: (field: string) => string | null
  /** Fields that are left empty keep the stored value. */
  stored?: boolean
}

const LABELS: Record<Exclude<Secret, 'jar'>, { label: string; hint?: string }> = {
  username: { label: 'User name', hint: 'On the platform. Default: the account name.' },
  password: { label: 'Password', hint: 'Also used for later sign-ins.' },
  totp_secret: {
    label: 'Secret of the second factor',
    hint: 'Optional. The base32 text that the platform shows for authenticator apps.',
  },
  client_id: { label: 'Client id' },
  client_secret: { label: 'Client secret' },
  refresh_token: {
    label: 'Refresh token',
    hint: 'Optional. Without one it reads as the application alone.',
  },
}
const OPEN: readonly Secret[] = ['username', 'client_id']

function CredentialFields({
  way,
  typed,
  setTyped,
  errorOf,
  stored = false,
}: CredentialFieldsProps) {
  const set = (field: Secret) => (value: string) => setTyped({ ...typed, [field]: value })
  if (way === 'jar')
    return <JarFields value={typed.jar} error={errorOf('jar')} change={set('jar')} />
  const shown = WAYS[way].filter((it) => !(stored && it === 'client_id'))
  return (
    <>
      {shown.map((it) => {
        const { label, hint } = LABELS[it]
        return (
          <TextField
            key={it}
            label={label}
            hint={stored ? 'Empty: as stored.' : hint}
            error={errorOf(it)}
            value={typed[it]}
            masked={!OPEN.includes(it)}
            maxLength={SECRET_MAX}
            spellcheck={false}
            autocapitalize="none"
            change={set(it)}
          />
        )
      })}
    </>
  )
}

type JarFieldsProps = { value: string; error: string | null; change: (jar: string) => void }

const JarFields = ({ value, error, change }: JarFieldsProps) => (
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
    <LinesField
      label="Cookies"
      error={error}
      value={value}
      rows={4}
      maxLength={JAR_MAX + 1}
      change={change}
    />
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
  const oauth = account.kind === 'oauth'
  const ways: readonly (readonly [Way, string])[] = oauth
    ? [
        ['stored', 'the stored secrets'],
        ['oauth', 'new secrets'],
      ]
    : [
        ['stored', 'the stored password'],
        ['password', 'a new password'],
        ['jar', 'cookies of my own browser'],
      ]
  const [way, setWay] = useState<Way>('stored')
  const [typed, setTyped] = useState(NOTHING)
  return (
    <CallDialog
      title={`Sign in ${account.name}`}
      does="Sign in"
      doing="Signing in …"
      fields={WAYS[way]}
      call={() =>
        postJson<AccountChecked>(pathOf(account, 'login'), {
          ...typedOf(way, typed),
          ...(way === 'jar' && { jar: typed.jar }),
        })
      }
      done={(checked) => {
        notify(resultOf(checked, 'was checked'))
        close()
        again()
      }}
      close={close}
    >
      {(errorOf) => (
        <>
          <ChoiceField<Way> label="With" value={way} options={ways} change={setWay} />
          <CredentialFields way={way} typed={typed} setTyped={setTyped} errorOf={errorOf} stored />
        </>
      )}
    </CallDialog>
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
