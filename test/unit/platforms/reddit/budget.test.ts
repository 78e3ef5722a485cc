import { expect, test } from 'bun:test'

import {
  giveBack,
  newBudget,
  settle,
  take,
  throttledFor,
  viewBudget,
} from '../../../../src/platforms/reddit/budget.ts'

const SECOND = 1000

test('a budget before the first rate headers shows the local bucket', () => {
  const fresh = newBudget(60, 0)
  const used = take(take(fresh))

  expect(viewBudget(fresh, 0)).toEqual({ limit_per_minute: 60, remaining: 60, resets_in_ms: null })
  expect(viewBudget(used, 0).remaining).toBe(58)
  expect(viewBudget(settle(used, SECOND), SECOND).remaining).toBe(59)
})

test("a budget with rate headers shows the platform's window minus requests in flight", () => {
  const budget = giveBack(take(newBudget(60, 0)), 0, { remaining: 500, used: 100, reset_s: 300 })

  expect(viewBudget(budget, 0)).toEqual({
    limit_per_minute: 60,
    remaining: 500,
    resets_in_ms: 300 * SECOND,
  })
  expect(viewBudget(take(budget), 100 * SECOND)).toEqual({
    limit_per_minute: 60,
    remaining: 499,
    resets_in_ms: 200 * SECOND,
  })
})

test('the remaining budget is zero during a throttling', () => {
  const budget = giveBack(take(newBudget(60, 0)), 0, { remaining: 500, used: 100, reset_s: 300 })
  const stopped = throttledFor(budget, 0, 30)

  expect(viewBudget(stopped, 29 * SECOND).remaining).toBe(0)
  expect(viewBudget(stopped, 30 * SECOND).remaining).toBe(500)
  expect(viewBudget(throttledFor(newBudget(60, 0), 0, 30), 0)).toEqual({
    limit_per_minute: 30,
    remaining: 0,
    resets_in_ms: null,
  })
})
