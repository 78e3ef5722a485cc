import { expect, test } from 'bun:test'

import type { DeliveryVerdict } from '../../../../src/core/delivery/retry.ts'
import { type Db, transact } from '../../../../src/store/db/connection.ts'
import { insertDelivery } from '../../../../src/store/delivery/deliveries.ts'
import {
  abandon,
  claimDue,
  type ClaimedDelivery,
  recordAttempts,
  recoverClaims,
  requeue,
} from '../../../../src/store/delivery/outbox.ts'
import { onEnded } from '../../../../src/store/delivery/pending.ts'
import { unsubscribeTarget } from '../../../../src/store/delivery/targets.ts'
import {
  deleteWebhook,
  pauseFailing,
  updateWebhook,
} from '../../../../src/store/delivery/webhooks.ts'
import { memoryDb } from '../../../support/memory-db.ts'
import { putTarget } from '../../../support/target-row.ts'

const NOW = 1_700_000_000_000
const DAY_MS = 86_400_000
const RUN_ID = 'boot_1'
/** Interruptions up to the limit. */
const LAST_CHANCE = 20

type Notification = { status: string; kind: string; count: number }

function opened(count: number): { db: Db; notifications: Notification[] } & Disposable {
  const db = memoryDb()
  putTarget(db, 'discord')
  for (let n = 1; n <= count; n++)
    insertDelivery(db, {
      id: `dlv_${n}`,
      customer_id: 'cus_1',
      monitor_id: 'mon_1',
      webhook_id: 'wh_1',
      status: 'pending',
      body: new Uint8Array(1),
      now: NOW,
    })
  const notifications: Notification[] = []
  onEnded(db, (it) => notifications.push(it))
  return { db, notifications, [Symbol.dispose]: () => db.close() }
}

function claim(db: Db, slots = 1): ClaimedDelivery {
  const free = { slots, of: () => slots }
  const [first] = claimDue(db, { run_id: RUN_ID, now: NOW + 1000, free, served_last: '' })
  if (first === undefined) throw new Error('nothing was due')
  return first
}

const recordVerdict = (db: Db, delivery: ClaimedDelivery, verdict: DeliveryVerdict, now = NOW) =>
  recordAttempts(
    db,
    [{ delivery, verdict, started_at: now, ended_at: now, http_status: null, excerpt: null }],
    now,
  )

const record = (db: Db, delivery: ClaimedDelivery, status: number) =>
  recordVerdict(
    db,
    delivery,
    status === 200
      ? { status: 'delivered' }
      : { status: 'failed', error: `http_${status}`, gone: status === 410 },
  )

test('a delivery ended by an attempt is reported with the kind of its target', () => {
  using it = opened(1)
  record(it.db, claim(it.db), 200)
  expect(it.notifications).toEqual([{ status: 'delivered', kind: 'discord', count: 1 }])
})

test('waiting deliveries of a target that answers 410 end with that attempt', () => {
  using it = opened(3)
  record(it.db, claim(it.db), 410)
  expect(it.notifications).toEqual([
    { status: 'failed', kind: 'discord', count: 1 },
    { status: 'failed', kind: 'discord', count: 2 },
  ])
})

test('a start counts each attempt in flight as interrupted, also if an earlier run claimed it', () => {
  using it = opened(2)
  const first = claim(it.db)
  const free = { slots: 1, of: () => 1, inFlight: () => new Set([first.row]) }
  claimDue(it.db, { run_id: RUN_ID, now: NOW + 1000, free, served_last: '', running: [first] })

  expect(recoverClaims(it.db, [0], NOW)).toBe(2)
  expect(it.db.query('SELECT interrupted FROM deliveries').values()).toEqual([[1], [1]])
})

test('an outcome that is recorded twice counts once', () => {
  using it = opened(1)
  const delivery = claim(it.db)
  const verdict = { status: 'pending', delay_ms: 1000, error: 'timeout' } as const
  for (let n = 0; n < 2; n++) recordVerdict(it.db, delivery, verdict)

  expect(it.db.query('SELECT attempts, retry_index FROM deliveries').get()).toEqual({
    attempts: 1,
    retry_index: 1,
  })
})

test('an outcome that comes too late for its delivery is not reported again', () => {
  using it = opened(3)
  const delivery = claim(it.db)
  deleteWebhook(it.db, 'cus_1', 'wh_1', NOW)
  const ended = it.notifications.reduce((sum, { count }) => sum + count, 0)
  expect(record(it.db, delivery, 200)).toEqual([])

  expect(ended).toBe(3)
  expect(it.notifications.reduce((sum, { count }) => sum + count, 0)).toBe(3)
})

