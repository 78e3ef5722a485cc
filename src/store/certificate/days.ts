import {
  bucketOf,
  DAY_MS,
  type Evidence,
  type Interval,
  judgeRange,
  type Range,
  type Span,
  within,
} from '../../core/certificate/day.ts'
import { type EventKind, isCut } from '../../core/polling/coverage.ts'
import type { Chunks } from '../db/chunked.ts'
import { type Db, transact } from '../db/connection.ts'
import type { Monitor } from '../monitoring/monitors.ts'
import { listVersions, type MonitorVersion } from './history.ts'

/** Days that certificates may cover, and for which reports of days are kept. */
export const HISTORY_DAYS = 400
/** Gaps of a day in its report, newest first; all are counted. */
const GAPS_MAX = 20
/**
 * Days after which a day's report is kept as it is: a gap of ids is searched for during seven, and the rows are deleted
 * after fourteen.
 */
const SEAL_AFTER_DAYS = 8

/** A gap as certificates list it. Instants by the item clock, `recorded_at` and `closed_at` by ours; null from: unknown. */
type DayGap = {
  stream: string
  reason: string
  from: number | null
  until: number | null
  recorded_at: number
  closed_at: number | null
  missed_estimate: number | null
  /** Checks that reported it. */
  reports: number
}

/** The report of a day. */
export type DayReport = {
  intervals: Interval[]
  polls: number
  failed: number
  audits: number
  late_items: number
  /** `open`: no later check has found what was missed. Null estimate: unknown. */
  gaps: { reported: number; open: number; missed_estimate: number | null; listed: DayGap[] }
  /** Deliveries that were created on the day, by their status; matches of the day. */
  matched: number
  deliveries: Record<DeliveryCount, number>
  /** Delays from match to success by bucket, with their counts. */
  delays: (readonly [number, number])[]
}

/** Statuses of deliveries, and `pending`. */
const DELIVERY_COUNTS = ['delivered', 'pending', 'failed', 'dead', 'suppressed'] as const
type DeliveryCount = (typeof DELIVERY_COUNTS)[number]

/** Figures that a report needs beside the rows of the monitor. */
export type DayContext = {
  /** Our clock, epoch ms. */
  now: number
  /** Milliseconds by which the item clock is ahead of ours. */
  offset_ms: number
  /** Why the source of a stream cannot prove completeness for a stored filter; null: it can. */
  partialOf: (place: string, filter_spec: string) => string | null
}

/** The rows of a monitor that do not depend on the day, by the item clock. */
export type History = Pick<Evidence, 'known_from' | 'created' | 'versions'> & {
  spans: (Span & { key: string; place: string })[]
  settings: MonitorVersion[]
}

type Dated = Pick<Monitor, 'id' | 'created_at' | 'filter_spec'>

/** Reads a monitor's settings and feeds over time. */
export function readHistory(db: Db, monitor: Dated, { offset_ms, partialOf }: DayContext): History {
  const settings = listVersions(db, monitor.id)
  type Row = {
    feed_id: number
    key: string
    kind: string
    place: string
    from_at: number
    ended_at: number | null
    until_at: number | null
  }
  const rows = db
    .query<Row, [{ id: string }]>(
      `SELECT s.feed_id, f.key, f.kind, f.place, s.from_at, s.ended_at, s.until_at
         FROM feed_spans s JOIN feeds f ON f.id = s.feed_id WHERE s.monitor_id = $id ORDER BY s.from_at, s.feed_id`,
    )
    .all({ id: monitor.id })
  const rangesOf = db.query<Range, [{ feed_id: number; ahead: number }]>(
    `SELECT from_at + $ahead AS "from", until_at + $ahead AS until FROM verified_ranges
      WHERE feed_id = $feed_id ORDER BY from_at`,
  )
  const spans = rows.map((row) => {
    const is_stream = row.kind === 'stream'
    // Ids are verified by our clock, listings by that of the items.
    const ahead = is_stream ? offset_ms : 0
    const ended = row.ended_at === null ? Infinity : row.ended_at + offset_ms
    const in_force = settings.findLast(({ at }) => at <= (row.ended_at ?? Infinity))
    return {
      feed_id: row.feed_id,
      key: row.key,
      place: row.place,
      from: row.from_at,
      ended,
      until: row.until_at === null ? Infinity : row.until_at + ahead,
      verified: rangesOf.all({ feed_id: row.feed_id, ahead }),
      is_stream,
      partial: is_stream
        ? partialOf(row.place, in_force?.filter_spec ?? monitor.filter_spec)
        : null,
    }
  })
  const first = settings[0]?.at ?? Infinity
  const created = monitor.created_at + offset_ms
  return {
    settings,
    versions: settings.map(({ at, active }) => ({ at: at + offset_ms, active })),
    known_from: first + offset_ms,
    // A monitor begins with a whole second, and our clock is compared with that of the items to some seconds only.
    created: first > monitor.created_at ? created : Math.max(created, spans[0]?.from ?? created),
    spans,
  }
}

