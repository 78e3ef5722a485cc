import { beginningAt, type Slots } from '../../core/limits/plan.ts'
import type { IdColumns } from '../../core/polling/coverage.ts'
import { feedKey, type FeedKind, type WatchedFeed } from '../../core/polling/feed.ts'
import { type Db, transact } from '../db/connection.ts'
import { releaseHeld } from '../delivery/outbox.ts'
import { releaseWaiting } from '../relevance/judgements.ts'
import { rescheduleDigests } from './bundles.ts'
import { beginCoverage, type CoverageContext, decideCoverage } from './coverage-days.ts'
import {
  attachFeeds,
  detachFeeds,
  listFeedKeys,
  POSITION_COLUMNS,
  restartFeeds,
  updateFeedPace,
} from './feeds.ts'

/** Reasons for which the service pauses a monitor: its patterns exceed their time budget. */
export const MONITOR_PAUSE_REASONS = ['filter_too_slow'] as const
export type MonitorPauseReason = (typeof MONITOR_PAUSE_REASONS)[number]

/** A customer's filter and its targets. `filter_spec` is its stored text. */
export type Monitor = {
  id: string
  customer_id: string
  name: string | null
  filter_spec: string
  cadence_s: number
  requested_cadence_s: number | null
  baseline_item_id: string | null
  /** Null: every active webhook. */
  webhook_ids: string[] | null
  active: boolean
  /** Reason for which the service paused it; null: its owner paused it, or it is active. */
  pause_reason: MonitorPauseReason | null
  active_since: number
  created_at: number
  updated_at: number
  last_match_at: number | null
  /** Stored text of its quiet hours, digests and alarms; null: none. */
  attention: string | null
  /** Stored text of its relevance rules; null: none. */
  relevance: string | null
}

/** A monitor to be stored; only the service sets a pause reason. */
export type WrittenMonitor = Omit<Monitor, 'pause_reason' | 'attention' | 'relevance'> & {
  attention?: string | null
  relevance?: string | null
}

type Stored<T> = Omit<T, 'webhook_ids' | 'active'> & { webhook_ids: string | null; active: number }
type Row = Stored<Monitor>
type StoredMonitor = Omit<Monitor, 'pause_reason'>

const WRITTEN_COLUMNS =
  'id, customer_id, name, filter_spec, cadence_s, requested_cadence_s, baseline_item_id, webhook_ids, active, active_since, created_at, updated_at, last_match_at, attention, relevance'
const COLUMNS = `${WRITTEN_COLUMNS}, pause_reason`

export const readIds = (text: string | null): string[] | null =>
  text === null ? null : (JSON.parse(text) as string[])

const fromRow = ({ webhook_ids, active, ...row }: Row): Monitor => ({
  ...row,
  webhook_ids: readIds(webhook_ids),
  active: active === 1,
})

const toRow = ({
  webhook_ids,
  active,
  attention,
  relevance,
  ...row
}: WrittenMonitor): Stored<StoredMonitor> => ({
  ...row,
  attention: attention ?? null,
  relevance: relevance ?? null,
  webhook_ids: webhook_ids === null ? null : JSON.stringify(webhook_ids),
  active: active ? 1 : 0,
})

function insertMonitor(db: Db, monitor: WrittenMonitor): void {
  db.query(
    `INSERT INTO monitors (${WRITTEN_COLUMNS})
     VALUES ($id, $customer_id, $name, $filter_spec, $cadence_s, $requested_cadence_s, $baseline_item_id,
             $webhook_ids, $active, $active_since, $created_at, $updated_at, $last_match_at, $attention,
             $relevance)`,
  ).run(toRow(monitor))
}

/** Stores the editable fields of a monitor; those that a match changes stay unchanged. */
function updateMonitor(db: Db, monitor: WrittenMonitor): void {
  const { id, name, filter_spec, cadence_s, requested_cadence_s, baseline_item_id, ...row } =
    toRow(monitor)
  db.query(
    `UPDATE monitors SET name = $name, filter_spec = $filter_spec, cadence_s = $cadence_s,
            requested_cadence_s = $requested_cadence_s, baseline_item_id = $baseline_item_id,
            webhook_ids = $webhook_ids, active = $active,
            pause_reason = iif($active = 1, NULL, pause_reason), active_since = $active_since,
            updated_at = $updated_at, attention = $attention, relevance = $relevance
      WHERE id = $id AND removed_at IS NULL`,
  ).run({
    id,
    name,
    filter_spec,
    cadence_s,
    requested_cadence_s,
    baseline_item_id,
    webhook_ids: row.webhook_ids,
    active: row.active,
    active_since: row.active_since,
    updated_at: row.updated_at,
    attention: row.attention,
    relevance: row.relevance,
  })
}

