import { describe, expect, test } from 'bun:test'

import { ANONYMOUS, type Call, type Use } from '../../../../src/platforms/port.ts'
import {
  type Budget,
  countNow,
  giveBack,
  newBudget,
  requestTokens,
  settle,
  take,
  throttledFor,
  waitFor,
} from '../../../../src/platforms/reddit/budget.ts'
import { createPacer, type Rates } from '../../../../src/platforms/reddit/pacer.ts'
import { fakeClock } from '../../../support/clock.ts'

const MINUTE = 60_000
const ACC = { ...ANONYMOUS, id: 'acc' }
const both = (budget: Budget, now = 0) =>
  requestTokens(requestTokens(budget, now, 'read'), now, 'poll')

/** Takes all requests that one use gets at once, and returns their number. */
function takeAll(budget: Budget, use: Use, now = 0): { count: number; budget: Budget } {
  let [count, left] = [0, settle(budget, now)]
  while (waitFor(left, now, use) === 0) {
    left = take(left, use)
    count++
  }
  return { count, budget: left }
}

describe('the local bucket of thirty', () => {
  test('is available to reads in full while there are no polls', () => {
    expect(takeAll(requestTokens(newBudget(30, 0), 0, 'read'), 'read').count).toBe(30)
  })

  test.each([
    ['read', 'poll'],
    ['poll', 'read'],
  ] as const)('gives a %s all but the fifth reserved for the %s', (use, other) => {
    const first = takeAll(both(newBudget(30, 0)), use)
    expect(first.count).toBe(24)
    expect(takeAll(first.budget, other).count).toBe(6)
  })

  test('refills each share at a fifth of the rate', () => {
    const polled = takeAll(takeAll(both(newBudget(30, 0)), 'read').budget, 'poll').budget
    const later = requestTokens(settle(polled, 20_000), 20_000, 'poll')

    // Ten tokens have dripped, two of them into each share.
    expect(countNow(later, 20_000, 'read')).toBe(8)
    expect(countNow(later, 20_000, 'poll')).toBe(8)
    expect(takeAll(takeAll(later, 'read', 20_000).budget, 'poll', 20_000).count).toBe(2)
  })

  test('ends the reservation of a use ten minutes after its last request', () => {
    const budget = requestTokens(both(newBudget(30, 0)), 10 * MINUTE, 'read')

    expect(takeAll(budget, 'read', 10 * MINUTE).count).toBe(30)
  })

  test('reserves nothing of a small budget', () => {
    expect(takeAll(both(newBudget(4, 0)), 'read').count).toBe(4)
  })

  test('leaves both uses empty after a throttling', () => {
    const budget = both(throttledFor(newBudget(30, 0), 0, 1), 1_000)

    expect(countNow(budget, 1_000, 'read')).toBe(0)
    // At half the rate a token takes four seconds, of which one has passed; a fifth of the dripped
    // tokens is reserved for the other use.
    expect(waitFor(settle(budget, 1_000), 1_000, 'read')).toBe(3_200)
  })

  test('adds the wait for requests ahead', () => {
    const empty = takeAll(requestTokens(newBudget(30, 0), 0, 'read'), 'read').budget

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
  ] as const)('leaves after a %s the share of the %s in the remaining time', (use, other) => {
    const full = window(98, 600, 2)
    // Two are held back for other clients, and twenty for the other use.
    expect(countNow(full, 0, use)).toBe(76)
    expect(takeAll(takeAll(full, use).budget, other).count).toBe(20)

    expect(countNow(window(98, 300, 2), 0, use)).toBe(86)
    expect(countNow(window(98, 30, 2), 0, use)).toBe(95)
  })

  test('reserves nothing more for a use that has spent its share', () => {
    let budget = window(98, 600, 2)
    for (let n = 0; n < 20; n++) budget = take(budget, 'poll')

    expect(countNow(budget, 0, 'read')).toBe(76)
    expect(countNow(budget, 0, 'poll')).toBe(56)
  })

  test('is open to both uses when other clients have used it up', () => {
    const budget = window(7, 600)

    expect(countNow(budget, 0, 'read')).toBe(5)
    expect(countNow(budget, 0, 'poll')).toBe(5)
  })

  test('starts again with nothing spent', () => {
    let budget = window(98, 600, 2)
    for (let n = 0; n < 50; n++) budget = take(budget, 'poll')
    for (let n = 0; n < 50; n++) budget = giveBack(budget, 0, null)
    const later = both(settle(budget, 600_000), 600_000)

    expect(countNow(later, 600_000, 'read')).toBe(78)
  })
})

describe('the pacer', () => {
  const RATES: Rates = { session: 30, bearer: 60 }
  function fixture(rates = RATES) {
    const clock = fakeClock(() => new Promise((resolve) => setImmediate(resolve)))
    const pacer = createPacer(clock, rates, { fraction: () => 0.5 })
    const done: string[] = []
    const call = (more: Partial<Call> = {}): Call => ({
      identity: ACC,
      deadline_at: clock.now() + 10 * MINUTE,
      ...more,
    })
    return {
      clock,
      pacer,
      done,
      call,
      /** Requests admission, and records the name afterwards. */
      request(name: string, more: Partial<Call> = {}) {
        void pacer.admit(call(more)).then((leave) => done.push(leave.ok ? name : `no ${name}`))
      },
      async drain(use: Use = 'read') {
        while (pacer.headroom(ACC, use).requests > 0) await pacer.admit(call({ use }))
      },
    }
  }

  test('admits the oldest deadline first', async () => {
    const it = fixture()
    await it.drain()
    const deadline = (seconds: number) => ({ deadline_at: it.clock.now() + seconds * 1000 })

    it.request('late', deadline(90))
    it.request('soon', deadline(30))
    it.request('later', deadline(120))
    it.request('as soon', deadline(30))
    await it.clock.advance(8_000)

    expect(it.done).toEqual(['soon', 'as soon', 'late', 'later'])
  })

  test('a flood of one use does not delay the other', async () => {
    for (const [flood, lone] of [
      ['read', 'poll'],
      ['poll', 'read'],
    ] as const) {
      const it = fixture()
      it.request('first', { use: lone })
      await it.drain(flood)
      for (let n = 0; n < 50; n++) it.request(flood, { use: flood })

      it.request(lone, { use: lone })
      await it.clock.advance(0)

      expect(it.done).toContain(lone)
    }
  })

  test('applies the bearer rate to a bearer', async () => {
    const it = fixture()
    const identity = { ...ANONYMOUS, id: 'app', bearer: 'token' }
    await it.pacer.admit(it.call({ identity }))

    expect(it.pacer.headroom(identity, 'read')).toEqual({ requests: 59, until_ms: 0 })
  })

  test('reports the headroom, and the wait if there is none', async () => {
    const it = fixture()
    expect(it.pacer.headroom(ACC, 'read')).toEqual({ requests: 30, until_ms: 0 })

    await it.drain()
    expect(it.pacer.headroom(ACC, 'read')).toEqual({ requests: 0, until_ms: 2_000 })

    it.request('one that waits')
    expect(it.pacer.headroom(ACC, 'read')).toEqual({ requests: 0, until_ms: 4_000 })
  })

  test('reports the end of a throttling', async () => {
    const it = fixture()
    const leave = await it.pacer.admit(it.call())
    if (leave.ok) leave.value.done(null, { kind: 'throttled', retry_after_s: 90 })

    expect(it.pacer.headroom(ACC, 'poll')).toEqual({ requests: 0, until_ms: 90_000 })
  })
})
