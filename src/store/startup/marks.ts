import type { Mark } from '../../core/standby/nodes.ts'
import { type Db, transact } from '../db/connection.ts'

/**
 * Writes the next mark. A copy of the database that has it holds everything that was written before it.
 * @throws {Fenced} the lease of this process has ended
 */
export function writeMark(db: Db, now: number): Mark {
  return transact(db, () => {
    const row = db
      .query<{ mark: number }, [number]>(
        'UPDATE instance SET mark = mark + 1, marked_at = ? RETURNING mark',
      )
      .get(now)
    return { mark: row?.mark ?? 0, at: now }
  })
}

/** Changes of a database by this connection and by others; equal while nothing was written. */
export function writesOf(db: Db): string {
  const own = db.query<{ n: number }, []>('SELECT total_changes() AS n').get()?.n
  const others = db.query<{ data_version: number }, []>('PRAGMA data_version').get()?.data_version
  return `${own}.${others}`
}
