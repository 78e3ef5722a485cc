import { expect, test } from 'bun:test'

import * as fc from 'fast-check'

import { allCalls, mayCall, reservedCalls } from '../../../../src/core/relevance/calls.ts'

const NAMES = ['a', 'b', 'c', 'd', 'e'] as const

const days = fc.record({
  limits: fc.record({
    all: fc.integer({ min: 0, max: 60 }),
    customer: fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 30 })),
  }),
  sharers: fc.uniqueArray(fc.constantFrom(...NAMES)),
})
/** Customers in the order in which they want a call; some have no part. */
const wishes = fc.array(fc.constantFrom(...NAMES), { maxLength: 200, size: 'max' })

/** Calls by customer after every wish that was permitted. */
function spend(
  day: { limits: { all: number; customer: number }; sharers: string[] },
  by: string[],
) {
  const used = new Map<string, number>()
  for (const name of by)
    if (mayCall({ ...day, used }, name)) used.set(name, (used.get(name) ?? 0) + 1)
  return { ...day, used }
}

test('no limit is ever exceeded', () => {
  fc.assert(
    fc.property(days, wishes, (day, by) => {
      const spent = spend(day, by)
      const { all, customer } = day.limits
      if (all > 0) expect(allCalls(spent)).toBeLessThanOrEqual(all)
      if (customer > 0)
        for (const calls of spent.used.values()) expect(calls).toBeLessThanOrEqual(customer)
    }),
  )
})

test('every customer with a part gets it, whatever the others have used before', () => {
  fc.assert(
    fc.property(days, wishes, fc.constantFrom(...NAMES), (day, by, late) => {
      fc.pre(day.sharers.includes(late))
      const before = spend(
        day,
        by.filter((name) => name !== late),
      )
      const part = reservedCalls(before)
      const after = spend(day, [...by.filter((name) => name !== late), ...Array(part).fill(late)])
      expect(after.used.get(late) ?? 0).toBe(part)
    }),
  )
})

test('a customer that is alone may use all calls', () => {
  const day = { limits: { all: 20, customer: 0 }, sharers: ['a'] }
  expect(allCalls(spend(day, Array(30).fill('a')))).toBe(20)
})

test.each([
  [1, 10],
  [2, 5],
  [3, 3],
  [40, 0],
])('of twenty calls each of %i customers has %i reserved', (customers, part) => {
  const sharers = Array.from({ length: customers }, (_, n) => `c${n}`)
  expect(reservedCalls({ limits: { all: 20, customer: 0 }, sharers, used: new Map() })).toBe(part)
})
