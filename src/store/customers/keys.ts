import { timingSafeEqual } from 'node:crypto'

import { type Db, transact } from '../db/connection.ts'
import type { Customer } from './customers.ts'

/**
 * Permissions of a key. `webhook`: to change where matches are sent, which a model's key should not have. `approve`: a person
 * may approve drafts of the key in an MCP client. `operator`: the calls of an operator's key too, for the owner of the daemon.
 */
export const SCOPES = ['read', 'write', 'monitor', 'webhook', 'approve', 'operator'] as const
export type Scope = (typeof SCOPES)[number]
/** Scopes of a key without a list. `approve` trusts the client and `operator` the holder, so they are given by name only. */
export const DEFAULT_SCOPES = [
  'read',
  'write',
  'monitor',
  'webhook',
] as const satisfies readonly Scope[]
/** Scopes of the key of an owner, who is customer and operator at once. */
export const OWNER_SCOPES: readonly Scope[] = [...DEFAULT_SCOPES, 'operator']

/** Characters of a key that are stored for display. */
const PREFIX_CHARACTERS = 8

/** An API key without its secret. Epoch milliseconds. */
export type Key = {
  id: string
  /** Null for an operator's key. */
  customer_id: string | null
  prefix: string
  name: string | null
  scopes: Scope[]
  created_at: number
  expires_at: number | null
  last_used_at: number | null
  revoked_at: number | null
}

/** A valid key and its customer; `customer` is null for an operator's key. */
export type KeyHolder = { key: Key; customer: Customer | null }

type KeyRow = Omit<Key, 'scopes'> & { scopes: string }
type FoundRow = KeyRow & {
  hash: Uint8Array
  customer_name: string | null
  plan: string | null
  balance_micros: number | null
  unlimited: number | null
  customer_created_at: number | null
}

const COLUMNS =
  'id, customer_id, prefix, name, scopes, created_at, expires_at, last_used_at, revoked_at'

const isScope = (text: string): text is Scope => SCOPES.some((scope) => scope === text)
const toKey = ({ scopes, ...row }: KeyRow): Key => ({
  ...row,
  scopes: scopes.split(' ').filter(isScope),
})

/** SHA-256 of a key, the only stored form. */
const hashKey = (token: string): Uint8Array => new Bun.CryptoHasher('sha256').update(token).digest()

/**
 * Stores a key's hash and display prefix, never the key.
 * @throws {SQLiteError} when the key exists already
 */
export function insertKey(
  db: Db,
  row: {
    id: string
    customer_id: string | null
    token: string
    name: string | null
    scopes: readonly Scope[]
    created_at: number
    expires_at: number | null
  },
): void {
  const { token, scopes, ...rest } = row
  transact(db, () => {
    db.query(
      `INSERT INTO api_keys (id, customer_id, hash, prefix, name, scopes, created_at, expires_at)
       VALUES ($id, $customer_id, $hash, $prefix, $name, $scopes, $created_at, $expires_at)`,
    ).run({
      ...rest,
      hash: hashKey(token),
      prefix: token.slice(0, PREFIX_CHARACTERS),
      scopes: scopes.join(' '),
    })
  })
}

/**
 * The holder of a key; null when it is unknown, expired, revoked, or its customer was removed. Read for every call, so
 * that a revocation by another process takes effect at once. The time does not depend on how close a guess is.
 */
export function findKey(db: Db, token: string, now: number): KeyHolder | null {
  const hash = hashKey(token)
  const row = db.query<FoundRow, { hash: Uint8Array; now: number }>(BY_HASH).get({ hash, now })
  return row && timingSafeEqual(row.hash, hash) ? toHolder(row) : null
}

/** The same by a key's id, such as that of a session. */
export function findKeyById(db: Db, id: string, now: number): KeyHolder | null {
  const row = db.query<FoundRow, { id: string; now: number }>(BY_ID).get({ id, now })
  return row && toHolder(row)
}

const OPEN_KEYS = `SELECT k.id, k.customer_id, k.prefix, k.name, k.scopes, k.created_at, k.expires_at,
              k.last_used_at, k.revoked_at, k.hash, c.name AS customer_name, c.plan,
              c.balance_micros, c.unlimited, c.created_at AS customer_created_at
         FROM api_keys k LEFT JOIN customers c ON c.id = k.customer_id AND c.removed_at IS NULL
        WHERE k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > $now)`
const BY_HASH = `${OPEN_KEYS} AND k.hash = $hash`
const BY_ID = `${OPEN_KEYS} AND k.id = $id`

/** The holder of a valid key; null when its customer was removed. */
function toHolder(row: FoundRow): KeyHolder | null {
  const {
    hash: _,
    customer_name,
    plan,
    balance_micros,
    unlimited,
    customer_created_at,
    ...key
  } = row
  if (key.customer_id === null) return { key: toKey(key), customer: null }
  if (
    customer_name === null ||
    plan === null ||
    balance_micros === null ||
    customer_created_at === null
  )
    return null
  return {
    key: toKey(key),
    customer: {
      id: key.customer_id,
      name: customer_name,
      plan,
      balance_micros,
      unlimited: unlimited === 1,
      created_at: customer_created_at,
    },
  }
}

/** Id of the operator's key of the commands on this machine. */
const COMMAND_KEY = 'key_command_line'

/** Replaces the key of the commands on this machine. */
export function replaceCommandKey(db: Db, token: string, now: number): void {
  transact(db, () => {
    const changed = db
      .query('UPDATE api_keys SET hash = $hash, prefix = $prefix WHERE id = $id')
      .run({ id: COMMAND_KEY, hash: hashKey(token), prefix: token.slice(0, PREFIX_CHARACTERS) })
    if (changed.changes > 0) return
    const name = 'command line'
    insertKey(db, {
      id: COMMAND_KEY,
      customer_id: null,
      token,
      name,
      scopes: [],
      created_at: now,
      expires_at: null,
    })
  })
}

/** A customer's keys, or every key; oldest first, closed ones included. */
export function listKeys(db: Db, customer_id?: string): Key[] {
  return db
    .query<KeyRow, { customer: string | null }>(
      `SELECT ${COLUMNS} FROM api_keys WHERE id != '${COMMAND_KEY}' AND ($customer IS NULL OR customer_id = $customer)
        ORDER BY created_at, id`,
    )
    .all({ customer: customer_id ?? null })
    .map(toKey)
}

/** Revokes the key of this id; false when there is none, or it is revoked already. */
export function revokeKey(db: Db, id: string, now: number): boolean {
  return transact(
    db,
    () =>
      db
        .query('UPDATE api_keys SET revoked_at = $now WHERE id = $id AND revoked_at IS NULL')
        .run({ id, now }).changes > 0,
  )
}

/** Records the last use of a key; the time never moves back. */
export function touchKey(db: Db, id: string, now: number): void {
  db.query(
    `UPDATE api_keys SET last_used_at = $now
      WHERE id = $id AND (last_used_at IS NULL OR last_used_at < $now)`,
  ).run({ id, now })
}