/** Removes a monitor; its row stays, because deliveries name it. False when the customer has no such monitor. */
function removeMonitor(db: Db, customer_id: string, id: string, now: number): boolean {
  return (
    db
      .query(
        `UPDATE monitors SET removed_at = $now, active = 0
          WHERE id = $id AND customer_id = $customer_id AND removed_at IS NULL`,
      )
      .run({ id, customer_id, now }).changes === 1
  )
}

/** A customer's monitor by id; null when absent, removed or owned by another customer. */
export function findMonitor(db: Db, customer_id: string, id: string): Monitor | null {
  const row = db
    .query<Row, [{ id: string; customer_id: string }]>(
      `SELECT ${COLUMNS} FROM monitors
        WHERE id = $id AND customer_id = $customer_id AND removed_at IS NULL`,
    )
    .get({ id, customer_id })
  return row && fromRow(row)
}

/** A customer's monitors, oldest first. */
export function listMonitors(db: Db, customer_id: string): Monitor[] {
  return db
    .query<Row, [{ customer_id: string }]>(
      `SELECT ${COLUMNS} FROM monitors
        WHERE customer_id = $customer_id AND removed_at IS NULL ORDER BY created_at, id`,
    )
    .all({ customer_id })
    .map(fromRow)
}

export function countSlots(db: Db, customer_id: string): Slots {
  const row = db
    .query<Slots, [{ customer_id: string }]>(
      `SELECT count(*) AS used,
              count(*) FILTER (WHERE EXISTS (
                SELECT 1 FROM monitor_feeds ms JOIN feeds s ON s.id = ms.feed_id
                 WHERE ms.monitor_id = m.id AND s.kind = 'search')) AS sitewide_used
         FROM monitors m WHERE customer_id = $customer_id AND removed_at IS NULL`,
    )
    .get({ customer_id })
  return row ?? { used: 0, sitewide_used: 0 }
}

export type MonitorFeed = IdColumns & {
  feed_id: number
  key: string
  kind: FeedKind
  place: string
  interval_s: number
  next_check_at: number | null
  last_check_at: number | null
  created_at: number
  active_since: number
  audit_interval_s: number
  /** Start of the last complete audit, our clock. */
  audited_at: number | null
  /** Creation times that audits have verified, platform clock. */
  audited_from: number | null
  audited_until: number | null
}

export function listMonitorFeeds(db: Db, monitor_id: string): MonitorFeed[] {
  return db
    .query<MonitorFeed, [{ monitor_id: string }]>(
      `SELECT s.id AS feed_id, s.key, s.kind, s.place, s.interval_s, s.next_check_at, s.last_check_at, s.created_at,
              s.audit_interval_s, s.audited_at, s.audited_from, s.audited_until, ms.active_since,
              s.last_fault, ${POSITION_COLUMNS}
         FROM monitor_feeds ms JOIN feeds s ON s.id = ms.feed_id
        WHERE ms.monitor_id = $monitor_id ORDER BY s.id`,
    )
    .all({ monitor_id })
}

/** An active monitor on one feed: its start there, and its settings for matching and delivery. */
export type Watcher = {
  id: string
  customer_id: string
  plan: string
  webhook_ids: string[] | null
  baseline_item_id: string | null
  updated_at: number
  active_since: number
  active_from_seq: number
  attention: string | null
  relevance: string | null
}

export type WatcherRow = Omit<Watcher, 'webhook_ids'> & { webhook_ids: string | null }

export function listWatchers(db: Db, feed_id: number): Watcher[] {
  return db
    .query<WatcherRow, [{ feed_id: number }]>(
      `SELECT m.id, m.customer_id, c.plan, m.webhook_ids, m.baseline_item_id, m.updated_at,
              m.attention, m.relevance, ms.active_since, ms.active_from_seq
         FROM monitor_feeds ms
         JOIN monitors m ON m.id = ms.monitor_id AND m.active = 1 AND m.removed_at IS NULL
         JOIN customers c ON c.id = m.customer_id AND c.removed_at IS NULL
        WHERE ms.feed_id = $feed_id ORDER BY m.created_at, m.id`,
    )
    .all({ feed_id })
    .map((row) => ({ ...row, webhook_ids: readIds(row.webhook_ids) }))
}

/** The stored text of a monitor's filter; null when the monitor was removed. */
export function findFilterSpec(db: Db, monitor_id: string): string | null {
  return (
    db
      .query<{ filter_spec: string }, [{ id: string }]>(
        'SELECT filter_spec FROM monitors WHERE id = $id',
      )
      .get({ id: monitor_id })?.filter_spec ?? null
  )
}

