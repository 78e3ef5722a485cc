import { createHash } from 'node:crypto'

import { type Db, transact } from './db.ts'

// Bodies stay in the database, packed: an archive apart would be a second file to back up, to restore and to keep in step.

const ZSTD = [0x28, 0xb5, 0x2f, 0xfd]
const LEVEL = 9

/** The bytes of a body as they were frozen, whether it was packed since or not. JSON never begins as zstd does. */
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

/** How far one kind of work on old bodies has come is kept in the row of the instance. */
type Cursor = 'packed_to' | 'blanked_to'

/** Older than what, and by which clock: what is dated further ahead of `now` than an hour was written by one that was wrong. */
type Old = { before_at: number; now: number }
const AHEAD_MS = 3_600_000

/** Packs the bodies of up to `limit` deliveries older than `before_at`; their rows stay as they are. Returns how many. */
export function packBodies(db: Db, old: Old, limit: number): number {
  const pack = db.query('UPDATE delivery_bodies SET body = $body WHERE delivery_row = $row')
  return walk(db, 'packed_to', old, limit, ({ row, body }) => {
    const whole = unpackBody(body)
    const packed = Bun.zstdCompressSync(whole, { level: LEVEL })
    if (packed.length < whole.length) pack.run({ row, body: packed })
  })
}

/**
 * Takes the content out of up to `limit` deliveries older than `before_at`, and what their receivers said; the rows and
 * their ids stay. Returns how many.
 */
export function blankBodies(db: Db, old: Old, limit: number): number {
  const blank = db.query(
    'UPDATE delivery_bodies SET body = $body, body_sha256 = $digest WHERE delivery_row = $row',
  )
  const forget = db.query(
    'UPDATE attempts SET headers = NULL, body_start = NULL WHERE delivery_row = $row',
  )
  return walk(db, 'blanked_to', old, limit, ({ row, id, monitor_id }) => {
    const body = Buffer.from(
      JSON.stringify({ delivery_id: id, monitor_id, count: 0, grouped: false, items: [] }),
    )
    blank.run({ row, body, digest: createHash('sha256').update(body).digest() })
    forget.run({ row })
  })
}

/** Goes on through the deliveries in the order they were written, to the first that is not old enough, or still waits. */
function walk(
  db: Db,
  cursor: Cursor,
  { before_at, now }: Old,
  limit: number,
  work: (row: Row) => void,
): number {
  return transact(db, () => {
    const from = db.query<{ at: number }, []>(`SELECT ${cursor} AS at FROM instance`).get()?.at ?? 0
    // What still waits, after all this time, keeps the bytes that it is to be sent with, and is come back to.
    const stays = ({ row, created_at, status }: Pick<Row, 'row' | 'created_at' | 'status'>) =>
      status === 'pending' || (datedAt(row, created_at) ?? Infinity) >= before_at
    // Of a row that a wrong clock has dated ahead nothing is known but that the next one was written after it.
    const datedAt = (row: number, created_at: number): number | undefined =>
      created_at <= now + AHEAD_MS
        ? created_at
        : db
            .query<{ at: number }, [{ row: number; latest: number }]>(
              'SELECT created_at AS at FROM deliveries WHERE row > $row AND created_at <= $latest ORDER BY row LIMIT 1',
            )
            .get({ row, latest: now + AHEAD_MS })?.at
    // Mostly there is nothing to do, which a look at one row tells.
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
    return old.length
  })
}
