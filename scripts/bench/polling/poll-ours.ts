import { createSeededRandom } from '../../../sandbox/world/random.ts'
import { createPacer } from '../../../src/platforms/reddit/pacer.ts'
import { transact } from '../../../src/store/db/connection.ts'
import { addMonitor, pollingOf } from '../../../test/simulation/polling.ts'
import { createUpstream, SMOOTH } from '../../../test/simulation/upstream.ts'
import type { PlaceSpec } from '../../../test/simulation/world.ts'
import { fakeClock, nextTurn } from '../../../test/support/clock.ts'
import { DOWN, PER_MINUTE, RUN_MS, START, trafficOf, type Watched } from './poll-world.ts'

/** Seconds between audits of the median feed at the end, and the age of the end of its verified range. */
type AuditCost = { interval_s: number; behind_s: number }

const START_MS = 2000

/** Runs the daemon's own planner and monitor loop over a database in memory: one monitor per subforum. */
export async function watchOurs(
  seed: number,
  places: readonly PlaceSpec[],
  cadence_s: number,
  audit_interval_s = 0,
): Promise<Watched & { audits: AuditCost }> {
  const clock = fakeClock(nextTurn, START)
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
  const { db, start } = pollingOf(upstream.platform, clock, START, upstream.ahead_ms)
  using _ = db
  transact(db, () => {
    for (const { name } of places)
      addMonitor(db, { id: `mon_${name}`, place: name, cadence_s }, START)
  })
  const startRun = () =>
    start({
      audit_interval_s,
      requests_per_minute: () => PER_MINUTE,
      plan_of: () => ({ slots: 1e6, sitewide_slots: 0, cadence_s, daily_deliveries: 1e9 }),
      failed: (error) => {
        throw error
      },
    }).stopping

  const first = startRun()
  await clock.advance(DOWN.from_ms - clock.mono())
  first.abort()
  await clock.advance(DOWN.until_ms - START_MS - clock.mono())
  const second = startRun()
  await clock.advance(RUN_MS - clock.mono())
  second.abort()
  await clock.advance(RUN_MS + 100_000 - clock.mono())
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
