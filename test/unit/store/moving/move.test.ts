// Goal: a moved customer is the same, and its former instance keeps nothing and does nothing. Method: a database with a row
// in every table is exported; the file is imported into another instance with other numbers of rows; rows are compared.
import { expect, test } from 'bun:test'
import { readFileSync, statSync, truncateSync, writeFileSync } from 'node:fs'

import { findKey } from '../../../../src/store/customers/keys.ts'
import { isUnbalanced } from '../../../../src/store/customers/ledger.ts'
import type { Db } from '../../../../src/store/db/connection.ts'
import { blankMoved } from '../../../../src/store/delivery/bodies.ts'
import { claimDue } from '../../../../src/store/delivery/outbox.ts'
import { nextCloseAt } from '../../../../src/store/monitoring/bundles.ts'
import { listWatchers } from '../../../../src/store/monitoring/monitors.ts'
import { forgetCustomer } from '../../../../src/store/moving/forget.ts'
import { freezeCustomer, unfreezeCustomer } from '../../../../src/store/moving/freeze.ts'
import { FROZEN_MESSAGE, isLeaving } from '../../../../src/store/moving/frozen.ts'
import { MOVED_TABLES } from '../../../../src/store/moving/tables.ts'
import {
  exportTo,
  filledInstance,
  flip,
  folder,
  importFrom,
  KEY,
  NOW,
  otherInstance,
  RINGS,
} from './fixture.ts'

const rowsOf = (db: Db, table: string) =>
  db.query<Record<string, unknown>, []>(`SELECT * FROM ${table}`).all()
const one = (db: Db, sql: string): unknown => Object.values(db.query(sql).get() ?? {})[0]

/** Rows of each table that moved, counted. */
const countsOf = (db: Db) =>
  Object.fromEntries(MOVED_TABLES.map(({ table }) => [table, rowsOf(db, table).length]))

/** Everything of a database as text. */
const dump = (db: Db): string => JSON.stringify(MOVED_TABLES.map(({ table }) => rowsOf(db, table)))

/** Deliveries that contain an item, by the index for erasures. */
const copies = (db: Db) =>
  db
    .query(
      `SELECT d.id FROM item_copies c JOIN deliveries d ON d.row = c.row WHERE c.kind = 'delivery' AND c.item_id = 't3_a'`,
    )
    .all()

test('every row of the customer arrives, with its numbers changed together', () => {
  using dir = folder()
  using here = filledInstance()
  using there = otherInstance()
  const before = countsOf(there)

  exportTo(here, dir.file('a'))
  importFrom(there, dir.file('a'))

  const arrived = Object.entries(countsOf(there)).filter(
    ([table, count]) => count === before[table],
  )
  // The tombstone in the rows of the fixture is of an item that nothing of this customer names.
  expect(arrived.map(([table]) => table)).toEqual(['item_tombstones'])
  expect(there.query('PRAGMA foreign_key_check').all()).toEqual([])
  const sent = `SELECT d.id || ' ' || b.body || ' ' || a.n FROM deliveries d
     JOIN delivery_bodies b ON b.delivery_row = d.row JOIN attempts a ON a.delivery_row = d.row WHERE d.id = 'dlv_1'`
  expect(one(there, sent)).toBe(one(here, sent))
  expect(one(there, "SELECT min(row) FROM deliveries WHERE customer_id = 'cus_1'")).toBe(41)
  const shown = `SELECT i.item_id || ' ' || m.body || ' ' || a.id FROM inbox_matches x JOIN inbox_items i ON i.row = x.item
     JOIN match_bodies m ON m.row = x.match_row JOIN inbox_actions a ON a.seq = i.action`
  expect(one(there, shown)).toBe('t3_a {} act_1')
  expect(copies(there)).toEqual([{ id: 'dlv_1' }])
  expect(isUnbalanced(there, 'cus_1')).toBe(false)
  expect(one(there, "SELECT origin_id FROM customers WHERE id = 'cus_1'")).toBe('inst-1')
})

test('secrets open with the ring of the other instance, and are nowhere in the file in clear text', () => {
  using dir = folder()
  using here = filledInstance()
  using there = otherInstance()

  exportTo(here, dir.file('a'))
  importFrom(there, dir.file('a'))

  const row = there
    .query<{ secret: Uint8Array; credentials: Uint8Array }, []>(
      "SELECT secret, credentials FROM webhooks WHERE id = 'wh_1'",
    )
    .get()
  expect(RINGS.there.unseal('webhooks.secret:wh_1', row?.secret ?? KEY)).toBe(
    'secret of webhooks.secret:wh_1',
  )
  expect(RINGS.there.unseal('webhooks.credentials:wh_1', row?.credentials ?? KEY)).toBe(
    'secret of webhooks.credentials:wh_1',
  )
  const text = readFileSync(dir.file('a')).toString('latin1')
  for (const word of ['secret of', 'hooks.slack.com', 'ann', 'reader@example.com'])
    expect([word, text.includes(word)]).toEqual([word, false])
})

