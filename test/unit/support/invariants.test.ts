import { expect, test } from 'bun:test'

import { type Db, openDb } from '../../../src/store/db/connection.ts'
import { insertDelivery } from '../../../src/store/delivery/deliveries.ts'
import { claimDue, recordAttempt } from '../../../src/store/delivery/outbox.ts'
import { reserveDelivery } from '../../../src/store/monitoring/matches.ts'
import { findBreaches } from '../../support/invariants.ts'
import { putTarget } from '../../support/target-row.ts'

const NOW = 1_767_225_600_000

/** A database with a sent and a waiting delivery. */
function sound(): Db {
  const db = openDb(':memory:', { create: true })
  putTarget(db)
  for (const id of ['dlv_sent', 'dlv_waits']) {
    reserveDelivery(db, { monitor_id: 'mon_1', ceiling: 10, now: NOW })
    insertDelivery(db, {
      id,
      customer_id: 'cus_1',
      monitor_id: 'mon_1',
      webhook_id: 'wh_1',
      status: 'pending',
      body: new Uint8Array(1),
      now: NOW,
    })
  }
  const free = { slots: 1, of: () => 1 }
  const [delivery] = claimDue(db, { run_id: 'boot_1', now: NOW, free, served_last: '' })
  if (!delivery) throw new Error('nothing was due')
  const times = { started_at: NOW, ended_at: NOW }
  const verdict = { status: 'delivered' } as const
  recordAttempt(db, 'boot_1', { delivery, verdict, ...times, http_status: 200, excerpt: null }, NOW)
  return db
}

const breaches = (db: Db, may_be_leased?: (id: string) => boolean) =>
  findBreaches(db, {
    now: NOW,
    since_at: NOW - 3_600_000,
    instance_id: 'inst',
    ...(may_be_leased && { may_be_leased }),
  }).map(({ invariant, subject }) => `${invariant} ${subject}`)

test('a correct database has no breach, also with a delivery in flight', () => {
  using db = sound()
  expect(breaches(db)).toEqual([])
  db.run("UPDATE deliveries SET lease = 'boot_1' WHERE id = 'dlv_waits'")
  expect(breaches(db, (id) => id === 'dlv_waits')).toEqual([])
})

test.each([
  ['DELETE FROM attempts', 'delivered_without_yes dlv_sent'],
  ["UPDATE attempts SET error = 'http_500'", 'delivered_without_yes dlv_sent'],
  ["UPDATE deliveries SET round = 2 WHERE id = 'dlv_sent'", 'delivered_without_yes dlv_sent'],
  [
    `INSERT INTO attempts (delivery_row, n, started_at, ended_at, error)
       SELECT row, value, 0, 0, 'timeout' FROM deliveries, json_each('[1,2,3,4,5,6,7]') WHERE deliveries.id = 'dlv_waits'`,
    'too_many_attempts dlv_waits',
  ],
  ['UPDATE monitor_days SET deliveries = 3', 'day_miscounted mon_1'],
  [
    `INSERT INTO matches (monitor_id, item_id, feed_id, matched_at) VALUES ('mon_1', 't3_x', 1, ${NOW})`,
    'match_without_delivery mon_1 t3_x',
  ],
  [
    `UPDATE deliveries SET next_attempt_at = ${NOW + 1_200_001} WHERE id = 'dlv_waits'`,
    'waits_too_long dlv_waits',
  ],
  ["UPDATE deliveries SET lease = 'boot_1' WHERE id = 'dlv_waits'", 'stale_lease dlv_waits'],
  ['UPDATE customers SET balance_micros = 1', 'unbalanced cus_1'],
])('%s: %s', (sql, breach) => {
  using db = sound()
  db.run(sql)
  expect(breaches(db)).toEqual([breach])
})
