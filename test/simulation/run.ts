import { monitorHealth } from '../../src/api/monitor-health.ts'
import { placesOf } from '../../src/core/filter-places.ts'
import { encodeFilterSpec, parseFilterSpec } from '../../src/core/filter.ts'
import { beginningAt, type Plan } from '../../src/core/gate.ts'
import { createWords } from '../../src/core/wire.ts'
import { createWatch } from '../../src/gateway/watch.ts'
import { startLoop } from '../../src/loop.ts'
import { createMonitoring, type MonitoringDeps } from '../../src/monitor/due.ts'
import { createFilters } from '../../src/monitor/filters.ts'
import { createSchedule } from '../../src/monitor/schedule.ts'
import { createUpkeep } from '../../src/monitor/upkeep.ts'
import { createPacer } from '../../src/platform/pacer.ts'
import { ANONYMOUS, type Call } from '../../src/platform/platform.ts'
import { createChance } from '../../src/sandbox/chance.ts'
import { insertCustomer } from '../../src/store/customers.ts'
import { connect, type Db, isStorageError, migrate, transact } from '../../src/store/db.ts'
import { findMonitor } from '../../src/store/monitors.ts'
import { changeMonitor, startMonitor } from '../../src/store/watching.ts'
import { virtualClock } from './clock.ts'
import { fillDisk, type Fullness } from './disk.ts'
import { createUpstream, type Roughness, type Spell } from './upstream.ts'
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
  /** Whether posts vanish, are pinned or come late. */
  eventful: boolean
  /** Whether nobody can look now and then: places close, the daemon stops, the clock jumps, monitors are paused. */
  upset?: boolean
  cadence_s?: number
  /** The cadence of each place; absent: all have the same. */
  cadence_of?: (place: string) => number
  /** Monitors on each place. */
  monitors?: number
  /** Requests a minute that the account has; absent: any number. */
  requests_per_minute?: number
  /** How often there is no room to write; absent: never. */
  fullness?: Fullness
}

const EMPTY: Fullness = { share: 0, spells_a_day: 0, spell_s: 0 }

/** What health said of a place at an instant. Seconds of the platform's clock. */
export type Reading = {
  place: string
  at: number
  /** Where the window begins that it speaks of. */
  since: number
  status: string
  floor: number | null
}

export type Run = Awaited<ReturnType<typeof run>>

const log = () => {}
const nobody = () => {}