test('a pending delivery keeps its id, its retries and its due time', () => {
  using dir = folder()
  using here = filledInstance()
  using there = otherInstance()

  exportTo(here, dir.file('a'))
  importFrom(there, dir.file('a'))

  // One attempt was cut short by a dead daemon, as in the rows of the fixture.
  expect(
    there
      .query(
        "SELECT status, retry_index, attempts, interrupted, next_attempt_at, lease FROM deliveries WHERE id = 'dlv_2'",
      )
      .get(),
  ).toEqual({
    status: 'pending',
    retry_index: 2,
    attempts: 2,
    interrupted: 2,
    next_attempt_at: 9000,
    lease: null,
  })
})

test('while it is frozen nothing is claimed, matched or closed for it, and its key shows it', () => {
  using here = filledInstance()
  const free = { slots: 9, of: () => 9 }
  const claim = () => claimDue(here, { run_id: 'run', now: NOW, free, served_last: '' })
  here.run('UPDATE deliveries SET lease = NULL')
  here.run('UPDATE webhooks SET active = 1, paused_at = NULL, pause_reason = NULL, ordered = 0')
  const hash = new Bun.CryptoHasher('sha256').update('token').digest()
  here.query("UPDATE api_keys SET hash = ?, expires_at = NULL WHERE id = 'key_1'").run(hash)

  freezeCustomer(here, { customer_id: 'cus_1', receipt: 'r', now: NOW })

  expect(claim()).toEqual([])
  expect(listWatchers(here, 1)).toEqual([])
  expect(nextCloseAt(here)).toBe(Infinity)
  expect(findKey(here, 'token', NOW)?.customer?.frozen_at).toBe(NOW)
  expect(one(here, 'SELECT count(*) FROM feeds WHERE next_check_at IS NOT NULL AND id = 1')).toBe(0)

  unfreezeCustomer(here, 'cus_1', NOW + 500)

  expect(claim().map(({ id }) => id)).toEqual(['dlv_2'])
  expect(listWatchers(here, 1).map(({ id }) => id)).toEqual(['mon_1'])
  expect(findKey(here, 'token', NOW)?.customer?.frozen_at).toBeNull()
  expect(
    here.query('SELECT next_check_at, checkpoint_at, anchor_ids FROM feeds WHERE id = 1').get(),
  ).toEqual({
    next_check_at: NOW + 500,
    checkpoint_at: 900,
    anchor_ids: '["t3_a","t3_b"]',
  })
})

test.each([
  "INSERT INTO monitors (id, customer_id, filter_spec, cadence_s, active_since, created_at, updated_at) VALUES ('m', 'cus_1', '{}', 60, 1, 1, 1)",
  "UPDATE monitors SET removed_at = 1 WHERE id = 'mon_1'",
  "UPDATE customers SET plan = 'pro' WHERE id = 'cus_1'",
  "UPDATE api_keys SET revoked_at = 1 WHERE id = 'key_1'",
  "INSERT INTO payments VALUES ('p', 'cus_1', 'top_up', 1, NULL, 1)",
  "INSERT INTO holds VALUES ('h', 'cus_1', 'read', 1, 1)",
  "UPDATE webhooks SET url = 'https://other.example' WHERE id = 'wh_1'",
  "UPDATE deliveries SET status = 'pending', next_attempt_at = 1 WHERE id = 'dlv_3'",
  "UPDATE drafts SET state = 'queued' WHERE id = 'drf_2'",
  "INSERT OR IGNORE INTO unsubscribed VALUES ('wh_1', 'mon_1')",
  "INSERT INTO idempotent_writes VALUES ('key_1', 'r', 'n', x'00', NULL, 1)",
])('a frozen customer refuses %s', (sql) => {
  using here = filledInstance()
  freezeCustomer(here, { customer_id: 'cus_1', receipt: 'r', now: NOW })

  expect(() => here.run(sql)).toThrow(FROZEN_MESSAGE)
})

