import { IDEMPOTENCY_MS } from '../../core/limits/idempotency.ts'
import type { Db } from '../db/connection.ts'

/** The idempotency name of a write. Names are scoped by key and route. */
export type WriteName = { key_id: string; route: string; name: string }

export type NamedWrite = {
  body_hash: Uint8Array
  /** Sealed; null until the write has ended. */
  answer: Uint8Array | null
}

/** The write with this name from within the last day; null when there is none. */
export function findNamedWrite(db: Db, write: WriteName, now: number): NamedWrite | null {
  return db
    .query<NamedWrite, WriteName & { after: number }>(
      `SELECT body_hash, answer FROM idempotent_writes
        WHERE key_id = $key_id AND route = $route AND name = $name AND created_at > $after`,
    )
    .get({ ...write, after: now - IDEMPOTENCY_MS })
}

/**
 * Reserves a name for a write that is about to begin. The caller must have looked it up in the same transaction.
 * @throws {SQLiteError} when the name is taken
 */
export function claimName(db: Db, write: WriteName & { body_hash: Uint8Array }, now: number): void {
  db.query(
    `DELETE FROM idempotent_writes
      WHERE key_id = $key_id AND route = $route AND name = $name AND created_at <= $before`,
  ).run({ ...nameOf(write), before: now - IDEMPOTENCY_MS })
  db.query(
    `INSERT INTO idempotent_writes (key_id, route, name, body_hash, created_at)
     VALUES ($key_id, $route, $name, $body_hash, $now)`,
  ).run({ ...write, now })
}

/** Stores the first answer of a named write, sealed. */
export function recordAnswer(db: Db, write: WriteName, answer: Uint8Array): void {
  db.query(
    `UPDATE idempotent_writes SET answer = $answer
      WHERE key_id = $key_id AND route = $route AND name = $name`,
  ).run({ ...nameOf(write), answer })
}

/** Releases a name under which no action was taken. */
export function releaseName(db: Db, write: WriteName): void {
  db.query(
    'DELETE FROM idempotent_writes WHERE key_id = $key_id AND route = $route AND name = $name',
  ).run(nameOf(write))
}

/** Deletes names reserved before an instant, epoch ms. */
export function pruneNamedWrites(db: Db, before_at: number): void {
  db.query('DELETE FROM idempotent_writes WHERE created_at <= ?').run(before_at)
}

// The driver rejects parameters that a statement does not have.
const nameOf = ({ key_id, route, name }: WriteName): WriteName => ({ key_id, route, name })
