import { expect, test } from 'bun:test'

import { createRing } from '../../../src/core/seal.ts'
import { recordConfig } from '../../../src/store/audit-config.ts'
import { auditHead, chainAudit, findEdited } from '../../../src/store/audit.ts'
import { insertCustomer, setPlan } from '../../../src/store/customers.ts'
import { type Db, openDb } from '../../../src/store/db.ts'
import { insertKey, revokeKey, touchKey } from '../../../src/store/keys.ts'
import { insertPayment } from '../../../src/store/payments.ts'
import { recordFailure } from '../../../src/store/webhook-standing.ts'
import { deleteWebhook, insertWebhook, rotateSecret } from '../../../src/store/webhooks.ts'

const ring = createRing(new Uint8Array(32).fill(1), (count) => new Uint8Array(count))
const config = { log: { level: 'info' } }

function lived(): Db {
  const db = openDb(':memory:', { create: true })
  insertCustomer(db, {
    id: 'cus_1',
    name: 'ann',
    plan: 'entry',
    created_at: 0,
    starting_credit_micros: 500_000,
    payment_id: 'pay_1',
  })
  insertKey(db, {
    id: 'key_1',
    customer_id: 'cus_1',
    token: 'fk_0123456789',
    name: null,
    scopes: ['read'],
    created_at: 0,
    expires_at: null,
  })
  insertPayment(db, {
    id: 'pay_2',
    customer_id: 'cus_1',
    kind: 'top_up',
    amount_micros: 7,
    note: null,
    created_at: 1,
  })
  setPlan(db, 'cus_1', 'pro')
  insertWebhook(db, {
    id: 'wh_1',
    customer_id: 'cus_1',
    kind: 'slack',
    url: 'https://hooks.slack.com/services/T/B/secret',
    secret: new Uint8Array([1]),
    created_at: 2,
  })
  rotateSecret(db, 'cus_1', { id: 'wh_1', secret: new Uint8Array([2]), until: null })
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

test('whoever changes keys, webhooks, plans, balances or the configuration leaves a row', () => {
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

test('what happens all day leaves none', () => {
  using db = lived()
  const before = rows(db).length
  touchKey(db, 'key_1', 9)
  recordFailure(db, 'wh_1', 9)
  expect(recordConfig(db, { config, ring, now: 9 })).toBe(false)
  expect(rows(db)).toHaveLength(before)
})

test('the chain is whole, goes on where it ended, and its head changes with each row', () => {
  using db = lived()
  expect(chainAudit(db)).toBe(10)
  const head = auditHead(db)
  expect(findEdited(db)).toBeNull()
  expect(chainAudit(db)).toBe(0)
  setPlan(db, 'cus_1', 'entry')
  expect(chainAudit(db)).toBe(1)
  expect(findEdited(db)).toBeNull()
  expect(auditHead(db)?.hash).not.toBe(head?.hash ?? '')
})

test('a row that was chained is neither edited nor removed through the database', () => {
  using db = lived()
  chainAudit(db)
  expect(() => db.run("UPDATE audit SET detail = '{}' WHERE seq = 3")).toThrow('append-only')
  expect(() => db.run('DELETE FROM audit WHERE seq = 3')).toThrow('append-only')
})

test.each([
  ["UPDATE audit SET detail = '{}' WHERE seq = 4", { seq: 4, what: 'edited' }],
  ['UPDATE audit SET at = at + 1 WHERE seq = 1', { seq: 1, what: 'edited' }],
  ["UPDATE audit SET subject = 'cus_2' WHERE seq = 10", { seq: 10, what: 'edited' }],
  ['DELETE FROM audit WHERE seq = 4', { seq: 5, what: 'removed_before' }],
  ['DELETE FROM audit WHERE seq = 1', { seq: 2, what: 'removed_before' }],
] as const)('%s: the row is named', (sql, found) => {
  using db = lived()
  chainAudit(db)
  for (const trigger of ['audit_stays', 'audit_is_not_edited']) db.run(`DROP TRIGGER ${trigger}`)
  db.run(sql)
  expect(findEdited(db)).toEqual(found)
})
