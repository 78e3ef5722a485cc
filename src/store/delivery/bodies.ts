import { hash } from 'node:crypto'

import { type Db, transact } from '../db/connection.ts'
import { requestScrub } from '../erasure/scrub.ts'

// Bodies stay in the database, compressed. Rejected: a separate archive, which would be a second file to back up,
// restore and keep consistent.

const ZSTD = [0x28, 0xb5, 0x2f, 0xfd]
const LEVEL = 9

/** The bytes of a body as sent, compressed or not. JSON never begins like zstd. */
export function unpackBody(stored: Uint8Array): Uint8Array {
  return ZSTD.every((byte, at) => stored[at] === byte) ? Bun.zstdDecompressSync(stored) : stored
}

type Row = {
  row: number
  id: string
  monitor_id: string
  status: string
  created_at: number
  body: Uint8Array
}

/** Progress of one kind of work on old bodies, stored in the row of the instance. */
type Cursor = 'packed_to' | 'blanked_to'

/**
 * Bounds of the work: rows created before `before_at`. A row dated more than an hour after `now` was written by a
 * wrong clock.
 */
type Old = { before_at: number; now: number }
const AHEAD_MS = 3_600_000

/**
 * Compresses the bodies of up to `limit` deliveries older than `before_at`; their rows stay unchanged. Returns the
 * number of deliveries.
 */
export function packBodies(db: Db, old: Old, limit: number): number {
  const pack = db.query('UPDATE delivery_bodies SET body = $body WHERE delivery_row = $row')
  return walk(db, 'packed_to', old, limit, ({ row, body }) => {
    const whole = unpackBody(body)
    const packed = Bun.zstdCompressSync(whole, { level: LEVEL })
    if (packed.length < whole.length) pack.run({ row, body: packed })
  })
}

/**
 * Blanks up to `limit` deliveries older than `before_at` and the excerpts of their receivers' responses; rows and ids
 * stay. Returns the number of deliveries.
 */
export function blankBodies(db: Db, old: Old, limit: number): number {
  return walk(db, 'blanked_to', old, limit, createBlank(db))
}

/** Creates the blanking of one delivery: its body, and what its receiver answered. */
function createBlank(db: Db): (row: Pick<Row, 'row' | 'id' | 'monitor_id'>) => void {
  const blank = db.query(
    'UPDATE delivery_bodies SET body = $body, body_sha256 = $digest WHERE delivery_row = $row',
  )
  const forget = db.query(
    'UPDATE attempts SET headers = NULL, body_start = NULL WHERE delivery_row = $row',
  )
  return ({ row, id, monitor_id }) => {
    const body = Buffer.from(
      JSON.stringify({ delivery_id: id, monitor_id, count: 0, grouped: false, items: [] }),
    )
    blank.run({ row, body, digest: hash('sha256', body, 'buffer') })
    forget.run({ row })
  }
}

/** Walks the deliveries in write order, up to the first that is not old enough or still waits. */
function walk(
  db: Db,
  cursor: Cursor,
  { before_at, now }: Old,
  limit: number,
  work: (row: Row) => void,
): number {
  return transact(db, () => {
    const from = db.query<{ at: number }, []>(`SELECT ${cursor} AS at FROM instance`).get()?.at ?? 0
    // A delivery that still waits keeps its bytes, and is revisited.
    const stays = ({ row, created_at, status }: Pick<Row, 'row' | 'created_at' | 'status'>) =>
      status === 'pending' || (datedAt(row, created_at) ?? Infinity) >= before_at
    // A row dated ahead by a wrong clock is known only to be written before the next row.
    const datedAt = (row: number, created_at: number): number | undefined =>
      created_at <= now + AHEAD_MS
        ? created_at
        : db
            .query<{ at: number }, [{ row: number; latest: number }]>(
              'SELECT created_at AS at FROM deliveries WHERE row > $row AND created_at <= $latest ORDER BY row LIMIT 1',
            )
            .get({ row, latest: now + AHEAD_MS })?.at
    // Usually there is nothing to do, which one row shows.
    const next = db
      .query<Pick<Row, 'row' | 'created_at' | 'status'>, [{ from: number }]>(
        'SELECT row, created_at, status FROM deliveries WHERE row > $from ORDER BY row LIMIT 1',
      )
      .get({ from })
    if (next === null || stays(next)) return 0
    const rows = db
      .query<Row, [{ from: number; limit: number }]>(
        `SELECT row, id, monitor_id, status, created_at, body
           FROM deliveries JOIN delivery_bodies ON delivery_row = row
          WHERE row > $from ORDER BY row LIMIT $limit`,
      )
      .all({ from, limit })
    const end = rows.findIndex(stays)
    const old = end === -1 ? rows : rows.slice(0, end)
    for (const row of old) work(row)
    const last = old.at(-1)
    if (last) db.query(`UPDATE instance SET ${cursor} = $at`).run({ at: last.row })
    if (last && cursor === 'blanked_to') requestScrub(db)
    return old.length
  })
}
