import type { WebhookKind } from '../../core/delivery/target.ts'
import {
  type FeedFacts,
  feedFacts,
  type IdColumns,
  mayHideItems,
  type PollEvent,
  WINDOW_MS,
} from '../../core/polling/coverage.ts'
import type { Db } from '../db/connection.ts'
import { IN_FLIGHT, pendingDeliveries } from '../delivery/pending.ts'
import { POSITION_COLUMNS } from '../monitoring/feeds.ts'

// Queries of /metrics. Each one has a row limit or reads a table that stays small: a scrape comes every few seconds
// and must not wait.

const PENDING_SCAN_MAX = 5_000

/** Pending deliveries by failed attempts in their round, and the creation of the oldest (true time). */
export function measurePending(db: Db) {
  const rows = db
    .query<{ retry_index: number; n: number; oldest_at: number }, []>(
      `SELECT retry_index, count(*) AS n, min(created_at) AS oldest_at
         FROM (SELECT * FROM ${pendingDeliveries('retry_index, created_at')} LIMIT ${PENDING_SCAN_MAX})
        GROUP BY retry_index`,
    )
    .all()
  const oldest_at = rows.length === 0 ? null : Math.min(...rows.map((row) => row.oldest_at))
  return {
    by_retry_index: new Map(rows.map(({ retry_index, n }) => [retry_index, n])),
    oldest_at,
  }
}

/** Due time of the next unclaimed delivery, possibly past; null when none waits. */
export function nextAttemptAt(db: Db): number | null {
  const row = db
    .query<{ at: number | null }, []>(
      `SELECT min((SELECT min(next_attempt_at) FROM deliveries d
                    WHERE d.webhook_id = w.id AND d.status = 'pending' AND d.row NOT IN ${IN_FLIGHT})) AS at
         FROM webhooks w WHERE w.deleted_at IS NULL`,
    )
    .get()
  return row?.at ?? null
}

export type Lag = { kind: string; feeds: number; late: number; worst_ms: number }

/** Every kind of polled feed, with the lag of its most overdue feed. */
export function measureLag(db: Db, now: number): Lag[] {
  return db
    .query<Lag, [{ now: number }]>(
      `SELECT kind, count(*) AS feeds, sum(late_ms > 500 * requested_interval_s) AS late, max(0, max(late_ms)) AS worst_ms
         FROM (SELECT kind, requested_interval_s, $now - coalesce(last_check_at, created_at) - 1000 * requested_interval_s AS late_ms
                 FROM feeds WHERE next_check_at IS NOT NULL)
        GROUP BY kind`,
    )
    .all({ now })
}

export type SourceState = {
  source: string
  /** Epoch ms by the source's clock; null: nothing was read yet. */
  verified_until: number | null
  lag_ids: number
  unanswered: number
  skipped: number
  requests: number
}

const REQUESTS_WINDOW_MS = 5 * 60_000

export function measureSources(db: Db, now: number): SourceState[] {
  const rows = db
    .query<SourceState, [{ since_at: number }]>(
      `SELECT f.source, min(f.state ->> '$.verified_until') AS verified_until,
              coalesce(sum(f.state ->> '$.behind.to_id' - f.state ->> '$.behind.from_id' + 1), 0) AS lag_ids,
              coalesce(sum(g.unanswered), 0) AS unanswered, coalesce(sum(g.skipped), 0) AS skipped,
              sum((SELECT coalesce(sum(c.pages), 0) FROM checks c WHERE c.feed_id = f.id AND c.ended_at > $since_at)) AS requests
         FROM feeds f
         LEFT JOIN (SELECT feed_id, sum(missed_estimate) FILTER (WHERE reason = 'unanswered') AS unanswered,
                           sum(missed_estimate) FILTER (WHERE reason <> 'unanswered') AS skipped
                      FROM gaps WHERE closed_at IS NULL AND from_id IS NOT NULL GROUP BY feed_id) g ON g.feed_id = f.id
        WHERE f.kind = 'all' AND f.next_check_at IS NOT NULL GROUP BY f.source`,
    )
    .all({ since_at: now - REQUESTS_WINDOW_MS })
  const minutes = REQUESTS_WINDOW_MS / 60_000
  return rows.map((it) => ({ ...it, requests: it.requests / minutes }))
}

