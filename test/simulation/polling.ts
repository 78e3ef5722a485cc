import { placesOf } from '../../src/core/filter/feeds.ts'
import { encodeFilterSpec, parseFilterSpec } from '../../src/core/filter/parse.ts'
import { HOME } from '../../src/core/forum/items.ts'
import { createNaming } from '../../src/core/forum/naming.ts'
import { beginningAt } from '../../src/core/limits/plan.ts'
import { createFilters } from '../../src/monitor/match.ts'
import type { MonitoringDeps } from '../../src/monitor/poll.ts'
import { createMonitoring, createSchedule } from '../../src/monitor/scheduler.ts'
import { ANONYMOUS, type SourceReads } from '../../src/platforms/port.ts'
import { startLoop } from '../../src/runtime/loop.ts'
import type { Clock } from '../../src/runtime/runtime.ts'
import { insertCustomer } from '../../src/store/customers/customers.ts'
import { connect, type Db, migrate, transact } from '../../src/store/db/connection.ts'
import { startMonitor } from '../../src/store/monitoring/monitors.ts'
import { createListingWatch, listedSource, watchesOf } from '../support/watch.ts'

const log = () => {}
const NO_LIMIT = () => Infinity
const words = createNaming({ platform: 'forum', community: 'subforum' })

/** The daemon's planner and monitor loop over a database in memory, which has one customer, and a simulated platform. */
export function pollingOf(
  platform: SourceReads,
  clock: Clock,
  created_at: number,
  ahead_ms: () => number = () => 0,
) {
  const db = connect(':memory:', { create: true })
  migrate(db)
  const pace = { per_minute: NO_LIMIT }
  const watch = createListingWatch({
    name: HOME,
    source: listedSource(platform, { ahead_ms }),
    per_minute: () => pace.per_minute(),
    identities: { lease: () => ANONYMOUS, report: () => {}, free_in_ms: () => null },
    clock,
    deadline_ms: 30_000,
  })
  const watches = watchesOf(watch)
  const customer = {
    id: 'cus_1',
    name: 'ada',
    plan: 'entry',
    created_at,
    starting_credit_micros: 0,
    payment_id: 'pay_1',
  }
  insertCustomer(db, customer)

  type Settings = Pick<MonitoringDeps, 'plan_of' | 'audit_interval_s'> & {
    requests_per_minute?: () => number
    /** Creates what it is given; absent: by a plain call. */
    create?: <T>(make: () => T) => T
    /** Called with an error of the loop. */
    failed(error: unknown): void
  }

  /** Starts the loop, as a process would. */
  function start({
    create = (make) => make(),
    failed,
    requests_per_minute = NO_LIMIT,
    ...settings
  }: Settings) {
    pace.per_minute = requests_per_minute
    const stopping = new AbortController()
    const { signal } = stopping
    let wake = log
    const monitoring = create(() =>
      createMonitoring({
        db,
        instance_id: 'instance',
        words,
        watches,
        clock,
        log,
        signal,
        freshness_ms: 900_000,
        filters: createFilters(db, log),
        schedule: createSchedule('* * * * * *', 'UTC'),
        wake: () => wake(),
        on_pending: () => {},
        ...settings,
      }),
    )
    const loop = startLoop({ clock, log }, 'monitor', signal, monitoring.checkDue, { failed })
    wake = loop.nudge
    return { monitoring, stopping }
  }

  return { db, words, log, watch, watches, customer, start }
}

/** Adds a monitor of one place. */
export function addMonitor(
  db: Db,
  { id, place, cadence_s }: { id: string; place: string; cadence_s: number },
  now: number,
): void {
  const spec = parseFilterSpec({ subforum: [place] }, words)
  const monitor = {
    id,
    customer_id: 'cus_1',
    name: null,
    filter_spec: encodeFilterSpec(spec),
    cadence_s,
    requested_cadence_s: null,
    baseline_item_id: null,
    webhook_ids: null,
    active: true,
    active_since: beginningAt(now, 0),
    created_at: now,
    updated_at: now,
    last_match_at: null,
  }
  transact(db, () => startMonitor(db, monitor, placesOf(spec)))
}
