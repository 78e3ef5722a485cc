import { expect, test } from 'bun:test'

import * as fc from 'fast-check'

import { formatMicroUsd } from '../../../src/api/billing.ts'
import { ApiError } from '../../../src/core/base/errors.ts'
import { listUsage } from '../../../src/store/customers/ledger.ts'
import { listUnbalanced } from '../../support/invariants.ts'
import { CREDIT, metered, PRICE } from './billing-fixture.ts'

const cached = { cached: () => () => 7 }
const messageOf = (error: unknown) => (error instanceof ApiError ? error.details.message : error)

test('a cached answer is billed in one step, without work', async () => {
  const { db, call, books, moved, workCalls } = metered()
  const headers: Record<string, string> = {}

  expect(await call(cached, headers)).toBe(7)

  expect(workCalls()).toBe(0)
  expect(books()).toEqual({ balance: CREDIT - PRICE, holds: 0, calls: 1 })
  expect(headers['x-credits-remaining']).toBe('0.018')
  expect(moved).toEqual([
    { what: 'held', tier: 'read', micros: PRICE },
    { what: 'settled', tier: 'read', micros: PRICE },
  ])
  expect(listUnbalanced(db)).toEqual([])
})

test('without a cached answer the work runs', async () => {
  const { call, books, workCalls } = metered()

  expect(await call({ cached: () => null })).toBe(1)

  expect(workCalls()).toBe(1)
  expect(books()).toEqual({ balance: CREDIT - PRICE, holds: 0, calls: 1 })
})

test('concurrent cached answers never spend more than the balance', async () => {
  const { db, call, books } = metered({ credit: 3 * PRICE + 1 })

  const headers = Array.from({ length: 5 }, (): Record<string, string> => ({}))
  let taken = 0
  const take = () => ++taken
  const answers = await Promise.all(
    headers.map((it) => call({ cached: () => take }, it).catch(messageOf)),
  )

  // An unpaid answer is not taken.
  expect(taken).toBe(3)
  expect(answers.filter((it) => typeof it === 'number')).toEqual([1, 2, 3])
  expect(answers.filter((it) => it === 'this call costs 0.002 USD').length).toBe(2)
  expect(headers.flatMap((it) => it['x-credits-remaining'] ?? [])).toEqual([
    '0.004001',
    '0.002001',
    '0.000001',
  ])
  expect(books()).toEqual({ balance: 1, holds: 0, calls: 3 })
  expect(listUnbalanced(db)).toEqual([])
})

test('an unlimited customer gets the balance without a charge, and the call is counted', async () => {
  const { call, books, moved } = metered({ unlimited: true })
  const headers: Record<string, string> = {}

  expect(await call(cached, headers)).toBe(7)

  expect(headers['x-credits-remaining']).toBe('0.02')
  expect(books()).toEqual({ balance: CREDIT, holds: 0, calls: 1 })
  expect(moved.map(({ micros }) => micros)).toEqual([0, 0])
})

test('without billing a cached answer is only counted', async () => {
  const { call, books, moved, counted } = metered({ billed: false })
  const headers: Record<string, string> = {}

  expect(await call(cached, headers)).toBe(7)

  expect(headers).toEqual({})
  expect(books()).toEqual({ balance: CREDIT, holds: 0, calls: 1 })
  expect(moved).toEqual([])
  expect(counted).toEqual([false])
})

test('a cached answer whose charge cannot be stored is refused and free', async () => {
  const { db, call, books, moved } = metered()
  db.run("CREATE TRIGGER full BEFORE INSERT ON usage_hours BEGIN SELECT RAISE(ABORT, 'full'); END")

  expect(await call(cached).catch(String)).toContain('full')

  expect(books()).toEqual({ balance: CREDIT, holds: 0, calls: 0 })
  expect(moved).toEqual([])
  db.run('DROP TRIGGER full')
  expect(await call(cached)).toBe(7)
  expect(books()).toEqual({ balance: CREDIT - PRICE, holds: 0, calls: 1 })
})

