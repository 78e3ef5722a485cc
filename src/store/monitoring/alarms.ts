import type { Db } from '../db/connection.ts'

export const ALARM_KINDS = ['silent', 'degraded'] as const
export type AlarmKind = (typeof ALARM_KINDS)[number]

/** An alarm that is not over. Epoch milliseconds. */
export type OpenAlarm = {
  id: number
  monitor_id: string
  kind: AlarmKind
  opened_at: number
  repeats: number
  /** Null: it is not repeated any more. */
  next_repeat_at: number | null
  acknowledged_at: number | null
}

const COLUMNS = 'id, monitor_id, kind, opened_at, repeats, next_repeat_at, acknowledged_at'
const KEEP_MS = 30 * 86_400_000

/** The open alarms of a monitor, oldest first. */
export function listOpenAlarms(db: Db, monitor_id: string): OpenAlarm[] {
  return db
    .query<OpenAlarm, [{ monitor_id: string }]>(
      `SELECT ${COLUMNS} FROM alarms WHERE monitor_id = $monitor_id AND ended_at IS NULL ORDER BY id`,
    )
    .all({ monitor_id })
}

/** Opens an alarm, and deletes those that ended a month ago. Belongs into the transaction that delivers it. */
export function openAlarm(
  db: Db,
  alarm: Pick<OpenAlarm, 'monitor_id' | 'kind' | 'opened_at' | 'next_repeat_at'>,
): OpenAlarm {
  db.query('DELETE FROM alarms WHERE ended_at < $before').run({ before: alarm.opened_at - KEEP_MS })
  const { lastInsertRowid } = db
    .query(
      `INSERT INTO alarms (monitor_id, kind, opened_at, next_repeat_at)
       VALUES ($monitor_id, $kind, $opened_at, $next_repeat_at)`,
    )
    .run(alarm)
  return { ...alarm, id: Number(lastInsertRowid), repeats: 0, acknowledged_at: null }
}

export function setRepeat(
  db: Db,
  alarm: Pick<OpenAlarm, 'id' | 'repeats' | 'next_repeat_at'>,
): void {
  db.query(
    'UPDATE alarms SET repeats = $repeats, next_repeat_at = $next_repeat_at WHERE id = $id',
  ).run(alarm)
}

export function endAlarm(db: Db, id: number, now: number): void {
  db.query('UPDATE alarms SET ended_at = $now, next_repeat_at = NULL WHERE id = $id').run({
    id,
    now,
  })
}

/** Ends the repeats of a monitor's open alarms. Returns the number of alarms that were not acknowledged before. */
export function acknowledgeAlarms(db: Db, monitor_id: string, now: number): number {
  return db
    .query(
      `UPDATE alarms SET acknowledged_at = $now, next_repeat_at = NULL
        WHERE monitor_id = $monitor_id AND ended_at IS NULL AND acknowledged_at IS NULL`,
    )
    .run({ monitor_id, now }).changes
}

export function rebaseAlarms(db: Db, jump_ms: number): void {
  db.query(
    'UPDATE alarms SET next_repeat_at = next_repeat_at + $jump_ms WHERE next_repeat_at IS NOT NULL',
  ).run({ jump_ms })
}

/** A monitor whose alarms are checked: it has rules, or an open alarm. */
export type AlarmedMonitor = { id: string; customer_id: string; active: number }

/** Monitors to check after an id, in the order of their ids. */
export function listAlarmedMonitors(db: Db, after: string, limit: number): AlarmedMonitor[] {
  return db
    .query<AlarmedMonitor, [{ after: string; limit: number }]>(
      `SELECT m.id, m.customer_id, m.active AND m.removed_at IS NULL AND c.removed_at IS NULL AS active
         FROM monitors m JOIN customers c ON c.id = m.customer_id
        WHERE m.id > $after AND m.id IN (
          SELECT id FROM monitors WHERE attention IS NOT NULL AND removed_at IS NULL
          UNION SELECT monitor_id FROM alarms WHERE ended_at IS NULL)
        ORDER BY m.id LIMIT $limit`,
    )
    .all({ after, limit })
}
