import type { Ids } from '../../core/polling/coverage.ts'
import { feedKey, nextPollAt } from '../../core/polling/feed.ts'
import type { Pass, Recent } from '../../core/polling/reread.ts'
import type { Db } from '../db/connection.ts'
import { type CoverageContext, decideCoverage } from './coverage-days.ts'
import {
  attachFeeds,
  detachFeeds,
  type Feed,
  FEED_COLUMNS,
  listFeedKeys,
  type StoredFeed,
  toFeed,
  updateFeedPace,
} from './feeds.ts'

export type StreamPosition = {
  /** JSON of the source's adapter. */
  state: string
  /** Proof of the source that nothing was missed. */
  proof: string
  /** First id after the start, and the highest proven one. */
  proven: Ids | null
  /** Ids that exist and are not read yet. */
  behind: Ids | null
  /** Why the source cannot prove completeness; null: it can. */
  partial: string | null
  /** JSON of the changes that wait to be read; null: the source names none. */
  changes: string | null
  /** Everything created before was read. */
  verified_until: number
}

/** A position as `feeds.position` stores it, with the passes over recent ids. */
type Position = StreamPosition &
  Omit<Recent, 'proven_from' | 'proven_to'> & {
    /** The first step. */
    verified_from: number
    /** The last pass that is finished: how far it went back, and its end. */
    reread_since: number | null
    reread_done_at: number | null
  }

const NO_PASSES = {
  heads: [],
  rereads: 0,
  reread_at: null,
  rest: null,
  reread_depth: null,
  reread_since: null,
  reread_done_at: null,
} satisfies Partial<Position>

function findPosition(db: Db, feed_id: number): Position | null {
  const row = db
    .query<{ position: string | null }, [{ feed_id: number }]>(
      'SELECT position FROM feeds WHERE id = $feed_id',
    )
    .get({ feed_id })
  return row === null || row.position === null ? null : (JSON.parse(row.position) as Position)
}

function writePosition(db: Db, feed_id: number, position: Position): void {
  db.query('UPDATE feeds SET position = $position WHERE id = $feed_id').run({
    feed_id,
    position: JSON.stringify(position),
  })
}

/** The stored state of a stream; null before its first step. */
export const findStreamState = (db: Db, feed_id: number): string | null =>
  findPosition(db, feed_id)?.state ?? null

/**
 * Stores the position of a stream after a step. The first one marks where the verified time begins. A stored end after `now`
 * cannot be right: it is lowered. Returns where the verified time ended before, null at the first step.
 */
export function advanceStream(
  db: Db,
  feed_id: number,
  { now, went_back, ...position }: StreamPosition & { now: number; went_back: boolean },
): { verified_before: number | null; is_lowered: boolean } {
  const before = findPosition(db, feed_id)
  const { verified_until } = position
  if (before === null) {
    writePosition(db, feed_id, { ...NO_PASSES, ...position, verified_from: verified_until })
    return { verified_before: null, is_lowered: false }
  }
  const is_lowered = before.verified_until > now
  writePosition(db, feed_id, {
    ...before,
    ...position,
    ...(is_lowered
      ? { verified_from: Math.min(before.verified_from, verified_until) }
      : { verified_until: Math.max(before.verified_until, verified_until) }),
    ...(went_back && { heads: [] }),
  })
  return { verified_before: before.verified_until, is_lowered }
}

/** State of a stream's passes over its recent ids; null before its first step. */
export function findRecent(db: Db, feed_id: number): Recent | null {
  const position = findPosition(db, feed_id)
  if (position === null) return null
  const { heads, proven, rereads, reread_at, rest, reread_depth } = position
  const proven_from = proven?.from_id ?? null
  const proven_to = proven?.to_id ?? null
  return { heads, proven_from, proven_to, rereads, reread_at, rest, reread_depth }
}

const HEAD_EVERY_MS = 10 * 60_000

