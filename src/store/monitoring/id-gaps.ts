import type { Ids } from '../../core/polling/coverage.ts'
import { rangesOf } from '../../core/polling/position.ts'
import type { Hole, IdGap, IdGapReason, Settled } from '../../core/polling/step.ts'
import type { Db } from '../db/connection.ts'

/** Open gaps of a feed. The closest are joined beyond it, which requests the ids between them again. */
const OPEN_MAX = 500
/** The first request of missing ids after their report; the waits grow with the age of the gap. */
const RETRY_FIRST_MS = 2 * 60_000
const RETRY_MAX_MS = 2 * 3_600_000
/** Age of a gap after which its ids are not requested any more. */
const PATIENCE_MS = 7 * 24 * 3_600_000

/** Next request of ids that were missing again, epoch ms; null: their patience is over. */
function nextRetryAt(recorded_at: number, now: number): number | null {
  const age = Math.max(0, now - recorded_at)
  if (age >= PATIENCE_MS) return null
  return now + Math.min(RETRY_MAX_MS, Math.max(RETRY_FIRST_MS, Math.round(age / 2)))
}

const COLUMNS =
  'id, reason, from_id, to_id, missed_estimate, until_at, recorded_at, close_attempts, retry_at'

export const listIdGaps = (db: Db, feed_id: number): IdGap[] =>
  db
    .query<IdGap, [{ feed_id: number }]>(
      `SELECT ${COLUMNS} FROM gaps WHERE feed_id = $feed_id AND closed_at IS NULL AND from_id IS NOT NULL
        ORDER BY from_id`,
    )
    .all({ feed_id })

/** The gap whose ids are to be requested now: ids without a request so far come first. */
export const dueIdGap = (db: Db, feed_id: number, now: number): IdGap | null =>
  db
    .query<IdGap, [{ feed_id: number; now: number }]>(
      `SELECT ${COLUMNS} FROM gaps WHERE feed_id = $feed_id AND retry_at <= $now AND closed_at IS NULL
        ORDER BY reason = 'unanswered', retry_at LIMIT 1`,
    )
    .get({ feed_id, now })

/** Inserts gaps of ids, except those that are open already. */
export function insertIdGaps(db: Db, feed_id: number, holes: readonly Hole[]): void {
  if (holes.length === 0) return
  const insert = db.query(
    `INSERT INTO gaps (feed_id, reason, from_at, until_at, missed_estimate, recorded_at, from_id, to_id, retry_at)
     VALUES ($feed_id, $reason, $from_at, $until_at, $to_id - $from_id + 1, $recorded_at, $from_id, $to_id, $retry_at)`,
  )
  const open: Ids[] = listIdGaps(db, feed_id)
  for (const { reason, from_at, until_at, recorded_at, ids } of holes) {
    const retry_at =
      reason === 'skipped' ? recorded_at : (nextRetryAt(recorded_at, recorded_at) ?? recorded_at)
    const gap = { feed_id, reason, from_at, until_at, recorded_at, retry_at }
    const parts = ids === undefined ? [] : without(ids, open)
    for (const { from_id, to_id } of parts) insert.run({ ...gap, from_id, to_id })
    open.push(...parts)
  }
  joinClosest(db, feed_id)
}

const sizeOf = ({ from_id, to_id }: Ids): number => to_id - from_id + 1

/** The parts of a range that no other one covers. Each of the others is passed once, however they overlap. */
function without({ from_id, to_id }: Ids, others: readonly Ids[]): Ids[] {
  const left: Ids[] = []
  let next = from_id
  for (const it of others.toSorted((a, b) => a.from_id - b.from_id)) {
    if (it.to_id < Math.max(next, it.from_id) || it.from_id > to_id) continue
    if (it.from_id > next) left.push({ from_id: next, to_id: it.from_id - 1 })
    next = it.to_id + 1
  }
  if (next <= to_id) left.push({ from_id: next, to_id })
  return left
}

function joinClosest(db: Db, feed_id: number): void {
  const open = listIdGaps(db, feed_id)
  const excess = open.length - OPEN_MAX
  if (excess <= 0) return
  const distances = open.slice(1).map((it, at) => it.from_id - (open[at]?.to_id ?? 0))
  const nearest = distances
    .map((distance, at) => [distance, at + 1] as const)
    .toSorted((a, b) => a[0] - b[0])
    .slice(0, excess)
  const joined = new Set(nearest.map(([, at]) => at))
  const widen = db.query(
    `UPDATE gaps SET to_id = $to_id, missed_estimate = missed_estimate + $more, retry_at = min(retry_at, $retry_at),
            reason = CASE WHEN $reason = 'skipped' THEN $reason ELSE reason END WHERE id = $id`,
  )
  const remove = db.query('DELETE FROM gaps WHERE id = $id')
  let into = open[0]
  for (const [at, gap] of open.entries()) {
    if (!joined.has(at) || into === undefined) {
      into = gap
      continue
    }
    const { to_id, retry_at, reason, missed_estimate: more, recorded_at } = gap
    widen.run({ id: into.id, to_id, more, reason, retry_at: retry_at ?? recorded_at })
    remove.run({ id: gap.id })
  }
}

