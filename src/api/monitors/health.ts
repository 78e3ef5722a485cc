import { iso } from '../../core/base/time.ts'
import { decodeFilterSpec } from '../../core/filter/parse.ts'
import {
  type Coverage,
  type FeedFacts,
  feedFacts,
  judgeAudits,
  judgeCoverage,
  judgeLiveness,
  type PollEvent,
  type PollLog,
  WINDOW_MS,
  windowSince,
} from '../../core/polling/coverage.ts'
import { sourceOf } from '../../core/polling/feed.ts'
import {
  countersOf,
  judgeCadence,
  judgeSource,
  type SourceCoverage,
} from '../../core/polling/health.ts'
import { aheadOf, earliestOf, measuredOf, type Watch } from '../../gateway/watch.ts'
import type { Log } from '../../runtime/runtime.ts'
import type { Customer } from '../../store/customers/customers.ts'
import type { Db } from '../../store/db/connection.ts'
import { listOpenAlarms } from '../../store/monitoring/alarms.ts'
import { listEvents, listGaps } from '../../store/monitoring/checks.ts'
import { countIdGaps, listIdGaps } from '../../store/monitoring/id-gaps.ts'
import {
  ceilingCapped,
  countDeliveries,
  countSeen,
  lastDeliveryAt,
} from '../../store/monitoring/matches.ts'
import {
  listMonitorFeeds,
  type Monitor,
  type MonitorFeed,
} from '../../store/monitoring/monitors.ts'
import { measureWaiting } from '../../store/relevance/judgements.ts'
import type { RouteContext } from '../context.ts'
import { toAlarm } from './alarms.ts'
import { type MonitorDeps, requireMonitor } from './edit.ts'
import { relevanceHealth } from './relevance.ts'

export function monitorHealth(
  { clock, log }: RouteContext,
  { db, watches: sources, plan_of, model }: MonitorDeps,
  customer: Customer,
  id: string,
) {
  const monitor = requireMonitor(db, customer.id, id)
  const { active, pause_reason, cadence_s, requested_cadence_s } = monitor
  const now = clock.now()
  // Delivery rows carry true time, which is that of the Date headers.
  const day = { monitor_id: id, since_at: now + measuredOf(sources) - WINDOW_MS }
  const { feeds, further, since_at, liveness, coverage } = coverageOf(
    { db, log, watches: sources },
    monitor,
    now,
  )
  return {
    id,
    active,
    pause_reason,
    daily_delivery_ceiling: plan_of(customer.plan).daily_deliveries,
    ...countersOf(countDeliveries(db, day), ceilingCapped(db, day)),
    last_match_at: iso(lastDeliveryAt(db, id)),
    coverage_24h: toCoverage(coverage),
    // Monitors of the source of the accounts alone have the shape that they had before there were sources.
    ...(further.length > 0 && {
      sources: readable(log, () =>
        further.flatMap(({ row, facts }) =>
          toSource(db, row, facts, {
            now,
            since_at,
            left_out: sources.get(sourceOf(row))?.left_out() ?? null,
          }),
        ),
      ),
    }),
    stream_liveness: liveness,
    cadence: judgeCadence(feeds, { active, cadence_s, requested_cadence_s, now }),
    alarms: listOpenAlarms(db, id).map(toAlarm),
    clock_skew_s: Math.round(aheadOf(sources) / 1000),
    ...(hasRelevance(db, monitor) && {
      relevance: relevanceHealth(db, {
        monitor_id: id,
        customer_id: monitor.customer_id,
        now,
        model: model(),
      }),
    }),
  }
}

const hasRelevance = (db: Db, { id, relevance }: Monitor): boolean =>
  relevance !== null || measureWaiting(db, { monitor_id: id }).waiting > 0

