import { createHash } from 'node:crypto'

import type { Ring } from '../../core/base/secrets.ts'
import {
  createFrames,
  LENGTH_BYTES,
  type MoveHeader,
  schemaDigest,
  writeHeader,
} from '../../core/moving/file.ts'
import type { Db } from '../db/connection.ts'
import { migrations } from '../db/migrations.ts'
import type { FeedPosition } from './feeds.ts'
import { findMove, type Move } from './freeze.ts'
import { MOVED_TABLES, type MovedTable, type NumberSpace } from './tables.ts'

/** A value as it is written: bytes as base64. */
export type WrittenValue = string | number | null | { b: string }
type Value = string | number | Uint8Array | null
type Row = Record<string, Value>

/** The first line of a file's content. */
export type MoveInfo = {
  customer: { name: string; plan: string }
  /** The instance whose id its delivery ids are made of. */
  origin_id: string
  receipt: string
  /** Names of further sources that its monitors watch. */
  sources: string[]
  positions: FeedPosition[]
  /** The lowest number of each space. */
  lowest: Partial<Record<NumberSpace, number>>
}

/** The line before the rows of a table. */
export type TableStart = { table: string; columns: string[] }

/** Bytes of text of one frame, before it is compressed. */
const FRAME_TEXT = 1024 * 1024

/** Numbers of a written file: rows, bytes, rows by table. */
export type WrittenMove = { rows: number; bytes: number; tables: Record<string, number> }

/**
 * Writes everything of a frozen customer in one read transaction: a daemon beside it is not blocked. `write` gets the bytes
 * of the file in their order.
 *
 * @throws {SealBroken} a secret does not open with the key of this instance
 * @throws {RangeError} the customer is not frozen
 */
export function exportCustomer(
  db: Db,
  {
    customer_id,
    ring,
    key,
    now,
    write,
    on_progress = () => {},
  }: {
    customer_id: string
    ring: Ring
    key: Uint8Array
    now: number
    write: (bytes: Uint8Array) => void
    on_progress?: (share: number) => void
  },
): WrittenMove {
  return db.transaction(() => {
    const move = findMove(db, customer_id)
    if (move === null) throw new RangeError('the customer is not frozen')
    const feeds = listFeeds(db, customer_id)
    const tables = MOVED_TABLES.filter(({ position }) => position !== true).map((it) => ({
      it,
      where: it.where.replaceAll('$feeds', `(${feeds.join(', ')})`),
    }))
    const counted = tables.map(
      ({ it, where }) =>
        db
          .query<{ n: number }, [{ id: string }]>(
            `SELECT count(*) AS n FROM ${it.table} WHERE ($id = $id) AND (${where})`,
          )
          .get({ id: customer_id })?.n ?? 0,
    )
    const rows = counted.reduce((sum, n) => sum + n, 0)
    const header = writeHeader(headerOf(db, { customer_id, now, rows }))
    const out = createWriter(key, header, write)
    out.line(infoOf(db, customer_id, move, feeds))
    const written: Record<string, number> = {}
    let done = 0
    for (const { it, where } of tables) {
      const columns = columnsOf(db, it.table)
      out.line({ table: it.table, columns } satisfies TableStart)
      const order = orderOf(it)
      const found = db
        .query<Row, [{ id: string }]>(
          `SELECT * FROM ${it.table} WHERE ($id = $id) AND (${where}) ${order}`,
        )
        .iterate({ id: customer_id })
      written[it.table] = 0
      for (const row of found) {
        done += 1
        if (done % 10_000 === 0) on_progress(done / rows)
        const kept = asOfFreeze(it.table, row, move)
        if (kept === null) continue
        out.line(columns.map((column) => toWritten(it, column, kept, ring)))
        written[it.table] = (written[it.table] ?? 0) + 1
      }
    }
    return { rows: done, bytes: out.end(), tables: written }
  })()
}

function headerOf(
  db: Db,
  { customer_id, now, rows }: { customer_id: string; now: number; rows: number },
): MoveHeader {
  const own = db.query<{ id: string }, []>('SELECT id FROM instance').get()
  return {
    forumd: 'customer',
    format: 1,
    schema: schemaDigest(migrations),
    instance_id: own?.id ?? '',
    customer_id,
    exported_at: now,
    rows,
  }
}

/** Numbers of the feeds that rows of a customer name. */
const listFeeds = (db: Db, id: string): number[] =>
  db
    .query<{ id: number }, [{ id: string }]>(
      `WITH mine AS (SELECT id FROM monitors WHERE customer_id = $id)
       SELECT id FROM feeds WHERE id IN (
         SELECT feed_id FROM monitor_feeds WHERE monitor_id IN mine UNION SELECT feed_id FROM feed_spans WHERE monitor_id IN mine
         UNION SELECT feed_id FROM matches WHERE monitor_id IN mine UNION SELECT feed_id FROM candidates WHERE monitor_id IN mine)
        ORDER BY id`,
    )
    .all({ id })
    .map((row) => row.id)

