import { join } from 'node:path'

import Database from 'better-sqlite3'

import { READ_MICROS } from './fixture.ts'

// Reads with another SQLite build than the daemon's, to verify the file format independently.

/** Figures from the database of an instance; `reads_billed` is a count. */
export type LedgerTotals = {
  integrity: string
  matches: number
  delivered: number
  /** Deliveries that are not delivered. */
  other: number
  holds: number
  /** Customers whose balance differs from payments minus costs. */
  unbalanced: number
  reads_billed: number
  /** Stored matches that are missing in the inbox, and items of the inbox without a stored match. */
  strayed: number
}

/** Reads the billing tables of the instance in a folder. */
export function readLedger(data: string): LedgerTotals {
  const db = new Database(join(data, 'forumd.sqlite'), { readonly: true })
  const one = (sql: string): unknown => Object.values(Object(db.prepare(sql).get()))[0]
  const count = (sql: string) => Number(one(sql) ?? 0)
  try {
    return {
      integrity: String(one('PRAGMA integrity_check')),
      matches: count('SELECT count(*) FROM matches'),
      delivered: count("SELECT count(*) FROM deliveries WHERE status = 'delivered'"),
      other: count("SELECT count(*) FROM deliveries WHERE status <> 'delivered'"),
      holds: count('SELECT count(*) FROM holds'),
      unbalanced: count(
        `SELECT count(*) FROM customers c WHERE balance_micros <>
           (SELECT sum(amount_micros) FROM payments WHERE customer_id = c.id)
         - (SELECT coalesce(sum(cost_micros), 0) FROM usage_hours WHERE customer_id = c.id)`,
      ),
      strayed: count(
        `SELECT (SELECT count(*) FROM messages b
                  WHERE b.seq IS NOT NULL AND b.row <= (SELECT value + 0 FROM loop_state WHERE loop = 'projection' AND name = 'inbox')
                    AND NOT EXISTS (SELECT 1 FROM inbox_matches WHERE message = b.row))
              + (SELECT count(*) FROM inbox_items i WHERE NOT EXISTS (SELECT 1 FROM inbox_matches m
                   JOIN messages b ON b.row = m.message WHERE m.item = i.row))`,
      ),
      reads_billed: count('SELECT sum(cost_micros) FROM usage_hours') / READ_MICROS,
    }
  } finally {
    db.close()
  }
}

/** Waits for a number of delivered deliveries, or until none arrives for `patience_ms`; returns the count. */
export async function waitForDeliveries(
  data: string,
  deliveries: number,
  patience_ms = 30_000,
): Promise<number> {
  const db = new Database(join(data, 'forumd.sqlite'), { readonly: true })
  const delivered = db.prepare("SELECT count(*) AS n FROM deliveries WHERE status = 'delivered'")
  try {
    let count = 0
    let moved_at = Date.now()
    while (count < deliveries && Date.now() - moved_at < patience_ms) {
      await Bun.sleep(200)
      const { n } = Object(delivered.get())
      if (n !== count) moved_at = Date.now()
      count = n
    }
    return count
  } finally {
    db.close()
  }
}

/** The checks and gaps recorded by an instance; times in epoch ms. */
export type PollLog = {
  checks: { place: string; started_at: number; ended_at: number; cut_reason: string | null }[]
  gaps: { place: string; from_at: number | null; until_at: number | null; reason: string }[]
}

/** Reads the recorded checks and gaps of an instance. */
export function readPollLog(data: string): PollLog {
  const db = new Database(join(data, 'forumd.sqlite'), { readonly: true })
  try {
    const checks = db.prepare<[], PollLog['checks'][number]>(
      `SELECT s.place, c.started_at, c.ended_at, c.cut_reason
         FROM checks c JOIN feeds s ON s.id = c.feed_id`,
    )
    const gaps = db.prepare<[], PollLog['gaps'][number]>(
      `SELECT s.place, g.from_at, g.until_at, g.reason
         FROM gaps g JOIN feeds s ON s.id = g.feed_id WHERE g.closed_at IS NULL`,
    )
    return { checks: checks.all(), gaps: gaps.all() }
  } finally {
    db.close()
  }
}

/** Ids of all delivered deliveries. */
export function whichAreDelivered(data: string): Set<string> {
  const db = new Database(join(data, 'forumd.sqlite'), { readonly: true })
  try {
    const rows = db.prepare<[], { id: string }>(
      "SELECT id FROM deliveries WHERE status = 'delivered'",
    )
    return new Set(rows.all().map(({ id }) => id))
  } finally {
    db.close()
  }
}

/** First observation of each item in epoch ms, by fullname. */
export function readFirstSeen(data: string): Map<string, number> {
  const db = new Database(join(data, 'forumd.sqlite'), { readonly: true })
  try {
    const rows = db.prepare<[], { item_id: string; at: number }>(
      'SELECT item_id, min(first_seen_at) AS at FROM feed_items GROUP BY item_id',
    )
    return new Map(rows.all().map(({ item_id, at }) => [item_id, at]))
  } finally {
    db.close()
  }
}
