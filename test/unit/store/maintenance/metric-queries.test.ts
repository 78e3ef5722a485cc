import { expect, test } from 'bun:test'

import {
  measureCredit,
  measureLag,
  measurePending,
} from '../../../../src/store/maintenance/metric-queries.ts'
import { memoryDb } from '../../../support/memory-db.ts'

const NOW = Date.parse('2026-01-01T00:00:00Z')

test('the most overdue feed of each kind counts, against the promised cadence and not the backed-off interval', () => {
  using db = memoryDb()
  const insert = (key: string, kind: string, interval_s: number, checked_s_ago: number | null) =>
    db.run(
      `INSERT INTO feeds (key, kind, place, requested_interval_s, interval_s, last_check_at, next_check_at, created_at)
       VALUES (?, ?, ?, ?, 900, ?, ?, ?)`,
      [
        key,
        kind,
        key,
        interval_s,
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
  db.run("UPDATE feeds SET next_check_at = NULL WHERE key = 'asleep'")

  expect(measureLag(db, NOW)).toEqual([
    { kind: 'comments', feeds: 1, late: 0, worst_ms: 0 },
    { kind: 'posts', feeds: 3, late: 1, worst_ms: 35_000 },
    { kind: 'search', feeds: 1, late: 1, worst_ms: 600_000 },
  ])
})

test('customers are counted by their ability to pay for a read', () => {
  using db = memoryDb()
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

test('without pending deliveries there is no oldest one', () => {
  using db = memoryDb()

  expect(measurePending(db)).toEqual({ by_retry_index: new Map(), oldest_at: null })
})
