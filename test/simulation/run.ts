import { createSeededRandom } from '../../sandbox/world/random.ts'
import { coverageDays } from '../../src/api/monitors/coverage.ts'
import { monitorHealth } from '../../src/api/monitors/health.ts'
import { beginningAt, type Plan } from '../../src/core/limits/plan.ts'
import { coverageContext } from '../../src/gateway/watch.ts'
import { createUpkeep } from '../../src/monitor/maintenance.ts'
import { type Call } from '../../src/platforms/port.ts'
import { createPacer } from '../../src/platforms/reddit/pacer.ts'
import { type Db, isStorageError, transact } from '../../src/store/db/connection.ts'
import { changeMonitor, findMonitor } from '../../src/store/monitoring/monitors.ts'
import { fakeClock, nextTurn } from '../support/clock.ts'
import { fillDisk, type Fullness } from './disk.ts'
import { addMonitor, pollingOf } from './polling.ts'
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
  /** True: posts are deleted, pinned or approved late. */
  eventful: boolean
  /** True: subforums close, the daemon restarts, the clock jumps, monitors are paused. */
  upset?: boolean
  cadence_s?: number
  /** Cadence of each subforum; absent: the same for all. */
  cadence_of?: (place: string) => number
  /** Monitors per subforum. */
  monitors?: number
  /** Requests per minute of the account; absent: unlimited. */
  requests_per_minute?: number
  /** Probability of a full disk; absent: never. */
  fullness?: Fullness
}

const EMPTY: Fullness = { share: 0, spells_a_day: 0, spell_s: 0 }

/** Reported coverage of a subforum at an instant. Seconds of the platform's clock. */
export type Reading = {
  place: string
  at: number
  /** Start of the coverage window. */
  since: number
  status: string
  floor: number | null
  /** Creation times that the coverage of days calls complete at this instant. */
  complete: readonly Spell[]
  /** True if health is complete, and the coverage of days leaves a part of what it covers open. */
  is_disputed: boolean
}

export type Run = Awaited<ReturnType<typeof run>>

/** Smaller differences between clocks are not detected. */
const CLOCKS_S = 61

const contains = (outer: Spell, inner: Spell, slack_s: number): boolean =>
  inner.until <= inner.from ||
  (outer.from <= inner.from + slack_s && outer.until >= inner.until - slack_s)

const log = () => {}

/**
 * Runs the shipped polling code on a simulated world for some days, with an hourly reading of
 * coverage.
 */
