import type { ModelFault, RelevanceResult } from '../../core/relevance/judgement.ts'
import type { Db } from '../db/connection.ts'

/** Results of relevance: delivered or suppressed by a verdict, or delivered without one. */
export const JUDGEMENT_OUTCOMES = ['relevant', 'irrelevant', 'unjudged'] as const
export type JudgementOutcome = (typeof JUDGEMENT_OUTCOMES)[number]

/** A stored result. */
export type StoredJudgement = {
  outcome: JudgementOutcome
  score: number | null
  min_score: number
  reason: string | null
  model: string | null
  cached: 0 | 1
  fault: ModelFault | null
  at: number
}

/** Records the result of a match. `key`: under which its verdict may be used again. */
export function insertJudgement(
  db: Db,
  of: { monitor_id: string; item_id: string; min_score: number; key: Uint8Array | null },
  { outcome, judged, now }: { outcome: JudgementOutcome; judged: RelevanceResult; now: number },
): void {
  const verdict = judged.kind === 'verdict' ? judged : null
  db.query(
    `INSERT OR REPLACE INTO judgements
       (monitor_id, item_id, outcome, score, min_score, reason, model, cached, fault, cache_key, at)
     VALUES ($monitor_id, $item_id, $outcome, $score, $min_score, $reason, $model, $cached, $fault, $key, $now)`,
  ).run({
    ...of,
    // A verdict that was cached itself makes the original no younger.
    key: verdict === null || verdict.cached ? null : of.key,
    outcome,
    score: verdict?.score ?? null,
    reason: verdict?.reason ?? null,
    model: verdict?.model ?? null,
    cached: verdict?.cached === true ? 1 : 0,
    fault: judged.kind === 'fault' ? judged.fault : null,
    now,
  })
}

/** A verdict that was made under a key since an instant; null when there is none. */
export function findCached(
  db: Db,
  query: { key: Uint8Array; since_at: number },
): { score: number; reason: string; model: string } | null {
  return db
    .query<{ score: number; reason: string; model: string }, [typeof query]>(
      `SELECT score, reason, model FROM judgements
        WHERE cache_key = $key AND at >= $since_at AND reason IS NOT NULL ORDER BY at DESC LIMIT 1`,
    )
    .get(query)
}

/** The result of an item at a monitor; null when there is none. */
export const findJudgement = (
  db: Db,
  query: { monitor_id: string; item_id: string },
): StoredJudgement | null =>
  db
    .query<StoredJudgement, [typeof query]>(
      `SELECT outcome, score, min_score, reason, model, cached, fault, at FROM judgements
        WHERE monitor_id = $monitor_id AND item_id = $item_id`,
    )
    .get(query)

/** Numbers of results of a monitor since an instant. */
export type JudgementCounts = Record<JudgementOutcome | 'cached', number>

/** Counts the results of a monitor since an instant. */
export function countJudgements(
  db: Db,
  query: { monitor_id: string; since_at: number },
): JudgementCounts {
  const counts: JudgementCounts = { relevant: 0, irrelevant: 0, unjudged: 0, cached: 0 }
  const rows = db
    .query<{ outcome: JudgementOutcome; n: number; cached: number }, [typeof query]>(
      `SELECT outcome, count(*) AS n, sum(cached) AS cached FROM judgements
        WHERE monitor_id = $monitor_id AND at >= $since_at GROUP BY outcome`,
    )
    .all(query)
  for (const { outcome, n, cached } of rows) {
    counts[outcome] = n
    counts.cached += cached
  }
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
         (SELECT monitor_id, item_id FROM judgements WHERE at < $before_at LIMIT $limit + 0)`,
    )
    .run({ before_at, limit }).changes

/** Deletes the reasons of items, and with them their use for other items. Returns the number of rows. */
export const forgetReasons = (db: Db, item_ids: readonly string[]): number =>
  db
    .query(
      `UPDATE judgements SET reason = NULL, cache_key = NULL
        WHERE reason IS NOT NULL AND item_id IN (SELECT value FROM json_each($ids))`,
    )
    .run({ ids: JSON.stringify(item_ids) }).changes
