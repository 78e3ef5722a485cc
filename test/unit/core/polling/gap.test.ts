import { expect, test } from 'bun:test'

import { createSeededRandom, type SeededRandom } from '../../../../sandbox/world/random.ts'
import { type FeedRow, startPoll } from '../../../../src/core/polling/cursor.ts'
import { type Arrivals, estimateMissed, gapOf } from '../../../../src/core/polling/gap.ts'

// Goal: the number of items that a gap hides is reported within a factor of three. Method:
// simulated arrivals with known losses. A feed is polled, then not for a while, and at the next
// poll the listing has only its newest thousand rows. The estimate gets the input that the store
// would have.

const LISTING = 1000
const RUNS = 100
const SEED = Number(process.env['FORUMD_SEED'] ?? 20_261_123)
const DAY_S = 86_400

/** Items per second at an instant in seconds; the last poll before the gap is at 0. */
type Rate = (at_s: number) => number
type Scene = { rate: Rate; most_per_s: number; history_s: number; next_poll_s: number }

/** Instants of arrivals, by thinning (Lewis and Shedler). */
function* arrivalsOf(chance: SeededRandom, { rate, most_per_s, history_s, next_poll_s }: Scene) {
  for (let at = -history_s; ;) {
    at += -Math.log(1 - chance.fraction()) / most_per_s
    if (at > next_poll_s) return
    if (chance.fraction() * most_per_s < rate(at)) yield at
  }
}

/** Items have timestamps in whole seconds. */
const created = (at: number) => Math.floor(at) * 1000

/**
 * One gap: number of hidden items, and its estimate. Null: the next poll reached its checkpoint.
 */
function gapIn(chance: SeededRandom, scene: Scene) {
  const all = [...arrivalsOf(chance, scene)]
  const seen = all.filter((at) => at <= 0)
  const unread = all.filter((at) => at > 0)
  const listed = unread.slice(-LISTING)
  const missed = unread.length - listed.length
  if (missed === 0) return null
  const rows: FeedRow[] = listed
    .map((at, n) => ({ id: `t3_${n}`, created_at: created(at), sticky: false }))
    .toReversed()
  const checkpoint = { anchor_ids: ['t3_seen'], checkpoint_at: created(seen.at(-1) ?? 0) }
  const state = { ...startPoll({ checkpoint, backfill_since: null, accept_stale: false }), rows }
  const evidence: Arrivals = {
    before: seen.map(created),
    known_from_at: -scene.history_s * 1000,
    polled_at: 0,
    recent: scene.rate(0),
    last_week: scene.next_poll_s > 3600 ? scene.rate(scene.next_poll_s / 2) : null,
  }
  const gap = gapOf(state, -60_000)
  const estimate = estimateMissed(gap, evidence, rows, scene.next_poll_s * 1000)
  return { missed, estimate: estimate ?? Number.NaN }
}

/** Scenes by arrival process. A scene may have no gap. */
const PROCESSES: Record<string, (chance: SeededRandom) => Scene> = {
  steady(chance) {
    const per_s = 0.2 * 100 ** chance.fraction()
    return {
      rate: () => per_s,
      most_per_s: per_s,
      history_s: 600,
      next_poll_s: (LISTING / per_s) * (1 + 3 * chance.fraction()),
    }
  },
  'a burst between two polls'(chance) {
    const lasts_s = [0.7, 5, 30][chance.whole(0, 2)] ?? 5
    const next_poll_s = Math.max(3, lasts_s + chance.fraction() * lasts_s)
    const begins_s = (next_poll_s - lasts_s) * chance.fraction()
    return burst({ begins_s, lasts_s, size: chance.whole(1250, 2400), next_poll_s })
  },
  'a burst right before the gap'(chance) {
    const calm = 0.3 + 2 * chance.fraction()
    const outage_s = (LISTING / calm) * (1.3 + 2 * chance.fraction())
    const scene = burst({ begins_s: -40, lasts_s: 30, size: 600, next_poll_s: outage_s })
    const rate: Rate = (at) => scene.rate(at) + calm
    return { ...scene, rate, most_per_s: scene.most_per_s + calm }
  },
  'a burst after the gap'(chance) {
    const calm = 0.3 + 2 * chance.fraction()
    const outage_s = (LISTING / calm) * (1.3 + 2 * chance.fraction())
    const lasts_s = 30
    const scene = burst({ begins_s: outage_s - lasts_s, lasts_s, size: 600, next_poll_s: outage_s })
    const rate: Rate = (at) => scene.rate(at) + calm
    return { ...scene, rate, most_per_s: scene.most_per_s + calm }
  },
  diurnal(chance) {
    const mean = 0.3 + chance.fraction()
    const phase = 2 * Math.PI * chance.fraction()
    return {
      rate: (at) => mean * (1 + 0.8 * Math.sin((2 * Math.PI * at) / DAY_S + phase)),
      most_per_s: mean * 1.8,
      history_s: 4 * 3600,
      next_poll_s: 3600 * (1 + 7 * chance.fraction()),
    }
  },
}

