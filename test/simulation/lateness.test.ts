import { expect, setDefaultTimeout, test } from 'bun:test'

import { createSeededRandom, type SeededRandom } from '../../sandbox/world/random.ts'
import { isLongForm } from '../support/long-form.ts'
import { run } from './run.ts'
import { SMOOTH } from './upstream.ts'
import type { PlaceSpec } from './world.ts'

setDefaultTimeout(120_000)

const SEED = Number(process.env['FORUMD_SEED'] ?? 20_261_120)
const CADENCES_S = [20, 30, 60, 120]
const LATEST = 1.5
const SPARE = 1.25

type Feed = PlaceSpec & { cadence_s: number }

/** Feeds polled for some hours, of which one request in twenty takes up to 15 s. */
async function poll(
  feeds: readonly Feed[],
  { hours, requests_per_minute }: { hours: number; requests_per_minute: number },
) {
  const cadences = new Map(feeds.map(({ name, cadence_s }) => [name, cadence_s]))
  const cadence_of = (place: string) => cadences.get(place) ?? 60
  const { upstream, begun_s, ended_s } = await run({
    seed: SEED,
    days: hours / 24,
    places: feeds,
    rough: { ...SMOOTH, slow: 0.05 },
    eventful: false,
    cadence_of,
    requests_per_minute,
  })
  expect(upstream.polls.size).toBe(feeds.length)
  return {
    upstream,
    begun_s,
    ended_s,
    /** Feeds whose worst delay since an instant exceeded half an interval, in words. */
    late(from_s = 0): string[] {
      return [...upstream.polls].flatMap(([place, all]) => {
        const until = [...all.slice(1), ended_s]
        const waits = all.map((at, n) => ((until[n] ?? 0) < from_s ? 0 : (until[n] ?? at) - at))
        const worst = Math.max(...waits) / cadence_of(place)
        return worst > LATEST ? [`${place}, every ${cadence_of(place)} s: ${worst.toFixed(2)}`] : []
      })
    },
  }
}

const feedsOf = (count: number, feed: (n: number) => { rows: number; cadence_s: number }) =>
  Array.from({ length: count }, (_, n): Feed => {
    const { rows, cadence_s } = feed(n)
    return { name: `p${n}`, rate: Math.max(rows, 0.02) / cadence_s, floods: false, cadence_s }
  })
/** Feeds with more than 30 new rows per interval are polled individually; above 50 they would be polled more often. */
const busy = (chance: SeededRandom) => 31 + 3 * chance.fraction()

// Goal: while the account's budget suffices, no feed is polled later than half an interval past its
// due time, however unequal the feeds are. Method: feeds of unequal cadence and traffic from the
// seed, half of them too busy for a batch. The budget is a quarter more than one request per poll;
// one request in twenty takes up to 15 s. The simulated platform records the polls.

test(`no feed is late by more than half its interval while the budget suffices (FORUMD_SEED=${SEED})`, async () => {
  const chance = createSeededRandom(SEED)
  const feeds = feedsOf(20, (n) => {
    const cadence_s = chance.pick(CADENCES_S)
    return { cadence_s, rows: n % 2 === 0 ? busy(chance) : 10 * chance.fraction() }
  })
  const demand = feeds.reduce((sum, { cadence_s }) => sum + 60 / cadence_s, 0)
  const requests_per_minute = Math.ceil(demand * SPARE)
  const hours = 0.4

  const { upstream, late } = await poll(feeds, { hours, requests_per_minute })

  expect(late()).toEqual([])
  expect(upstream.requests() / (hours * 60)).toBeLessThanOrEqual(requests_per_minute)
})

// Goal: a lasting queue is processed by oldest deadline, so that the shortage affects all feeds
// equally. Method: sixty feeds too busy for a batch, all new at once, with hardly more requests
// than they need: the initial queue lasts for the whole run.
test.skipIf(!isLongForm)(
  `no feed of a lasting queue is late by more than half an interval (FORUMD_SEED=${SEED})`,
  async () => {
    const chance = createSeededRandom(SEED)
    const feeds = feedsOf(60, () => ({ rows: busy(chance), cadence_s: 120 }))

    const { late } = await poll(feeds, { hours: 0.4, requests_per_minute: Math.ceil(30 * 1.02) })

    expect(late()).toEqual([])
  },
)

// Goal: a budget that suffices for batches is enough, although individual polls would exceed it: a
// feed out of sync rejoins its batch soon, and requests decrease to the batches. Method: feeds of
// four cadences without full pages, one batch each, and a quarter more requests than the batches
// need; individual polls would need about six times as many. All feeds are new at once, so all
// begin out of sync.
test(`feeds out of sync rejoin their batches while the budget suffices for batches (FORUMD_SEED=${SEED})`, async () => {
  const chance = createSeededRandom(SEED)
  const feeds = feedsOf(24, (n) => ({
    rows: 2 * chance.fraction(),
    cadence_s: CADENCES_S[n % CADENCES_S.length] ?? 60,
  }))
  const polls_per_minute = CADENCES_S.reduce((sum, cadence_s) => sum + 60 / cadence_s, 0)
  const requests_per_minute = Math.ceil(polls_per_minute * SPARE)

  const ran = await poll(feeds, { hours: 0.6, requests_per_minute })

  const from_s = ran.begun_s + 10 * 60
  expect(ran.late(from_s)).toEqual([])
  // Feeds of one request share its instant.
  const poll_times = new Set([...ran.upstream.polls.values()].flat().filter((at) => at >= from_s))
  // Audits, one feed at a time, use the remaining budget, a fifth at most.
  const allowed = polls_per_minute * 1.05 + 0.2 * requests_per_minute
  expect(poll_times.size / ((ran.ended_s - from_s) / 60)).toBeLessThanOrEqual(allowed)
})
