import type { Ring } from '../../core/base/secrets.ts'
import { itemKey } from '../../core/forum/items.ts'
import type { Naming } from '../../core/forum/naming.ts'
import {
  isErasedRow,
  isPostBy,
  isTraced,
  nameOf,
  type Purged,
  purgeItem,
} from '../../core/forum/purge.ts'
import type { Chunks } from '../db/chunked.ts'
import { type Db, transact } from '../db/connection.ts'
import { createRewrite, unpackBody } from '../delivery/messages.ts'
import { catchUp } from '../delivery/projections.ts'
import { ERASED_AT_ONCE, eraseItems } from '../erasure/erase.ts'
import { listByAuthor, listKeptSources } from '../erasure/kept-items.ts'
import { requestScrub } from '../erasure/scrub.ts'
import { eraseInboxAuthor, listInboxCustomers, pruneInbox } from '../inbox/items.ts'
import { pruneChecks } from '../monitoring/checks.ts'
import { pruneSeen } from '../monitoring/matches.ts'
import { changeWaiting } from '../relevance/judgements.ts'

/** Days for which checks, gaps, events and seen items are stored; health reads back one. */
export const RETENTION_DAYS = 14
/** Rows of a kind deleted in one commit, which takes milliseconds. */
const AT_ONCE = 500

/**
 * Deletes checks, gaps and seen items from before `before_at`, and items of the inbox with their states from before
 * `matches_before_at`, in steps: on a busy daemon every hour deletes as many rows as it adds. Every feed keeps its newest
 * `keep` seen items.
 */
export function* pruneOld(
  db: Db,
  {
    before_at,
    matches_before_at = before_at,
    keep,
  }: { before_at: number; matches_before_at?: number; keep: number },
): Chunks<void> {
  const old = { before_at, limit: AT_ONCE }
  for (const { id: feed_id } of db.query<{ id: number }, []>('SELECT id FROM feeds').all()) {
    yield* untilNone(() => pruneChecks(db, { ...old, feed_id }))
    yield* untilNone(() => pruneSeen(db, { ...old, feed_id, keep }))
  }
  const matches = { before_at: matches_before_at, limit: AT_ONCE }
  for (const customer_id of listInboxCustomers(db))
    yield* untilNone(() => transact(db, () => pruneInbox(db, { ...matches, customer_id })))
}

function* untilNone(prune: () => number): Chunks<void> {
  while (prune() > 0) yield
  yield
}

export type PurgeCounts = {
  messages: number
  waiting: number
  candidates: number
}

/** Rows in one transaction, which limits how long a daemon that runs beside this waits for the lock. */
const BATCH = 500

type PurgeScope = {
  purged: Purged
  words: Pick<Naming, 'community' | 'home'>
  /** Called after each batch with the completed share, 0 to 1. */
  on_progress?: (share: number) => void
}

/**
 * Erases content wherever it is stored, in batches; rows and ids stay. Known items are erased as those that are deleted at
 * their source. Then every body is searched, for copies that no index names. The audit records the purge without the name.
 */
export function purge(
  db: Db,
  { purged, words, on_progress = () => {}, ring, now }: PurgeScope & { ring: Ring; now: number },
): PurgeCounts {
  const blank = (body: Uint8Array) => blankBody(body, purged, words.community)
  const counts = eraseKnown(db, { purged, words, now })
  const rewrite = createRewrite(db, now)
  counts.messages += walk(
    db,
    (row, body) => {
      const left = blank(body)
      if (left !== null) rewrite(row, left)
      return left !== null
    },
    on_progress,
  )
  transact(db, () => {
    counts.waiting += purgeUnjudged(db, purged, words.community) + purgeQueued(db, purged)
    if (purged.by === 'author' && purged.source === null) eraseInboxAuthor(db, purged.name)
    requestScrub(db)
    const detail = JSON.stringify({ by: purged.by, ...counts, proof: purgeDigest(ring, purged) })
    db.query(
      "INSERT INTO audit (at, kind, subject, detail) VALUES ($now, 'content.purged', 'content', $detail)",
    ).run({ now, detail })
  })
  return counts
}

/** Erases the items that are known to be stored, with their tombstones and events. */
function eraseKnown(
  db: Db,
  { purged, words, now }: Pick<PurgeScope, 'purged' | 'words'> & { now: number },
): PurgeCounts {
  catchUp({ db, words, clock_offset_ms: () => 0 })
  const keys = keptOf(db, purged)
  const instance_id = db.query<{ id: string }, []>('SELECT id FROM instance').get()?.id ?? ''
  const deps = { db, instance_id, words, clock_offset_ms: () => 0 }
  const counts: PurgeCounts = { messages: 0, waiting: 0, candidates: 0 }
  for (let at = 0; at < keys.length; at += ERASED_AT_ONCE) {
    const part = keys.slice(at, at + ERASED_AT_ONCE)
    const { places } = eraseItems(
      deps,
      part.map((item_id) => ({ item_id, reason: 'request' as const })),
      now,
    )
    counts.messages += places['messages'] ?? 0
    for (const table of ['bundle_items', 'judgements', 'archive_queue'])
      counts.waiting += places[table] ?? 0
    counts.candidates += places['candidates'] ?? 0
  }
  return counts
}

