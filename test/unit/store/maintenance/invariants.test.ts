import { expect, test } from 'bun:test'

import { runNow } from '../../../../src/store/db/chunked.ts'
import { type Db, openDb } from '../../../../src/store/db/connection.ts'
import { insertDelivery } from '../../../../src/store/delivery/deliveries.ts'
import { claimDue, recordAttempt } from '../../../../src/store/delivery/outbox.ts'
import { findBreaches, scanForBreaches } from '../../../../src/store/maintenance/invariants.ts'
import { reserveDelivery } from '../../../../src/store/monitoring/matches.ts'
import { forgetCustomer } from '../../../../src/store/moving/forget.ts'
import { freezeCustomer, recordExport } from '../../../../src/store/moving/freeze.ts'
import { putTarget } from '../../../support/target-row.ts'

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
  const [delivery] = claimDue(db, { run_id: 'boot_1', now: NOW, free, served_last: '' })
  if (!delivery) throw new Error('nothing was due')
  const times = { started_at: NOW, ended_at: NOW }
  const verdict = { status: 'delivered' } as const
  recordAttempt(db, 'boot_1', { delivery, verdict, ...times, http_status: 200, excerpt: null }, NOW)
  return db
}

const scope = (in_flight: (id: string) => boolean = () => false) => ({
  now: NOW,
  since_at: NOW - 3_600_000,
  run_id: 'boot_1',
  instance_id: 'inst',
  attempts_max: 6,
  wait_max_ms: 1_200_000,
  in_flight,
})

const breaches = (db: Db, in_flight?: (id: string) => boolean) =>
  findBreaches(db, scope(in_flight)).map(({ invariant, subject }) => `${invariant} ${subject}`)

/** That many deliveries, all claimed and delivered at one instant. */
function sendMany(db: Db, count: number): void {
  db.run(`WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < ${count})
          INSERT INTO deliveries (id, customer_id, monitor_id, webhook_id, status, created_at, delivered_at)
          SELECT printf('dlv_%04d', n), 'cus_1', 'mon_1', 'wh_1', 'delivered', ${NOW}, ${NOW} FROM n`)
  db.run(`INSERT INTO attempts (delivery_row, n, started_at, ended_at)
          SELECT row, 1, ${NOW}, ${NOW} FROM deliveries WHERE id GLOB 'dlv_[0-9]*'`)
  db.run(`UPDATE monitor_days SET deliveries = deliveries + ${count}`)
}

test('a correct database has no violations, also with a delivery in flight', () => {
  using db = sound()
  expect(breaches(db)).toEqual([])
  db.run("UPDATE deliveries SET lease = 'boot_1' WHERE id = 'dlv_waits'")
  expect(breaches(db, (id) => id === 'dlv_waits')).toEqual([])
})

test.each(['deliveries', 'payments'])(
  'a customer that has moved has none while its deletion is interrupted before %s',
  (table) => {
    using db = sound()
    db.run(`INSERT INTO matches (monitor_id, item_id, feed_id, matched_at)
            SELECT 'mon_1', 't3_' || value, 1, ${NOW - 1000} FROM json_each('[1, 2]')`)
    db.run("INSERT INTO payments VALUES ('pay_1', 'cus_1', 'top_up', 0, NULL, 1)")
    freezeCustomer(db, { customer_id: 'cus_1', receipt: 'r', now: NOW })
    recordExport(db, 'cus_1', NOW)
    db.run(
      `CREATE TRIGGER killed BEFORE DELETE ON ${table} BEGIN SELECT RAISE(ABORT, 'killed'); END`,
    )
    expect(() => forgetCustomer(db, 'cus_1', NOW)).toThrow('killed')

    expect(breaches(db)).toEqual([])
  },
)

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
  ["UPDATE deliveries SET lease = 'boot_0' WHERE id = 'dlv_waits'", 'stale_lease dlv_waits'],
  ['UPDATE customers SET balance_micros = 1', 'unbalanced cus_1'],
])('%s: %s', (sql, breach) => {
  using db = sound()
  db.run(sql)
  expect(breaches(db)).toEqual([breach])
})

test('a day with a clock jump is not counted', () => {
  using db = sound()
  db.run('UPDATE monitor_days SET deliveries = 3')
  db.run(`INSERT INTO observation_events (kind, at) VALUES ('clock_jump', ${NOW})`)
  expect(breaches(db)).toEqual([])
})

test('a day whose clock jumps during the count is not a violation', () => {
  using db = sound()
  db.run('UPDATE monitor_days SET deliveries = 3')
  const parts = [...scanForBreaches(db, scope())].length
  const work = scanForBreaches(db, scope())
  for (let n = 1; n < parts; n++) work.next()
  db.run(`INSERT INTO observation_events (kind, at) VALUES ('clock_jump', ${NOW})`)
  expect(runNow(work)).toEqual([])
})

test('it reads a few hundred rows in each step, and every row in all', () => {
  using db = sound()
  sendMany(db, 900)
  const wrong = ['dlv_0001', 'dlv_0250', 'dlv_0251', 'dlv_0900']
  for (const id of wrong)
    db.run('DELETE FROM attempts WHERE delivery_row = (SELECT row FROM deliveries WHERE id = ?)', [
      id,
    ])
  const parts = [...scanForBreaches(db, scope())]

  expect(parts.length).toBeGreaterThan(3)
  expect(breaches(db)).toEqual(wrong.map((id) => `delivered_without_yes ${id}`))
})

test('twenty of thousands of violations are reported', () => {
  using db = sound()
  sendMany(db, 900)
  db.run(
    "DELETE FROM attempts WHERE delivery_row IN (SELECT row FROM deliveries WHERE id GLOB 'dlv_0*')",
  )
  expect(breaches(db)).toHaveLength(20)
})

test('the cost does not grow with old rows: no growing table is scanned completely', () => {
  using db = sound()
  const statements = new Set<string>()
  const query = db.query.bind(db)
  Object.assign(db, { query: (sql: string) => (statements.add(sql), query(sql)) })
  expect(breaches(db)).toEqual([])

  const plans = [...statements].map((sql) =>
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
