import { createSeededRandom } from '../../../sandbox/world/random.ts'
import { placesOf } from '../../../src/core/filter/feeds.ts'
import { encodeFilterSpec, parseFilterSpec } from '../../../src/core/filter/parse.ts'
import { createNaming } from '../../../src/core/forum/naming.ts'
import { beginningAt } from '../../../src/core/limits/plan.ts'
import { createItemClock } from '../../../src/core/polling/item-clock.ts'
import { createWatch } from '../../../src/gateway/watch.ts'
import { createFilters } from '../../../src/monitor/match.ts'
import { createMonitoring, createSchedule } from '../../../src/monitor/scheduler.ts'
import { ANONYMOUS } from '../../../src/platforms/port.ts'
import { createPacer } from '../../../src/platforms/reddit/pacer.ts'
import { startLoop } from '../../../src/runtime/loop.ts'
import { insertCustomer } from '../../../src/store/customers/customers.ts'
import { connect, type Db, migrate, transact } from '../../../src/store/db/connection.ts'
import { startMonitor } from '../../../src/store/monitoring/monitors.ts'
import { virtualClock } from '../../../test/simulation/clock.ts'
import { createUpstream, SMOOTH } from '../../../test/simulation/upstream.ts'
import type { PlaceSpec } from '../../../test/simulation/world.ts'
import { DOWN, PER_MINUTE, RUN_MS, START, trafficOf, type Watched } from './poll-world.ts'

/** Seconds between audits of the median feed at the end, and the age of the end of its verified range. */
type AuditCost = { interval_s: number; behind_s: number }

const words = createNaming({ platform: 'forum', community: 'subforum' })
const log = () => {}
const START_MS = 2000

/** Runs the daemon's own planner and monitor loop over a database in memory: one monitor per subforum. */
export async function watchOurs(
  seed: number,
  places: readonly PlaceSpec[],
  cadence_s: number,
  audit_interval_s = 0,
): Promise<Watched & { audits: AuditCost }> {
  const clock = virtualClock(START)
  const world = trafficOf(seed, places)
  const pacer = createPacer(
    clock,
    { session: PER_MINUTE, bearer: PER_MINUTE },
    { fraction: () => 0.5 },
  )
  const upstream = createUpstream({
    world,
    clock,
    chance: createSeededRandom(seed),
    rough: SMOOTH,
    now_s: () => clock.now() / 1000,
    until_s: (START + RUN_MS) / 1000,
    admit: (call) => pacer.admit(call),
  })
  using db = connect(':memory:', { create: true })
  migrate(db)
  const watch = createWatch({
    platform: upstream.platform,
    identities: { lease: () => ANONYMOUS, report: () => {}, free_in_ms: () => null },
    clock,
    item_clock: createItemClock(clock, upstream.platform.clock_measured_ms),
    deadline_ms: 30_000,
  })
  insertCustomer(db, {
    id: 'cus_1',
    name: 'ada',
    plan: 'entry',
    created_at: START,
    starting_credit_micros: 0,
    payment_id: 'pay_1',
  })
  transact(db, () => {
    for (const { name } of places) watchPlace(db, name, cadence_s)
  })

  function startRun() {
    const stopping = new AbortController()
    const { signal } = stopping
    const wake = { now: () => {} }
    const monitoring = createMonitoring({
      db,
      instance_id: 'instance',
      words,
      watch,
      streams: new Map(),
      clock,
      log,
      signal,
      audit_interval_s,
      requests_per_minute: () => PER_MINUTE,
      plan_of: () => ({ slots: 1e6, sitewide_slots: 0, cadence_s, daily_deliveries: 1e9 }),
      freshness_ms: 900_000,
      filters: createFilters(db, log),
      schedule: createSchedule('* * * * * *', 'UTC'),
      wake: () => wake.now(),
      on_pending: () => {},
    })
    const loop = startLoop({ clock, log }, 'monitor', signal, monitoring.checkDue, {
      failed: (error) => {
        throw error
      },
    })
    wake.now = loop.nudge
    return stopping
  }

  const first = startRun()
  await clock.runTo(DOWN.from_ms)
  first.abort()
  await clock.runTo(DOWN.until_ms - START_MS)
  const second = startRun()
  await clock.runTo(RUN_MS)
  second.abort()
  await clock.runTo(RUN_MS + 100_000)
  const rows = db
    .query<{ item_id: string; matched_at: number }, []>('SELECT item_id, matched_at FROM matches')
    .all()
  const gaps = db
    .query<Gap, []>(
      'SELECT s.place, g.from_at, g.until_at, g.recorded_at FROM gaps g JOIN feeds s ON s.id = g.feed_id',
    )
    .all()
  const audited = db
    .query<{ interval_s: number; behind_s: number }, [number]>(
      `SELECT audit_interval_s AS interval_s, (? - coalesce(audited_until, 0)) / 1000.0 AS behind_s
         FROM feeds ORDER BY behind_s`,
    )
    .all(START + RUN_MS)
  const middle = audited[Math.floor(audited.length / 2)]
  const by_place = Map.groupBy(gaps, ({ place }) => place)
  return {
    reported_at: new Map(rows.map(({ item_id, matched_at }) => [item_id, matched_at])),
    again: 0,
    audits: { interval_s: middle?.interval_s ?? 0, behind_s: middle?.behind_s ?? 0 },
    requests: upstream.requests(),
    owned: (place, created_ms) =>
      (by_place.get(place) ?? []).some(
        ({ from_at, until_at, recorded_at }) =>
          (from_at ?? 0) <= created_ms && created_ms <= (until_at ?? recorded_at),
      ),
  }
}

type Gap = { place: string; from_at: number | null; until_at: number | null; recorded_at: number }

function watchPlace(db: Db, place: string, cadence_s: number): void {
  const spec = parseFilterSpec({ subforum: [place] }, words)
  const monitor = {
    id: `mon_${place}`,
    customer_id: 'cus_1',
    name: null,
    filter_spec: encodeFilterSpec(spec),
    cadence_s,
    requested_cadence_s: null,
    baseline_item_id: null,
    webhook_ids: null,
    active: true,
    active_since: beginningAt(START, 0),
    created_at: START,
    updated_at: START,
    last_match_at: null,
  }
  startMonitor(db, monitor, placesOf(spec))
}
