import { Badge } from '../../components/base/badge.tsx'
import { ErrorNotice, Skeleton } from '../../components/base/notice.tsx'
import { DataTable } from '../../components/base/table.tsx'
import { Time, useNow } from '../../components/base/time.tsx'
import { DayStrip } from '../../components/coverage-strip.tsx'
import { Tiles } from '../../components/live.tsx'
import { useCurrentUser } from '../../hooks/contexts.ts'
import { useQuery } from '../../hooks/use-query.ts'
import { count, exactDuration, formatDuration, many, words as inWords } from '../../lib/format.ts'
import { groupGaps, isCollecting, type TruncatedChecks } from '../../lib/monitor-status.ts'
import { coverageReason, dayGapReason, gapReason } from '../../lib/reasons.ts'
import { dashboardPath } from '../../lib/route.tsx'
import { now as currentTime } from '../../lib/runtime.ts'
import type {
  CoverageDay,
  CoverageDays,
  Health,
  Monitor,
  PollEvent,
  Stream,
} from '../../lib/types.ts'

export function CoverageDetails({ health }: { health: Health }) {
  const now = useNow()
  const { gaps, gaps_truncated, posts_in_window_at_least, unobserved_events } = health.coverage_24h
  return (
    <>
      <p class="quiet">
        {observed(posts_in_window_at_least)}
        {health.coverage_24h.posts_missed_estimate !== null &&
          !isCollecting(health, now) &&
          ` Estimated missed items: ${count(health.coverage_24h.posts_missed_estimate)}.`}
      </p>
      {gaps.length > 0 && (
        <>
          <h3>Truncated checks</h3>
          <DataTable<TruncatedChecks>
            caption="Truncated checks"
            keyOf={(it) => `${it.stream} ${it.at} ${it.reason}`}
            rows={groupGaps(gaps)}
            columns={[
              {
                title: 'Reason',
                kind: 'main',
                cell: (it) =>
                  gapReason(it.reason) + (it.checks > 1 ? ` ${many(it.checks, 'check')}.` : ''),
              },
              { title: 'Detected', cell: (it) => <Time at={it.at} /> },
              { title: 'Missing from', cell: (it) => <Time at={it.from} none="not known" /> },
              { title: 'Missing until', cell: (it) => <Time at={it.until} none="not known" /> },
              {
                title: 'Estimated missed',
                kind: 'figure',
                cell: (it) => count(it.missed_estimate),
              },
              {
                title: 'Recovered',
                cell: (it) => (it.healed_at === null ? 'no' : <Time at={it.healed_at} />),
              },
            ]}
          />
          {gaps_truncated && <p class="quiet">Only the newest are listed.</p>}
        </>
      )}
      {unobserved_events.length > 0 && (
        <>
          <h3>Not observed</h3>
          <DataTable<PollEvent>
            caption="Periods without observation"
            keyOf={(it) => `${it.kind} ${it.at}`}
            rows={unobserved_events}
            columns={[
              { title: 'Reason', kind: 'main', cell: (it) => gapReason(it.kind) },
              { title: 'From', cell: (it) => <Time at={it.at} /> },
              { title: 'Until', cell: (it) => <Time at={it.until} none="not known" /> },
            ]}
          />
        </>
      )}
    </>
  )
}

/** A null count is not known, such as while the monitor is paused. */
function observed(items: number | null): string {
  if (items === null) return 'The number of items in its feeds is not known at present.'
  if (items === 0) return 'No items were observed in its feeds yet.'
  return `At least ${many(items, 'item was', 'items were')} observed in its feeds.`
}

const DAY_MS = 86_400_000
const HISTORY_DAYS = 90
/** Days of the table below the strip: the newest two, and others that are not complete. */
const LISTED_MAX = 14
const ALWAYS_LISTED = 2
const REFRESH_MS = 60_000

