import { expect, test } from 'bun:test'

import {
  giveBack,
  newBudget,
  settle,
  shown,
  take,
  throttledFor,
} from '../../../src/platform/budget.ts'

const SECOND = 1000

test('a budget of which the platform has told nothing shows our own bucket', () => {
  const fresh = newBudget(60, 0)
  const used = take(take(fresh))

  expect(shown(fresh, 0)).toEqual({ limit_per_minute: 60, remaining: 60, resets_in_ms: null })
  expect(shown(used, 0).remaining).toBe(58)
  expect(shown(settle(used, SECOND), SECOND).remaining).toBe(59)
})

test('a budget that the platform has told shows its window, less what is on its way', () => {
  const told = giveBack(take(newBudget(60, 0)), 0, { remaining: 500, used: 100, reset_s: 300 })

  expect(shown(told, 0)).toEqual({
    limit_per_minute: 60,
    remaining: 500,
    resets_in_ms: 300 * SECOND,
  })
  expect(shown(take(told), 100 * SECOND)).toEqual({
    limit_per_minute: 60,
    remaining: 499,
    resets_in_ms: 200 * SECOND,
  })
})

test('while the platform has asked us to stop nothing remains', () => {
  const told = giveBack(take(newBudget(60, 0)), 0, { remaining: 500, used: 100, reset_s: 300 })
  const stopped = throttledFor(told, 0, 30)

  expect(shown(stopped, 29 * SECOND).remaining).toBe(0)
  expect(shown(stopped, 30 * SECOND).remaining).toBe(500)
  expect(shown(throttledFor(newBudget(60, 0), 0, 30), 0)).toEqual({
    limit_per_minute: 30,
    remaining: 0,
    resets_in_ms: null,
  })
})