/** Notes the highest proven id of a stream for passes that go back at most `depth_ms`. */
export function markHead(db: Db, feed_id: number, now: number, depth_ms: number): void {
  const position = findPosition(db, feed_id)
  if (position === null || position.proven === null) return
  const newest = position.heads.at(-1)
  if (newest !== undefined && now - newest[0] < HEAD_EVERY_MS) return
  const kept = position.heads.filter(([at]) => now - at <= depth_ms + HEAD_EVERY_MS)
  writePosition(db, feed_id, { ...position, heads: [...kept, [now, position.proven.to_id]] })
}

export function writePass(
  db: Db,
  feed_id: number,
  { rereads, reread_at, rest, reread_depth }: Pass,
): void {
  const position = findPosition(db, feed_id)
  if (position !== null)
    writePosition(db, feed_id, { ...position, rereads, reread_at, rest, reread_depth })
}

const REREAD_KEPT_MS = 86_400_000

/** Records that a pass is finished. A pass that went back less far replaces one of a day ago only. */
export function finishPass(db: Db, feed_id: number, now: number): void {
  const position = findPosition(db, feed_id)
  if (position === null) return
  const { reread_since, reread_done_at } = position
  const since = position.reread_depth ?? position.verified_from
  if (
    reread_done_at === null ||
    reread_done_at < now - REREAD_KEPT_MS ||
    reread_since === null ||
    since <= reread_since
  )
    writePosition(db, feed_id, { ...position, reread_since: since, reread_done_at: now })
}

/** Places that the active monitors of a feed name, those too that they leave out. */
export const listWatchedPlaces = (db: Db, feed_id: number): string[] =>
  db
    .query<{ place: string }, [{ feed_id: number }]>(
      `SELECT DISTINCT p.value AS place
         FROM monitor_feeds f JOIN monitors m ON m.id = f.monitor_id AND m.active = 1 AND m.removed_at IS NULL,
              json_each(json_array(m.filter_spec -> '$.subforum', m.filter_spec -> '$.exclude_subforums')) l,
              json_each(l.value) p
        WHERE f.feed_id = $feed_id AND l.type = 'array'`,
    )
    .all({ feed_id })
    .map(({ place }) => place)

/** Due time of the next stream that no step reads now; Infinity when there is none. */
export function nextStreamDueAt(db: Db, in_progress: ReadonlySet<number> = new Set()): number {
  const row = db
    .query<{ due_at: number | null }, [{ busy: string }]>(
      `SELECT min(next_check_at) AS due_at FROM feeds
        WHERE kind = 'stream' AND id NOT IN (SELECT value FROM json_each($busy))`,
    )
    .get({ busy: JSON.stringify([...in_progress]) })
  return row?.due_at ?? Infinity
}

/**
 * Claims the due streams that no step reads now, and schedules the next step of each: after its interval, or after
 * `intervalMaxOf` its source if that is shorter.
 */
export function claimDueStreams(
  db: Db,
  now: number,
  in_progress: ReadonlySet<number>,
  intervalMaxOf: (source: string) => number,
): Feed[] {
  const due = db
    .query<StoredFeed, [{ now: number }]>(
      `SELECT ${FEED_COLUMNS} FROM feeds WHERE next_check_at <= $now AND kind = 'stream' ORDER BY next_check_at, id`,
    )
    .all({ now })
    .filter(({ id }) => !in_progress.has(id))
    .map(toFeed)
    .map((it) => ({ ...it, interval_s: Math.min(it.interval_s, intervalMaxOf(it.place)) }))
  const put = db.query('UPDATE feeds SET next_check_at = $at WHERE id = $id')
  for (const { id, key, interval_s } of due)
    put.run({ id, at: nextPollAt(key, interval_s * 1000, now) })
  return due
}

export type StreamProgress = Pick<
  Feed,
  'next_seq' | 'last_check_at' | 'last_fault' | 'rate_per_s' | 'audited_from' | 'audited_until'
