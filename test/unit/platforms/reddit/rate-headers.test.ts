import { describe, expect, test } from 'bun:test'

import {
  type Budget,
  giveBack,
  newBudget,
  readRateHeaders,
  requestTokens,
  settle,
  take,
  throttledFor,
  waitFor,
} from '../../../../src/platforms/reddit/budget.ts'

const MINUTE = 60_000
const rateHeaders = (remaining: number, reset_s = 600, used = 10) => ({ remaining, reset_s, used })
const answered = (budget: Budget, now: number, remaining: number, reset_s = 600) =>
  giveBack(take(settle(budget, now)), now, rateHeaders(remaining, reset_s))
const waitAt = (budget: Budget, now: number) => waitFor(settle(budget, now), now)

/** Takes requests until the budget is empty, and returns their number. */
function takeAll(budget: Budget, now: number): { count: number; budget: Budget } {
  let [count, left] = [0, settle(budget, now)]
  while (waitFor(left, now) === 0) {
    left = take(left)
    count++
  }
  return { count, budget: left }
}

describe('the local bucket, before the first rate headers', () => {
  test("allows a minute's requests at once", () => {
    expect(takeAll(newBudget(30, 0), 0).count).toBe(30)
  })

  test('then allows one every two seconds', () => {
    const { budget } = takeAll(newBudget(30, 0), 0)

    expect(waitAt(budget, 0)).toBe(2_000)
    expect(waitAt(budget, 1_500)).toBe(500)
    expect(waitAt(budget, 2_000)).toBe(0)
    expect(takeAll(budget, 10_000).count).toBe(5)
  })

  test("never holds more than a minute's requests", () => {
    const { budget } = takeAll(newBudget(30, 0), 0)

    expect(takeAll(budget, 24 * 60 * MINUTE).count).toBe(30)
  })

  test('is halved and emptied by a throttling', () => {
    const budget = throttledFor(newBudget(30, 0), 0, 1)

    expect(waitAt(budget, 0)).toBe(1_000)
    expect(takeAll(budget, MINUTE).count).toBe(15)
  })

  test('recovers one halving every ten minutes', () => {
    const twice = throttledFor(throttledFor(newBudget(32, 0), 0, 1), 0, 1)
    const drained = (now: number) => takeAll(twice, now).budget

    expect(takeAll(drained(MINUTE), 2 * MINUTE).count).toBe(8)
    expect(takeAll(drained(11 * MINUTE), 12 * MINUTE).count).toBe(16)
    expect(takeAll(drained(21 * MINUTE), 22 * MINUTE).count).toBe(32)
  })
})

describe("the platform's window", () => {
  test('replaces the local bucket', () => {
    const { budget } = takeAll(newBudget(1, 0), 0)

    expect(takeAll(giveBack(budget, 0, rateHeaders(300)), 0).count).toBe(298)
  })

  test.each([
    [3, 0],
    [2, 600_000],
    [0, 600_000],
  ])('with %i remaining waits %i ms', (remaining, wait_ms) => {
    expect(waitAt(answered(newBudget(30, 0), 0, remaining), 0)).toBe(wait_ms)
  })

  test('is full again after its reset, and ten minutes later', () => {
    const spent = answered(newBudget(30, 0), 0, 0, 30)

    expect(waitAt(spent, 29_999)).toBe(1)
    expect(takeAll(spent, 30_000).count).toBe(8)
    expect(waitAt(takeAll(spent, 30_000).budget, 30_000)).toBe(600_000)
    expect(waitAt(spent, 100 * MINUTE)).toBe(0)
  })

  test('counts requests in flight', () => {
    let budget = answered(newBudget(30, 0), 0, 5)
    for (let sent = 0; sent < 3; sent++) budget = take(budget)

    expect(waitAt(budget, 0)).toBe(600_000)
  })

  test('does not grow by an answer that arrives out of order', () => {
    const budget = answered(answered(newBudget(30, 0), 0, 10), 400, 12, 600)

    expect(budget.window?.remaining).toBe(10)
  })

  test('does not grow by a slow answer either', () => {
    const budget = answered(answered(newBudget(30, 0), 0, 10), 9_000, 40, 600)

    expect(budget.window?.remaining).toBe(10)
  })

  test('can be larger after its reset', () => {
    const budget = answered(answered(newBudget(30, 0), 0, 0, 60), 61_000, 299, 600)

    expect(budget.window?.remaining).toBe(299)
  })

  test('shrinks by a request without an answer', () => {
    const budget = giveBack(take(answered(newBudget(30, 0), 0, 5)), 0, null)

    expect(budget).toMatchObject({ in_flight: 0, window: { remaining: 4 } })
  })

  test('can be blocked for longer than it lasts', () => {
    const budget = throttledFor(answered(newBudget(30, 0), 0, 100, 10), 0, 120)

    expect(waitAt(budget, 60_000)).toBe(60_000)
    expect(waitAt(budget, 120_000)).toBe(0)
  })

  test.each(['remaining', 'used'])('stays usable after an extreme number in %s', (name) => {
    const headers = new Headers({ 'x-ratelimit-remaining': '100', 'x-ratelimit-reset': '600' })
    headers.set(`x-ratelimit-${name}`, '9'.repeat(400))
    const read = requestTokens(requestTokens(newBudget(30, 0), 0, 'poll'), 0, 'read')
    const budget = giveBack(take(read), 0, readRateHeaders(headers))

    expect(waitAt(budget, 1)).toBe(0)
    expect(waitAt(budget, 900_000)).toBe(0)
  })
})

test.each([
  ['a bearer', { remaining: '598.0', used: '2', reset: '421' }, rateHeaders(598, 421, 2)],
  ['a cookie session', { remaining: '299', used: '1', reset: '600' }, rateHeaders(299, 600, 1)],
  ['an overdrawn session', { remaining: '-3.0', used: '303', reset: '9' }, rateHeaders(0, 9, 303)],
  ['half the headers', { remaining: '299' }, null],
  ['words', { remaining: 'many', used: 'few', reset: 'soon' }, null],
  ['a window of years', { remaining: '1', used: '1', reset: '99999999' }, rateHeaders(1, 600, 1)],
  ['nothing', {}, null],
])('the rate headers of %s are read', (_source, fields, expected) => {
  const headers = new Headers()
  for (const [name, value] of Object.entries(fields)) headers.set(`X-Ratelimit-${name}`, value)

  expect(readRateHeaders(headers)).toEqual(expected)
})