test('cached answers whose transaction could not begin do not block the next', async () => {
  const { db, call, books } = metered()
  db.run('PRAGMA query_only = ON')
  expect(await Promise.all([call(cached), call(cached)].map((it) => it.catch(String)))).toEqual([
    expect.stringContaining('readonly'),
    expect.stringContaining('readonly'),
  ])

  db.run('PRAGMA query_only = OFF')
  expect(await call(cached)).toBe(7)

  expect(books()).toEqual({ balance: CREDIT - PRICE, holds: 0, calls: 1 })
})

test('a cached answer releases the hold of a call whose outcome could not be stored', async () => {
  const { db, call, books } = metered()
  db.run("CREATE TRIGGER full BEFORE DELETE ON holds BEGIN SELECT RAISE(ABORT, 'full'); END")
  expect(await call().catch(String)).toContain('full')
  db.run('DROP TRIGGER full')

  expect(await call(cached)).toBe(7)

  expect(books()).toEqual({ balance: CREDIT - PRICE, holds: 0, calls: 2 })
})

test('a call that arrives during billing is billed with the next group', async () => {
  const { call, books } = metered()

  for (let n = 1; n <= 3; n++) {
    expect(await Promise.all([call(cached), call(cached)])).toEqual([7, 7])
    expect(books()).toEqual({ balance: CREDIT - 2 * n * PRICE, holds: 0, calls: 2 * n })
  }
})

const timeout = { fault: { kind: 'timeout' } } as const

test('an unbilled call releases its price and reports it', async () => {
  const { call, books, moved } = metered()
  expect(await call(timeout).catch(String)).toContain('Error')

  expect(books()).toEqual({ balance: CREDIT, holds: 0, calls: 1 })
  expect(moved).toEqual([
    { what: 'held', tier: 'read', micros: PRICE },
    { what: 'refunded', tier: 'read', micros: PRICE },
  ])
})

test('without billing a failed call is counted as an error', async () => {
  const { db, call } = metered({ billed: false })
  expect(await call(timeout).catch(String)).toContain('Error')

  expect(listUsage(db, 'cus_1', 0, 1)).toMatchObject([{ calls: 1, billed_calls: 0, errors: 1 }])
})

test('a call whose outcome cannot be stored is refused, and the next call releases its hold', async () => {
  const { db, call, books } = metered()
  db.run("CREATE TRIGGER full BEFORE DELETE ON holds BEGIN SELECT RAISE(ABORT, 'full'); END")
  expect(await call().catch(String)).toContain('full')
  expect(books()).toEqual({ balance: CREDIT - PRICE, holds: 1, calls: 0 })

  db.run('DROP TRIGGER full')
  expect(await call()).toBe(1)
  expect(books()).toEqual({ balance: CREDIT - PRICE, holds: 0, calls: 2 })
  expect(await call()).toBe(1)
  expect(books()).toEqual({ balance: CREDIT - 2 * PRICE, holds: 0, calls: 3 })
})

test('concurrent calls report a released hold once', async () => {
  const { db, call, moved } = metered()
  db.run("CREATE TRIGGER full BEFORE DELETE ON holds BEGIN SELECT RAISE(ABORT, 'full'); END")
  expect(await call().catch(String)).toContain('full')
  db.run('DROP TRIGGER full')
  await Promise.all([call(), call()])
  await call()

  expect(moved.filter(({ what }) => what === 'refunded')).toEqual([
    { what: 'refunded', tier: 'read', micros: PRICE },
  ])
})

test.each([
  [0, '0'],
  [500_000, '0.5'],
  [498_000, '0.498'],
  [1_000_000, '1'],
  [10_000_000, '10'],
  [1, '0.000001'],
  [-2_000, '-0.002'],
])('%i micro-dollars are shown as %s', (micros, text) => {
  expect(formatMicroUsd(micros)).toBe(text)
})

test('formatting loses no micro-dollar', () => {
  fc.assert(
    fc.property(fc.integer({ min: -1e12, max: 1e12 }), (micros) => {
      expect(Math.round(Number(formatMicroUsd(micros)) * 1e6)).toBe(micros)
    }),
  )
})
