import { shownDigest } from '../../core/forum/items.ts'
import type { IdRange } from '../source.ts'
import { climb, type Summit } from '../summit.ts'
import { fieldsOf, idAt } from '../values.ts'
import { createdOf, toItem } from './readers.ts'

type Row = Record<string, unknown>
export type SeriesName = 'post' | 'comment'

/**
 * An id that no reader could see: since when (epoch s), the number of ages at which it was requested, and how long
 * before (s) everything was read. A negative number, -1 less it: the id has an item, which is removed or deleted. The thread or
 * place with which it is hidden: the first of these that is due is requested for all. Or the author of a removed one.
 */
export type Hole = [id: number, since_s: number, tries: number, lag_s: number, with_id?: string]
/**
 * A row of the newest pages: the digest of what it shows ('': it is hidden and was not read before, `GONE`: it was), its creation
 * (epoch s), its author's id.
 */
export type Known = [id: number, digest: string, created_s: number, author: number]
/** Digest of a row that was read and is hidden since: its return brings nothing new. */
export const GONE = '-'
/** An item that waits for a second read that agrees. Epoch ms: since when, of its creation, and of its last read. */
export type Held = [name: string, digest: string, since: number, created: number, read_at: number]

export type Series = {
  first: number
  /** Epoch ms of the beginning. */
  since: number
  /** Every id up to this one was read, or is a hole. */
  last: number
  bound: number
  /** The bound when the last step began: higher ids have arrived since the step before. */
  floor: number
  /** Ranges above `last` that were read. */
  ahead: [from: number, to: number][]
  holes: Hole[]
  rows: Known[]
  /** Epoch ms: everything visible that was created before was read, but for young holes. */
  read_until: number
  /** An id that was not reached yet, and the time that is proven with it. */
  target: [id: number, at: number] | null
  skipped_at: number
  /** Epoch ms of the last list, less its age in a cache. */
  listed_at: number
  /** The id after the newest: `due` has to be requested for the proof, `spare` if requests are left. */
  next: 'due' | 'spare' | 'known'
  summit: Summit | null
  /** Ids between listed rows that were requested, and those with an item; older ones weigh less. */
  found: [asked: number, live: number]
  /** So old, in seconds, answers may be: copies in caches. */
  copy_s: number
}
export type State = {
  post: Series
  comment: Series
  /** Newest entries of the moderation log, by the prefix of their target. */
  modlog: { t3: number; t1: number; t2: number; at: number; until: number; is_read: boolean }
  /** Requests that monitors may send, at an instant (epoch ms); negative after a step that had to send more. */
  budget: { tokens: number; at: number }
  /** Items of a server that publishes in steps. */
  held: Held[]
  /** Epoch ms of the last step that the account made. */
  account_at: number
  /** True after the first requests by id that followed a step: the others need a positive budget. */
  is_settled: boolean
}

/** Ids of comments are reported from here on: posts and comments have two series of ids. */
export const COMMENT_BASE = 1_000_000_000_000

/** Requests of the first step. */
const TOKENS_FIRST = 3
const ROWS_MAX = 150
const AHEAD_MAX = 300
/** Holes of each sort: with an item, not proven void yet, and believed void. */
const HOLES_MAX = 500
const VOIDS_MAX = 300
/** Weight of the answers so far, at each new one. */
const MEMORY = 0.99
const SELDOM_MIN = 10
const SELDOM = 0.25
/** More unread ids than this are left behind, and reported. */
const BACKLOG_MAX = { post: 5000, comment: 1000 }
/** Number that is added to the ids of a series where they are reported. */
export const baseOf = (kind: SeriesName): number => (kind === 'post' ? 0 : COMMENT_BASE)
const idOf = (kind: SeriesName, view: Row): number => idAt(fieldsOf(view[kind]), 'id') ?? 0

const authorOf = (view: Row): number => idAt(fieldsOf(view['creator']), 'id') ?? 0