export async function run(options: Options) {
  const { seed, days, places, rough, eventful, upset = eventful } = options
  const { cadence_s = 60, monitors = 1, cadence_of = () => cadence_s } = options
  const chance = createSeededRandom(seed)
  const clock = fakeClock(nextTurn, START)
  // The platform's clock is unaffected by jumps of the daemon's clock.
  const now_s = () => (START + clock.mono()) / 1000
  const world = createWorld({ seed, start: START / 1000, days, places, rough: eventful, upset })
  world.advance(START / 1000)
  const until_s = START / 1000 + days * 86_400
  const pacer = createPacer(
    clock,
    { session: options.requests_per_minute ?? 60, bearer: 60 },
    { fraction: () => 0.5 },
  )
  const upstream = createUpstream({
    world,
    clock,
    chance,
    rough,
    now_s,
    until_s,
    ...(options.requests_per_minute !== undefined && { admit: (call: Call) => pacer.admit(call) }),
  })
  const plan: Plan = { slots: 1e6, sitewide_slots: 10, cadence_s, daily_deliveries: 1e9 }
  const polling = pollingOf(upstream.platform, clock, START, upstream.ahead_ms)
  const { watch, watches, customer } = polling
  using db = polling.db
  const { fullness = EMPTY } = options
  const disk = fillDisk(db, { chance: createSeededRandom(seed + 1), fullness, now_s, until_s })

  const startRun = () =>
    polling.start({
      plan_of: () => plan,
      requests_per_minute: () => options.requests_per_minute ?? 60,
      create: (make) => disk.spare(make),
      failed: (error) => {
        if (!isStorageError(error)) throw error
      },
    })

  let life: ReturnType<typeof startRun> | null = startRun()
  for (const { name } of places)
    for (let i = 0; i < monitors; i++)
      disk.spare(() =>
        addMonitor(
          db,
          { id: `mon_${name}_${i}`, place: name, cadence_s: cadence_of(name) },
          clock.now(),
        ),
      )
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

  // Instants of the daemon's clock are converted while its offset is known, before the next jump.
  const dates = new Map<number, { recorded_s: number; seen_at: number }>()
  let dated = 0
  function dateGaps(): void {
    for (const { id, recorded_at } of gapRows(db, dated)) {
      const recorded_s = now_s() - (clock.now() - recorded_at) / 1000
      dates.set(id, { recorded_s, seen_at: recorded_at + watch.ahead_ms() })
      dated = id
    }
  }
  function datesOf(id: number) {
    const found = dates.get(id)
    if (found === undefined) throw new Error(`gap ${id} has no date`)
    return found
  }

  /** Creation times of yesterday and today that lie in no gap of their days. */
  function completeIn(place: string): Spell[] {
    const now = clock.now() + watch.earliest_ms()
    const day = Math.floor(now / DAY_MS) * DAY_MS
    const from = new Date(day - DAY_MS).toISOString().slice(0, 10)
    const coverage = disk.spare(() =>
      coverageDays({ clock }, { db, watches }, customer, {
        id: `mon_${place}_0`,
        from,
      }),
    )
    const gaps = coverage.days.flatMap((it) => it.gaps)
    const instants = [day - DAY_MS, ...gaps.flatMap((it) => [it.from, it.until]), now]
    const edges = instants.map((it) => Number(new Date(it ?? 0)) / 1000)
    const pairs = Array.from({ length: edges.length / 2 }, (_, n) => edges.slice(2 * n, 2 * n + 2))
    return pairs
      .map(([begin = 0, end = 0]) => ({ from: begin, until: end }))
      .filter(({ from: begin, until }) => begin < until)
  }

  /** Pauses or resumes the monitors of a subforum, as the API does. */
  function turn(place: string, active: boolean): void {
    const now = clock.now()
    const begins_at = beginningAt(now, watch.earliest_ms())
    for (let i = 0; i < monitors; i++) {
      const before = findMonitor(db, customer.id, `mon_${place}_${i}`)
      if (before === null) throw new Error(`no monitor of ${place}`)
      const active_since = active ? begins_at : before.active_since
      const monitor = { ...before, active, active_since, updated_at: now }
      disk.spare(() =>
        transact(db, () =>
          changeMonitor(
            db,
            monitor,
            { places: null, restart: active, begins_at, now },
            coverageContext(watches),
          ),
        ),
      )
    }
    life?.monitoring.nudge()
  }

  for (let at = 0; at < days * DAY_MS; at += STEP_MS) {
    await clock.advance(at + STEP_MS - clock.mono())
    world.advance(now_s())
    dateGaps()
    if (life !== null && at >= next_stop) {
      life.stopping.abort()
      life = null
      back_at = at + Math.min(10 * HOUR_MS, chance.wait(HOUR_MS))
      downs.push({ from: now_s(), until: (START + back_at + STEP_MS) / 1000 })
    } else if (life === null && at >= back_at) {
      life = startRun()
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
          { db, watch, watches: new Map(), plan_of: () => plan } as never,
          customer as never,
          `mon_${name}_0`,
        )
        const { status, posts_in_window_at_least: floor } = health.coverage_24h
        const since = now_s() - (clock.now() - Date.parse(health.coverage_24h.since)) / 1000
        const complete = completeIn(name)
        const { audited_until } = health.coverage_24h
        const covered = {
          from: since,
          until: audited_until === null ? since : Date.parse(audited_until) / 1000,
        }
        const is_disputed =
          status === 'complete' && !complete.some((it) => contains(it, covered, CLOCKS_S))
        readings.push({ place: name, at: now_s(), since, status, floor, complete, is_disputed })
      }
    }
  }
  life?.stopping.abort()
  await clock.advance(days * DAY_MS + 200_000 - clock.mono())
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

type GapRow = {
  id: number
  place: string
  reason: string
  from_at: number | null
  until_at: number | null
  missed_estimate: number | null
  recorded_at: number
  closed_at: number | null
}

/**
 * Final state of a gap. `recorded_s`: its creation on the platform's clock; `seen_at`: on the item
 * clock.
 */
export type Gap = GapRow & { recorded_s: number; seen_at: number }

const gapRows = (db: Db, since: number): GapRow[] =>
  db
    .query<GapRow, [number]>(
      `SELECT g.id, s.place, g.reason, g.from_at, g.until_at, g.missed_estimate, g.recorded_at, g.closed_at
         FROM gaps g JOIN feeds s ON s.id = g.feed_id WHERE g.id > ? ORDER BY g.id`,
    )
    .all(since)

/** Final content of the store: items with the time of their observation, and matches. */
function recordsOf(db: Db) {
  const seen = new Map<string, Map<string, number>>()
  for (const { place, item_id, first_seen_at } of db
    .query<{ place: string; item_id: string; first_seen_at: number }, []>(
      'SELECT s.place, i.item_id, i.first_seen_at FROM feed_items i JOIN feeds s ON s.id = i.feed_id',
    )
    .all()) {
    const mine = seen.get(place) ?? new Map<string, number>()
    seen.set(place, mine.set(item_id, first_seen_at))
  }
  const matched = new Set(
    db
      .query<{ name: string }, []>(
        `SELECT s.place || ' ' || m.item_id AS name FROM matches m JOIN feeds s ON s.id = m.feed_id`,
      )
      .all()
      .map(({ name }) => name),
  )
  return { seen, matched }
}
