import {
  type Coverage,
  judgeCoverage,
  judgeLiveness,
  type PollEvent,
  type PollLog,
  streamFacts,
  WINDOW_MS,
  windowSince,
} from '../core/coverage.ts'
import { countersOf, judgeCadence } from '../core/health.ts'
import { iso } from '../core/instant.ts'
import type { Log } from '../outside.ts'
import { listGaps } from '../store/checks.ts'
import type { Customer } from '../store/customers.ts'
import type { Db } from '../store/db.ts'
import { listEvents } from '../store/events.ts'
import { ceilingCapped, countDeliveries, lastDeliveryAt } from '../store/matches.ts'
import { listWatched } from '../store/monitors.ts'
import { countSeen } from '../store/seen.ts'
import type { Infra } from './infra.ts'
import { type MonitorDeps, wantMonitor } from './monitor-edits.ts'

/** What a monitor did in the last 24 hours, and what its streams can prove. */
export function monitorHealth(
  { clock, log }: Infra,
  { db, watch, plan_of }: MonitorDeps,
  customer: Customer,
  id: string,
) {
  const monitor = wantMonitor(db, customer.id, id)
  const { active, cadence_s, requested_cadence_s } = monitor
  const now = clock.now()
  // However little the clocks differ: where a monitor begins is an instant of the platform's.
  const offset_ms = watch.clock_measured_ms()
  // Rows of deliveries tell true time.
  const day = { monitor_id: id, since_at: now + offset_ms - WINDOW_MS }
  // A baseline may lie before the monitor, which has watched since it was made and no longer.
  const since_at = windowSince(now, Math.max(monitor.active_since - offset_ms, monitor.created_at))
  const streams = readable(log, () =>
    listWatched(db, id).map((it) => streamFacts(it, monitor.created_at, offset_ms)),
  )
  const polls = readable(log, () => pollLog(db, { monitor_id: id, since_at, offset_ms }))
  const liveness = judgeLiveness(streams, { active, now })
  return {
    id,
    active,
    daily_delivery_ceiling: plan_of(customer.plan).daily_deliveries,
    ...countersOf(countDeliveries(db, day), ceilingCapped(db, day)),
    last_match_at: iso(lastDeliveryAt(db, id)),
    coverage_24h: toCoverage(judgeCoverage(polls, liveness, { active, since_at })),
    stream_liveness: liveness,
    cadence: judgeCadence(streams, { active, cadence_s, requested_cadence_s, now }),
    clock_skew_s: Math.round(watch.clock_offset_ms() / 1000),
  }
}

/** What cannot be read is unknown: a figure that could not be looked up must not read as none. */
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
): PollLog {
  const { monitor_id, since_at, offset_ms } = query
  return {
    gaps: listGaps(db, query),
    events: listEvents(db, { monitor_id, since_at }),
    // Items tell whole seconds: the one in which a monitor began is its own.
    seen: countSeen(db, { monitor_id, since_at: secondOf(since_at + offset_ms) - 1 }),
  }
}

const secondOf = (at: number) => Math.floor(at / 1000) * 1000

const toEvent = ({ kind, at, until_at, stream }: Omit<PollEvent, 'kind'> & { kind: string }) => ({
  kind,
  at: iso(at),
  until: iso(until_at),
  stream,
})

const toCoverage = ({ since_at, gaps, ...rest }: Coverage) => ({
  ...rest,
  since: iso(since_at),
  gaps: gaps.map(({ recorded_at, from_at, until_at, healed_at, ...gap }) => ({
    ...gap,
    at: iso(recorded_at),
    from: iso(from_at),
    until: iso(until_at),
    healed_at: iso(healed_at),
  })),
  observed_events: rest.observed_events.map(toEvent),
  unobserved_events: rest.unobserved_events.map(toEvent),
})