test('the former instance forgets it, and keeps everything of others', () => {
  using dir = folder()
  using here = filledInstance()
  exportTo(here, dir.file('a'))
  const audit = rowsOf(here, 'audit').length

  forgetCustomer(here, 'cus_1', NOW)

  const left = dump(here)
  for (const id of ['cus_1', 'mon_1', 'mon_2', 'wh_1', 'dlv_1', 'key_1', 'fb_1', 'reader@'])
    expect([id, without(here, left, id)]).toEqual([id, true])
  expect(rowsOf(here, 'customers').map(({ id }) => id)).toEqual(['cus_2'])
  const added = rowsOf(here, 'audit').slice(audit)
  expect(added.map(({ kind }) => kind)).toEqual(['customer.leaving', 'customer.moved'])
  expect(here.query('PRAGMA foreign_key_check').all()).toEqual([])
  expect(one(here, 'SELECT packed_to FROM instance')).toBe(0)
})

test('a deletion that was killed can only be ended: the rest neither goes on nor is exported', () => {
  using dir = folder()
  using here = filledInstance()
  exportTo(here, dir.file('a'))
  // Fails as a kill would, after the first tables.
  here.run(
    "CREATE TRIGGER killed BEFORE DELETE ON webhooks BEGIN SELECT RAISE(ABORT, 'killed'); END",
  )
  expect(() => forgetCustomer(here, 'cus_1', NOW)).toThrow('killed')
  expect(rowsOf(here, 'deliveries').some(({ customer_id }) => customer_id === 'cus_1')).toBe(false)

  const begun = 'the deletion of the customer has begun'
  expect(() => unfreezeCustomer(here, 'cus_1', NOW)).toThrow(begun)
  expect(() => exportTo(here, dir.file('b'))).toThrow(begun)
  expect(isLeaving(here, 'cus_1')).toBe(true)

  here.run('DROP TRIGGER killed')
  forgetCustomer(here, 'cus_1', NOW)
  expect(rowsOf(here, 'customers').map(({ id }) => id)).toEqual(['cus_2'])
})

/** True if an id is in no row but those of the audit. */
const without = (db: Db, _: string, id: string): boolean =>
  MOVED_TABLES.filter(({ table }) => table !== 'audit').every(
    ({ table }) => !JSON.stringify(rowsOf(db, table)).includes(id),
  )

test('a customer moves back, and its delivery ids are those of the first instance', () => {
  using dir = folder()
  using here = filledInstance()
  using there = otherInstance()
  exportTo(here, dir.file('a'))
  importFrom(there, dir.file('a'))
  forgetCustomer(here, 'cus_1', NOW)
  // The fixture exports with the ring of the first instance.
  there.run('UPDATE webhooks SET old_secret = NULL, old_secret_until = NULL, credentials = NULL')
  there.run('DELETE FROM idempotent_writes')
  for (const id of ['wh_1', 'wh_2'])
    there
      .query('UPDATE webhooks SET secret = ? WHERE id = ?')
      .run(RINGS.here.seal(`webhooks.secret:${id}`, 's'), id)

  exportTo(there, dir.file('b'))
  importFrom(here, dir.file('b'))

  expect(here.query("SELECT name, origin_id FROM customers WHERE id = 'cus_1'").get()).toEqual({
    name: 'ann',
    origin_id: null,
  })
})

test.each([
  ['a changed byte of the content', (path: string) => flip(path, -100)],
  ['a changed digest', (path: string) => flip(path, -1)],
  ['a changed header', (path: string) => flip(path, 90)],
  ['a cut end', (path: string) => truncateSync(path, statSync(path).size - 1)],
  ['a cut half', (path: string) => truncateSync(path, Math.floor(statSync(path).size / 2))],
  ['another file', (path: string) => writeFileSync(path, 'text')],
])('%s is refused, and nothing changes', (_, damage) => {
  using dir = folder()
  using here = filledInstance()
  using there = otherInstance()
  exportTo(here, dir.file('a'))
  damage(dir.file('a'))
  const before = dump(there)

  expect(() => importFrom(there, dir.file('a'))).toThrow(
    /digest does not match|cut short|was not written by|with schema/,
  )
  expect(dump(there)).toBe(before)
})

test('another key is refused, and nothing changes', () => {
  using dir = folder()
  using here = filledInstance()
  using there = otherInstance()
  exportTo(here, dir.file('a'))
  const before = dump(there)

  expect(() => importFrom(there, dir.file('a'), { key: new Uint8Array(32) })).toThrow(
    'the key does not belong to this file',
  )
  expect(dump(there)).toBe(before)
})