function infoOf(db: Db, customer_id: string, move: Move, feeds: readonly number[]): MoveInfo {
  const customer = db
    .query<{ name: string; plan: string; origin_id: string }, [{ id: string }]>(
      'SELECT name, plan, coalesce(origin_id, (SELECT id FROM instance)) AS origin_id FROM customers WHERE id = $id',
    )
    .get({ id: customer_id })
  if (customer === null) throw new RangeError('there is no such customer')
  const watched = new Map(move.feeds.map((it) => [Number(it.feed['id']), it]))
  const feed = db.query<FeedPosition['feed'], [{ id: number }]>(
    'SELECT * FROM feeds WHERE id = $id',
  )
  // No monitor of it watches these any more: they are named by earlier matches.
  const former = feeds
    .filter((id) => !watched.has(id))
    .flatMap((id): FeedPosition[] => {
      const row = feed.get({ id })
      return row === null ? [] : [{ feed: { ...row, next_check_at: null }, stream: null }]
    })
  const lowest = db
    .query<Record<NumberSpace, number | null>, [{ id: string }]>(
      `SELECT (SELECT min(row) FROM deliveries WHERE customer_id = $id) AS deliveries,
              (SELECT min(row) FROM match_bodies WHERE monitor_id IN (SELECT id FROM monitors WHERE customer_id = $id)) AS match_bodies,
              (SELECT min(row) FROM inbox_items WHERE customer_id = $id) AS inbox_items,
              (SELECT min(seq) FROM inbox_actions WHERE customer_id = $id) AS inbox_actions,
              (SELECT min(id) FROM bundles WHERE customer_id = $id) AS bundles,
              (SELECT min(id) FROM checks) AS checks`,
    )
    .get({ id: customer_id })
  const { name, plan, origin_id } = customer
  const positions = [...watched.values(), ...former]
  return {
    customer: { name, plan },
    origin_id,
    receipt: move.receipt,
    sources: move.feeds
      .filter(({ feed: it }) => it['kind'] === 'stream')
      .map(({ feed: it }) => String(it['place'])),
    positions,
    lowest: Object.fromEntries(
      Object.entries(lowest ?? {}).filter(([, n]) => n !== null),
    ) as MoveInfo['lowest'],
  }
}

const columnsOf = (db: Db, table: string): string[] =>
  db
    .query<{ name: string }, []>(`SELECT name FROM pragma_table_info('${table}') ORDER BY cid`)
    .all()
    .map(({ name }) => name)

/** Rows keep their order, because new numbers are given in it. */
function orderOf({ numbers }: MovedTable): string {
  const own = Object.entries(numbers ?? {}).find(([column]) =>
    ['id', 'row', 'seq'].includes(column),
  )
  return own === undefined || own[1] === 'by_kind' ? '' : `ORDER BY ${own[0]}`
}

/**
 * A row as it was when the customer was frozen; null: it is newer. Only rows of feeds can be: others watch them too, and
 * what they have read since was not matched for this customer.
 */
function asOfFreeze(table: string, row: Row, { feeds, frozen_at }: Move): Row | null {
  if (!['feed_items', 'gaps', 'verified_ranges'].includes(table)) return row
  const position = feeds.find(({ feed }) => feed['id'] === row['feed_id'])
  if (position === undefined) return row
  const { feed, stream } = position
  if (table === 'feed_items') return Number(row['seq']) < Number(feed['next_seq']) ? row : null
  if (table === 'gaps') return Number(row['recorded_at']) <= frozen_at ? row : null
  const verified_at = Number(feed['audited_until'] ?? stream?.['verified_until'] ?? 0)
  const until_at = Math.min(Number(row['until_at']), verified_at)
  return until_at > Number(row['from_at']) ? { ...row, until_at } : null
}

function toWritten(it: MovedTable, column: string, row: Row, ring: Ring): WrittenValue {
  const value = row[column] ?? null
  if (!(value instanceof Uint8Array)) return value
  const place = it.sealed?.[column]
  // In the clear within the encrypted frame: the other instance seals it with its own key.
  if (place !== undefined) {
    const at = place((name) => String(row[name]))
    return ring.unseal(at, value)
  }
  return { b: Buffer.from(value).toString('base64') }
}

const lengthOf = (n: number): Uint8Array => {
  const field = Buffer.alloc(LENGTH_BYTES)
  field.writeUInt32BE(n)
  return field
}

/** Writes lines as frames, each encrypted when it is full, and the digest at the end. */
function createWriter(
  key: Uint8Array,
  header: Uint8Array,
  write: (bytes: Uint8Array) => void,
): { line(value: object): void; end(): number } {
  const frames = createFrames(key, header)
  const digest = createHash('sha256')
  let bytes = 0
  let lines: string[] = []
  let length = 0
  const put = (part: Uint8Array) => {
    digest.update(part)
    write(part)
    bytes += part.length
  }
  const flush = (last: boolean) => {
    const text = new TextEncoder().encode(lines.join('\n'))
    const sealed = frames.seal(Bun.zstdCompressSync(text, { level: 3 }), last)
    put(lengthOf(sealed.length))
    put(sealed)
    lines = []
    length = 0
  }
  put(header)
  return {
    line(value) {
      const text = JSON.stringify(value)
      lines.push(text)
      length += text.length
      if (length >= FRAME_TEXT) flush(false)
    },
    end() {
      flush(true)
      put(lengthOf(0))
      const sum = digest.digest()
      write(sum)
      return bytes + sum.length
    },
  }
}
