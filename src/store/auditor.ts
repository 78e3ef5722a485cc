import { utcDay } from '../core/gate.ts'
import { findUndelivered } from './auditor-matches.ts'
import type { Db } from './db.ts'
import { listUnbalanced } from './ledger.ts'

/** Something that is always so, and is not. `subject` is the id of the row it shows in. */
export type Breach = {
  invariant:
    | 'match_without_delivery'
    | 'delivered_without_yes'
    | 'too_many_attempts'
    | 'day_miscounted'
    | 'waits_too_long'
    | 'leased_by_nobody'
    | 'unbalanced'
  subject: string
}

/** What an audit looks at. */
export type AuditScope = {
  now: number
  /** Only deliveries created since then are looked at, where looking at all would take long. */
  since_at: number
  boot: string
  instance_id: string
  /** Attempts that a round can have. */
  attempts_max: number
  /** The longest that any delivery may have to wait. */
  wait_max_ms: number
  /** Whether a delivery is on its way at this moment. */
  in_flight: (delivery_id: string) => boolean
}

/** Of each kind as many are told; more would say nothing else. */
const TOLD_MAX = 20

/** Looks for rows that contradict what every commit keeps true. It reads, and mends nothing. */
export function findBreaches(db: Db, scope: AuditScope): Breach[] {
  const { now, since_at, attempts_max, wait_max_ms } = scope
  const subjects = (invariant: Breach['invariant'], ids: readonly string[]): Breach[] =>
    ids.slice(0, TOLD_MAX).map((subject) => ({ invariant, subject }))
  // By customer, which is how the index on time begins.
  const recent = `customers c JOIN deliveries d ON d.customer_id = c.id AND d.created_at >= $since_at`
  const ids = (sql: string, values: Record<string, string | number>): string[] =>
    db
      .query<{ id: string }, [Record<string, string | number>]>(sql)
      .all(values)
      .map(({ id }) => id)

  return [
    ...subjects('match_without_delivery', findUndelivered(db, scope)),
    ...subjects(
      'delivered_without_yes',
      ids(
        `SELECT d.id FROM ${recent} WHERE d.status = 'delivered' AND NOT EXISTS
           (SELECT 1 FROM attempts a WHERE a.delivery_row = d.row AND a.round = d.round AND a.error IS NULL)
          LIMIT ${TOLD_MAX}`,
        { since_at },
      ),
    ),
    ...subjects(
      'too_many_attempts',
      ids(
        `SELECT DISTINCT d.id FROM ${recent} JOIN attempts a ON a.delivery_row = d.row
          GROUP BY d.id, a.round HAVING count(*) > $attempts_max LIMIT ${TOLD_MAX}`,
        { since_at, attempts_max },
      ),
    ),
    ...subjects('day_miscounted', miscounted(db, now)),
    ...subjects(
      'waits_too_long',
      ids(
        `SELECT id FROM deliveries
          WHERE status = 'pending' AND lease IS NULL AND next_attempt_at > $latest LIMIT ${TOLD_MAX}`,
        { latest: now + wait_max_ms },
      ),
    ),
    ...subjects('leased_by_nobody', abandoned(db, scope)),
    ...subjects(
      'unbalanced',
      listUnbalanced(db).map(({ customer_id }) => customer_id),
    ),
  ]
}

/** Monitors whose deliveries of today are not as many as were counted; after a jump of the clock nobody can tell. */
function miscounted(db: Db, now: number): string[] {
  const day = utcDay(now)
  const from = day * DAY_MS
  return db
    .query<{ id: string }, [{ day: number; from: number; until: number }]>(
      `SELECT t.monitor_id AS id FROM monitor_days t
        WHERE t.day = $day
          AND NOT EXISTS (SELECT 1 FROM events WHERE kind = 'clock_jump' AND at >= $from - ${DAY_MS})
          AND t.deliveries <> (SELECT count(*) FROM deliveries d WHERE d.monitor_id = t.monitor_id
                AND d.created_at >= $from AND d.created_at < $until AND d.status <> 'suppressed')
        LIMIT ${TOLD_MAX}`,
    )
    .all({ day, from, until: from + DAY_MS })
    .map(({ id }) => id)
}

const DAY_MS = 86_400_000

function abandoned(db: Db, { boot, in_flight }: AuditScope): string[] {
  return db
    .query<{ id: string; lease: string }, []>(
      'SELECT id, lease FROM deliveries WHERE lease IS NOT NULL',
    )
    .all()
    .filter(({ id, lease }) => lease !== boot || !in_flight(id))
    .map(({ id }) => id)
}
