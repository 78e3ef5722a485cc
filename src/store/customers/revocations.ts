import { Database } from 'bun:sqlite'

import type { Ring } from '../../core/base/secrets.ts'
import { type Db, transact } from '../db/connection.ts'
import { deleteWebhook, updateWebhook } from '../delivery/webhooks.ts'

/** An API key that works again although it was revoked after the backup was taken. */
type RevivedKey = { id: string; prefix: string; customer: string | null; revoked_at: number }

/** A webhook whose secret is the one from before a rotation, or that delivers again although it was deleted. */
type RevivedWebhook = { id: string; customer: string; change: 'secret_rotated' | 'deleted' }

/** Access that a restored database allows and the one before it did not. */
export type Revived = { keys: RevivedKey[]; webhooks: RevivedWebhook[] }

type Opener = Pick<Ring, 'unseal'>

type KeyRow = { id: string; customer_id: string | null; prefix: string; customer: string | null }
type WebhookRow = { id: string; customer_id: string; customer: string; secret: Uint8Array }
type ReplacedWebhook = {
  id: string
  secret: Uint8Array
  public_key: Uint8Array | null
  old_secret: Uint8Array | null
  old_secret_until: number | null
  deleted_at: number | null
}

/** The same rows in the replaced database. */
type Replaced = {
  /** Time of the revocation of a key, by its own id or that of its removed customer. */
  revoked_at: Map<string, number>
  webhooks: Map<string, ReplacedWebhook>
}

/**
 * Compares a restored database with the one that it replaced. Null when that one cannot be read, as when it was damaged or
 * is of another schema. It is only read, so that it can still be put back.
 */
export function findRevived(db: Db, ring: Opener, replaced_file: string): Revived | null {
  const replaced = readReplaced(replaced_file)
  if (replaced === null) return null
  return {
    keys: listKeys(db, replaced),
    webhooks: listWebhooks(db, ring, replaced).map(({ row, replaced_by }) => ({
      id: row.id,
      customer: row.customer,
      change: replaced_by.deleted_at === null ? 'secret_rotated' : 'deleted',
    })),
  }
}

/**
 * Reverts the access that {@link findRevived} lists: keys are revoked, deleted webhooks are deleted, and webhooks sign
 * with the current secret of their customers. A webhook whose newer secret cannot be decrypted is switched off.
 */
export function revokeAgain(db: Db, ring: Opener, replaced_file: string, now: number): void {
  const replaced = readReplaced(replaced_file)
  if (replaced === null) return
  const revoke = db.query('UPDATE api_keys SET revoked_at = $revoked_at WHERE id = $id')
  const reseal = db.query(
    `UPDATE webhooks SET secret = $secret, public_key = $public_key, old_secret = $old_secret, old_secret_until = $old_secret_until
      WHERE id = $id`,
  )
  transact(db, () => {
    for (const { id, revoked_at } of listKeys(db, replaced)) revoke.run({ id, revoked_at })
    for (const { row, replaced_by } of listWebhooks(db, ring, replaced)) {
      const { id, customer_id } = row
      const { secret, public_key, old_secret, old_secret_until } = replaced_by
      if (replaced_by.deleted_at !== null) deleteWebhook(db, customer_id, id, now)
      else if (secretOf(ring, id, secret) === null)
        updateWebhook(db, customer_id, id, { active: false })
      else reseal.run({ id, secret, public_key, old_secret, old_secret_until })
    }
  })
}

/** A connection that only reads leaves the file and its log as they are. */
function readReplaced(file: string): Replaced | null {
  let replaced: Database | null = null
  try {
    replaced = new Database(file, { readonly: true })
    const revoked = replaced
      .query<{ id: string; at: number }, []>(
        `SELECT id, revoked_at AS at FROM api_keys WHERE revoked_at IS NOT NULL
         UNION ALL SELECT id, removed_at FROM customers WHERE removed_at IS NOT NULL`,
      )
      .all()
    const webhooks = replaced
      .query<ReplacedWebhook, []>(
        'SELECT id, secret, public_key, old_secret, old_secret_until, deleted_at FROM webhooks',
      )
      .all()
    return {
      revoked_at: new Map(revoked.map(({ id, at }) => [id, at])),
      webhooks: new Map(webhooks.map((row) => [row.id, row])),
    }
  } catch {
    // Damaged pages show only when they are read, and another schema has other columns.
    return null
  } finally {
    replaced?.close()
  }
}

const listKeys = (db: Db, { revoked_at }: Replaced): RevivedKey[] =>
  db
    .query<KeyRow, []>(
      `SELECT k.id, k.customer_id, k.prefix, c.name AS customer
         FROM api_keys k LEFT JOIN customers c ON c.id = k.customer_id
        WHERE k.revoked_at IS NULL AND c.removed_at IS NULL ORDER BY k.created_at, k.id`,
    )
    .all()
    .flatMap(({ id, customer_id, prefix, customer }) => {
      const at = revoked_at.get(id) ?? revoked_at.get(customer_id ?? '')
      return at === undefined ? [] : [{ id, prefix, customer, revoked_at: at }]
    })

const listWebhooks = (db: Db, ring: Opener, { webhooks }: Replaced) =>
  db
    .query<WebhookRow, []>(
      `SELECT w.id, w.customer_id, c.name AS customer, w.secret
         FROM webhooks w JOIN customers c ON c.id = w.customer_id
        WHERE w.deleted_at IS NULL ORDER BY w.created_at, w.id`,
    )
    .all()
    .flatMap((row) => {
      const replaced_by = webhooks.get(row.id)
      if (replaced_by === undefined) return []
      // Equal secrets may have different sealed bytes, so their plaintexts are compared.
      const newer = secretOf(ring, row.id, replaced_by.secret)
      const is_same = newer !== null && newer === secretOf(ring, row.id, row.secret)
      return is_same && replaced_by.deleted_at === null ? [] : [{ row, replaced_by }]
    })

function secretOf(ring: Opener, webhook_id: string, sealed: Uint8Array): string | null {
  try {
    return ring.unseal(`webhooks.secret:${webhook_id}`, sealed)
  } catch {
    return null
  }
}
