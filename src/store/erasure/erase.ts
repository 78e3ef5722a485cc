import { deletedBody, deliveryId, type ErasureReason } from '../../core/delivery/envelope.ts'
import { type Item, itemKey, ofItemKey } from '../../core/forum/items.ts'
import { nameOfSource, type Naming } from '../../core/forum/naming.ts'
import { eraseRow, type Erasure, isErasedRow, untitledComment } from '../../core/forum/purge.ts'
import { eraseQueued } from '../archive/queue.ts'
import { type Db, foreignChanges, transact } from '../db/connection.ts'
import { insertDelivery } from '../delivery/deliveries.ts'
import {
  createRewrite,
  ITEM_DELETED,
  messagesOf,
  ofMessage,
  unpackBody,
} from '../delivery/messages.ts'
import { IN_FLIGHT } from '../delivery/pending.ts'
import { catchUp } from '../delivery/projections.ts'
import { eraseInbox } from '../inbox/items.ts'
import { changeWaiting, forgetReasons } from '../relevance/judgements.ts'
import { forgetKept } from './kept-items.ts'

/** Most items of one erasure, which is one transaction: some 20 ms with ten deliveries of each item. */
export const ERASED_AT_ONCE = 20
/** Tombstones are kept this long, so that a copy of the database from before can be cleaned again, ms. */
const TOMBSTONE_MS = 400 * 86_400_000

export type EraseDeps = {
  db: Db
  instance_id: string
  words: Pick<Naming, 'community' | 'home'>
  /** Milliseconds by which true time is ahead of the local clock. */
  clock_offset_ms: () => number
  /** True: no receiver is told. */
  silent?: boolean
}

/** An item and why its content is erased; `author_gone`: its author alone. */
export type ErasedItem = { item_id: string; reason: ErasureReason }

/** Numbers of erased items, of bodies that contained them, also by their table, and of deliveries that were written. */
export type Erased = {
  items: number
  bodies: number
  places: Readonly<Record<string, number>>
  events: number
}

type Job = {
  db: Db
  community: string
  erasure: Erasure
  /** JSON of the keys of items to erase. */
  gone: string
  /** JSON of all keys with an affected copy: also those of which only the author or the thread is erased. */
  touched: string
  at: number
}

/**
 * Every place that holds content of items. A new table with content gets its line here;
 * `test/unit/store/erasure/places.test.ts` fails without it. A store outside of this database follows `item_tombstones`.
 */
export const ERASED_PLACES: Readonly<Record<string, (job: Job) => number>> = {
  messages: eraseMessages,
  inbox_items: eraseInboxRows,
  bundle_items: eraseBundled,
  candidates: eraseCandidates,
  archive_queue: eraseQueued,
  judgements: eraseJudgements,
  feed_items: eraseDigests,
}

/**
 * Erases items everywhere in the database, in one transaction with their tombstones and with the deliveries of
 * `item.deleted`: at most {@link ERASED_AT_ONCE}.
 * @throws {RangeError} for more
 */
export function eraseItems(deps: EraseDeps, items: readonly ErasedItem[], now: number): Erased {
  if (items.length > ERASED_AT_ONCE) throw new RangeError(`at most ${ERASED_AT_ONCE} items`)
  const { db, words } = deps
  const gone = items.filter(({ reason }) => reason !== 'author_gone')
  const erasure: Erasure = {
    items: new Set(gone.map(({ item_id }) => item_id)),
    authors: new Set(items.map(({ item_id }) => item_id)).difference(
      new Set(gone.map(({ item_id }) => item_id)),
    ),
  }
  return transact(db, () => {
    catchUp(deps)
    const events =
      deps.silent === true ? 0 : gone.reduce((sum, it) => sum + writeDeleted(deps, it, now), 0)
    const under = listUnder(db, [...erasure.items])
    const job: Job = {
      db,
      community: words.community,
      erasure,
      gone: JSON.stringify([...erasure.items]),
      touched: JSON.stringify([...erasure.items, ...erasure.authors, ...under]),
      at: now,
    }
    const places = Object.fromEntries(
      Object.entries(ERASED_PLACES).map(([table, erase]) => [table, erase(job)]),
    )
    const bodies = Object.values(places).reduce((sum, changed) => sum + changed, 0)
    for (const item of items) bury(db, item, now)
    forgetKept(db, [...erasure.items])
    db.query(
      `UPDATE kept_items SET author = NULL, author_id = NULL WHERE item_id IN (SELECT value FROM json_each($ids))`,
    ).run({ ids: JSON.stringify([...erasure.authors]) })
    return { items: items.length, bodies, places, events }
  })
}

