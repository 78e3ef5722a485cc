import type { Ring } from '../../core/base/secrets.ts'
import type { Db } from '../db/connection.ts'

/** The operator's account at a further source. Its credential is sealed and read separately. */
export type SourceAccount = { source: string; created_at: number }

const placeOf = (source: string) => `source_accounts.credential:${source}`

/** Stores the operator's credential of a source, in place of an earlier one. */
export function putSourceAccount(
  db: Db,
  ring: Ring,
  { credential, ...row }: SourceAccount & { credential: string },
): void {
  db.query(
    // Not an upsert: replacing a row runs the triggers of a deletion and an insertion, which the audit log has both.
    `INSERT OR REPLACE INTO source_accounts (source, credential, created_at) VALUES ($source, $credential, $created_at)`,
  ).run({ ...row, credential: ring.seal(placeOf(row.source), credential) })
}

export const listSourceAccounts = (db: Db): SourceAccount[] =>
  db
    .query<SourceAccount, []>('SELECT source, created_at FROM source_accounts ORDER BY source')
    .all()

/**
 * The operator's credential of a source; null when there is none.
 * @throws {SealBroken} when it cannot be decrypted
 */
export function openSourceAccount(db: Db, ring: Ring, source: string): string | null {
  const row = db
    .query<{ credential: Uint8Array }, [{ source: string }]>(
      'SELECT credential FROM source_accounts WHERE source = $source',
    )
    .get({ source })
  return row && ring.unseal(placeOf(source), row.credential)
}

/** Removes the operator's account at a source; false when there was none. */
export const removeSourceAccount = (db: Db, source: string): boolean =>
  db.query('DELETE FROM source_accounts WHERE source = $source').run({ source }).changes > 0

/** A source that an operator added beside those of the configuration file; a daemon reads it with its next start. */
export type StoredSource = { name: string; kind: string; base_url: string; created_at: number }

/** @throws {SQLiteError} when the name is taken */
export function insertSource(db: Db, it: StoredSource): void {
  db.query(
    'INSERT INTO sources (name, kind, base_url, created_at) VALUES ($name, $kind, $base_url, $created_at)',
  ).run(it)
}

/** The stored sources, oldest first. */
export const listStoredSources = (db: Db): StoredSource[] =>
  db
    .query<StoredSource, []>(
      'SELECT name, kind, base_url, created_at FROM sources ORDER BY created_at, name',
    )
    .all()

/** Removes a stored source; false when there was none. */
export const removeStoredSource = (db: Db, name: string): boolean =>
  db.query('DELETE FROM sources WHERE name = $name').run({ name }).changes > 0

/** The last requests to a host of sources, as its clients stored them; null before the first. */
export const findHostPace = (db: Db, host: string): string | null =>
  db
    .query<{ value: string }, [{ host: string }]>(
      "SELECT value FROM loop_state WHERE loop = 'pace' AND name = $host",
    )
    .get({ host })?.value ?? null

export function putHostPace(db: Db, host: string, state: string): void {
  db.query(
    "INSERT OR REPLACE INTO loop_state (loop, name, value) VALUES ('pace', $host, $state)",
  ).run({ host, state })
}
