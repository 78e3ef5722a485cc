import { expect, test } from 'bun:test'

import { openDb } from '../../../src/store/db.ts'
import { measureCredit, measureLag, measurePending } from '../../../src/store/measures.ts'

const NOW = Date.parse('2026-01-01T00:00:00Z')

test('of each kind of stream the latest counts, against what was promised and not against how it was slowed', () => {
  using db = openDb(':memory:', { create: true })
  const insert = (key: string, kind: string, asked_s: number, checked_s_ago: number | null) =>
    db.run(
      `INSERT INTO streams (key, kind, place, asked_s, interval_s, last_check_at, next_check_at, created_at)
       VALUES (?, ?, ?, ?, 900, ?, ?, ?)`,
      [
        key,
        kind,
        key,
        asked_s,
        checked_s_ago === null ? null : NOW - checked_s_ago * 1000,
        NOW,
        NOW - 1000_000,
      ],
    )
  insert('a', 'posts', 60, 50)
  insert('b', 'posts', 60, 95)
  insert('c', 'posts', 60, 70)
  insert('d', 'comments', 300, 10)
  insert('e', 'search', 400, null)
  insert('asleep', 'posts', 60, 9000)
  db.run("UPDATE streams SET next_check_at = NULL WHERE key = 'asleep'")

  expect(measureLag(db, NOW)).toEqual([
    { kind: 'comments', streams: 1, late: 0, worst_ms: 0 },
    { kind: 'posts', streams: 3, late: 1, worst_ms: 35_000 },
    { kind: 'search', streams: 1, late: 1, worst_ms: 600_000 },
  ])
})

test('customers are counted by whether they can pay for a read', () => {
  using db = openDb(':memory:', { create: true })
  for (const [id, balance, unlimited] of [
    ['a', 2000, 0],
    ['b', 1999, 0],
    ['c', 0, 1],
  ] as const)
    db.run(
      `INSERT INTO customers (id, name, plan, balance_micros, unlimited, created_at) VALUES (?, ?, 'free', ?, ?, ?)`,
      [id, id, balance, unlimited, NOW],
    )

  expect(measureCredit(db, 2000)).toEqual({ unlimited: 1, some: 1, none: 1 })
})

test('where nothing waits there is no oldest', () => {
  using db = openDb(':memory:', { create: true })

  expect(measurePending(db)).toEqual({ by_rung: new Map(), oldest_at: null })
})
