import { type Batch, type FeedLoad } from '../../core/polling/batching.ts'
import type { Checkpoint } from '../../core/polling/cursor.ts'
import { type FeedKind, nextPollAt } from '../../core/polling/feed.ts'
import { listingOf } from '../../core/polling/listing.ts'
import type { BatchState, Extra, Feed, PollJob, Target } from '../../core/polling/step.ts'
import type { Db } from '../db/connection.ts'
import { FEED_COLUMNS, findFeeds, FIRST_POLL_SEQ, type StoredFeed, toFeed } from './feeds.ts'

type Row = {
  id: number
  kind: FeedKind
  anchor_ids: string
  checkpoint_at: number | null
  epoch: number
}

/** A batch by its id; null when there is none. */
export function findBatch(db: Db, id: number): BatchState | null {
  const row = db
    .query<Row, [{ id: number }]>(
      'SELECT id, kind, anchor_ids, checkpoint_at, epoch FROM poll_batches WHERE id = $id',
    )
    .get({ id })
  if (row === null) return null
  const anchor_ids = JSON.parse(row.anchor_ids) as string[]
  const checkpoint =
    anchor_ids.length === 0 ? null : { anchor_ids, checkpoint_at: row.checkpoint_at }
  return { id, kind: row.kind, checkpoint, epoch: row.epoch }
}

/** The next epoch: orders the starts of individual polls and the ends of batch polls. */
export function nextEpoch(db: Db): number {
  const row = db
    .query<{ poll_epoch: number }, []>(
      'UPDATE instance SET poll_epoch = poll_epoch + 1 RETURNING poll_epoch',
    )
    .get()
  if (row === null) throw new Error('the table instance has no row')
  return row.poll_epoch
}

export function advanceBatch(
  db: Db,
  id: number,
  { checkpoint, epoch }: { checkpoint: Checkpoint; epoch: number },
): void {
  db.query(
    'UPDATE poll_batches SET anchor_ids = $anchor_ids, checkpoint_at = $checkpoint_at, epoch = $epoch WHERE id = $id',
  ).run({
    id,
    epoch,
    anchor_ids: JSON.stringify(checkpoint.anchor_ids),
    checkpoint_at: checkpoint.checkpoint_at,
  })
}

/** Makes these feeds due individually now, before they may rejoin the batch. */
export function repollIndividually(db: Db, ids: readonly number[], now: number): void {
  db.query(
    `UPDATE feeds SET next_check_at = min(next_check_at, $now), synced_epoch = 0,
            state = json_set(state, '$.covered_epoch', 0)
      WHERE next_check_at IS NOT NULL AND id IN (SELECT value FROM json_each($ids))`,
  ).run({ ids: JSON.stringify(ids), now })
}

/** Records a poll of members without new rows; their state stays unchanged. */
export function touchQuiet(
  db: Db,
  ids: readonly number[],
  { now, seen_at, epoch, keep }: { now: number; seen_at: number; epoch: number; keep: number },
): void {
  db.query(
    `UPDATE feeds SET last_check_at = $now, last_seen_at = $seen_at, synced_epoch = $epoch, rate_per_s = rate_per_s * $keep
      WHERE next_check_at IS NOT NULL AND id IN (SELECT value FROM json_each($ids))`,
  ).run({ ids: JSON.stringify(ids), now, seen_at, epoch, keep })
}

/** Raises the peak rate of feeds that filled a page together, until more is known. */
export function raisePeakRate(db: Db, peaks: readonly { id: number; rate_per_s: number }[]): void {
  const raise = db.query(
    'UPDATE feeds SET peak_rate_per_s = max(coalesce(peak_rate_per_s, 0), $rate_per_s) WHERE id = $id',
  )
  for (const it of peaks) raise.run(it)
}

// A place that refuses access is silently left out of merged requests, or makes them fail for all.
const REFUSED = `(last_fault LIKE 'forbidden%' OR last_fault LIKE 'not_found%' OR last_fault LIKE 'refused%')`

/** The polled listings of a source. */
export function listFeedLoads(db: Db, source: string): FeedLoad[] {
  return db
    .query<FeedLoad, [{ source: string }]>(
      `SELECT id, kind, place, requested_interval_s, poll_batch_id,
              CASE WHEN last_check_at IS NULL OR ${REFUSED} THEN NULL
                   ELSE coalesce(peak_rate_per_s, rate_per_s) END AS rate_per_s
         FROM feeds WHERE next_check_at IS NOT NULL AND kind <> 'all' AND source = $source ORDER BY id`,
    )
    .all({ source })
}

