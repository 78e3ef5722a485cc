import { IDEMPOTENCY_MS } from '../core/idempotency.ts'
import type { Db } from './db.ts'

/** A write as its caller named it: names are the key's own, and each route's. */
export type WriteName = { key_id: string; route: string; name: string }

/** A write that its caller has named, so that a repeat is known. */
export type NamedWrite = {
  body_hash: Uint8Array
  /** Sealed; null until the write has ended. */
  answer: Uint8Array | null
}

/** The write that was named so within a day; null when there is none. */
export function findNamedWrite(db: Db, write: WriteName, now: number): NamedWrite | null {
  return db
    .query<NamedWrite, WriteName & { after: number }>(
      `SELECT body_hash, answer FROM named_writes
        WHERE key_id = $key_id AND route = $route AND name = $name AND created_at > $after`,
    )
    .get({ ...write, after: now - IDEMPOTENCY_MS })
}

/** Takes a name for a write that is about to begin. Throws where it is taken: look first, in the same transaction. */
export function claimName(db: Db, write: WriteName & { body_hash: Uint8Array }, now: number): void {
  db.query(
    `DELETE FROM named_writes
      WHERE key_id = $key_id AND route = $route AND name = $name AND created_at <= $before`,
  ).run({ ...nameOf(write), before: now - IDEMPOTENCY_MS })
  db.query(
    `INSERT INTO named_writes (key_id, route, name, body_hash, created_at)
     VALUES ($key_id, $route, $name, $body_hash, $now)`,
  ).run({ ...write, now })
}

/** Keeps the first answer of a named write, sealed. */
export function recordAnswer(db: Db, write: WriteName, answer: Uint8Array): void {
  db.query(
    `UPDATE named_writes SET answer = $answer
      WHERE key_id = $key_id AND route = $route AND name = $name`,
  ).run({ ...nameOf(write), answer })
}

/** Gives a name back: nothing was done under it. */
export function releaseName(db: Db, write: WriteName): void {
  db.query(
    'DELETE FROM named_writes WHERE key_id = $key_id AND route = $route AND name = $name',
  ).run(nameOf(write))
}

/** Forgets writes that were named before an instant. */
export function pruneNamedWrites(db: Db, before_at: number): void {
  db.query('DELETE FROM named_writes WHERE created_at <= ?').run(before_at)
}

// The driver refuses parameters that a statement does not have.
const nameOf = ({ key_id, route, name }: WriteName): WriteName => ({ key_id, route, name })