/** Epoch seconds of epoch ms. */
export const seconds = (ms: number): number => Math.floor(ms / 1000)

/** State before the first step, at `now` (epoch ms). */
export function newState(now: number): State {
  const series = (): Series => ({
    first: 0,
    since: now,
    last: 0,
    bound: 0,
    floor: 0,
    ahead: [],
    holes: [],
    rows: [],
    read_until: now,
    target: null,
    skipped_at: 0,
    listed_at: now,
    next: 'known',
    summit: null,
    found: [0, 0],
    copy_s: 0,
  })
  return {
    post: series(),
    comment: series(),
    modlog: { t3: 0, t1: 0, t2: 0, at: 0, until: 0, is_read: false },
    budget: { tokens: TOKENS_FIRST, at: now },
    held: [],
    account_at: now,
    is_settled: true,
  }
}

/**
 * Starts a series before the first row that was created since `since` (epoch ms), or at the present end. False: every row is that
 * young, and there may be others below.
 */
export function begin(series: Series, views: Row[], kind: SeriesName, since = Infinity): boolean {
  const rows = views.map((view) => {
    const object = fieldsOf(view[kind])
    // The copy of an item of another server has the time of that server, which may be ahead.
    const is_own = object['local'] !== false
    return { id: idOf(kind, view), is_own, is_young: createdOf(object) >= since }
  })
  const old = rows.filter(({ is_young }) => !is_young)
  const base = Math.max(0, ...old.filter(({ is_own }) => is_own).map(({ id }) => id))
  const young = rows.filter(({ id, is_young }) => is_young && id > base).map(({ id }) => id)
  series.bound = Math.max(0, ...rows.map(({ id }) => id))
  // Ids between an old row and the first young one may be from before the start, and most of them have no item.
  series.last = young.length === 0 ? series.bound : Math.min(...young) - 1
  series.first = series.last + 1
  series.floor = series.bound
  if (since === Infinity) keepRows(series, views, kind)
  return old.length > 0 || rows.length === 0
}

/**
 * Notes the highest id of a page of the newest rows. True: ids went back, and the series begins again with it. `redates`: the
 * server gives an item that was written earlier the time of its publication.
 */
export function climbed(
  series: Series,
  views: Row[],
  kind: SeriesName,
  { at, now, redates }: { at: number; now: number; redates: boolean },
): boolean {
  const known = new Map(series.rows.map((row) => [row[0], row]))
  // The copy of an item of another server has the time of that server.
  const own = views.filter((view) => fieldsOf(view[kind])['local'] !== false)
  const rows = own.map((view) => {
    const id = idOf(kind, view)
    const author = authorOf(view)
    const created_ms = createdOf(fieldsOf(view[kind]))
    const before = known.get(id)
    const is_same = redates && before?.[3] === author
    const known_ms = before === undefined ? null : before[2] * 1000
    return { id, created_ms, known_ms: is_same ? created_ms : known_ms }
  })
  const page = { rows, ids: views.map((view) => idOf(kind, view)), as_of: at }
  const { summit, is_back, from } = climb(series.summit, page, { now, new_ids: !redates })
  if (is_back) {
    // Lower ids are those of before: what they may still show is not lost.
    const holes = series.holes.filter(([id]) => from !== undefined && id < from)
    const { first, last: read_to, ahead } = series
    Object.assign(series, { ahead: [], holes, rows: [], target: null })
    begin(series, views, kind)
    Object.assign(series, { since: at, read_until: at, floor: 0 })
    if (from !== undefined) {
      // Those that are given again and that no list shows are requested, and those below that were never shown.
      const below = [...known.keys()].filter((id) => id < from)
      const last = Math.min(read_to, below.length === 0 ? from - 1 : Math.max(...below))
      // Includes ids that waited for their first request before.
      const kept = ahead.filter(([start]) => start < from && start > last)
      Object.assign(series, {
        first: Math.min(first, from),
        last,
        ahead: kept.map(([start, end]) => [start, Math.min(end, from - 1)]),
      })
      markRead(
        series,
        page.ids.filter((id) => id >= from),
      )
    }
  }
  series.summit = summit
  return is_back
}

