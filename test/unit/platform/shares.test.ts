import { describe, expect, test } from 'bun:test'

import {
  type Budget,
  countNow,
  giveBack,
  newBudget,
  settle,
  take,
  throttledFor,
  waitFor,
  wish,
} from '../../../src/platform/budget.ts'
import { createPacer, type Rates } from '../../../src/platform/pacer.ts'
import { ANONYMOUS, type Call, type Use } from '../../../src/platform/platform.ts'
import { fakeClock } from '../../support/clock.ts'

const MINUTE = 60_000
const both = (budget: Budget, now = 0) => wish(wish(budget, now, 'read'), now, 'poll')

/** Takes as much as one use gets at once, and tells how much that was. */
function takeAll(budget: Budget, use: Use, now = 0): { count: number; budget: Budget } {
  let [count, left] = [0, settle(budget, now)]
  while (waitFor(left, now, use) === 0) {
    left = take(left, use)
    count++
  }
  return { count, budget: left }
}

describe('our own bucket of thirty', () => {
  test('is all for reads as long as nobody polls', () => {
    expect(takeAll(wish(newBudget(30, 0), 0, 'read'), 'read').count).toBe(30)
  })

  test.each([
    ['read', 'poll'],
    ['poll', 'read'],
  ] as const)('of it a %s gets all but the fifth that is kept for the %s', (use, other) => {
    const first = takeAll(both(newBudget(30, 0)), use)
    expect(first.count).toBe(24)
    expect(takeAll(first.budget, other).count).toBe(6)
  })

  test('what a use had of its fifth comes back at a fifth of the rate', () => {
    const polled = takeAll(takeAll(both(newBudget(30, 0)), 'read').budget, 'poll').budget
    const later = wish(settle(polled, 20_000), 20_000, 'poll')

    // Ten tokens have dripped, two of them into each share.
    expect(countNow(later, 20_000, 'read')).toBe(8)
    expect(countNow(later, 20_000, 'poll')).toBe(8)
    expect(takeAll(takeAll(later, 'read', 20_000).budget, 'poll', 20_000).count).toBe(2)
  })

  test('ten minutes after its last wish nothing is kept for a use', () => {
    const budget = wish(both(newBudget(30, 0)), 10 * MINUTE, 'read')

    expect(takeAll(budget, 'read', 10 * MINUTE).count).toBe(30)
  })

  test('of a handful nothing is kept, or nobody could ask at all', () => {
    expect(takeAll(both(newBudget(4, 0)), 'read').count).toBe(4)
  })

  test('after a throttling both begin with nothing', () => {
    const budget = both(throttledFor(newBudget(30, 0), 0, 1), 1_000)

    expect(countNow(budget, 1_000, 'read')).toBe(0)
    // At half the rate a token takes four seconds, of which one is over; a fifth of what dripped is kept for the other.
    expect(waitFor(settle(budget, 1_000), 1_000, 'read')).toBe(3_200)
  })

  test('those that go before are waited for as well', () => {
    const empty = takeAll(wish(newBudget(30, 0), 0, 'read'), 'read').budget

    expect([0, 1, 2].map((ahead) => waitFor(empty, 0, 'read', ahead))).toEqual([
      2_000, 4_000, 6_000,
    ])
  })
})

const window = (remaining: number, reset_s: number, used = 100 - remaining) =>
  giveBack(both(newBudget(30, 0)), 0, { remaining, used, reset_s })

