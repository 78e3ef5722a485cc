import { useId, useState } from 'preact/hooks'

import { CallDialog, Dialog, FormDialog } from '../../components/base/dialog.tsx'
import { Checkbox, Field, LinesField } from '../../components/base/field.tsx'
import { EmptyState, ErrorNotice, Skeleton } from '../../components/base/notice.tsx'
import { Time } from '../../components/base/time.tsx'
import { notify } from '../../components/base/toast.tsx'
import { usePaged } from '../../hooks/use-query.ts'
import { postJson } from '../../lib/api.ts'
import { many } from '../../lib/format.ts'
import { actorName } from './reader.tsx'
import { actionText } from './state/history.ts'
import { GENERAL_KEYS, KEYS } from './state/keys.ts'
import type { HistoryAction, HistoryPage, Match } from './state/types.ts'

type LabelProps = {
  /** The present label; empty: none, or several. */
  label: string
  known: readonly string[]
  size: number
  set: (label: string | null) => void
  close: () => void
}

export function LabelDialog({ label, known, size, set, close }: LabelProps) {
  const [typed, setTyped] = useState(label)
  const list = useId()
  return (
    <FormDialog
      title={size === 1 ? 'Label' : `Label of ${many(size, 'match', 'matches')}`}
      does={typed.trim() === '' ? 'Remove label' : 'Set label'}
      busy={false}
      failure={null}
      submit={() => {
        set(typed.trim() === '' ? null : typed.trim())
        close()
        return Promise.resolve()
      }}
      close={close}
    >
      <Field label="Label" hint="Often the name of a person: it assigns the match to them.">
        {(attributes) => (
          <input
            {...attributes}
            list={list}
            value={typed}
            maxLength={64}
            autocomplete="off"
            onInput={(event) => setTyped(event.currentTarget.value)}
          />
        )}
      </Field>
      <datalist id={list}>
        {known.map((it) => (
          <option key={it} value={it} />
        ))}
      </datalist>
    </FormDialog>
  )
}

type ReplyProps = { match: Match; close: () => void }

/** Writes a reply, which waits as a draft until it is approved. */
export function ReplyDialog({ match, close }: ReplyProps) {
  const [text, setText] = useState('')
  return (
    <CallDialog<object>
      title="Write a reply"
      does="Save as a draft"
      doing="Saving …"
      fields={['body.text', 'text']}
      close={close}
      call={() =>
        postJson('/drafts', {
          action: 'comment',
          body: { post_url: match.url, text: text.trim() },
          source: match.source,
        })
      }
      done={() => {
        notify('Saved. Approve it on the page Drafts to send it.')
        close()
      }}
    >
      {(errorOf) => (
        <LinesField
          label="Reply"
          hint="Nothing is sent yet. A person approves the draft, which sends it and marks the match as answered."
          error={errorOf('body.text') ?? errorOf('text')}
          rows={6}
          maxLength={10_000}
          value={text}
          change={setText}
        />
      )}
    </CallDialog>
  )
}

type HelpProps = { letters: boolean; setLetters: (letters: boolean) => void; close: () => void }

const GROUPS = ['Move', 'Read', 'Decide', 'Select', 'Everywhere'] as const

export const HelpDialog = ({ letters, setLetters, close }: HelpProps) => (
  <Dialog title="Keys" close={close}>
    <div class="keys">
      {GROUPS.map((group) => (
        <section key={group} aria-label={group}>
          <h3>{group}</h3>
          <dl class="facts-list">
            {[...KEYS, ...GENERAL_KEYS]
              .filter((it) => it.group === group)
              .map(({ shown, does }) => (
                <div key={does}>
                  <dt>{does}</dt>
                  <dd>
                    {shown.map((it) => (
                      <kbd key={it}>{it}</kbd>
                    ))}
                  </dd>
                </div>
              ))}
          </dl>
        </section>
      ))}
    </div>
    <Checkbox label="Single letters are keys" checked={letters} change={setLetters} />
  </Dialog>
)

type HistoryProps = { base: string; own_key: string; undone: () => void; close: () => void }

/** Actions of all keys of the customer, newest first, each of which can be undone for a day. */
export function HistoryDialog({ base, own_key, undone, close }: HistoryProps) {
  const list = usePaged<HistoryPage>(`${base}/history?limit=25`)
  const rows = list.pages.flatMap(({ actions }) => actions)
  async function undo({ action_id, mute }: HistoryAction) {
    const answer = await postJson<{ restored: number }>(`${base}/undo`, { action_id })
    notify(
      !answer.ok
        ? `Not undone: ${answer.failure.message}`
        : mute === null
          ? `Undone for ${many(answer.value.restored, 'match', 'matches')}.`
          : 'The filter is as it was before.',
    )
    list.again()
    if (mute === null) undone()
  }
  return (
    <Dialog title="History" close={close}>
      <ErrorNotice failure={list.failure} again={list.again} />
      {list.first && <Skeleton rows={4} />}
      {!list.first && rows.length === 0 && <EmptyState title="No actions yet" />}
      <ol class="cards">
        {rows.map((it) => (
          <li key={it.action_id} class="card-head">
            <span>
              <strong>{actorName(it.by, own_key)}</strong> {actionText(it)}{' '}
              <span class="quiet">
                <Time at={it.at} />
              </span>
            </span>
            {it.can_undo && it.undone_by === null && (
              <button
                type="button"
                class="small"
                aria-label={`Undo: ${actionText(it)}`}
                onClick={() => void undo(it)}
              >
                Undo
              </button>
            )}
            {it.undone_by !== null && <span class="quiet small-text">undone</span>}
          </li>
        ))}
      </ol>
      {list.more && (
        <button type="button" disabled={list.busy} onClick={list.older}>
          Show older
        </button>
      )}
    </Dialog>
  )
}
