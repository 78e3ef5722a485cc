/**
 * What the pages of a stream tell: whether a check reached the point where the last finished one stood, and
 * what it could not see. A single id or an instant is no proof of that (a pinned post fakes the overlap), so
 * fifty ids are kept, none of them pinned.
 */

/** Why a check was cut short (contract 7). */
export type CutReason =
  | 'poll_overflow'
  | 'listing_exhausted'
  | 'page_restart'
  | 'empty_listing'
  | 'error'
  | 'storage_full'

export const ANCHORS_MAX = 50
export const PAGES_MAX = 12
export const TRIES_MAX = 3
const PAGE_LIMIT = 100
// The newest of the anchors: when all of them are gone and nothing newer has come, the page is an old one.
const NEWEST = 5
// Another limit is another cache entry: 100, 90, 80 rows.
const LIMIT_STEP = 10
// The platform ends every listing at about a thousand rows; one that ends well before that has nothing more.
const EXHAUSTED_ROWS = 900
// A further page is asked for from before the end of the last one, and has to show some of its last rows again: what is
// of an older copy of the listing does not, and would leave out what came in between without a sign.
const OVERLAP = 3

/** An item, as far as its place in the stream goes. */
export type Row = { id: string; created_at: number; sticky: boolean }

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

type Start = Pick<Look, 'head' | 'floor_at' | 'believing'> & { lost?: readonly string[] | null }

