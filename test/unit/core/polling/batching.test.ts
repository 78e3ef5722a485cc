import { describe, expect, test } from 'bun:test'

import * as fc from 'fast-check'

import {
  busyRate,
  type FeedLoad,
  intervalOf,
  isTooSilent,
  joinPlaces,
  paceAfter,
  planBatches,
} from '../../../../src/core/polling/batching.ts'

const feedLoad = (id: number, rows: number | null, rest: Partial<FeedLoad> = {}): FeedLoad => ({
  id,
  kind: 'posts',
  place: `place${id}`,
  rate_per_s: rows === null ? null : rows / 60,
  requested_interval_s: 60,
  poll_batch_id: null,
  ...rest,
})
const search = (id: number, place: string): FeedLoad => feedLoad(id, 1, { kind: 'search', place })
const rowsIn = (members: readonly FeedLoad[]): number =>
  members.reduce(
    (sum, { rate_per_s, requested_interval_s }) => sum + (rate_per_s ?? 0) * requested_interval_s,
    0,
  )
const idsOf = (batches: ReturnType<typeof planBatches>): number[][] =>
  batches.map(({ feeds: members }) => members.map(({ id }) => id).toSorted((a, b) => a - b))

describe('a batch', () => {
  test('holds quiet feeds, polled with one request', () => {
    expect(idsOf(planBatches([feedLoad(1, 5), feedLoad(2, 5), feedLoad(3, 5)]))).toEqual([
      [1, 2, 3],
    ])
  })

  test('does not hold busy feeds or those of an unknown rate', () => {
    const all = [feedLoad(1, 5), feedLoad(2, null), feedLoad(3, 31), feedLoad(4, 5)]

    expect(idsOf(planBatches(all))).toEqual([[1, 4]])
  })

  test('holds only feeds of one kind and interval that the platform lists together', () => {
    const all = [
      feedLoad(1, 1),
      feedLoad(2, 1, { requested_interval_s: 300 }),
      feedLoad(3, 1, { kind: 'comments' }),
      feedLoad(4, 1, { kind: 'thread' }),
      feedLoad(5, 1, { kind: 'thread' }),
      feedLoad(6, 1, { kind: 'user_comments' }),
      feedLoad(7, 1, { kind: 'user_comments' }),
    ]

    expect(planBatches(all)).toEqual([])
  })

  test('joins searches in one expression, up to the length that the platform accepts', () => {
    const short = planBatches([search(1, 'laser'), search(2, 'mouse AND cat')])
    const long = planBatches([search(1, 'a'.repeat(300)), search(2, 'b'.repeat(300))])

    expect(idsOf(short)).toEqual([[1, 2]])
    expect(joinPlaces('search', ['laser', 'mouse AND cat'])).toBe('(laser) OR (mouse AND cat)')
    expect(long).toEqual([])
  })

  test.each([
    [252, 1],
    [253, 0],
  ])(
    'has an expression of at most 512 characters: one search of 252 and one of %i give %i',
    (length, count) => {
      const both = [search(1, 'a'.repeat(252)), search(2, 'b'.repeat(length))]

      expect(planBatches(both)).toHaveLength(count)
    },
  )

  test('has at most sixty expected rows, a hundred names and an address of 2,000 characters', () => {
    const feed_loads = fc.array(
      fc.record({
        rows: fc.double({ min: 0, max: 40, noNaN: true }),
        poll_batch_id: fc.option(fc.integer({ min: 1, max: 4 })),
      }),
      { minLength: 1, maxLength: 150 },
    )
    fc.assert(
      fc.property(feed_loads, (drawn) => {
        const all = drawn.map(({ rows, poll_batch_id }, id) =>
          feedLoad(id, rows, { poll_batch_id }),
        )
        const batches = planBatches(all)
        for (const { feeds: members } of batches) {
          expect(rowsIn(members)).toBeLessThanOrEqual(60)
          expect(members.length).toBeGreaterThan(1)
          expect(members.length).toBeLessThanOrEqual(100)
          expect(
            joinPlaces(
              'posts',
              members.map(({ place }) => place),
            ).length,
          ).toBeLessThan(2000)
        }
        const ids = idsOf(batches).flat()
        expect(new Set(ids).size).toBe(ids.length)
      }),
    )
  })

  test('is stable: planning again changes nothing', () => {
    const all = Array.from({ length: 40 }, (_, i) => feedLoad(i, 4))
    const first = planBatches(all)
    const homes = new Map(
      first.flatMap(({ feeds: members }, n) =>
        members.map(({ id }): [number, number] => [id, n + 1]),
      ),
    )
    const again = planBatches(all.map((it) => ({ ...it, poll_batch_id: homes.get(it.id) ?? null })))

    expect(first.length).toBeGreaterThan(1)
    const named = (plan: typeof first) => idsOf(plan).map(String)
    expect(new Set(named(again))).toEqual(new Set(named(first)))
    expect(again.every(({ id }) => id !== null)).toBe(true)
  })

  test('that has become too busy drops its busiest feed only', () => {
    const members = [10, 10, 10, 10, 29].map((rows, id) => feedLoad(id, rows, { poll_batch_id: 7 }))
    const [retained] = planBatches(members).filter(({ id }) => id === 7)

    expect(retained?.feeds.map(({ id }) => id)).toEqual([0, 1, 2, 3])
  })

  test('above the limit for new feeds keeps its members', () => {
    const members = [15, 15, 15, 15].map((rows, id) => feedLoad(id, rows, { poll_batch_id: 7 }))

    expect(idsOf(planBatches(members))).toEqual([[0, 1, 2, 3]])
  })
})

describe('the poll interval', () => {
  test('is as requested, or shorter if a page would overflow', () => {
    expect(intervalOf(60, null)).toBe(60)
    expect(intervalOf(60, 0.5)).toBe(60)
    expect(intervalOf(60, 2)).toBe(25)
    expect(intervalOf(60, 1000)).toBe(5)
    expect(intervalOf(3, 1000)).toBe(3)
  })

  test('grows with each throttled poll, up to eight times, and recovers soon', () => {
    let backoff_factor = 1
    for (let i = 0; i < 20; i++) backoff_factor = paceAfter(backoff_factor, true)
    expect(backoff_factor).toBe(8)
    for (let i = 0; i < 20; i++) backoff_factor = paceAfter(backoff_factor, false)
    expect(backoff_factor).toBe(1)
  })

  test('uses the 95th percentile of the hourly rates of a week, with at least a day of data', () => {
    expect(busyRate([360], 23)).toBeNull()
    expect(busyRate([360], 24)).toBeCloseTo(0)
    expect(busyRate([7200, 3600, 360], 40)).toBeCloseTo(0.1)
    expect(
      busyRate(
        Array.from({ length: 168 }, () => 3600),
        168,
      ),
    ).toBe(1)
  })
})

test('a feed is too silent when the chance of it is below one in a million, or after six hours', () => {
  const [minute, hour] = [60_000, 3_600_000]

  expect(isTooSilent(13 * minute, 1 / 60)).toBe(false)
  expect(isTooSilent(14 * minute, 1 / 60)).toBe(true)
  expect(isTooSilent(6 * hour, null)).toBe(false)
  expect(isTooSilent(6 * hour + 1, null)).toBe(true)
})
