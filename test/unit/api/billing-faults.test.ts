import { expect, test } from 'bun:test'

import { listUsage } from '../../../src/store/customers/ledger.ts'
import { CREDIT, metered, PRICE } from './billing-fixture.ts'

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