/** A check that has not asked for anything yet. */
export const startLook = ({ lost = null, ...from }: Start): Look => ({
  ...from,
  lost,
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
    (look.head?.anchors.length === 0 && ended && rows.length < EXHAUSTED_ROWS)
  const whole = ended && rows.length < EXHAUSTED_ROWS
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

/** Whether one of these ids is among the rows. A pinned row proves nothing. */
export function holdsAny(rows: readonly Row[], ids: readonly string[]): boolean {
  const wanted = new Set(ids)
  return rows.some(({ id, sticky }) => !sticky && wanted.has(id))
}

/**
 * Rows as they may be anchors. One that stands above newer ones was put there by somebody, whether or not the
 * platform says so, and is as good as pinned.
 */
export function settleRows(rows: readonly Row[]): Row[] {
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

/** When the oldest of some rows was created; null when there is none but pinned ones. */
export const oldestAt = (rows: readonly Row[]): number | null =>
  rows.reduce<number | null>(
    (oldest, { created_at, sticky }) =>
      sticky || (oldest !== null && oldest <= created_at) ? oldest : created_at,
    null,
  )

/** When the newest of some rows was created; null when there is none but pinned ones. */
export const newestAt = (rows: readonly Row[]): number | null =>
  rows.reduce<number | null>(
    (newest, { created_at, sticky }) =>
      sticky || (newest !== null && newest >= created_at) ? newest : created_at,
    null,
  )

/**
 * Where the next check begins. The head never moves back: a check that saw no row leaves it where it is, and so does
 * one that was cut and saw none that is newer.
 */
export function headAfter({ head, rows }: Look, reached: boolean): Head {
  const plain = rows.filter(({ sticky }) => !sticky)
  if (!reached && head !== null && (newestAt(plain) ?? 0) < (head.head_created_at ?? 0)) return head
  if (plain.length === 0 && !(reached && (head?.anchors.length ?? 0) === 0))
    return head ?? { anchors: [], head_created_at: null }
  const ids = plain.slice(0, ANCHORS_MAX).map(({ id }) => id)
  // Older anchors stay good behind the new ones, where a short page gave few. After a cut they lie beyond the gap.
  const anchors = [...new Set([...ids, ...(reached ? (head?.anchors ?? []) : [])])]
  return {
    anchors: anchors.slice(0, ANCHORS_MAX),
    head_created_at: Math.max(head?.head_created_at ?? 0, newestAt(plain) ?? 0) || null,
  }
}

/**
 * What a cut check did not see: from where it should have reached (null: unknown) to the oldest row it read.
 * `checked_at`: when the last finished check was, by the platform's clock. What was created before it had been there
 * to be seen, however long ago the newest row of a quiet place was created.
 */
export function gapOf(
  look: Look,
  checked_at: number | null = null,
): { from_at: number | null; until_at: number | null } {
  const until_at = oldestAt(look.rows)
  if (look.met) return { from_at: look.floor_at, until_at }
  const head_at = look.head?.head_created_at ?? null
  const known = [head_at, checked_at].filter((it) => it !== null)
  const from_at = known.length === 0 ? look.floor_at : Math.max(...known)
  return {
    from_at: from_at !== null && until_at !== null ? Math.min(from_at, until_at) : from_at,
    until_at,
  }
}

/** New items a second, from the rows of one look; null when they are too few to tell. */
export function rateOf(rows: readonly Row[]): number | null {
  const span_s = spanOf(rows)
  const count = rows.filter(({ sticky }) => !sticky).length
  return span_s > 0 ? (count - 1) / span_s : null
}

/** From the oldest to the newest of some rows, in seconds. */
const spanOf = (rows: readonly Row[]): number =>
  ((newestAt(rows) ?? 0) - (oldestAt(rows) ?? 0)) / 1000

/** New items a second, from the rows of a first look at `now`; null when there are none. */
export function rateUntil(rows: readonly Row[], now: number): number | null {
  const plain = rows.filter(({ sticky }) => !sticky)
  const span_s = (now - (oldestAt(plain) ?? now)) / 1000
  return span_s > 0 ? plain.length / span_s : null
}

/** The rate over many checks: the latest moves it by a fifth. */
export const smooth = (before: number | null, latest: number): number =>
  before === null ? latest : before * 0.8 + latest * 0.2

const OVER = 1.15
/** What comes in a crowd is thought to have done so before for a little longer than it was seen to. */
const CROWD_LASTS = 1.2
const CROWD_LASTS_MIN_S = 40
/** How long a rate that was just so high may go on. */
const RECENT_LASTS_S = 600
/** The platform tells whole seconds: what is missing may have come within the one in which the gap ends. */
const ENDS_WITHIN_S = 1
/** Fewer rows than this are no crowd. */
const CROWD_MIN = 50

/**
 * How many items a gap hides, meant to be too high rather than too low; null when no rate is known. Rates are items a
 * second: `usual` as they come in the long run, `recent` as they came before the gap, and `rows` is what was read above
 * it. What was crowded before or is after may have been so within, but not for much longer than it was seen to be: else
 * one crowded minute would fill a gap of hours.
 */
export function estimateMissed(
  { from_at, until_at }: { from_at: number | null; until_at: number | null },
  rates: { recent: number | null; usual: readonly (number | null)[] },
  rows: readonly Row[] = [],
): number | null {
  const known = rates.usual.filter((it) => it !== null)
  const usual = known.length === 0 ? rates.recent : Math.max(...known)
  if ((usual === null && rateOf(rows) === null) || from_at === null || until_at === null)
    return null
  const length_s = Math.max(0, until_at - from_at) / 1000 + ENDS_WITHIN_S
  const above = Math.max(0, (rates.recent ?? 0) - (usual ?? 0)) * Math.min(length_s, RECENT_LASTS_S)
  const mu = OVER * ((usual ?? 0) * length_s + above + crowdedIn(rows, length_s))
  return Math.ceil(mu + 2 * Math.sqrt(mu) + 2)
}

/** How many items come in so long beneath some rows, if the last of them were the end of a crowd. */
function crowdedIn(rows: readonly Row[], length_s: number): number {
  const plain = rows.filter(({ sticky }) => !sticky)
  let most = 0
  for (let count = plain.length; count >= CROWD_MIN; count = Math.floor(count / 2)) {
    const span_s = Math.max(1, spanOf(plain.slice(-count)))
    const lasted_s = Math.min(length_s, Math.max(CROWD_LASTS_MIN_S, CROWD_LASTS * span_s))
    most = Math.max(most, (count / span_s) * lasted_s)
  }
  return most
}

/** What is watched: a place's posts or comments, a search, the comments of a post, what a person writes. */
export const STREAM_KINDS = [
  'posts',
  'comments',
  'search',
  'thread',
  'user_posts',
  'user_comments',
] as const
export type StreamKind = (typeof STREAM_KINDS)[number]

/** One key for all monitors that watch the same feed. */
export const streamKey = ({ kind, place }: { kind: StreamKind; place: string }): string =>
  `${kind}:${kind === 'search' ? place : place.toLowerCase()}`

/** When a stream is due next. Each has its own phase, so that they do not all ask in the same second. */
export function nextDueAt(key: string, interval_ms: number, now: number): number {
  const phase = hash(key) % interval_ms
  return Math.floor((now - phase) / interval_ms) * interval_ms + phase + interval_ms
}

// FNV-1a: spreads keys that differ in their last letter.
function hash(text: string): number {
  let value = 0x811c9dc5
  for (let i = 0; i < text.length; i++)
    value = Math.imul(value ^ text.charCodeAt(i), 0x01000193) >>> 0
  return value
}
