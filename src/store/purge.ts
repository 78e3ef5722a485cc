import { createHash } from 'node:crypto'

import { isPostBy, isTraced, nameOf, type Purged, purgeItem } from '../core/purge.ts'
import type { Ring } from '../core/seal.ts'
import { unpackBody } from './bodies.ts'
import { type Db, transact } from './db.ts'

/** Of what kind how many were blanked. */
export type PurgeCounts = {
  deliveries: number
  matches: number
  waiting: number
  candidates: number
}

/** Rows in one transaction: a daemon that writes beside us waits no longer than for these. */
const BATCH = 500

type About = {
  purged: Purged
  /** The wire's word for a subforum. */
  community: string
  /** Told after each batch how much has been looked at, 0 to 1. */
  looked?: (share: number) => void
}

/** Blanks content wherever it is kept, in batches; rows and ids stay. The audit keeps that it was done, not whose it was. */
export function purge(
  db: Db,
  { purged, community, looked = () => {}, ring, now }: About & { ring: Ring; now: number },
): PurgeCounts {
  // What we write over is to be gone from the file, too.
  db.run('PRAGMA secure_delete = ON')
  const blank = (body: Uint8Array) => blankBody(body, purged, community)
  const counts: PurgeCounts = { deliveries: 0, matches: 0, waiting: 0, candidates: 0 }
  const of_deliveries = rowsOf(db, 'delivery_bodies')
  const all = of_deliveries + rowsOf(db, 'match_bodies') || 1

  const set = db.query(
    'UPDATE delivery_bodies SET body = $body, body_sha256 = $digest WHERE delivery_row = $row',
  )
  // What a receiver answered may repeat what it was sent.
  const forget = db.query(
    'UPDATE attempts SET headers = NULL, body_start = NULL WHERE delivery_row = $row',
  )
  counts.deliveries = walk(
    db,
    'delivery_bodies',
    (row, body) => {
      const left = blank(body)
      if (left === null) return false
      set.run({ row, body: left, digest: createHash('sha256').update(left).digest() })
      forget.run({ row })
      return true
    },
    (done) => looked(done / all),
  )
  const keep = db.query('UPDATE match_bodies SET body = $body WHERE rowid = $row')
  counts.matches = walk(
    db,
    'match_bodies',
    (row, body) => {
      const left = blank(body)
      if (left !== null) keep.run({ row, body: left })
      return left !== null
    },
    (done) => looked((of_deliveries + done) / all),
  )
  transact(db, () => {
    counts.waiting = purgeWaiting(db, purged, community)
    counts.candidates = purgeCandidates(db, purged)
    const detail = JSON.stringify({ by: purged.by, ...counts, proof: proofOf(ring, purged) })
    db.query(
      "INSERT INTO audit (at, kind, subject, detail) VALUES ($now, 'content.purged', 'content', $detail)",
    ).run({ now, detail })
  })
  // The log of what was written before holds the old pages until it is begun anew. A reader that is at it keeps it.
  db.run('PRAGMA wal_checkpoint(TRUNCATE)')
  return counts
}

/** Whoever knows the name can show that it was this one; nobody can read it here. */
const proofOf = (ring: Ring, purged: Purged): string =>
  (ring.proofs(`purge ${purged.by} ${nameOf(purged)}`)[0] ?? '').slice(0, 22)

type Table = 'delivery_bodies' | 'match_bodies'

const rowsOf = (db: Db, table: Table): number =>
  db.query<{ n: number | null }, []>(`SELECT max(rowid) AS n FROM ${table}`).get()?.n ?? 0

/** Takes every row of a table, as it is when we come to it. Returns how many of them `work` has changed. */
function walk(
  db: Db,
  table: Table,
  work: (row: number, body: Uint8Array) => boolean,
  looked: (done: number) => void,
): number {
  const next = db.query<{ row: number; body: Uint8Array }, [{ from: number }]>(
    `SELECT rowid AS row, body FROM ${table} WHERE rowid > $from ORDER BY rowid LIMIT ${BATCH}`,
  )
  let changed = 0
  for (let from = 0; ;) {
    const last = transact(db, () => {
      const rows = next.all({ from })
      for (const { row, body } of rows) if (work(row, body)) changed += 1
      return rows.at(-1)?.row ?? null
    })
    if (last === null) return changed
    from = last
    looked(from)
  }
}

type Body = { items?: Record<string, unknown>[] }

const NONE: ReadonlySet<string> = new Set()

/** The ids of every post by this author, whose name is in lower case, that is kept somewhere. */
export function findPostsBy(db: Db, name: string): Set<string> {
  const posts = new Set<string>()
  const note = (items: readonly Record<string, unknown>[]) => {
    for (const it of items)
      if (isPostBy(it, name) && typeof it['id'] === 'string') posts.add(it['id'])
  }
  const look = (_: number, stored: Uint8Array) => {
    const text = new TextDecoder().decode(unpackBody(stored))
    if (!isTraced(text, { by: 'author', name, posts: NONE })) return false
    const body: Body = JSON.parse(text)
    note(body.items ?? [])
    return false
  }
  walk(db, 'delivery_bodies', look, () => {})
  walk(db, 'match_bodies', look, () => {})
  const waiting = db.query<{ body: string }, []>('SELECT body FROM bundle_items')
  for (const { body } of waiting.iterate()) note([JSON.parse(body)])
  return posts
}

/** The body without what is purged; null when there is nothing of it in there. */
function blankBody(stored: Uint8Array, purged: Purged, community: string): Uint8Array | null {
  const text = new TextDecoder().decode(unpackBody(stored))
  if (!isTraced(text, purged)) return null
  const body: Body = JSON.parse(text)
  const before = body.items ?? []
  const items = before.map((it) => purgeItem(it, purged, community))
  if (items.every((it, at) => it === before[at])) return null
  return new TextEncoder().encode(JSON.stringify({ ...body, items }))
}

/** Matches that wait for company. */
function purgeWaiting(db: Db, purged: Purged, community: string): number {
  const set = db.query(
    'UPDATE bundle_items SET body = $body WHERE bundle_id = $bundle_id AND item_id = $item_id',
  )
  const rows = db
    .query<{ bundle_id: number; item_id: string; body: string }, []>(
      'SELECT bundle_id, item_id, body FROM bundle_items',
    )
    .all()
  let changed = 0
  for (const { bundle_id, item_id, body } of rows) {
    const item: Record<string, unknown> = JSON.parse(body)
    const left = purgeItem(item, purged, community)
    if (left === item) continue
    set.run({ bundle_id, item_id, body: JSON.stringify(left) })
    changed += 1
  }
  return changed
}

/** What may yet match is nobody's row so far: it is let go. */
function purgeCandidates(db: Db, purged: Purged): number {
  const column = purged.by === 'author' ? 'author' : 'id'
  return db
    .query(`DELETE FROM candidates WHERE lower(json_extract(item, '$.${column}')) = $trace`)
    .run({ trace: nameOf(purged) }).changes
}
