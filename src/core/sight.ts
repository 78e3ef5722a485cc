import { LISTING_WALL, SEARCH_WALL } from './listing.ts'
import { holdsAny, newestAt, oldestAt, type Row } from './stream-rows.ts'
import type { StreamKind } from './stream.ts'

/**
 * What the pages of a stream tell: whether a check reached the point where the last finished one stood, and where the
 * next one begins. A single id or an instant is no proof of that (a pinned post fakes the overlap), so fifty ids are kept,
 * none of them pinned.
 */

/** Why a check was cut short (contract 7). */
export type CutReason =
  | 'poll_overflow'
  | 'listing_exhausted'
  | 'page_restart'
  | 'empty_listing'
  | 'error'
  | 'storage_full'

/** Ids that are kept of where a check ended. */
export const ANCHORS_MAX = 50
/** Pages of one check; it is cut after them. */
export const PAGES_MAX = 12
/** Times that one page is asked for. */
export const TRIES_MAX = 3
const PAGE_LIMIT = 100
// The newest of the anchors: when all of them are gone and nothing newer has come, the page is an old one.
const NEWEST = 5
// Another limit is another cache entry: 100, 90, 80 rows.
const LIMIT_STEP = 10
// A further page is asked for from before the end of the last one, and has to show some of its last rows again: what is
// of an older copy of the listing does not, and would leave out what came in between without a sign.
const OVERLAP = 3

/** Where the last finished check stood: the ids of its newest rows, and when the newest was created. */
export type Head = { anchors: readonly string[]; head_created_at: number | null }

/** A check under way. `after` and `limit` are what to ask for next. */
export type Look = {
  /** Null for the first check ever: there is nothing to reach. */
  head: Head | null
  /** A monitor that begins here wants everything created since then; null when none does. */
  floor_at: number | null
  /** Whether a page that looks like an old copy is to be believed, because it has been so for long. */
  believing: boolean
  /** The ids that an earlier, cut check did not reach and this one looks for further down; null: there are none. */
  lost: readonly string[] | null
  /** A listing that ends with so many rows may have more that the platform does not list. */
  wall: number
  /** Distinct rows in the platform's order. */
  rows: readonly Row[]
  pages: number
  /** Times the page asked for now has been asked for already. */
  tries: number
  after: string | null
  /** The ids of rows of which the next page has to show one again; empty: it need not. */
  joins: readonly string[]
  limit: number
  /** Whether the head has been met. */
  met: boolean
  /** Whether all is read that this check needs; what it reads on for is only what an earlier one has lost. */
  enough: boolean
  /** Whether what was lost has been reached. */
  healed: boolean
}

/** What follows from a page. `again` asks for the same page once more, `empty` has to be confirmed. */
export type Sighting = { look: Look } & (
  { kind: 'reached' | 'onward' | 'again' | 'empty' | 'stale' } | { kind: 'cut'; reason: CutReason }
)

type Start = Pick<Look, 'head' | 'floor_at' | 'believing'> & {
  lost?: readonly string[] | null
  kind?: StreamKind
}

/** A check of a stream of this kind that has not asked for anything yet. */
export const startLook = ({ lost = null, kind = 'posts', ...from }: Start): Look => ({
  ...from,
  lost,
  wall: wallOf(kind),
  rows: [],
  pages: 0,
  tries: 0,
  after: null,
  joins: [],
  limit: PAGE_LIMIT,
  met: from.head === null,
  enough: false,
  healed: false,
})

// Whether there was more under a post is told in another way.
function wallOf(kind: StreamKind): number {
  if (kind === 'thread') return Infinity
  return kind === 'search' ? SEARCH_WALL : LISTING_WALL
}

/** Reads one page. `after` null is the only sign that a listing has ended; a short page is none. */
export function sight(look: Look, page: { rows: readonly Row[]; after: string | null }): Sighting {
  const tries = look.tries + 1
  const last_try = tries >= TRIES_MAX
  if (look.pages === 0 && isEmptied(look, page))
    return { kind: tries > 1 ? 'empty' : 'again', look: { ...look, tries } }
  if (look.pages === 0 && !look.believing && isOldCopy(look.head, page.rows))
    return {
      kind: last_try ? 'stale' : 'again',
      look: { ...look, tries, limit: PAGE_LIMIT - LIMIT_STEP * tries },
    }
  if (look.pages > 0 && isRestart(look, page)) {
    // The cursor's row is gone and the platform began anew: the row before it may still be there.
    const earlier = look.rows.at(-1 - look.joins.length - tries)
    if (look.enough) return { kind: 'reached', look }
    return last_try || earlier === undefined
      ? { kind: 'cut', reason: 'page_restart', look }
      : { kind: 'again', look: { ...look, tries, after: earlier.id } }
  }
  // Where there was to be more there is nothing: the platform may have failed to say it, and that is no end.
  if (look.pages > 0 && page.rows.length === 0 && page.after === null && !last_try)
    return { kind: 'again', look: { ...look, tries } }
  return advance(look, page)
}