test('a file of another schema is refused with both', () => {
  using dir = folder()
  using here = filledInstance()
  using there = otherInstance()
  exportTo(here, dir.file('a'))
  const text = readFileSync(dir.file('a')).toString('latin1')
  writeFileSync(
    dir.file('a'),
    Buffer.from(text.replace(/"schema":"\w+"/, '"schema":"0000000000000000"'), 'latin1'),
  )

  expect(() => importFrom(there, dir.file('a'))).toThrow('a forumd with schema 0000000000000000')
})

test('an instance that has the customer refuses it, and shows the receipt again', () => {
  using dir = folder()
  using here = filledInstance()
  using there = otherInstance()
  exportTo(here, dir.file('a'))
  importFrom(there, dir.file('a'))
  const before = dump(there)

  expect(() => importFrom(there, dir.file('a'))).toThrow('The receipt of this file is receipt')
  expect(dump(there)).toBe(before)
})

test('the receipt of a file that was written after another freeze is not shown', () => {
  using dir = folder()
  using here = filledInstance()
  using there = otherInstance()
  exportTo(here, dir.file('a'))
  importFrom(there, dir.file('a'))
  unfreezeCustomer(here, 'cus_1', NOW + 1)
  freezeCustomer(here, { customer_id: 'cus_1', receipt: 'of_the_second', now: NOW + 2 })
  exportTo(here, dir.file('b'), NOW + 2)

  expect(() => importFrom(there, dir.file('b'))).toThrow(
    'It came from another file: this one has no receipt',
  )
  expect(() => importFrom(there, dir.file('b'))).not.toThrow('of_the_second')
})

test.each([
  [
    'another customer of the name',
    "INSERT INTO customers (id, name, plan, balance_micros, created_at) VALUES ('cus_8', 'ann', 'entry', 0, 1)",
    '"ann" is another customer here: cus_8, and in the file cus_1',
  ],
  [
    'a row of the same id',
    "INSERT INTO webhooks (id, customer_id, kind, url, secret, created_at) VALUES ('wh_2', 'cus_9', 'webhook', 'u', x'00', 1)",
    'a row of the file already, in webhooks: wh_2. Nothing was changed: the customer goes on at the former instance with',
  ],
  [
    'the same key',
    `INSERT INTO api_keys (id, customer_id, hash, prefix, scopes, created_at) VALUES ('k', 'cus_9', x'00ff10', 'p', '', 1)`,
    'a row of the file already, in api_keys: key_1',
  ],
])('%s is refused with its ids, and nothing changes', (_, sql, message) => {
  using dir = folder()
  using here = filledInstance()
  using there = otherInstance()
  there.run(sql)
  exportTo(here, dir.file('a'))
  const before = dump(there)

  expect(() => importFrom(there, dir.file('a'))).toThrow(message)
  expect(dump(there)).toBe(before)
})

test('a customer whose name is taken is imported under another name and plan', () => {
  using dir = folder()
  using here = filledInstance()
  using there = otherInstance()
  there.run(
    "INSERT INTO customers (id, name, plan, balance_micros, created_at) VALUES ('cus_8', 'ann', 'entry', 0, 1)",
  )
  exportTo(here, dir.file('a'))

  importFrom(there, dir.file('a'), { name: 'ann-2', plan: 'pro', plans: ['entry', 'pro'] })
  expect(there.query("SELECT id, name, plan FROM customers WHERE name LIKE 'ann%'").all()).toEqual([
    { id: 'cus_8', name: 'ann', plan: 'entry' },
    { id: 'cus_1', name: 'ann-2', plan: 'pro' },
  ])
})

test('a plan that is not configured is refused with the plans, and another can be chosen', () => {
  using dir = folder()
  using here = filledInstance()
  using there = otherInstance()
  exportTo(here, dir.file('a'))

  expect(() => importFrom(there, dir.file('a'), { plans: ['basic'] })).toThrow(
    'choose one with --plan (basic)',
  )
})

test('a source that is not configured is refused', () => {
  using dir = folder()
  using here = filledInstance()
  using there = otherInstance()
  exportTo(here, dir.file('a'))

  expect(() => importFrom(there, dir.file('a'), { sources: [] })).toThrow(
    'its monitors watch hn: add these sources here first',
  )
})