/**
 * Stores a plan. A new batch takes over the state of the one that most of its members come from: known rows of its
 * members stay known.
 */
export function writeBatches(db: Db, feeds: readonly FeedLoad[], batches: readonly Batch[]): void {
  const planned = new Map<number, number>()
  for (const { id, feeds: batch_feeds } of batches) {
    const batch_id = id ?? insertBatch(db, batch_feeds)
    for (const it of batch_feeds) planned.set(it.id, batch_id)
  }
  const move = db.query('UPDATE feeds SET poll_batch_id = $poll_batch_id WHERE id = $id')
  for (const { id, poll_batch_id: batch_id } of feeds) {
    const next = planned.get(id) ?? null
    if (next !== batch_id) move.run({ id, poll_batch_id: next })
  }
  db.run(
    'DELETE FROM poll_batches WHERE id NOT IN (SELECT poll_batch_id FROM feeds WHERE poll_batch_id IS NOT NULL)',
  )
}

function insertBatch(db: Db, feeds: readonly FeedLoad[]): number {
  const counts = new Map<number, number>()
  for (const { poll_batch_id: batch_id } of feeds)
    if (batch_id !== null) counts.set(batch_id, (counts.get(batch_id) ?? 0) + 1)
  const [from] = [...counts].toSorted((a, b) => b[1] - a[1])
  const previous = from === undefined ? null : findBatch(db, from[0])
  const { lastInsertRowid } = db
    .query(
      `INSERT INTO poll_batches (kind, anchor_ids, checkpoint_at, epoch)
       VALUES ($kind, $anchor_ids, $checkpoint_at, $epoch)`,
    )
    .run({
      kind: feeds[0]?.kind ?? 'posts',
      anchor_ids: JSON.stringify(previous?.checkpoint?.anchor_ids ?? []),
      checkpoint_at: previous?.checkpoint?.checkpoint_at ?? null,
      epoch: previous?.epoch ?? 0,
    })
  return Number(lastInsertRowid)
}

/**
 * True when a member was covered by the batch's last poll, or polled individually since. Rows of that poll then serve
 * as its anchors.
 */
const isInSync = (feed: Feed, { epoch }: Pick<BatchState, 'epoch'>): boolean =>
  feed.synced_epoch === epoch || listingOf(feed).covered_epoch > epoch

/** Reloads extra feeds after a batch poll: they may have been polled individually, or have left the batch. */
export const reloadExtras = (db: Db, feed_ids: readonly number[], batch: BatchState): Extra[] =>
  [...findFeeds(db, feed_ids).values()]
    .filter((feed) => !feed.asleep && feed.poll_batch_id === batch.id)
    .map((feed) => ({ feed, in_sync: isInSync(feed, batch) }))

/** Due feeds read per claim; more are due only after a long downtime. */
const DUE_FEEDS_MAX = 2000
/** A monitor that starts further back than this many intervals has its feed polled individually. */
const BACKFILL_INTERVALS_MAX = 3

export type PollsInProgress = { feeds: ReadonlySet<number>; batches: ReadonlySet<number> }

/**
 * Claims poll jobs of due listings, as many of a source as it has slots, longest waiting first, and all due feeds that are
 * read by ids, and schedules each feed's next poll. Feeds of one batch are polled together. A feed that needs an individual poll waits
 * while its batch is being polled: only a poll started afterwards can prove that it is in sync. It waits one interval at
 * most: where batch polls take that long, one is always in progress. `intervalMaxOf`: seconds after which a source is
 * read again at the latest. `full`: sources without a slot.
 */
