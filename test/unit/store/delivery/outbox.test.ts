import { expect, test } from 'bun:test'

import type { Db } from '../../../../src/store/db/connection.ts'
import {
  createDeliveryTimes,
  insertDelivery,
  listDeliveries,
} from '../../../../src/store/delivery/deliveries.ts'
import { tallyAttempts } from '../../../../src/store/delivery/health.ts'
import { claimDue, nextDueDeliveryAt } from '../../../../src/store/delivery/outbox.ts'
import { listTargets } from '../../../../src/store/delivery/targets.ts'
import {
  deleteWebhook,
  pauseFailing,
  recordFailure,
  resumeWebhook,
  retireWebhook,
} from '../../../../src/store/delivery/webhooks.ts'
import { addCustomer } from '../../../support/customers.ts'
import { memoryDb } from '../../../support/memory-db.ts'
import { addMonitor, addTarget } from '../../../support/target-row.ts'

const HOUR_MS = 3_600_000
const WEEK_MS = 168 * HOUR_MS
const DAY_MS = 24 * HOUR_MS

function opened(webhooks: string[]): Db {
  const db = memoryDb()
  addCustomer(db, 'cus_1')
  addMonitor(db, 'mon_1')
  for (const [at, id] of webhooks.entries()) addTarget(db, id, { at })
  return db
}

const put = (db: Db, id: string, webhook_id: string, now: number, body = '{}') =>
  insertDelivery(db, {
    id,
    customer_id: 'cus_1',
    monitor_id: 'mon_1',
    webhook_id,
    status: 'pending',
    body: new TextEncoder().encode(body),
    now,
  })

const rows = (db: Db) =>
  listDeliveries(db, {
    customer_id: 'cus_1',
    monitor_id: null,
    status: null,
    before: null,
    limit: 100,
  })

const ids = (db: Db, webhook_ids: string[] | null) =>
  listTargets(db, 'cus_1', webhook_ids).map(({ id, paused }) => (paused ? `${id} paused` : id))

test('null means every target in service; a list means its own, paused ones marked', () => {
  using db = opened(['wh_a', 'wh_b', 'wh_c', 'wh_d'])
  retireWebhook(db, 'wh_b', 10)
  deleteWebhook(db, 'cus_1', 'wh_c', 10)

  expect(ids(db, null)).toEqual(['wh_a', 'wh_d'])
  expect(ids(db, ['wh_d', 'wh_b', 'wh_c', 'wh_none', 'wh_d'])).toEqual(['wh_d', 'wh_b paused'])
  expect(ids(db, [])).toEqual([])
  expect(listTargets(db, 'cus_2', ['wh_a'])).toEqual([])
})

test('an existing delivery is not written again, even with another body', () => {
  using db = opened(['wh_a'])
  expect(put(db, 'dlv_1', 'wh_a', 5, '{"first":1}')).toBe(true)
  expect(put(db, 'dlv_1', 'wh_a', 9, '{"second":1}')).toBe(false)
  expect(rows(db).map(({ body }) => new TextDecoder().decode(body))).toEqual(['{"first":1}'])
})

test('created_at grows within a customer even if the clock does not', () => {
  using db = opened(['wh_a'])
  for (const [n, now] of [1000, 1000, 400, 1001, 5000].entries()) put(db, `dlv_${n}`, 'wh_a', now)
  expect(rows(db).map(({ created_at }) => created_at)).toEqual([5000, 1003, 1002, 1001, 1000])
})

test('a row that a wrong clock dated a day ahead does not move later rows', () => {
  using db = opened(['wh_a'])
  for (const [n, now] of [1000, DAY_MS + 1000, 1000, 2000].entries())
    put(db, `dlv_${n}`, 'wh_a', now)
  expect(rows(db).map(({ created_at }) => created_at)).toEqual([DAY_MS + 1000, 2000, 1001, 1000])
  expect(createDeliveryTimes(db, 2000)('cus_1')).toBe(2001)
})

const freeSlots = (slots: number, of = 4) => ({ slots, of: () => of })
const claim = (db: Db, slots: number, served_last = '', of = 4) =>
  claimDue(db, { run_id: 'boot_1', now: 100, free: freeSlots(slots, of), served_last }).map(
    ({ id }) => id,
  )

test('due deliveries are claimed once, target by target, the oldest of each first', () => {
  using db = opened(['wh_a', 'wh_b', 'wh_c'])
  for (const n of [3, 2, 1]) put(db, `a${n}`, 'wh_a', n)
  for (const n of [6, 5]) put(db, `b${n}`, 'wh_b', n)
  put(db, 'c_later', 'wh_c', 101)

  const running = new Map<string, Set<number>>()
  const claimMore = (slots: number, served_last = '') => {
    const free = { ...freeSlots(slots), inFlight: (id: string) => running.get(id) ?? new Set([]) }
    const claimed = claimDue(db, { run_id: 'boot_1', now: 100, free, served_last })
    for (const { webhook_id, row } of claimed)
      running.set(webhook_id, (running.get(webhook_id) ?? new Set()).add(row))
    return claimed.map(({ id }) => id)
  }
  expect(claimMore(3)).toEqual(['a1', 'b5', 'a2'])
  expect(claimMore(10, 'wh_a')).toEqual(['b6', 'a3'])
  expect(claimMore(10)).toEqual([])
})

