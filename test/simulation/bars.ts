import { judge, type Verdict } from './judge.ts'
import { run } from './run.ts'
import { type Roughness, SMOOTH } from './upstream.ts'
import type { PlaceSpec } from './world.ts'

/** From one post in six hours to one in five seconds; the busier half has floods. */
const RATES = [
  1 / 20_000,
  1 / 7000,
  1 / 3000,
  1 / 1200,
  1 / 600,
  1 / 300,
  1 / 120,
  1 / 60,
  1 / 20,
  1 / 5,
]

const PLACES: PlaceSpec[] = RATES.map((rate, i) => ({ name: `p${i}`, rate, floods: i >= 6 }))

const ROUGH: Roughness = {
  errors: 0.02,
  throttled: 0.001,
  short_pages: 0.02,
  empty: 0.0005,
  restarts: 0.02,
  stale_a_day: 6,
  restarting_a_day: 8,
  outages_a_day: 0.4,
  outage_s: 1200,
}

/**
 * The same without platform failures and restarts, so that no gap is excused by a truncated poll.
 */
const FAIR: Roughness = { ...ROUGH, throttled: 0, empty: 0, outages_a_day: 0 }

/** Simulates `feed_days`, half rough and half fair, over ten feeds that are polled in batches. */
export async function simulateCoverage(seed: number, feed_days: number): Promise<Verdict[]> {
  const days = feed_days / PLACES.length / 2
  const world = { days, places: PLACES, eventful: true }
  const storm = await run({ ...world, seed, rough: ROUGH })
  const fair = await run({ ...world, seed: seed + 1_000_003, rough: FAIR, upset: false })
  return [judge(storm, days), judge(fair, days)]
}

/**
 * Simulates the fair half on a disk where one write in fifty fails, and at times all writes fail
 * for a while.
 */
export async function simulateFullDisk(seed: number, feed_days: number) {
  const days = feed_days / PLACES.length
  const fullness = { share: 0.02, spells_a_day: 4, spell_s: 1200 }
  const options = { seed, days, places: PLACES, rough: FAIR, eventful: true, upset: false }
  const full = await run({ ...options, fullness })
  return { verdict: judge(full, days), unwritten: full.unwritten, fulls: full.fulls.length }
}

/** Violations of the coverage bar in these verdicts, as sentences; empty if there are none. */
export function breaches(verdicts: readonly Verdict[]): string[] {
  const all = <K extends keyof Verdict>(key: K) => verdicts.map((it) => it[key])
  const sum = (
    key: 'feed_days' | 'floor_above_truth' | 'estimates' | 'estimated' | 'really_missed',
  ) => all(key).reduce((total, it) => total + it, 0)
  const wrong = all('wrong_estimates').flat()
  const false_degraded = all('false_degraded').flat()
  const above = sum('floor_above_truth')
  return [
    ...all('missed_in_silence')
      .flat()
      .map((it) => `${it} was missed while coverage was complete`),
    ...all('missed_in_complete')
      .flat()
      .map((it) => `${it} was missed in what the coverage of days calls complete`),
    ...verdicts.flatMap(({ disputed }) =>
      disputed > 0
        ? [`the coverage of days left open what health called complete, ${disputed} times`]
        : [],
    ),
    ...all('late_in_silence')
      .flat()
      .map((it) => `${it} was observed late while coverage was complete`),
    ...all('missed_beside_gaps')
      .flat()
      .map((it) => `${it} was missed outside of any gap`),
    ...all('unmatched')
      .flat()
      .map((it) => `${it} was observed without a match`),
    ...(above > 0 ? [`a lower bound of missed items was too high ${above} times`] : []),
    // A few gaps have no meaningful share or sum.
    ...(wrong.length > Math.max(1, sum('estimates') * 0.05)
      ? wrong.map((it) => `${it}: estimate off by more than a factor of three`)
      : []),
    ...(sum('estimates') >= 20 && sum('estimated') > 3 * sum('really_missed')
      ? [`${sum('estimated')} estimated, ${sum('really_missed')} missed`]
      : []),
    ...(false_degraded.length > Math.max(1, sum('feed_days') / 10)
      ? false_degraded.map((it) => `${it}: a false alarm`)
      : []),
  ]
}

/** Requests of five hours for one subforum, polled for one monitor and for many. */
export async function simulateSharing(
  seed: number,
  monitors: number,
): Promise<{ one: number; many: number }> {
  const places = [{ name: 'cats', rate: 1 / 900, floods: false }]
  const options = { seed, days: 0.2, places, rough: SMOOTH, eventful: false }
  const one = await run({ ...options, monitors: 1 })
  const many = await run({ ...options, monitors })
  return { one: one.upstream.requests(), many: many.upstream.requests() }
}