test('a feed that is new goes on at its position, of the moment of the freeze', () => {
  using dir = folder()
  using here = filledInstance()
  using there = otherInstance()
  freezeCustomer(here, { customer_id: 'cus_1', receipt: 'r', now: NOW })
  // Another customer's monitor has the feed polled on.
  here.run(`UPDATE feeds SET next_check_at = 1, next_seq = 9, anchor_ids = '["t3_c"]' WHERE id = 1;
    INSERT INTO feed_items VALUES (1, 't3_c', 7, 2000, 2000, 'poll', NULL);
    INSERT INTO verified_ranges VALUES (1, 2000, 9000)`)

  exportTo(here, dir.file('a'))
  const { live_feeds } = importFrom(there, dir.file('a'))

  expect(live_feeds).toBe(0)
  expect(
    there
      .query('SELECT next_seq, anchor_ids, checkpoint_at, next_check_at FROM feeds WHERE key = ?')
      .get('posts:cats'),
  ).toEqual({
    next_seq: 7,
    anchor_ids: '["t3_a","t3_b"]',
    checkpoint_at: 900,
    next_check_at: NOW + 1000,
  })
  expect(rowsOf(there, 'feed_items').map(({ item_id }) => item_id)).toEqual(['t3_a', 't3_b'])
  expect(rowsOf(there, 'verified_ranges')).toMatchObject([{ from_at: 0, until_at: 1900 }])
  expect(rowsOf(there, 'feed_streams')).toMatchObject([{ state: '{"last":5}' }])
})

test('on a feed that others watch there, its monitors read back to the position', () => {
  using dir = folder()
  using here = filledInstance()
  using there = otherInstance()
  there.run(`INSERT INTO feeds (id, key, kind, place, requested_interval_s, interval_s, next_seq, next_check_at, created_at)
      VALUES (70, 'posts:cats', 'posts', 'cats', 60, 60, 99, 5, 1), (71, 'stream:hn', 'stream', 'hn', 60, 60, 99, 5, 1);
    INSERT INTO feed_streams (feed_id, state, proof, verified_from, verified_until) VALUES (71, '{"last":90}', 'dense', 1, 8000);
    INSERT INTO monitor_feeds VALUES ('mon_9', 70, 1, 3), ('mon_9', 71, 1, 3)`)
  here.run('UPDATE feeds SET last_seen_at = 900500, lateness_ms = 2000 WHERE id = 1')

  exportTo(here, dir.file('a'))
  const { live_feeds } = importFrom(there, dir.file('a'))

  expect(live_feeds).toBe(2)
  expect(
    there
      .query(
        "SELECT active_since, active_from_seq FROM monitor_feeds WHERE monitor_id = 'mon_1' AND feed_id = 70",
      )
      .get(),
  ).toEqual({ active_since: 838_000, active_from_seq: -1 })
  expect(
    there
      .query(
        "SELECT active_since, active_from_seq FROM monitor_feeds WHERE monitor_id = 'mon_9' AND feed_id = 70",
      )
      .get(),
  ).toEqual({ active_since: 1, active_from_seq: 3 })
  // Steps read on from where the former instance was; what it had verified is not claimed here.
  expect(one(there, 'SELECT state FROM feed_streams WHERE feed_id = 71')).toBe('{"last":5}')
  expect(rowsOf(there, 'verified_ranges')).toEqual([])
  expect(one(there, 'SELECT next_seq FROM feeds WHERE id = 70')).toBe(99)
})

test('moved deliveries are blanked by their age, although newer ones of others were written before', () => {
  using dir = folder()
  using here = filledInstance()
  using there = otherInstance()
  there.run('UPDATE deliveries SET created_at = 2000')
  here.run(`UPDATE delivery_bodies SET body = CAST('a text' AS BLOB);
    UPDATE deliveries SET created_at = created_at + row`)
  exportTo(here, dir.file('a'))
  importFrom(there, dir.file('a'))
  there.run("UPDATE deliveries SET status = 'failed', next_attempt_at = NULL WHERE id = 'dlv_2'")
  const texts = () =>
    one(
      there,
      "SELECT group_concat(id, ' ') FROM deliveries JOIN delivery_bodies ON delivery_row = row WHERE body = CAST('a text' AS BLOB)",
    )
  expect(texts()).toBe('dlv_1 dlv_2 dlv_3 dlv_4')

  expect(blankMoved(there, { before_at: 1250 }, 100)).toBe(1)
  expect(texts()).toBe('dlv_2 dlv_3 dlv_4')
  expect(blankMoved(there, { before_at: 1250 }, 100)).toBe(0)
  expect(blankMoved(there, { before_at: 1400 }, 2)).toBe(2)
  expect(blankMoved(there, { before_at: 1400 }, 2)).toBe(1)
  expect(texts()).toBeNull()
})
