import { expect, test } from 'bun:test'

import type { Soaked } from '../../../scripts/bars/soak/daemon.ts'
import { ends, floors, growthPerHour, type Sample } from '../../../scripts/bars/soak/figures.ts'
import { isWithinBound, judgeSoak } from '../../../scripts/bars/soak/judge.ts'

const MINUTE_MS = 60_000
const MINUTES = 60
const PLAN = { minutes: MINUTES, deliveries_per_s: 20, kills: 1 }

/** An hour of a steady process, except for memory that is allocated and collected. */
const samples = (): Sample[] =>
  Array.from({ length: MINUTES * 6 }, (_, n) => ({
    at_ms: n * 10_000,
    rss_mib: 100 + (n % 6) * 5,
    own_mib: 50 + (n % 6) * 5,
    descriptors: 40 + (n % 3),
    threads: 12,
    files: 7,
    db_mib: n / 4,
    wal_mib: 4,
  }))

const soaked = (): Soaked => ({
  matches: 10,
  lost: 0,
  invented: 0,
  under_two_ids: 0,
  unstable_bodies: 0,
  badly_signed: 0,
  books: {
    integrity: 'ok',
    matches: 10,
    delivered: 30,
    other: 0,
    holds: 0,
    unbalanced: 0,
    reads_billed: 5,
    strayed: 0,
  },
  unseen: { items: 0, observable: 0, reported: 0 },
  answered: 5,
  requests: 5,
  broken: 0,
  items_per_s: 33.3,
  faults: 3,
  samples: samples(),
  lives: samples().slice(0, 8),
  start_times_ms: [200, 300],
  delays: Array.from({ length: 100 }, (_, n) => ({ at_ms: n, ms: 20 + (n % 10) })),
  minutes: [{ at_ms: MINUTE_MS, stall_p999_ms: 10, health_p99_ms: 20, health_failed: 0 }],
  duplicates: [0.01, 0, 0],
  exit_code: 0,
  spent: {
    affordable: 5000,
    answers: { 200: 5000, 402: 5000 },
    billed: 5000,
    credits_remaining: 0,
    holds: 0,
    unbalanced: 0,
  },
})

type Change = (it: { steady: Soaked; killed: Soaked }) => void
const overAfter = (change: Change) => {
  const both = { steady: soaked(), killed: soaked() }
  change(both)
  return judgeSoak(both, PLAN).flatMap((it) => (isWithinBound(it) ? [] : [it.name]))
}
const growing = (it: Sample[], key: keyof Sample, by: number) => {
  for (const [n, at] of it.entries()) at[key] += (by * n) / it.length
}

test('an hour without changes passes', () => {
  expect(overAfter(() => {})).toEqual([])
})

test.each<[string, Change, RegExp]>([
  [
    'memory by 2 MiB an hour',
    ({ steady }) => {
      growing(steady.samples, 'rss_mib', 2)
      growing(steady.samples, 'own_mib', 2)
    },
    /^steady: memory/,
  ],
  [
    'memory of its own by 2 MiB an hour, while pages of the program are let go',
    ({ steady }) => growing(steady.samples, 'own_mib', 2),
    /^steady: memory that no file backs/,
  ],
  [
    'pages of the program by 2 MiB an hour',
    ({ steady }) => growing(steady.samples, 'rss_mib', 2),
    /^steady: memory, MiB an hour/,
  ],
  [
    'memory from run to run',
    ({ killed }) => growing(killed.lives, 'rss_mib', 40),
    /^killed: memory/,
  ],
  ['descriptors by ten', ({ steady }) => growing(steady.samples, 'descriptors', 10), /descriptors/],
  ['threads by ten', ({ steady }) => growing(steady.samples, 'threads', 10), /threads/],
  ['files by ten', ({ killed }) => growing(killed.samples, 'files', 10), /^killed: files/],
  [
    'the log beyond 64 MiB once',
    ({ steady }) => void (steady.samples[9] = { ...samples()[9]!, wal_mib: 65 }),
    /largest log/,
  ],
  [
    'the database faster and faster',
    ({ steady }) => {
      for (const it of steady.samples) it.db_mib **= 2
    },
    /growth of the database/,
  ],
  [
    'waits',
    ({ steady }) => {
      for (const it of steady.delays.slice(-25)) it.ms *= 2
    },
    /median in the last quarter/,
  ],
  [
    'waits beyond 2 s',
    ({ killed }) => {
      for (const it of killed.delays.slice(0, 2)) it.ms = 2001
    },
    /^killed: seen to first/,
  ],
])('growth is noticed: %s', (_, change, by) => {
  const over = overAfter(change)
  expect(over.length).toBeGreaterThan(0)
  for (const name of over) expect(name).toMatch(by)
})

test.each<[string, Change, RegExp]>([
  ['a lost delivery', ({ killed }) => void (killed.lost = 1), /^killed: violations/],
  ['a broken invariant', ({ steady }) => void (steady.broken = 1), /^steady: violations/],
  ['one call more than was paid', ({ steady }) => void (steady.spent.billed = 5001), /billed/],
  ['one answer for nothing', ({ steady }) => void (steady.spent.answers[200] = 5001), /answered/],
  ['money left on hold', ({ killed }) => void (killed.spent.holds = 1), /on hold/],
  ['a crash instead of a stop', ({ steady }) => void (steady.exit_code = null), /SIGTERM/],
  ['too few posts', ({ steady }) => void (steady.items_per_s = 30), /posts a second/],
  ['no kill', ({ killed }) => void (killed.lives = []), /^killed: kills/],
])('a failure is noticed: %s', (_, change, by) => {
  expect(overAfter(change).some((name) => by.test(name))).toBe(true)
})

test('growth is measured by the hour, and an outlier does not move it', () => {
  const points = Array.from({ length: 21 }, (_, n) => ({ at_ms: n * MINUTE_MS, value: n / 60 }))
  expect(growthPerHour(points)).toBeCloseTo(1)
  points[20] = { at_ms: 20 * MINUTE_MS, value: 500 }
  expect(growthPerHour(points)).toBeCloseTo(1)
})

test('the minimum of a window counts, and the first and last quarter of a list', () => {
  expect(floors(samples(), MINUTE_MS).map(({ value }) => value)).toEqual(
    Array.from({ length: MINUTES }, () => 100),
  )
  expect(ends([1, 2, 3, 4, 5, 6, 7, 8])).toEqual({ first: [1, 2], last: [7, 8] })
})
