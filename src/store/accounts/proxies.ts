import * as z from 'zod'

import { once } from '../../core/base/lazy.ts'
import type { Ring } from '../../core/base/secrets.ts'
import { type Proxy, PROXY_SCHEMES } from '../../core/forum/proxy.ts'
import { type Db, transact } from '../db/connection.ts'

/** One of the operator's proxies, by name. Its address is sealed and read separately. */
export type ProxyRow = {
  id: string
  name: string
  created_at: number
  last_ok_at: number | null
  last_error: string | null
}

const COLUMNS = 'id, name, created_at, last_ok_at, last_error'

const placeOf = (id: string) => `proxies.url:${id}`

const proxyShape = once(() =>
  z.strictObject({
    scheme: z.enum(PROXY_SCHEMES),
    host: z.string(),
    port: z.number(),
    username: z.string().nullable(),
    password: z.string().nullable(),
  }),
)

/** @throws {SQLiteError} when the name is taken */
export function insertProxy(
  db: Db,
  ring: Ring,
  { proxy, ...row }: { id: string; name: string; proxy: Proxy; created_at: number },
): void {
  db.query(
    'INSERT INTO proxies (id, name, url, created_at) VALUES ($id, $name, $url, $created_at)',
  ).run({ ...row, url: ring.seal(placeOf(row.id), JSON.stringify(proxy)) })
}

/** A proxy by its name; null when there is none. */
export function findProxyByName(db: Db, name: string): ProxyRow | null {
  return db
    .query<ProxyRow, [{ name: string }]>(`SELECT ${COLUMNS} FROM proxies WHERE name = $name`)
    .get({ name })
}

export function listProxies(db: Db): ProxyRow[] {
  return db.query<ProxyRow, []>(`SELECT ${COLUMNS} FROM proxies ORDER BY name`).all()
}

/**
 * The address of a proxy with its credentials; null when there is none.
 * @throws {SealBroken} when it cannot be decrypted
 */
export function openProxy(db: Db, ring: Ring, id: string): Proxy | null {
  const row = db
    .query<{ url: Uint8Array }, [{ id: string }]>('SELECT url FROM proxies WHERE id = $id')
    .get({ id })
  return row && proxyShape().parse(JSON.parse(ring.unseal(placeOf(id), row.url)))
}

/** Records the outcome of a proxy test; `error` null: success. */
export function recordProxyTest(db: Db, id: string, error: string | null, now: number): void {
  db.query(
    `UPDATE proxies SET last_error = $error,
            last_ok_at = CASE WHEN $error IS NULL THEN $now ELSE last_ok_at END WHERE id = $id`,
  ).run({ id, error, now })
}

/** Removes a proxy. Returns the names of the accounts that use it; if there are any, nothing is removed. */
export function removeProxy(db: Db, id: string): string[] {
  return transact(db, () => {
    const pinned = db
      .query<{ name: string }, [{ id: string }]>(
        'SELECT name FROM accounts WHERE proxy_id = $id ORDER BY name',
      )
      .all({ id })
      .map(({ name }) => name)
    if (pinned.length === 0) db.query('DELETE FROM proxies WHERE id = $id').run({ id })
    return pinned
  })
}
