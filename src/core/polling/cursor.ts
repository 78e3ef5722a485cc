/**
 * Decides how far a poll reads: page by page, until it overlaps the checkpoint of the poll before. A stale page, an old cached
 * copy of the listing, is requested again, because it would look complete.
 */
import { LISTING_LIMIT, SEARCH_LIMIT } from '../forum/listing.ts'
import type { FeedKind } from './feed.ts'

export type FeedRow = { id: string; created_at: number; sticky: boolean }

/** True if one of these ids is among the rows. A pinned row does not count. */
export function includesAny(rows: readonly FeedRow[], ids: readonly string[]): boolean {
  const wanted = new Set(ids)
  return rows.some(({ id, sticky }) => !sticky && wanted.has(id))
}

/**
 * Marks rows that cannot be anchors. A row above newer ones was moved there, even if the platform does not mark it, and
 * counts as pinned.
 */
export function markPinned(rows: readonly FeedRow[]): FeedRow[] {
  let newest_below = -Infinity
  return rows
    .toReversed()
    .map((row) => {
      const sticky = row.sticky || row.created_at < newest_below
      if (!sticky) newest_below = Math.max(newest_below, row.created_at)
      return sticky === row.sticky ? row : { ...row, sticky }
    })
    .toReversed()
}

/** Creation time of the oldest row, pinned ones aside; null: none. */
export const oldestAt = (rows: readonly FeedRow[]): number | null =>
  rows.reduce<number | null>(
    (oldest, { created_at, sticky }) =>
      sticky || (oldest !== null && oldest <= created_at) ? oldest : created_at,
    null,
  )

/** Creation time of the newest row, pinned ones aside; null: none. */
export const newestAt = (rows: readonly FeedRow[]): number | null =>
  rows.reduce<number | null>(
    (newest, { created_at, sticky }) =>
      sticky || (newest !== null && newest >= created_at) ? newest : created_at,
    null,
  )

/** New items a second, from the rows of a first poll at `now`; null: no rows. */
export function rateUntil(rows: readonly FeedRow[], now: number): number | null {
  const plain = rows.filter(({ sticky }) => !sticky)
  const span_s = (now - (oldestAt(plain) ?? now)) / 1000
  return span_s > 0 ? plain.length / span_s : null
}

/** Exponential average of a rate: the latest value counts a fifth. */
export const smooth = (before: number | null, latest: number): number =>
  before === null ? latest : before * 0.8 + latest * 0.2

/**
 * Evidence in the pages of a feed: whether a poll reached the checkpoint of the last finished one, and where the next one
 * starts. A single id or an instant proves neither (a pinned post fakes the overlap), so fifty ids are stored, none of
 * them pinned.
 */

export type TruncationReason =
  | 'poll_overflow'
  | 'listing_exhausted'
  | 'page_restart'
  | 'empty_listing'
  | 'error'
  | 'storage_full'
  | AccessRefusal

/** Ways in that have ended although the platform answers: such an answer is no evidence of anything. */
const ACCESS_REFUSALS = ['login_wall', 'placeholder', 'profile_hidden', 'emptied'] as const
export type AccessRefusal = (typeof ACCESS_REFUSALS)[number]

/** The reason as that of an ended way in; null: another one. */
export const accessRefusal = (reason: string | null): AccessRefusal | null =>
  ACCESS_REFUSALS.find((it) => it === reason) ?? null

/** True where a check has read nothing of the feed. */
export const readsNothing = (reason: TruncationReason): boolean =>
  reason === 'error' || accessRefusal(reason) !== null

export const ANCHOR_IDS_MAX = 50
/** Pages of one check, after which it is truncated. */
export const PAGES_MAX = 12
export const TRIES_MAX = 3
const PAGE_LIMIT = 100
// Newest anchors: if all of them are missing and nothing newer appears, the page is stale.
const NEWEST = 5
// Another limit is another cache entry: 100, 90, 80 rows.
const LIMIT_STEP = 10
// A further page starts before the end of the last one and has to repeat some of its rows. A page of an older copy of the
// listing does not, and would skip the rows in between.
const OVERLAP = 3
/** Known rows in a run that show an overlap: a single row may stand out of order. */
const OVERLAP_ROWS = 5
/** Pages that a poll reads for late rows after it reached its checkpoint, unless it ends in a run of so many known rows. */
const LATE_PAGES_MAX = 2
const LATE_ROWS = 40
/** Rows after which an audit has read as deep as it has to. */
export const AUDIT_ROWS_MAX = 1000

