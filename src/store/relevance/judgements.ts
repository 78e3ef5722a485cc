import type { ModelFault, RelevanceResult } from '../../core/relevance/judgement.ts'
import type { Db } from '../db/connection.ts'

// A row for each match of a monitor with relevance rules. It waits with its body, written in the transaction that matched
// it, until the transaction that writes its deliveries replaces the body by the result: a waiting match is as safe as a
// delivery.

/**
 * Results of a match: by a verdict, without one, or none, because its monitor was removed or has no rules any more, or
 * because its content had to go.
 */
export const JUDGEMENT_OUTCOMES = ['relevant', 'irrelevant', 'unjudged', 'abandoned'] as const
export type JudgementOutcome = (typeof JUDGEMENT_OUTCOMES)[number]

type Key = { monitor_id: string; item_id: string }

const keyOf = ({ monitor_id, item_id }: Key): Key => ({ monitor_id, item_id })
const IS_KEY = 'monitor_id = $monitor_id AND item_id = $item_id'

/** Adds a match that waits; does nothing if it has a row already. */
export function insertWaiting(
  db: Db,
  match: Key & { customer_id: string; created_at: number; body: string },
  now: number,
): void {
  db.query(
    `INSERT OR IGNORE INTO judgements (monitor_id, item_id, customer_id, created_at, body, at, next_attempt_at)
     VALUES ($monitor_id, $item_id, $customer_id, $created_at, $body, $now, $now)`,
  ).run({ ...match, now })
}

/** Puts a match off. `failed`: a call for it has failed. */
export function holdWaiting(
  db: Db,
  key: Key,
  {
    next_attempt_at,
    fault,
    failed,
  }: { next_attempt_at: number; fault: ModelFault; failed: boolean },
): void {
  db.query(
    `UPDATE judgements SET next_attempt_at = $next_attempt_at, fault = $fault, failures = failures + $failed
      WHERE ${IS_KEY} AND outcome IS NULL`,
  ).run({ ...keyOf(key), next_attempt_at, fault, failed: failed ? 1 : 0 })
}

export const wakeWaiting = (db: Db, now: number): void =>
  void db
    .query(
      'UPDATE judgements SET next_attempt_at = $now WHERE outcome IS NULL AND next_attempt_at > $now',
    )
    .run({ now })

/** Makes held matches due: those of a monitor whose rules have changed, or all that no call has failed for. */
export function releaseWaiting(db: Db, now: number, monitor_id: string | null = null): void {
  db.query(
    `UPDATE judgements SET next_attempt_at = $now WHERE outcome IS NULL AND next_attempt_at > $now
        AND CASE WHEN $monitor_id IS NULL THEN failures = 0 AND fault IS NOT 'limit_calls' ELSE monitor_id = $monitor_id END`,
  ).run({ now, monitor_id })
}

/**
 * Replaces the body of a waiting match by its result, in the transaction that delivers it; false if it was erased or
 * delivered meanwhile.
 */
export function settleWaiting(
  db: Db,
  key: Key,
  result: { outcome: JudgementOutcome; min_score: number | null; judged: RelevanceResult | null },
  now: number,
): boolean {
  const { outcome, min_score, judged } = result
  const verdict = judged?.kind === 'verdict' ? judged : null
  const { changes } = db
    .query(
      `UPDATE judgements SET body = NULL, next_attempt_at = NULL, outcome = $outcome, score = $score,
              min_score = $min_score, reason = $reason, model = $model, fault = $fault, at = $now
        WHERE ${IS_KEY} AND outcome IS NULL`,
    )
    .run({
      ...keyOf(key),
      outcome,
      min_score,
      score: verdict?.score ?? null,
      reason: verdict?.reason ?? null,
      model: verdict?.model ?? null,
      fault: judged?.kind === 'fault' ? judged.fault : null,
      now,
    })
  return changes > 0
}

/** Matches that wait, and since when the oldest does. */
export type Waiting = {
  waiting: number
  since_at: number | null
  /** Held because of another fault than the limit of the day. */
  failing: number
  /** Held by the limit of the day, and the end of that. */
  limited: number
  limited_until: number | null
}

const measured = (db: Db, where: string, whose: Record<string, string>): Waiting =>
  db
    .query<Waiting, [Record<string, string>]>(
      `SELECT count(*) AS waiting, min(at) AS since_at, coalesce(sum(fault <> 'limit_calls'), 0) AS failing, coalesce(sum(fault = 'limit_calls'), 0) AS limited,
              max(next_attempt_at) FILTER (WHERE fault = 'limit_calls') AS limited_until
         FROM judgements WHERE outcome IS NULL ${where}`,
    )
    .get(whose) ?? { waiting: 0, since_at: null, failing: 0, limited: 0, limited_until: null }

/** Waiting matches of a monitor, of a customer, or of all. */
export const measureWaiting = (
  db: Db,
  of: { monitor_id: string } | { customer_id: string } | null = null,
): Waiting => {
  if (of === null) return measured(db, '', {})
  return 'monitor_id' in of
    ? measured(db, 'AND monitor_id = $monitor_id', of)
    : measured(db, 'AND customer_id = $customer_id', of)
}

