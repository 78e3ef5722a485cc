import type { Unsettled } from '../../core/standby/unsettled.ts'
import type { Db } from '../db/connection.ts'

/** The time in which records of a former primary may be missing; null: it is over, or nothing is missing. */
export function readUnsettled(db: Db, now: number): Unsettled | null {
  const row = db
    .query<{ since: number | null; until: number | null }, []>(
      'SELECT unsettled_since AS since, unsettled_until AS until FROM instance',
    )
    .get()
  const { since = null, until = null } = row ?? {}
  return since === null || until === null || until <= now ? null : { since, until }
}

/** Begins that time; the caller has a transaction. */
export const beginUnsettled = (db: Db, { since, until }: Unsettled): void =>
  void db.query('UPDATE instance SET unsettled_since = ?, unsettled_until = ?').run(since, until)

/** Ends it early. False: nothing was unsettled. */
export const settleWrites = (db: Db, now: number): boolean =>
  db
    .query(
      'UPDATE instance SET unsettled_since = NULL, unsettled_until = NULL WHERE unsettled_until > ?',
    )
    .run(now).changes > 0
