import { type EventKind, isCut } from '../../core/polling/coverage.ts'
import {
  type CoverageDay,
  type CoverageFacts,
  DAY_MS,
  type DayGap,
  gapsIn,
  joinGaps,
  type Range,
  within,
  without,
} from '../../core/polling/days.ts'
import type { Chunks } from '../db/chunked.ts'
import { type Db, transact } from '../db/connection.ts'

// Coverage of past days. The newest row of a monitor says up to when its coverage is decided; what came later follows from
// its feeds, gaps and events as they are now. A row is written when a day is over and verified, and before the feeds of the
// monitor change: not at each poll.

export const COVERAGE_DAYS_KEPT = 400
/** A day that is not verified is written after so long all the same: gaps and events are deleted after fourteen days. */
const DECIDED_AFTER_MS = 8 * DAY_MS

export type CoverageContext = {
  /** Milliseconds by which the platform's clock is ahead of ours. */
  offset_ms: number
  /** Why a source proves nothing of the places of a stored filter; null: it does. */
  limitOf: (source: string, filter_spec: string) => string | null
}

type Judged = { id: string; filter_spec: string; active: boolean | number }
type Row = { day: number; until_at: number; gaps: string }

const dayOf = (at: number): number => Math.floor(at / DAY_MS)

const toDay = ({ gaps, ...row }: Row): CoverageDay => ({
  ...row,
  gaps: JSON.parse(gaps) as DayGap[],
})

function writeDay(db: Db, monitor_id: string, { day, until_at, gaps }: CoverageDay): void {
  db.query(
    `INSERT INTO monitor_days (monitor_id, day, until_at, gaps) VALUES ($monitor_id, $day, $until_at, $gaps)
     ON CONFLICT DO UPDATE SET until_at = $until_at, gaps = $gaps`,
  ).run({ monitor_id, day, until_at, gaps: JSON.stringify(gaps) })
}

/** Begins the coverage of a new monitor. `begins_at` by the platform's clock. */
export function beginCoverage(db: Db, monitor_id: string, begins_at: number): void {
  const day = dayOf(begins_at)
  const before = { from: day * DAY_MS, until: begins_at }
  const gaps = without(before, []).map((it): DayGap => ({
    ...it,
    status: 'unknown',
    reason: 'before_start',
  }))
  writeDay(db, monitor_id, { day, until_at: begins_at, gaps })
}

/**
 * Decides the coverage of a monitor up to `until` by its present feeds and settings. Belongs into the transaction that
 * changes them, before the change.
 */
export function decideCoverage(
  db: Db,
  monitor_id: string,
  until: number,
  context: CoverageContext,
): void {
  const monitor = db
    .query<Judged & { active: number }, [{ monitor_id: string }]>(
      'SELECT id, filter_spec, active FROM monitors WHERE id = $monitor_id',
    )
    .get({ monitor_id })
  if (monitor === null) return
  for (const day of openDays(db, monitor, { from: -Infinity, until }, context))
    writeDay(db, monitor_id, day)
}

/** Coverage of days from `first` to `last`, as far as they have passed at `now` by our clock. */
export function listCoverage(
  db: Db,
  monitor: Judged & { created_at: number },
  { first, last, now }: { first: number; last: number; now: number },
  context: CoverageContext,
): CoverageDay[] {
  const rows = db
    .query<Row, [{ id: string; first: number; last: number }]>(
      `SELECT day, until_at, gaps FROM monitor_days
        WHERE monitor_id = $id AND day BETWEEN $first AND $last AND gaps IS NOT NULL`,
    )
    .all({ id: monitor.id, first, last })
  const range = {
    from: first * DAY_MS,
    until: Math.min((last + 1) * DAY_MS, now + context.offset_ms),
  }
  const open = openDays(db, monitor, range, context)
  const known = new Map([...rows.map(toDay), ...open].map((it) => [it.day, it]))
  return Array.from({ length: last - first + 1 }, (_, n) => {
    const day = first + n
    return known.get(day) ?? absentDay(day, monitor)
  })
}

