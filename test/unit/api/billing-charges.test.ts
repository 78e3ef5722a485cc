import { expect, test } from 'bun:test'

import { createCharges } from '../../../src/api/billing.ts'
import { insertCustomer } from '../../../src/store/customers/customers.ts'
import { listUsage } from '../../../src/store/customers/ledger.ts'
import { openDb } from '../../../src/store/db/connection.ts'
import { createGroupCommit } from '../../../src/store/db/group-commit.ts'

const CREDIT = 10_000

test('concurrent charges are billed to their caller, tier and price', async () => {
  using db = openDb(':memory:', { create: true })
  for (const id of ['cus_1', 'cus_2'])
    insertCustomer(db, {
      id,
      name: id,
      plan: 'entry',
      created_at: 0,
      starting_credit_micros: CREDIT,
      payment_id: `pay_${id}`,
    })
  const clock = { now: () => 0, mono: () => 0, sleep: () => Promise.resolve() }
  const charge = createCharges({ db, clock, groupCommit: createGroupCommit(db) })

  const remaining = await Promise.all([
    charge({ customer_id: 'cus_1', tier: 'read', amount_micros: 1000 }),
    charge({ customer_id: 'cus_2', tier: 'read', amount_micros: 1000 }),
    charge({ customer_id: 'cus_1', tier: 'vote', amount_micros: 1000 }),
    charge({ customer_id: 'cus_1', tier: 'vote', amount_micros: 3000 }),
  ])

  expect(remaining).toEqual([9000, 9000, 8000, 5000])
  const booked = (customer_id: string) =>
    listUsage(db, customer_id, 0, 1).map(({ tier, calls, cost_micros }) => [
      tier,
      calls,
      cost_micros,
    ])
  expect(booked('cus_1')).toEqual([
    ['read', 1, 1000],
    ['vote', 2, 4000],
  ])
  expect(booked('cus_2')).toEqual([['read', 1, 1000]])
})
