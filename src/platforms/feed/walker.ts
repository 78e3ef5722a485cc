import type { PartialReason } from '../source.ts'
import { hashOf, type Listed } from './identity.ts'

/** A row of the window: id, time in seconds (null: none), digest, hash of the link, hash of title and time. */
type Row = [id: string, at_s: number | null, digest: string, link: string, title: string]

export type FeedState = {
  /** Before the first poll, the earliest start of a monitor that waits for it, epoch ms; null: none does. */
  since: number | null
  /** The list of the last good poll, in its order. Null: not polled yet. */
  window: Row[] | null
  /** Keys that were listed before, the newest last, with their times. */
  known: [id: string, at_s: number | null][]
  /** Highest number of a post or thread, and that of the first poll; null: they have none. */
  number: number | null
  first_number: number | null
  /** Entries come up again with a later time: it is that of their last reply. */
  has_bumps: boolean
  /** The oldest entries were seen to leave, so that a list in the order of arrival has its end at the newest ones. */
  has_rolled: boolean
  /** Everything that was listed until then was read, epoch ms by the feed's clock. */
  verified_until: number | null
  /** Start of what no poll has reached; null: the last poll overlapped the one before. */
  open_from: number | null
  /** The list is no list of arrivals until then, or for good. */
  partial_until: number
  /** Polls in a row whose order is not that of arrival, or in which most ids have moved. */
  disorders: number
  renames: number
  /** Why the order of the list proved nothing at the last poll; null: it did. */
  partial: PartialReason | null
  /** Milliseconds in which a third of the window turns over, when it does so fastest; null: not known. */
  third_ms: number | null
  polled_at: number
  /** Polls that found other entries than the one before. */
  changes: number
}

export const NEW_FEED: FeedState = {
  since: null,
  window: null,
  known: [],
  number: null,
  first_number: null,
  has_bumps: false,
  has_rolled: false,
  verified_until: null,
  open_from: null,
  partial_until: 0,
  disorders: 0,
  renames: 0,
  partial: null,
  third_ms: null,
  polled_at: 0,
  changes: 0,
}

/** `as_of`: the list shows what was there then, epoch ms by the feed's clock. */
export type Look = { listed: readonly Listed[]; as_of: number; is_cut: boolean }

/** A window that rolled over: what came between was not seen. `missed`: at most so many; null: not known. */
type Gap = { from_at: number | null; until_at: number | null; missed: number | null }

export type Judged = {
  state: FeedState
  /** Entries that came since the last poll, oldest first. */
  fresh: readonly Listed[]
  /** Names of those among them that stand below known ones: they were approved late, or have an older date. */
  late: ReadonlySet<string>
  /** Known entries with another text. */
  edited: readonly Listed[]
  /** All that was listed is read until `state.verified_until`. */
  is_complete: boolean
  gap: Gap | null
  partial: PartialReason | null
}

const KNOWN_MAX = 400
const WINDOW_MAX = 2000
/** A selection of entries is one for a week: it may leave out new ones. */
const SELECTION_MS = 7 * 86_400_000
/** Lists may have as few rows as this. */
const SMALLEST_LIST = 5
const DISORDERS_MAX = 2
/** Rows in a row that no reader has pinned. */
const RUN = 3
const RENAMES_MAX = 3

const secondsOf = (at: number | null): number | null => (at === null ? null : Math.floor(at / 1000))

const rowOf = ({ id, at, digest, link, title }: Listed): Row => [
  id,
  secondsOf(at),
  digest,
  link === '' ? '' : hashOf(link, 8),
  title,
]

/** True when most of the rows that have times fall from the first to the last. */
function isNewestFirst(times: readonly (number | null)[]): boolean {
  const dated = times.filter((it) => it !== null)
  const rising = dated.filter((at, n) => n > 0 && at > (dated[n - 1] ?? at)).length
  // One pinned row of a short list stands above later ones.
  const most = dated.length < 4 ? 0 : Math.max(1, dated.length / 10)
  return dated.length * 2 > times.length && rising <= most
}

const isOldestFirst = (times: readonly (number | null)[]): boolean =>
  times.length > 1 && !isNewestFirst(times) && isNewestFirst(times.toReversed())

/** Shortest time in which a third of a list has arrived, by its own dates; null: it has none. */
function thirdOf(times: readonly (number | null)[]): number | null {
  const dated = times.filter((it) => it !== null).toSorted((a, b) => b - a)
  const third = Math.max(1, Math.ceil(times.length / 3))
  if (dated.length <= third || dated.length < SMALLEST_LIST) return null
  const spans = dated.slice(third).map((at, n) => (dated[n] ?? at) - at)
  const shortest = Math.min(...spans.filter((it) => it > 0))
  return Number.isFinite(shortest) ? shortest * 1000 : null
}

