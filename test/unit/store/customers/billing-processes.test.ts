import { expect, test } from 'bun:test'

import { findCustomer } from '../../../../src/store/customers/customers.ts'
import { sumUsage } from '../../../../src/store/customers/ledger.ts'
import { openDb } from '../../../../src/store/db/connection.ts'
import { addCustomer } from '../../../support/customers.ts'
import { tempFolder } from '../../../support/folder.ts'
import { listUnbalanced } from '../../../support/invariants.ts'

const PRICE_MICROS = 1_000
const AFFORDABLE = 150

/** Tries to hold and settle a hundred calls, and prints the number of successful ones. */
const spender = (name: string) => `
  import { openDb } from '${import.meta.dir}/../../../../src/store/db/connection.ts'
  import { endHold, hold } from '${import.meta.dir}/../../../../src/store/customers/ledger.ts'
  const db = openDb(process.argv[1])
  let passed = 0
  for (let n = 0; n < 100; n += 1) {
    const id = '${name}-' + n
    if (!hold(db, { id, customer_id: 'cus_1', tier: 'read', amount_micros: ${PRICE_MICROS} }, 0)) continue
    endHold(db, id, { billed: true, failed: false, now: 0 })
    passed += 1
  }
  db.close()
  console.log(passed)
`

test('two processes that spend one balance concurrently spend exactly all of it', async () => {
  using folder = tempFolder()
  const path = folder.file('books.sqlite')
  const db = openDb(path, { create: true })
  addCustomer(db, 'cus_1', { name: 'acme', credits_micros: PRICE_MICROS * AFFORDABLE })
  const spent = await Promise.all(
    ['a', 'b'].map((name) =>
      new Response(Bun.spawn([process.execPath, '-e', spender(name), path]).stdout).text(),
    ),
  )

  expect(Number(spent[0]) + Number(spent[1])).toBe(AFFORDABLE)
  expect(findCustomer(db, 'cus_1')?.balance_micros).toBe(0)
  expect(sumUsage(db, 'cus_1')).toEqual({
    calls: AFFORDABLE,
    cost_micros: PRICE_MICROS * AFFORDABLE,
  })
  expect(listUnbalanced(db)).toEqual([])
  db.close()
})