test('claiming continues after the target that was served last', () => {
  using db = opened(['wh_a', 'wh_b', 'wh_c'])
  for (const it of ['a', 'b', 'c']) put(db, `dlv_${it}`, `wh_${it}`, 1)
  expect(claim(db, 2, 'wh_b')).toEqual(['dlv_c', 'dlv_a'])
})

test.each([
  ['ended', "status = 'failed', next_attempt_at = NULL"],
  [
    'deleted with its target',
    "status = 'failed', last_error = 'webhook_deleted', next_attempt_at = NULL",
  ],
])('a due delivery that another process has %s between read and claim is not sent', (_, change) => {
  using db = opened(['wh_a', 'wh_b'])
  for (const it of ['a', 'b']) put(db, `dlv_${it}`, `wh_${it}`, 1)
  const of = (id: string) => {
    if (id === 'wh_b') db.run(`UPDATE deliveries SET ${change} WHERE id = 'dlv_a'`)
    return 5
  }
  const claimed = claimDue(db, {
    run_id: 'boot_1',
    now: 100,
    free: { slots: 5, of },
    served_last: '',
  })

  expect(claimed.map(({ id }) => id)).toEqual(['dlv_b'])
})

test('a target without capacity is neither served nor waited for', () => {
  using db = opened(['wh_a', 'wh_b'])
  put(db, 'dlv_a', 'wh_a', 1)
  put(db, 'dlv_b', 'wh_b', 70)
  const free = { slots: 5, of: (id: string) => (id === 'wh_a' ? 0 : 1) }
  expect(nextDueDeliveryAt(db, free)).toBe(70)
  expect(nextDueDeliveryAt(db, freeSlots(5))).toBe(1)
  expect(claim(db, 5, '', 0)).toEqual([])
  expect(nextDueDeliveryAt(db, freeSlots(5, 0))).toBeNull()
})

test('a target with ordered deliveries is limited by its capacity too', () => {
  using db = opened(['wh_a'])
  db.run('UPDATE webhooks SET ordered = 1')
  addMonitor(db, 'mon_2')
  for (const n of [1, 2]) put(db, `dlv_${n}`, 'wh_a', n)
  db.run("UPDATE deliveries SET monitor_id = 'mon_2' WHERE id = 'dlv_2'")
  expect(claim(db, 5, '', 1)).toEqual(['dlv_1'])
})

test('a week of failures on three days pauses a target, two days or six days do not', () => {
  using db = opened(['wh_two_days', 'wh_three_days'])
  for (const day of [0, 1]) recordFailure(db, 'wh_two_days', day * DAY_MS)
  for (const day of [0, 1, 1, 2]) recordFailure(db, 'wh_three_days', day * DAY_MS)

  expect(pauseFailing(db, WEEK_MS, WEEK_MS - 1)).toEqual([])
  expect(pauseFailing(db, WEEK_MS, WEEK_MS)).toEqual(['wh_three_days'])
  expect(pauseFailing(db, WEEK_MS, 2 * WEEK_MS)).toEqual([])
})

test('a clock that steps between two days counts two days, however often', () => {
  using db = opened(['wh_a'])
  for (const day of [3, 11, 3, 11, 3]) recordFailure(db, 'wh_a', day * DAY_MS)
  expect(pauseFailing(db, WEEK_MS, 12 * DAY_MS)).toEqual([])
})

const receive = (db: Db, webhook_id: string) =>
  tallyAttempts(db, [{ webhook_id, row: 1, n: 1, ended_at: 3 * DAY_MS, succeeded: true }])

const receiveAfterRefusal = (db: Db, webhook_id: string) => {
  const attempt = { webhook_id, n: 1, ended_at: 3 * DAY_MS }
  tallyAttempts(db, [
    { ...attempt, row: 1, succeeded: false },
    { ...attempt, row: 2, succeeded: true },
  ])
}

test.each([
  ['was resumed', resumeWebhook],
  ['has received a delivery', receive],
  ['has received a delivery after it refused one in the same turn', receiveAfterRefusal],
])('a target that %s is paused by later failures only', (_, forgive) => {
  using db = opened(['wh_a'])
  for (const day of [0, 1, 2]) recordFailure(db, 'wh_a', day * DAY_MS)
  forgive(db, 'wh_a')
  for (const day of [3, 4]) recordFailure(db, 'wh_a', day * DAY_MS)
  expect(pauseFailing(db, 2 * DAY_MS, 6 * DAY_MS)).toEqual([])

  recordFailure(db, 'wh_a', 5 * DAY_MS)
  expect(pauseFailing(db, 4 * DAY_MS, 6 * DAY_MS)).toEqual([])
  expect(pauseFailing(db, 3 * DAY_MS, 6 * DAY_MS)).toEqual(['wh_a'])
})

test('a deleted target is not paused', () => {
  using db = opened(['wh_a'])
  for (const day of [0, 1, 2]) recordFailure(db, 'wh_a', day * DAY_MS)
  deleteWebhook(db, 'cus_1', 'wh_a', 3 * DAY_MS)
  expect(pauseFailing(db, DAY_MS, WEEK_MS)).toEqual([])
})

test('the pause time of a target never changes while it is paused', () => {
  using db = opened(['wh_a'])
  for (const now of [10, 20]) retireWebhook(db, 'wh_a', now)
  expect(db.query('SELECT paused_at FROM webhooks').get()).toEqual({ paused_at: 10 })
})
