import { isDeepStrictEqual } from 'node:util'

import * as z from 'zod'

import { once } from '../core/once.ts'
import { newStanding, paused, type Standing, unsigned } from '../core/pool.ts'
import type { Ring } from '../core/seal.ts'
import { type Db, transact } from './db.ts'

/** What an account proves itself with, beside its cookies. */
export type AccountSecrets =
  | { kind: 'session'; password: string | null; totp_secret: string | null }
  | { kind: 'oauth'; client_id: string; client_secret: string; refresh_token: string | null }
type AccountKind = AccountSecrets['kind']

/** A login of the operator's on the platform; its secrets and its jar are sealed and read apart. */
export type Account = {
  id: string
  /** The operator's name for it. */
  name: string
  kind: AccountKind
  /** What it is called on the platform, or what it signs in with; null while nobody knows. */
  username: string | null
  proxy_id: string | null
  /** When its session cookie ends, as far as the cookie tells. */
  jar_expires_at: number | null
  /** How often the operator has changed it. */
  revision: number
  login_failures: number
  /** Before this nobody signs it in by itself; null: no matter when. */
  next_login_at: number | null
  created_at: number
  last_used_at: number | null
  last_ok_at: number | null
} & Standing

const STANDING =
  'state, state_reason, state_since, cooling_until, strikes, probes, probe_at' as const
const COLUMNS = `id, name, kind, username, proxy_id, jar_expires_at, revision, login_failures, next_login_at,
  created_at, last_used_at, last_ok_at, ${STANDING}`

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

/** A session's cookies, or an application's token, as the platform's room writes them; opaque here. */
export type Jar = { text: string; expires_at: number | null }

/** Writes a new account, everything secret sealed. Throws SQLite's own error when the name is taken. */
export function insertAccount(
  db: Db,
  ring: Ring,
  it: {
    id: string
    name: string
    username: string | null
    secrets: AccountSecrets
    jar: Jar | null
    proxy_id: string | null
    standing: Standing
    created_at: number
  },
): void {
  const { id, name, username, secrets, jar, proxy_id, standing, created_at } = it
  db.query(
    `INSERT INTO accounts (id, name, kind, username, secrets, jar, jar_expires_at, proxy_id, created_at, ${STANDING})
     VALUES ($id, $name, $kind, $username, $secrets, $jar, $jar_expires_at, $proxy_id, $created_at,
             $state, $state_reason, $state_since, $cooling_until, $strikes, $probes, $probe_at)`,
  ).run({
    id,
    name,
    username,
    proxy_id,
    created_at,
    ...standing,
    kind: secrets.kind,
    secrets: ring.seal(secretsPlace(id), JSON.stringify(secrets)),
    jar: jar && ring.seal(jarPlace(id), jar.text),
    jar_expires_at: jar?.expires_at ?? null,
  })
}

/** An account by its name; null when there is none. */
export function findAccountByName(db: Db, name: string): Account | null {
  return db
    .query<Account, [{ name: string }]>(`SELECT ${COLUMNS} FROM accounts WHERE name = $name`)
    .get({ name })
}

/** Every account, by name. */
export function listAccounts(db: Db): Account[] {
  return db.query<Account, []>(`SELECT ${COLUMNS} FROM accounts ORDER BY name`).all()
}

type Sealed = { secrets: Uint8Array; jar: Uint8Array | null }

/** What an account proves itself with; null when there is none. Throws SealBroken when it does not open. */
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

/** What a daemon has learned of an account since it last wrote it down; what is left out stays as it is. */
export type Learned = {
  id: string
  revision: number
  standing: Standing
  jar?: Jar | null
  secrets?: AccountSecrets
  username?: string | null
  login_failures: number
  next_login_at: number | null
  last_used_at: number | null
  last_ok_at: number | null
}

/** Writes down what was learned, unless the operator has changed the account meanwhile; whether it was written. */
export function recordLearned(db: Db, ring: Ring, it: Learned): boolean {
  const { id, revision, standing, jar, secrets, username = null, ...rest } = it
  const known = { id, revision }
  const { changes } = db
    .query(
      `UPDATE accounts SET state = $state, state_reason = $state_reason, state_since = $state_since,
              cooling_until = $cooling_until, strikes = $strikes, probes = $probes, probe_at = $probe_at,
              login_failures = $login_failures, next_login_at = $next_login_at,
              username = coalesce($username, username), last_used_at = $last_used_at, last_ok_at = $last_ok_at
        WHERE id = $id AND revision = $revision`,
    )
    .run({ ...known, ...standing, ...rest, username })
  if (changes === 0) return false
  if (jar !== undefined)
    db.query(
      'UPDATE accounts SET jar = $jar, jar_expires_at = $expires_at WHERE id = $id AND revision = $revision',
    ).run({
      ...known,
      jar: jar && ring.seal(jarPlace(id), jar.text),
      expires_at: jar?.expires_at ?? null,
    })
  if (secrets !== undefined)
    db.query('UPDATE accounts SET secrets = $secrets WHERE id = $id AND revision = $revision').run({
      ...known,
      secrets: ring.seal(secretsPlace(id), JSON.stringify(secrets)),
    })
  return true
}

/**
 * Puts what the platform gave in exchange for an account's secrets in their place, whatever else the operator has changed
 * of the account meanwhile. False where others stand there by now.
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

/** Notes a change by the operator: from here on, what a running daemon knows of the account is out of date. */
export function changeAccount(
  db: Db,
  ring: Ring,
  id: string,
  change: { standing: Standing; jar?: Jar; username?: string | null; secrets?: AccountSecrets },
): void {
  const row = db
    .query<{ revision: number }, [{ id: string }]>(
      `UPDATE accounts SET revision = revision + 1, login_failures = 0, next_login_at = NULL
        WHERE id = $id RETURNING revision`,
    )
    .get({ id })
  if (row)
    recordLearned(db, ring, {
      ...lastsOf(db, id),
      login_failures: 0,
      next_login_at: null,
      id,
      revision: row.revision,
      ...change,
    })
}

/** Takes an account out of use until somebody resumes it. */
export function pauseAccount(db: Db, ring: Ring, id: string, now: number): void {
  changeAccount(db, ring, id, { standing: paused(now) })
}

/**
 * Takes an account back into use, whatever it was put aside for. False when it has nothing yet with which to be anybody:
 * then it waits for its sign-in.
 */
export function resumeAccount(db: Db, ring: Ring, id: string, now: number): boolean {
  const opened = openAccount(db, ring, id)
  const able = opened !== null && (opened.jar !== null || opened.secrets.kind === 'oauth')
  changeAccount(db, ring, id, { standing: able ? newStanding(now) : unsigned(now) })
  return able
}

const lastsOf = (db: Db, id: string) =>
  db
    .query<{ last_used_at: number | null; last_ok_at: number | null }, [{ id: string }]>(
      'SELECT last_used_at, last_ok_at FROM accounts WHERE id = $id',
    )
    .get({ id }) ?? { last_used_at: null, last_ok_at: null }

/** Removes an account, secrets and all. */
export function removeAccount(db: Db, id: string): void {
  db.query('DELETE FROM accounts WHERE id = $id').run({ id })
}

/** Changes whenever another process has written to the database; own writes leave it as it is. */
export const writtenByOthers = (db: Db): number =>
  db.query<{ data_version: number }, []>('PRAGMA data_version').get()?.data_version ?? 0
