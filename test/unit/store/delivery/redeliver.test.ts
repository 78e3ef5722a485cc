import { expect, test } from 'bun:test'

import type { Db } from '../../../../src/store/db/connection.ts'
import { insertDelivery } from '../../../../src/store/delivery/deliveries.ts'
import { redeliver } from '../../../../src/store/delivery/redeliver.ts'
import { unsubscribeTarget } from '../../../../src/store/delivery/targets.ts'
import { deleteWebhook, updateWebhook } from '../../../../src/store/delivery/webhooks.ts'
import { memoryDb } from '../../../support/memory-db.ts'
import { addMonitor, putTarget } from '../../../support/target-row.ts'

const NOW = 1_700_000_000_000

/** A dead delivery for each of these creation times. */
function died(...instants: number[]): Db {
  const db = memoryDb()
  putTarget(db)
  for (const now of instants)
    insertDelivery(db, {
      id: `dlv_${now}`,
      customer_id: 'cus_1',
      monitor_id: 'mon_1',
      webhook_id: 'wh_1',
      status: 'pending',
      body: new Uint8Array(1),
      now,
    })
  db.run("UPDATE deliveries SET status = 'dead', next_attempt_at = NULL, interrupted = 20")
  return db
}

const again = (db: Db, { since = 0, until = Infinity, rows_max = 10 } = {}) =>
  redeliver(db, {
    customer_id: 'cus_1',
    which: { since, until, statuses: ['dead'], webhook_id: null },
    dry_run: false,
    rows_max,
    now: NOW,
  })

const elsewhere = (db: Db) => {
  addMonitor(db, 'mon_2')
  unsubscribeTarget(db, { webhook_id: 'wh_1', monitor_id: 'mon_2' })
}

test.each<[string, (db: Db) => unknown, number]>([
  ['was deleted', (db) => deleteWebhook(db, 'cus_1', 'wh_1', NOW), 0],
  ['is switched off', (db) => updateWebhook(db, 'cus_1', 'wh_1', { active: false }), 0],
  ['is unconfirmed', (db) => db.run('UPDATE webhooks SET awaits_confirmation = 1'), 0],
  ['is paused', (db) => db.run("UPDATE webhooks SET paused_at = 1, pause_reason = 'failing'"), 0],
  [
    'is unsubscribed from this monitor',
    (db) => unsubscribeTarget(db, { webhook_id: 'wh_1', monitor_id: 'mon_1' }),
    0,
  ],
  ['is unsubscribed from another monitor', elsewhere, 1],
])('redelivery to a target that %s', (_, change, queued) => {
  using db = died(1)
  change(db)

  expect(again(db)).toEqual({ queued, skipped: 1 - queued })
})

test('a span includes its first and its last instant', () => {
  using db = died(1, 2, 3, 4)
  expect(again(db, { since: 2, until: 3 })).toEqual({ queued: 2, skipped: 0 })
})

test('exactly as many as one call accepts are redelivered', () => {
  using db = died(1, 2, 3)
  expect(again(db, { rows_max: 2 })).toEqual({ too_many: true })
  expect(again(db, { rows_max: 3 })).toEqual({ queued: 3, skipped: 0 })
})

test('interruptions of the last round do not count in the next', () => {
  using db = died(1)
  again(db)
  expect(db.query('SELECT interrupted FROM deliveries').get()).toEqual({ interrupted: 0 })
})