/** Judges a range of creation times, which should be of a day at most. */
function judgeHistory(
  db: Db,
  history: History,
  range: Range,
  { offset_ms }: Pick<DayContext, 'offset_ms'>,
): Interval[] {
  const spans = history.spans.filter(
    (it) => within(range, { from: it.from, until: it.ended }).length > 0,
  )
  const gaps = listGaps(db, spans, range, offset_ms).filter(isCut)
  const events = db
    .query<
      { kind: EventKind; feed_id: number | null; at: number; until_at: number | null },
      [{ from: number; until: number }]
    >(
      `SELECT kind, feed_id, at, until_at FROM observation_events
        WHERE max(at, coalesce(until_at, at)) >= $from AND min(at, coalesce(until_at, at)) <= $until`,
    )
    .all({ from: range.from - offset_ms - 1000, until: range.until - offset_ms + 1000 })
    .map((it) => ({
      ...it,
      at: it.at + offset_ms,
      until_at: it.until_at === null ? null : it.until_at + offset_ms,
    }))
  return judgeRange(range, { ...history, spans, gaps, events })
}

type GapRow = {
  feed_id: number
  reason: string
  from_at: number | null
  until_at: number | null
  first_at: number
  last_at: number
  closed_at: number | null
  missed_estimate: number | null
  unknown: number
  reports: number
}

// A failing feed reports a gap at every poll; those of one outage have the same start, and once it is over the same end.
function readGaps(
  db: Db,
  spans: readonly Span[],
  where: string,
  query: Record<string, number>,
): GapRow[] {
  return db
    .query<GapRow, [Record<string, string | number>]>(
      `SELECT g.feed_id, g.reason, g.from_at, g.until_at, min(g.recorded_at) AS first_at, max(g.recorded_at) AS last_at,
              g.closed_at, sum(g.missed_estimate) AS missed_estimate,
              count(*) FILTER (WHERE g.missed_estimate IS NULL) AS unknown, count(*) AS reports
         FROM json_each($ids) f CROSS JOIN gaps g ON g.feed_id = f.value
        WHERE ${where}
        GROUP BY g.feed_id, g.reason, g.from_at, g.until_at, g.closed_at, g.from_id
        ORDER BY last_at DESC`,
    )
    .all({ ids: JSON.stringify([...new Set(spans.map(({ feed_id }) => feed_id))]), ...query })
}

/** Gaps of creation times in a range. */
function listGaps(db: Db, spans: readonly Span[], range: Range, offset_ms: number) {
  const streams = new Set(spans.filter(({ is_stream }) => is_stream).map(({ feed_id }) => feed_id))
  const slack_ms = Math.abs(offset_ms) + 1000
  const rows = readGaps(
    db,
    spans,
    `(g.until_at IS NULL OR g.until_at >= $from) AND (g.from_at IS NULL OR g.from_at <= $until)`,
    { from: range.from - slack_ms, until: range.until + slack_ms },
  )
  return rows.map(({ feed_id, reason, from_at, until_at, first_at, last_at }) => {
    const ahead = streams.has(feed_id) ? offset_ms : 0
    return {
      feed_id,
      reason,
      from: from_at === null ? -Infinity : from_at + ahead,
      until: until_at === null ? Infinity : until_at + ahead,
      recorded: { from: first_at + offset_ms, until: last_at + offset_ms },
    }
  })
}

/** The report of a UTC day of the item clock, as far as it has passed. */
export function reportDay(
  db: Db,
  monitor_id: string,
  history: History,
  day: number,
  context: DayContext,
): DayReport {
  const { now, offset_ms } = context
  const range = { from: day * DAY_MS, until: Math.min((day + 1) * DAY_MS, now + offset_ms) }
  const spans = history.spans.filter(
    (it) => within(range, { from: it.from, until: it.ended }).length > 0,
  )
  const feed_ids = [...new Set(spans.map(({ feed_id }) => feed_id))]
  const counts = db
    .query<
      Pick<DayReport, 'polls' | 'failed' | 'audits' | 'late_items'>,
      [{ day: number; ids: string }]
    >(
      `SELECT coalesce(sum(polls), 0) AS polls, coalesce(sum(failed), 0) AS failed,
              coalesce(sum(audits), 0) AS audits, coalesce(sum(late_items), 0) AS late_items
         FROM json_each($ids) f CROSS JOIN feed_days d ON d.day = $day AND d.feed_id = f.value`,
    )
    .get({ day, ids: JSON.stringify(feed_ids) })
  const ours = { from: range.from - offset_ms, until: range.until - offset_ms }
  return {
    intervals: range.until > range.from ? judgeHistory(db, history, range, context) : [],
    ...(counts ?? { polls: 0, failed: 0, audits: 0, late_items: 0 }),
    gaps: countGaps(db, spans, ours, history),
    ...countMatches(db, monitor_id, ours),
  }
}