>

export function advanceStreamFeed(db: Db, id: number, progress: StreamProgress): void {
  db.query(
    `UPDATE feeds SET next_seq = $next_seq, last_check_at = $last_check_at, last_fault = $last_fault,
            rate_per_s = $rate_per_s,
            audited_from = $audited_from, audited_until = $audited_until
      WHERE id = $id`,
  ).run({ id, ...progress })
}

/**
 * Gives monitors of all sources the feeds of those that are configured now, from `active_since` on, and takes away the
 * others; those of `main` too if there is none. It gives none of `main`: they depend on the whole filter.
 */
export function attachConfigured(
  db: Db,
  sources: readonly string[],
  { active_since, now, has_main }: { active_since: number; now: number; has_main: boolean },
  coverage: CoverageContext,
): void {
  const monitors = db
    .query<{ id: string; cadence_s: number }, []>(
      `SELECT id, cadence_s FROM monitors
        WHERE removed_at IS NULL AND json_extract(filter_spec, '$.source[0]') = 'all'`,
    )
    .all()
  const streams = sources.map((place) => ({ kind: 'stream' as const, place }))
  for (const { id, cadence_s } of monitors) {
    const before = listFeedKeys(db, id)
    const missing = streams.filter((it) => !before.includes(feedKey(it)))
    const kept = has_main ? before.filter((key) => !key.startsWith('stream:')) : []
    const wanted = [...kept, ...streams.map(feedKey)]
    if (missing.length === 0 && before.every((key) => wanted.includes(key))) continue
    decideCoverage(db, id, active_since, coverage)
    attachFeeds(db, id, missing, { active_since, cadence_s, now })
    detachFeeds(db, id, wanted)
    const changed = [...before, ...wanted].filter(
      (it) => before.includes(it) !== wanted.includes(it),
    )
    updateFeedPace(db, now, changed)
  }
}

/** Feeds of a source: of its stream, or all feeds of the platform that is polled. Instants in epoch ms. */
export type SourceFeeds = {
  source: string
  feeds: number
  last_check_at: number | null
  /** Everything created before was read, by the clock of the source; null for polled feeds. */
  verified_until: number | null
  partial: string | null
  open_gaps: number
}

/** SQL for the source of a row `f` of feeds. */
export const FEED_SOURCE = `iif(f.kind = 'stream', f.place, 'main')`

/** State of the watched feeds by source, and the newest fault among those that fail now. */
export function listSourceFeeds(
  db: Db,
): (SourceFeeds & { fault: string | null; fault_at: number | null })[] {
  const rows = db
    .query<SourceFeeds, []>(
      `SELECT ${FEED_SOURCE} AS source, count(*) AS feeds, max(f.last_check_at) AS last_check_at,
              min(f.position ->> '$.verified_until') AS verified_until, max(f.position ->> '$.partial') AS partial,
              sum((SELECT count(*) FROM gaps g WHERE g.feed_id = f.id AND g.closed_at IS NULL)) AS open_gaps
         FROM feeds f
        WHERE f.next_check_at IS NOT NULL GROUP BY 1`,
    )
    .all()
  // The other columns are those of the newest row (SQLite: bare columns beside max).
  const faults = db
    .query<{ source: string; fault: string; fault_at: number | null }, []>(
      `SELECT ${FEED_SOURCE} AS source, f.last_fault AS fault,
              max(coalesce(f.last_check_at, f.created_at)) AS fault_at
         FROM feeds f WHERE f.next_check_at IS NOT NULL AND f.last_fault IS NOT NULL GROUP BY 1`,
    )
    .all()
  const by_source = new Map(faults.map((it) => [it.source, it]))
  return rows.map((row) => ({
    ...row,
    fault: by_source.get(row.source)?.fault ?? null,
    fault_at: by_source.get(row.source)?.fault_at ?? null,
  }))
}