const listUnder = (db: Db, threads: readonly string[]): string[] =>
  db
    .query<{ item_id: string }, [{ ids: string }]>(
      'SELECT item_id FROM kept_items WHERE thread IN (SELECT value FROM json_each($ids))',
    )
    .all({ ids: JSON.stringify(threads) })
    .map(({ item_id }) => item_id)

/** Writes the tombstone of an item. The text of one whose author alone was erased may be erased later. */
function bury(db: Db, { item_id, reason }: ErasedItem, at: number): void {
  untouched.delete(db)
  db.query(
    `INSERT INTO item_tombstones (seq, item_id, source, reason, at)
     VALUES (coalesce((SELECT max(seq) FROM item_tombstones), 0) + 1, $item_id, $source, $reason, $at)
     ON CONFLICT (item_id) DO UPDATE SET seq = excluded.seq, reason = excluded.reason, at = excluded.at`,
  ).run({ item_id, source: ofItemKey(item_id).source, reason, at })
}

/** States of the file, as other processes left it, in which nothing was erased. */
const untouched = new WeakMap<Db, number>()

/** True if anything was erased, which most databases never have. */
function hasErased(db: Db): boolean {
  const version = foreignChanges(db)
  if (untouched.get(db) === version) return false
  const has = db.query('SELECT 1 FROM item_tombstones LIMIT 1').get() !== null
  if (!has) untouched.set(db, version)
  return has
}

/** Items that were erased, which their sources may still show. */
export function listErased(db: Db, item_ids: readonly string[]): ReadonlySet<string> {
  if (item_ids.length === 0 || !hasErased(db)) return new Set()
  const rows = db
    .query<{ item_id: string }, [{ ids: string }]>(
      `SELECT item_id FROM json_each($ids) CROSS JOIN item_tombstones ON item_id = value
        WHERE reason <> 'author_gone'`,
    )
    .all({ ids: JSON.stringify(item_ids) })
  return new Set(rows.map(({ item_id }) => item_id))
}

/** Key of the thread of a comment; null for any other item. */
const threadOf = (item: Item): string | null =>
  item.kind === 'comment' && item.post_id !== ''
    ? itemKey({ name: `t3_${item.post_id}`, source: item.source })
    : null

/**
 * The items as they may be stored: a comment under an erased thread without the title of it, which the platform may still
 * show there.
 */
export function withoutErased(db: Db, items: readonly Item[]): (item: Item) => Item {
  const erased = listErased(db, [...new Set(items.flatMap((it) => threadOf(it) ?? []))])
  return (item) => {
    const thread = erased.size === 0 ? null : threadOf(item)
    return thread !== null && erased.has(thread) && item.kind === 'comment'
      ? { ...item, ...untitledComment(item) }
      : item
  }
}

/** Deletes old tombstones; the newest stays, because it holds the sequence. */
export const pruneTombstones = (db: Db, now: number): void =>
  void db
    .query(
      'DELETE FROM item_tombstones WHERE at < $before_at AND seq < (SELECT max(seq) FROM item_tombstones)',
    )
    .run({ before_at: now - TOMBSTONE_MS })

type Body = { items?: Record<string, unknown>[] }