const known_rows = new WeakMap<Row, Known>()

/** The shown content of a row of a list, computed once: its text may be long. */
export function toKnown(view: Row, kind: SeriesName): Known {
  const object = fieldsOf(view[kind])
  let known = known_rows.get(view)
  if (known === undefined) {
    const item = toItem(view, '')
    known = [
      idOf(kind, view),
      item === null ? '' : shownDigest(item).slice(-8),
      seconds(createdOf(object)) || 0,
      authorOf(view),
    ]
    known_rows.set(view, known)
  }
  return [...known]
}

/** Keeps the newest rows: those of `views`, then those of the steps before. */
export function keepRows(series: Series, views: Row[], kind: SeriesName): void {
  const rows = new Map(views.map((view) => [idOf(kind, view), toKnown(view, kind)]))
  for (const before of series.rows) {
    const row = rows.get(before[0])
    if (row === undefined) rows.set(before[0], before)
    else if (row[1] === '' && before[1] !== '') row[1] = GONE
  }
  series.rows = [...rows.values()].slice(0, ROWS_MAX)
}

/** True for an id above the proven ones that was read already. */
export const isReadAhead = ({ ahead }: Series, id: number): boolean =>
  ahead.some(([from, to]) => id >= from && id <= to)

/** Joins ranges that touch; the highest beyond the bound are dropped, and read again. */
function toRanges(ranges: [number, number][]): [number, number][] {
  const joined: [number, number][] = []
  for (const [from, to] of ranges.toSorted((a, b) => a[0] - b[0])) {
    const before = joined.at(-1)
    if (before !== undefined && from <= before[1] + 1) before[1] = Math.max(before[1], to)
    else joined.push([from, to])
  }
  return joined.slice(0, AHEAD_MAX)
}

/** Ages in seconds at which an item that is removed or deleted is requested again: its return is found soon. */
const HIDDEN_AGES_S = [0, 15, 35, 75, 150, 300, 600, 1200, 2400, 4800, 9600, 19_200, 43_200, 86_400]
/**
 * An id without an item is believed void by an answer of this age, or of that of the oldest copy: it was made after the rows
 * around the id. Most of them never get one: an insert that fails has taken its id.
 */
const VOID_S = 60
const BEFORE_VOID_S = [0, 20]
const AFTER_VOID_S = [200, 600, 1800, 7200]
const PROOF_TRY = BEFORE_VOID_S.length
/** So much later than planned, an id that was not asked for is a backlog. */
const BEHIND_S = 60
/** Ages of hidden items up to here have requests of their own; later ones take what is left. */
const PROMPT_S = 600
/** A hole that is due at `now`, when nothing else is: of an item that was read, and may have gone or returned. */
export const lastOf = (id: number, now: number): Hole => {
  const tries = HIDDEN_AGES_S.findIndex((age) => age > PROMPT_S)
  return [id, seconds(now) - (HIDDEN_AGES_S[tries] ?? 0), tries, -1]
}
/** So much later than planned, an id that has a hidden item holds back the time up to which all was read. */
const OVERDUE_S = 30

/**
 * The hole of an id without a visible item. `is_patient`: it was read before, so that its return brings nothing new, or the
 * moderation log names its return.
 */
export function holeOf(
  { read_until }: Series,
  id: number,
  now: number,
  {
    is_hidden,
    is_patient = false,
    until = 0,
    with_id = null,
  }: { is_hidden: boolean; is_patient?: boolean; until?: number; with_id?: string | null },
): Hole {
  // It is public from its schedule on, and proves nothing of the time before.
  if (until > now) return [id, seconds(until), 0, -1]
  const lag_s = Math.max(0, seconds(now) - seconds(read_until))
  const tries = is_patient ? HIDDEN_AGES_S.indexOf(PROMPT_S) : 1
  if (!is_hidden) return [id, seconds(now), tries, lag_s]
  return withOf([id, seconds(now), tries, -1 - lag_s], with_id)
}

