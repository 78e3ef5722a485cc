import {
  hides,
  type PollEvent,
  type StreamFacts,
  streamFacts,
  WINDOW_MS,
} from '../core/coverage.ts'
import type { Db } from './db.ts'

/** What the rows say of one monitor's last day, for a judgement of many. */
export type Covered = {
  id: string
  active: boolean
  /** Where its window begins. */
  since_at: number
  streams: StreamFacts[]
  gaps: number
  /** Events in its window that may have hidden items. */
  unobserved: number
}

type MonitorRow = { id: string; active: number; since_at: number; created_at: number; gaps: number }
type FactRow = Omit<StreamFacts, 'id' | 'registered' | 'attached_at'> & {
  monitor_id: string
  stream_id: number
  key: string
  next_check_at: number | null
  active_since: number
}

/** When something was last hidden, by stream; null: on all of them. */
export type Hidden = ReadonlyMap<number | null, number>

const MONTH_MS = 30 * WINDOW_MS

/** What happened of late that may have hidden items. */
export function lastHidden(db: Db, now: number): Hidden {
  type Row = Pick<PollEvent, 'kind' | 'at' | 'until_at'> & { stream_id: number | null }
  const rows = db
    .query<Row, [{ from_at: number }]>(
      'SELECT kind, at, until_at, stream_id FROM events WHERE at > $from_at',
    )
    .all({ from_at: now - WINDOW_MS - MONTH_MS })
  const last = new Map<number | null, number>()
  for (const row of rows) {
    if (!hides(row)) continue
    const at = Math.max(row.at, row.until_at ?? row.at)
    last.set(row.stream_id, Math.max(at, last.get(row.stream_id) ?? at))
  }
  return last
}

/** The next `limit` monitors by id, with the facts that their coverage follows from. `offset_ms` as in health. */
export function listCovered(
  db: Db,
  hidden: Hidden,
  query: { after_id: string; limit: number; now: number; offset_ms: number },
): Covered[] {
  const { now, ...page } = query
  const { offset_ms } = page
  const monitors = db
    .query<MonitorRow, [typeof page & { day_ago: number }]>(
      `SELECT id, active, created_at, since_at,
              EXISTS (SELECT 1 FROM monitor_streams ms JOIN gaps g ON g.stream_id = ms.stream_id
                       WHERE ms.monitor_id = m.id AND g.recorded_at > since_at
                         AND g.recorded_at >= ms.active_since - $offset_ms) AS gaps
         FROM (SELECT id, active, created_at, max($day_ago, active_since - $offset_ms, created_at) AS since_at
                 FROM monitors WHERE id > $after_id AND removed_at IS NULL
                ORDER BY id LIMIT $limit) m`,
    )
    .all({ ...page, day_ago: now - WINDOW_MS })
  const facts = db
    .query<FactRow, [{ ids: string }]>(
      `SELECT ms.monitor_id, s.id AS stream_id, s.key, s.interval_s, s.next_check_at, s.last_check_at, s.created_at,
              ms.active_since
         FROM monitor_streams ms JOIN streams s ON s.id = ms.stream_id
        WHERE ms.monitor_id IN (SELECT value FROM json_each($ids))`,
    )
    .all({ ids: JSON.stringify(monitors.map(({ id }) => id)) })
  const by_monitor = Map.groupBy(facts, ({ monitor_id }) => monitor_id)
  return monitors.map(({ id, active, since_at, created_at, gaps }) => {
    const mine = by_monitor.get(id) ?? []
    const hit = [null, ...mine.map(({ stream_id }) => stream_id)].filter(
      (stream_id) => (hidden.get(stream_id) ?? -Infinity) > since_at,
    )
    return {
      id,
      active: active === 1,
      since_at,
      gaps,
      unobserved: hit.length,
      streams: mine.map((it) => streamFacts(it, created_at, offset_ms)),
    }
  })
}
