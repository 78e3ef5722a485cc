import { useEffect, useState } from 'preact/hooks'

import { ask, type Failure, patience } from '../api.ts'
import { useWho } from '../around.ts'
import { after } from '../outside.ts'
import { ItemView } from '../parts/item.tsx'
import { Empty, Trouble, Waiting } from '../parts/notice.tsx'
import { count, many, words as inWords } from '../show.ts'
import { fieldOf } from '../spec.ts'
import type { Preview } from '../types.ts'

const MATCHES = 10

/** What a filter would match now: there, on its way, or why not. */
export type PreviewState = {
  /** The newest preview; one that was for an earlier filter stays until the next is there. */
  value: Preview | null
  failure: Failure | null
  busy: boolean
  empty: boolean
}

/** What a filter would match, asked anew whenever it changes. `json`: the filter, once it has stood still. */
export function usePreview(json: string): PreviewState {
  const { monitor_path } = useWho()
  const [state, setState] = useState<Omit<PreviewState, 'empty'>>({
    value: null,
    failure: null,
    busy: false,
  })
  const empty = json === '{}'
  useEffect(() => {
    if (empty) {
      setState({ value: null, failure: null, busy: false })
      return
    }
    const stale = new AbortController()
    let later = () => {}
    async function look() {
      setState((it) => ({ ...it, busy: true }))
      const answer = await ask<Preview>(`${monitor_path}/preview`, {
        method: 'POST',
        body: { filter_spec: JSON.parse(json), limit: MATCHES },
        signal: stale.signal,
      })
      if (stale.signal.aborted) return
      if (answer.ok) return setState({ value: answer.value, failure: null, busy: false })
      setState((it) => ({ value: it.value, failure: answer.failure, busy: false }))
      const wait_ms = patience(answer.failure)
      if (wait_ms !== null) later = after(wait_ms, () => void look())
    }
    void look()
    return () => {
      stale.abort()
      later()
    }
  }, [json, empty, monitor_path])
  return { ...state, empty }
}

/** The preview, or why there is none. What is wrong with a field is said beside the field. */
export function PreviewView({ value, failure, busy, empty }: PreviewState) {
  if (empty)
    return (
      <Empty title="Name a place or a word">
        <p>What fits is shown here while you type. Nothing is sent.</p>
      </Empty>
    )
  const placed = fieldOf(failure?.field ?? null) !== null && failure?.field !== 'filter_spec'
  if (failure !== null && !placed) return <Trouble failure={failure} />
  if (failure !== null) return <p class="quiet">Mend what is marked on the form to see matches.</p>
  if (value === null) return busy ? <Waiting rows={4} label="Looking" /> : null
  return (
    <div class={busy ? 'stale' : ''}>
      <p class="preview-sum" aria-live="polite">
        <strong>{many(value.matched, 'match', 'matches')}</strong> among{' '}
        {many(value.scanned, 'item')}
        {value.estimate_per_day !== null && <>, about {perDay(value.estimate_per_day)} a day</>}.
      </p>
      {value.not_yet > 0 && (
        <p class="quiet">
          {many(value.not_yet, 'more has', 'more have')} not reached the score or comments yet.
        </p>
      )}
      {value.low_relevance > 0 && (
        <p class="quiet">
          {count(value.low_relevance)} of them would be withheld as of low relevance.
        </p>
      )}
      <Terms terms={value.terms} />
      <Left criteria={value.criteria} scanned={value.scanned} />
      {value.feeds.some((it) => it.error !== null) && (
        <p class="notice warn">
          Some feeds could not be read just now; the figures are of the others.
        </p>
      )}
      {value.feeds_left_out > 0 && (
        <p class="quiet">{many(value.feeds_left_out, 'place')} more were not looked at.</p>
      )}
      {value.matches.length === 0 && (
        <Empty title="Nothing there matches now">
          <p>That may be right for something rare. Fewer or broader words match more.</p>
        </Empty>
      )}
      {value.matches.map((it) => (
        <ItemView key={it.id} item={it} />
      ))}
    </div>
  )
}

const perDay = (n: number): string => (n > 0 && n < 1 ? 'less than one' : count(Math.round(n)))

function Terms({ terms }: { terms: Preview['terms'] }) {
  if (terms.length === 0) return null
  const most = Math.max(1, ...terms.map((it) => it.items))
  return (
    <table class="bars">
      <caption>Items that hold each term</caption>
      <tbody>
        {terms.map(({ term, role, items }) => (
          <tr key={`${role} ${term}`}>
            <th scope="row">
              {role === 'excluded' && <span class="quiet">not </span>}
              {term}
            </th>
            <td>
              <svg viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true">
                <rect class={role} width={(items / most) * 100} height="8" rx="1" />
              </svg>
            </td>
            <td class="figure">{count(items)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}

/** Where items fell away: more than one condition makes that worth knowing. */
function Left({ criteria, scanned }: { criteria: Preview['criteria']; scanned: number }) {
  if (criteria.length < 2) return null
  const steps = [
    `${count(scanned)} seen`,
    ...criteria.map((it) => `${count(it.left)} after ${inWords(it.criterion).toLowerCase()}`),
  ]
  return <p class="quiet small-text">{steps.join(' → ')}</p>
}