/** A day of which there is no row: from before the monitor, or deleted. */
function absentDay(day: number, { created_at }: { created_at: number }): CoverageDay {
  const reason = day < dayOf(created_at) ? 'before_start' : 'no_history'
  const whole = { from: day * DAY_MS, until: (day + 1) * DAY_MS }
  return { day, until_at: whole.until, gaps: [{ ...whole, status: 'unknown', reason }] }
}

/** The days in `range` after those that are decided, the newest of which may have begun. */
function openDays(
  db: Db,
  monitor: Judged,
  range: Range,
  context: CoverageContext,
): readonly CoverageDay[] {
  const newest = db
    .query<Row, [{ id: string }]>(
      `SELECT day, until_at, gaps FROM monitor_days
        WHERE monitor_id = $id AND gaps IS NOT NULL ORDER BY day DESC LIMIT 1`,
    )
    .get({ id: monitor.id })
  if (newest === null) return []
  const [open] = within(range, { from: newest.until_at, until: Infinity })
  if (open === undefined) return []
  const gaps = gapsIn(open, readFacts(db, monitor, open, context))
  const days: CoverageDay[] = []
  for (let day = dayOf(open.from); day * DAY_MS < open.until; day++) {
    const whole = { from: day * DAY_MS, until: (day + 1) * DAY_MS }
    const before = day === newest.day ? toDay(newest).gaps : []
    const added = gaps.flatMap((it) => within(it, whole).map((part) => ({ ...it, ...part })))
    const until_at = Math.min(whole.until, open.until)
    days.push({ day, until_at, gaps: joinGaps(day, [...before, ...added]) })
  }
  return days
}

type FeedRow = {
  feed_id: number
  is_by_ids: number
  source: string
  active_since: number
  audited_from: number | null
  audited_until: number | null
  partial: string | null
}
type EventRow = { kind: EventKind; feed_id: number | null; at: number; until_at: number | null }

function readFacts(
  db: Db,
  { id, filter_spec, active }: Judged,
  range: Range,
  { offset_ms, limitOf }: CoverageContext,
): CoverageFacts {
  if (!active) return { active: false, feeds: [], cuts: [], events: [] }
  const rows = db
    .query<FeedRow, [{ id: string }]>(
      `SELECT f.id AS feed_id, f.kind = 'all' AS is_by_ids, f.source, mf.active_since, f.audited_from,
              f.audited_until, f.state ->> '$.partial' AS partial
         FROM monitor_feeds mf JOIN feeds f ON f.id = mf.feed_id
        WHERE mf.monitor_id = $id ORDER BY f.id`,
    )
    .all({ id })
  // Times of feeds by ids are by our clock, times of listings by the clock of their items.
  const ahead = new Map(rows.map((it) => [it.feed_id, it.is_by_ids ? offset_ms : 0]))
  const ids = JSON.stringify(rows.map(({ feed_id }) => feed_id))
  const slack_ms = Math.abs(offset_ms) + 1000
  const window = { ids, from: range.from - slack_ms, until: range.until + slack_ms }
  const events = db
    .query<EventRow, [typeof window]>(
      `SELECT kind, feed_id, at, until_at FROM observation_events
        WHERE (feed_id IS NULL OR feed_id IN (SELECT value FROM json_each($ids)))
          AND max(at, coalesce(until_at, at)) >= $from AND min(at, coalesce(until_at, at)) <= $until`,
    )
    .all(window)
  const holes = Map.groupBy(
    events.filter(({ kind }) => kind === 'not_verified'),
    ({ feed_id }) => feed_id,
  )
  return {
    active: true,
    cuts: readCuts(db, ahead, window, offset_ms),
    events: events.map((it) => ({
      ...it,
      at: it.at + offset_ms,
      until_at: it.until_at === null ? null : it.until_at + offset_ms,
    })),
    feeds: rows.map((it) => {
      const lead = it.is_by_ids ? offset_ms : 0
      const until = (it.audited_until ?? -Infinity) + lead
      const proven = { from: (it.audited_from ?? Infinity) + lead, until }
      const open = (holes.get(it.feed_id) ?? [])
        .map(({ at, until_at }) => ({ from: at + lead, until: (until_at ?? at) + lead }))
        .flatMap((hole) => without(hole, [proven]))
      return {
        feed_id: it.feed_id,
        from: it.active_since,
        proven: without({ from: -Infinity, until }, open),
        limit: it.is_by_ids ? limitOf(it.source, filter_spec) : null,
        unproven: it.partial ?? 'not_verified',
      }
    }),
  }
}

