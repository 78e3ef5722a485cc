import { expect, test } from 'bun:test'

import {
  beginningAt,
  effectiveCadence,
  isAhead,
  judgeFreshness,
  judgeSlots,
  type Plan,
  utcDay,
} from '../../../../src/core/limits/plan.ts'

const plan: Plan = { slots: 2, sitewide_slots: 1, cadence_s: 60, daily_deliveries: 10 }

test.each([
  ['no requested cadence gives that of the plan', null, 60],
  ['a cadence slower than the plan is kept', 300, 300],
  ['a cadence faster than the plan is limited to it', 5, 60],
])('%s', (_, requested, effective) => {
  expect(effectiveCadence(plan, requested)).toBe(effective)
})

test('the last slot is free and the next one is not', () => {
  const one = { used: 1, sitewide_used: 0 }
  expect(judgeSlots(plan, { used: 1, sitewide_used: 0 }, one)).toBeNull()
  expect(judgeSlots(plan, { used: 2, sitewide_used: 0 }, one)).toEqual({
    code: 'monitor_slots_exhausted',
    limit: 2,
  })
})

test('site-wide slots are counted separately, and only for monitors that need one', () => {
  const full = { used: 1, sitewide_used: 1 }
  expect(judgeSlots(plan, full, { used: 1, sitewide_used: 1 })).toEqual({
    code: 'sitewide_slots_exhausted',
    limit: 1,
  })
  expect(judgeSlots(plan, full, { used: 1, sitewide_used: 0 })).toBeNull()
})

test('a plan below its use refuses new monitors but not an edit that needs no slot', () => {
  expect(judgeSlots(plan, { used: 9, sitewide_used: 9 }, { used: 0, sitewide_used: 0 })).toBeNull()
})

test.each([
  ['clocks that agree', 0, 12_000],
  ['a difference within the measuring error', -1400, 12_000],
  ['our clock 30 s ahead', -30_000, -18_000],
  ['our clock an hour behind', 3_600_000, 3_612_000],
])(
  'a monitor begins with the second of its creation, by the clock of the platform: %s',
  (_, ahead, at) => {
    expect(beginningAt(12_999, ahead)).toBe(at)
  },
)

test.each([
  ['the second itself', 12_000, true],
  ['later', 13_000, true],
  ['the second before', 11_000, false],
])('an item of %s', (_, created_at, ahead) => {
  const from = { active_since: 12_000, baseline_item_id: null }
  expect(isAhead({ name: 't3_a', created_at }, from)).toBe(ahead)
})

test.each([
  ['the baseline itself', 't3_zz', 12_000, false],
  ['an older one of the same second', 't3_zy', 12_000, false],
  ['a newer one of the same second', 't3_100', 12_000, true],
  ['a comment of the same second', 't1_a', 12_000, true],
  ['one of the second before', 't3_100', 11_000, false],
])('after a baseline: %s', (_, name, created_at, ahead) => {
  const from = { active_since: 12_000, baseline_item_id: 't3_zz' }
  expect(isAhead({ name, created_at }, from)).toBe(ahead)
})

test('exactly as old as the threshold is fresh, a millisecond more is stale', () => {
  expect(judgeFreshness({ created_at: 0, first_seen_at: 900_000 }, 900_000)).toBeNull()
  expect(judgeFreshness({ created_at: 0, first_seen_at: 900_001 }, 900_000)).toEqual({
    reason: 'stale_item',
    oldest_age_s: 900,
    threshold_s: 900,
  })
})

test('a day is the UTC day', () => {
  const midnight = Date.parse('2026-03-29T00:00:00Z')
  expect(utcDay(midnight)).toBe(utcDay(midnight - 1) + 1)
  expect(utcDay(midnight + 86_399_999)).toBe(utcDay(midnight))
})
