import { afterAll, beforeEach, expect, test } from 'bun:test'

import * as fc from 'fast-check'

import {
  findCustomer,
  removeCustomer,
  updateCustomer,
} from '../../../../src/store/customers/customers.ts'
import {
  BalanceTooLow,
  charge,
  endHold,
  hold,
  insertPayment,
  listPayments,
  listUsage,
  recordUsage,
  release,
  releaseAll,
  sumUsage,
} from '../../../../src/store/customers/ledger.ts'
import type { Db } from '../../../../src/store/db/connection.ts'
import { addCustomer } from '../../../support/customers.ts'
import { listUnbalanced } from '../../../support/invariants.ts'
import { memoryDb } from '../../../support/memory-db.ts'

const NOW = Date.parse('2026-01-01T10:30:00Z')
const HOUR = Date.parse('2026-01-01T10:00:00Z')

let db: Db
beforeEach(() => {
  db = customerWith(10_000)
})
afterAll(() => db.close())

function customerWith(credits_micros: number): Db {
  const fresh = memoryDb()
  addCustomer(fresh, 'cus_1', { at: NOW, credits_micros })
  return fresh
}

const price = (id: string, amount_micros: number) => ({
  id,
  customer_id: 'cus_1',
  tier: 'read' as const,
  amount_micros,
})
const settle = (books: Db, id: string, now: number) =>
  endHold(books, id, { billed: true, failed: false, now })
const balance = () => findCustomer(db, 'cus_1')?.balance_micros

test('a starting credit is the first payment', () => {
  expect(listPayments(db, 'cus_1', 10)).toEqual([
    {
      id: 'pay_cus_1',
      customer_id: 'cus_1',
      kind: 'signup_credit',
      amount_micros: 10_000,
      note: null,
      created_at: NOW,
    },
  ])
  expect(balance()).toBe(10_000)
})

test('a released price is returned, and the call is counted as an error without cost', () => {
  hold(db, price('h1', 2_000), NOW)

  expect(release(db, 'h1', NOW)).toBe(10_000)
  expect(listUsage(db, 'cus_1', 0, NOW)).toEqual([
    { hour_at: HOUR, tier: 'read', calls: 1, billed_calls: 0, cost_micros: 0, errors: 1 },
  ])
})

test('a price above the balance is not held, the last micro-dollar is', () => {
  expect(hold(db, price('h1', 10_001), NOW)).toBe(false)
  expect(hold(db, price('h2', 10_000), NOW)).toBe(true)
  expect(hold(db, price('h3', 1), NOW)).toBe(false)
  expect(balance()).toBe(0)
})

test('an unlimited customer is never refused and never charged, and its calls are counted', () => {
  updateCustomer(db, 'cus_1', { unlimited: true })
  expect(hold(db, price('h1', 99_000_000), NOW)).toBe(true)

  expect(settle(db, 'h1', NOW)).toBe(10_000)
  expect(sumUsage(db, 'cus_1')).toEqual({ calls: 1, cost_micros: 0 })
})

test('an adjustment may deduct money, but not more than the balance', () => {
  const adjust = (id: string, amount_micros: number) =>
    insertPayment(db, {
      id,
      customer_id: 'cus_1',
      kind: 'adjustment',
      amount_micros,
      note: 'a mistake',
      created_at: NOW + 1,
    })
  adjust('pay_2', -4_000)

  expect(() => adjust('pay_3', -6_001)).toThrow(BalanceTooLow)
  expect(balance()).toBe(6_000)
  expect(listPayments(db, 'cus_1', 10).map(({ id }) => id)).toEqual(['pay_2', 'pay_cus_1'])

  adjust('pay_3', -6_000)
  expect(balance()).toBe(0)
})

test('a removed customer is neither paid nor billed', () => {
  removeCustomer(db, 'cus_1', NOW)
  const pay = () =>
    insertPayment(db, {
      id: 'pay_2',
      customer_id: 'cus_1',
      kind: 'top_up',
      amount_micros: 1,
      note: null,
      created_at: NOW,
    })

  expect(pay).toThrow(BalanceTooLow)
  expect(hold(db, price('hold_1', 1), NOW)).toBe(false)
})

test('payments and usage of a customer are without those of others', () => {
  addCustomer(db, 'cus_2', { credits_micros: 50_000 })
  charge(db, { ...price('', 2_000), customer_id: 'cus_2' }, NOW)
  db.run("UPDATE customers SET balance_micros = balance_micros + 1 WHERE id = 'cus_2'")

  expect(listPayments(db, 'cus_1', 10).map(({ id }) => id)).toEqual(['pay_cus_1'])
  expect(sumUsage(db, 'cus_1')).toEqual({ calls: 0, cost_micros: 0 })
})

