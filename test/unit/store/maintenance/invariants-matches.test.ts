import { expect, test } from 'bun:test'

import { deliveryId } from '../../../../src/core/delivery/envelope.ts'
import { runNow } from '../../../../src/store/db/chunked.ts'
import { type Db, openDb } from '../../../../src/store/db/connection.ts'
import { insertDelivery } from '../../../../src/store/delivery/deliveries.ts'
import { confirmTarget } from '../../../../src/store/delivery/targets.ts'
import { insertWebhook } from '../../../../src/store/delivery/webhooks.ts'
import { findUndelivered } from '../../../../src/store/maintenance/invariants.ts'
import { putIntoBundle } from '../../../../src/store/monitoring/bundles.ts'
import { insertMatch } from '../../../../src/store/monitoring/matches.ts'

const NOW = 1_767_225_600_000

function createFixture(): Db {
  const db = openDb(':memory:', { create: true })
  db.run("INSERT INTO customers VALUES ('cus_1', 'ann', 'entry', 0, 0, 0, NULL, NULL, NULL)")
  db.run(`INSERT INTO monitors (id, customer_id, filter_spec, cadence_s, active_since, created_at, updated_at)
          VALUES ('mon_1', 'cus_1', '{}', 60, 0, 0, 0)`)
  for (const id of ['wh_1', 'wh_2'])
    insertWebhook(db, {
      id,
      customer_id: 'cus_1',
      kind: 'webhook',
      url: 'https://hooks.example.com/',
      secret: new Uint8Array(1),
      created_at: 0,
    })
  return db
}

const match = (db: Db, item_id: string, matched_at = NOW) =>
  insertMatch(db, { monitor_id: 'mon_1', item_id, feed_id: 1, matched_at })

function deliver(db: Db, webhook_id: string, names: readonly string[]) {
  const items = names.map((name) => ({ id: name.slice(3), name }))
  insertDelivery(db, {
    id: deliveryId('inst', 'mon_1', webhook_id, names),
    customer_id: 'cus_1',
    monitor_id: 'mon_1',
    webhook_id,
    status: 'pending',
    body: Buffer.from(JSON.stringify({ items })),
    now: NOW + 1,
  })
}

const findViolations = (db: Db) =>
  findUndelivered(db, { instance_id: 'inst', since_at: NOW - 1000 })
const found = (db: Db) => runNow(findViolations(db))

test('a match with a row for each target violates nothing', () => {
  using db = createFixture()
  match(db, 't3_a')
  for (const id of ['wh_1', 'wh_2']) deliver(db, id, ['t3_a'])
  expect(found(db)).toEqual([])
})

test('a match without a row for one target is reported', () => {
  using db = createFixture()
  match(db, 't3_a')
  deliver(db, 'wh_1', ['t3_a'])
  expect(found(db)).toEqual(['mon_1 t3_a'])
})

test('bundled matches are found in their bundle only', () => {
  using db = createFixture()
  for (const name of ['t3_a', 't3_b', 't3_lost']) match(db, name)
  for (const id of ['wh_1', 'wh_2']) deliver(db, id, ['t3_a', 't3_b'])
  expect(found(db)).toEqual(['mon_1 t3_lost'])
})

test('matches in an open bundle are not reported', () => {
  using db = createFixture()
  match(db, 't3_a')
  putIntoBundle(
    db,
    { customer_id: 'cus_1', monitor_id: 'mon_1', webhook_id: 'wh_1' },
    { item_id: 't3_a', created_at: NOW, body: '{}' },
    { now: NOW, close_at: NOW + 60_000, digest: false },
  )
  expect(found(db)).toEqual([])
})

test.each([
  ['a day with more ceiling suppressions than stored rows', 'ceiling'],
  ['a monitor edited since', 'UPDATE monitors SET updated_at = matched_at FROM matches'],
  ['a monitor that is removed', 'UPDATE monitors SET removed_at = 1'],
  ['a monitor without targets', "UPDATE monitors SET webhook_ids = '[]'"],
  ['targets that are switched off', 'UPDATE webhooks SET active = 0'],
  ['targets switched on again', 'UPDATE webhooks SET active = 1 - active'],
  ['targets created later', `UPDATE webhooks SET created_at = ${NOW + 1}`],
])('%s is not a violation', (_, sql) => {
  using db = createFixture()
  if (sql.includes('1 - active')) db.run('UPDATE webhooks SET active = 0')
  match(db, 't3_a')
  db.run(
    sql === 'ceiling'
      ? `INSERT INTO monitor_days (monitor_id, day, deliveries, ceiling_suppressed)
         VALUES ('mon_1', ${Math.floor(NOW / 86_400_000)}, 0, 501)`
      : sql,
  )
  expect(found(db)).toEqual([])
})

test('a match before the confirmation of a mail recipient needs no delivery', () => {
  using db = createFixture()
  db.run("UPDATE webhooks SET kind = 'email', awaits_confirmation = 1 WHERE id = 'wh_2'")
  match(db, 't3_a')
  deliver(db, 'wh_1', ['t3_a'])
  expect(confirmTarget(db, 'wh_2')).toBe('https://hooks.example.com/')
  expect(found(db)).toEqual([])

  // Following the link again changes nothing, and is not recorded again.
  expect(confirmTarget(db, 'wh_2')).toBe('https://hooks.example.com/')
  const audit_entries = db.query("SELECT detail FROM audit WHERE kind = 'webhook.changed'").all()
  expect(audit_entries).toEqual([{ detail: '{"confirmed":true}' }])
})

test('all of many matches are checked, in steps', () => {
  using db = createFixture()
  db.run(`WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 250)
          INSERT INTO matches SELECT 'mon_1', printf('t3_%03d', n), 1, ${NOW} FROM n`)
  for (const n of Array.from({ length: 250 }, (_, i) => i + 1))
    if (![1, 100, 150, 151].includes(n))
      for (const id of ['wh_1', 'wh_2']) deliver(db, id, [`t3_${String(n).padStart(3, '0')}`])

  expect([...findViolations(db)].length).toBeGreaterThanOrEqual(2)
  expect(found(db).toSorted()).toEqual(['001', '100', '150', '151'].map((n) => `mon_1 t3_${n}`))
})

test('suspects are checked again one by one, because each may take a while', () => {
  using db = createFixture()
  for (let n = 0; n < 40; n++) match(db, `t3_${n}`)

  // Each once in a step, and once again.
  expect([...findViolations(db)].length).toBeGreaterThanOrEqual(80)
  expect(found(db)).toHaveLength(40)
})

test('a target activated during the check is not a violation', () => {
  using db = createFixture()
  match(db, 't3_a')
  const work = findViolations(db)
  expect(work.next().done).toBe(false)
  db.run('UPDATE webhooks SET active = 0')
  db.run('UPDATE webhooks SET active = 1')
  expect(runNow(work)).toEqual([])
})

test('a monitor edited during the check is not a violation', () => {
  using db = createFixture()
  match(db, 't3_a')
  const work = findViolations(db)
  expect(work.next().done).toBe(false)
  db.run(`UPDATE monitors SET updated_at = ${NOW}`)
  expect(runNow(work)).toEqual([])
})

test('older matches are not read, and the index finds the others', () => {
  using db = createFixture()
  match(db, 't3_a', NOW - 1001)
  expect(found(db)).toEqual([])
  const plan = db
    .query<{ detail: string }, []>('EXPLAIN QUERY PLAN SELECT * FROM matches WHERE matched_at >= 1')
    .all()
  expect(plan.map(({ detail }) => detail).join()).toContain('matches_at')
})