/**
 * The first row of a list, newest first, that the last one had with the same time and below which no row is later; -1: none. A
 * row of the future is none: it stays on top while others come and go below it.
 */
function anchorIn(rows: readonly Row[], before: ReadonlyMap<string, Row>, now_s: number): number {
  let latest = -Infinity
  let anchor = -1
  for (let n = rows.length - 1; n >= 0; n--) {
    const [id, at_s] = rows[n] ?? ['', null]
    if (at_s === null) continue
    if (before.get(id)?.[1] === at_s && at_s >= latest && at_s <= now_s) anchor = n
    latest = Math.max(latest, at_s)
  }
  return anchor
}

/** Rows that still follow each other, for lists whose times tell nothing; -1: none. */
function neighboursIn(rows: readonly Row[], window: readonly Row[], run: number): number {
  const follows = new Map(window.map(([id], n) => [id, window[n + 1]?.[0]]))
  let length = 1
  for (const [n, [id]] of rows.entries()) {
    const above = rows[n - 1]?.[0]
    length = above !== undefined && follows.get(above) === id ? length + 1 : 1
    if (length >= run) return n - run + 1
  }
  return -1
}

/** Known rows that stand in another order than before, and how many could. Those with another time have moved by it. */
function turned(rows: readonly Row[], window: readonly Row[]): { pairs: number; turned: number } {
  const places = new Map(window.map(([id, at_s], n) => [id, { n, at_s }]))
  const places_now = rows.flatMap(([id, at_s]) => {
    const place = places.get(id)
    return place === undefined || place.at_s !== at_s ? [] : [place.n]
  })
  const count = places_now.filter((at, n) => n > 0 && at < (places_now[n - 1] ?? at)).length
  return { pairs: Math.max(0, places_now.length - 1), turned: count }
}

/** True when rows came up with a later time, above others that stood above them. */
function hasBumped(common: readonly Row[], before: ReadonlyMap<string, Row>): boolean {
  const places = new Map([...before.keys()].map((id, n) => [id, n]))
  return common.some(([id, at_s], n) => {
    const before_s = before.get(id)?.[1] ?? null
    const below = common[n + 1]?.[0] ?? ''
    const is_later = at_s !== null && before_s !== null && at_s > before_s
    return is_later && (places.get(id) ?? 0) > (places.get(below) ?? Infinity)
  })
}

/** True when old threads stand among new ones, as where the last reply orders a list. */
function isByReply(numbers: readonly number[], times: readonly (number | null)[]): boolean {
  const rising = numbers.filter((it, n) => n > 0 && it > (numbers[n - 1] ?? it)).length
  return numbers.length * 5 >= times.length * 4 && rising >= 2 && rising * 5 > numbers.length
}

/** Keeps what was known, with a list in front. */
function remember(known: FeedState['known'], rows: readonly Row[]): FeedState['known'] {
  const listed = new Set(rows.map(([id]) => id))
  const kept = known.filter(([id]) => !listed.has(id))
  const most = Math.max(KNOWN_MAX, 4 * rows.length)
  return [...kept, ...rows.map(([id, at_s]): [string, number | null] => [id, at_s])].slice(-most)
}

/** The state after an answer that shows the same list, as 304 does. */
export const seenSame = (state: FeedState, as_of: number): FeedState => ({
  ...state,
  verified_until:
    state.open_from === null && state.window !== null
      ? Math.max(as_of, state.verified_until ?? 0)
      : state.verified_until,
  polled_at: as_of,
})

/**
 * Compares a list with the one of the last poll. Null: it is empty where entries were, which is a fault of the site and changes
 * nothing.
 */
