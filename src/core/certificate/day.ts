import { judgeStatus, mayHideItems, type PollEvent } from '../polling/coverage.ts'

/** A day of UTC in ms. */
export const DAY_MS = 86_400_000

/** Instants from `from` to before `until`, epoch ms. */
export type Range = { from: number; until: number }

/** Verdict of health, for a range of creation times; and what it is for. */
export type Interval = Range & { status: CoverageStatus; reason: string | null }
/** Verdict of health. */
export type CoverageStatus = 'complete' | 'degraded' | 'partial' | 'unknown'

/** A monitor on a feed. Instants by the item clock. */
export type Span = {
  feed_id: number
  from: number
  /** Infinity: it goes on. */
  ended: number
  /** Nothing later was matched, though the feed went on; Infinity: it goes on. */
  until: number
  /** Creation times that the feed has verified. */
  verified: readonly Range[]
  is_stream: boolean
  /** Why its source cannot prove completeness; null: it can. */
  partial: string | null
}

/** Evidence for the coverage of a monitor in a range. Instants by the item clock. */
export type Evidence = {
  /** Where nothing is known before: it was not recorded, or is deleted. */
  known_from: number
  /** Creation of the monitor. */
  created: number
  /** Settings in force from `at` on, in order. */
  versions: readonly { at: number; active: boolean }[]
  spans: readonly Span[]
  /** Ranges that a check could not observe, closed ones too; `recorded` from and until of the checks that say so. */
  gaps: readonly (Range & { feed_id: number; recorded: Range })[]
  events: readonly (Omit<PollEvent, 'stream'> & { feed_id: number | null })[]
}

/** Intervals of a day; one with more is reported with its worst status as a whole. */
const INTERVALS_MAX = 100
/** Creation times are whole seconds. */
const SECOND_MS = 1000

const RANK: Record<CoverageStatus, number> = { complete: 0, unknown: 1, partial: 2, degraded: 3 }

/** The worst of several statuses; unknown for none. */
export const worstOf = (all: readonly CoverageStatus[]): CoverageStatus =>
  all.length === 0 ? 'unknown' : all.reduce((worst, it) => (RANK[it] > RANK[worst] ? it : worst))

/**
 * Judges creation times within `whole` as health would: complete needs feeds whose audits or ids have verified the time,
 * no gap, not even a closed one, and no event that may have hidden items.
 */
export function judgeRange(whole: Range, evidence: Evidence): Interval[] {
  const { known_from, created, versions, spans, gaps, events } = evidence
  const paused = pausesOf(versions)
  const gaps_of = Map.groupBy(gaps, ({ feed_id }) => feed_id)
  const cuts = union(
    spans.flatMap((span) =>
      (gaps_of.get(span.feed_id) ?? []).flatMap((gap) => gapWithin(span, gap)),
    ),
  )
  const hidden = union(events.flatMap((event) => hiddenBy(event, spans)))
  const open = union(spans.filter((it) => !it.is_stream).flatMap(unverified))
  const streams = spans.filter(({ is_stream }) => is_stream)
  const open_streams = union(streams.flatMap(unverified))
  const limited = streams.filter(({ partial }) => partial !== null).map(watched)
  const watching = union(spans.map(watched))
  const sets = [paused, cuts, hidden, open, open_streams, limited, watching]
  const edges = [known_from, created, ...sets.flat().flatMap(({ from, until }) => [from, until])]
  const inside = edges.filter((at) => at > whole.from && at < whole.until)
  const cut_at = [...new Set([whole.from, ...inside, whole.until])].toSorted((a, b) => a - b)

  const judge = (at: number): Pick<Interval, 'status' | 'reason'> => {
    const has = (set: readonly Range[]) => set.some(({ from, until }) => from <= at && at < until)
    if (at < created) return { status: 'unknown', reason: 'before_start' }
    if (at < known_from) return { status: 'unknown', reason: 'no_history' }
    if (has(paused)) return { status: 'unknown', reason: 'monitor_paused' }
    if (!has(watching)) return { status: 'unknown', reason: 'no_history' }
    const partial = streams.find((it) => it.partial !== null && has([watched(it)]))?.partial ?? null
    const reason = has(open_streams) ? 'not_verified' : partial
    return judgeStatus(
      { gaps: has(cuts) ? 1 : 0, unobserved: has(hidden) ? 1 : 0 },
      { status: 'live' },
      {
        is_current: !has(open),
        streams: reason === null ? null : { status: 'partial', reason },
      },
    )
  }

  const intervals: Interval[] = []
  for (const [n, from] of cut_at.slice(0, -1).entries()) {
    const until = cut_at[n + 1] ?? from
    const verdict = judge(from)
    const last = intervals.at(-1)
    if (last?.status === verdict.status && last.reason === verdict.reason) last.until = until
    else intervals.push({ from, until, ...verdict })
  }
  if (intervals.length <= INTERVALS_MAX) return intervals
  return [
    { ...whole, status: worstOf(intervals.map(({ status }) => status)), reason: 'many_changes' },
  ]
}

