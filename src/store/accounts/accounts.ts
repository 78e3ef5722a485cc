import { isDeepStrictEqual } from 'node:util'

import * as z from 'zod'

import {
  type AccountResult,
  type AccountStatus,
  newStatus,
  paused,
  type StateReason,
  unsigned,
} from '../../core/accounts/status.ts'
import { once } from '../../core/base/lazy.ts'
import type { Ring } from '../../core/base/secrets.ts'
import { HOME } from '../../core/forum/items.ts'
import { type Db, transact } from '../db/connection.ts'

export type AccountSecrets =
  | { kind: 'session'; password: string | null; totp_secret: string | null }
  | { kind: 'oauth'; client_id: string; client_secret: string; refresh_token: string | null }
type AccountKind = AccountSecrets['kind']

/** The operator's login on the platform. Its secrets and cookie jar are sealed and read separately. */
export type Account = {
  id: string
  /** The operator's name for it. */
  name: string
  /** Key of the source to which it belongs. */
  source: string
  kind: AccountKind
  /** Its name on the platform, or its sign-in name; null while unknown. */
  username: string | null
  proxy_id: string | null
  /** Expiry of its session cookie, epoch ms; null when the cookie has none. */
  jar_expires_at: number | null
  /** Number of changes that the operator has made to it. */
  revision: number
  login_failures: number
  /** Epoch ms before which no automatic sign-in happens; null: no limit. */
  next_login_at: number | null
  created_at: number
  last_used_at: number | null
  last_ok_at: number | null
} & AccountStatus

type Row = Omit<Account, keyof AccountStatus> & { status: string }

const COLUMNS =
  'id, name, source, kind, username, proxy_id, jar_expires_at, revision, login_failures, next_login_at, created_at, last_used_at, last_ok_at, status'

const toAccount = ({ status, ...row }: Row): Account => ({
  ...row,
  ...(JSON.parse(status) as AccountStatus),
})

const secretsPlace = (id: string) => `accounts.secrets:${id}`
const jarPlace = (id: string) => `accounts.jar:${id}`

const secretsShape = once(() =>
  z.discriminatedUnion('kind', [
    z.strictObject({
      kind: z.literal('session'),
      password: z.string().nullable(),
      totp_secret: z.string().nullable(),
    }),
    z.strictObject({
      kind: z.literal('oauth'),
      client_id: z.string(),
      client_secret: z.string(),
      refresh_token: z.string().nullable(),
    }),
  ]),
)

/** A session's cookies, or an application's token, in the format of the platform adapter; opaque here. */
export type StoredJar = { text: string; expires_at: number | null }

/** Credentials as they are stored after a check at the platform. */
type CheckedCredentials = {
  secrets: AccountSecrets
  jar: StoredJar | null
  username: string | null
  status: AccountStatus
}

/**
 * Result of a check of credentials. `finding`: of the session check; null after a sign-in. `reason`: cause of a sign-in
 * that did not succeed; it may later. Not ok: the platform rejects them definitely.
 */
export type CredentialsCheck =
  | ({
      ok: true
      finding: AccountResult['kind'] | null
      reason: StateReason | null
      /** Users whom the account has blocked; absent: none, or not known. */
      blocked?: readonly string[]
    } & CheckedCredentials)
  | { ok: false; reason: StateReason | null }

/** @throws {SQLiteError} when the name is taken */
export function insertAccount(
  db: Db,
  ring: Ring,
  it: {
    id: string
    name: string
    source?: string | undefined
    username: string | null
    secrets: AccountSecrets
    jar: StoredJar | null
    proxy_id: string | null
    status: AccountStatus
    created_at: number
  },
): void {
  const { id, name, source = HOME, username, secrets, jar, proxy_id, status, created_at } = it
  db.query(
    `INSERT INTO accounts (id, name, source, kind, username, secrets, jar, jar_expires_at, proxy_id, created_at, status)
     VALUES ($id, $name, $source, $kind, $username, $secrets, $jar, $jar_expires_at, $proxy_id, $created_at, $status)`,
  ).run({
    id,
    name,
    source,
    username,
    proxy_id,
    created_at,
    status: JSON.stringify(status),
    kind: secrets.kind,
    secrets: ring.seal(secretsPlace(id), JSON.stringify(secrets)),
    jar: jar && ring.seal(jarPlace(id), jar.text),
    jar_expires_at: jar?.expires_at ?? null,
  })
}

/** An account by its name; null when there is none. */
export function findAccountByName(db: Db, name: string): Account | null {
  const row = db
    .query<Row, [{ name: string }]>(`SELECT ${COLUMNS} FROM accounts WHERE name = $name`)
    .get({ name })
  return row && toAccount(row)
}

/** The accounts of a source; null: all. */
export const listAccounts = (db: Db, source: string | null = null): Account[] =>
  db
    .query<Row, [{ source: string | null }]>(
      `SELECT ${COLUMNS} FROM accounts WHERE $source IS NULL OR source = $source ORDER BY name`,
    )
    .all({ source })
    .map(toAccount)

