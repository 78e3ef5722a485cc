import { useState } from 'preact/hooks'

import { Confirm, Dialog } from '../../components/base/dialog.tsx'
import { Checkbox } from '../../components/base/field.tsx'
import { Icon } from '../../components/base/icon.tsx'
import { ErrorNotice, Notice, sentence } from '../../components/base/notice.tsx'
import { notify } from '../../components/base/toast.tsx'
import { SchemaDialog } from '../../components/form.tsx'
import { useCurrentUser } from '../../hooks/contexts.ts'
import { useAction } from '../../hooks/use-action.ts'
import { postJson } from '../../lib/api.ts'
import { many } from '../../lib/format.ts'
import type { FormField, OperatedSource, SourceKind, SourceTested } from '../../lib/types.ts'

const pathOf = (name: string, rest: string) =>
  `/operator/sources/${encodeURIComponent(name)}/${rest}`

type SourceAdded = { name: string; needs_restart: boolean; tested: SourceTested | null }
type Discovered = {
  found: { kind: string; base_url: string; place: string | null }
  why: string
  asked: string[]
  /** Source that reads this site already; null: none. */
  there: string | null
  name: string
}
type AddSourceProps = {
  kinds: readonly SourceKind[]
  again: () => void
  label?: string
  /** `place`: the one that the address pointed to; null: the whole site. */
  added?: (name: string, place: string | null) => void
}

export function AddSource({ label = 'Add source', ...props }: AddSourceProps) {
  const [open, setOpen] = useState(false)
  return (
    <>
      <button type="button" class={props.added ? '' : 'main'} onClick={() => setOpen(true)}>
        <Icon name="plus" /> {label}
      </button>
      {open && <AddSourceDialog {...props} close={() => setOpen(false)} />}
    </>
  )
}

/** Finds out what is at an address, then tests and adds it. */
function AddSourceDialog({ kinds, again, added, close }: AddSourceProps & { close: () => void }) {
  const { forms } = useCurrentUser()
  const [found, setFound] = useState<Discovered | null>(null)
  const [by_hand, setByHand] = useState(false)
  const [untested, setUntested] = useState(false)
  if (found === null && !by_hand)
    return (
      <SchemaDialog<Discovered>
        key="look"
        title="Add a source"
        does="Look"
        doing="Looking …"
        fields={forms['discover'] ?? []}
        path="/operator/sources/discover"
        done={setFound}
        close={close}
      >
        <p>
          A site of one of these kinds: {kinds.map(({ title }) => title).join(', ')}.{' '}
          <button type="button" class="small" onClick={() => setByHand(true)}>
            Choose the kind myself
          </button>
        </p>
      </SchemaDialog>
    )
  const there = found?.there ?? null
  if (found !== null && there !== null)
    return (
      <Dialog title="This site is read already" close={close}>
        <p>
          {sentence(found.why)} The source <strong>{there}</strong> reads it.
        </p>
        <Asked asked={found.asked} />
        {added && (
          <div class="actions">
            <button
              type="button"
              class="main"
              onClick={() => {
                added(there, found.found.place)
                close()
              }}
            >
              Use it
            </button>
          </div>
        )}
      </Dialog>
    )
  return (
    <SchemaDialog<SourceAdded>
      key="add"
      title="Add a source"
      does="Test and add"
      doing="Testing …"
      fields={({ kind }) => sourceFields(forms['source'] ?? [], kinds, String(kind))}
      start={
        found === null
          ? { kind: kinds[0]?.kind ?? '' }
          : { name: found.name, kind: found.found.kind, base_url: found.found.base_url }
      }
      path="/operator/sources"
      more={{ untested }}
      done={({ name, needs_restart, tested }) => {
        const read = tested === null ? 'It is added.' : testedText(name, tested)
        notify(needs_restart ? 'It is added. Restart the daemon to read it.' : read)
        close()
        again()
        added?.(name, found?.found.place ?? null)
      }}
      close={close}
      after={(errorOf) =>
        errorOf('base_url') !== null && (
          <Checkbox label="Add it without a test" checked={untested} change={setUntested} />
        )
      }
    >
      {found && (
        <>
          <p>{sentence(found.why)}</p>
          <Asked asked={found.asked} />
        </>
      )}
    </SchemaDialog>
  )
}

const Asked = ({ asked }: { asked: readonly string[] }) =>
  asked.length === 0 ? null : (
    <details>
      <summary>{many(asked.length, 'request')}</summary>
      <ul>
        {asked.map((it) => (
          <li key={it} class="small-text">
            <code>{it}</code>
          </li>
        ))}
      </ul>
    </details>
  )

/** The kinds by their names, and an example of an address of the chosen one. */
const sourceFields = (fields: readonly FormField[], kinds: readonly SourceKind[], kind: string) =>
  fields.map((it): FormField => {
    const example = kinds.find((one) => one.kind === kind)?.address ?? null
    if (it.name === 'kind')
      return { ...it, kind: 'one', options: kinds.map((one) => [one.kind, one.title] as const) }
    if (it.name !== 'base_url') return it
    return {
      ...it,
      hint: example === null ? 'Empty: the public API.' : `Address of the site, such as ${example}`,
    }
  })

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
  const { forms } = useCurrentUser()
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
        <PasswordDialog {...{ name, close, again }} fields={forms['source_account'] ?? []} />
      )}
      {opened === 'connect' && account_by === 'permission' && (
        <PermissionDialog {...{ name, close, again }} fields={forms['source_answer'] ?? []} />
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

const PasswordDialog = (props: AccountDialogProps & { fields: FormField[] }) => (
  <SchemaDialog
    title={`Your account at ${props.name}`}
    does="Sign in"
    doing="Signing in …"
    fields={props.fields}
    path={pathOf(props.name, 'account')}
    done={() => connected(props)}
    close={props.close}
  >
    <p>Approved drafts are sent as this account. The password is not stored.</p>
  </SchemaDialog>
)

type Begun = { request: string; authorize_url: string }

function PermissionDialog(props: AccountDialogProps & { fields: FormField[] }) {
  const [begun, setBegun] = useState<Begun | null>(null)
  const title = `Your account at ${props.name}`
  if (begun === null)
    return (
      <SchemaDialog<Begun>
        key="begin"
        title={title}
        does="Begin"
        doing="Beginning …"
        fields={[]}
        path={pathOf(props.name, 'account/begin')}
        done={setBegun}
        close={props.close}
      >
        <p>
          You allow the access at the site, in your own browser. It asks for reading and writing,
          and this daemon never sees your password.
        </p>
      </SchemaDialog>
    )
  return (
    <SchemaDialog
      title={title}
      does="Connect"
      doing="Connecting …"
      fields={props.fields}
      path={pathOf(props.name, 'account/finish')}
      more={{ request: begun.request }}
      done={() => connected(props)}
      close={props.close}
    >
      <p>
        <a href={begun.authorize_url} target="_blank" rel="noreferrer">
          Open the site
        </a>{' '}
        and allow the access, within 15 minutes. Then paste the text that it shows.
      </p>
    </SchemaDialog>
  )
}