export function judge(state: FeedState, { listed, as_of, is_cut }: Look): Judged | null {
  const { window } = state
  const given = listed.slice(0, WINDOW_MAX).map(rowOf)
  if (window !== null && window.length > 0 && given.length === 0) return null
  const is_reversed = isOldestFirst(given.map(([, at_s]) => at_s))
  const rows = is_reversed ? given.toReversed() : given
  const in_order = is_reversed ? listed.toReversed() : listed
  const by_id = new Map(in_order.map((it) => [it.id, it]))
  const times = rows.map(([, at_s]) => at_s)
  const numbers = in_order.flatMap(({ number }) => number ?? [])
  const next = {
    ...state,
    window: rows,
    known: remember(state.known, rows),
    number: numbers.length === 0 ? state.number : Math.max(state.number ?? 0, ...numbers),
    has_bumps: state.has_bumps || (isNewestFirst(times) && isByReply(numbers, times)),
    first_number: window === null && numbers.length > 0 ? Math.max(...numbers) : state.first_number,
    polled_at: as_of,
  }
  const own_third = thirdOf(times)
  if (window === null) {
    const partial = orderOf(next, times, is_reversed)
    const { since } = state
    // An item without a date, or dated by its last reply, may have been there before the first poll.
    const fresh =
      since === null || next.has_bumps
        ? []
        : in_order.filter(({ at }) => at !== null && at >= since && at <= as_of)
    return {
      state: { ...next, since: null, partial, verified_until: as_of, third_ms: own_third },
      fresh: fresh.toReversed(),
      late: new Set(),
      edited: [],
      is_complete: true,
      gap: null,
      partial,
    }
  }

  const before = new Map(window.map((it) => [it[0], it]))
  const known = new Map(state.known)
  const common = rows.filter(([id]) => before.has(id))
  const { is_selection, renamed, unseen, tail } = compare(rows, window, known)
  const is_timed = isNewestFirst(times)
  const order = turned(rows, window)
  const is_resorted = order.turned >= 2 && order.turned * 10 > order.pairs
  const retimed = common.filter(([id, at_s]) => before.get(id)?.[1] !== at_s).length
  const is_redated = common.length >= 3 && retimed === common.length
  const anchor = is_timed ? anchorIn(rows, before, Math.floor(as_of / 1000)) : -1
  const overlap = anchor === -1 ? neighboursIn(rows, window, is_timed ? RUN : 2) : anchor
  const is_same = rows.length === window.length && rows.every(([id], n) => window[n]?.[0] === id)
  const is_first_list = window.length === 0 && rows.length < SMALLEST_LIST
  const has_overlap = is_same || is_first_list || overlap !== -1 || (!is_timed && common.length > 0)

  const ids_moved = renamed.size * 2 > window.length
  const disorders =
    (is_timed || rows.length < 2) && !is_resorted && !is_redated
      ? Math.max(0, state.disorders - 1)
      : DISORDERS_MAX + 1
  const renames = ids_moved ? state.renames + 1 : rows.length > 0 ? 0 : state.renames
  const after: FeedState = {
    ...next,
    disorders,
    renames,
    has_bumps: next.has_bumps || hasBumped(common, before),
    has_rolled: state.has_rolled || tail,
    partial_until: is_selection ? as_of + SELECTION_MS : state.partial_until,
    changes: state.changes + (is_same ? 0 : 1),
  }
  // An old thread that comes into a list of last replies had one: it is no new thread.
  const isOld = ({ number }: Listed): boolean =>
    after.has_bumps && number !== null && number <= (state.first_number ?? -1)
  const fresh = unseen
    .filter((id) => !renamed.has(id))
    .flatMap((id) => by_id.get(id) ?? [])
    .filter((it) => !isOld(it))
  const turnover = fresh.length / Math.max(1, rows.length)
  const measured = turnover === 0 ? null : Math.max(1, as_of - state.polled_at) / (3 * turnover)
  // A quiet time does not make the next busy one slower at once.
  const slower = state.third_ms === null ? null : state.third_ms * 1.02
  const third_ms = Math.min(measured ?? Infinity, own_third ?? Infinity, slower ?? Infinity)
  after.third_ms = Number.isFinite(third_ms) ? third_ms : null

  // A list by last reply may have its text too.
  const changed = common.filter(
    ([id, at_s, digest]) =>
      before.get(id)?.[2] !== digest && !(after.has_bumps && before.get(id)?.[1] !== at_s),
  )
  // Another template changes them all.
  const is_template = common.length >= 4 && changed.length * 2 > common.length
  const edited = is_template ? [] : changed.flatMap(([id]) => by_id.get(id) ?? [])
  const lowest = common.length === 0 ? -1 : Math.min(...common.map((it) => rows.indexOf(it)))
  const late = new Set(
    fresh
      .filter(
        ({ id }) =>
          overlap !== -1 &&
          lowest !== -1 &&
          rows.findIndex(([it]) => it === id) > Math.max(overlap, lowest),
      )
      .map(({ id }) => id),
  )
  const partial = orderOf(after, times, is_reversed && !after.has_rolled)
  after.partial = partial
  const found = { fresh: fresh.toReversed(), late, edited }

  if (!has_overlap || (is_cut && anchor === -1 && !is_same)) {
    const newest_before = Math.max(...window.map(([, at_s]) => at_s ?? -Infinity))
    const oldest_now = Math.min(...rows.map(([, at_s]) => at_s ?? Infinity))
    const from_at = state.open_from ?? state.verified_until
    const number_now = Math.min(...numbers)
    const missed =
      state.number !== null && numbers.length > 0 && number_now > state.number
        ? number_now - state.number - 1
        : null
    const gap: Gap = {
      from_at: Number.isFinite(newest_before)
        ? Math.min(newest_before * 1000, from_at ?? Infinity)
        : from_at,
      until_at: Number.isFinite(oldest_now) ? Math.min(oldest_now * 1000, as_of) : as_of,
      missed,
    }
    return { state: { ...after, open_from: from_at }, ...found, is_complete: false, gap, partial }
  }
  const verified_until =
    partial === null ? Math.max(as_of, state.verified_until ?? 0) : state.verified_until
  return {
    state: { ...after, open_from: null, verified_until },
    ...found,
    is_complete: partial === null,
    gap: null,
    partial,
  }
}