/** Position of the last finished check: ids of its newest rows, and the newest creation time, epoch ms. */
export type Checkpoint = { anchor_ids: readonly string[]; checkpoint_at: number | null }

/** A check in progress. `after` and `limit` are those of the next request. */
export type PollState = {
  /** The checkpoint to reach; null: first check. */
  checkpoint: Checkpoint | null
  /** Creation time back to which a starting monitor wants everything, epoch ms; null: none starts. */
  backfill_since: number | null
  /** True: a page that looks stale is accepted, because pages have been so for long. */
  accept_stale: boolean
  /** Epoch ms, platform clock. Rows may appear as late as this; the poll reads on to there within few pages. */
  late_since: number | null
  /** An audit reads to this instant (epoch ms, platform clock) or to {@link AUDIT_ROWS_MAX} rows; null: no audit. */
  audit_since: number | null
  /** Ids of rows that earlier polls of the feed have shown; null: only those of the checkpoint are known. */
  seen: ReadonlySet<string> | null
  /** The last row before an end of the listing that is to be confirmed; null: none. */
  end_id: string | null
  /** True: an audit has read to its depth. */
  audited: boolean
  /** Pages read when the checkpoint was reached; null: not yet. */
  overlap_pages: number | null
  /** Ids that an earlier, truncated check did not reach and this one reads back to; null: none. */
  gap_ids: readonly string[] | null
  /** Rows after which the platform ends any listing, however many there are. */
  listing_limit: number
  /** Distinct rows in the platform's order. */
  rows: readonly FeedRow[]
  pages: number
  /** Earlier requests for the present page. */
  tries: number
  after: string | null
  /** Ids of which the next page has to repeat one; empty: no condition. */
  joins: readonly string[]
  limit: number
  /** True: the checkpoint was reached. */
  overlapped: boolean
  /** True: nothing more is needed for this check; further pages are only for an earlier gap. */
  complete: boolean
  /** True: the rows below an earlier gap were reached. */
  gap_closed: boolean
}

/** Next step after a page. `retry` repeats the request, `empty` has to be confirmed. */
export type PollStep = { state: PollState } & (
  | { kind: 'complete' | 'next_page' | 'retry' | 'empty' | 'stale' }
  | { kind: 'truncated'; reason: TruncationReason }
)

type PollStart = Pick<PollState, 'checkpoint' | 'backfill_since' | 'accept_stale'> & {
  gap_ids?: readonly string[] | null
  late_since?: number | null
  audit_since?: number | null
  kind?: FeedKind
}

/** A new check of a feed of this kind, before its first request. */
export const startPoll = ({
  gap_ids = null,
  late_since = null,
  audit_since = null,
  kind = 'posts',
  ...from
}: PollStart): PollState => ({
  ...from,
  gap_ids,
  late_since,
  audit_since,
  seen: null,
  end_id: null,
  audited: false,
  overlap_pages: null,
  listing_limit: listingLimitOf(kind),
  rows: [],
  pages: 0,
  tries: 0,
  after: null,
  joins: [],
  limit: PAGE_LIMIT,
  overlapped: from.checkpoint === null,
  complete: false,
  gap_closed: false,
})

// A thread reports by placeholders whether there is more.
function listingLimitOf(kind: FeedKind): number {
  if (kind === 'thread') return Infinity
  return kind === 'search' ? SEARCH_LIMIT : LISTING_LIMIT
}

type PollPage = {
  rows: readonly FeedRow[]
  after: string | null
  /** Ids of its rows that the feed has shown before. */
  seen?: ReadonlySet<string>
}

/**
 * Evaluates one page. Only a null `after` ends a listing, and an end that decides anything has to be read twice; a short
 * page is no end.
 */
export function advance(before: PollState, page: PollPage): PollStep {
  const state =
    page.seen === undefined
      ? before
      : { ...before, seen: new Set([...(before.seen ?? []), ...page.seen]) }
  const tries = state.tries + 1
  const last_try = tries >= TRIES_MAX
  if (state.pages === 0 && isEmptied(state, page))
    return { kind: tries > 1 ? 'empty' : 'retry', state: { ...state, tries } }
  if (state.pages === 0 && !state.accept_stale && isStaleCopy(state.checkpoint, page.rows))
    return {
      kind: last_try ? 'stale' : 'retry',
      state: { ...state, tries, limit: PAGE_LIMIT - LIMIT_STEP * tries },
    }
  if (state.pages > 0 && isRestart(state, page)) return backUp(state, page.rows.length === 0)
  // An empty page where more was announced may be a failure of the platform, and is no end.
  if (state.pages > 0 && page.rows.length === 0 && page.after === null && !last_try)
    return { kind: 'retry', state: { ...state, tries } }
  return acceptPage(state, page)
}