const watched = ({ from, ended }: Span): Range => ({ from, until: ended })

/** Ranges in which a monitor was not active. */
function pausesOf(versions: Evidence['versions']): Range[] {
  const ranges = versions.map(({ at, active }, n) => ({
    from: at,
    until: versions[n + 1]?.at ?? Infinity,
    active,
  }))
  return ranges.filter(({ active }) => !active)
}

/** The parts of a gap that concern a span: creation times in it, and without a known start, from the span's own. */
function gapWithin(span: Span, { from, until, recorded }: Evidence['gaps'][number]): Range[] {
  // A start that is not known says nothing about monitors that began later, or ended before.
  if (from === -Infinity && (recorded.until < span.from || recorded.from > span.ended)) return []
  const wide = { from: from - SECOND_MS, until: Math.max(until, from) + SECOND_MS }
  return within(wide, watched(span))
}

/** The parts of spans in which an event may have hidden items. */
function hiddenBy(event: Evidence['events'][number], spans: readonly Span[]): Range[] {
  if (!mayHideItems(event)) return []
  const ends = [event.at, event.until_at ?? event.at]
  const wide = { from: Math.min(...ends) - SECOND_MS, until: Math.max(...ends) + SECOND_MS }
  return spans
    .filter(({ feed_id }) => event.feed_id === null || event.feed_id === feed_id)
    .flatMap((span) => within(wide, watched(span)))
}

/** The parts of a span that its feed has not verified, or not before the span ended. */
function unverified(span: Span): Range[] {
  let left = [watched(span)]
  for (const { from, until } of span.verified) {
    const end = Math.min(until, span.until)
    left = left.flatMap((it) => [
      ...within(it, { from: -Infinity, until: from }),
      ...within(it, { from: Math.max(end, from), until: Infinity }),
    ])
  }
  return left
}

/** The common part of two ranges, if any. */
export function within(a: Range, b: Range): Range[] {
  const from = Math.max(a.from, b.from)
  const until = Math.min(a.until, b.until)
  return from < until ? [{ from, until }] : []
}

/** The same instants as ranges in order that do not touch. */
function union(ranges: readonly Range[]): Range[] {
  const joined: Range[] = []
  for (const { from, until } of ranges.toSorted((a, b) => a.from - b.from)) {
    const last = joined.at(-1)
    if (last !== undefined && from <= last.until) last.until = Math.max(last.until, until)
    else joined.push({ from, until })
  }
  return joined
}

/** Buckets of delays double in eight steps: a percentile is at most a tenth too high. */
const BUCKETS_PER_DOUBLING = 8
/** The longest delay that has a bucket of its own: over a year. */
const BUCKET_MAX = 290

/** The bucket of a delay in ms. */
export const bucketOf = (ms: number): number =>
  Math.min(BUCKET_MAX, Math.ceil(Math.log2(Math.max(1, ms)) * BUCKETS_PER_DOUBLING))

/** The delay in ms that this share of the counted ones does not exceed, rounded up to its bucket; null without any. */
export function percentile(
  buckets: readonly (readonly [number, number])[],
  share: number,
): number | null {
  const ordered = buckets.toSorted((a, b) => a[0] - b[0])
  const total = ordered.reduce((sum, [, count]) => sum + count, 0)
  let seen = 0
  for (const [bucket, count] of ordered) {
    seen += count
    if (seen >= share * total) return Math.floor(2 ** (bucket / BUCKETS_PER_DOUBLING))
  }
  return null
}
