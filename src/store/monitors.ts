import type { Slots } from '../core/gate.ts'
import type { StreamKind } from '../core/stream.ts'
import type { Db } from './db.ts'

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
  active_since: number
  created_at: number
  updated_at: number
  last_match_at: number | null
}

type Row = Omit<Monitor, 'webhook_ids' | 'active'> & { webhook_ids: string | null; active: number }

const COLUMNS =
  'id, customer_id, name, filter_spec, cadence_s, requested_cadence_s, baseline_item_id, webhook_ids, active, active_since, created_at, updated_at, last_match_at'

/** A stored list of ids. */
export const readIds = (text: string | null): string[] | null =>
  text === null ? null : (JSON.parse(text) as string[])

const fromRow = ({ webhook_ids, active, ...row }: Row): Monitor => ({
  ...row,
  webhook_ids: readIds(webhook_ids),
  active: active === 1,
})

const toRow = ({ webhook_ids, active, ...row }: Monitor): Row => ({
  ...row,
  webhook_ids: webhook_ids === null ? null : JSON.stringify(webhook_ids),
  active: active ? 1 : 0,
})

/** Writes a new monitor. */
export function insertMonitor(db: Db, monitor: Monitor): void {
  db.query(
    `INSERT INTO monitors (${COLUMNS})
     VALUES ($id, $customer_id, $name, $filter_spec, $cadence_s, $requested_cadence_s, $baseline_item_id,
             $webhook_ids, $active, $active_since, $created_at, $updated_at, $last_match_at)`,
  ).run(toRow(monitor))
}

/** Writes back what an edit may change; what a match changes is left alone. */
export function updateMonitor(db: Db, monitor: Monitor): void {
  const { id, name, filter_spec, cadence_s, requested_cadence_s, baseline_item_id, ...row } =
    toRow(monitor)
  db.query(
    `UPDATE monitors SET name = $name, filter_spec = $filter_spec, cadence_s = $cadence_s,
            requested_cadence_s = $requested_cadence_s, baseline_item_id = $baseline_item_id,
            webhook_ids = $webhook_ids, active = $active, active_since = $active_since, updated_at = $updated_at
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
  })
}

/** Removes a monitor; its row stays, because deliveries name it. False when the customer has none such. */
export function removeMonitor(db: Db, customer_id: string, id: string, now: number): boolean {
  return (
    db
      .query(
        `UPDATE monitors SET removed_at = $now, active = 0
          WHERE id = $id AND customer_id = $customer_id AND removed_at IS NULL`,
      )
      .run({ id, customer_id, now }).changes === 1
  )
}

/** A customer's monitor by id; null when it is absent, removed or somebody else's. */
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

/** What of a plan a customer's monitors take, paused ones too. */
export function countSlots(db: Db, customer_id: string): Slots {
  const row = db
    .query<Slots, [{ customer_id: string }]>(
      `SELECT count(*) AS used,
              count(*) FILTER (WHERE EXISTS (
                SELECT 1 FROM monitor_streams ms JOIN streams s ON s.id = ms.stream_id
                 WHERE ms.monitor_id = m.id AND s.kind = 'search')) AS sitewide_used
         FROM monitors m WHERE customer_id = $customer_id AND removed_at IS NULL`,
    )
    .get({ customer_id })
  return row ?? { used: 0, sitewide_used: 0 }
}

/** One stream as a monitor of it sees it. */
export type WatchedStream = {
  key: string
  kind: StreamKind
  place: string
  interval_s: number
  next_check_at: number | null
  last_check_at: number | null
  created_at: number
  active_since: number
}

/** The streams a monitor watches. */
export function listWatched(db: Db, monitor_id: string): WatchedStream[] {
  return db
    .query<WatchedStream, [{ monitor_id: string }]>(
      `SELECT s.key, s.kind, s.place, s.interval_s, s.next_check_at, s.last_check_at, s.created_at,
              ms.active_since
         FROM monitor_streams ms JOIN streams s ON s.id = ms.stream_id
        WHERE ms.monitor_id = $monitor_id ORDER BY s.id`,
    )
    .all({ monitor_id })
}

/** An active monitor on one stream: where it begins there, and what it needs to match and deliver. */
export type Watcher = {
  id: string
  customer_id: string
  plan: string
  webhook_ids: string[] | null
  baseline_item_id: string | null
  updated_at: number
  active_since: number
  active_from_seq: number
}

/** A watcher as it is stored. */
export type WatcherRow = Omit<Watcher, 'webhook_ids'> & { webhook_ids: string | null }

/** The active monitors on a stream. */
export function listWatchers(db: Db, stream_id: number): Watcher[] {
  return db
    .query<WatcherRow, [{ stream_id: number }]>(
      `SELECT m.id, m.customer_id, c.plan, m.webhook_ids, m.baseline_item_id, m.updated_at,
              ms.active_since, ms.active_from_seq
         FROM monitor_streams ms
         JOIN monitors m ON m.id = ms.monitor_id AND m.active = 1 AND m.removed_at IS NULL
         JOIN customers c ON c.id = m.customer_id AND c.removed_at IS NULL
        WHERE ms.stream_id = $stream_id ORDER BY m.created_at, m.id`,
    )
    .all({ stream_id })
    .map((row) => ({ ...row, webhook_ids: readIds(row.webhook_ids) }))
}

/** The stored text of a monitor's filter; null when the monitor is gone. */
export function findFilterSpec(db: Db, monitor_id: string): string | null {
  return (
    db
      .query<{ filter_spec: string }, [{ id: string }]>(
        'SELECT filter_spec FROM monitors WHERE id = $id',
      )
      .get({ id: monitor_id })?.filter_spec ?? null
  )
}

/** Notes when a monitor last matched. */
export function recordMatchAt(db: Db, monitor_id: string, now: number): void {
  db.query('UPDATE monitors SET last_match_at = $now WHERE id = $id').run({ id: monitor_id, now })
}

/** The first look of these monitors on a stream is done: from here on only what is new to the stream counts. */
export function endFirstLooks(
  db: Db,
  stream_id: number,
  monitor_ids: readonly string[],
  seq: number,
): void {
  db.query(
    `UPDATE monitor_streams SET active_from_seq = $seq
      WHERE stream_id = $stream_id AND monitor_id IN (SELECT value FROM json_each($ids))`,
  ).run({ stream_id, seq, ids: JSON.stringify(monitor_ids) })
}
