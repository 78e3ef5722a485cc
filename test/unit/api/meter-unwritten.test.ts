import { expect, test } from 'bun:test'

import type { Holder } from '../../../src/api/auth.ts'
import { createMeter } from '../../../src/api/meter.ts'
import { connect, migrate } from '../../../src/store/db.ts'
import { createTogether } from '../../../src/store/together.ts'

const PRICE = 2000
const CREDIT = 10 * PRICE

function metered() {
  const db = connect(':memory:', { create: true })
  migrate(db)
  db.run(`INSERT INTO customers VALUES ('cus_1', 'ann', 'entry', ${CREDIT}, 0, 0, NULL)`)
  let made = 0
  const meter = createMeter({
    db,
    together: createTogether(db),
    clock: { now: () => 0, mono: () => 0, sleep: () => Promise.resolve() },
    random: {
      uuid: () => `hold_${++made}`,
      fraction: () => 0.5,
      bytes: (count) => new Uint8Array(count),
    },
    log: () => {},
    billing: {
      enabled: true,
      prices: { read: PRICE, deep_search: PRICE, vote: PRICE, write: PRICE, dm: PRICE },
    },
  })
  const holder: Holder = {
    customer: {
      id: 'cus_1',
      name: 'ann',
      plan: 'entry',
      balance_micros: CREDIT,
      unlimited: false,
      created_at: 0,
    },
    key: {
      id: 'key_1',
      customer_id: 'cus_1',
      prefix: '',
      name: null,
      scopes: [],
      created_at: 0,
      expires_at: null,
      last_used_at: null,
      revoked_at: null,
    },
  }
  const call = () => meter('read', holder, {}, () => Promise.resolve({ ok: true, value: 1 }))
  const books = () =>
    db
      .query<{ balance: number; holds: number }, []>(
        'SELECT balance_micros AS balance, (SELECT count(*) FROM holds) AS holds FROM customers',
      )
      .get()
  return { db, call, books }
}

test('a call whose end could not be written is refused, and the next one brings its money back', async () => {
  const { db, call, books } = metered()
  db.run("CREATE TRIGGER full BEFORE DELETE ON holds BEGIN SELECT RAISE(ABORT, 'full'); END")
  expect(await call().catch(String)).toContain('full')
  expect(books()).toEqual({ balance: CREDIT - PRICE, holds: 1 })

  db.run('DROP TRIGGER full')
  expect(await call()).toBe(1)
  expect(books()).toEqual({ balance: CREDIT - PRICE, holds: 0 })
  expect(await call()).toBe(1)
  expect(books()).toEqual({ balance: CREDIT - 2 * PRICE, holds: 0 })
})
