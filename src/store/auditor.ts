import { utcDay } from '../core/gate.ts'
import { findWrong } from './auditor-deliveries.ts'
import { findUndelivered } from './auditor-matches.ts'
import type { Db } from './db.ts'
import { isUnbalanced } from './ledger.ts'
import { inOneGo, type Parts } from './parts.ts'

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

/**
 * Looks for rows that contradict what every commit keeps true, a part at a time: whoever looks lets others have their
 * turn between two of them, for there may be millions of rows. It reads, and mends nothing.
 */
export function* lookForBreaches(db: Db, scope: AuditScope): Parts<Breach[]> {
  const found: Breach[] = []
  const note = (invariant: Breach['invariant'], subjects: readonly string[]) => {
    const told = found.filter((it) => it.invariant === invariant).length
    for (const subject of subjects.slice(0, TOLD_MAX - told)) found.push({ invariant, subject })
  }

  note('match_without_delivery', yield* findUndelivered(db, scope))
  for (const { id } of db.query<{ id: string }, []>('SELECT id FROM customers').all()) {
    yield
    const { unsaid, many } = yield* findWrong(db, id, scope)
    note('delivered_without_yes', unsaid)
    note('too_many_attempts', many)
    note('unbalanced', isUnbalanced(db, id) ? [id] : [])
  }
  note('day_miscounted', yield* findMiscounted(db, scope.now))
  yield
  note('waits_too_long', tooLate(db, scope))
  note('leased_by_nobody', abandoned(db, scope))
  return found
}

/** The same in one go, for whoever has nobody to let by. */
export const findBreaches = (db: Db, scope: AuditScope): Breach[] =>
  inOneGo(lookForBreaches(db, scope))

/** Monitors whose deliveries of today are not as many as were counted; after a jump of the clock nobody can tell. */
function* findMiscounted(db: Db, now: number): Parts<string[]> {
  const day = utcDay(now)
  const from = day * DAY_MS
  const hasJumped = () =>
    db
      .query("SELECT 1 FROM events WHERE kind = 'clock_jump' AND at >= $since_at")
      .get({ since_at: from - DAY_MS }) !== null
  if (hasJumped()) return []
  const isMiscounted = db.query<{ one: 1 }, [Record<string, string | number>]>(
    `SELECT 1 AS one FROM monitor_days t
      WHERE t.monitor_id = $id AND t.day = $day
        AND t.deliveries <> (SELECT count(*) FROM deliveries d WHERE d.monitor_id = t.monitor_id
              AND d.created_at >= $from AND d.created_at < $until AND d.status <> 'suppressed')`,
  )
  const found: string[] = []
  for (const { id } of db.query<{ id: string }, []>('SELECT id FROM monitors').all()) {
    yield
    if (isMiscounted.get({ id, day, from, until: from + DAY_MS }) !== null) found.push(id)
  }
  // It may have been put right while we counted.
  return hasJumped() ? [] : found
}

const DAY_MS = 86_400_000

/** By target, which is how the index on what is due begins. */
const tooLate = (db: Db, { now, wait_max_ms }: AuditScope): string[] =>
  db
    .query<{ id: string }, [{ latest: number }]>(
      `SELECT d.id FROM (SELECT id FROM webhooks UNION ALL SELECT NULL) w
         CROSS JOIN deliveries d ON d.webhook_id IS w.id
        WHERE d.status = 'pending' AND d.lease IS NULL AND d.next_attempt_at > $latest LIMIT ${TOLD_MAX}`,
    )
    .all({ latest: now + wait_max_ms })
    .map(({ id }) => id)

function abandoned(db: Db, { boot, in_flight }: AuditScope): string[] {
  return db
    .query<{ id: string; lease: string }, []>(
      'SELECT id, lease FROM deliveries WHERE lease IS NOT NULL',
    )
    .all()
    .filter(({ id, lease }) => lease !== boot || !in_flight(id))
    .map(({ id }) => id)
}