function burst(of: {
  begins_s: number
  lasts_s: number
  size: number
  next_poll_s: number
}): Scene {
  const { begins_s, lasts_s, size, next_poll_s } = of
  const calm = 0.02
  const per_s = size / lasts_s
  const rate: Rate = (at) => (at >= begins_s && at < begins_s + lasts_s ? per_s : calm)
  return { rate, most_per_s: per_s + calm, history_s: 200, next_poll_s }
}

test.each(Object.keys(PROCESSES))(`%s: within a factor of three (FORUMD_SEED=${SEED})`, (name) => {
  const chance = createSeededRandom(SEED)
  const process = PROCESSES[name]
  if (process === undefined) throw new Error(name)
  const ratios = Array.from({ length: RUNS }, () => gapIn(chance, process(chance)))
    .filter((it) => it !== null && it.missed > 20)
    .map((it) => (it === null ? 1 : it.estimate / it.missed))

  expect(ratios.length).toBeGreaterThan(RUNS / 3)
  const within = ratios.filter((it) => it <= 3 && it >= 1 / 3)
  expect(within.length / ratios.length).toBeGreaterThanOrEqual(0.95)
  for (const ratio of ratios) expect(Math.max(ratio, 1 / ratio)).toBeLessThan(10)
})

const UNKNOWN: Arrivals = {
  before: [],
  known_from_at: null,
  polled_at: null,
  recent: null,
  last_week: null,
}
const leaning = (mu: number) => Math.ceil(mu * 1.15 + 2 * Math.sqrt(mu * 1.15) + 2)
const every = (ms: number, from: number, until: number) =>
  Array.from({ length: Math.ceil((until - from) / ms) }, (_, n) => from + n * ms)
const rowsAt = (instants: readonly number[]): FeedRow[] =>
  instants.map((created_at, n) => ({ id: `t3_${n}`, created_at, sticky: false })).toReversed()

test('an estimate errs on the high side and needs an end and a rate', () => {
  const gap = { from_at: 1_000_000, until_at: 1_099_500 }
  expect(estimateMissed(gap, { ...UNKNOWN, recent: 1 })).toBe(leaning(100))
  expect(estimateMissed(gap, UNKNOWN)).toBeNull()
  expect(estimateMissed({ from_at: null, until_at: 5 }, { ...UNKNOWN, recent: 1 })).toBeNull()
  expect(estimateMissed({ from_at: 5, until_at: null }, { ...UNKNOWN, recent: 1 })).toBeNull()
})

test('a gap begins after the last item observed in it', () => {
  const before = every(500, 0, 160_000)
  const gap = { from_at: 100_000, until_at: 164_500 }
  expect(estimateMissed(gap, { ...UNKNOWN, before, known_from_at: 0 })).toBeLessThan(leaning(2 * 6))
})

test('a second with many items above a gap of an hour does not give a high rate for that hour', () => {
  const before = every(60_000, 0, 3_600_000)
  const arrivals = { ...UNKNOWN, before, known_from_at: 0 }
  const gap = { from_at: 3_600_000, until_at: 7_200_000 }
  const rows = rowsAt(every(1, gap.until_at, gap.until_at + 1000).map((at) => at - (at % 1000)))
  const estimate = estimateMissed(gap, arrivals, rows, gap.until_at + 1000) ?? 0
  expect(estimate).toBeGreaterThan(60)
  expect(estimate).toBeLessThan(1000)
})

test('a long gap also uses the rate of that hour a week ago', () => {
  const before = every(1000, 0, 7_200_000)
  const arrivals = { ...UNKNOWN, before, known_from_at: 0, last_week: 3 }
  const gap = { from_at: 7_200_000, until_at: 14_400_000 }
  const estimate = estimateMissed(gap, arrivals) ?? 0
  expect(estimate / leaning(2 * 7200)).toBeCloseTo(1, 2)
})