export function claimDuePolls(
  db: Db,
  {
    now,
    full,
    slotsOf,
    in_progress,
    mayAudit,
    intervalMaxOf,
  }: {
    now: number
    full: readonly string[]
    slotsOf: (source: string) => number
    in_progress: PollsInProgress
    mayAudit: (source: string) => boolean
    intervalMaxOf: (source: string) => number
  },
): PollJob[] {
  const without = JSON.stringify(full)
  const due = db
    .query<StoredFeed, [{ now: number; count: number; without: string }]>(
      `SELECT ${FEED_COLUMNS} FROM feeds
        WHERE next_check_at <= $now AND (kind = 'all' OR source NOT IN (SELECT value FROM json_each($without)))
        ORDER BY next_check_at, id LIMIT $count`,
    )
    .all({ now, without, count: DUE_FEEDS_MAX + in_progress.feeds.size })
  const audits = db
    .query<StoredFeed, [{ now: number; count: number; without: string }]>(
      `SELECT ${FEED_COLUMNS} FROM feeds
        WHERE audit_due_at <= $now AND next_check_at IS NOT NULL AND source NOT IN (SELECT value FROM json_each($without))
        ORDER BY audit_due_at, id LIMIT $count`,
    )
    .all({ now, without, count: AUDITS_MAX + in_progress.feeds.size })
  if (due.length + audits.length === 0) return []
  const goals = pollGoals(db, now)
  const taken = new Set(in_progress.feeds)
  const claimed_batches = new Set(in_progress.batches)
  const by_ids = due
    .filter(({ id, kind }) => kind === 'all' && !taken.has(id))
    .map((row) => ({ ...row, interval_s: Math.min(row.interval_s, intervalMaxOf(row.source)) }))
    .map((row): PollJob => ({ ...ALONE, targets: [toTarget(row, goals)] }))
  for (const job of by_ids) reschedule(db, job, now)
  const listed = due.filter(({ kind }) => kind !== 'all')
  const jobs: PollJob[] = []
  const claimed = new Map<string, number>()
  const isFull = (source: string): boolean => (claimed.get(source) ?? 0) >= slotsOf(source)
  const count = ({ targets: [first] }: PollJob): void => {
    const source = first?.feed.source ?? ''
    claimed.set(source, (claimed.get(source) ?? 0) + 1)
  }
  const claim = (job: PollJob): void => {
    for (const { feed } of job.targets) taken.add(feed.id)
    reschedule(db, job, now)
    count(job)
    jobs.push(job)
  }
  const singles: Target[] = []
  for (const row of listed) {
    if (taken.has(row.id) || isFull(row.source)) continue
    // A feed's first poll is its first audit at no extra cost.
    const is_first = listingOf(row).audits === 0
    const it = toTarget(row, goals, isAuditDue(row, now) && (is_first || mayAudit(row.source)))
    const batch_job = claimed_batches.has(row.poll_batch_id ?? 0)
      ? null
      : batchJob(db, it, { goals, taken, now })
    if (batch_job !== null) {
      claimed_batches.add(batch_job.batch?.id ?? 0)
      claim(batch_job)
    } else if (isOverdue(row, now)) claim(single(db, it))
    else singles.push(it)
  }
  for (const it of singles) {
    if (
      taken.has(it.feed.id) ||
      isFull(it.feed.source) ||
      claimed_batches.has(it.feed.poll_batch_id ?? 0)
    )
      continue
    claim(single(db, it))
  }
  // After the polls: a delayed audit costs little, a delayed poll is late.
  const due_audits = audits.filter(({ id, source }) => !taken.has(id) && mayAudit(source))
  for (const row of due_audits.slice(0, AUDITS_MAX)) {
    if (isFull(row.source)) continue
    const job = single(db, toTarget(row, goals, true))
    taken.add(row.id)
    count(job)
    jobs.push(job)
  }
  const retry = db.query('UPDATE feeds SET audit_due_at = $at WHERE id = $id')
  for (const { targets } of jobs)
    for (const { feed, audit } of targets)
      if (audit)
        retry.run({
          id: feed.id,
          at: now + Math.round(AUDIT_RETRY_SHARE * feed.audit_interval_s * 1000),
        })
  return [...by_ids, ...jobs]
}

const AUDITS_MAX = 2
/** An audit that fails is tried again after this share of its interval. */
const AUDIT_RETRY_SHARE = 0.25

const ALONE = { targets: [], extras: [], batch: null, epoch: 0 } satisfies PollJob

const single = (db: Db, it: Target): PollJob => ({ ...ALONE, targets: [it], epoch: nextEpoch(db) })

/** True when a feed is overdue by a whole interval. */
const isOverdue = ({ next_check_at, interval_s }: StoredFeed, now: number): boolean =>
  next_check_at !== null && now - next_check_at >= interval_s * 1000

type PollGoals = {
  backfills: ReadonlyMap<number, number>
  open_gaps: ReadonlyMap<number, NonNullable<Target['open_gap']>>
}
type ClaimContext = { goals: PollGoals; taken: ReadonlySet<number>; now: number }

const isAuditDue = ({ audit_due_at }: StoredFeed, now: number): boolean =>
  audit_due_at !== null && audit_due_at <= now

const toTarget = (
  row: StoredFeed,
  { backfills, open_gaps: open_gap }: PollGoals,
  audit = false,
): Target => ({
  feed: toFeed(row),
  backfill_since: backfills.get(row.id) ?? null,
  open_gap: open_gap.get(row.id) ?? null,
  audit,
})