/**
 * Next step after a page that does not continue the last one. The cursor's row is gone, or in a place that became
 * private: the platform restarts the listing, ends it or refuses it, and the row before it may still exist.
 */
export function backUp(state: PollState, is_empty: boolean): PollStep {
  const tries = state.tries + 1
  const earlier = state.rows.at(-1 - state.joins.length - tries)
  const is_over = tries >= TRIES_MAX || earlier === undefined
  if (state.complete && (is_over || !is_empty)) return { kind: 'complete', state }
  return is_over
    ? { kind: 'truncated', reason: 'page_restart', state }
    : { kind: 'retry', state: { ...state, tries, after: earlier.id } }
}

function acceptPage(state: PollState, page: PollPage): PollStep {
  const read_ids = new Set(state.rows.map(({ id }) => id))
  const rows = [...state.rows, ...page.rows.filter(({ id }) => !read_ids.has(id))]
  const ended = page.after === null
  const pages = state.pages + 1
  // An end well before the platform ends every listing. A thread is read whole, so its end is one.
  const early_end = ended && rows.length < state.listing_limit
  const end_id = rows.at(-1)?.id ?? ''
  // A first poll claims nothing yet; a listing that shows every row of the checkpoint has not ended above them.
  const is_confirmed =
    state.checkpoint === null ||
    state.listing_limit === Infinity ||
    state.end_id === end_id ||
    hasAll(rows, state.checkpoint.anchor_ids)
  const was_empty = state.checkpoint?.anchor_ids.length === 0
  const overlapped = state.overlapped || isOverlapped(state, rows) || (was_empty && early_end)
  const oldest_at = oldestAt(rows)
  const reaches = (since: number | null) =>
    since === null || (oldest_at !== null && oldest_at < since)
  const overlap_pages = overlapped ? (state.overlap_pages ?? pages) : null
  const is_late_read =
    reaches(state.late_since) ||
    ended ||
    pages >= (overlap_pages ?? pages) + LATE_PAGES_MAX ||
    knownBelow(state, rows) >= LATE_ROWS
  const complete = overlapped && is_late_read && (reaches(state.backfill_since) || early_end)
  const audited =
    state.audit_since !== null &&
    (reaches(state.audit_since) || ended || rows.length >= AUDIT_ROWS_MAX)
  const by_end = early_end && audited && !reaches(state.audit_since) && rows.length < AUDIT_ROWS_MAX
  // The platform ends listings early at times. The same end in a second read is believed.
  if (by_end && !is_confirmed && state.tries + 1 < TRIES_MAX)
    return { kind: 'retry', state: { ...state, end_id, tries: state.tries + 1 } }
  const gap_closed = state.gap_ids !== null && includesAny(rows, state.gap_ids)
  const next = {
    ...state,
    rows,
    overlapped,
    complete,
    gap_closed,
    overlap_pages,
    audited: audited && (!by_end || is_confirmed),
    end_id: null,
    pages,
    tries: 0,
    ...cursorAfter(page),
  }
  const reads_on =
    (state.gap_ids !== null && !gap_closed) || (state.audit_since !== null && !audited)
  if (complete && !(reads_on && !ended && pages < PAGES_MAX))
    return { kind: 'complete', state: next }
  if (ended) return { kind: 'truncated', reason: 'listing_exhausted', state: next }
  if (pages >= PAGES_MAX) return { kind: 'truncated', reason: 'poll_overflow', state: next }
  return { kind: 'next_page', state: { ...next, limit: PAGE_LIMIT } }
}

const hasAll = (rows: readonly FeedRow[], ids: readonly string[]): boolean => {
  const found = new Set(rows.map(({ id }) => id))
  return ids.length > 0 && ids.every((id) => found.has(id))
}