test('waiting deliveries of a target that is switched off are reported as failed', () => {
  using it = opened(2)
  updateWebhook(it.db, 'cus_1', 'wh_1', { active: false })
  expect(it.notifications).toEqual([{ status: 'failed', kind: 'discord', count: 2 }])
})

test('a delivery in flight to it that fails is final', () => {
  using it = opened(1)
  const delivery = claim(it.db)
  updateWebhook(it.db, 'cus_1', 'wh_1', { active: false })
  recordVerdict(it.db, delivery, { status: 'pending', delay_ms: 5000, error: 'http_500' })

  expect(it.notifications).toEqual([{ status: 'failed', kind: 'discord', count: 1 }])
})

test.each([
  { status: 'failed', error: 'http_400', gone: false } as const,
  { status: 'dead', error: 'http_500' } as const,
])('three days on which a delivery ended $status pause its target', (verdict) => {
  using it = opened(3)
  for (const day of [0, 1, 2]) recordVerdict(it.db, claim(it.db), verdict, NOW + day * DAY_MS)

  expect(pauseFailing(it.db, 2 * DAY_MS, NOW + 2 * DAY_MS)).toEqual(['wh_1'])
})

test('a delivery in flight to a target paused for failures is retried', () => {
  using it = opened(1)
  const delivery = claim(it.db)
  it.db.run("UPDATE webhooks SET paused_at = 1, pause_reason = 'failing'")
  recordVerdict(it.db, delivery, { status: 'pending', delay_ms: 5000, error: 'http_500' })

  expect(it.notifications).toEqual([])
})

test('waiting deliveries of a reader who unsubscribes are reported as failed', () => {
  using it = opened(3)
  const delivery = claim(it.db)
  unsubscribeTarget(it.db, { webhook_id: 'wh_1', monitor_id: 'mon_1' })
  expect(it.notifications).toEqual([{ status: 'failed', kind: 'discord', count: 3 }])

  expect(record(it.db, delivery, 200)).toEqual([])
  expect(it.notifications).toHaveLength(1)
})

test('a delivery failed for an internal reason is reported once', () => {
  using it = opened(1)
  const delivery = claim(it.db)
  abandon(it.db, delivery, 'body_damaged')
  abandon(it.db, delivery, 'body_damaged')
  expect(it.notifications).toEqual([{ status: 'failed', kind: 'discord', count: 1 }])
})

test('a delivery that ended during an internal failure is not requeued', () => {
  using it = opened(1)
  const delivery = claim(it.db)
  deleteWebhook(it.db, 'cus_1', 'wh_1', NOW)
  requeue(it.db, delivery, NOW)

  expect(it.db.query('SELECT status FROM deliveries').get()).toEqual({ status: 'failed' })
})

test('a delivery interrupted too often is reported as dead, on every path that releases it', () => {
  using it = opened(3)
  const delivery = claim(it.db, 2)
  it.db.run(`UPDATE deliveries SET interrupted = ${LAST_CHANCE}`)
  requeue(it.db, delivery, NOW)
  expect(it.notifications).toEqual([{ status: 'dead', kind: 'discord', count: 1 }])
  recoverClaims(it.db, [0], NOW)
  expect(it.notifications.at(-1)).toEqual({ status: 'dead', kind: 'discord', count: 1 })
  expect(it.notifications).toHaveLength(2)
})

test('deliveries of a rolled-back transaction are not reported', () => {
  using it = opened(1)
  const delivery = claim(it.db)
  expect(() =>
    transact(it.db, () => {
      record(it.db, delivery, 200)
      throw new Error('no room')
    }),
  ).toThrow('no room')
  expect(it.notifications).toEqual([])

  record(it.db, delivery, 200)
  expect(it.notifications).toHaveLength(1)
})

test('postponing one delivery reads no other waiting one', () => {
  using it = opened(2)
  const delivery = claim(it.db)
  // Such a row cannot exist in practice; reading it would show that every waiting row was read.
  it.db.run(`UPDATE deliveries SET interrupted = ${LAST_CHANCE + 1} WHERE id = 'dlv_2'`)
  requeue(it.db, delivery, NOW)
  const statuses = it.db.query<{ status: string }, []>('SELECT status FROM deliveries ORDER BY id')
  expect(statuses.all().map(({ status }) => status)).toEqual(['pending', 'pending'])
})
