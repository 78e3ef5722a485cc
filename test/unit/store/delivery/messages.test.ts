import { expect, test } from 'bun:test'

import { envelope } from '../../../../src/core/delivery/envelope.ts'
import type { Db } from '../../../../src/store/db/connection.ts'
import { insertDelivery, listDeliveries } from '../../../../src/store/delivery/deliveries.ts'
import { blankBodies, packBodies, unpackBody } from '../../../../src/store/delivery/messages.ts'
import { claimDue } from '../../../../src/store/delivery/outbox.ts'
import { redeliver } from '../../../../src/store/delivery/redeliver.ts'
import { memoryDb } from '../../../support/memory-db.ts'
import { putTarget } from '../../../support/target-row.ts'

/** Bounds for deliveries older than that, with a correct clock. */
const old = (before_at: number) => ({ before_at, now: 1000 })

const TEXT = 'a needle in the hay. '.repeat(40)

/** Dead deliveries with the creation times 1 to `count`. */
function opened(count: number): Db {
  const db = memoryDb()
  putTarget(db)
  for (let n = 0; n < count; n++)
    insertDelivery(db, {
      id: `dlv_${n}`,
      customer_id: 'cus_1',
      monitor_id: 'mon_1',
      webhook_id: 'wh_1',
      status: 'pending',
      body: bodyOf(n),
      now: n + 1,
    })
  db.run("UPDATE deliveries SET status = 'dead', next_attempt_at = NULL")
  return db
}

const bodyOf = (n: number) =>
  envelope({
    delivery_id: `dlv_${n}`,
    monitor_id: 'mon_1',
    items: [{ id: 'a', title: TEXT }],
    grouped: false,
  })

const stored = (db: Db) =>
  db
    .query<{ size: number }, []>('SELECT length(body) AS size FROM messages ORDER BY row')
    .all()
    .map(({ size }) => size)

const texts = (db: Db) =>
  listDeliveries(db, {
    customer_id: 'cus_1',
    monitor_id: null,
    status: null,
    before: null,
    limit: 100,
  })
    .toReversed()
    .map(({ body }) => new TextDecoder().decode(body))

test('old bodies are compressed a few at a time, and read unchanged', () => {
  using db = opened(6)
  const before = texts(db)
  const whole = stored(db)[5] ?? 0
  expect(packBodies(db, old(5), 3)).toBe(3)
  expect(packBodies(db, old(5), 3)).toBe(1)
  expect(packBodies(db, old(5), 3)).toBe(0)

  expect(stored(db).map((size) => size < whole / 2)).toEqual([true, true, true, true, false, false])
  expect(texts(db)).toEqual(before)
})

test('a row dated ahead by a wrong clock gets the age of the next row', () => {
  using db = opened(4)
  const ahead = 9 * 3_600_000
  db.run(`UPDATE messages SET matched_at = ${ahead} WHERE row IN (1, 2)`)
  const blanked = (before_at: number) =>
    Array.from({ length: 3 }, () => blankBodies(db, old(before_at), 2))

  // The third was created at 3, and the fourth at 4.
  expect(blanked(3)).toEqual([0, 0, 0])
  expect(blanked(4)).toEqual([2, 1, 0])
  // If the clock is wrong now, nothing counts as old.
  expect(packBodies(db, { before_at: -9, now: -ahead }, 9)).toBe(0)
})

test('a compressed body is redelivered with identical bytes', () => {
  using db = opened(1)
  packBodies(db, old(10), 10)
  redeliver(db, {
    customer_id: null,
    which: { delivery_id: 'dlv_0' },
    dry_run: false,
    rows_max: 1,
    now: 20,
  })
  const free = { slots: 1, of: () => 1 }
  const [claimed] = claimDue(db, { run_id: 'b', now: 20, free, served_last: '' })
  expect(claimed?.body).toEqual(new Uint8Array(bodyOf(0)))
})

test('a waiting delivery keeps its bytes', () => {
  using db = opened(1)
  db.run("UPDATE deliveries SET status = 'pending', next_attempt_at = 99")
  packBodies(db, old(10), 10)
  blankBodies(db, old(10), 10)
  expect(texts(db)).toEqual([new TextDecoder().decode(bodyOf(0))])
})

test('a delivery that waited when it was due for blanking is blanked after it has ended', () => {
  using db = opened(3)
  db.run("UPDATE deliveries SET status = 'pending', next_attempt_at = 99 WHERE id = 'dlv_1'")
  expect([blankBodies(db, old(10), 10), blankBodies(db, old(10), 10)]).toEqual([1, 0])

  db.run("UPDATE deliveries SET status = 'dead', next_attempt_at = NULL")
  expect(blankBodies(db, old(10), 10)).toBe(2)
  expect(texts(db).filter((text) => text.includes('needle'))).toEqual([])
})

test('a blanked body has a recognisable form, and its row stays', () => {
  using db = opened(2)
  packBodies(db, old(10), 10)
  expect(blankBodies(db, old(2), 10)).toBe(1)
  const [blank = '', retained = ''] = texts(db)
  expect(JSON.parse(blank)).toEqual({
    delivery_id: 'dlv_0',
    monitor_id: 'mon_1',
    count: 0,
    grouped: false,
    items: [],
  })
  expect(retained).toContain('needle')
})

test('blanking a body removes the response excerpts of its attempts', () => {
  using db = opened(1)
  db.run(`INSERT INTO attempts (delivery_row, n, round, started_at, ended_at, headers, body_start)
          SELECT row, 1, 1, 0, 0, '{"server":"x"}', 'no such needle' FROM deliveries`)
  blankBodies(db, old(2), 10)
  expect(db.query('SELECT headers, body_start FROM attempts').all()).toEqual([
    { headers: null, body_start: null },
  ])
})

test('any body is restored from its compressed form', () => {
  for (const bytes of [new Uint8Array(), new Uint8Array([0x28, 0xb5]), bodyOf(1)])
    expect(unpackBody(bytes)).toBe(bytes)
})
