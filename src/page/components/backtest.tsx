import { useEffect, useState } from 'preact/hooks'

import { useCurrentUser } from '../hooks/contexts.ts'
import { useDebounced } from '../hooks/use-query.ts'
import { callApi, type Failure } from '../lib/api.ts'
import { count, many } from '../lib/format.ts'
import type { FilterSpec, Preview } from '../lib/types.ts'
import { Skeleton } from './base/notice.tsx'

const WINDOW_DAYS = 30
/** A trial reads much, so it waits for a longer pause than the preview. */
const PAUSE_MS = 700

type BacktestProps = {
  /** The debounced filter as JSON; `{}`: empty. */
  json: string
  /** The filter as it is saved, to compare with; null: the monitor is new. */
  saved: FilterSpec | null
}

type BacktestState = { value: Preview | null; failure: Failure | null; busy: boolean }

/** Tries the filter of the form on the archive: matches by day, expected deliveries, and the difference to the saved one. */
export function BacktestPane({ json, saved }: BacktestProps) {
  const settled = useDebounced(json, PAUSE_MS)
  const { value, failure, busy } = useBacktest(settled, saved)
  // An invalid filter is explained beside its field, and an archive that is switched off needs no words here.
  if (settled === '{}' || failure !== null) return null
  if (value === null)
    return busy ? <Skeleton rows={1} label="Trying the filter on the archive" /> : null
  return (
    <section class={busy ? 'backtest stale' : 'backtest'} aria-labelledby="backtest">
      <h3 id="backtest">The last {WINDOW_DAYS} days</h3>
      <BacktestView result={value} />
    </section>
  )
}

function useBacktest(json: string, saved: FilterSpec | null): BacktestState {
  const { monitor_path } = useCurrentUser()
  const [state, setState] = useState<BacktestState>({ value: null, failure: null, busy: false })
  const compare = saved === null ? null : JSON.stringify(saved)
  useEffect(() => {
    if (json === '{}') return setState({ value: null, failure: null, busy: false })
    const stale = new AbortController()
    setState((it) => ({ ...it, busy: true }))
    void callApi<Preview>(`${monitor_path}/preview`, {
      method: 'POST',
      body: {
        filter_spec: JSON.parse(json),
        window: `${WINDOW_DAYS}d`,
        limit: 1,
        ...(compare !== null && compare !== json && { compare: JSON.parse(compare) }),
      },
      signal: stale.signal,
    }).then((answer) => {
      if (stale.signal.aborted) return
      setState(
        answer.ok
          ? { value: answer.value, failure: null, busy: false }
          : { value: null, failure: answer.failure, busy: false },
      )
    })
    return () => stale.abort()
  }, [json, compare, monitor_path])
  return state
}

function BacktestView({ result }: { result: Preview }) {
  const { window, days, deliveries, compare, matched, scanned, truncated } = result
  if (!window || !days || !deliveries) return null
  if (window.oldest === null)
    return <p class="quiet">The archive has no items yet, on which the filter could be tried.</p>
  const { per_day, targets, daily_ceiling, days_over_ceiling } = deliveries
  return (
    <>
      <p>
        <strong>{many(matched, 'match', 'matches')}</strong> among {many(scanned, 'archived item')}
        {window.basis === 'matches' && ', which are those that your monitors matched'}
        {truncated && '; only the newest were tried in the time that a trial has'}.
      </p>
      <Histogram days={days} />
      <p class="quiet">
        {targets === 0
          ? 'There is no active webhook, so nothing would be delivered.'
          : per_day === null
            ? 'The number of deliveries is not known yet.'
            : `About ${count(per_day)} ${per_day === 1 ? 'delivery' : 'deliveries'} a day to ${many(targets, 'webhook')}.`}
        {days_over_ceiling > 0 &&
          ` On ${many(days_over_ceiling, 'day')} more than the ${count(daily_ceiling)} that are sent a day.`}
      </p>
      {compare && (
        <p>
          Against the saved filter: <strong>{count(compare.only_first)}</strong> more,{' '}
          <strong>{count(compare.only_second)}</strong> fewer, {count(compare.both)} the same.
        </p>
      )}
    </>
  )
}

const HEIGHT = 40
const dayName = new Intl.DateTimeFormat('en', { day: 'numeric', month: 'short', timeZone: 'UTC' })

const nameOfDay = (date: string): string => dayName.format(Date.parse(date))

/** Matches a day as columns; the text alternative has the largest day. */
function Histogram({ days }: { days: readonly { date: string; matched: number }[] }) {
  const most = days.reduce((top, it) => (it.matched > top.matched ? it : top), {
    date: '',
    matched: 0,
  })
  const [first] = days
  const last = days.at(-1)
  if (first === undefined || last === undefined) return null
  const label =
    most.matched === 0
      ? 'No match on any day'
      : `Matches by day; most on ${nameOfDay(most.date)}: ${count(most.matched)}`
  return (
    <div class="histogram">
      <svg
        viewBox={`0 0 ${days.length * 10} ${HEIGHT}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={label}
      >
        {days.map(({ date, matched }, at) => {
          const height = matched === 0 ? 1 : Math.max(2, (HEIGHT * matched) / most.matched)
          return (
            <rect
              key={date}
              class={matched === 0 ? 'none' : 'some'}
              x={at * 10 + 1}
              y={HEIGHT - height}
              width={8}
              height={height}
            >
              <title>{`${nameOfDay(date)}: ${count(matched)}`}</title>
            </rect>
          )
        })}
      </svg>
      <p class="strip-ends">
        <span>{nameOfDay(first.date)}</span>
        {most.matched > 0 && <span>at most {count(most.matched)} a day</span>}
        <span>{nameOfDay(last.date)}</span>
      </p>
    </div>
  )
}