/** Gaps reported on a day, our clock. */
function countGaps(
  db: Db,
  spans: History['spans'],
  { from, until }: Range,
  { spans: all }: History,
) {
  const keys = new Map(all.map(({ feed_id, key }) => [feed_id, key]))
  const rows = readGaps(db, spans, 'g.recorded_at >= $from AND g.recorded_at < $until', {
    from,
    until,
  })
    .filter(isCut)
    .filter(({ feed_id, last_at }) =>
      spans.some((it) => it.feed_id === feed_id && it.from <= last_at && last_at <= it.ended),
    )
  const open = rows.filter(({ closed_at }) => closed_at === null)
  return {
    reported: rows.reduce((sum, { reports }) => sum + reports, 0),
    open: open.reduce((sum, { reports }) => sum + reports, 0),
    missed_estimate: open.some(({ unknown }) => unknown > 0)
      ? null
      : open.reduce((sum, { missed_estimate }) => sum + (missed_estimate ?? 0), 0),
    listed: rows.slice(0, GAPS_MAX).map((it) => ({
      stream: keys.get(it.feed_id) ?? '',
      reason: it.reason,
      from: it.from_at,
      until: it.until_at,
      recorded_at: it.last_at,
      closed_at: it.closed_at,
      missed_estimate: it.unknown > 0 ? null : it.missed_estimate,
      reports: it.reports,
    })),
  }
}

/** Matches and deliveries of a range, our clock. */
function countMatches(
  db: Db,
  monitor_id: string,
  range: Range,
): Pick<DayReport, 'matched' | 'deliveries' | 'delays'> {
  type Query = [{ monitor_id: string; from: number; until: number }]
  const query = { monitor_id, ...range }
  const matched = db
    .query<{ n: number }, Query>(
      // By time: the ledger of a monitor goes back to its start.
      `SELECT count(*) AS n FROM matches INDEXED BY matches_at
        WHERE matched_at >= $from AND matched_at < $until AND monitor_id = $monitor_id`,
    )
    .get(query)
  const by_status = db
    .query<{ status: DeliveryCount; n: number }, Query>(
      `SELECT status, count(*) AS n FROM deliveries
        WHERE monitor_id = $monitor_id AND created_at >= $from AND created_at < $until AND event IS NULL
        GROUP BY status`,
    )
    .all(query)
  const delays = new Map<number, number>()
  const rows = db
    .query<{ ms: number; n: number }, Query>(
      `SELECT delivered_at - created_at AS ms, count(*) AS n FROM deliveries
        WHERE monitor_id = $monitor_id AND created_at >= $from AND created_at < $until AND event IS NULL
          AND delivered_at IS NOT NULL GROUP BY ms`,
    )
    .all(query)
  for (const { ms, n } of rows) delays.set(bucketOf(ms), (delays.get(bucketOf(ms)) ?? 0) + n)
  const counts = new Map(by_status.map(({ status, n }) => [status, n]))
  return {
    matched: matched?.n ?? 0,
    deliveries: Object.fromEntries(
      DELIVERY_COUNTS.map((status) => [status, counts.get(status) ?? 0]),
    ) as Record<DeliveryCount, number>,
    delays: [...delays].toSorted((a, b) => a[0] - b[0]),
  }
}

/** Reports of past days that were kept, by day: from `first` to before `end`. */
export function listKept(
  db: Db,
  query: { monitor_id: string; first: number; end: number },
): Map<number, DayReport> {
  const rows = db
    .query<{ day: number; body: string }, [typeof query]>(
      'SELECT day, body FROM coverage_days WHERE monitor_id = $monitor_id AND day >= $first AND day < $end',
    )
    .all(query)
  return new Map(rows.map(({ day, body }) => [day, JSON.parse(body) as DayReport]))
}

/** Keeps the reports of days whose rows are soon deleted, a monitor at a time. Runs before they are. */
export function* keepDays(db: Db, context: DayContext): Chunks<void> {
  const next = db.query<Dated, [{ after: string }]>(
    `SELECT id, created_at, filter_spec FROM monitors WHERE id > $after AND removed_at IS NULL ORDER BY id LIMIT 1`,
  )
  const last_day = Math.floor((context.now + context.offset_ms) / DAY_MS) - SEAL_AFTER_DAYS
  for (
    let monitor = next.get({ after: '' });
    monitor !== null;
    monitor = next.get({ after: monitor.id })
  ) {
    const { id } = monitor
    const { day: kept } = db
      .query<{ day: number | null }, [{ id: string }]>(
        'SELECT max(day) AS day FROM coverage_days WHERE monitor_id = $id',
      )
      .get({ id }) ?? { day: null }
    const history = kept === last_day ? null : readHistory(db, monitor, context)
    if (history !== null && Number.isFinite(history.known_from)) {
      const first = Math.floor(history.known_from / DAY_MS)
      const from = Math.max(kept === null ? first : kept + 1, last_day - HISTORY_DAYS)
      for (let day = from; day <= last_day; day++) {
        transact(db, () => {
          const body = JSON.stringify(reportDay(db, id, history, day, context))
          db.query(
            'INSERT OR IGNORE INTO coverage_days (monitor_id, day, body) VALUES ($id, $day, $body)',
          ).run({ id, day, body })
        })
        yield
      }
    }
    yield
  }
}
