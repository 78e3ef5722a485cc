import { expect, test } from 'bun:test'

import { type Db, transact } from '../../../../src/store/db/connection.ts'
import {
  LINE_STATUSES,
  type LinePosition,
  type LineStatus,
  listInstanceDeliveries,
  listInstanceMonitors,
} from '../../../../src/store/delivery/instance-list.ts'
import { memoryDb } from '../../../support/memory-db.ts'

const HOUR = 3_600_000
const START = 1_700_000_000_000
const CUSTOMERS = ['cus_a', 'cus_b']

/** `count` deliveries of two customers, one a second; every state occurs, `rare` once. */
function filled(count: number, statusOf: (at: number) => LineStatus): Db {
  const db = memoryDb()
  transact(db, () => {
    for (const id of CUSTOMERS) {
      db.query(
        "INSERT INTO customers (id, name, plan, balance_micros, created_at) VALUES (?, ?, 'entry', 0, 0)",
      ).run(id, id.slice(4))
      db.query(
        `INSERT INTO webhooks (id, customer_id, kind, url, secret, created_at) VALUES (?, ?, 'webhook', 'https://r.example/x', x'00', 0)`,
      ).run(`wh_${id}`, id)
      for (const [n, [active, reason]] of [
        [1, null],
        [0, null],
        [0, 'filter_too_slow'],
      ].entries())
        db.query(
          `INSERT INTO monitors (id, customer_id, filter_spec, cadence_s, active, pause_reason, active_since, created_at, updated_at)
           VALUES (?, ?, '{}', 60, ?, ?, 0, ?, 0)`,
        ).run(`mon_${n}_${id}`, id, active ?? 0, reason ?? null, n * 1000)
    }
    const insert = db.query(
      `INSERT INTO deliveries (id, customer_id, monitor_id, webhook_id, status, retry_index, next_attempt_at, created_at, delivered_at)
       VALUES ($id, $whose, $monitor, $webhook, $status, $retry, $next, $at, $delivered)`,
    )
    for (let n = 0; n < count; n += 1) {
      const whose = CUSTOMERS[n % 7 === 0 ? 1 : 0] ?? ''
      const state = statusOf(n)
      const pending = state === 'waiting' || state === 'retrying'
      insert.run({
        id: `dlv_${n}`,
        whose,
        monitor: `mon_0_${whose}`,
        webhook: `wh_${whose}`,
        status: pending ? 'pending' : state,
        retry: state === 'retrying' ? 1 : 0,
        next: pending ? START : null,
        at: START + n * 1000,
        delivered: state === 'delivered' ? START : null,
      })
    }
  })
  return db
}

type Wanted = {
  customer_id: string | null
  status: LineStatus | null
  since: number | null
  until: number | null
}

/** Ids of all pages, and the number of pages. */
function walk(db: Db, wanted: Wanted, limit: number) {
  const ids: string[] = []
  let after: LinePosition | null = null
  let pages = 0
  do {
    const page: ReturnType<typeof listInstanceDeliveries> = listInstanceDeliveries(db, {
      ...wanted,
      after,
      limit,
    })
    ids.push(...page.lines.map(({ id }) => id))
    expect(page.lines.length).toBeLessThanOrEqual(limit)
    after = page.next
    pages += 1
  } while (after !== null && pages < 1000)
  return { ids, pages }
}

const stateAt = (n: number) => LINE_STATUSES[(n * 7 + (n % 5)) % LINE_STATUSES.length] ?? 'dead'

test('the pages of every selection have each of its deliveries once, newest first', () => {
  using db = filled(600, stateAt)
  for (const customer_id of [null, 'cus_a', 'cus_b'])
    for (const status of [null, ...LINE_STATUSES])
      for (const [since, until] of [
        [null, null],
        [START + 100_000, START + 450_000],
      ] as const) {
        const expected = Array.from({ length: 600 }, (_, n) => n)
          .filter((n) => customer_id === null || (n % 7 === 0 ? 'cus_b' : 'cus_a') === customer_id)
          .filter((n) => status === null || stateAt(n) === status)
          .filter((n) => since === null || (n >= 100 && n < 450))
          .toReversed()
          .map((n) => `dlv_${n}`)
        expect(walk(db, { customer_id, status, since, until }, 9).ids).toEqual(expected)
      }
})

test('a page examines a bounded number of deliveries, and the next one goes on there', () => {
  // One delivered among waiting ones, which are too many to be sorted.
  using db = filled(45_000, (n) => (n === 3 ? 'delivered' : 'waiting'))
  const rare: Wanted = { customer_id: null, status: 'delivered', since: null, until: null }
  const first = listInstanceDeliveries(db, { ...rare, after: null, limit: 10 })
  expect([first.lines, first.next?.row]).toEqual([[], 25_001])
  expect(walk(db, rare, 10)).toEqual({ ids: ['dlv_3'], pages: 3 })
  const waiting = { ...rare, status: 'waiting' as const }
  expect(listInstanceDeliveries(db, { ...waiting, after: null, limit: 2 }).lines).toMatchObject([
    { id: 'dlv_44999', customer_name: 'a' },
    { id: 'dlv_44998' },
  ])
  // The start of a time span is found, and not walked to.
  const early = { ...rare, status: null, until: START + 5000 }
  expect(listInstanceDeliveries(db, { ...early, after: null, limit: 2 }).lines).toMatchObject([
    { id: 'dlv_4' },
    { id: 'dlv_3' },
  ])
})

test('rows that a wrong clock has dated out of their order are found', () => {
  using db = filled(20, () => 'delivered')
  db.run('UPDATE deliveries SET created_at = created_at + ? WHERE row = 5', [HOUR - 60_000])
  const wanted: Wanted = { customer_id: null, status: null, since: START + 60_000, until: null }

  expect(walk(db, wanted, 5).ids).toEqual(['dlv_4'])
})

test('monitors of all customers are selected by customer, state and time', () => {
  using db = filled(0, () => 'dead')
  const all = { customer_id: null, state: null, since: null, until: null, after_id: null, limit: 9 }
  const ids = (more: Partial<Parameters<typeof listInstanceMonitors>[1]>) =>
    listInstanceMonitors(db, { ...all, ...more }).map(({ id }) => id)

  expect(ids({})).toHaveLength(6)
  expect(ids({ customer_id: 'cus_b', state: 'stopped' })).toEqual(['mon_2_cus_b'])
  expect(ids({ state: 'paused' })).toEqual(['mon_1_cus_b', 'mon_1_cus_a'])
  expect(ids({ state: 'active', after_id: 'mon_0_cus_b' })).toEqual(['mon_0_cus_a'])
  expect(ids({ since: 1000, until: 2000 })).toEqual(['mon_1_cus_b', 'mon_1_cus_a'])
})
