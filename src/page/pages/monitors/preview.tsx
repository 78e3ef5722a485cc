import { useEffect, useState } from 'preact/hooks'

import { EmptyState, ErrorNotice, Notice, Skeleton } from '../../components/base/notice.tsx'
import { ItemView } from '../../components/item.tsx'
import { useCurrentUser } from '../../hooks/contexts.ts'
import { autoRetryDelay, callApi, type Failure, isOutage } from '../../lib/api.ts'
import { fieldOf } from '../../lib/filter-spec.ts'
import { conditionName, count, many } from '../../lib/format.ts'
import { runAfter } from '../../lib/runtime.ts'
import type { Preview } from '../../lib/types.ts'

const MATCHES = 10

export type PreviewState = {
  /** The latest preview; a stale one stays until the next is loaded. */
  value: Preview | null
  failure: Failure | null
  busy: boolean
  empty: boolean
}

/** Loads the preview of a filter after each change. `json`: the debounced filter. */
export function usePreview(json: string): PreviewState {
  const { monitor_path } = useCurrentUser()
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
    let cancelRetry = () => {}
    async function load() {
      setState((it) => ({ ...it, busy: true }))
      const answer = await callApi<Preview>(`${monitor_path}/preview`, {
        method: 'POST',
        body: { filter_spec: JSON.parse(json), limit: MATCHES },
        signal: stale.signal,
      })
      if (stale.signal.aborted) return
      if (answer.ok) return setState({ value: answer.value, failure: null, busy: false })
      setState((it) => ({ value: it.value, failure: answer.failure, busy: false }))
      const wait_ms = autoRetryDelay(answer.failure)
      if (wait_ms !== null) cancelRetry = runAfter(wait_ms, () => void load())
    }
    void load()
    return () => {
      stale.abort()
      cancelRetry()
    }
  }, [json, empty, monitor_path])
  return { ...state, empty }
}

/** The preview or its error. Errors of a field are shown beside the field. */
export function PreviewView({ value, failure, busy, empty }: PreviewState) {
  if (empty)
    return (
      <EmptyState title="No filter yet">
        <p>Matches are shown here as you type. Nothing is sent.</p>
      </EmptyState>
    )
  if (failure !== null && isOutage(failure)) return <OutageNotice failure={failure} saved={null} />
  const isFieldError = fieldOf(failure?.field ?? null) !== null && failure?.field !== 'filter_spec'
  if (failure !== null && !isFieldError) return <ErrorNotice failure={failure} />
  if (failure !== null) return <p class="quiet">Fix the marked fields to see matches.</p>
  if (value === null) return busy ? <Skeleton rows={4} label="Loading the preview" /> : null
  return (
    <div class={busy ? 'stale' : ''}>
      <p class="preview-sum" aria-live="polite">
        <strong>{many(value.matched, 'match', 'matches')}</strong> among{' '}
        {many(value.scanned, 'item')}
        {value.estimate_per_day !== null && <>, about {perDay(value.estimate_per_day)} a day</>}.
      </p>
      {value.not_yet > 0 && (
        <p class="quiet">
          {many(value.not_yet, 'more item has', 'more items have')} not reached the minimum score or
          comments yet.
        </p>
      )}
      {value.low_relevance > 0 && (
        <p class="quiet">
          {count(value.low_relevance)} of them would be suppressed for low relevance.
        </p>
      )}
      <Terms terms={value.terms} />
      <Left criteria={value.criteria} scanned={value.scanned} />
      <UnreadFeeds feeds={value.feeds} />
      {value.feeds_left_out > 0 && (
        <p class="quiet">
          {many(value.feeds_left_out, 'more feed was', 'more feeds were')} not included.
        </p>
      )}
      {value.matches.length === 0 && (
        <EmptyState title="No current matches">
          <p>This can be normal for a rare topic. Fewer or broader terms match more.</p>
        </EmptyState>
      )}
      {value.matches.map((it) => (
        <ItemView key={it.id} item={it} />
      ))}
    </div>
  )
}

/** Says that the platform is at fault, and not the form. `saved`: whether the form was saved; null: nothing was. */
export const OutageNotice = ({ failure, saved }: { failure: Failure; saved: false | null }) => (
  <Notice tone="warn">
    <p>
      <strong>
        {failure.code === 'HTTP_429' ? 'Rate limit of the platform:' : 'Outage of the platform:'}
      </strong>{' '}
      {failure.message}. Your filter is not at fault.
    </p>
    <p>
      {saved === false
        ? 'Nothing was saved; try again shortly.'
        : 'The preview tries again by itself. You can save the monitor: it starts when the platform answers.'}
    </p>
  </Notice>
)

/** Feeds without an answer, by the reason: an outage, or a place that cannot be read. */
function UnreadFeeds({ feeds }: { feeds: Preview['feeds'] }) {
  const unread = feeds.filter((it) => it.error !== null)
  if (unread.length === 0) return null
  const isDown = unread.every((it) => it.error !== null && isOutage({ code: it.error }))
  return (
    <Notice tone="warn">
      {isDown
        ? `The platform did not answer for ${many(unread.length, 'feed')}`
        : `${many(unread.length, 'feed')} could not be read`}
      ; the counts cover the others.
    </Notice>
  )
}

const perDay = (n: number): string => (n > 0 && n < 1 ? 'less than one' : count(Math.round(n)))

function Terms({ terms }: { terms: Preview['terms'] }) {
  if (terms.length === 0) return null
  const most = Math.max(1, ...terms.map((it) => it.items))
  return (
    <table class="bars">
      <caption>Items per term</caption>
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

/** Remaining items after each condition; shown for two or more conditions. */
function Left({ criteria, scanned }: { criteria: Preview['criteria']; scanned: number }) {
  if (criteria.length < 2) return null
  const steps = [
    `${count(scanned)} scanned`,
    ...criteria.map((it) => `${count(it.left)} after ${conditionName(it.criterion).toLowerCase()}`),
  ]
  return <p class="quiet small-text">{steps.join(' → ')}</p>
}
