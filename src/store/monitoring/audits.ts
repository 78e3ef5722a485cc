import { auditAllowance, auditIntervalS, auditStretch } from '../../core/polling/audit.ts'
import type { Db } from '../db/connection.ts'

/** Records a complete audit and when the next one is due. Instants `*_at` by our clock, the range by the platform's. */
export function recordAudit(
  db: Db,
  id: number,
  audit: {
    audited_at: number
    audited_from: number
    audited_until: number
    lateness_ms: number
    audit_due_at: number
    pages: number
  },
): void {
  db.query(
    `UPDATE feeds SET audits = audits + 1, audit_pages = 0.7 * audit_pages + 0.3 * $pages, audited_at = $audited_at, audited_from = $audited_from,
            audited_until = $audited_until, lateness_ms = $lateness_ms, audit_due_at = $audit_due_at WHERE id = $id`,
  ).run({ id, ...audit })
}

/** Counts items that were found behind the checkpoint, and keeps how late they were. */
export function recordLate(
  db: Db,
  id: number,
  { count, lateness_ms }: { count: number; lateness_ms: number },
): void {
  db.query(
    'UPDATE feeds SET late_items = late_items + $count, lateness_ms = $lateness_ms WHERE id = $id',
  ).run({ id, count, lateness_ms })
}

/** Advances the sequence of a feed's items for items that no poll of it has shown. */
export function advanceSeq(db: Db, id: number, next_seq: number): void {
  db.query('UPDATE feeds SET next_seq = $next_seq WHERE id = $id').run({ id, next_seq })
}

/** Makes a feed's next audit due at once: there is evidence that it lists more than polls have seen. */
export function requestAudit(db: Db, id: number, now: number): void {
  db.query('UPDATE feeds SET audit_due_at = min(audit_due_at, $now) WHERE id = $id').run({
    id,
    now,
  })
}

/** Due time of the next audit; Infinity when no feed is polled. */
export function nextAuditDueAt(db: Db): number {
  const row = db
    .query<{ due_at: number | null }, []>(
      'SELECT min(audit_due_at) AS due_at FROM feeds WHERE next_check_at IS NOT NULL',
    )
    .get()
  return row?.due_at ?? Infinity
}

/**
 * Sets the audit interval of every polled feed: by its cadence, stretched to what the budget allows.
 * @returns Requests a minute that audits may make.
 */
export function planAudits(
  db: Db,
  { configured_s, per_minute }: { configured_s: number; per_minute: number },
): number {
  const feeds = db
    .query<{ id: number; cadence_s: number; requests: number; before_s: number }, []>(
      // The first page of a feed that is polled individually is a poll anyway.
      `SELECT id, requested_interval_s AS cadence_s, audit_interval_s AS before_s,
              CASE WHEN poll_batch_id IS NULL THEN max(0, audit_pages - 1) ELSE audit_pages END AS requests
         FROM feeds WHERE next_check_at IS NOT NULL`,
    )
    .all()
    .map((it) => ({ ...it, interval_s: auditIntervalS(it.cadence_s, configured_s) }))
  const { polls_per_minute } = db
    .query<{ polls_per_minute: number }, []>(
      `SELECT coalesce(sum(60.0 / interval_s), 0) AS polls_per_minute
         FROM (SELECT max(interval_s) AS interval_s FROM feeds WHERE next_check_at IS NOT NULL
                GROUP BY coalesce(-poll_batch_id, id))`,
    )
    .get() ?? { polls_per_minute: 0 }
  const single_polls_per_minute = feeds.reduce((sum, { cadence_s }) => sum + 60 / cadence_s, 0)
  const allowance = auditAllowance({ per_minute, polls_per_minute, single_polls_per_minute })
  const stretch = auditStretch(feeds, allowance)
  const set = db.query(
    `UPDATE feeds SET audit_interval_s = $interval_s,
            audit_due_at = min(audit_due_at, coalesce(audited_at + 1000 * $interval_s, audit_due_at)) WHERE id = $id`,
  )
  for (const { id, interval_s, before_s } of feeds) {
    const stretched_s = Math.ceil(interval_s * stretch)
    if (stretched_s !== before_s) set.run({ id, interval_s: stretched_s })
  }
  return allowance
}
