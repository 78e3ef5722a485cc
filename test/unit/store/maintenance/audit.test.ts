import { expect, test } from 'bun:test'

import { createRing } from '../../../../src/core/base/secrets.ts'
import { updateCustomer } from '../../../../src/store/customers/customers.ts'
import { revokeKey, touchKey } from '../../../../src/store/customers/keys.ts'
import { insertPayment } from '../../../../src/store/customers/ledger.ts'
import type { Db } from '../../../../src/store/db/connection.ts'
import {
  deleteWebhook,
  insertWebhook,
  recordFailure,
  rotateSecret,
} from '../../../../src/store/delivery/webhooks.ts'
import { recordConfig } from '../../../../src/store/maintenance/audit.ts'
import { addCustomer, addKey } from '../../../support/customers.ts'
import { memoryDb } from '../../../support/memory-db.ts'

const ring = createRing(new Uint8Array(32).fill(1), (count) => new Uint8Array(count))
const config = { log: { level: 'info' } }

function lived(): Db {
  const db = memoryDb()
  addCustomer(db, 'cus_1', { name: 'ann', credits_micros: 500_000 })
  addKey(db, 'cus_1', { token: 'fk_0123456789', scopes: ['read'], id: 'key_1' })
  insertPayment(db, {
    id: 'pay_2',
    customer_id: 'cus_1',
    kind: 'top_up',
    amount_micros: 7,
    note: null,
    created_at: 1,
  })
  updateCustomer(db, 'cus_1', { plan: 'pro' })
  insertWebhook(db, {
    id: 'wh_1',
    customer_id: 'cus_1',
    kind: 'slack',
    url: 'https://hooks.slack.com/services/T/B/secret',
    secret: new Uint8Array([1]),
    created_at: 2,
  })
  rotateSecret(db, 'cus_1', { id: 'wh_1', secret: new Uint8Array([2]), until: null, now: 1 })
  deleteWebhook(db, 'cus_1', 'wh_1', 3)
  revokeKey(db, 'key_1', 4)
  recordConfig(db, { config, ring, now: 5 })
  return db
}

const rows = (db: Db) =>
  db
    .query<{ kind: string; subject: string; detail: string }, []>(
      'SELECT kind, subject, detail FROM audit ORDER BY seq',
    )
    .all()

test('every change of keys, webhooks, plans, balances or the configuration leaves a row', () => {
  using db = lived()
  expect(rows(db).map(({ kind, subject }) => `${kind} ${subject}`)).toEqual([
    'customer.created cus_1',
    'balance.changed cus_1',
    'key.created key_1',
    'balance.changed cus_1',
    'customer.changed cus_1',
    'webhook.created wh_1',
    'webhook.changed wh_1',
    'webhook.changed wh_1',
    'key.changed key_1',
    'config.changed config',
  ])
  expect(JSON.stringify(rows(db))).not.toMatch(/hooks\.slack|fk_0123456789/)
  expect(JSON.parse(rows(db)[6]?.detail ?? '')).toMatchObject({ new_secret: 1 })
})

test('routine operations leave no row', () => {
  using db = lived()
  const before = rows(db).length
  touchKey(db, 'key_1', 9)
  recordFailure(db, 'wh_1', 9)
  expect(recordConfig(db, { config, ring, now: 9 })).toBe(false)
  expect(rows(db)).toHaveLength(before)
})

test.each([
  "UPDATE audit SET detail = '{}' WHERE seq = 3",
  'DELETE FROM audit WHERE seq = 3',
  "INSERT OR REPLACE INTO audit (seq, at, kind, subject, detail) VALUES (3, 0, '', '', '')",
])('the audit log is append-only: %s', (sql) => {
  using db = lived()
  expect(() => db.run(sql)).toThrow('append-only')
  expect(rows(db)).toHaveLength(10)
})