/** Lets the daemon's own monitoring watch a world for some days, reading health every hour. */
export async function run(options: Options) {
  const { seed, days, places, rough, eventful, upset = eventful } = options
  const { cadence_s = 60, monitors = 1, cadence_of = () => cadence_s } = options
  const chance = createChance(seed)
  const clock = virtualClock(START)
  // The platform's clock does not jump when ours does.
  const now_s = () => (START + clock.mono()) / 1000
  const world = createWorld({ seed, start: START / 1000, days, places, rough: eventful, upset })
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
  const { fullness = EMPTY } = options
  const disk = fillDisk(db, { chance: createChance(seed + 1), fullness, now_s, until_s })

  function boot(count: number) {
    const stopping = new AbortController()
    const { signal } = stopping
    let wake = nobody
    const deps: MonitoringDeps = {
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
    }
    const monitoring = disk.spare(() => createMonitoring(deps))
    const loop = startLoop({ clock, log }, 'monitor', signal, monitoring.checkDue, (error) => {
      if (!isStorageError(error)) throw error
    })
    wake = loop.nudge
    return { monitoring, stopping }
  }

  let boots = 1
  let life: ReturnType<typeof boot> | null = boot(boots)
  for (const { name } of places)
    for (let i = 0; i < monitors; i++)
      disk.spare(() => addMonitor(db, `mon_${name}_${i}`, name, clock.now(), cadence_of(name)))
  life.monitoring.nudge()

  const upkeep = createUpkeep({ db, clock, signal: new AbortController().signal })
  const readings: Reading[] = []
  const downs: { from: number; until: number }[] = []
  const pauses = new Map<string, Spell[]>()
  const paused = new Map<string, { from: number; until_ms: number }>()
  let next_stop = upset ? chance.wait(2 * DAY_MS) : Infinity
  let next_jump = upset ? chance.wait(4 * DAY_MS) : Infinity
  let next_pause = upset ? chance.wait(DAY_MS) : Infinity
  let back_at = Infinity

  // Our clock jumps, so what it dates is put on the platform's while both are known.
  const dates = new Map<number, { recorded_s: number; seen_at: number }>()
  let dated = 0
  function dateGaps(): void {
    for (const { id, recorded_at } of gapRows(db, dated)) {
      const recorded_s = now_s() - (clock.now() - recorded_at) / 1000
      dates.set(id, { recorded_s, seen_at: recorded_at + upstream.platform.clock_offset_ms() })
      dated = id
    }
  }
  function datesOf(id: number) {
    const found = dates.get(id)
    if (found === undefined) throw new Error(`gap ${id} was never dated`)
    return found
  }

  /** Pauses the monitors of a place, or lets them go on, as the interface would. */
  function turn(place: string, active: boolean): void {
    const now = clock.now()
    const begins_at = beginningAt(now, upstream.platform.clock_measured_ms())
    for (let i = 0; i < monitors; i++) {
      const before = findMonitor(db, customer.id, `mon_${place}_${i}`)
      if (before === null) throw new Error(`there is no monitor of ${place}`)
      const active_since = active ? begins_at : before.active_since
      const monitor = { ...before, active, active_since, updated_at: now }
      disk.spare(() =>
        transact(db, () =>
          changeMonitor(db, monitor, { places: null, restart: active, begins_at, now }),
        ),
      )
    }
    life?.monitoring.nudge()
  }

  for (let at = 0; at < days * DAY_MS; at += STEP_MS) {
    await clock.runTo(at + STEP_MS)
    world.advance(now_s())
    dateGaps()
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
    if (life !== null && at >= next_pause) {
      const place = chance.pick(places).name
      if (!paused.has(place)) {
        paused.set(place, { from: now_s(), until_ms: at + chance.wait(3 * HOUR_MS) })
        turn(place, false)
      }
      next_pause = at + chance.wait(DAY_MS)
    }
    for (const [place, { from, until_ms }] of paused)
      if (life !== null && at >= until_ms) {
        paused.delete(place)
        turn(place, true)
        pauses.set(place, [...(pauses.get(place) ?? []), { from, until: now_s() }])
      }
    if (life !== null && (at / STEP_MS) % 60 === 59) {
      await disk.spareAll(upkeep)
      for (const { name } of places) {
        const health = monitorHealth(
          { clock, log } as never,
          { db, watch, plan_of: () => plan } as never,
          customer as never,
          `mon_${name}_0`,
        )
        const { status, posts_in_window_at_least: floor } = health.coverage_24h
        const since = now_s() - (clock.now() - Date.parse(health.coverage_24h.since)) / 1000
        readings.push({ place: name, at: now_s(), since, status, floor })
      }
    }
  }
  life?.stopping.abort()
  await clock.runTo(days * DAY_MS + 200_000)
  dateGaps()
  for (const [place, { from }] of paused)
    pauses.set(place, [...(pauses.get(place) ?? []), { from, until: Infinity }])
  return {
    world,
    upstream,
    readings,
    downs,
    pauses,
    fulls: disk.fulls,
    unwritten: disk.counts,
    ...recordsOf(db),
    gaps: gapRows(db, 0).map((gap): Gap => ({ ...gap, ...datesOf(gap.id) })),
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
  id: number
  place: string
  reason: string
  from_at: number | null
  until_at: number | null
  missed_estimate: number | null
  recorded_at: number
  healed_at: number | null
}

/** A gap as it stands in the end. `recorded_s`: when it was written, by the platform's clock; `seen_at`: as items date it. */
export type Gap = GapRow & { recorded_s: number; seen_at: number }

const gapRows = (db: Db, since: number): GapRow[] =>
  db
    .query<GapRow, [number]>(
      `SELECT g.id, s.place, g.reason, g.from_at, g.until_at, g.missed_estimate, g.recorded_at, g.healed_at
         FROM gaps g JOIN streams s ON s.id = g.stream_id WHERE g.id > ? ORDER BY g.id`,
    )
    .all(since)

/** What the store holds at the end: seen items with when that was, and matches. */
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
  const matched = new Set(
    db
      .query<{ name: string }, []>(
        `SELECT s.place || ' ' || m.item_id AS name FROM matches m JOIN streams s ON s.id = m.stream_id`,
      )
      .all()
      .map(({ name }) => name),
  )
  return { seen, matched }
}