/** The coverage of the last 90 days: a column a day, and the newest days in figures. */
export function CoverageHistory({ id }: { id: string }) {
  const { monitor_path } = useCurrentUser()
  // Without an end: the daemon's day may differ from that of this clock around midnight.
  const from = new Date(currentTime() - (HISTORY_DAYS - 1) * DAY_MS).toISOString().slice(0, 10)
  const query = new URLSearchParams({ id, from }).toString()
  const { value, failure, again } = useQuery<CoverageDays>(`${monitor_path}/coverage?${query}`, {
    every_ms: REFRESH_MS,
  })
  const watched = (value?.days ?? [])
    .toReversed()
    .filter((it) => it.complete_s + it.not_verified_s > 0 || it.gaps.some(isPause))
  const listed = watched.filter(({ gaps }, n) => n < ALWAYS_LISTED || gaps.length > 0)
  return (
    <section class="card" aria-labelledby="history">
      <h2 id="history">Coverage in {HISTORY_DAYS} days</h2>
      <ErrorNotice failure={failure} again={again} />
      {value === undefined && failure === null && <Skeleton rows={2} />}
      {value && <DayStrip days={value.days} />}
      {listed.length > 0 && (
        <DataTable<CoverageDay>
          caption="Coverage of each day"
          keyOf={(it) => it.day}
          rows={listed.slice(0, LISTED_MAX)}
          columns={[
            { title: 'Day (UTC)', kind: 'main', cell: (it) => it.day },
            { title: 'Complete', kind: 'figure', cell: (it) => exactDuration(it.complete_s) },
            {
              title: 'Not verified',
              kind: 'figure',
              cell: (it) => exactDuration(it.not_verified_s),
            },
            { title: 'Reasons', cell: (it) => [...new Set(it.gaps.map(dayGapReason))].join(' ') },
          ]}
        />
      )}
      {watched.length > Math.min(listed.length, LISTED_MAX) && (
        <p class="quiet">
          The newest {ALWAYS_LISTED} days are listed, and at most {LISTED_MAX - ALWAYS_LISTED} of
          the others that are not complete.
        </p>
      )}
    </section>
  )
}

const isPause = ({ reason }: CoverageDay['gaps'][number]) => reason === 'monitor_paused'

export function DeliveryStats({ id, health }: { id: string; health: Health }) {
  const { suppressed_breakdown: breakdown } = health
  const now = useNow()
  const tiles: [string, number, string][] = [
    ['Delivered', health.delivered_24h, 'delivered'],
    ['Dead', health.failed_24h, 'dead'],
    ['Failed', health.rejected_24h, 'failed'],
    ['Suppressed', breakdown.sampled, 'suppressed'],
  ]
  const listOf = (status: string) =>
    `${dashboardPath('deliveries')}?${new URLSearchParams({ monitor: id, status, within: '24' }).toString()}`
  const reasons: [string, number][] = [
    ['over the daily ceiling', breakdown.ceiling],
    ['no longer fresh', breakdown.stale],
    ['below the minimum relevance', breakdown.low_relevance],
    ['irrelevant to the model', breakdown.irrelevant],
    ['for another reason', breakdown.unknown],
  ]
  const suppressionReasons = reasons.filter(([, n]) => n > 0)
  return (
    <section aria-labelledby="doings">
      <h2 id="doings">Deliveries in 24 hours</h2>
      {isCollecting(health, now) && tiles.every(([, n]) => n === 0) ? (
        <p class="quiet">Collecting: matches of new items are counted here.</p>
      ) : (
        <Tiles
          tiles={tiles.map(([title, n, status]) => ({
            title,
            figure: count(n),
            to: listOf(status),
            tone: n > 0 && (status === 'dead' || status === 'failed') ? 'bad' : null,
          }))}
        />
      )}
      {suppressionReasons.length > 0 && (
        <p>
          Suppressed: {suppressionReasons.map(([why, n]) => `${count(n)} ${why}`).join(', ')}.
          {!breakdown.resolved && ' Some reasons are unknown, so the counts are lower bounds.'}
        </p>
      )}
      <p class="quiet small-text">
        Daily ceiling: {count(health.daily_delivery_ceiling)} deliveries per UTC day across all
        targets; {health.ceiling_reached ? 'it was reached.' : 'it was not reached.'}
      </p>
    </section>
  )
}

export function Streams({ monitor, health }: { monitor: Monitor; health: Health | undefined }) {
  const { words } = useCurrentUser()
  const failing = new Map(health?.stream_liveness.streams.map((it) => [it.id, it.reason]))
  const cadence = health?.cadence
  const placeOf = (it: Stream) => {
    const place = it[words.community]
    return typeof place === 'string' ? place : it.id
  }
  return (
    <details>
      <summary>Feeds</summary>
      <p class="quiet">
        Each feed is polled at least every {formatDuration(monitor.cadence_s)}.
        {cadence && cadence.last_checked_s_ago !== null && (
          <> The slowest feed was last polled {formatDuration(cadence.last_checked_s_ago)} ago.</>
        )}
      </p>
      <DataTable<Stream>
        caption="Feeds of this monitor"
        keyOf={(it) => it.id}
        rows={monitor.streams}
        columns={[
          { title: 'Feed', kind: 'main', cell: placeOf },
          { title: 'Kind', cell: (it) => inWords(it.kind) },
          { title: 'Interval', kind: 'figure', cell: (it) => formatDuration(it.interval_s) },
          {
            title: 'State',
            cell: (it) => {
              const reason = failing.get(it.id)
              if (!monitor.active) return <Badge tone="quiet">paused</Badge>
              if (reason) return <Badge tone="bad">{coverageReason(reason)}</Badge>
              return <Badge tone="good">polled</Badge>
            },
          },
        ]}
      />
    </details>
  )
}