/** Rows of earlier polls below the lowest new one. */
function knownBelow({ checkpoint, seen }: PollState, rows: readonly FeedRow[]): number {
  const anchors = new Set(checkpoint?.anchor_ids ?? [])
  const lowest_new = rows.findLastIndex(({ id }) => !anchors.has(id) && seen?.has(id) !== true)
  return rows.length - 1 - lowest_new
}

/**
 * True if the rows reach the checkpoint: one of its ids is among them, in a run of known rows. Rows of one second come in any
 * order, so a known row at the end of a page does not show that none was added below it.
 */
function isOverlapped({ checkpoint, seen }: PollState, rows: readonly FeedRow[]): boolean {
  const anchors = new Set(checkpoint?.anchor_ids ?? [])
  const plain = rows.filter(({ sticky }) => !sticky)
  const found = plain.filter(({ id }) => anchors.has(id)).length
  if (found === 0) return false
  if (found === anchors.size) return true
  let run = 0
  return plain.some(({ id }) => {
    run = anchors.has(id) || seen?.has(id) === true ? run + 1 : 0
    return run >= Math.min(OVERLAP_ROWS, anchors.size)
  })
}

/**
 * Checkpoint for the next check. It never moves back: a check without rows leaves it as it is, and so does a truncated
 * one without newer rows.
 */
export function nextCheckpoint({ checkpoint, rows }: PollState, complete: boolean): Checkpoint {
  const plain = rows.filter(({ sticky }) => !sticky)
  if (!complete && checkpoint !== null && (newestAt(plain) ?? 0) < (checkpoint.checkpoint_at ?? 0))
    return checkpoint
  if (plain.length === 0) return checkpoint ?? { anchor_ids: [], checkpoint_at: null }
  const ids = plain.slice(0, ANCHOR_IDS_MAX).map(({ id }) => id)
  // Older anchors stay valid after the new ones, where a short page gave few. After a truncated check they lie below the gap.
  const anchor_ids = [...new Set([...ids, ...(complete ? (checkpoint?.anchor_ids ?? []) : [])])]
  return {
    anchor_ids: anchor_ids.slice(0, ANCHOR_IDS_MAX),
    checkpoint_at: Math.max(checkpoint?.checkpoint_at ?? 0, newestAt(plain) ?? 0) || null,
  }
}

/** True for an empty listing that used to have rows. */
const isEmptied = ({ checkpoint }: PollState, page: PollPage): boolean =>
  page.rows.length === 0 && page.after === null && (checkpoint?.anchor_ids.length ?? 0) > 0

/**
 * True for a page of an old copy: its newest row is older than the checkpoint and none of the newest anchors is on it. A
 * copy so old that it has no anchor at all proves no more.
 */
function isStaleCopy(checkpoint: Checkpoint | null, rows: readonly FeedRow[]): boolean {
  const newest = rows.find(({ sticky }) => !sticky)
  if (checkpoint === null || checkpoint.checkpoint_at === null || newest === undefined) return false
  if (newest.created_at >= checkpoint.checkpoint_at || checkpoint.anchor_ids.length <= NEWEST)
    return false
  return !includesAny(rows, checkpoint.anchor_ids.slice(0, NEWEST))
}

/** Cursor of the next page, and the ids it has to repeat. A cursor that is no row's id is used as it is. */
function cursorAfter({ rows, after }: { rows: readonly FeedRow[]; after: string | null }) {
  const cursor = rows.at(-1 - OVERLAP)
  if (after === null || rows.at(-1)?.id !== after || cursor === undefined)
    return { after, joins: [] }
  return { after: cursor.id, joins: rows.slice(-OVERLAP).map(({ id }) => id) }
}

/** True for a page that does not continue the last one: no repeated row, as of an empty page, newer rows first, or no new row before the end. */
function isRestart(
  { rows: seen, joins }: PollState,
  page: { rows: readonly FeedRow[]; after: string | null },
): boolean {
  const found = page.rows.map(({ id }) => id)
  if (joins.length > 0 && !joins.some((id) => found.includes(id))) return true
  const seen_ids = new Set(seen.map(({ id }) => id))
  const fresh = page.rows.filter(({ id }) => !seen_ids.has(id))
  if (found.length > 0 && fresh.length === 0)
    return page.after !== null || found.at(-1) !== seen.at(-1)?.id
  const last = seen.findLast(({ sticky }) => !sticky)
  const first = fresh.find(({ sticky }) => !sticky)
  return last !== undefined && first !== undefined && first.created_at > last.created_at
}
