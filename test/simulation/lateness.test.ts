import { expect, test } from 'bun:test'

import { createSeededRandom } from '../../sandbox/world/random.ts'
import { isLongForm } from '../support/long-form.ts'
import { run } from './run.ts'
import { SMOOTH } from './upstream.ts'

// Goal: while the account's budget suffices, no feed is polled later than half an interval past its
// due time, however unequal the feeds are. Method: feeds of unequal cadence and traffic from the
// seed, half of them too busy for a batch. The budget is a quarter more than one request per poll;
// one request in twenty takes up to 15 s. The simulated platform records the polls.

const SEED = Number(process.env['FORUMD_SEED'] ?? 20_261_120)
const PLACES = 20
const CADENCES_S = [20, 30, 60, 120]
const LATEST = 1.5
const SPARE = 1.25
const HOURS = 0.4

type Span = { from_s: number; ended_s: number; cadence_of: (place: string) => number }

/** Feeds whose worst delay since an instant exceeded half an interval, in words. */
function latenesses(
  polls: ReadonlyMap<string, readonly number[]>,
  { from_s, ended_s, cadence_of }: Span,
): string[] {
  return [...polls].flatMap(([place, all]) => {
    const until = [...all.slice(1), ended_s]
    const waits = all.map((at, n) => ((until[n] ?? 0) < from_s ? 0 : (until[n] ?? at) - at))
    const worst = Math.max(...waits) / cadence_of(place)
    return worst > LATEST ? [`${place}, every ${cadence_of(place)} s: ${worst.toFixed(2)}`] : []
  })
}

test(`no feed is late by more than half its interval while the budget suffices (FORUMD_SEED=${SEED})`, async () => {
  const chance = createSeededRandom(SEED)
  const cadences = new Map<string, number>()
  const places = Array.from({ length: PLACES }, (_, n) => {
    const name = `p${n}`
    const cadence_s = chance.pick(CADENCES_S)
    cadences.set(name, cadence_s)
    // Feeds with more than 30 new rows per interval are polled individually; above 50 they would be
    // polled more often.
    const rows = n % 2 === 0 ? 31 + 3 * chance.fraction() : 10 * chance.fraction()
    return { name, rate: Math.max(rows, 0.02) / cadence_s, floods: false }
  })
  const cadence_of = (place: string) => cadences.get(place) ?? 60
  const demand = places.reduce((sum, { name }) => sum + 60 / cadence_of(name), 0)
  const requests_per_minute = Math.ceil(demand * SPARE)

  const { upstream, ended_s } = await run({
    seed: SEED,
    days: HOURS / 24,
    places,
    rough: { ...SMOOTH, slow: 0.05 },
    eventful: false,
    cadence_of,
    requests_per_minute,
  })

  expect(upstream.polls.size).toBe(PLACES)
  expect(latenesses(upstream.polls, { from_s: 0, ended_s, cadence_of })).toEqual([])
  expect(upstream.requests() / (HOURS * 60)).toBeLessThanOrEqual(requests_per_minute)
}, 120_000)

// Goal: a lasting queue is processed by oldest deadline, so that the shortage affects all feeds
// equally. Method: sixty feeds too busy for a batch, all new at once, with hardly more requests
// than they need: the initial queue lasts for the whole run.

const QUEUED = 60
const QUEUED_S = 120
const HARDLY = 1.02

test.skipIf(!isLongForm)(
  `no feed of a lasting queue is late by more than half an interval (FORUMD_SEED=${SEED})`,
  async () => {
    const chance = createSeededRandom(SEED)
    const places = Array.from({ length: QUEUED }, (_, n) => ({
      name: `p${n}`,
      rate: (31 + 3 * chance.fraction()) / QUEUED_S,
      floods: false,
    }))
    const { upstream, ended_s } = await run({
      seed: SEED,
      days: HOURS / 24,
      places,
      rough: { ...SMOOTH, slow: 0.05 },
      eventful: false,
      cadence_s: QUEUED_S,
      requests_per_minute: Math.ceil(QUEUED * (60 / QUEUED_S) * HARDLY),
    })

    expect(upstream.polls.size).toBe(QUEUED)
    const cadence_of = () => QUEUED_S
    expect(latenesses(upstream.polls, { from_s: 0, ended_s, cadence_of })).toEqual([])
  },
  120_000,
)

// Goal: a budget that suffices for batches is enough, although individual polls would exceed it: a
// feed out of sync rejoins its batch soon, and requests decrease to the batches. Method: feeds of
// four cadences without full pages, one batch each, and a quarter more requests than the batches
// need; individual polls would need about six times as many. All feeds are new at once, so all
// begin out of sync.

const QUIET = 24
const WARM_UP_MIN = 10
const QUIET_HOURS = 0.6

test(`feeds out of sync rejoin their batches while the budget suffices for batches (FORUMD_SEED=${SEED})`, async () => {
  const chance = createSeededRandom(SEED)
  const cadences = new Map<string, number>()
  const places = Array.from({ length: QUIET }, (_, n) => {
    const name = `p${n}`
    const cadence_s = CADENCES_S[n % CADENCES_S.length] ?? 60
    cadences.set(name, cadence_s)
    return { name, rate: Math.max(2 * chance.fraction(), 0.02) / cadence_s, floods: false }
  })
  const cadence_of = (place: string) => cadences.get(place) ?? 60
  const polls_per_minute = CADENCES_S.reduce((sum, cadence_s) => sum + 60 / cadence_s, 0)
  const requests_per_minute = Math.ceil(polls_per_minute * SPARE)

  const { upstream, begun_s, ended_s } = await run({
    seed: SEED,
    days: QUIET_HOURS / 24,
    places,
    rough: { ...SMOOTH, slow: 0.05 },
    eventful: false,
    cadence_of,
    requests_per_minute,
  })

  const from_s = begun_s + WARM_UP_MIN * 60
  expect(upstream.polls.size).toBe(QUIET)
  expect(latenesses(upstream.polls, { from_s, ended_s, cadence_of })).toEqual([])
  // Feeds of one request share its instant.
  const poll_times = new Set([...upstream.polls.values()].flat().filter((at) => at >= from_s))
  // Audits, one feed at a time, use the remaining budget, a fifth at most.
  const allowed = polls_per_minute * 1.05 + 0.2 * requests_per_minute
  expect(poll_times.size / ((ended_s - from_s) / 60)).toBeLessThanOrEqual(allowed)
}, 120_000)