export function recordMatchAt(db: Db, monitor_ids: readonly string[], now: number): void {
  db.query(
    'UPDATE monitors SET last_match_at = $now WHERE id IN (SELECT value FROM json_each($ids))',
  ).run({ ids: JSON.stringify(monitor_ids), now })
}

/** Ends the first poll of these monitors on a feed: from now on only items new to the feed count. */
export function endFirstPolls(
  db: Db,
  feed_id: number,
  monitor_ids: readonly string[],
  seq: number,
): void {
  db.query(
    `UPDATE monitor_feeds SET active_from_seq = $seq
      WHERE feed_id = $feed_id AND monitor_id IN (SELECT value FROM json_each($ids))`,
  ).run({ feed_id, seq, ids: JSON.stringify(monitor_ids) })
}

// A monitor and its feeds change together. Each function here belongs into one transaction with the checks that
// allowed the change.

/** Inserts a monitor and assigns its feeds from `active_since` on. Its coverage begins at `begins_at`, by the platform's clock. */
export function startMonitor(
  db: Db,
  monitor: WrittenMonitor,
  places: readonly WatchedFeed[],
  begins_at = monitor.active_since,
): void {
  const { id, active_since, cadence_s, created_at: now } = monitor
  insertMonitor(db, monitor)
  attachFeeds(db, id, places, { active_since, cadence_s, now })
  beginCoverage(db, id, begins_at)
  updateFeedPace(db, now, listFeedKeys(db, id))
}

/**
 * Stores a changed monitor. Added places begin at `begins_at`; kept ones continue, unless `restart` makes all of them
 * begin there. Null places: unchanged.
 */
export function changeMonitor(
  db: Db,
  monitor: WrittenMonitor,
  change: {
    places: readonly WatchedFeed[] | null
    restart: boolean
    begins_at: number
    now: number
  },
  coverage: CoverageContext,
): void {
  const { id, cadence_s } = monitor
  const { places, restart, begins_at: active_since, now } = change
  const before = listFeedKeys(db, id)
  if (restart || changesCoverage(db, monitor, places, before))
    decideCoverage(db, id, active_since, coverage)
  updateMonitor(db, monitor)
  followRules(db, id, now)
  if (places !== null) {
    const added = places.filter((it) => !before.includes(feedKey(it)))
    attachFeeds(db, id, added, { active_since, cadence_s, now })
    detachFeeds(db, id, places.map(feedKey))
  }
  if (restart) restartFeeds(db, id, active_since)
  updateFeedPace(db, now, [...new Set([...before, ...listFeedKeys(db, id)])])
}

/** True for a change of what a monitor observes. A source may prove less of one place than of another. */
function changesCoverage(
  db: Db,
  { id, active, filter_spec }: WrittenMonitor,
  places: readonly WatchedFeed[] | null,
  before: readonly string[],
): boolean {
  const old = db
    .query<{ active: number; filter_spec: string }, [{ id: string }]>(
      'SELECT active, filter_spec FROM monitors WHERE id = $id',
    )
    .get({ id })
  if (old === null || (old.active === 1) !== active) return true
  if (places === null) return false
  const keys = new Set(places.map(feedKey))
  const is_by_ids = places.some(({ kind }) => kind === 'all')
  if (is_by_ids && old.filter_spec !== filter_spec) return true
  return keys.size !== before.length || !before.every((key) => keys.has(key))
}

/** Makes what waits for quiet hours, a digest or a verdict follow changed rules. */
function followRules(db: Db, id: string, now: number): void {
  releaseWaiting(db, now, id)
  rescheduleDigests(db, now, id)
  releaseHeld(db, id, now)
}

/** Pauses a monitor until its owner resumes it; false when it was not active. */
export function pauseMonitor(
  db: Db,
  id: string,
  { reason, now }: { reason: MonitorPauseReason; now: number },
  coverage: CoverageContext,
): boolean {
  return transact(db, () => {
    decideCoverage(db, id, beginningAt(now, coverage.offset_ms), coverage)
    const { changes } = db
      .query(
        `UPDATE monitors SET active = 0, pause_reason = $reason
          WHERE id = $id AND active = 1 AND removed_at IS NULL`,
      )
      .run({ id, reason })
    if (changes > 0) updateFeedPace(db, now, listFeedKeys(db, id))
    return changes > 0
  })
}

/** Removes a customer's monitor, which stops it at once; false when there is no such monitor. */
export function removeMonitorOf(db: Db, customer_id: string, id: string, now: number): boolean {
  return transact(db, () => {
    if (!removeMonitor(db, customer_id, id, now)) return false
    const keys = listFeedKeys(db, id)
    detachFeeds(db, id)
    updateFeedPace(db, now, keys)
    return true
  })
}