type Sealed = { secrets: Uint8Array; jar: Uint8Array | null }

/**
 * The credentials of an account; null when there is none.
 * @throws {SealBroken} when they cannot be decrypted
 */
export function openAccount(
  db: Db,
  ring: Ring,
  id: string,
): { secrets: AccountSecrets; jar: string | null } | null {
  const row = db
    .query<Sealed, [{ id: string }]>('SELECT secrets, jar FROM accounts WHERE id = $id')
    .get({ id })
  if (!row) return null
  return {
    secrets: secretsShape().parse(JSON.parse(ring.unseal(secretsPlace(id), row.secrets))),
    jar: row.jar && ring.unseal(jarPlace(id), row.jar),
  }
}

/** Changes that a daemon has observed in an account since its last write. Absent fields stay unchanged. */
export type AccountUpdate = {
  id: string
  revision: number
  status: AccountStatus
  jar?: StoredJar | null
  secrets?: AccountSecrets
  username?: string | null
  login_failures: number
  next_login_at: number | null
  last_used_at: number | null
  last_ok_at: number | null
}

/**
 * Stores observed changes unless the operator has changed the account meanwhile. Returns true when they were stored.
 */
export function writeAccountUpdate(db: Db, ring: Ring, it: AccountUpdate): boolean {
  const { id, revision, status, jar, secrets, username = null, ...rest } = it
  const key = { id, revision }
  const { changes } = db
    .query(
      `UPDATE accounts SET status = $status, login_failures = $login_failures, next_login_at = $next_login_at,
              username = coalesce($username, username), last_used_at = $last_used_at, last_ok_at = $last_ok_at
        WHERE id = $id AND revision = $revision`,
    )
    .run({ ...key, ...rest, status: JSON.stringify(status), username })
  if (changes === 0) return false
  if (jar !== undefined)
    db.query(
      'UPDATE accounts SET jar = $jar, jar_expires_at = $expires_at WHERE id = $id AND revision = $revision',
    ).run({
      ...key,
      jar: jar && ring.seal(jarPlace(id), jar.text),
      expires_at: jar?.expires_at ?? null,
    })
  if (secrets !== undefined)
    db.query('UPDATE accounts SET secrets = $secrets WHERE id = $id AND revision = $revision').run({
      ...key,
      secrets: ring.seal(secretsPlace(id), JSON.stringify(secrets)),
    })
  return true
}

/**
 * Replaces an account's secrets by those that the platform issued for them, regardless of other changes by the
 * operator. False when different secrets are stored by now.
 */
export function exchangeSecrets(
  db: Db,
  ring: Ring,
  id: string,
  { before, after }: { before: AccountSecrets; after: AccountSecrets },
): boolean {
  return transact(db, () => {
    const opened = openAccount(db, ring, id)
    if (opened === null || !isDeepStrictEqual(opened.secrets, before)) return false
    db.query('UPDATE accounts SET secrets = $secrets WHERE id = $id').run({
      id,
      secrets: ring.seal(secretsPlace(id), JSON.stringify(after)),
    })
    return true
  })
}

/** Records a change by the operator, which makes the state held by a running daemon outdated. */
export function changeAccount(
  db: Db,
  ring: Ring,
  id: string,
  change: {
    status: AccountStatus
    jar?: StoredJar
    username?: string | null
    secrets?: AccountSecrets
  },
): void {
  const row = db
    .query<{ revision: number }, [{ id: string }]>(
      `UPDATE accounts SET revision = revision + 1, login_failures = 0, next_login_at = NULL
        WHERE id = $id RETURNING revision`,
    )
    .get({ id })
  if (row)
    writeAccountUpdate(db, ring, {
      ...lastUseOf(db, id),
      login_failures: 0,
      next_login_at: null,
      id,
      revision: row.revision,
      ...change,
    })
}

export function pauseAccount(db: Db, ring: Ring, id: string, now: number): void {
  changeAccount(db, ring, id, { status: paused(now) })
}

/** Resumes an account from any state. False when it has no session yet and waits for its sign-in. */
export function resumeAccount(db: Db, ring: Ring, id: string, now: number): boolean {
  const opened = openAccount(db, ring, id)
  const able = opened !== null && (opened.jar !== null || opened.secrets.kind === 'oauth')
  changeAccount(db, ring, id, { status: able ? newStatus(now) : unsigned(now) })
  return able
}

const lastUseOf = (db: Db, id: string) =>
  db
    .query<{ last_used_at: number | null; last_ok_at: number | null }, [{ id: string }]>(
      'SELECT last_used_at, last_ok_at FROM accounts WHERE id = $id',
    )
    .get({ id }) ?? { last_used_at: null, last_ok_at: null }

export function removeAccount(db: Db, id: string): void {
  db.query('DELETE FROM accounts WHERE id = $id').run({ id })
}

/** A number that changes whenever another connection has written to the database; own writes leave it unchanged. */
export const writtenByOthers = (db: Db): number =>
  db.query<{ data_version: number }, []>('PRAGMA data_version').get()?.data_version ?? 0
