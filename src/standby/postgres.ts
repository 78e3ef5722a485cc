import { errorCode } from '../core/base/errors.ts'
import type { Clock } from '../runtime/runtime.ts'
import { LeaseUnreachable, type Register } from './register.ts'

const DEFAULT_ROW = 'forumd'
/** Another process creates the table at the same time: both `IF NOT EXISTS` see none, one of them fails. */
const ALREADY_THERE = /^(23505|42P07)$/

/**
 * The register as one row of a table of PostgreSQL, `postgres://user:password@host:5432/database?lease=NAME`. The table
 * `forumd_lease` is created if it is missing. A conditional UPDATE is the swap: the server's clock plays no part.
 */
export function openPostgres(
  address: string,
  { timeout_ms, sleep }: { timeout_ms: number; sleep: Clock['sleep'] },
): Register {
  const url = new URL(address)
  const name = url.searchParams.get('lease') ?? DEFAULT_ROW
  url.searchParams.delete('lease')
  let sql: Bun.SQL | null = null
  let has_table = false

  const connection = (): Bun.SQL =>
    (sql ??= new Bun.SQL(url.href, {
      max: 1,
      connectionTimeout: Math.ceil(timeout_ms / 1000),
      idleTimeout: 0,
      onclose: () => {},
    }))

  async function within<T>(work: (db: Bun.SQL) => Promise<T>): Promise<T> {
    const db = connection()
    const done = new AbortController()
    const timeout = sleep(timeout_ms, done.signal).then(() => {
      throw new LeaseUnreachable('timeout')
    })
    // Woken by the answer too, when the race is over.
    timeout.catch(() => {})
    try {
      return await Promise.race([prepared(db, work), timeout])
    } catch (error) {
      // A connection without an answer may be half open: the next call makes one of its own.
      sql = null
      void db.close({ timeout: 0 }).catch(() => {})
      throw error instanceof LeaseUnreachable ? error : new LeaseUnreachable(codeOf(error))
    } finally {
      done.abort('ended')
    }
  }

  async function prepared<T>(db: Bun.SQL, work: (db: Bun.SQL) => Promise<T>): Promise<T> {
    if (!has_table) {
      await db`CREATE TABLE IF NOT EXISTS forumd_lease (name text PRIMARY KEY, version bigint NOT NULL, record text NOT NULL)`.catch(
        (error: unknown) => {
          if (!ALREADY_THERE.test(codeOf(error))) throw error
        },
      )
      has_table = true
    }
    return work(db)
  }

  return {
    read: () =>
      within(async (db) => {
        const [row] = await db<
          { version: string; record: string }[]
        >`SELECT version::text AS version, record FROM forumd_lease WHERE name = ${name}`
        return row === undefined ? null : { version: row.version, text: row.record }
      }),
    swap: (expected, text) =>
      within(async (db) => {
        const [row] =
          expected === null
            ? await db<
                { version: string }[]
              >`INSERT INTO forumd_lease (name, version, record) VALUES (${name}, 1, ${text}) ON CONFLICT (name) DO NOTHING RETURNING version::text AS version`
            : await db<
                { version: string }[]
              >`UPDATE forumd_lease SET version = version + 1, record = ${text} WHERE name = ${name} AND version = ${expected}::bigint RETURNING version::text AS version`
        return row?.version ?? null
      }),
    async close() {
      await sql?.close({ timeout: 0 }).catch(() => {})
      sql = null
    },
  }
}

/** SQLSTATE of an error of the server, otherwise its code. */
function codeOf(error: unknown): string {
  if (error instanceof Error && 'errno' in error && typeof error.errno === 'string')
    return error.errno
  return errorCode(error) || 'unreachable'
}