type TargetCount = {
  kind: WebhookKind
  state: 'active' | 'paused' | 'unconfirmed' | 'off'
  n: number
}

export function measureTargets(db: Db): TargetCount[] {
  return db
    .query<TargetCount, []>(
      `SELECT kind, CASE WHEN paused_at IS NOT NULL THEN 'paused' WHEN awaits_confirmation = 1 THEN 'unconfirmed'
                         WHEN active = 1 THEN 'active' ELSE 'off' END AS state, count(*) AS n
         FROM webhooks WHERE deleted_at IS NULL GROUP BY 1, 2`,
    )
    .all()
}

export function measureHolds(db: Db): { holds: number; micros: number } {
  return (
    db
      .query<{ holds: number; micros: number }, []>(
        'SELECT count(*) AS holds, coalesce(sum(amount_micros), 0) AS micros FROM holds',
      )
      .get() ?? { holds: 0, micros: 0 }
  )
}

/** Numbers of customers who are exempt from billing, who have credit, and who cannot pay `price_micros`. */
export function measureCredit(db: Db, price_micros: number) {
  return (
    db
      .query<{ unlimited: number; some: number; none: number }, [{ price_micros: number }]>(
        `SELECT count(*) FILTER (WHERE unlimited = 1) AS unlimited,
                count(*) FILTER (WHERE unlimited = 0 AND balance_micros >= $price_micros) AS some,
                count(*) FILTER (WHERE unlimited = 0 AND balance_micros < $price_micros) AS none
           FROM customers WHERE removed_at IS NULL`,
      )
      .get({ price_micros }) ?? { unlimited: 0, some: 0, none: 0 }
  )
}

export type MonitorCoverage = {
  id: string
  name: string | null
  customer_id: string
  customer: string
  /** JSON of its filter. */
  filter_spec: string
  active: boolean
  /** Start of its window. */
  since_at: number
  feeds: FeedFacts[]
  /** Sources of its feeds. */
  sources: string[]
  gaps: number
  /** 1: one of its gaps is open. */
  open: number
  /** Events in its window that may have hidden items. */
  unobserved: number
}

type MonitorRow = Omit<MonitorCoverage, 'active' | 'feeds' | 'sources' | 'unobserved'> & {
  active: number
  created_at: number
}
type FactRow = Omit<FeedFacts, 'id' | 'registered' | 'attached_at' | 'ids'> &
  IdColumns & {
    monitor_id: string
    feed_id: number
    source: string
    key: string
    next_check_at: number | null
  }

/** Latest instant at which items may have been hidden, by feed; null: on all feeds. */
export type LastHidden = ReadonlyMap<number | null, number>

const MONTH_MS = 30 * WINDOW_MS

export function lastHidden(db: Db, now: number): LastHidden {
  type Row = Pick<PollEvent, 'kind' | 'at' | 'until_at'> & { feed_id: number | null }
  const rows = db
    .query<Row, [{ from_at: number }]>(
      'SELECT kind, at, until_at, feed_id FROM observation_events WHERE at > $from_at',
    )
    .all({ from_at: now - WINDOW_MS - MONTH_MS })
  const last = new Map<number | null, number>()
  for (const row of rows) {
    if (!mayHideItems(row)) continue
    const at = Math.max(row.at, row.until_at ?? row.at)
    last.set(row.feed_id, Math.max(at, last.get(row.feed_id) ?? at))
  }
  return last
}

/**
 * The next `limit` monitors by id, of a customer or of all, with the facts that their coverage follows from. `offset_ms` as in
 * health.
 */
