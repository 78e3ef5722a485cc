import { useState } from 'preact/hooks'

import { CallDialog, Confirm } from '../../components/base/dialog.tsx'
import { Checkbox, ChoiceField, LinesField, TextField } from '../../components/base/field.tsx'
import { Icon } from '../../components/base/icon.tsx'
import { ErrorNotice, Notice } from '../../components/base/notice.tsx'
import { notify } from '../../components/base/toast.tsx'
import { useAction } from '../../hooks/use-action.ts'
import { postJson } from '../../lib/api.ts'
import { many } from '../../lib/format.ts'
import type { OperatedSource, SourceKind, SourceTested } from '../../lib/types.ts'

const ANSWER_MAX = 16_384

const pathOf = (name: string, rest: string) =>
  `/operator/sources/${encodeURIComponent(name)}/${rest}`

type SourceAdded = { needs_restart: boolean; tested: SourceTested | null }
type AddSourceProps = { kinds: readonly SourceKind[]; again: () => void }

export function AddSource({ kinds, again }: AddSourceProps) {
  const [open, setOpen] = useState(false)
  return (
    <>
      <button type="button" class="main" onClick={() => setOpen(true)}>
        <Icon name="plus" /> Add source
      </button>
      {open && <AddSourceDialog {...{ kinds, again }} close={() => setOpen(false)} />}
    </>
  )
}

function AddSourceDialog({ kinds, again, close }: AddSourceProps & { close: () => void }) {
  const [name, setName] = useState('')
  const [kind, setKind] = useState(kinds[0]?.kind ?? '')
  const [address, setAddress] = useState('')
  const [untested, setUntested] = useState(false)
  const hint = kinds.find((it) => it.kind === kind)?.address ?? null
  return (
    <CallDialog<SourceAdded>
      title="Add a source"
      does="Test and add"
      doing="Testing …"
      fields={['name', 'kind', 'base_url']}
      call={() =>
        postJson('/operator/sources', {
          name: name.trim(),
          kind,
          base_url: address.trim(),
          untested,
        })
      }
      done={({ needs_restart, tested }) => {
        const read = tested === null ? 'It is added.' : testedText(name.trim(), tested)
        notify(needs_restart ? 'It is added. Restart the daemon to read it.' : read)
        close()
        again()
      }}
      close={close}
    >
      {(errorOf) => (
        <>
          <TextField
            label="Source name"
            hint="Lower-case letters, digits and -. It is part of API paths."
            error={errorOf('name')}
            value={name}
            maxLength={31}
            spellcheck={false}
            autocapitalize="none"
            change={setName}
          />
          <ChoiceField
            label="Kind"
            error={errorOf('kind')}
            value={kind}
            options={kinds.map((it) => [it.kind, it.title] as const)}
            change={setKind}
          />
          <TextField
            label="Address"
            hint={hint === null ? 'Empty: the public API.' : `Of the site, such as ${hint}`}
            error={errorOf('base_url')}
            inputMode="url"
            value={address}
            spellcheck={false}
            autocapitalize="none"
            change={setAddress}
          />
          {errorOf('base_url') !== null && (
            <Checkbox label="Add it without a test" checked={untested} change={setUntested} />
          )}
        </>
      )}
    </CallDialog>
  )
}

type RemoveSourceProps = { name: string; feeds: number; again: () => void }

export function RemoveSource({ name, feeds, again }: RemoveSourceProps) {
  const [open, setOpen] = useState(false)
  return (
    <>
      <button
        type="button"
        class="danger-quiet"
        aria-label={`Remove ${name}`}
        onClick={() => setOpen(true)}
      >
        Remove
      </button>
      {open && (
        <Confirm
          title={`Remove ${name}?`}
          does={`Remove ${name}`}
          run={() => postJson(pathOf(name, 'remove'), {})}
          close={() => setOpen(false)}
          done={() => {
            notify(`${name} is removed.`)
            again()
          }}
        >
          <p>
            The source <strong>{name}</strong> is not read any more
            {feeds > 0 && `, and ${many(feeds, 'feed')} of monitors rest`}.
          </p>
        </Confirm>
      )}
    </>
  )
}

const testedText = (name: string, { text, title, version, notes }: SourceTested): string =>
  text === null
    ? [
        `It answers as ${title ?? name}${version === null ? '' : `, version ${version}`}.`,
        ...notes,
      ].join(' ')
    : `It fails: ${text}.`

type SourceActionsProps = { source: OperatedSource; again: () => void }
type Opened = 'connect' | 'disconnect' | null

