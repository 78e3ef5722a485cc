import type { Db } from './db.ts'

/** A match as it is fetched. `seq` counts from 1 within the monitor; `body` is what a webhook would get. */
export type MatchBody = { seq: number; body: Uint8Array; matched_at: number }

/**
 * Keeps a match for whoever comes to fetch it, in the transaction that finds it. Where there is none to count on from, the
 * count begins after the last restore, as {@link skipAhead} has it.
 */
export function keepMatch(
  db: Db,
  match: { monitor_id: string; body: Uint8Array; matched_at: number },
): void {
  db.query(
    `INSERT INTO match_bodies (monitor_id, seq, body, matched_at)
     VALUES ($monitor_id,
             coalesce((SELECT max(seq) FROM match_bodies WHERE monitor_id = $monitor_id),
                      (SELECT max(at) FROM events WHERE kind = 'restore_detected'), 0) + 1,
             $body, $matched_at)`,
  ).run(match)
}

/**
 * Lets the count of every monitor go on from the instant of a restore: how far it had come is not known any more, and who
 * has fetched further than what came back would not be told of the next ones. Each monitor's newest is there once more.
 */
export function skipAhead(db: Db, now: number): void {
  db.query(
    `UPDATE match_bodies AS it SET seq = $now
      WHERE seq < $now AND seq = (SELECT max(seq) FROM match_bodies WHERE monitor_id = it.monitor_id)`,
  ).run({ now })
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

/** A place among all that is there to fetch, the oldest first. */
export type FetchPlace = { matched_at: number; row: number }

/**
 * Of the next `limit` after a place, as far as they are from before `before_at`, forgets what nobody is promised any more;
 * the newest of each monitor stays, for it holds the count. Returns the place it has come to; null at the end.
 */
export function pruneMatchBodies(
  db: Db,
  { after, before_at, limit }: { after: FetchPlace; before_at: number; limit: number },
): FetchPlace | null {
  const last = db
    .query<FetchPlace, [{ at: number; row: number; before_at: number; limit: number }]>(
      `SELECT matched_at, row FROM (
         SELECT matched_at, rowid AS row FROM match_bodies
          WHERE matched_at < $before_at AND (matched_at, rowid) > ($at, $row)
          ORDER BY matched_at, rowid LIMIT $limit + 0)
        ORDER BY matched_at DESC, row DESC LIMIT 1`,
    )
    .get({ at: after.matched_at, row: after.row, before_at, limit })
  if (last === null) return null
  db.query(
    `DELETE FROM match_bodies AS old
      WHERE (matched_at, rowid) > ($from_at, $from_row) AND (matched_at, rowid) <= ($at, $row)
        AND seq < (SELECT max(seq) FROM match_bodies WHERE monitor_id = old.monitor_id)`,
  ).run({ from_at: after.matched_at, from_row: after.row, at: last.matched_at, row: last.row })
  return last
}
