import { expect, test } from 'bun:test'

import { listUsage } from '../../../src/store/usage.ts'
import { CREDIT, metered, PRICE } from './metered.ts'

const late = { fault: { kind: 'timeout' } } as const

test('a call that is not billed gives its price back, and says so', async () => {
  const { call, books, moved } = metered()
  expect(await call(late).catch(String)).toContain('Error')

  expect(books()).toEqual({ balance: CREDIT, holds: 0, calls: 1 })
  expect(moved).toEqual([
    { what: 'held', tier: 'read', micros: PRICE },
    { what: 'refunded', tier: 'read', micros: PRICE },
  ])
})

test('without billing a call that fails is counted as an error', async () => {
  const { db, call } = metered({ billed: false })
  expect(await call(late).catch(String)).toContain('Error')

  expect(listUsage(db, 'cus_1', 0, 1)).toMatchObject([{ calls: 1, billed_calls: 0, errors: 1 }])
})