/**
 * Erases items in messages, and their deliveries with them: sent ones keep their ids, and waiting ones lose the item, or are
 * suppressed as item_deleted if none is left.
 */
function eraseMessages({ db, community, erasure, touched, at }: Job): number {
  const rows = db
    .query<{ row: number; body: Uint8Array }, [{ ids: string }]>(
      `SELECT DISTINCT g.row, g.body FROM ${messagesOf('$ids')} c CROSS JOIN messages g ON g.row = c.message
        WHERE g.body IS NOT NULL`,
    )
    .all({ ids: touched })
  const rewrite = createRewrite(db, at)
  const settle = db.query(
    `UPDATE deliveries SET reason = 'item_deleted',
            suppressed = iif(status = 'pending' AND row NOT IN ${IN_FLIGHT}, '${ITEM_DELETED}', suppressed),
            next_attempt_at = iif(row NOT IN ${IN_FLIGHT}, NULL, next_attempt_at),
            status = iif(status = 'pending' AND row NOT IN ${IN_FLIGHT}, 'suppressed', status)
      WHERE ${ofMessage('$message')}`,
  )
  let changed = 0
  for (const { row, body } of rows) {
    const stored: Body = JSON.parse(new TextDecoder().decode(unpackBody(body)))
    const before = stored.items ?? []
    const items = before.map((it) => eraseRow(it, erasure, community))
    if (items.every((it, n) => it === before[n])) continue
    rewrite(row, new TextEncoder().encode(JSON.stringify({ ...stored, items })))
    if (items.every((it) => isErasedRow(it))) settle.run({ message: row })
    changed += 1
  }
  return changed
}

function eraseInboxRows({ db, gone, erasure }: Job): number {
  eraseInbox(db, { gone, authors: JSON.stringify([...erasure.authors]) })
  // Its texts are in the bodies, which are counted.
  return 0
}

function eraseBundled({ db, community, erasure, touched }: Job): number {
  type Row = { bundle_id: number; item_id: string; body: string }
  const rows = db
    .query<Row, [{ ids: string }]>(
      'SELECT bundle_id, item_id, body FROM bundle_items WHERE item_id IN (SELECT value FROM json_each($ids))',
    )
    .all({ ids: touched })
  const drop = db.query(
    'DELETE FROM bundle_items WHERE bundle_id = $bundle_id AND item_id = $item_id',
  )
  const shrink = db.query(
    'UPDATE bundles SET items = items - 1, bytes = max(0, bytes - $bytes) WHERE id = $bundle_id',
  )
  const write = db.query(
    'UPDATE bundle_items SET body = $body WHERE bundle_id = $bundle_id AND item_id = $item_id',
  )
  for (const { bundle_id, item_id, body } of rows) {
    const item: Record<string, unknown> = JSON.parse(body)
    if (erasure.items.has(item_id)) {
      drop.run({ bundle_id, item_id })
      shrink.run({ bundle_id, bytes: Buffer.byteLength(body) + 1 })
    } else
      write.run({
        bundle_id,
        item_id,
        body: JSON.stringify(eraseRow(item, erasure, community)),
      })
  }
  return rows.length
}

function eraseCandidates({ db, community, erasure, touched }: Job): number {
  type Row = { monitor_id: string; item_id: string; item: string }
  const rows = db
    .query<Row, [{ ids: string }]>(
      'SELECT monitor_id, item_id, item FROM candidates WHERE item_id IN (SELECT value FROM json_each($ids))',
    )
    .all({ ids: touched })
  const drop = db.query(
    'DELETE FROM candidates WHERE monitor_id = $monitor_id AND item_id = $item_id',
  )
  const write = db.query(
    'UPDATE candidates SET item = $item WHERE monitor_id = $monitor_id AND item_id = $item_id',
  )
  for (const { monitor_id, item_id, item } of rows) {
    const stored: Record<string, unknown> = JSON.parse(item)
    if (erasure.items.has(item_id)) drop.run({ monitor_id, item_id })
    else
      write.run({
        monitor_id,
        item_id,
        item: JSON.stringify(eraseRow(stored, erasure, community)),
      })
  }
  return rows.length
}