export const withOf = ([id, since_s, tries, lag_s]: Hole, with_id: string | null): Hole =>
  with_id === null ? [id, since_s, tries, lag_s] : [id, since_s, tries, lag_s, with_id]

const isHidden = ([, , , lag_s]: Hole): boolean => lag_s < 0
/** True for an id that was requested at the age that proves it void. */
const isAsked = ([, , tries]: Hole): boolean => tries > PROOF_TRY
const voidAge = (copy_s: number): number => Math.max(VOID_S, copy_s)
function agesOf(hole: Hole, copy_s: number): readonly number[] {
  const void_s = voidAge(copy_s)
  if (isHidden(hole)) return HIDDEN_AGES_S
  return [...BEFORE_VOID_S, void_s, ...AFTER_VOID_S.filter((it) => it > void_s)]
}
const ageAt = (hole: Hole, copy_s: number): number => agesOf(hole, copy_s)[hole[2]] ?? Infinity
/** Epoch s at which a hole is to be requested again. */
export const dueAt = (hole: Hole, { copy_s }: Pick<Series, 'copy_s'>): number =>
  hole[1] + ageAt(hole, copy_s)

/**
 * Urgency of a hole. `hidden`: it has an item; `absent`: it may be late; `proof`: it is old enough for the proof that it is
 * void; `late`: when requests are left.
 */
export type Urgency = 'hidden' | 'absent' | 'proof' | 'late'

const urgencyOf = (hole: Hole, series: Series, now: number): Urgency => {
  if (isHidden(hole)) return ageAt(hole, series.copy_s) > PROMPT_S ? 'late' : 'hidden'
  if (isAsked(hole)) return 'late'
  return seconds(now) - hole[1] >= voidAge(series.copy_s) ? 'proof' : 'absent'
}

/** Holes that are due, the longest overdue first; of those that are hidden together, the first. */
export function dueHoles(series: Series, now: number, urgency: Urgency): Hole[] {
  const due = series.holes.filter(
    (it) => dueAt(it, series) <= seconds(now) && urgencyOf(it, series, now) === urgency,
  )
  const named = new Set<string>()
  return due
    .toSorted((a, b) => dueAt(a, series) - dueAt(b, series))
    .filter(([, , , , with_id]) => {
      if (with_id === undefined || isAuthor(with_id)) return true
      const is_first = !named.has(with_id)
      named.add(with_id)
      return is_first
    })
}

/** An author may be banned with all that they wrote, and one item be removed alone. */
export const isAuthor = (with_id: string): boolean => with_id.startsWith('t2_')

/** Items of an author that were removed and never read: the log alone tells when they return. */
export const hasRemoved = ({ holes, rows }: Series): boolean => {
  const read = readOf(rows)
  return holes.some(
    ([id, , , , with_id]) => with_id !== undefined && isAuthor(with_id) && !read.has(id),
  )
}

const readOf = (rows: Series['rows']): ReadonlySet<number> =>
  new Set(rows.filter((row) => row[1] !== '').map(([id]) => id))

/**
 * Settles the others of what is hidden with a thread, a place or an author, after a request for one of them or a word of the
 * log. `is_back`: it is shown again.
 */
export function settleWith(series: Series, with_id: string, is_back: boolean, now: number): void {
  series.holes = series.holes.flatMap((hole): Hole[] => {
    const [id, since_s, tries, , of] = hole
    if (of !== with_id) return [hole]
    // It was hidden at its last age at least, and proves nothing later until it is read.
    const asked_s = since_s + (HIDDEN_AGES_S[Math.max(0, tries - 1)] ?? 0)
    if (is_back) return [[id, Math.min(asked_s, seconds(now)), 0, 0]]
    const older =
      dueAt(hole, series) <= seconds(now) ? olderHole(hole, 'hidden', now, series.copy_s) : hole
    return older === null ? [] : [older]
  })
}

