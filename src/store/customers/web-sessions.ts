import { timingSafeEqual } from 'node:crypto'

import { type Db, transact } from '../db/connection.ts'
import { findKeyById, type KeyHolder, touchKey } from './keys.ts'

export const SESSION_IDLE_MS = 7 * 86_400_000
/** Most sessions of one key; the one unused for longest is removed first. */
const SESSIONS_MAX = 20

export const LINK_VALID_MS = 15 * 60_000
/** Most unused sign-in links of one key; the oldest is removed first. */
const LINKS_MAX = 5

export type WebSession = KeyHolder & { hash: Uint8Array; last_used_at: number }

/** Browser and system in a few words, null if not known, and the address of a sign-in. */
type SignInOrigin = { browser: string | null; address: string }

/** A session as its key's holder sees it. `id` is a part of the hash, which opens nothing. Epoch milliseconds. */
export type ListedSession = SignInOrigin & { id: string; created_at: number; last_used_at: number }

/** SHA-256 of a session's token, the only stored form. */
const hashOf = (token: string): Uint8Array => new Bun.CryptoHasher('sha256').update(token).digest()

export function insertWebSession(
  db: Db,
  { token, ...session }: { token: string; key_id: string } & SignInOrigin,
  now: number,
): void {
  const { key_id } = session
  transact(db, () => {
    db.query('DELETE FROM web_sessions WHERE last_used_at <= $ended').run({
      ended: now - SESSION_IDLE_MS,
    })
    db.query(
      `INSERT INTO web_sessions (hash, key_id, created_at, last_used_at, browser, address)
       VALUES ($hash, $key_id, $now, $now, $browser, $address)`,
    ).run({ hash: hashOf(token), ...session, now })
    db.query(
      `DELETE FROM web_sessions WHERE key_id = $key_id AND hash IN
         (SELECT hash FROM web_sessions WHERE key_id = $key_id AND hash <> $hash
           ORDER BY last_used_at DESC LIMIT -1 OFFSET ${SESSIONS_MAX - 1})`,
    ).run({ key_id, hash: hashOf(token) })
  })
}

/**
 * The holder of a session's token; null when the session is unknown or ended, or its key is no longer valid. Read for
 * every call, so that a key revoked by another process ends its sessions at once.
 */
export function findWebSession(db: Db, token: string, now: number): WebSession | null {
  const hash = hashOf(token)
  const row = db
    .query<
      { hash: Uint8Array; key_id: string; last_used_at: number },
      [{ hash: Uint8Array; ended: number }]
    >(
      `SELECT hash, key_id, last_used_at FROM web_sessions
        WHERE hash = $hash AND last_used_at > $ended`,
    )
    .get({ hash, ended: now - SESSION_IDLE_MS })
  if (!row || !timingSafeEqual(row.hash, hash)) return null
  const holder = findKeyById(db, row.key_id, now)
  return holder && { ...holder, hash, last_used_at: row.last_used_at }
}

/** Records the last use of a session and its key; the times never move back. */
export function touchWebSession(db: Db, { hash, key }: WebSession, now: number): void {
  transact(db, () => {
    db.query(
      'UPDATE web_sessions SET last_used_at = $now WHERE hash = $hash AND last_used_at < $now',
    ).run({ hash, now })
    touchKey(db, key.id, now)
  })
}

export function removeWebSessions(db: Db): void {
  db.run('DELETE FROM web_sessions')
  db.run('DELETE FROM sign_in_links')
}

/** Ends a session, if it exists. */
export function removeWebSession(db: Db, token: string): void {
  db.query('DELETE FROM web_sessions WHERE hash = $hash').run({ hash: hashOf(token) })
}

/** Public id of a session by its hash: 16 hexadecimal digits. */
export const sessionId = (hash: Uint8Array): string =>
  Buffer.from(hash.subarray(0, 8)).toString('hex')

/** Open sessions of one key, the last used first; at most `SESSIONS_MAX`. */
export function listWebSessions(db: Db, key_id: string, now: number): ListedSession[] {
  return db
    .query<
      Omit<ListedSession, 'id'> & { hash: Uint8Array },
      { key_id: string; ended: number; limit: number }
    >(
      `SELECT hash, created_at, last_used_at, browser, address FROM web_sessions
        WHERE key_id = $key_id AND last_used_at > $ended ORDER BY last_used_at DESC, hash LIMIT $limit`,
    )
    .all({ key_id, ended: now - SESSION_IDLE_MS, limit: SESSIONS_MAX })
    .map(({ hash, ...session }) => ({ id: sessionId(hash), ...session }))
}

/** Ends one session of this key by its public id. Returns false if the key has no such session. */
export function endWebSession(db: Db, key_id: string, id: string): boolean {
  return (
    db
      .query('DELETE FROM web_sessions WHERE key_id = $key_id AND substr(hash, 1, 8) = $start')
      .run({ key_id, start: Buffer.from(id, 'hex') }).changes > 0
  )
}

/** Ends every session of the key except this one, and the key's unused sign-in links. Returns the number of sessions. */
export function endOtherWebSessions(db: Db, { key, hash }: WebSession): number {
  return transact(db, () => {
    db.query('DELETE FROM sign_in_links WHERE key_id = $key_id').run({ key_id: key.id })
    return db
      .query('DELETE FROM web_sessions WHERE key_id = $key_id AND hash <> $hash')
      .run({ key_id: key.id, hash }).changes
  })
}

/** Stores the hash of a link that signs a browser in as this key, once; deletes expired links. */
export function insertSignInLink(
  db: Db,
  { token, key_id }: { token: string; key_id: string },
  now: number,
): void {
  transact(db, () => {
    db.query('DELETE FROM sign_in_links WHERE expires_at <= $now').run({ now })
    db.query(
      'INSERT INTO sign_in_links (hash, key_id, expires_at) VALUES ($hash, $key_id, $expires_at)',
    ).run({ hash: hashOf(token), key_id, expires_at: now + LINK_VALID_MS })
    db.query(
      `DELETE FROM sign_in_links WHERE key_id = $key_id AND hash IN
         (SELECT hash FROM sign_in_links WHERE key_id = $key_id
           ORDER BY expires_at DESC LIMIT -1 OFFSET ${LINKS_MAX})`,
    ).run({ key_id })
  })
}

/**
 * Uses up a sign-in link. Returns the holder of its key; null when the link is unknown, used or expired, or its key is no
 * longer valid. One statement, so that two requests at the same time cannot both succeed.
 */
export function useSignInLink(db: Db, token: string, now: number): KeyHolder | null {
  const row = db
    .query<{ key_id: string }, { hash: Uint8Array; now: number }>(
      'DELETE FROM sign_in_links WHERE hash = $hash AND expires_at > $now RETURNING key_id',
    )
    .get({ hash: hashOf(token), now })
  return row && findKeyById(db, row.key_id, now)
}