export function listMonitorCoverage(
  db: Db,
  hidden: LastHidden,
  query: { whose?: string; after_id: string; limit: number; now: number; offset_ms: number },
): MonitorCoverage[] {
  const { now, ...page } = query
  const { offset_ms } = page
  const monitors = db
    .query<MonitorRow, [typeof page & { day_ago: number }]>(
      `SELECT m.*, c.name AS customer, count(g.recorded_at) > 0 AS gaps,
              coalesce(max(g.closed_at IS NULL), 0) AS open
         FROM (SELECT id, name, customer_id, filter_spec, active, created_at,
                      max($day_ago, active_since - $offset_ms, created_at) AS since_at
                 FROM monitors WHERE id > $after_id AND removed_at IS NULL ${page.whose === undefined ? '' : 'AND customer_id = $whose'}
                ORDER BY id LIMIT $limit) m
         JOIN customers c ON c.id = m.customer_id
         LEFT JOIN monitor_feeds ms ON ms.monitor_id = m.id
         LEFT JOIN gaps g ON g.feed_id = ms.feed_id AND g.reason <> 'unanswered'
                         AND (g.recorded_at > since_at OR (g.closed_at IS NULL AND g.from_id IS NOT NULL))
                         AND g.recorded_at >= ms.active_since - $offset_ms
        GROUP BY m.id ORDER BY m.id`,
    )
    .all({ ...page, day_ago: now - WINDOW_MS })
  const facts = db
    .query<FactRow, [{ ids: string }]>(
      `SELECT ms.monitor_id, s.id AS feed_id, s.source, s.key, s.interval_s, s.next_check_at, s.last_check_at, s.created_at,
              s.audit_interval_s, s.audited_at, s.audited_from, s.audited_until, ms.active_since,
              s.kind, s.last_fault, ${POSITION_COLUMNS}
         FROM monitor_feeds ms JOIN feeds s ON s.id = ms.feed_id
        WHERE ms.monitor_id IN (SELECT value FROM json_each($ids))`,
    )
    .all({ ids: JSON.stringify(monitors.map(({ id }) => id)) })
  const by_monitor = Map.groupBy(facts, ({ monitor_id }) => monitor_id)
  return monitors.map(({ created_at, ...monitor }) => {
    const { id, active, since_at } = monitor
    const mine = by_monitor.get(id) ?? []
    const hidden_feeds = [null, ...mine.map(({ feed_id }) => feed_id)].filter(
      (feed_id) => (hidden.get(feed_id) ?? -Infinity) > since_at,
    )
    return {
      ...monitor,
      active: active === 1,
      sources: mine.map(({ source }) => source),
      unobserved: hidden_feeds.length,
      feeds: mine.map((it) => feedFacts(it, created_at, offset_ms)),
    }
  })
}

/** Time of the last backup, in ms; null before the first. */
export const lastBackupAt = (db: Db): number | null =>
  db.query<{ backup_at: number | null }, []>('SELECT backup_at FROM instance').get()?.backup_at ??
  null

export function recordBackup(db: Db, now: number): void {
  db.query('UPDATE instance SET backup_at = $now').run({ now })
}

type FailingWebhook = {
  id: string
  customer: string
  pause_reason: 'failing' | 'gone' | null
  /** Error of the newest failed delivery. */
  last_error: string | null
  waiting: number
}

/** The number of webhooks, and those without a recent success. */
export function listFailingWebhooks(db: Db): { count: number; failing: FailingWebhook[] } {
  const count =
    db.query<{ n: number }, []>('SELECT count(*) AS n FROM webhooks WHERE deleted_at IS NULL').get()
      ?.n ?? 0
  const failing = db
    .query<FailingWebhook, []>(
      `WITH retried AS (
         SELECT webhook_id, count(*) AS waiting, max(row) AS newest
           FROM deliveries WHERE status = 'pending' AND retry_index > 0 GROUP BY webhook_id)
       SELECT w.id, c.name AS customer, w.pause_reason, coalesce(r.waiting, 0) AS waiting,
              (SELECT last_error FROM deliveries d WHERE d.row = coalesce(r.newest,
                (SELECT max(row) FROM deliveries l WHERE l.webhook_id = w.id AND l.status IN ('failed', 'dead')))) AS last_error
         FROM webhooks w JOIN customers c ON c.id = w.customer_id LEFT JOIN retried r ON r.webhook_id = w.id
        WHERE w.deleted_at IS NULL
          AND (w.paused_at IS NOT NULL OR w.failing_since IS NOT NULL OR r.waiting > 0)
        ORDER BY w.created_at, w.id`,
    )
    .all()
  return { count, failing }
}
