import { describe, expect, test } from 'bun:test'

import * as fc from 'fast-check'

import {
  busyRate,
  intervalOf,
  isTooSilent,
  joinPlaces,
  paceAfter,
  planConvoys,
  type Traveller,
} from '../../../src/core/planner.ts'

const traveller = (id: number, rows: number | null, rest: Partial<Traveller> = {}): Traveller => ({
  id,
  kind: 'posts',
  place: `place${id}`,
  rate_per_s: rows === null ? null : rows / 60,
  asked_s: 60,
  convoy_id: null,
  ...rest,
})
const search = (id: number, place: string): Traveller => traveller(id, 1, { kind: 'search', place })
const rowsIn = (members: readonly Traveller[]): number =>
  members.reduce((sum, { rate_per_s, asked_s }) => sum + (rate_per_s ?? 0) * asked_s, 0)
const idsOf = (convoys: ReturnType<typeof planConvoys>): number[][] =>
  convoys.map(({ members }) => members.map(({ id }) => id).toSorted((a, b) => a - b))

describe('who travels together', () => {
  test('quiet places do, as one request', () => {
    expect(idsOf(planConvoys([traveller(1, 5), traveller(2, 5), traveller(3, 5)]))).toEqual([
      [1, 2, 3],
    ])
  })

  test('who is not known yet, or is busy, goes alone', () => {
    const all = [traveller(1, 5), traveller(2, null), traveller(3, 31), traveller(4, 5)]

    expect(idsOf(planConvoys(all))).toEqual([[1, 4]])
  })

  test('only what is of one kind, at one pace, and listed together by the platform', () => {
    const all = [
      traveller(1, 1),
      traveller(2, 1, { asked_s: 300 }),
      traveller(3, 1, { kind: 'comments' }),
      traveller(4, 1, { kind: 'thread' }),
      traveller(5, 1, { kind: 'thread' }),
      traveller(6, 1, { kind: 'user_comments' }),
      traveller(7, 1, { kind: 'user_comments' }),
    ]

    expect(planConvoys(all)).toEqual([])
  })

  test('searches share one expression, as long as the platform takes it', () => {
    const short = planConvoys([search(1, 'laser'), search(2, 'mouse AND cat')])
    const long = planConvoys([search(1, 'a'.repeat(300)), search(2, 'b'.repeat(300))])

    expect(idsOf(short)).toEqual([[1, 2]])
    expect(joinPlaces('search', ['laser', 'mouse AND cat'])).toBe('(laser) OR (mouse AND cat)')
    expect(long).toEqual([])
  })

  test.each([
    [252, 1],
    [253, 0],
  ])('of 512 letters and no more: with one of 252 and one of %i: %i', (length, count) => {
    const both = [search(1, 'a'.repeat(252)), search(2, 'b'.repeat(length))]

    expect(planConvoys(both)).toHaveLength(count)
  })

  test('no convoy is planned to bring more than sixty new rows, a hundred names or a long address', () => {
    const travellers = fc.array(
      fc.record({
        rows: fc.double({ min: 0, max: 40, noNaN: true }),
        convoy_id: fc.option(fc.integer({ min: 1, max: 4 })),
      }),
      { minLength: 1, maxLength: 150 },
    )
    fc.assert(
      fc.property(travellers, (drawn) => {
        const all = drawn.map(({ rows, convoy_id }, id) => traveller(id, rows, { convoy_id }))
        const convoys = planConvoys(all)
        for (const { members } of convoys) {
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
        const ids = idsOf(convoys).flat()
        expect(new Set(ids).size).toBe(ids.length)
      }),
    )
  })

  test('what was planned stays as it is: a plan of the planned changes nothing', () => {
    const all = Array.from({ length: 40 }, (_, i) => traveller(i, 4))
    const first = planConvoys(all)
    const homes = new Map(
      first.flatMap(({ members }, n) => members.map(({ id }): [number, number] => [id, n + 1])),
    )
    const again = planConvoys(all.map((it) => ({ ...it, convoy_id: homes.get(it.id) ?? null })))

    expect(first.length).toBeGreaterThan(1)
    const named = (plan: typeof first) => idsOf(plan).map(String)
    expect(new Set(named(again))).toEqual(new Set(named(first)))
    expect(again.every(({ id }) => id !== null)).toBe(true)
  })

  test('a convoy that has become too busy lets its busiest go, and only them', () => {
    const members = [10, 10, 10, 10, 29].map((rows, id) => traveller(id, rows, { convoy_id: 7 }))
    const [kept] = planConvoys(members).filter(({ id }) => id === 7)

    expect(kept?.members.map(({ id }) => id)).toEqual([0, 1, 2, 3])
  })

  test('a convoy that is busier than newcomers find it lets nobody go', () => {
    const members = [15, 15, 15, 15].map((rows, id) => traveller(id, rows, { convoy_id: 7 }))

    expect(idsOf(planConvoys(members))).toEqual([[0, 1, 2, 3]])
  })
})

describe('how often a place is looked at', () => {
  test('as it was asked, and faster where a page would not hold what comes', () => {
    expect(intervalOf(60, null)).toBe(60)
    expect(intervalOf(60, 0.5)).toBe(60)
    expect(intervalOf(60, 2)).toBe(25)
    expect(intervalOf(60, 1000)).toBe(5)
    expect(intervalOf(3, 1000)).toBe(3)
  })

  test('slower after each check that was throttled, up to eight times, and soon as before', () => {
    let slowed = 1
    for (let i = 0; i < 20; i++) slowed = paceAfter(slowed, true)
    expect(slowed).toBe(8)
    for (let i = 0; i < 20; i++) slowed = paceAfter(slowed, false)
    expect(slowed).toBe(1)
  })

  test('the busiest hours are the ninety-fifth percentile of a week, once a day of it is known', () => {
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

test('a place is too silent when chance explains it once in a million times, or after six hours', () => {
  const [minute, hour] = [60_000, 3_600_000]

  expect(isTooSilent(13 * minute, 1 / 60)).toBe(false)
  expect(isTooSilent(14 * minute, 1 / 60)).toBe(true)
  expect(isTooSilent(6 * hour, null)).toBe(false)
  expect(isTooSilent(6 * hour + 1, null)).toBe(true)
})
