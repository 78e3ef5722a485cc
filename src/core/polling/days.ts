import { mayHideItems, type PollEvent } from './coverage.ts'

/** A day of UTC in ms. */
export const DAY_MS = 86_400_000

/** Instants from `from` to before `until`, epoch ms. */
export type Range = { from: number; until: number }

/** A range of creation times that is not complete; `unknown`: the monitor did not watch. */
export type DayGap = Range & { status: 'degraded' | 'partial' | 'unknown'; reason: string }

/** Coverage of a UTC day, as far as it has passed: what lies in no gap is complete. */
export type CoverageDay = { day: number; until_at: number; gaps: readonly DayGap[] }

/** A feed as one of its monitors watches it. Instants by the platform's clock. */
export type WatchedFeed = {
  feed_id: number
  /** Start of the monitor on it. */
  from: number
  /** Creation times that audits or ids have verified. */
  proven: readonly Range[]
  /** Why its source proves nothing for the places of the monitor; null: it does. */
  limit: string | null
  /** Reason of what is not verified. */
  unproven: string
}

/** What the coverage of a monitor follows from. Instants by the platform's clock. */
export type CoverageFacts = {
  active: boolean
  feeds: readonly WatchedFeed[]
  /** Ranges that a check could not observe, closed ones too; `recorded`: of the checks that say so. */
  cuts: readonly (Range & { feed_id: number; reason: string; recorded: Range })[]
  events: readonly (Omit<PollEvent, 'stream'> & { feed_id: number | null })[]
}

/** Gaps of a day; one with more is reported with its worst status as a whole. */
export const GAPS_MAX = 100
/** Creation times are whole seconds. */
const SECOND_MS = 1000

/**
 * Gaps in the coverage of creation times within `whole`. The rules are those of health: complete is what audits or ids have
 * verified for every feed, without a cut, not even a closed one, and without an event that may have hidden items.
 */
export function gapsIn(whole: Range, { active, feeds, cuts, events }: CoverageFacts): DayGap[] {
  if (!active) return [{ ...whole, status: 'unknown', reason: 'monitor_paused' }]
  const watching = feeds.map(({ from }) => ({ from, until: Infinity }))
  const paint = (
    ranges: readonly Range[],
    status: DayGap['status'],
    reason: string,
  ): readonly DayGap[] => ranges.map((it) => ({ ...it, status, reason }))
  const cuts_of = Map.groupBy(cuts, ({ feed_id }) => feed_id)
  const downs = events.filter(({ kind }) => kind === 'process_down').flatMap(spread)
  // In order of precedence: an instant has the first that lies over it.
  const layers = [
    ...paint(without(whole, watching), 'unknown', 'not_watched'),
    ...feeds.flatMap((feed) =>
      (cuts_of.get(feed.feed_id) ?? []).flatMap((cut) =>
        paint(cutWithin(feed, cut), 'degraded', cut.reason),
      ),
    ),
    ...feeds.flatMap(({ feed_id, from }) =>
      events
        .filter((it) => mayHideItems(it) && (it.feed_id === null || it.feed_id === feed_id))
        .flatMap((it) => spread(it).flatMap((range) => within(range, { from, until: Infinity })))
        .flatMap((range) => paint([range], 'partial', 'loss_events_not_observed')),
    ),
    ...feeds.flatMap(({ from, limit }) =>
      limit === null ? [] : paint([{ from, until: Infinity }], 'partial', limit),
    ),
    ...feeds.flatMap(({ from, proven, unproven }) => {
      const open = without({ from: Math.max(from, whole.from), until: whole.until }, proven)
      const down = open.flatMap((range) => downs.flatMap((it) => within(range, it)))
      return [...paint(down, 'partial', 'process_down'), ...paint(open, 'partial', unproven)]
    }),
  ].flatMap((it) => within(it, whole).map((range) => ({ ...it, ...range })))
  return flatten(layers)
}

