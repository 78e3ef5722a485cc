import { expect, test } from 'bun:test'

import { findBreaches, lookForBreaches } from '../../../src/store/auditor.ts'
import { type Db, openDb } from '../../../src/store/db.ts'
import { insertDelivery } from '../../../src/store/deliveries.ts'
import { reserveDelivery } from '../../../src/store/matches.ts'
import { claimDue, recordEnded } from '../../../src/store/outbox.ts'
import { inOneGo } from '../../../src/store/parts.ts'
import { putTarget } from '../../support/target-row.ts'

const NOW = 1_767_225_600_000

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
  const [delivery] = claimDue(db, { boot: 'boot_1', now: NOW, free, served_last: '' })
  if (!delivery) throw new Error('nothing was due')
  const times = { started_at: NOW, ended_at: NOW }
  const verdict = { status: 'delivered' } as const
  recordEnded(db, 'boot_1', { delivery, verdict, ...times, http_status: 200, told: null }, NOW)
  return db
}

const scope = (in_flight: (id: string) => boolean = () => false) => ({
  now: NOW,
  since_at: NOW - 3_600_000,
  boot: 'boot_1',
  instance_id: 'inst',
  attempts_max: 6,
  wait_max_ms: 1_200_000,
  in_flight,
})

const breaches = (db: Db, in_flight?: (id: string) => boolean) =>
  findBreaches(db, scope(in_flight)).map(({ invariant, subject }) => `${invariant} ${subject}`)

/** As many deliveries as that, each sent and taken, all of one instant. */
function sendMany(db: Db, count: number): void {
  db.run(`WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < ${count})
          INSERT INTO deliveries (id, customer_id, monitor_id, webhook_id, status, created_at, delivered_at)
          SELECT printf('dlv_%04d', n), 'cus_1', 'mon_1', 'wh_1', 'delivered', ${NOW}, ${NOW} FROM n`)
  db.run(`INSERT INTO attempts (delivery_row, n, boot, started_at, ended_at)
          SELECT row, 1, 'boot_1', ${NOW}, ${NOW} FROM deliveries WHERE id GLOB 'dlv_[0-9]*'`)
  db.run(`UPDATE monitor_days SET deliveries = deliveries + ${count}`)
}

test('a sound database has nothing to tell, also while something is on its way', () => {
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
    `INSERT INTO attempts (delivery_row, n, boot, started_at, ended_at, error)
       SELECT row, value, 'b', 0, 0, 'timeout' FROM deliveries, json_each('[1,2,3,4,5,6,7]') WHERE deliveries.id = 'dlv_waits'`,
    'too_many_attempts dlv_waits',
  ],
  ['UPDATE monitor_days SET deliveries = 3', 'day_miscounted mon_1'],
  [
    `INSERT INTO matches (monitor_id, item_id, stream_id, matched_at) VALUES ('mon_1', 't3_x', 1, ${NOW})`,
    'match_without_delivery mon_1 t3_x',
  ],
  [
    `UPDATE deliveries SET next_attempt_at = ${NOW + 1_200_001} WHERE id = 'dlv_waits'`,
    'waits_too_long dlv_waits',
  ],
  ["UPDATE deliveries SET lease = 'boot_1' WHERE id = 'dlv_waits'", 'leased_by_nobody dlv_waits'],
  ["UPDATE deliveries SET lease = 'boot_0' WHERE id = 'dlv_waits'", 'leased_by_nobody dlv_waits'],
  ['UPDATE customers SET balance_micros = 1', 'unbalanced cus_1'],
])('%s: %s', (sql, breach) => {
  using db = sound()
  db.run(sql)
  expect(breaches(db)).toEqual([breach])
})

test('a day in which the clock jumped is not counted up', () => {
  using db = sound()
  db.run('UPDATE monitor_days SET deliveries = 3')
  db.run(`INSERT INTO events (kind, at) VALUES ('clock_jump', ${NOW})`)
  expect(breaches(db)).toEqual([])
})

test('nor is one in which it jumps while they are counted', () => {
  using db = sound()
  db.run('UPDATE monitor_days SET deliveries = 3')
  const parts = [...lookForBreaches(db, scope())].length
  const work = lookForBreaches(db, scope())
  for (let n = 1; n < parts; n++) work.next()
  db.run(`INSERT INTO events (kind, at) VALUES ('clock_jump', ${NOW})`)
  expect(inOneGo(work)).toEqual([])
})

test('it looks at a few hundred rows at a time, and at every one of them', () => {
  using db = sound()
  sendMany(db, 900)
  const wrong = ['dlv_0001', 'dlv_0250', 'dlv_0251', 'dlv_0900']
  for (const id of wrong)
    db.run('DELETE FROM attempts WHERE delivery_row = (SELECT row FROM deliveries WHERE id = ?)', [
      id,
    ])
  const parts = [...lookForBreaches(db, scope())]

  expect(parts.length).toBeGreaterThan(3)
  expect(breaches(db)).toEqual(wrong.map((id) => `delivered_without_yes ${id}`))
})

test('of what is wrong in thousands of places twenty are told', () => {
  using db = sound()
  sendMany(db, 900)
  db.run(
    "DELETE FROM attempts WHERE delivery_row IN (SELECT row FROM deliveries WHERE id GLOB 'dlv_0*')",
  )
  expect(breaches(db)).toHaveLength(20)
})

test('what it costs does not grow with what is old: nothing that grows is read from end to end', () => {
  using db = sound()
  const asked = new Set<string>()
  const query = db.query.bind(db)
  Object.assign(db, { query: (sql: string) => (asked.add(sql), query(sql)) })
  expect(breaches(db)).toEqual([])

  const plans = [...asked].map((sql) =>
    query<{ detail: string }, []>(`EXPLAIN QUERY PLAN ${sql}`)
      .all()
      .map(({ detail }) => detail),
  )
  expect(plans.flat().join()).toContain('deliveries_customer')
  const scans = plans
    .flat()
    .filter((it) => /^SCAN (a|d|t|m|deliveries|attempts|matches)\b/.test(it))
  expect(scans).toEqual([])
})
