import { monitorHealth } from '../../src/api/monitor-health.ts'
import { encodeFilterSpec, parseFilterSpec, placesOf } from '../../src/core/filter.ts'
import { beginningAt, type Plan } from '../../src/core/gate.ts'
import { createWords } from '../../src/core/wire.ts'
import { createWatch } from '../../src/gateway/watch.ts'
import { startLoop } from '../../src/loop.ts'
import { createMonitoring } from '../../src/monitor/due.ts'
import { createFilters } from '../../src/monitor/filters.ts'
import { createSchedule } from '../../src/monitor/schedule.ts'
import { createUpkeep } from '../../src/monitor/upkeep.ts'
import { createPacer } from '../../src/platform/pacer.ts'
import { ANONYMOUS, type Call } from '../../src/platform/platform.ts'
import { createChance } from '../../src/sandbox/chance.ts'
import { insertCustomer } from '../../src/store/customers.ts'
import { connect, type Db, migrate, transact } from '../../src/store/db.ts'
import { startMonitor } from '../../src/store/watching.ts'
import { virtualClock } from './clock.ts'
import { createUpstream, type Roughness } from './upstream.ts'
import { createWorld, type PlaceSpec } from './world.ts'

const START = Date.parse('2026-03-02T00:00:00Z')
const DAY_MS = 86_400_000
const HOUR_MS = 3_600_000
const STEP_MS = 60_000

export type Options = {
  seed: number
  days: number
  places: readonly PlaceSpec[]
  rough: Roughness
  /** Whether posts vanish, are pinned or come late, places close, the daemon stops and the clock jumps. */
  eventful: boolean
  cadence_s?: number
  /** Monitors on each place. */
  monitors?: number
  /** Requests a minute that the account has; absent: any number. */
  requests_per_minute?: number
}

/** What health said of a place at an instant. */
type Reading = { place: string; at: number; status: string; floor: number | null }

export type Run = Awaited<ReturnType<typeof run>>

const log = () => {}
const nobody = () => {}

