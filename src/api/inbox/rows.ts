import { ApiError } from '../../core/base/errors.ts'
import { iso } from '../../core/base/time.ts'
import { nameOfSource, type Naming } from '../../core/forum/naming.ts'
import { containsWords } from '../../core/inbox/excerpt.ts'
import { type InboxFilter, type InboxPosition, NO_FILTER, spanOf } from '../../core/inbox/filter.ts'
import {
  type InboxText,
  judgementOfRow,
  missingText,
  rowsOfBody,
  searchableText,
  type StoredRow,
  termsOfRow,
  toInboxText,
  wholeText,
} from '../../core/inbox/row.ts'
import type { Db } from '../../store/db/connection.ts'
import { readMessage } from '../../store/delivery/messages.ts'
import type { InboxActor } from '../../store/inbox/actions.ts'
import {
  findInbox,
  type InboxEntry,
  type InboxMatch,
  listInboxMatches,
} from '../../store/inbox/list.ts'
import type { RouteContext } from '../context.ts'

export const actorOf = (
  { clock, random }: Pick<RouteContext, 'clock' | 'random'>,
  customer_id: string,
  key_id: string,
): InboxActor => ({ customer_id, key_id, id: `act_${random.uuid()}`, now: clock.now() })

/** @throws {ApiError} NOT_FOUND */
export function requireItem(db: Db, customer_id: string, id: string): InboxEntry {
  const [found] = findInbox(db, customer_id, [id], spanOf(NO_FILTER, null).below)
  if (found !== undefined) return found
  throw new ApiError('NOT_FOUND', { message: 'there is no such item in the inbox' })
}

type Words = Pick<Naming, 'community' | 'home'>

/** Bytes of stored matches that one page reads, which takes milliseconds. */
const BYTES_MAX = 4_000_000

const BODIES_MAX = 100

/** Reads stored rows, each body once in a row; `bytes` counts what was read. */
export function createBodies(db: Db) {
  const read = new Map<number, Map<string, StoredRow>>()
  let bytes = 0
  return {
    bytes: () => bytes,
    rowOf(message: number, item_id: string): StoredRow | null {
      let rows = read.get(message)
      if (rows === undefined) {
        const body = readMessage(db, message)
        bytes += body?.byteLength ?? 0
        rows = body === null ? new Map() : rowsOfBody(body)
        if (read.size >= BODIES_MAX) read.clear()
        read.set(message, rows)
      }
      return rows.get(item_id) ?? null
    },
  }
}

/**
 * Items of a page with their texts. `stopped_at`: the last item that was read, where the wanted rows or the bytes of a page
 * were reached; null: all were read.
 */
export function readPage(
  db: Db,
  {
    items,
    filter,
    wanted,
    words,
  }: {
    items: readonly InboxEntry[]
    filter: Pick<InboxFilter, 'text'>
    wanted: number
    words: Words
  },
): { rows: ReturnType<typeof toInboxItem>[]; stopped_at: InboxPosition | null } {
  const bodies = createBodies(db)
  const rows: ReturnType<typeof toInboxItem>[] = []
  const matches = Map.groupBy(
    listInboxMatches(
      db,
      items.map(({ row }) => row),
    ),
    ({ item }) => item,
  )
  for (const item of items) {
    const of_item = matches.get(item.row) ?? []
    // The newest body is the item as it was last delivered.
    const found = of_item.toReversed().map(({ message }) => bodies.rowOf(message, item.item_id))
    const newest = found.find((it) => it !== null) ?? null
    const meets =
      filter.text === null ||
      (newest !== null && containsWords(searchableText(newest), filter.text))
    if (meets) rows.push(toInboxItem(item, of_item, newest, found.toReversed(), words))
    if (rows.length === wanted || bodies.bytes() >= BYTES_MAX)
      return { rows, stopped_at: { matched_at: item.matched_at, row: item.row } }
  }
  return { rows, stopped_at: null }
}

export function readItem(db: Db, entry: InboxEntry, words: Words) {
  const bodies = createBodies(db)
  const matches = listInboxMatches(db, [entry.row])
  const found = matches.map(({ message }) => bodies.rowOf(message, entry.item_id))
  const newest = found.findLast((it) => it !== null) ?? null
  return {
    ...toInboxItem(entry, matches, newest, found, words),
    text: newest === null ? null : wholeText(newest),
  }
}

/** An item as the API shows it. `found`: the stored row of each match. */
function toInboxItem(
  item: InboxEntry,
  matches: readonly InboxMatch[],
  newest: StoredRow | null,
  found: readonly (StoredRow | null)[],
  words: Words,
) {
  const judgements = found.map((it) => (it === null ? null : judgementOfRow(it)))
  const terms = found.map((it) => (it === null ? [] : termsOfRow(it)))
  const text: InboxText =
    newest === null
      ? missingText(item.item_id)
      : toInboxText(newest, [...new Set(terms.flat())], words.community)
  return {
    id: item.item_id,
    source: nameOfSource(words, item.source),
    ...text,
    matched_at: iso(item.matched_at),
    monitors: matches.map(({ monitor_id, name, removed, found_at }, at) => ({
      id: monitor_id,
      name,
      removed: removed === 1,
      matched_at: iso(found_at),
      matched_terms: text.erased ? [] : (terms[at] ?? []),
      judgement: judgements[at] ?? null,
    })),
    state: item.state,
    starred: item.starred === 1,
    label: item.label,
    changed:
      item.changed_at === null
        ? null
        : {
            at: iso(item.changed_at),
            by:
              item.changed_by === null
                ? null
                : { key_id: item.changed_by, name: item.changed_name },
          },
  }
}