/**
 * Records that ids of a gap were requested again: those that had an item are closed, those without one stay open, and
 * those that were not read are due at `rest_at`.
 */
export function settleIdGap(
  db: Db,
  feed_id: number,
  { gap, unanswered, behind, rest_at }: Settled,
  now: number,
): void {
  const missing = rangesOf(unanswered)
  const rest = behind === null ? [] : [behind]
  // A long range is closed as one: those of its ids that had no item are reported beside it.
  const is_whole = gap.reason === 'skipped'
  const read = without(gap, is_whole ? rest : [...rest, ...missing])
  const attempts = gap.close_attempts + 1
  const retry_at = nextRetryAt(gap.recorded_at, now)
  const tired = now - gap.recorded_at >= PATIENCE_MS
  replace(db, feed_id, gap, [
    ...rest.map((it) => ({
      ...it,
      reason: gap.reason,
      closed_at: null,
      retry_at: tired ? null : rest_at,
      attempts,
    })),
    ...missing.map((it) => ({
      ...it,
      reason: 'unanswered' as const,
      closed_at: null,
      retry_at,
      attempts,
    })),
    ...read.map((it) => {
      const absent = is_whole ? unanswered.filter((id) => id >= it.from_id && id <= it.to_id) : []
      const number = sizeOf(it) - absent.length
      return { ...it, number, reason: gap.reason, closed_at: now, retry_at: null, attempts }
    }),
  ])
  joinClosest(db, feed_id)
}

/** Puts off a gap whose ids could not be requested; it is given up when its patience is over. */
export function postponeIdGap(db: Db, { id, recorded_at }: IdGap, at: number): void {
  const retry_at = at - recorded_at >= PATIENCE_MS ? null : at
  db.query('UPDATE gaps SET retry_at = $retry_at WHERE id = $id').run({ id, retry_at })
}

/** Closes open gaps of single ids that were answered after all, and splits those of more. */
export function closeIdGaps(db: Db, feed_id: number, ids: readonly number[], now: number): void {
  if (ids.length === 0) return
  for (const gap of listIdGaps(db, feed_id)) {
    const found = ids.filter((id) => id >= gap.from_id && id <= gap.to_id)
    if (found.length === 0 || gap.reason === 'skipped') continue
    const closed = rangesOf(found)
    const { reason, retry_at, close_attempts: attempts } = gap
    replace(db, feed_id, gap, [
      ...without(gap, closed).map((it) => ({ ...it, reason, closed_at: null, retry_at, attempts })),
      ...closed.map((it) => ({ ...it, reason, closed_at: now, retry_at: null, attempts })),
    ])
  }
}

type Part = Ids & {
  /** Number of ids, if it is not that of the range. */
  number?: number
  reason: IdGapReason
  closed_at: number | null
  retry_at: number | null
  attempts: number
}

/** Replaces a gap by its parts, which keep its report. */
function replace(db: Db, feed_id: number, gap: IdGap, parts: readonly Part[]): void {
  const { until_at, recorded_at } = gap
  db.query('DELETE FROM gaps WHERE id = $id').run({ id: gap.id })
  const insert = db.query(
    `INSERT INTO gaps (feed_id, reason, until_at, missed_estimate, recorded_at, from_id, to_id, closed_at,
            close_attempts, retry_at)
     VALUES ($feed_id, $reason, $until_at, $number, $recorded_at, $from_id, $to_id, $closed_at,
            $attempts, $retry_at)`,
  )
  for (const part of parts)
    insert.run({ feed_id, until_at, recorded_at, number: sizeOf(part), ...part })
}

/** Numbers of ids that were reported missing, by what became of them. */
export type IdGapCounts = { found: number; healed: number; open: number }

/** Counts the ids of a feed's gaps: healed ones that were reported after `since_at`, open ones after `begun_at`. */
export function countIdGaps(
  db: Db,
  query: { feed_id: number; since_at: number; begun_at: number },
): IdGapCounts {
  const { healed, open } = db
    .query<{ healed: number; open: number }, [typeof query]>(
      `SELECT coalesce(sum(missed_estimate) FILTER (WHERE closed_at IS NOT NULL AND recorded_at > $since_at), 0) AS healed,
              coalesce(sum(missed_estimate) FILTER (WHERE closed_at IS NULL), 0) AS open
         FROM gaps WHERE feed_id = $feed_id AND recorded_at >= $begun_at AND from_id IS NOT NULL`,
    )
    .get(query) ?? { healed: 0, open: 0 }
  return { found: healed + open, healed, open }
}