/** A hole after another request that found no visible item; null: it is given up. */
export function olderHole(
  hole: Hole,
  answer: 'hidden' | 'absent',
  now: number,
  copy_s: number,
): Hole | null {
  const [id, since_s, tries, lag_s, ...rest] = hole
  const age_s = seconds(now) - since_s
  if (answer === 'hidden' && lag_s >= 0) return [id, since_s, 1, -1 - lag_s]
  const ages = agesOf(hole, copy_s)
  const passed = Math.max(tries + 1, ages.filter((it) => it <= age_s).length)
  return passed >= ages.length ? null : [id, since_s, passed, lag_s, ...rest]
}

/** Epoch ms before which everything was read, for all that holes may hide. */
export function heldAt(series: Series, now: number): number {
  // One that was read may have gone: a request that is late for it hides nothing.
  const read = readOf(series.rows)
  const heldBy = (hole: Hole): number => {
    const [id, since_s, , lag_s] = hole
    const urgency = urgencyOf(hole, series, now)
    if (urgency === 'late' || read.has(id)) return Infinity
    if (!isHidden(hole)) return since_s - lag_s
    // It may be public since then; before, its requests were in time.
    const due = dueAt(hole, series)
    return seconds(now) - due > OVERDUE_S ? due : Infinity
  }
  return Math.min(Infinity, ...series.holes.map((it) => heldBy(it) * 1000))
}

/** Range of the ids that no list had and whose request is late, because others were before them; null: none. */
export function overdueOf(series: Series, kind: SeriesName, now: number): IdRange | null {
  const { holes, copy_s } = series
  const due_s = seconds(now) - voidAge(copy_s) - BEHIND_S
  const late = holes.filter((it) => !isHidden(it) && !isAsked(it) && it[1] < due_s)
  if (late.length === 0) return null
  const ids = late.map(([id]) => baseOf(kind) + id)
  return { from_id: Math.min(...ids), to_id: Math.max(...ids) }
}

/** Keeps the youngest holes of each sort: most of them are void, and must not push out those that have an item. */
export function boundHoles(series: Series): void {
  const holes = series.holes.toSorted((a, b) => b[1] - a[1])
  const sorts = [
    holes.filter(isHidden).slice(0, HOLES_MAX),
    holes.filter((it) => !isHidden(it) && !isAsked(it)),
    holes.filter((it) => !isHidden(it) && isAsked(it)).slice(0, VOIDS_MAX),
  ]
  series.holes = sorts.flat()
}

/** Learns the share of the ids between listed rows that have an item. */
export function learn(series: Series, is_live: boolean): void {
  const [asked, live] = series.found
  series.found = [asked * MEMORY + 1, live * MEMORY + (is_live ? 1 : 0)]
}

/** True where most ids between listed rows have no item. */
export const isSeldom = ({ found: [asked, live] }: Series): boolean =>
  asked >= SELDOM_MIN && live / asked <= SELDOM

/** True while such ids wait for the one request that the budget has for each: the next ones wait too. */
export const isShort = (series: Series): boolean =>
  isSeldom(series) && series.holes.some((it) => !isHidden(it) && it[2] === PROOF_TRY)

/** Ids that may become holes: the others wait. */
export const roomOf = ({ holes }: Series): number =>
  Math.max(0, HOLES_MAX - holes.filter((it) => !isHidden(it) && !isAsked(it)).length)

/** Makes holes of the ids that no list has: one request for each, at the age at which it proves the void. */
export function deferVoids(series: Series, now: number): void {
  const ids = missingIds(series, roomOf(series))
  for (const id of ids) {
    const [, since_s, , lag_s] = holeOf(series, id, now, { is_hidden: false })
    series.holes.push([id, since_s, PROOF_TRY, lag_s])
  }
  markRead(series, ids)
}

