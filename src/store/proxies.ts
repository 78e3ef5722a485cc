import * as z from 'zod'

import { once } from '../core/once.ts'
import { type Proxy, PROXY_SCHEMES } from '../core/proxy.ts'
import type { Ring } from '../core/seal.ts'
import { type Db, transact } from './db.ts'

/** A way out of the operator's, by name; where it leads is sealed and read apart. */
export type ProxyRow = {
  id: string
  name: string
  created_at: number
  last_ok_at: number | null
  last_error: string | null
}

const COLUMNS = 'id, name, created_at, last_ok_at, last_error'

const placeOf = (id: string) => `proxies.way:${id}`

const wayShape = once(() =>
  z.strictObject({
    scheme: z.enum(PROXY_SCHEMES),
    host: z.string(),
    port: z.number(),
    username: z.string().nullable(),
    password: z.string().nullable(),
  }),
)

/** Writes a new way out, sealed. Throws SQLite's own error when the name is taken. */
export function insertProxy(
  db: Db,
  ring: Ring,
  { way, ...row }: { id: string; name: string; way: Proxy; created_at: number },
): void {
  db.query(
    'INSERT INTO proxies (id, name, way, created_at) VALUES ($id, $name, $way, $created_at)',
  ).run({ ...row, way: ring.seal(placeOf(row.id), JSON.stringify(way)) })
}

/** A way out by its name; null when there is none. */
export function findProxyByName(db: Db, name: string): ProxyRow | null {
  return db
    .query<ProxyRow, [{ name: string }]>(`SELECT ${COLUMNS} FROM proxies WHERE name = $name`)
    .get({ name })
}

/** Every way out, by name. */
export function listProxies(db: Db): ProxyRow[] {
  return db.query<ProxyRow, []>(`SELECT ${COLUMNS} FROM proxies ORDER BY name`).all()
}

/** Where a way out leads, with its credentials; null when there is none. Throws SealBroken when it does not open. */
export function openWay(db: Db, ring: Ring, id: string): Proxy | null {
  const row = db
    .query<{ way: Uint8Array }, [{ id: string }]>('SELECT way FROM proxies WHERE id = $id')
    .get({ id })
  return row && wayShape().parse(JSON.parse(ring.unseal(placeOf(id), row.way)))
}

/** Notes how a try of a way out ended: `error` null is well. */
export function recordProxyTest(db: Db, id: string, error: string | null, now: number): void {
  db.query(
    `UPDATE proxies SET last_error = $error,
            last_ok_at = CASE WHEN $error IS NULL THEN $now ELSE last_ok_at END WHERE id = $id`,
  ).run({ id, error, now })
}

/** Removes a way out; the names of the accounts that leave through it when there are any, and then nothing changes. */
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