export function SourceActions({ source, again }: SourceActionsProps) {
  const { name, origin, account_by, account_at, feeds } = source
  const [opened, setOpened] = useState<Opened>(null)
  const [tested, setTested] = useState<SourceTested | null>(null)
  const action = useAction()
  const close = () => setOpened(null)
  async function test() {
    setTested(null)
    const answer = await action.run(() => postJson<SourceTested>(pathOf(name, 'test'), {}))
    if (answer.ok) setTested(answer.value)
    again()
  }
  return (
    <>
      <ErrorNotice failure={action.failure} />
      {tested && <Notice tone={tested.ok ? 'good' : 'bad'}>{testedText(name, tested)}</Notice>}
      <div class="actions">
        <button
          type="button"
          aria-label={`Test ${name}`}
          disabled={action.busy}
          onClick={() => void test()}
        >
          {action.busy ? 'Testing …' : 'Test'}
        </button>
        {account_by !== null && (
          <button
            type="button"
            aria-label={`Connect an account at ${name}`}
            onClick={() => setOpened('connect')}
          >
            {account_at === null ? 'Connect account' : 'Replace account'}
          </button>
        )}
        {account_at !== null && (
          <button
            type="button"
            class="danger-quiet"
            aria-label={`Remove the account at ${name}`}
            onClick={() => setOpened('disconnect')}
          >
            Remove account
          </button>
        )}
        {origin === 'added' && <RemoveSource name={name} feeds={feeds} again={again} />}
      </div>
      {opened === 'connect' && account_by === 'password' && (
        <PasswordDialog name={name} close={close} again={again} />
      )}
      {opened === 'connect' && account_by === 'permission' && (
        <PermissionDialog name={name} close={close} again={again} />
      )}
      {opened === 'disconnect' && (
        <Confirm
          title={`Remove your account at ${name}?`}
          does="Remove account"
          run={() => postJson(pathOf(name, 'account/remove'), {})}
          close={close}
          done={() => {
            notify(`The account at ${name} is removed.`)
            again()
          }}
        >
          <p>
            Approved drafts can no longer be sent to <strong>{name}</strong>. Take back the access
            in the settings of your account there too.
          </p>
        </Confirm>
      )}
    </>
  )
}

type AccountDialogProps = { name: string; close: () => void; again: () => void }

const connected = ({ name, close, again }: AccountDialogProps) => {
  notify(`Your account at ${name} is connected.`)
  close()
  again()
}

function PasswordDialog(props: AccountDialogProps) {
  const [username, setUsername] = useState('')
  const [password, setPassword] = useState('')
  const [totp, setTotp] = useState('')
  return (
    <CallDialog
      title={`Your account at ${props.name}`}
      does="Sign in"
      doing="Signing in …"
      fields={['username', 'password', 'totp_secret']}
      call={() =>
        postJson(pathOf(props.name, 'account'), {
          username,
          password,
          totp_secret: totp === '' ? null : totp,
        })
      }
      done={() => connected(props)}
      close={props.close}
    >
      {(errorOf) => (
        <>
          <p>Approved drafts are sent as this account. The password is not stored.</p>
          <TextField
            label="User name"
            error={errorOf('username')}
            value={username}
            spellcheck={false}
            autocapitalize="none"
            change={setUsername}
          />
          <TextField
            label="Password"
            error={errorOf('password')}
            masked
            value={password}
            change={setPassword}
          />
          <TextField
            label="Secret of the second factor"
            hint="Optional. The base32 text that the site shows for authenticator apps."
            error={errorOf('totp_secret')}
            masked
            value={totp}
            change={setTotp}
          />
        </>
      )}
    </CallDialog>
  )
}

type Begun = { request: string; authorize_url: string }

function PermissionDialog(props: AccountDialogProps) {
  const [begun, setBegun] = useState<Begun | null>(null)
  const [answer, setAnswer] = useState('')
  if (begun === null)
    return (
      <CallDialog<Begun>
        title={`Your account at ${props.name}`}
        does="Begin"
        doing="Beginning …"
        fields={[]}
        call={() => postJson(pathOf(props.name, 'account/begin'), {})}
        done={setBegun}
        close={props.close}
      >
        {() => (
          <p>
            You allow the access at the site, in your own browser. It asks for reading and writing,
            and this daemon never sees your password.
          </p>
        )}
      </CallDialog>
    )
  return (
    <CallDialog
      title={`Your account at ${props.name}`}
      does="Connect"
      doing="Connecting …"
      fields={['answer']}
      call={() =>
        postJson(pathOf(props.name, 'account/finish'), { request: begun.request, answer })
      }
      done={() => connected(props)}
      close={props.close}
    >
      {(errorOf) => (
        <>
          <p>
            <a href={begun.authorize_url} target="_blank" rel="noreferrer">
              Open the site
            </a>{' '}
            and allow the access, within 15 minutes. Then paste the text that it shows.
          </p>
          <LinesField
            label="Text of the site"
            error={errorOf('answer')}
            value={answer}
            rows={6}
            maxLength={ANSWER_MAX}
            change={setAnswer}
          />
        </>
      )}
    </CallDialog>
  )
}
