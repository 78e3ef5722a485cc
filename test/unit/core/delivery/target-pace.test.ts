import { expect, test } from 'bun:test'

import { array, assert, integer, property } from 'fast-check'

import { createTargetPace } from '../../../../src/core/delivery/target.ts'

test('a second holds as many starts as the limit, and the next may follow when the first is a second old', () => {
  const pace = createTargetPace()
  for (const at of [0, 300]) pace.started('wh_1', 2, at)
  expect(pace.capacity('wh_1', 2, 900)).toBe(0)
  expect(pace.nextAt('wh_1', 2, 900)).toBe(1000)
  expect(pace.capacity('wh_1', 2, 1000)).toBe(1)
  expect(pace.nextAt('wh_1', 2, 1000)).toBe(1000)
})

test('a limit below one a second is one start in that many seconds', () => {
  const pace = createTargetPace()
  pace.started('wh_1', 0.25, 0)
  expect(pace.capacity('wh_1', 0.25, 3999)).toBe(0)
  expect(pace.capacity('wh_1', 0.25, 4000)).toBe(1)
})

test('a target without a limit is not delayed, and targets do not affect each other', () => {
  const pace = createTargetPace()
  pace.started('wh_1', 1, 0)
  expect(pace.capacity('wh_1', null, 0)).toBe(Infinity)
  expect(pace.nextAt('wh_1', null, 7)).toBe(7)
  expect(pace.capacity('wh_2', 1, 0)).toBe(1)
})

test('starts within the capacity never exceed the limit in any second', () => {
  assert(
    property(
      integer({ min: 1, max: 20 }),
      array(integer({ min: 0, max: 400 }), { maxLength: 80 }),
      (per_second, waits) => {
        const pace = createTargetPace()
        const starts: number[] = []
        let now = 0
        for (const wait of waits) {
          now += wait
          if (pace.capacity('wh_1', per_second, now) < 1) continue
          pace.started('wh_1', per_second, now)
          starts.push(now)
        }
        for (const from of starts)
          expect(starts.filter((at) => at >= from && at < from + 1000).length).toBeLessThanOrEqual(
            per_second,
          )
      },
    ),
  )
})