describe("the platform's window of a hundred", () => {
  test.each([
    ['read', 'poll'],
    ['poll', 'read'],
  ] as const)('a %s leaves the %s its fifth of the time that is left', (use, other) => {
    const full = window(98, 600, 2)
    // Two are kept back for neighbours, and twenty for the other.
    expect(countNow(full, 0, use)).toBe(76)
    expect(takeAll(takeAll(full, use).budget, other).count).toBe(20)

    expect(countNow(window(98, 300, 2), 0, use)).toBe(86)
    expect(countNow(window(98, 30, 2), 0, use)).toBe(95)
  })

  test('who has had its fifth has nothing kept any more', () => {
    let budget = window(98, 600, 2)
    for (let n = 0; n < 20; n++) budget = take(budget, 'poll')

    expect(countNow(budget, 0, 'read')).toBe(76)
    expect(countNow(budget, 0, 'poll')).toBe(56)
  })

  test('when neighbours have used it up, what is left is for both', () => {
    const budget = window(7, 600)

    expect(countNow(budget, 0, 'read')).toBe(5)
    expect(countNow(budget, 0, 'poll')).toBe(5)
  })

  test('begins anew with nothing spent', () => {
    let budget = window(98, 600, 2)
    for (let n = 0; n < 50; n++) budget = take(budget, 'poll')
    for (let n = 0; n < 50; n++) budget = giveBack(budget, 0, null)
    const later = both(settle(budget, 600_000), 600_000)

    expect(countNow(later, 600_000, 'read')).toBe(78)
  })
})

describe('the pacer', () => {
  const RATES: Rates = { session: 30, bearer: 60 }
  function stage(rates = RATES) {
    const clock = fakeClock(() => new Promise((resolve) => setImmediate(resolve)))
    const pacer = createPacer(clock, rates)
    const done: string[] = []
    const call = (more: Partial<Call> = {}): Call => ({
      eyes: { ...ANONYMOUS, id: 'acc' },
      deadline_at: clock.now() + 10 * MINUTE,
      ...more,
    })
    return {
      clock,
      pacer,
      done,
      call,
      /** Asks, and writes the name down once it is let through. */
      ask(name: string, more: Partial<Call> = {}) {
        void pacer.admit(call(more)).then((leave) => done.push(leave.ok ? name : `no ${name}`))
      },
      async drain(use: Use = 'read') {
        while (pacer.headroom('acc', use).requests > 0) await pacer.admit(call({ use }))
      },
    }
  }

  test('lets those go first whose deadline is the oldest', async () => {
    const it = stage()
    await it.drain()
    const deadline = (seconds: number) => ({ deadline_at: it.clock.now() + seconds * 1000 })

    it.ask('late', deadline(90))
    it.ask('soon', deadline(30))
    it.ask('later', deadline(120))
    it.ask('as soon', deadline(30))
    await it.clock.advance(8_000)

    expect(it.done).toEqual(['soon', 'as soon', 'late', 'later'])
  })

  test('a flood of reads does not keep a poll waiting, nor the other way round', async () => {
    for (const [flood, lone] of [
      ['read', 'poll'],
      ['poll', 'read'],
    ] as const) {
      const it = stage()
      it.ask('first', { use: lone })
      await it.drain(flood)
      for (let n = 0; n < 50; n++) it.ask(flood, { use: flood })

      it.ask(lone, { use: lone })
      await it.clock.advance(0)

      expect(it.done).toContain(lone)
    }
  })

  test('a bearer goes by the rate of bearers', async () => {
    const it = stage()
    const eyes = { ...ANONYMOUS, id: 'app', bearer: 'token' }
    await it.pacer.admit(it.call({ eyes }))

    expect(it.pacer.headroom('app', 'read')).toEqual({ requests: 59, until_ms: 0 })
  })

  test('tells how many may go, and when again if none', async () => {
    const it = stage()
    expect(it.pacer.headroom('acc', 'read')).toEqual({ requests: 30, until_ms: 0 })

    await it.drain()
    expect(it.pacer.headroom('acc', 'read')).toEqual({ requests: 0, until_ms: 2_000 })

    it.ask('one that waits')
    expect(it.pacer.headroom('acc', 'read')).toEqual({ requests: 0, until_ms: 4_000 })
  })

  test('tells when a throttling is over', async () => {
    const it = stage()
    const leave = await it.pacer.admit(it.call())
    if (leave.ok) leave.value.done(null, { kind: 'throttled', retry_after_s: 90 })

    expect(it.pacer.headroom('acc', 'poll')).toEqual({ requests: 0, until_ms: 90_000 })
  })
})
