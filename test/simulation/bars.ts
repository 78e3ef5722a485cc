import { judge, type Verdict } from './judge.ts'
import { run } from './run.ts'
import { type Roughness, SMOOTH } from './upstream.ts'
import type { PlaceSpec } from './world.ts'

/** From a post in six hours to one in five seconds, the busier half with floods. */
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
  stale_a_day: 6,
  outages_a_day: 0.4,
  outage_s: 1200,
}

/** So many feed-days of bad weather, over ten feeds that travel together. */
export async function simulateCoverage(seed: number, feed_days: number): Promise<Verdict> {
  const days = feed_days / PLACES.length
  return judge(await run({ seed, days, places: PLACES, rough: ROUGH, eventful: true }), days)
}

/** What of the bar a verdict does not keep, as sentences; none when it keeps all. */
export function breaches(verdict: Verdict): string[] {
  const { feed_days, missed_in_silence, floor_above_truth, estimates, low_estimates } = verdict
  const { estimated, really_missed, false_degraded } = verdict
  return [
    ...missed_in_silence.map((it) => `${it} was missed while coverage read complete`),
    ...(floor_above_truth > 0 ? [`a floor was above the truth ${floor_above_truth} times`] : []),
    ...(low_estimates > Math.max(1, estimates * 0.05)
      ? [`${low_estimates} of ${estimates} estimates were below the truth`]
      : []),
    // Of a handful of gaps the sum says nothing.
    ...(estimates >= 20 && estimated > 3 * really_missed
      ? [`${estimated} estimated, ${really_missed} missed`]
      : []),
    ...(false_degraded > Math.max(1, feed_days / 10) ? [`${false_degraded} false alarms`] : []),
  ]
}

/** Requests of a day for one place, watched by one monitor and by many. */
export async function simulateSharing(
  seed: number,
  monitors: number,
): Promise<{ one: number; many: number }> {
  const places = [{ name: 'cats', rate: 1 / 900, floods: false }]
  const options = { seed, days: 0.5, places, rough: SMOOTH, eventful: false }
  const one = await run({ ...options, monitors: 1 })
  const many = await run({ ...options, monitors })
  return { one: one.upstream.requests(), many: many.upstream.requests() }
}