/** Coverage of a monitor in the last 24 hours, and the state of its feeds. */
export function coverageOf(
  { db, log, watches: sources }: Pick<MonitorDeps, 'db' | 'watches'> & { log: Log },
  monitor: Monitor,
  now: number,
) {
  const { id, active } = monitor
  // Exact even for a small clock offset: the start of a monitor is an instant of the platform's clock,
  // taken at that time.
  const offset_ms = earliestOf(sources)
  // A baseline may be older than the monitor, which has observed since its creation only.
  const since_at = windowSince(now, Math.max(monitor.active_since - offset_ms, monitor.created_at))
  // Same by the platform's clock. A monitor's own start is exact, independent of the clock comparison.
  const seen_since_at = windowSince(
    now + measuredOf(sources),
    Math.max(monitor.active_since, monitor.created_at + offset_ms),
  )
  const feeds = readable(log, () =>
    listMonitorFeeds(db, id).map((row) => ({
      row,
      facts: withPlaces(
        feedFacts(row, monitor.created_at, offset_ms),
        monitor,
        sources.get(sourceOf(row)),
      ),
    })),
  )
  const watched = feeds?.map(({ facts }) => facts) ?? null
  const further = feeds?.filter(({ facts }) => facts.ids !== null) ?? []
  const polls = readable(log, () =>
    pollLog(db, { monitor_id: id, since_at, offset_ms }, seen_since_at),
  )
  const liveness = judgeLiveness(watched, { active, now })
  const audits = judgeAudits(watched ?? [], { now, since_at, offset_ms })
  return {
    feeds: watched,
    further,
    since_at,
    liveness,
    coverage: judgeCoverage(polls, liveness, { active, since_at, audits }),
  }
}

/** A feed may prove less of the places of a monitor than of its source. */
function withPlaces(
  facts: FeedFacts,
  { filter_spec }: Monitor,
  source: Watch | undefined,
): FeedFacts {
  const { ids } = facts
  if (ids === null || ids.partial !== null || source === undefined) return facts
  const { subforum } = decodeFilterSpec(filter_spec)
  return { ...facts, ids: { ...ids, partial: source.partialFor(subforum) } }
}

/** Coverage of one further source of a monitor. */
function toSource(
  db: Db,
  { feed_id, place }: MonitorFeed,
  { ids, attached_at }: FeedFacts,
  { now, since_at, left_out }: { now: number; since_at: number } & Pick<SourceCoverage, 'left_out'>,
) {
  if (ids === null) return []
  const missing = countIdGaps(db, { feed_id, since_at, begun_at: attached_at })
  const open = listIdGaps(db, feed_id).filter(({ recorded_at }) => recorded_at >= attached_at)
  return [fromSource(judgeSource(place, ids, { missing, open, left_out, now }))]
}

const fromSource = ({ open, changes, reread, left_out, ...rest }: SourceCoverage) => ({
  ...rest,
  left_out: left_out && { ...left_out, at: iso(left_out.at) },
  changes: changes && { ...changes, oldest_at: iso(changes.oldest_at) },
  reread: reread === null ? null : { since: iso(reread.since), at: iso(reread.at) },
  open: open.map(({ from_id, to_id, reason, recorded_at, retry_at }) => ({
    from_id,
    to_id,
    reason,
    at: iso(recorded_at),
    retry_at: iso(retry_at),
  })),
})

/** Null for an unreadable figure: it must not appear as zero. */
function readable<T>(log: Log, read: () => T): T | null {
  try {
    return read()
  } catch (error) {
    log('error', 'health.unreadable', { error: error instanceof Error ? error.name : 'unknown' })
    return null
  }
}

function pollLog(
  db: Db,
  query: { monitor_id: string; since_at: number; offset_ms: number },
  seen_since_at: number,
): PollLog {
  const { monitor_id, since_at } = query
  return {
    gaps: listGaps(db, query),
    events: listEvents(db, { monitor_id, since_at }),
    // Items carry whole seconds: the second in which a monitor began belongs to it.
    seen: countSeen(db, { monitor_id, since_at: secondOf(seen_since_at) - 1 }),
  }
}

const secondOf = (at: number) => Math.floor(at / 1000) * 1000

const toEvent = ({ kind, at, until_at, stream }: Omit<PollEvent, 'kind'> & { kind: string }) => ({
  kind,
  at: iso(at),
  until: iso(until_at),
  stream,
})

const toCoverage = ({ since_at, audited_until_at, gaps, ...rest }: Coverage) => ({
  ...rest,
  audited_until: iso(audited_until_at),
  since: iso(since_at),
  gaps: gaps.map(({ recorded_at, from_at, until_at, closed_at, ...gap }) => ({
    ...gap,
    at: iso(recorded_at),
    from: iso(from_at),
    until: iso(until_at),
    healed_at: iso(closed_at),
  })),
  observed_events: rest.observed_events.map(toEvent),
  unobserved_events: rest.unobserved_events.map(toEvent),
})
