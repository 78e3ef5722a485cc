import { describe, expect, test } from 'bun:test'

import { isWithin } from '../../../scripts/capacity/check.ts'
import { MATCHING, POINTS } from '../../../scripts/capacity/figures.ts'
import {
  archiveOf,
  carriedBy,
  deliveryUs,
  isExtrapolated,
  linear,
  type Load,
  matchingUs,
  memoryMb,
  most,
  needOf,
  power,
} from '../../../scripts/capacity/model.ts'

const load = (change: Partial<Load> = {}): Load => ({
  kind: 'accounts',
  units: 1,
  monitors: 1000,
  ...change,
})
const LARGE = { cores: 32, memory_gb: 1000, disk_gb: 1_000_000 }

describe('between measured points', () => {
  const points = [
    [10, 1],
    [20, 3],
    [40, 5],
  ] as const

  test.each([
    [10, 1],
    [15, 2],
    [30, 4],
    [60, 7],
    [5, 0],
  ])('a straight line has %d at %d', (at, value) => {
    expect(linear(points, at)).toBe(value)
  })

  test('a power law goes on as it ended', () => {
    expect(
      power(
        [
          [10, 1],
          [100, 10],
          [1000, 20],
        ],
        10_000,
      ),
    ).toBeCloseTo(40)
  })

  test('the model has the measured values', () => {
    for (const [monitors, us] of MATCHING) expect(matchingUs(monitors)).toBeCloseTo(us)
    for (const it of POINTS.memory) expect(memoryMb(it.monitors)).toBeCloseTo(it.rss_mb)
    for (const it of POINTS.forums) {
      // The measured daemons had ten monitors a forum.
      const need = needOf(load({ kind: 'forums', units: it.forums, monitors: it.forums * 10 }))
      expect(need.memory_mb).toBeCloseTo(it.rss_mib * 1.048576)
    }
  })
})

test.each(['accounts', 'forums'] as const)('more %s or monitors never take less', (kind) => {
  const sizes = [1, 10, 100, 1000]
  const needs = sizes.map((units) => needOf(load({ kind, units, monitors: 10_000 })))
  const by_monitors = sizes.map((it) => needOf(load({ kind, units: 100, monitors: it * 1000 })))

  for (const list of [needs, by_monitors])
    for (const of of [
      (it: (typeof needs)[number]) => it.main.all,
      (it: (typeof needs)[number]) => it.memory_mb,
      (it: (typeof needs)[number]) => it.with_snapshots,
    ])
      expect(list.map(of)).toEqual(list.map(of).toSorted((a, b) => a - b))
})

test('the rate at which deliveries end a thread is the one that the loads are calculated with', () => {
  const at_end = (0.6 * 1e6) / deliveryUs()
  const need = needOf(load({ monitors: (at_end * 86_400) / 10 }))

  expect(need.main.deliveries).toBeCloseTo(0.6)
})

test.each([
  [load({ monitors: 10_000 }), { main: false, memory: false }],
  [load({ monitors: 100_000 }), { main: false, memory: true }],
  [load({ kind: 'forums', units: 80 }), { main: false, memory: false }],
  [load({ kind: 'forums', units: 100 }), { main: true, memory: true }],
  [load({ kind: 'forums', units: 1, monitors: 1_000_000 }), { main: true, memory: true }],
])('%j is marked where it was not measured', (it, expected) => {
  expect(isExtrapolated(it)).toEqual(expected)
})

test('a load beyond one thread takes instances, up to the cores and to one a unit', () => {
  const many = load({ units: 1000, monitors: 10_000 })
  const { instances } = carriedBy(many, LARGE)

  expect(instances).toBe(Math.ceil(needOf(many).main.all / 0.6))
  expect(carriedBy(many, LARGE).ends).toBeNull()
  expect(carriedBy(many, { ...LARGE, cores: 2 }).ends).toBe('cores')
  // One forum with so many matches that a thread does not suffice.
  expect(carriedBy(load({ kind: 'forums', monitors: 100_000_000 }), LARGE).ends).toBe('one thread')
})

test.each([
  ['memory', { memory_gb: 0.05 }],
  ['disk', { disk_gb: 1 }],
])('a machine without enough %s is named', (name, change) => {
  expect(carriedBy(load({ monitors: 1000 }), { ...LARGE, ...change }).ends).toBe(name)
})

test('an archive grows by its bytes, and its trials reach less of it', () => {
  expect(archiveOf(1e8).bytes).toBe(archiveOf(1e7).bytes * 10)
  expect(archiveOf(1e6).search_p50_ms).toBeCloseTo(3.35)
  expect(archiveOf(1e9).trial_share).toBeLessThan(0.001)
})

test('the largest round number that fits is found', () => {
  expect(most((it) => it <= 4999)).toBe(2000)
  expect(most(() => false)).toBe(0)
})

test.each([
  [100, 250, true],
  [100, 251, false],
  [100, 40, true],
  [100, 39, false],
  [100, NaN, false],
])('predicted %d and measured %d within 2.5 times: %p', (predicted, measured, expected) => {
  expect(isWithin({ name: '', predicted, measured, within: 2.5 })).toBe(expected)
})