test('usage is stored by hour and by kind of call', () => {
  for (const at of [NOW, NOW + 1, NOW + 3_600_000])
    recordUsage(db, {
      customer_id: 'cus_1',
      tier: 'vote',
      at,
      billed: true,
      cost_micros: 0,
      failed: false,
    })

  expect(listUsage(db, 'cus_1', HOUR, HOUR + 7_200_000)).toMatchObject([
    { hour_at: HOUR, tier: 'vote', calls: 2 },
    { hour_at: HOUR + 3_600_000, tier: 'vote', calls: 1 },
  ])
  expect(listUsage(db, 'cus_1', HOUR, HOUR + 3_600_000)).toHaveLength(1)
})

test('errors of an hour are added up', () => {
  const call = {
    customer_id: 'cus_1',
    tier: 'read',
    at: NOW,
    billed: false,
    cost_micros: 0,
  } as const
  for (const failed of [true, true, false]) recordUsage(db, { ...call, failed })

  expect(listUsage(db, 'cus_1', 0, NOW)).toMatchObject([{ calls: 3, errors: 2 }])
})

test('an unbalanced ledger is detected', () => {
  expect(listUnbalanced(db)).toEqual([])
  db.run('UPDATE customers SET balance_micros = balance_micros + 1')

  expect(listUnbalanced(db)).toEqual([{ customer_id: 'cus_1', off_by_micros: 1 }])
})

type Step =
  | { kind: 'hold'; amount: number }
  | { kind: 'charge'; amount: number }
  | { kind: 'settle' | 'release'; pick: number }
  | { kind: 'pay'; amount: number }
  | { kind: 'crash' }

const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.oneof(
    fc.record({ kind: fc.constant('hold' as const), amount: fc.integer({ min: 0, max: 5_000 }) }),
    fc.record({
      kind: fc.constant('charge' as const),
      amount: fc.integer({ min: 0, max: 5_000 }),
    }),
    fc.record({ kind: fc.constantFrom('settle' as const, 'release' as const), pick: fc.nat(50) }),
    fc.record({
      kind: fc.constant('pay' as const),
      amount: fc.integer({ min: -3_000, max: 9_000 }),
    }),
    fc.record({ kind: fc.constant('crash' as const) }),
  ),
  { maxLength: 60 },
)

test('after any sequence the balance is payments less costs less holds, and never below zero', () => {
  fc.assert(
    fc.property(fc.nat(20_000), steps, (start, operations) => {
      using books = customerWith(start)
      let expected = start
      const open = new Map<string, number>()
      for (const [n, step] of operations.entries()) {
        if (step.kind === 'hold') {
          const fits = step.amount <= expected
          expect(hold(books, price(`h${n}`, step.amount), NOW)).toBe(fits)
          if (fits) open.set(`h${n}`, step.amount)
          if (fits) expected -= step.amount
        } else if (step.kind === 'charge') {
          const fits = step.amount <= expected
          if (fits) expected -= step.amount
          expect(charge(books, price('', step.amount), NOW)).toBe(fits ? expected : null)
        } else if (step.kind === 'pay') {
          const fits = expected + step.amount >= 0
          const pay = () =>
            insertPayment(books, {
              id: `p${n}`,
              customer_id: 'cus_1',
              kind: 'adjustment',
              amount_micros: step.amount,
              note: null,
              created_at: NOW,
            })
          if (fits) pay()
          else expect(pay).toThrow(BalanceTooLow)
          if (fits) expected += step.amount
        } else if (step.kind === 'crash') {
          releaseAll(books, NOW)
          for (const amount of open.values()) expected += amount
          open.clear()
        } else {
          const id = `h${step.pick}`
          const amount = open.get(id)
          const remaining = (step.kind === 'settle' ? settle : release)(books, id, NOW)
          if (amount !== undefined && step.kind === 'release') expected += amount
          expect(remaining).toBe(amount === undefined ? null : expected)
          open.delete(id)
        }
        expect(findCustomer(books, 'cus_1')?.balance_micros).toBe(expected)
        expect(listUnbalanced(books)).toEqual([])
      }
    }),
    { numRuns: 150 },
  )
}, 60_000)

test('a bill that cannot be written completely is not written at all', () => {
  db.run("CREATE TRIGGER full BEFORE INSERT ON usage_hours BEGIN SELECT RAISE(ABORT, 'full'); END")

  expect(() => charge(db, price('', 2_000), NOW)).toThrow('full')

  expect(balance()).toBe(10_000)
  expect(listUnbalanced(db)).toEqual([])
})

test('a charge beyond the balance is not counted, and an unlimited customer pays nothing', () => {
  const charged = [1, 2, 3, 4].map(() => charge(db, price('', 3_000), NOW))
  expect(charged).toEqual([7_000, 4_000, 1_000, null])
  expect(sumUsage(db, 'cus_1')).toEqual({ calls: 3, cost_micros: 9_000 })

  updateCustomer(db, 'cus_1', { unlimited: true })
  expect(charge(db, price('', 3_000), NOW)).toBe(1_000)
  expect(listUsage(db, 'cus_1', 0, NOW)).toEqual([
    { hour_at: HOUR, tier: 'read', calls: 4, billed_calls: 4, cost_micros: 9_000, errors: 0 },
  ])
})
