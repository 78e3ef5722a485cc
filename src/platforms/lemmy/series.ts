import { fieldsOf, numberAt } from '../items.ts'
import type { IdRange } from '../source.ts'
import { createdOf, livenessOf, versionOf } from './readers.ts'

type Row = Record<string, unknown>
/** The two series of ids. */
export type SeriesName = 'post' | 'comment'

/** An id that no reader could see: since when (epoch s), and the number of times it was requested again. */
export type Hole = [id: number, since_s: number, tries: number]
/** A row of the newest pages: its edit (epoch s, 0: none, -1: hidden) and its creation (epoch s). */
export type Known = [id: number, version: number, created_s: number]

/** Position in one of the two series of ids. */
export type Series = {
  first: number
  /** Every id up to this one was read, or is a hole. */
  last: number
  bound: number
  /** Ranges above `last` that were read. */
  ahead: [from: number, to: number][]
  holes: Hole[]
  rows: Known[]
  /** Epoch ms: everything visible that was created before was read, but for young holes. */
  read_until: number
  /** The bound of an earlier step that was not reached yet, and its time. */
  target: [bound: number, at: number] | null
  skipped_at: number
}
/** Position in both series, as the state of the stream. */
export type State = {
  post: Series
  comment: Series
  /** Newest entries of the moderation log, by the prefix of their target. */
  modlog: { t3: number; t1: number; at: number }
}

/** Ids of comments are reported from here on: posts and comments have two series of ids. */
export const COMMENT_BASE = 1_000_000_000_000

const ROWS_MAX = 150
const AHEAD_MAX = 300
/** More unread ids than this are left behind, and reported. */
const BACKLOG_MAX = { post: 5000, comment: 1000 }
/** Number that is added to the ids of a series where they are reported. */
export const baseOf = (kind: SeriesName): number => (kind === 'post' ? 0 : COMMENT_BASE)
const idOf = (kind: SeriesName, view: Row): number => numberAt(fieldsOf(view[kind]), 'id') ?? 0

/** Epoch seconds of epoch ms. */
export const seconds = (ms: number): number => Math.floor(ms / 1000)

/** State before the first step, at `now` (epoch ms). */
export function newState(now: number): State {
  const series = (): Series => ({
    first: 0,
    last: 0,
    bound: 0,
    ahead: [],
    holes: [],
    rows: [],
    read_until: now,
    target: null,
    skipped_at: 0,
  })
  return { post: series(), comment: series(), modlog: { t3: 0, t1: 0, at: 0 } }
}

/** Starts a series at the present end. */
export function begin(series: Series, views: Row[], kind: SeriesName): void {
  series.last = Math.max(0, ...views.map((view) => idOf(kind, view)))
  series.bound = series.last
  series.first = series.last + 1
  keepRows(series, views, kind)
}

/** A row as it is kept for the next step. */
export const toKnown = (view: Row, kind: SeriesName): Known => {
  const object = fieldsOf(view[kind])
  const version = livenessOf(object) === 'live' ? versionOf(object) : -1
  return [idOf(kind, view), version, seconds(createdOf(object)) || 0]
}

/** Keeps the newest rows: those of `views`, then those of the steps before. */
export function keepRows(series: Series, views: Row[], kind: SeriesName): void {
  const rows = new Map(views.map((view) => [idOf(kind, view), toKnown(view, kind)]))
  for (const row of series.rows) if (!rows.has(row[0])) rows.set(row[0], row)
  series.rows = [...rows.values()].slice(0, ROWS_MAX)
}

/** True for an id above the proven ones that was read already. */
export const isReadAhead = ({ ahead }: Series, id: number): boolean =>
  ahead.some(([from, to]) => id >= from && id <= to)

/** Joins ranges that touch; the highest beyond the bound are dropped, and read again. */
export function toRanges(ranges: [number, number][]): [number, number][] {
  const joined: [number, number][] = []
  for (const [from, to] of ranges.toSorted((a, b) => a[0] - b[0])) {
    const before = joined.at(-1)
    if (before !== undefined && from <= before[1] + 1) before[1] = Math.max(before[1], to)
    else joined.push([from, to])
  }
  return joined.slice(0, AHEAD_MAX)
}

/** Unread ids of a series: those that the next step reads, and those that it goes on behind. */
type Unread = { behind: IdRange | null; skipped: IdRange[] }

/** Unread ids of a series. Where there are too many, or none can be requested, it goes on behind them. */
export function leftBehind(
  series: Series,
  kind: SeriesName,
  now: number,
  can_ask: boolean,
): Unread {
  const { last, bound, ahead } = series
  if (last === bound) return { behind: null, skipped: [] }
  const base = baseOf(kind)
  const behind: IdRange = { from_id: base + last + 1, to_id: base + bound }
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

/** Moves the time up to which everything was read. */
export function prove(series: Series, at: number): void {
  if (series.last === series.bound) {
    series.read_until = Math.max(series.read_until, at)
    series.target = null
  } else if (series.target === null) series.target = [series.bound, at]
  else if (series.last >= series.target[0]) {
    series.read_until = Math.max(series.read_until, series.target[1])
    series.target = [series.bound, at]
  }
}