/** Lets the daemon's own monitoring watch a world for some days, reading health every hour. */
export async function run(options: Options) {
  const { seed, days, places, rough, eventful, cadence_s = 60, monitors = 1 } = options
  const chance = createChance(seed)
  const clock = virtualClock(START)
  // The platform's clock does not jump when ours does.
  const now_s = () => (START + clock.mono()) / 1000
  const world = createWorld({ seed, start: START / 1000, days, places, rough: eventful })
  world.advance(START / 1000)
  const until_s = START / 1000 + days * 86_400
  const pacer = createPacer(clock, { session: options.requests_per_minute ?? 60, bearer: 60 })
  const upstream = createUpstream({
    world,
    clock,
    chance,
    rough,
    now_s,
    until_s,
    ...(options.requests_per_minute !== undefined && { admit: (call: Call) => pacer.admit(call) }),
  })
  using db = connect(':memory:', { create: true })
  migrate(db)
  const words = createWords({ platform: 'forum', community: 'subforum' })
  const plan: Plan = { slots: 1e6, sitewide_slots: 10, cadence_s, daily_deliveries: 1e9 }
  const watch = createWatch({
    platform: upstream.platform,
    eyes_of: { lease: () => ANONYMOUS, report: () => {} },
    clock,
    deadline_ms: 30_000,
  })
  const customer = {
    id: 'cus_1',
    name: 'ada',
    plan: 'entry',
    created_at: START,
    starting_credit_micros: 0,
    payment_id: 'pay_1',
  }
  insertCustomer(db, customer)

  function boot(count: number) {
    const stopping = new AbortController()
    const { signal } = stopping
    let wake = nobody
    const monitoring = createMonitoring({
      db,
      instance_id: 'instance',
      boot: `boot_${count}`,
      words,
      watch,
      clock,
      log,
      signal,
      plan_of: () => plan,
      freshness_ms: 900_000,
      filters: createFilters(db, log),
      schedule: createSchedule('* * * * * *', 'UTC'),
      wake: () => wake(),
      on_pending: () => {},
    })
    const loop = startLoop({ clock, log }, 'monitor', signal, monitoring.checkDue, (error) => {
      throw error
    })
    wake = loop.nudge
    return { monitoring, stopping }
  }

  let boots = 1
  let life: ReturnType<typeof boot> | null = boot(boots)
  for (const { name } of places)
    for (let i = 0; i < monitors; i++)
      addMonitor(db, `mon_${name}_${i}`, name, clock.now(), cadence_s)
  life.monitoring.nudge()

  const upkeep = createUpkeep({ db, clock })
  const readings: Reading[] = []
  const downs: { from: number; until: number }[] = []
  let next_stop = eventful ? chance.wait(2 * DAY_MS) : Infinity
  let next_jump = eventful ? chance.wait(4 * DAY_MS) : Infinity
  let back_at = Infinity

  for (let at = 0; at < days * DAY_MS; at += STEP_MS) {
    await clock.runTo(at + STEP_MS)
    world.advance(now_s())
    if (life !== null && at >= next_stop) {
      life.stopping.abort()
      life = null
      back_at = at + Math.min(10 * HOUR_MS, chance.wait(HOUR_MS))
      downs.push({ from: now_s(), until: (START + back_at + STEP_MS) / 1000 })
    } else if (life === null && at >= back_at) {
      life = boot(++boots)
      next_stop = at + chance.wait(2 * DAY_MS)
    }
    if (at >= next_jump) {
      clock.jump((chance.odds(0.5) ? 1 : -1) * chance.whole(3, 5000) * 1000)
      next_jump = at + chance.wait(4 * DAY_MS)
    }
    if (life !== null && (at / STEP_MS) % 60 === 59) {
      await upkeep()
      for (const { name } of places) {
        const health = monitorHealth(
          { clock, log } as never,
          { db, watch, plan_of: () => plan } as never,
          customer as never,
          `mon_${name}_0`,
        )
        const { status, posts_in_window_at_least: floor } = health.coverage_24h
        readings.push({ place: name, at: now_s(), status, floor })
      }
    }
  }
  life?.stopping.abort()
  await clock.runTo(days * DAY_MS + 200_000)
  const jumped_ms = clock.now() - START - clock.mono()
  return {
    world,
    upstream,
    readings,
    downs,
    ...recordsOf(db),
    jumped_ms,
    places,
    cadence_s,
    begun_s: START / 1000,
    ended_s: until_s,
  }
}

function addMonitor(db: Db, id: string, place: string, now: number, cadence_s: number): void {
  const words = createWords({ platform: 'forum', community: 'subforum' })
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

type GapRow = {
  place: string
  reason: string
  from_at: number | null
  until_at: number | null
  missed_estimate: number | null
  recorded_at: number
  healed_at: number | null
}

/** What the store holds at the end: seen items with when that was, gaps, checks. */
function recordsOf(db: Db) {
  const seen = new Map<string, Map<string, number>>()
  for (const { place, item_id, first_seen_at } of db
    .query<{ place: string; item_id: string; first_seen_at: number }, []>(
      'SELECT s.place, i.item_id, i.first_seen_at FROM stream_items i JOIN streams s ON s.id = i.stream_id',
    )
    .all()) {
    const mine = seen.get(place) ?? new Map<string, number>()
    seen.set(place, mine.set(item_id, first_seen_at))
  }
  const gaps = db
    .query<GapRow, []>(
      `SELECT s.place, g.reason, g.from_at, g.until_at, g.missed_estimate, g.recorded_at, g.healed_at
         FROM gaps g JOIN streams s ON s.id = g.stream_id ORDER BY g.id`,
    )
    .all()
  const matches = db.query<{ n: number }, []>('SELECT count(*) AS n FROM matches').get()?.n
  const convoys = db
    .query<{ n: number }, []>('SELECT count(*) AS n FROM streams WHERE convoy_id IS NOT NULL')
    .get()?.n
  return { seen, gaps, matches: matches ?? 0, in_convoys: convoys ?? 0 }
}
