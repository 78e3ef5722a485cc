import type { World } from '../../../test/simulation/world.ts'
import { createWorld, type PlaceSpec } from '../../../test/simulation/world.ts'

export const START = Date.parse('2026-03-02T00:00:00Z')
const HOUR_MS = 3_600_000
/** Three hours of warm-up, then nine measured hours, the busier half of a day. */
export const WARM_MS = 3 * HOUR_MS
export const RUN_MS = WARM_MS + 9 * HOUR_MS
/** Half an hour in which the watcher is down. */
export const DOWN = { from_ms: WARM_MS + 5 * HOUR_MS, until_ms: WARM_MS + 5.5 * HOUR_MS }
export const PER_MINUTE = 100

/**
 * Places as people follow them: the n-th busiest has 1/n^1.1 of the busiest one's posts, from one in 12 seconds
 * to nine a day; occasional bursts in one of them, and in the two busiest more posts within a minute than a
 * listing holds.
 */
export const placesOf = (count: number): PlaceSpec[] =>
  Array.from({ length: count }, (_, at) => ({
    name: `place${at}`,
    rate: 1 / 12 / (at + 1) ** 1.1,
    floods: at < 2,
  }))

/** Traffic of a seed, the same for every method. */
export const trafficOf = (seed: number, places: readonly PlaceSpec[]): World => {
  // Posts appear, and nothing else changes: delays and misses are the method's own.
  const quiet = { rough: false, upset: false }
  const days = RUN_MS / (24 * HOUR_MS)
  const world = createWorld({ seed, start: START / 1000, days, places, ...quiet })
  world.advance(START / 1000)
  return world
}

/**
 * Results of a method. `reported_at`: epoch ms of the first report of an item; `again`: number of repeated
 * reports; `owned`: true if the method itself reports a possible gap at that place and time.
 */
export type Watched = {
  reported_at: ReadonlyMap<string, number>
  again: number
  requests: number
  owned: (place: string, created_ms: number) => boolean
}

/** Time from appearance to report, in seconds, of posts that appeared while the watcher ran. */
export type Tally = {
  posts: number
  p50_s: number
  p99_s: number
  longest_s: number
  missed: number
  /** Missed posts at any time that the method does not report as possibly missed. */
  missed_in_silence: number
  /** Missed posts that appeared during the downtime. */
  missed_while_down: number
  while_down: number
  again: number
  requests_a_minute: number
}

export function tallyOf(world: World, { reported_at, again, requests, owned }: Watched): Tally {
  const [from_s, until_s] = [(START + WARM_MS) / 1000, (START + RUN_MS) / 1000 - 600]
  const [down_s, up_s] = [(START + DOWN.from_ms) / 1000, (START + DOWN.until_ms) / 1000]
  const delays: number[] = []
  const count = { posts: 0, missed: 0, missed_while_down: 0, while_down: 0, missed_in_silence: 0 }
  for (const { name: place, truths } of world.places.values())
    for (const { name, from, created } of truths) {
      // Posts at the very end may be reported after the end.
      if (from < from_s || from > until_s) continue
      count.posts += 1
      const at = reported_at.get(name)
      const down = from >= down_s - 60 && from < up_s
      if (down) count.while_down += 1
      if (at === undefined && !owned(place, created * 1000)) count.missed_in_silence += 1
      if (at === undefined) count[down ? 'missed_while_down' : 'missed'] += 1
      else if (!down) delays.push(Math.max(0, at / 1000 - from))
    }
  delays.sort((a, b) => a - b)
  const share = (of: number) => delays[Math.floor((delays.length - 1) * of)] ?? Number.NaN
  const minutes = (RUN_MS - (DOWN.until_ms - DOWN.from_ms)) / 60_000
  return {
    ...count,
    p50_s: share(0.5),
    p99_s: share(0.99),
    longest_s: share(1),
    again,
    requests_a_minute: requests / minutes,
  }
}
