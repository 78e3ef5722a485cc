import type { Db } from './db.ts'

/** A match as it is fetched. `seq` counts from 1 within the monitor; `body` is what a webhook would get. */
export type MatchBody = { seq: number; body: Uint8Array; matched_at: number }

/** Keeps a match for whoever comes to fetch it, in the transaction that finds it. */
export function keepMatch(
  db: Db,
  match: { monitor_id: string; body: Uint8Array; matched_at: number },
): void {
  db.query(
    `INSERT INTO match_bodies (monitor_id, seq, body, matched_at)
     VALUES ($monitor_id,
             coalesce((SELECT max(seq) FROM match_bodies WHERE monitor_id = $monitor_id), 0) + 1,
             $body, $matched_at)`,
  ).run(match)
}

/** A monitor's matches after `seq`, oldest first. */
export function listMatchesAfter(
  db: Db,
  query: { monitor_id: string; seq: number; limit: number },
): MatchBody[] {
  return db
    .query<MatchBody, [typeof query]>(
      `SELECT seq, body, matched_at FROM match_bodies
        WHERE monitor_id = $monitor_id AND seq > $seq ORDER BY seq LIMIT $limit`,
    )
    .all(query)
}

/** A monitor's newest matches, newest first. */
export function listNewestMatches(
  db: Db,
  query: { monitor_id: string; limit: number },
): MatchBody[] {
  return db
    .query<MatchBody, [typeof query]>(
      `SELECT seq, body, matched_at FROM match_bodies
        WHERE monitor_id = $monitor_id ORDER BY seq DESC LIMIT $limit`,
    )
    .all(query)
}

/** The seq of a monitor's newest match; 0 before the first. */
export function newestSeq(db: Db, monitor_id: string): number {
  return (
    db
      .query<{ seq: number | null }, [{ monitor_id: string }]>(
        'SELECT max(seq) AS seq FROM match_bodies WHERE monitor_id = $monitor_id',
      )
      .get({ monitor_id })?.seq ?? 0
  )
}

/**
 * Forgets what nobody is promised any more, at most `limit` of it; the newest of each monitor stays, for it holds the
 * count. Returns how many.
 */
export function pruneMatchBodies(db: Db, old: { before_at: number; limit: number }): number {
  return db
    .query<never, [typeof old]>(
      `DELETE FROM match_bodies WHERE rowid IN (SELECT old.rowid FROM match_bodies old
        WHERE old.matched_at < $before_at
          AND old.seq < (SELECT max(seq) FROM match_bodies WHERE monitor_id = old.monitor_id)
        LIMIT $limit)`,
    )
    .run(old).changes
}