function advance(look: Look, page: { rows: readonly Row[]; after: string | null }): Sighting {
  const known = new Set(look.rows.map(({ id }) => id))
  const rows = [...look.rows, ...page.rows.filter(({ id }) => !known.has(id))]
  const ended = page.after === null
  const met =
    look.met ||
    holdsAny(page.rows, look.head?.anchors ?? []) ||
    // The last check saw an empty listing: whatever there is now is new, and must be seen to its end.
    (look.head?.anchors.length === 0 && ended && rows.length < look.wall)
  // One that ends well before the platform ends every listing has nothing more.
  const whole = ended && rows.length < look.wall
  const oldest_at = oldestAt(rows)
  const deep = look.floor_at === null || (oldest_at !== null && oldest_at < look.floor_at)
  const enough = met && (deep || whole)
  const healed = look.lost !== null && (whole || holdsAny(rows, look.lost))
  const pages = look.pages + 1
  const next = { ...look, rows, met, enough, healed, pages, tries: 0, ...cursorAfter(page) }
  const seeks_on = look.lost !== null && !healed && !ended && pages < PAGES_MAX
  if (enough && !seeks_on) return { kind: 'reached', look: next }
  if (ended) return { kind: 'cut', reason: 'listing_exhausted', look: next }
  if (next.pages >= PAGES_MAX) return { kind: 'cut', reason: 'poll_overflow', look: next }
  return { kind: 'onward', look: { ...next, limit: PAGE_LIMIT } }
}

/**
 * Where the next check begins. The head never moves back: a check that saw no row leaves it where it is, and so does
 * one that was cut and saw none that is newer.
 */
export function headAfter({ head, rows }: Look, reached: boolean): Head {
  const plain = rows.filter(({ sticky }) => !sticky)
  if (!reached && head !== null && (newestAt(plain) ?? 0) < (head.head_created_at ?? 0)) return head
  if (plain.length === 0) return head ?? { anchors: [], head_created_at: null }
  const ids = plain.slice(0, ANCHORS_MAX).map(({ id }) => id)
  // Older anchors stay good behind the new ones, where a short page gave few. After a cut they lie beyond the gap.
  const anchors = [...new Set([...ids, ...(reached ? (head?.anchors ?? []) : [])])]
  return {
    anchors: anchors.slice(0, ANCHORS_MAX),
    head_created_at: Math.max(head?.head_created_at ?? 0, newestAt(plain) ?? 0) || null,
  }
}

/** Nothing where there used to be something. */
const isEmptied = ({ head }: Look, page: { rows: readonly Row[]; after: string | null }): boolean =>
  page.rows.length === 0 && page.after === null && (head?.anchors.length ?? 0) > 0

/**
 * A page from a cache: its newest row is older than the head, and of the newest anchors it knows none. One so old that
 * it knows no anchor at all is no better proof of anything.
 */
function isOldCopy(head: Head | null, rows: readonly Row[]): boolean {
  const newest = rows.find(({ sticky }) => !sticky)
  if (head === null || head.head_created_at === null || newest === undefined) return false
  if (newest.created_at >= head.head_created_at || head.anchors.length <= NEWEST) return false
  return !holdsAny(rows, head.anchors.slice(0, NEWEST))
}

/** Where the next page is asked for, and what it has to show again. A cursor that is no row's id is taken as it is. */
function cursorAfter({ rows, after }: { rows: readonly Row[]; after: string | null }) {
  const cursor = rows.at(-1 - OVERLAP)
  if (after === null || rows.at(-1)?.id !== after || cursor === undefined)
    return { after, joins: [] }
  return { after: cursor.id, joins: rows.slice(-OVERLAP).map(({ id }) => id) }
}

/** A further page that does not join the last one, begins above where that ended, or brings nothing new before the end. */
function isRestart(
  { rows: seen, joins }: Look,
  page: { rows: readonly Row[]; after: string | null },
): boolean {
  const found = page.rows.map(({ id }) => id)
  if (joins.length > 0 && found.length > 0 && !joins.some((id) => found.includes(id))) return true
  const known = new Set(seen.map(({ id }) => id))
  const fresh = page.rows.filter(({ id }) => !known.has(id))
  if (found.length > 0 && fresh.length === 0)
    return page.after !== null || found.at(-1) !== seen.at(-1)?.id
  const last = seen.findLast(({ sticky }) => !sticky)
  const first = fresh.find(({ sticky }) => !sticky)
  return last !== undefined && first !== undefined && first.created_at > last.created_at
}