/** The batch poll of a due feed; null when it is polled individually. */
function batchJob(db: Db, first: Target, context: ClaimContext): PollJob | null {
  const { poll_batch_id: batch_id } = first.feed
  const batch = batch_id === null ? null : findBatch(db, batch_id)
  if (batch === null || !canBatch(first, batch, context.now)) return null
  const feeds: Target[] = []
  const extras: Target[] = []
  for (const row of listBatchFeeds(db, batch.id)) {
    const it = toTarget(row, context.goals)
    if (!context.taken.has(row.id) && canBatch(it, batch, context.now)) feeds.push(it)
    else if (canPiggyback(it)) extras.push(it)
  }
  return feeds.length > 1 ? { targets: feeds, extras, batch, epoch: 0 } : null
}

/** True when a member out of sync may be polled along: it has no goals of its own, and is not refused. */
const canPiggyback = ({ feed, backfill_since, open_gap }: Target): boolean =>
  listingOf(feed).checkpoint !== null &&
  backfill_since === null &&
  open_gap === null &&
  feed.last_fault === null

/**
 * True when a batch poll can verify this member: it was covered by the last batch poll, or polled individually since.
 * Rows of that poll then serve as its anchors.
 */
function canBatch({ feed, backfill_since, open_gap }: Target, batch: BatchState, now: number) {
  const reaches =
    backfill_since === null ||
    backfill_since > now - BACKFILL_INTERVALS_MAX * Math.max(60, feed.interval_s) * 1000
  return (
    open_gap === null &&
    reaches &&
    (batch.epoch === 0 || isInSync(feed, batch)) &&
    listingOf(feed).checkpoint !== null
  )
}

const listBatchFeeds = (db: Db, batch_id: number): StoredFeed[] =>
  db
    .query<StoredFeed, [{ poll_batch_id: number }]>(
      `SELECT ${FEED_COLUMNS} FROM feeds
        WHERE poll_batch_id = $poll_batch_id AND next_check_at IS NOT NULL ORDER BY place`,
    )
    .all({ poll_batch_id: batch_id })

/** The key that gives a feed its phase: that of its batch, so that members are due together. */
export const phaseKey = ({
  key,
  poll_batch_id: batch_id,
}: Pick<Feed, 'key' | 'poll_batch_id'>): string => (batch_id === null ? key : `batch:${batch_id}`)

/** Schedules the next poll of all targets in one statement: a batch may have a hundred. */
function reschedule(db: Db, { targets }: PollJob, now: number): void {
  const [first] = targets
  if (first === undefined) return
  const interval_ms = 1000 * Math.max(...targets.map(({ feed }) => feed.interval_s))
  db.query(
    'UPDATE feeds SET next_check_at = $at WHERE id IN (SELECT value FROM json_each($ids))',
  ).run({
    at: nextPollAt(phaseKey(first.feed), interval_ms, now),
    ids: JSON.stringify(targets.map(({ feed }) => feed.id)),
  })
}

const GAP_RETRY_WINDOW_MS = 3_600_000
const GAP_RETRIES_MAX = 3

/** Goals of polls beyond their checkpoints, for all feeds; few have any. */
function pollGoals(db: Db, now: number): PollGoals {
  const backfills = db
    .query<{ feed_id: number; backfill_since: number }, []>(
      `SELECT ms.feed_id, min(ms.active_since) AS backfill_since FROM monitor_feeds ms
         JOIN monitors m ON m.id = ms.monitor_id AND m.active = 1 AND m.removed_at IS NULL
        WHERE ms.active_from_seq = ${FIRST_POLL_SEQ} GROUP BY ms.feed_id`,
    )
    .all()
  const open_gap = db
    .query<{ id: number; feed_id: number; anchor_ids: string }, [{ since: number }]>(
      `SELECT id, feed_id, anchor_ids FROM gaps
        WHERE closed_at IS NULL AND until_at IS NOT NULL AND anchor_ids <> '[]'
          AND close_attempts < ${GAP_RETRIES_MAX} AND recorded_at > $since ORDER BY id`,
    )
    .all({ since: now - GAP_RETRY_WINDOW_MS })
  return {
    backfills: new Map(backfills.map((it) => [it.feed_id, it.backfill_since])),
    open_gaps: new Map(
      open_gap.map(({ id, feed_id, anchor_ids }) => [
        feed_id,
        { gap_id: id, anchor_ids: JSON.parse(anchor_ids) as string[] },
      ]),
    ),
  }
}
