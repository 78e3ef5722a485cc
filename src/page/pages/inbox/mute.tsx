import { useEffect, useState } from 'preact/hooks'

import { Dialog } from '../../components/base/dialog.tsx'
import { ChoiceField, TextField } from '../../components/base/field.tsx'
import { assignErrors, ErrorNotice, Skeleton } from '../../components/base/notice.tsx'
import { useAction } from '../../hooks/use-action.ts'
import { useDebounced } from '../../hooks/use-query.ts'
import { type Failure, postJson } from '../../lib/api.ts'
import { conditionName, count, many } from '../../lib/format.ts'
import { placeOf } from './state/filter.ts'
import type { Match, Muted } from './state/types.ts'

type Kind = 'author' | 'place' | 'phrase'

const PAUSE_MS = 400

type MuteProps = {
  base: string
  match: Match
  close: () => void
  /** Receives the id of the action that undoes it, and its confirmation. */
  muted: (action_id: string, text: string) => void
}

/** Shows the edit of a filter that mutes what a match has, with its effect, and makes it on request. */
export function MuteDialog({ base, match, close, muted }: MuteProps) {
  const monitors = match.monitors.filter((it) => !it.removed)
  const kinds: (readonly [Kind, string])[] = [
    ...(match.author === null ? [] : [['author', `Author ${match.author}`] as const]),
    ...(match.place === '' ? [] : [['place', `Place ${placeOf(match)}`] as const]),
    ['phrase', 'Phrase …'],
  ]
  const [kind, setKind] = useState<Kind>(kinds[0]?.[0] ?? 'phrase')
  const [phrase, setPhrase] = useState('')
  const [monitor, setMonitor] = useState(monitors[0]?.id ?? '')
  const settled = useDebounced(phrase.trim(), PAUSE_MS)
  const asked = {
    id: match.id,
    mute: kind,
    monitor_id: monitor,
    ...(kind === 'phrase' && { phrase: settled }),
  }
  const { proposal, failure, busy } = useProposal(base, asked)
  const action = useAction()
  const ready = kind !== 'phrase' || (settled !== '' && settled === phrase.trim())
  async function apply() {
    const answer = await action.run(() =>
      postJson<Muted>(`${base}/mute`, { ...asked, apply: true }),
    )
    if (!answer.ok) return
    const { action_id, monitor_name } = answer.value
    close()
    if (action_id !== null)
      muted(
        action_id,
        `The filter of ${monitor_name ?? 'the monitor'} is changed. Later matches obey it.`,
      )
  }
  const { errorOf, rest } = assignErrors(failure, ['phrase'])
  return (
    <Dialog title="Mute" close={close}>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          if (proposal !== null && ready) void apply()
        }}
        noValidate
      >
        <ChoiceField label="Exclude" value={kind} options={kinds} change={setKind} />
        {kind === 'phrase' && (
          <TextField
            label="Phrase"
            hint="Items that contain it no longer match."
            error={errorOf('phrase')}
            value={phrase}
            maxLength={100}
            change={setPhrase}
          />
        )}
        {monitors.length > 1 && (
          <ChoiceField<string>
            label="For the monitor"
            value={monitor}
            options={monitors.map((it) => [it.id, it.name ?? 'Unnamed monitor'] as const)}
            change={setMonitor}
          />
        )}
        <div class="proposal" aria-live="polite" aria-busy={busy}>
          {busy && <Skeleton rows={2} label="Evaluating the edit" />}
          {!busy && proposal === null && failure === null && (
            <p class="quiet">
              The edit of the filter and its effect are shown here before anything changes.
            </p>
          )}
          {!busy && <ErrorNotice failure={rest} />}
          {!busy && proposal !== null && <ProposalView proposal={proposal} />}
        </div>
        <ErrorNotice failure={action.failure} />
        <div class="actions">
          <button
            type="submit"
            class="main"
            disabled={busy || action.busy || !ready || proposal === null}
          >
            {action.busy ? 'Changing …' : 'Change the filter'}
          </button>
          <button type="button" onClick={close}>
            Cancel
          </button>
        </div>
      </form>
    </Dialog>
  )
}

type Asked = { id: string; mute: Kind; monitor_id: string; phrase?: string }

/** Asks for the proposal after each change; without a phrase there is none. */
function useProposal(base: string, asked: Asked) {
  const [state, setState] = useState<{
    proposal: Muted | null
    failure: Failure | null
    busy: boolean
  }>({ proposal: null, failure: null, busy: false })
  const json = JSON.stringify(asked)
  useEffect(() => {
    if (asked.phrase === '') {
      setState({ proposal: null, failure: null, busy: false })
      return
    }
    let gone = false
    setState({ proposal: null, failure: null, busy: true })
    void postJson<Muted>(`${base}/mute`, asked).then((answer) => {
      if (gone) return
      setState(
        answer.ok
          ? { proposal: answer.value, failure: null, busy: false }
          : { proposal: null, failure: answer.failure, busy: false },
      )
    })
    return () => {
      gone = true
    }
  }, [json])
  return state
}

function ProposalView({ proposal: { monitor_name, edit, effect } }: { proposal: Muted }) {
  const { removed, examined, days, complete, samples } = effect
  return (
    <>
      <h3>Edit of the filter{monitor_name === null ? '' : ` of ${monitor_name}`}</h3>
      <p class="facts">
        <code>{edit.field}</code>
        {edit.added !== null && <ins class="badge good">+ {edit.added}</ins>}
        {edit.removed !== null && <del class="badge bad">− {edit.removed}</del>}
        <span class="quiet">
          {conditionName(edit.field)}: {many(edit.after.length, 'entry', 'entries')} in all
        </span>
      </p>
      <h3>Effect on the last {many(days, 'day')}</h3>
      <p>
        <strong>{count(removed)}</strong> of {complete ? '' : 'the newest '}
        {many(examined, 'match', 'matches')} would not have matched
        {examined > 0 && ` (${Math.round((100 * removed) / examined)} %)`}.
      </p>
      {samples.length > 0 && (
        <ul aria-label="Examples that would not have matched">
          {samples.map((it) => (
            <li key={it.id}>
              <strong>{it.title ?? it.excerpt}</strong>
              <span class="quiet small-text">
                {' '}
                {[it.author, it.place].filter(Boolean).join(' in ')}
              </span>
            </li>
          ))}
        </ul>
      )}
    </>
  )
}
