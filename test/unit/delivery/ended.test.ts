import { expect, test } from 'bun:test'

import type { Verdict } from '../../../src/core/ladder.ts'
import { type Db, openDb, transact } from '../../../src/store/db.ts'
import { insertDelivery } from '../../../src/store/deliveries.ts'
import { onEnded } from '../../../src/store/ended.ts'
import { unsubscribe } from '../../../src/store/mail-targets.ts'
import {
  claimDue,
  type Claimed,
  giveUp,
  putBack,
  reclaim,
  recordEnded,
} from '../../../src/store/outbox.ts'
import { pauseFailing } from '../../../src/store/webhook-standing.ts'
import { deleteWebhook, updateWebhook } from '../../../src/store/webhooks.ts'
import { putTarget } from '../../support/target-row.ts'

const NOW = 1_700_000_000_000
const DAY_MS = 86_400_000
const BOOT = 'boot_1'
/** Cut short as often as it may be. */
const LAST_CHANCE = 20

type Told = { status: string; kind: string; count: number }

function opened(count: number): { db: Db; told: Told[] } & Disposable {
  const db = openDb(':memory:', { create: true })
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
  const told: Told[] = []
  onEnded(db, (it) => told.push(it))
  return { db, told, [Symbol.dispose]: () => db.close() }
}

function claim(db: Db, slots = 1): Claimed {
  const free = { slots, of: () => slots }
  const [first] = claimDue(db, { boot: BOOT, now: NOW + 1000, free, served_last: '' })
  if (first === undefined) throw new Error('nothing was due')
  return first
}

const recordVerdict = (db: Db, delivery: Claimed, verdict: Verdict, now = NOW) =>
  recordEnded(
    db,
    BOOT,
    { delivery, verdict, started_at: now, ended_at: now, http_status: null, told: null },
    now,
  )

const record = (db: Db, delivery: Claimed, status: number) =>
  recordVerdict(
    db,
    delivery,
    status === 200
      ? { status: 'delivered' }
      : { status: 'failed', error: `http_${status}`, gone: status === 410 },
  )

test('a delivery that an attempt has ended is told with the kind of its target', () => {
  using it = opened(1)
  record(it.db, claim(it.db), 200)
  expect(it.told).toEqual([{ status: 'delivered', kind: 'discord', count: 1 }])
})

test('what waits for a target that says it is gone ends with the attempt that heard it', () => {
  using it = opened(3)
  record(it.db, claim(it.db), 410)
  expect(it.told).toEqual([
    { status: 'failed', kind: 'discord', count: 1 },
    { status: 'failed', kind: 'discord', count: 2 },
  ])
})

test('an outcome that comes too late for its delivery is not told again', () => {
  using it = opened(3)
  const delivery = claim(it.db)
  deleteWebhook(it.db, 'cus_1', 'wh_1', NOW)
  const ended = it.told.reduce((sum, { count }) => sum + count, 0)
  expect(record(it.db, delivery, 200)).toBe(false)

  expect(ended).toBe(3)
  expect(it.told.reduce((sum, { count }) => sum + count, 0)).toBe(3)
})

test('what waits for a target that is switched off is told as failed', () => {
  using it = opened(2)
  updateWebhook(it.db, 'cus_1', 'wh_1', { active: false })
  expect(it.told).toEqual([{ status: 'failed', kind: 'discord', count: 2 }])
})

test('what was on its way to one, and failed, has ended with that', () => {
  using it = opened(1)
  const delivery = claim(it.db)
  updateWebhook(it.db, 'cus_1', 'wh_1', { active: false })
  recordVerdict(it.db, delivery, { status: 'pending', delay_ms: 5000, error: 'http_500' })

  expect(it.told).toEqual([{ status: 'failed', kind: 'discord', count: 1 }])
})

test.each([
  { status: 'failed', error: 'http_400', gone: false } as const,
  { status: 'dead', error: 'http_500' } as const,
])('three days on which a delivery ended $status pause its target', (verdict) => {
  using it = opened(3)
  for (const day of [0, 1, 2]) recordVerdict(it.db, claim(it.db), verdict, NOW + day * DAY_MS)

  expect(pauseFailing(it.db, 2 * DAY_MS, NOW + 2 * DAY_MS)).toEqual(['wh_1'])
})

test('what was on its way to one that is paused because it fails is tried again', () => {
  using it = opened(1)
  const delivery = claim(it.db)
  it.db.run("UPDATE webhooks SET paused_at = 1, pause_reason = 'failing'")
  recordVerdict(it.db, delivery, { status: 'pending', delay_ms: 5000, error: 'http_500' })

  expect(it.told).toEqual([])
})

test('what waits for a reader who wants no more of it is told as failed', () => {
  using it = opened(3)
  const delivery = claim(it.db)
  unsubscribe(it.db, { webhook_id: 'wh_1', monitor_id: 'mon_1' }, NOW)
  expect(it.told).toEqual([{ status: 'failed', kind: 'discord', count: 3 }])

  expect(record(it.db, delivery, 200)).toBe(false)
  expect(it.told).toHaveLength(1)
})

test('a delivery given up for a reason of our own is told once', () => {
  using it = opened(1)
  const delivery = claim(it.db)
  giveUp(it.db, BOOT, delivery, 'body_damaged')
  giveUp(it.db, BOOT, delivery, 'body_damaged')
  expect(it.told).toEqual([{ status: 'failed', kind: 'discord', count: 1 }])
})

test('what ended while a fault of ours held it is not put back', () => {
  using it = opened(1)
  claim(it.db)
  deleteWebhook(it.db, 'cus_1', 'wh_1', NOW)
  putBack(it.db, BOOT, 'dlv_1', NOW)

  expect(it.db.query('SELECT status FROM deliveries').get()).toEqual({ status: 'failed' })
})

test('what was cut short too often is told as dead, by whoever frees it', () => {
  using it = opened(3)
  claim(it.db, 2)
  it.db.run(`UPDATE deliveries SET interrupted = ${LAST_CHANCE}`)
  putBack(it.db, BOOT, 'dlv_1', NOW)
  expect(it.told).toEqual([{ status: 'dead', kind: 'discord', count: 1 }])
  reclaim(it.db, [0], NOW)
  expect(it.told.at(-1)).toEqual({ status: 'dead', kind: 'discord', count: 1 })
  expect(it.told).toHaveLength(2)
})

test('what a transaction takes back was never told', () => {
  using it = opened(1)
  const delivery = claim(it.db)
  expect(() =>
    transact(it.db, () => {
      record(it.db, delivery, 200)
      throw new Error('no room')
    }),
  ).toThrow('no room')
  expect(it.told).toEqual([])

  record(it.db, delivery, 200)
  expect(it.told).toHaveLength(1)
})

test('putting one back looks at no other that waits', () => {
  using it = opened(2)
  claim(it.db)
  // None can stand so; were it met, every row that waits had been looked at.
  it.db.run(`UPDATE deliveries SET interrupted = ${LAST_CHANCE + 1} WHERE id = 'dlv_2'`)
  putBack(it.db, BOOT, 'dlv_1', NOW)
  const statuses = it.db.query<{ status: string }, []>('SELECT status FROM deliveries ORDER BY id')
  expect(statuses.all().map(({ status }) => status)).toEqual(['pending', 'pending'])
})