/** Why the order of a list proves nothing now; null: it does. */
function orderOf(
  { disorders, partial_until, renames, polled_at }: FeedState,
  times: readonly (number | null)[],
  is_unproven: boolean,
): PartialReason | null {
  if (times.length < 2) return partial_until > polled_at ? 'order_is_not_arrival' : null
  const is_ordered = isNewestFirst(times) || isOldestFirst(times)
  return !is_ordered ||
    is_unproven ||
    disorders >= DISORDERS_MAX ||
    renames >= RENAMES_MAX ||
    partial_until > polled_at
    ? 'order_is_not_arrival'
    : null
}

/** What is new in a list, by ids, links and titles. `tail`: rows of the window have left it at the end where old ones stand. */
function compare(
  rows: readonly Row[],
  window: readonly Row[],
  known: ReadonlyMap<string, number | null>,
): { is_selection: boolean; renamed: ReadonlySet<string>; unseen: string[]; tail: boolean } {
  const listed = new Map(rows.map(([id, at_s]) => [id, at_s]))
  const before = new Set(window.map(([id]) => id))
  const last_common = rows.findLastIndex(([id]) => before.has(id))
  // One with another time has moved by it.
  const last_before = window.findLastIndex(([id, at_s]) => listed.get(id) === at_s)
  const left = window.slice(0, last_before + 1).filter(([id]) => !listed.has(id))
  const gone = window.filter(([id]) => !listed.has(id))
  const links = new Set(gone.map(([, , , link]) => link).filter((it) => it !== ''))
  const titles = new Set(gone.map(([, , , , title]) => title).filter((it) => it !== ''))
  const renamed = new Set<string>()
  const unseen: string[] = []
  let returned = 0
  // Not the least time: that of a pinned row says nothing of where the list ends.
  const oldest = window.findLast(([, at_s]) => at_s !== null)?.[1] ?? -Infinity
  for (const [n, [id, at_s, , link, title]] of rows.entries()) {
    if (before.has(id)) continue
    // Rows below all known ones were pulled in from below by a deletion: they are older than all that was listed.
    const is_below = last_common !== -1 && n > last_common && at_s !== null && at_s <= oldest
    if (known.has(id)) {
      if (!is_below && known.get(id) === at_s) returned += 1
      continue
    }
    if (is_below) continue
    if (links.has(link) || titles.has(title)) renamed.add(id)
    unseen.push(id)
  }
  const lost = Math.max(0, left.length - renamed.size)
  return {
    is_selection: returned > 0 || lost > Math.max(1, window.length / 10),
    renamed,
    unseen,
    tail: last_before < window.length - 1,
  }
}

const POLL_MIN_MS = 60_000
const LONGEST_MS = 3_600_000
/** A wait that a site asks for; it may be shorter if its list would roll over meanwhile. */
export type Hosted = {
  /** Seconds by `ttl` or the syndication module; null: nothing is said. */
  ttl_s: number | null
  /** Seconds by Cache-Control and Retry-After. */
  fresh_s: number
  skip_hours: readonly number[]
  skip_days: readonly string[]
}

const DAYS = ['sunday', 'monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday']

/** Milliseconds until the next poll. `cadence_s`: that of the monitors; `own_s`: what the operator has set, or null. */
export function pollEvery(
  { third_ms }: Pick<FeedState, 'third_ms'>,
  { ttl_s, fresh_s, skip_hours, skip_days }: Hosted,
  { cadence_s, own_s, now }: { cadence_s: number; own_s: number | null; now: number },
): number {
  const lowest = Math.max(POLL_MIN_MS, Math.min(fresh_s * 1000, LONGEST_MS))
  if (own_s !== null) return Math.max(lowest, own_s * 1000)
  const date = new Date(now)
  const is_skipped =
    skip_hours.includes(date.getUTCHours()) || skip_days.includes(DAYS[date.getUTCDay()] ?? '')
  // Silence would leave the time unproven: the longest interval is enough.
  const wanted = Math.min(third_ms ?? Infinity, is_skipped ? LONGEST_MS : cadence_s * 1000)
  const hint =
    ttl_s === null || (third_ms !== null && third_ms < ttl_s * 1000)
      ? 0
      : Math.min(ttl_s * 1000, LONGEST_MS)
  return Math.max(lowest, wanted, hint)
}