/** Keys of the stored items that a purge means. */
export function keptOf(db: Db, purged: Purged): string[] {
  const sources = listKeptSources(db)
    .map(({ source }) => source)
    .filter((source) => purged.source === null || source === purged.source)
  if (purged.by === 'author')
    return sources.flatMap((source) => listByAuthor(db, { source, author: purged.name }))
  const kinds = purged.kind === null ? ['t1', 't3'] : [purged.kind === 'post' ? 't3' : 't1']
  const keys = sources.flatMap((source) =>
    kinds.map((kind) => itemKey({ name: `${kind}_${purged.id}`, source })),
  )
  return db
    .query<{ item_id: string }, [{ ids: string }]>(
      'SELECT item_id FROM kept_items WHERE item_id IN (SELECT value FROM json_each($ids))',
    )
    .all({ ids: JSON.stringify(keys) })
    .map(({ item_id }) => item_id)
}

/** Keyed digest of a purged name: a given name can be verified with the key, but not recovered. */
const purgeDigest = (ring: Ring, purged: Purged): string =>
  (ring.proofs(`purge ${purged.by} ${nameOf(purged)}`)[0] ?? '').slice(0, 22)

/** Visits every stored body. Returns the number of those that `work` changed. */
function walk(
  db: Db,
  work: (row: number, body: Uint8Array) => boolean,
  on_progress: (share: number) => void,
): number {
  const all = db.query<{ n: number | null }, []>('SELECT max(row) AS n FROM messages').get()?.n ?? 0
  const next = db.query<{ row: number; body: Uint8Array }, [{ from: number }]>(
    `SELECT row, body FROM messages WHERE row > $from AND body IS NOT NULL ORDER BY row LIMIT ${BATCH}`,
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
    on_progress(from / all)
  }
}

type Body = { items?: Record<string, unknown>[] }

const NONE: ReadonlySet<string> = new Set()

/** Ids of all stored posts by this author, whose name is in lower case. */
export function findPostsBy(
  db: Db,
  { name, source }: { name: string; source: string | null },
): Set<string> {
  const posts = new Set<string>()
  const note = (items: readonly Record<string, unknown>[]) => {
    for (const it of items)
      if (isPostBy(it, { name, source }) && typeof it['id'] === 'string') posts.add(it['id'])
  }
  const collect = (_: number, stored: Uint8Array) => {
    const text = new TextDecoder().decode(unpackBody(stored))
    if (!isTraced(text, { by: 'author', name, source, posts: NONE })) return false
    const body: Body = JSON.parse(text)
    note(body.items ?? [])
    return false
  }
  walk(db, collect, () => {})
  const waiting = db.query<{ body: string }, []>(
    'SELECT body FROM bundle_items UNION ALL SELECT body FROM judgements WHERE outcome IS NULL',
  )
  for (const { body } of waiting.iterate()) note([JSON.parse(body)])
  return posts
}

/** The body without the purged content; null when it contains none. */
function blankBody(stored: Uint8Array, purged: Purged, community: string): Uint8Array | null {
  const text = new TextDecoder().decode(unpackBody(stored))
  if (!isTraced(text, purged)) return null
  const body: Body = JSON.parse(text)
  const before = body.items ?? []
  const items = before.map((it) => purgeItem(it, purged, community))
  if (items.every((it, at) => it === before[at])) return null
  return new TextEncoder().encode(JSON.stringify({ ...body, items }))
}

function purgeQueued(db: Db, purged: Purged): number {
  const rows = db
    .query<{ seq: number; item: string }, []>('SELECT seq, item FROM archive_queue')
    .all()
  const drop = db.query('DELETE FROM archive_queue WHERE seq = $seq')
  const write = db.query('UPDATE archive_queue SET item = $item WHERE seq = $seq')
  let changed = 0
  for (const { seq, item } of rows) {
    const before: Record<string, unknown> = JSON.parse(item)
    const after = purgeItem(before, purged, 'subforum')
    if (after === before) continue
    changed += 1
    if (isErasedRow(after)) drop.run({ seq })
    else write.run({ seq, item: JSON.stringify(after) })
  }
  return changed
}

const purgeUnjudged = (db: Db, purged: Purged, community: string): number =>
  changeWaiting(db, null, (_, row) => {
    const left = purgeItem(row, purged, community)
    return isErasedRow(left) ? null : left
  })
