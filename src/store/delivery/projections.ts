import { encodeItem } from '../../core/archive/rows.ts'
import { fromRow } from '../../core/enrichment/enrich.ts'
import { itemKey } from '../../core/forum/items.ts'
import type { Naming } from '../../core/forum/naming.ts'
import { isErasedRow } from '../../core/forum/purge.ts'
import { arrivalOf } from '../../core/inbox/arrival.ts'
import { monitorScope, type QueuedItem } from '../archive/queue.ts'
import { firstBytes } from '../db/bulk.ts'
import { type Db, transact } from '../db/connection.ts'
import { keepItems } from '../erasure/kept-items.ts'
import { insertInbox } from '../inbox/items.ts'
import { unpackBody } from './messages.ts'

// Kept items, inbox and archive follow the messages of matches after their commit, each from where it is: nothing on the path
// of a match waits for them. The name of each, and what it has read, is in `loop_state`.

export const PROJECTIONS = ['inbox', 'archive'] as const
type Projection = (typeof PROJECTIONS)[number]

/** A message as a projection reads it. `matched_at`: by the local clock. */
export type MatchMessage = { row: number; monitor_id: string; body: Uint8Array; matched_at: number }

type Row = MatchMessage & { customer_id: string; seq: number | null }

/** SQL of the message up to which a projection has read. */
const READ_UNTIL = "(SELECT value + 0 FROM loop_state WHERE loop = 'projection' AND name = $name)"

/** Messages of one step, which takes milliseconds. */
const AT_ONCE = 100

/** Messages of matches that a projection has not read, oldest first: as many as one step takes. */
export const listUnread = (db: Db, name: Projection, limit: number): Row[] =>
  firstBytes(
    db
      .query<Row, [{ name: string; limit: number }]>(
        `SELECT g.row, g.monitor_id, g.seq, g.body, g.matched_at, m.customer_id
           FROM messages g JOIN monitors m ON m.id = g.monitor_id
          WHERE g.row > ${READ_UNTIL} AND g.event IS NULL AND g.body IS NOT NULL
          ORDER BY g.row LIMIT $limit + 0`,
      )
      .iterate({ name, limit }),
    ({ body }) => body.byteLength,
  )

/** Notes up to which message a projection has read. */
export const noteRead = (db: Db, name: Projection, message: number): void =>
  void db
    .query("UPDATE loop_state SET value = $message WHERE loop = 'projection' AND name = $name")
    .run({ name, message })

/** Messages that a projection has not read. */
export const countUnread = (db: Db, name: Projection): number =>
  db
    .query<{ n: number }, [{ name: string }]>(
      `SELECT count(*) AS n FROM messages
        WHERE row > ${READ_UNTIL} AND event IS NULL AND body IS NOT NULL`,
    )
    .get({ name })?.n ?? 0

/** Ends what a projection that is switched off has yet to read. */
export const skipUnread = (db: Db, name: Projection): void =>
  void db
    .query(
      `UPDATE loop_state SET value = (SELECT coalesce(max(row), 0) FROM messages)
        WHERE loop = 'projection' AND name = $name AND value + 0 < (SELECT coalesce(max(row), 0) FROM messages)`,
    )
    .run({ name })

export type ProjectionDeps = {
  db: Db
  words: Pick<Naming, 'community'>
  /** Milliseconds by which true time is ahead of the local clock. */
  clock_offset_ms: () => number
}

/** Keeps the items of messages for erasure, and puts those of the pull API into the inboxes. True while there are more. */
export function projectMatches({
  db,
  words: { community },
  clock_offset_ms,
}: ProjectionDeps): boolean {
  const first = listUnread(db, 'inbox', 1)
  if (first.length === 0) return false
  return transact(db, () => {
    const messages = listUnread(db, 'inbox', AT_ONCE).map((it) => ({ ...it, rows: rowsOf(it) }))
    for (const [now, of_instant] of Map.groupBy(messages, ({ matched_at }) => matched_at))
      keepItems(
        db,
        of_instant.flatMap(({ rows }) =>
          rows.flatMap((row) => (isErasedRow(row) ? [] : [fromRow(row, community)])),
        ),
        now,
      )
    const offset_ms = clock_offset_ms()
    insertInbox(
      db,
      messages
        .filter(({ seq }) => seq !== null)
        .map(({ row: message, customer_id, monitor_id, matched_at, rows }) => ({
          customer_id,
          monitor_id,
          message,
          found_at: matched_at + offset_ms,
          items: rows.map((row) => arrivalOf(itemKey(fromRow(row, community)), row, community)),
        })),
    )
    noteRead(db, 'inbox', messages.at(-1)?.row ?? 0)
    return listUnread(db, 'inbox', 1).length > 0
  })
}

/** Lets kept items and inbox reach the newest message, before what they hold is searched or erased. */
export function catchUp(deps: ProjectionDeps): void {
  while (projectMatches(deps));
}

const rowsOf = ({ body }: Pick<MatchMessage, 'body'>): Record<string, unknown>[] => {
  const { items = [] }: { items?: Record<string, unknown>[] } = JSON.parse(
    new TextDecoder().decode(unpackBody(body)),
  )
  return items
}

/** The items of a message as the archive takes them; erased ones are left out. */
export const archivedOf = (message: MatchMessage, community: string): QueuedItem[] =>
  rowsOf(message).flatMap((row) => {
    if (isErasedRow(row)) return []
    const item = fromRow(row, community)
    return [
      {
        seq: 0,
        item_id: itemKey(item),
        item: encodeItem(item),
        scopes: JSON.stringify([monitorScope(message.monitor_id)]),
        seen_at: message.matched_at,
      },
    ]
  })