type CutRow = {
  feed_id: number
  reason: string
  from_at: number | null
  until_at: number | null
  first_at: number
  last_at: number
}

// A failing feed reports a gap at every poll; those of one outage have the same start, and once it is over the same end.
const readCuts = (
  db: Db,
  ahead: ReadonlyMap<number, number>,
  window: { ids: string; from: number; until: number },
  offset_ms: number,
): CoverageFacts['cuts'] =>
  db
    .query<CutRow, [typeof window]>(
      `SELECT g.feed_id, g.reason, g.from_at, g.until_at, min(g.recorded_at) AS first_at, max(g.recorded_at) AS last_at
         FROM json_each($ids) f CROSS JOIN gaps g ON g.feed_id = f.value
        WHERE (g.until_at IS NULL OR g.until_at >= $from) AND (g.from_at IS NULL OR g.from_at <= $until)
        GROUP BY g.feed_id, g.reason, g.from_at, g.until_at`,
    )
    .all(window)
    .filter(isCut)
    .map(({ feed_id, reason, from_at, until_at, first_at, last_at }) => {
      const lead = ahead.get(feed_id) ?? 0
      return {
        feed_id,
        reason,
        from: from_at === null ? -Infinity : from_at + lead,
        until: until_at === null ? Infinity : until_at + lead,
        recorded: { from: first_at + offset_ms, until: last_at + offset_ms },
      }
    })

type Undecided = Judged & { active: number; until_at: number; proven_until: number }

/** Writes the days that are over and verified, a monitor at a time. `now` by our clock. */
export function* keepCoverage(db: Db, now: number, context: CoverageContext): Chunks<void> {
  const today_at = dayOf(now + context.offset_ms) * DAY_MS
  const next = db.query<Undecided, [{ after: string; today_at: number; offset_ms: number }]>(
    `SELECT m.id, m.filter_spec, m.active, d.until_at, coalesce((
              SELECT min(coalesce(f.audited_until, 0) + iif(f.kind = 'all', $offset_ms, 0))
                FROM monitor_feeds mf JOIN feeds f ON f.id = mf.feed_id WHERE mf.monitor_id = m.id), 0) AS proven_until
       FROM monitors m
       JOIN monitor_days d ON d.monitor_id = m.id
        AND d.day = (SELECT max(day) FROM monitor_days WHERE monitor_id = m.id AND gaps IS NOT NULL)
      WHERE m.id > $after AND m.removed_at IS NULL AND d.until_at < $today_at ORDER BY m.id LIMIT 1`,
  )
  const query = { today_at, offset_ms: context.offset_ms }
  for (
    let it = next.get({ ...query, after: '' });
    it !== null;
    it = next.get({ ...query, after: it.id })
  ) {
    const { id, active, proven_until, until_at } = it
    const verified_until = active ? Math.min(proven_until, today_at) : today_at
    const until = dayOf(Math.max(verified_until, today_at - DECIDED_AFTER_MS)) * DAY_MS
    if (until > until_at) transact(db, () => decideCoverage(db, id, until, context))
    yield
  }
}

/** Deletes counts and coverage of days before `before_at`. */
export function pruneDays(db: Db, before_at: number): void {
  db.query('DELETE FROM monitor_days WHERE day < $day').run({ day: dayOf(before_at) })
}