/** A stored result, or a match that waits: `outcome` null. */
export type StoredJudgement = {
  outcome: JudgementOutcome | null
  score: number | null
  min_score: number | null
  reason: string | null
  model: string | null
  fault: ModelFault | null
  /** Time of the result; of a waiting match since when it waits. */
  at: number
  next_attempt_at: number | null
}

/** The judgement of an item at a monitor; null when it was not to be judged. */
export const findJudgement = (db: Db, key: Key): StoredJudgement | null =>
  db
    .query<StoredJudgement, [Key]>(
      `SELECT outcome, score, min_score, reason, model, fault, at, next_attempt_at FROM judgements WHERE ${IS_KEY}`,
    )
    .get(keyOf(key))

export function countJudgements(
  db: Db,
  query: { monitor_id: string; since_at: number },
): Record<JudgementOutcome, number> {
  const counts = { relevant: 0, irrelevant: 0, unjudged: 0, abandoned: 0 }
  const rows = db
    .query<{ outcome: JudgementOutcome; n: number }, [typeof query]>(
      `SELECT outcome, count(*) AS n FROM judgements
        WHERE monitor_id = $monitor_id AND at >= $since_at AND outcome IS NOT NULL GROUP BY outcome`,
    )
    .all(query)
  for (const { outcome, n } of rows) counts[outcome] = n
  return counts
}

/** Deletes at most `limit` results from before an instant. Returns their number. */
export const pruneJudgements = (
  db: Db,
  { before_at, limit }: { before_at: number; limit: number },
): number =>
  db
    .query(
      `DELETE FROM judgements WHERE (monitor_id, item_id) IN
         (SELECT monitor_id, item_id FROM judgements WHERE at < $before_at AND outcome IS NOT NULL LIMIT $limit + 0)`,
    )
    .run({ before_at, limit }).changes

/** Deletes the reasons of items. Returns the number of rows. */
export const forgetReasons = (db: Db, item_ids: readonly string[]): number =>
  db
    .query(
      `UPDATE judgements SET reason = NULL
        WHERE reason IS NOT NULL AND item_id IN (SELECT value FROM json_each($ids))`,
    )
    .run({ ids: JSON.stringify(item_ids) }).changes

/**
 * Changes the bodies of waiting matches, of these items or of all: `items` is a JSON list of their keys. Null from `change`
 * ends the wait of the match, the same row leaves it. Returns the number of changed ones.
 */
export function changeWaiting(
  db: Db,
  items: string | null,
  change: (item_id: string, row: Record<string, unknown>) => object | null,
): number {
  const rows = db
    .query<Key & { body: string }, [{ items: string | null }]>(
      `SELECT monitor_id, item_id, body FROM judgements WHERE outcome IS NULL
          AND ($items IS NULL OR item_id IN (SELECT value FROM json_each($items)))`,
    )
    .all({ items })
  const write = db.query(`UPDATE judgements SET body = $body WHERE ${IS_KEY}`)
  const end = db.query(
    `UPDATE judgements SET body = NULL, next_attempt_at = NULL, outcome = 'abandoned' WHERE ${IS_KEY}`,
  )
  let changed = 0
  for (const { monitor_id, item_id, body } of rows) {
    const before: Record<string, unknown> = JSON.parse(body)
    const after = change(item_id, before)
    if (after === before) continue
    changed += 1
    const key = { monitor_id, item_id }
    if (after === null) end.run(key)
    else write.run({ ...key, body: JSON.stringify(after) })
  }
  return changed
}

/** Counts a call for a match on a UTC day; -1 takes it back, because no part of it was sent. */
export const countCall = (db: Db, key: Key, day: number, by: 1 | -1 = 1): void =>
  void db
    .query(
      `UPDATE judgements SET calls = CASE WHEN called_day = $day THEN max(0, calls + $by) ELSE max(0, $by) END, called_day = $day
        WHERE ${IS_KEY}`,
    )
    .run({ ...keyOf(key), day, by })

/** Calls of a UTC day by customer. */
export const callsOf = (db: Db, day: number): Map<string, number> =>
  new Map(
    db
      .query<{ customer_id: string; calls: number }, [{ day: number }]>(
        'SELECT customer_id, sum(calls) AS calls FROM judgements WHERE called_day = $day GROUP BY customer_id',
      )
      .all({ day })
      .map(({ customer_id, calls }) => [customer_id, calls]),
  )

export const listJudgedCustomers = (db: Db): string[] =>
  db
    .query<{ id: string }, []>(
      `SELECT DISTINCT m.customer_id AS id FROM monitors m INDEXED BY monitors_relevance
         JOIN customers u ON u.id = m.customer_id AND u.removed_at IS NULL
        WHERE m.relevance IS NOT NULL AND m.active = 1 AND m.removed_at IS NULL`,
    )
    .all()
    .map(({ id }) => id)