/** Notes ids that were read or are holes, and moves the end up to which all are. */
export function markRead(series: Series, ids: Iterable<number>): void {
  const above = [...ids].filter((id) => id > series.last)
  const ranges = toRanges([...series.ahead, ...above.map((id): [number, number] => [id, id])])
  while (ranges[0] !== undefined && ranges[0][0] <= series.last + 1)
    series.last = Math.max(series.last, ranges.shift()?.[1] ?? 0)
  series.ahead = ranges
  series.bound = Math.max(series.bound, series.last)
  const { target, last, read_until } = series
  if (target === null || last < target[0]) return
  series.read_until = Math.max(read_until, target[1])
  series.target = null
}

/** Ids up to the bound that were neither read nor requested, lowest first; at most `count`. */
export function missingIds({ last, bound, ahead }: Series, count: number): number[] {
  const ids: number[] = []
  let from = last + 1
  // Between the ranges that were read: each one is passed once, however long it is.
  for (const [start, end] of [...ahead, [bound + 1, bound + 1] as const]) {
    for (let n = 0; from + n < Math.min(start, bound + 1) && ids.length < count; n++)
      ids.push(from + n)
    from = Math.max(from, end + 1)
  }
  return ids
}

/**
 * Time that a list shows, epoch ms by the server's clock: that of its answer, or of the newest row that was written there.
 * `now` is of that clock.
 */
export function shownUntil(
  views: readonly Row[],
  kind: SeriesName,
  as_of: number,
  now: number,
): number {
  const objects = views.map((view) => fieldsOf(view[kind]))
  const own = objects.filter((it) => it['local'] === true).map(createdOf)
  return Math.max(as_of, ...own.filter((at) => at <= now))
}

/**
 * Notes a list of the newest rows. Ids are given in the order of arrival: all that arrived before a new row of this
 * server was written has a lower id than it.
 */
export function noteListed(series: Series, views: readonly Row[], kind: SeriesName, at: number) {
  const written = views.flatMap((view): [number, number][] => {
    const id = idOf(kind, view)
    const object = fieldsOf(view[kind])
    const created = createdOf(object)
    const is_new = id > series.last && !isReadAhead(series, id) && object['local'] !== false
    return is_new && created >= series.read_until ? [[id, Math.min(created, at)]] : []
  })
  const newest = written.toSorted((a, b) => b[1] - a[1])[0]
  series.listed_at = at
  series.next = newest === undefined ? 'due' : 'spare'
  series.target ??= newest ?? null
}

/** Unread ids of a series: those that the next requests read, and those that it goes on behind. */
type Unread = { behind: IdRange | null; skipped: IdRange[] }

/** Range of the ids of a series that were not read yet; null: none. */
export const unreadOf = ({ last, bound }: Series, kind: SeriesName): IdRange | null =>
  last === bound ? null : { from_id: baseOf(kind) + last + 1, to_id: baseOf(kind) + bound }

/** Unread ids of a series. Where there are too many, or none can be requested, it goes on behind them. */
export function leftBehind(
  series: Series,
  kind: SeriesName,
  now: number,
  can_ask: boolean,
): Unread {
  const { last, bound, ahead } = series
  const behind = unreadOf(series, kind)
  if (behind === null) return { behind: null, skipped: [] }
  const base = baseOf(kind)
  if (can_ask && bound - last <= BACKLOG_MAX[kind]) return { behind, skipped: [] }
  series.last = bound
  series.ahead = []
  series.target = null
  series.skipped_at = now
  // Ids that cannot be requested are no gap that a later read could close: the series stays partial.
  if (!can_ask) return { behind, skipped: [] }
  const read = [...ahead, [bound + 1, bound + 1] as const]
  const starts = [last + 1, ...ahead.map(([, to]) => to + 1)]
  const skipped = starts.flatMap((from, at): IdRange[] => {
    const to = (read[at]?.[0] ?? bound + 1) - 1
    return from > to ? [] : [{ from_id: base + from, to_id: base + to }]
  })
  return { behind: null, skipped }
}
