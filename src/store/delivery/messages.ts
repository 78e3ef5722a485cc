import { hash } from 'node:crypto'

import { deliveryBody, envelope, withoutErasedItems } from '../../core/delivery/envelope.ts'
import { insertRows } from '../db/bulk.ts'
import { type Db, foreignChanges, transact } from '../db/connection.ts'
import { requestScrub } from '../erasure/scrub.ts'

// Content is stored once, however many targets receive it, and stays in the database, compressed. Rejected: a separate archive,
// which would be a second file to back up, restore and keep consistent.

/** Rows of deliveries that a message has: a customer has at most as many targets. */
const DELIVERIES_MAX = 1000

/** Row of the delivery of a message to its nth target. */
export const deliveryRow = (message: number, nth = 0): number => message * DELIVERIES_MAX + nth

/** SQL of the message of a delivery, from its row. */
export const messageOf = (row: string): string => `${row} / ${DELIVERIES_MAX}`

/** JSON of the reason for which a delivery is not sent whose items were all erased. */
export const ITEM_DELETED = '{"reason":"item_deleted"}'

/** SQL condition of the deliveries of a message. */
export const ofMessage = (message: string): string =>
  `row BETWEEN ${message} * ${DELIVERIES_MAX} AND ${message} * ${DELIVERIES_MAX} + ${DELIVERIES_MAX - 1}`

/** Columns of a delivery `d` and its message `g` from which {@link renderBody} makes a body. */
export const BODY_COLUMNS =
  'd.id, d.monitor_id, d.status, d.reason, d.suppressed, g.body AS content, g.erased_at'

export type StoredBody = {
  id: string
  monitor_id: string
  status: string
  reason: string | null
  suppressed: string | null
  content: Uint8Array | null
  erased_at: number | null
}

/** The body of a delivery. One that was not sent has no erased items, and without content it is empty. */
export function renderBody({
  id,
  monitor_id,
  status,
  suppressed,
  content,
  erased_at,
}: StoredBody): Uint8Array {
  if (content === null) return envelope({ delivery_id: id, monitor_id, items: [], grouped: false })
  const stored = unpackBody(content)
  const is_unsent = status === 'pending' || suppressed === ITEM_DELETED
  return deliveryBody(
    erased_at !== null && is_unsent ? withoutErasedItems(stored) : stored,
    id,
    suppressed,
  )
}

/** Body that the pull API has; null past its retention. */
export const readMessage = (db: Db, row: number): Uint8Array | null => {
  const { body = null } =
    db
      .query<{ body: Uint8Array | null }, [{ row: number }]>(
        'SELECT body FROM messages WHERE row = $row',
      )
      .get({ row }) ?? {}
  return body && unpackBody(body)
}

/** Newest row of messages, as of a state of the file. */
const newest = new WeakMap<Db, { version: number; row: number }>()

/** Reserves rows of messages within a transaction. Returns the first; one that is not used stays free. */
export function reserveMessages(db: Db, count: number): number {
  const version = foreignChanges(db)
  let known = newest.get(db)
  if (known?.version !== version) {
    const { row } = db
      .query<{ row: number }, []>('SELECT coalesce(max(row), 0) AS row FROM messages')
      .get() ?? { row: 0 }
    newest.set(db, (known = { version, row }))
  }
  known.row += count
  return known.row - count + 1
}

/** `is_pulled`: the pull API has it too. `item_ids`: of its items, unless its match names it. */
export type NewMessage = {
  row: number
  monitor_id: string
  is_pulled?: boolean
  event?: string | undefined
  body: Uint8Array
  matched_at: number
  item_ids?: readonly string[] | undefined
}

/**
 * Stores messages within a transaction. In the pull API a monitor without earlier matches counts from the last restore, see
 * `skipAhead`.
 */
export function insertMessages(db: Db, messages: readonly NewMessage[]): void {
  insertRows(db, messages, {
    into: 'INSERT INTO messages (row, monitor_id, event, body, digest, matched_at, seq)',
    values: `(?, ?, ?, ?, ?, ?, iif(?, coalesce((SELECT max(seq) FROM messages WHERE monitor_id = ?),
                (SELECT max(at) FROM observation_events WHERE kind = 'restore_detected'), 0) + 1 + ?, NULL))`,
    bind: ({ is_pulled = false, ...it }, nth) => [
      it.row,
      it.monitor_id,
      it.event ?? null,
      it.body,
      hash('sha256', it.body, 'buffer'),
      it.matched_at,
      is_pulled ? 1 : 0,
      it.monitor_id,
      is_pulled ? nth(it.monitor_id) : 0,
    ],
  })
  const contained = messages.flatMap(({ row, item_ids = [] }) =>
    item_ids.map((item_id) => ({ item_id, row })),
  )
  insertRows(db, contained, {
    into: 'INSERT OR IGNORE INTO message_items (item_id, message)',
    values: '(?, ?)',
    bind: ({ item_id, row }) => [item_id, row],
  })
}

