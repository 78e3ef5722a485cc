import { expect, test } from 'bun:test'

import { runNow } from '../../../../src/store/db/chunked.ts'
import type { Db } from '../../../../src/store/db/connection.ts'
import { pruneOld } from '../../../../src/store/maintenance/retention.ts'
import { memoryDb } from '../../../support/memory-db.ts'
import { putTarget } from '../../../support/target-row.ts'

const OLD = 1000

/** Two feeds and a monitor, each with `count` old rows of every kind and one current row. */
function createDb(count: number): Db {
  const db = memoryDb()
  putTarget(db)
  db.run(`INSERT INTO feeds (id, key, kind, place, requested_interval_s, interval_s, next_seq, created_at)
          VALUES (1, 'posts:a', 'posts', 'a', 60, 60, ${count + 1}, 0), (2, 'posts:b', 'posts', 'b', 60, 60, ${count + 1}, 0)`)
  const rows = `WITH RECURSIVE n (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM n WHERE n < ${count}),
                     s (s) AS (VALUES (1), (2)), at (n, s, at) AS (SELECT n, s, iif(n = ${count}, ${OLD}, 1) FROM n, s)`
  db.run(`${rows} INSERT INTO checks (feed_id, started_at, ended_at, new_items, pages)
          SELECT s, 0, at, 0, 1 FROM at`)
  db.run(`INSERT INTO gaps (feed_id, reason, recorded_at, missed_estimate)
          SELECT feed_id, 'x', ended_at, 1 FROM checks`)
  db.run(`${rows} INSERT INTO feed_items SELECT s, 't3_' || n, n, at, 0, 'poll', NULL FROM at`)
  return db
}

const TABLES = ['gaps', 'checks', 'feed_items']
const counts = (db: Db) =>
  TABLES.map((it) => db.query<{ n: number }, []>(`SELECT count(*) AS n FROM ${it}`).get()?.n)

test('old rows of every kind are deleted, all others stay', () => {
  using db = createDb(1200)
  expect(counts(db)).toEqual([2402, 2402, 2402])

  runNow(pruneOld(db, { before_at: OLD, keep: 1 }))
  expect(counts(db)).toEqual([2, 2, 2])
})

test('no step deletes more than five hundred rows of a kind', () => {
  using db = createDb(1200)
  const total = () => counts(db).reduce((sum: number, n) => sum + (n ?? 0), 0)
  let [before, most, parts] = [total(), 0, 0]
  for (const _ of pruneOld(db, { before_at: OLD, keep: 1 })) {
    most = Math.max(most, before - total())
    before = total()
    parts += 1
  }

  // Gaps and checks are deleted in one step.
  expect(most).toBeLessThanOrEqual(1000)
  expect(parts).toBeGreaterThan(12)
})

test('a quiet feed keeps its newest items of any age', () => {
  using db = createDb(10)
  runNow(pruneOld(db, { before_at: OLD + 1, keep: 3 }))
  expect(
    db.query('SELECT feed_id, seq FROM feed_items WHERE feed_id = 1 ORDER BY seq').all(),
  ).toEqual([8, 9, 10].map((seq) => ({ feed_id: 1, seq })))
})

test('an item seen by two feeds stays in the one where it is among the newest', () => {
  using db = createDb(10)
  // In the second feed the oldest of the first came last.
  db.run('UPDATE feed_items SET seq = 10 - seq WHERE feed_id = 2')
  runNow(pruneOld(db, { before_at: OLD + 1, keep: 3 }))
  const left = db
    .query<{ items: string }, []>(
      `SELECT group_concat(item_id, ' ' ORDER BY seq) AS items FROM feed_items
        GROUP BY feed_id ORDER BY feed_id`,
    )
    .all()
  expect(left.map(({ items }) => items)).toEqual(['t3_8 t3_9 t3_10', 't3_2 t3_1 t3_0'])
})