/**
 * A match that waits for its verdict has no delivery yet: nothing of it is left. The reason of a verdict may repeat the
 * text, the author or the thread's title. Returns the number of waiting ones.
 */
function eraseJudgements({ db, community, erasure, touched }: Job): number {
  forgetReasons(db, JSON.parse(touched) as string[])
  return changeWaiting(db, touched, (item_id, row) =>
    erasure.items.has(item_id) ? null : eraseRow(row, erasure, community),
  )
}

function eraseDigests({ db, gone }: Job): number {
  db.query(
    `UPDATE feed_items SET digest = NULL WHERE digest IS NOT NULL
        AND feed_id IN (SELECT id FROM feeds) AND item_id IN (SELECT value FROM json_each($ids))`,
  ).run({ ids: gone })
  return 0
}

type Receiver = {
  webhook_id: string
  customer_id: string
  monitor_ids: string
  is_shut: number
}

/** Targets that asked for an event, and have received a match with this item or may have. */
const listReceivers = (db: Db, item_id: string, event: string): Receiver[] =>
  db
    .query<Receiver, [{ item_id: string; event: string }]>(
      `SELECT d.webhook_id, d.customer_id, json_group_array(DISTINCT d.monitor_id) AS monitor_ids,
              w.active = 0 OR w.paused_at IS NOT NULL AS is_shut
         FROM ${messagesOf('json_array($item_id)')} c
         CROSS JOIN deliveries d ON d.${ofMessage('c.message')} JOIN webhooks w ON w.id = d.webhook_id
        WHERE w.deleted_at IS NULL
          AND EXISTS (SELECT 1 FROM json_each(w.events) WHERE value = $event)
          AND d.status <> 'suppressed'
          AND (d.status = 'delivered' OR d.attempts > 0 OR d.interrupted > 0 OR d.row IN ${IN_FLIGHT})
        GROUP BY d.webhook_id, d.customer_id`,
    )
    .all({ item_id, event })

/** Writes `item.deleted` to its receivers, one delivery id for each item and target. Returns the number to be sent. */
function writeDeleted(
  { db, instance_id, words, clock_offset_ms }: EraseDeps,
  { item_id, reason }: ErasedItem,
  now: number,
): number {
  const { source, name } = ofItemKey(item_id)
  return listReceivers(db, item_id, 'item.deleted').filter((it) => {
    const monitor_ids = (JSON.parse(it.monitor_ids) as string[]).toSorted()
    const [monitor_id = ''] = monitor_ids
    const { webhook_id, customer_id } = it
    const id = deliveryId(instance_id, '', webhook_id, ['item.deleted', item_id])
    const body = deletedBody({
      delivery_id: id,
      monitor_id,
      item: { id: name, source: nameOfSource(words, source) },
      monitor_ids,
      reason,
      detected_at: now,
    })
    const row = {
      id,
      customer_id,
      monitor_id,
      webhook_id,
      event: 'item.deleted' as const,
      now: now + clock_offset_ms(),
      due_at: now,
      body,
    }
    return it.is_shut === 1
      ? insertDelivery(db, { ...row, status: 'failed', last_error: 'webhook_paused' }) && false
      : insertDelivery(db, { ...row, status: 'pending' })
  }).length
}

/** Targets of `item.edited` by their monitors. */
export const listEditReceivers = (
  db: Db,
  item_id: string,
): { webhook_id: string; customer_id: string; monitor_id: string }[] =>
  listReceivers(db, item_id, 'item.edited')
    .filter(({ is_shut }) => is_shut === 0)
    .flatMap(({ webhook_id, customer_id, monitor_ids }) =>
      (JSON.parse(monitor_ids) as string[])
        .toSorted()
        .map((monitor_id) => ({ webhook_id, customer_id, monitor_id })),
    )