/** The gaps of a day after those already known: adjacent ones of one reason are one, and too many are one as well. */
export function joinGaps(day: number, gaps: readonly DayGap[]): DayGap[] {
  const joined: DayGap[] = []
  for (const gap of gaps) {
    const last = joined.at(-1)
    if (last?.until === gap.from && last.status === gap.status && last.reason === gap.reason)
      joined[joined.length - 1] = { ...last, until: gap.until }
    else joined.push(gap)
  }
  const [worst] = joined.toSorted((a, b) => RANK.indexOf(a.status) - RANK.indexOf(b.status))
  if (worst === undefined || joined.length <= GAPS_MAX) return joined
  const until = joined.at(-1)?.until ?? worst.until
  return [{ from: day * DAY_MS, until, status: worst.status, reason: 'many_changes' }]
}

const RANK = ['degraded', 'partial', 'unknown']

/** The time of a day in whole seconds, by what is known of it: all that has passed is in one of the three. */
export function secondsOf({ day, until_at, gaps }: CoverageDay) {
  const passed_s = lengthOf([{ from: day * DAY_MS, until: until_at }])
  const unwatched_s = lengthOf(gaps.filter(({ status }) => status === 'unknown'))
  const not_verified_s = lengthOf(gaps.filter(({ status }) => status !== 'unknown'))
  const complete_s = Math.max(0, passed_s - unwatched_s - not_verified_s)
  return { complete_s, not_verified_s, unwatched_s }
}

const lengthOf = (ranges: readonly Range[]): number =>
  Math.round(ranges.reduce((sum, { from, until }) => sum + until - from, 0) / SECOND_MS)

/** Disjoint gaps in order, each instant with the first kind that lies over it. */
function flatten(layers: readonly DayGap[]): DayGap[] {
  const kinds = [...Map.groupBy(layers, ({ status, reason }) => `${status} ${reason}`).values()]
    .map(union)
    .map((gaps) => ({ gaps, at: 0 }))
  const edges = kinds.flatMap(({ gaps }) => gaps.flatMap(({ from, until }) => [from, until]))
  const ordered = [...new Set(edges)].toSorted((a, b) => a - b)
  return ordered.slice(0, -1).flatMap((from, n) => {
    for (const kind of kinds) while ((kind.gaps[kind.at]?.until ?? Infinity) <= from) kind.at += 1
    const top = kinds.find(({ gaps, at }) => (gaps[at]?.from ?? Infinity) <= from)
    const gap = top?.gaps[top.at]
    return gap === undefined ? [] : [{ ...gap, from, until: ordered[n + 1] ?? from }]
  })
}

/** The same instants as ranges in order that do not touch. */
function union(gaps: readonly DayGap[]): DayGap[] {
  const joined: DayGap[] = []
  for (const gap of gaps.toSorted((a, b) => a.from - b.from)) {
    const last = joined.at(-1)
    if (last === undefined || gap.from > last.until) joined.push({ ...gap })
    else last.until = Math.max(last.until, gap.until)
  }
  return joined
}

/** The parts of a cut that concern a feed: creation times in it, and without a known start, from its own. */
function cutWithin(feed: WatchedFeed, cut: CoverageFacts['cuts'][number]): Range[] {
  // A start that is not known says nothing about monitors that began later.
  if (cut.from === -Infinity && cut.recorded.until < feed.from) return []
  const wide = { from: cut.from - SECOND_MS, until: Math.max(cut.until, cut.from) + SECOND_MS }
  return within(wide, { from: feed.from, until: Infinity })
}

/** The time of an event. After the clock was set back it may begin after it ends. */
function spread({ at, until_at }: { at: number; until_at: number | null }): Range[] {
  const ends = [at, until_at ?? at]
  return [{ from: Math.min(...ends) - SECOND_MS, until: Math.max(...ends) + SECOND_MS }]
}

export function within(a: Range, b: Range): Range[] {
  const from = Math.max(a.from, b.from)
  const until = Math.min(a.until, b.until)
  return from < until ? [{ from, until }] : []
}

/** The parts of a range that lie in none of the others. */
export function without(whole: Range, others: readonly Range[]): Range[] {
  const left = whole.from < whole.until ? [whole] : []
  return others.reduce(
    (rest, { from, until }) =>
      rest.flatMap((it) => [
        ...within(it, { from: -Infinity, until: from }),
        ...within(it, { from: Math.max(from, until), until: Infinity }),
      ]),
    left,
  )
}
