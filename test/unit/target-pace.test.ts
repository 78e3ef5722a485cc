import { expect, test } from 'bun:test'

import { array, assert, integer, property } from 'fast-check'

import { createTargetPace } from '../../src/core/target-pace.ts'

test('a second holds as many starts as were wished, and the next may come when the first is a second old', () => {
  const pace = createTargetPace()
  for (const at of [0, 300]) pace.started('wh_1', 2, at)
  expect(pace.room('wh_1', 2, 900)).toBe(0)
  expect(pace.nextAt('wh_1', 2, 900)).toBe(1000)
  expect(pace.room('wh_1', 2, 1000)).toBe(1)
  expect(pace.nextAt('wh_1', 2, 1000)).toBe(1000)
})

test('less than one a second is one in so many seconds', () => {
  const pace = createTargetPace()
  pace.started('wh_1', 0.25, 0)
  expect(pace.room('wh_1', 0.25, 3999)).toBe(0)
  expect(pace.room('wh_1', 0.25, 4000)).toBe(1)
})

test('who wishes nothing is not held up, nor is one target by another', () => {
  const pace = createTargetPace()
  pace.started('wh_1', 1, 0)
  expect(pace.room('wh_1', null, 0)).toBe(Infinity)
  expect(pace.nextAt('wh_1', null, 7)).toBe(7)
  expect(pace.room('wh_2', 1, 0)).toBe(1)
})

test('whoever starts only when there is room never exceeds the wish in any second', () => {
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
          if (pace.room('wh_1', per_second, now) < 1) continue
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
