import { useWho } from '../around.ts'
import { Badge } from '../parts/badge.tsx'
import { Rows } from '../parts/rows.tsx'
import { Time } from '../parts/time.tsx'
import { coverageReason, gapReason } from '../reasons.ts'
import { count, many, span, words as inWords } from '../show.ts'
import { type Cut, cutsOf } from '../standing.ts'
import type { Health, Monitor, PollEvent, Stream } from '../types.ts'

/** What of the last 24 hours may be missing, one by one. */
export function Coverage({ health }: { health: Health }) {
  const { gaps, gaps_truncated, posts_in_window_at_least, unobserved_events } = health.coverage_24h
  return (
    <>
      <p class="quiet">
        At least {count(posts_in_window_at_least)} items were seen in its feeds in this time.
        {health.coverage_24h.posts_missed_estimate !== null &&
          ` Missed, as estimated: ${count(health.coverage_24h.posts_missed_estimate)}.`}
      </p>
      {gaps.length > 0 && (
        <>
          <h3>Cut short</h3>
          <Rows<Cut>
            caption="Checks that were cut short"
            keyOf={(it) => `${it.stream} ${it.at} ${it.reason}`}
            rows={cutsOf(gaps)}
            columns={[
              {
                title: 'What happened',
                kind: 'main',
                cell: (it) =>
                  gapReason(it.reason) + (it.checks > 1 ? ` ${many(it.checks, 'check')}.` : ''),
              },
              { title: 'Noticed', cell: (it) => <Time at={it.at} /> },
              { title: 'Missing from', cell: (it) => <Time at={it.from} none="not known" /> },
              { title: 'Missing until', cell: (it) => <Time at={it.until} none="not known" /> },
              { title: 'Estimate', kind: 'figure', cell: (it) => count(it.missed_estimate) },
              {
                title: 'Read later',
                cell: (it) => (it.healed_at === null ? 'no' : <Time at={it.healed_at} />),
              },
            ]}
          />
          {gaps_truncated && <p class="quiet">There were more; these are the newest.</p>}
        </>
      )}
      {unobserved_events.length > 0 && (
        <>
          <h3>Not observed</h3>
          <Rows<PollEvent>
            caption="Times in which nobody could have noticed"
            keyOf={(it) => `${it.kind} ${it.at}`}
            rows={unobserved_events}
            columns={[
              { title: 'What happened', kind: 'main', cell: (it) => gapReason(it.kind) },
              { title: 'From', cell: (it) => <Time at={it.at} /> },
              { title: 'Until', cell: (it) => <Time at={it.until} none="not known" /> },
            ]}
          />
        </>
      )}
    </>
  )
}

/** What became of its matches in the last 24 hours. */
export function Doings({ health }: { health: Health }) {
  const { suppressed_breakdown: held } = health
  const tiles: [string, number][] = [
    ['Delivered', health.delivered_24h],
    ['Given up', health.failed_24h],
    ['Refused by the receiver', health.rejected_24h],
    ['Withheld', health.suppressed_24h],
  ]
  const reasons: [string, number][] = [
    ['over the ceiling of the day', held.ceiling],
    ['no longer fresh', held.stale],
    ['below the relevance wanted', held.low_relevance],
    ['for another reason', held.unknown],
  ]
  const shown = reasons.filter(([, n]) => n > 0)
  return (
    <section aria-labelledby="doings">
      <h2 id="doings">What became of matches</h2>
      <dl class="tiles">
        {tiles.map(([title, n]) => (
          <div key={title}>
            <dt>{title}</dt>
            <dd>{count(n)}</dd>
          </div>
        ))}
      </dl>
      {shown.length > 0 && (
        <p>
          Withheld: {shown.map(([why, n]) => `${count(n)} ${why}`).join(', ')}.
          {!held.resolved && ' Not every one could be told; the figures are floors.'}
        </p>
      )}
      <p class="quiet small-text">
        In 24 hours. At most {count(health.daily_delivery_ceiling)} deliveries in a UTC day, to all
        targets together;{' '}
        {health.ceiling_reached ? 'the ceiling was reached.' : 'the ceiling was not reached.'}
      </p>
    </section>
  )
}

/** The feeds it looks at, and how often. */
export function Streams({ monitor, health }: { monitor: Monitor; health: Health | undefined }) {
  const { words } = useWho()
  const failing = new Map(health?.stream_liveness.streams.map((it) => [it.id, it.reason]))
  const cadence = health?.cadence
  const placeOf = (it: Stream) => {
    const place = it[words.community]
    return typeof place === 'string' ? place : it.id
  }
  return (
    <section aria-labelledby="streams">
      <h2 id="streams">Where it looks</h2>
      <p class="quiet">
        Promised: a look every {span(monitor.cadence_s)}.
        {cadence && cadence.last_checked_s_ago !== null && (
          <> The slowest feed was last looked at {span(cadence.last_checked_s_ago)} ago.</>
        )}
      </p>
      <Rows<Stream>
        caption="Feeds that this monitor looks at"
        keyOf={(it) => it.id}
        rows={monitor.streams}
        columns={[
          { title: 'Feed', kind: 'main', cell: placeOf },
          { title: 'Of', cell: (it) => inWords(it.kind) },
          { title: 'Looked at every', kind: 'figure', cell: (it) => span(it.interval_s) },
          {
            title: 'State',
            cell: (it) => {
              const reason = failing.get(it.id)
              if (!monitor.active) return <Badge tone="quiet">paused</Badge>
              if (reason) return <Badge tone="bad">{coverageReason(reason)}</Badge>
              return <Badge tone="good">looked at</Badge>
            },
          },
        ]}
      />
    </section>
  )
}