/** SQL of the messages that contain items, with the ids of these; `ids`: their parameter, a JSON list. */
export const messagesOf = (ids: string): string =>
  `(SELECT k.value AS item_id, m.message FROM json_each(${ids}) k CROSS JOIN matches m ON m.item_id = k.value
     WHERE m.message IS NOT NULL
    UNION SELECT k.value, i.message FROM json_each(${ids}) k CROSS JOIN message_items i ON i.item_id = k.value)`

/**
 * Replaces the bodies of messages in which content was erased, and forgets what receivers answered, who may echo the request.
 */
export function createRewrite(db: Db, at: number): (row: number, body: Uint8Array) => void {
  const write = db.query(
    'UPDATE messages SET body = $body, digest = $digest, erased_at = $at WHERE row = $row',
  )
  const forget = createForget(db)
  return (row, body) => {
    write.run({ row, body, digest: hash('sha256', body, 'buffer'), at })
    forget(row)
  }
}

function createForget(db: Db): (message: number) => void {
  const forget = db.query(
    `UPDATE attempts SET headers = NULL, body_start = NULL
      WHERE delivery_${ofMessage('$message')}`,
  )
  return (message) => void forget.run({ message })
}

const ZSTD = [0x28, 0xb5, 0x2f, 0xfd]
const LEVEL = 9

/** The bytes of a body, compressed or not. JSON never begins like zstd. */
export function unpackBody(stored: Uint8Array): Uint8Array {
  return ZSTD.every((byte, at) => stored[at] === byte) ? Bun.zstdDecompressSync(stored) : stored
}

type Row = { row: number; matched_at: number; body: Uint8Array | null }

/** Progress of one kind of work on old bodies, stored in the row of the instance. */
type Cursor = 'packed_to' | 'blanked_to'

/**
 * Bounds of the work: messages from before `before_at`. One dated more than an hour after `now` was written by a wrong clock.
 */
type Old = { before_at: number; now: number }
const AHEAD_MS = 3_600_000

/** Compresses the bodies of up to `limit` messages older than `before_at`. Returns their number. */
export function packBodies(db: Db, old: Old, limit: number): number {
  const pack = db.query('UPDATE messages SET body = $body WHERE row = $row')
  return walk(db, 'packed_to', old, limit, ({ row, body }) => {
    if (body === null) return
    const whole = unpackBody(body)
    const packed = Bun.zstdCompressSync(whole, { level: LEVEL })
    if (packed.length < whole.length) pack.run({ row, body: packed })
  })
}

/**
 * Deletes the bodies of up to `limit` messages older than `before_at` and the excerpts of the responses of their receivers; rows
 * and ids stay. Returns their number.
 */
export function blankBodies(db: Db, old: Old, limit: number): number {
  const blank = db.query('UPDATE messages SET body = NULL, digest = NULL WHERE row = $row')
  const forget = createForget(db)
  return walk(db, 'blanked_to', old, limit, ({ row }) => {
    blank.run({ row })
    forget(row)
  })
}

/** Walks the messages in write order, up to the first that is not old enough or still waits. */
function walk(
  db: Db,
  cursor: Cursor,
  { before_at, now }: Old,
  limit: number,
  work: (row: Row) => void,
): number {
  return transact(db, () => {
    const from = db.query<{ at: number }, []>(`SELECT ${cursor} AS at FROM instance`).get()?.at ?? 0
    const waiting = db.query<unknown, [{ row: number }]>(
      `SELECT 1 FROM deliveries WHERE ${ofMessage('$row')} AND status = 'pending' LIMIT 1`,
    )
    // One whose delivery still waits keeps its bytes, and is revisited.
    const stays = ({ row, matched_at }: Pick<Row, 'row' | 'matched_at'>) =>
      (datedAt(row, matched_at) ?? Infinity) >= before_at || waiting.get({ row }) !== null
    // A row dated ahead by a wrong clock is known only to be written before the next row.
    const datedAt = (row: number, matched_at: number): number | undefined =>
      matched_at <= now + AHEAD_MS
        ? matched_at
        : db
            .query<{ at: number }, [{ row: number; latest: number }]>(
              'SELECT matched_at AS at FROM messages WHERE row > $row AND matched_at <= $latest ORDER BY row LIMIT 1',
            )
            .get({ row, latest: now + AHEAD_MS })?.at
    // Usually there is nothing to do, which one row shows.
    const next = db
      .query<Pick<Row, 'row' | 'matched_at'>, [{ from: number }]>(
        'SELECT row, matched_at FROM messages WHERE row > $from ORDER BY row LIMIT 1',
      )
      .get({ from })
    if (next === null || stays(next)) return 0
    const rows = db
      .query<Row, [{ from: number; limit: number }]>(
        'SELECT row, matched_at, body FROM messages WHERE row > $from ORDER BY row LIMIT $limit',
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
