/** What a monitor's streams can prove about the last 24 hours: functions of stored rows, nothing else. */

/** The time that health speaks of. */
export const WINDOW_MS = 86_400_000
/** Of gaps and of events, at most this many are shown, the newest. */
export const SHOWN_MAX = 50

// Within this many of its own intervals a stream must have been checked.
const INTERVALS = 3
const FIRST_POLL_MS = 180_000
const SMALL_JUMP_MS = 60_000

/** One stream of a monitor, as its row says. Instants by the same clock as `now`. */
export type StreamFacts = {
  id: string
  interval_s: number
  /** False when nothing will ever look at it: a fault of ours. */
  registered: boolean
  /** When it began to be watched, by anybody. */
  created_at: number
  /** When this monitor began on it. */
  attached_at: number
  /** The end of its last finished check. */
  last_check_at: number | null
}

/** A stream as it is stored, with where a monitor began on it, by the platform's clock. */
type Watched = Pick<StreamFacts, 'interval_s' | 'created_at' | 'last_check_at'> & {
  key: string
  /** Null: nothing will ever look at it. */
  next_check_at: number | null
  active_since: number
}

/** What coverage asks of a stream of a monitor that was made at `created_at`; the platform's clock is `offset_ms` ahead. */
export const streamFacts = (it: Watched, created_at: number, offset_ms: number): StreamFacts => ({
  id: it.key,
  interval_s: it.interval_s,
  registered: it.next_check_at !== null,
  created_at: it.created_at,
  attached_at: Math.max(it.active_since - offset_ms, created_at),
  last_check_at: it.last_check_at,
})

type StreamFailure = 'never_polled' | 'stalled' | 'unregistered'

/** Whether each stream of a monitor is being checked (contract 7). */
export type Liveness = {
  status: 'live' | 'degraded' | 'unknown'
  reason: 'monitor_paused' | 'streams_awaiting_first_poll' | 'poll_log_unreadable' | null
  streams: { id: string; reason: StreamFailure }[]
}

const UNREADABLE: Liveness = { status: 'unknown', reason: 'poll_log_unreadable', streams: [] }

/** Whether each stream is being checked. Null streams: they could not be read. */
export function judgeLiveness(
  streams: readonly StreamFacts[] | null,
  { active, now }: { active: boolean; now: number },
): Liveness {
  if (!active) return { status: 'unknown', reason: 'monitor_paused', streams: [] }
  if (streams === null) return UNREADABLE
  // A monitor without a single stream watches nothing, whatever its rows say.
  if (streams.length === 0) return { status: 'degraded', reason: null, streams: [] }
  const states = streams.map((it) => ({ id: it.id, state: stateOf(it, now) }))
  const failing = states.flatMap(({ id, state }) =>
    state === 'live' || state === 'awaiting' ? [] : [{ id, reason: state }],
  )
  if (failing.length > 0) return { status: 'degraded', reason: null, streams: failing }
  if (states.some(({ state }) => state === 'awaiting'))
    return { status: 'unknown', reason: 'streams_awaiting_first_poll', streams: [] }
  return { status: 'live', reason: null, streams: [] }
}

function stateOf(stream: StreamFacts, now: number): StreamFailure | 'live' | 'awaiting' {
  if (!stream.registered) return 'unregistered'
  const patience_ms = INTERVALS * stream.interval_s * 1000
  if (stream.last_check_at !== null)
    return now - stream.last_check_at <= patience_ms ? 'live' : 'stalled'
  const watched_ms = now - Math.max(stream.created_at, stream.attached_at)
  return watched_ms <= Math.max(patience_ms, FIRST_POLL_MS) ? 'awaiting' : 'never_polled'
}

/** A check that was cut short. `from_at` and `until_at` bound what it did not see, as far as that is known. */
export type Gap = {
  stream: string
  reason: string
  recorded_at: number
  from_at: number | null
  until_at: number | null
  missed_estimate: number | null
  healed_at: number | null
}

/** `process_down` is told, and hides nothing by itself: where its next check met the head, nothing was missed. */
export type EventKind =
  | 'poll_log_failed'
  | 'clock_jump'
  | 'feed_replaced'
  | 'log_pruned'
  | 'restore_detected'
  | 'process_down'

/** Something that happened to polling, as its row says. Epoch milliseconds. */
export type PollEvent = {
  kind: EventKind
  at: number
  until_at: number | null
  stream: string | null
}

/** What a monitor can prove about its last 24 hours (contract 7); null counts are not known. */
export type Coverage = {
  status: 'complete' | 'degraded' | 'partial' | 'unknown'
  reason:
    | 'monitor_paused'
    | 'poll_log_unreadable'
    | 'loss_events_not_observed'
    | 'streams_not_polling'
    | 'stream_liveness_unknown'
    | null
  /** Where the window begins: 24 hours ago, or when the monitor began. */
  since_at: number
  gaps: Gap[]
  gaps_returned: number
  gaps_truncated: boolean
  gap_events_24h: number | null
  posts_in_window_at_least: number | null
  posts_missed_estimate: number | null
  observed_events: { kind: string; at: number; until_at: number | null; stream: string | null }[]
  unobserved_events: PollEvent[]
}

/** What the store knows of a window: its gaps and events newest first, and how many items were seen in it. */
export type PollLog = { gaps: readonly Gap[]; events: readonly PollEvent[]; seen: number }

/** Where a monitor's window begins. */
export const windowSince = (now: number, active_since: number): number =>
  Math.max(now - WINDOW_MS, active_since)

/**
 * Whether every check reached the point where the one before it finished. Complete needs live streams; null
 * figures are unknown, which is not zero. Null log: it could not be read.
 */
export function judgeCoverage(
  log: PollLog | null,
  liveness: Liveness,
  { active, since_at }: { active: boolean; since_at: number },
): Coverage {
  if (!active) return unknown('monitor_paused', since_at)
  if (log === null || liveness.reason === 'poll_log_unreadable')
    return unknown('poll_log_unreadable', since_at)
  const { gaps, events, seen } = log
  const unobserved = events.filter(hides)
  const told = events.filter((it) => it.kind === 'process_down')
  const cuts = gaps.map((it) => ({
    kind: it.reason,
    at: it.recorded_at,
    until_at: it.healed_at,
    stream: it.stream,
  }))
  return {
    ...judgeStatus({ gaps: gaps.length, unobserved: unobserved.length }, liveness),
    since_at,
    gaps: gaps.slice(0, SHOWN_MAX),
    gaps_returned: Math.min(gaps.length, SHOWN_MAX),
    gaps_truncated: gaps.length > SHOWN_MAX,
    gap_events_24h: gaps.length,
    posts_in_window_at_least: seen,
    posts_missed_estimate: missed(gaps, unobserved, liveness),
    observed_events: [...cuts, ...told].toSorted((a, b) => b.at - a.at).slice(0, SHOWN_MAX),
    unobserved_events: unobserved.slice(0, SHOWN_MAX),
  }
}

/** What an active monitor's window comes to, with so many gaps and so many events in it that hide something. */
export function judgeStatus(
  { gaps, unobserved }: { gaps: number; unobserved: number },
  { status }: Pick<Liveness, 'status'>,
): Pick<Coverage, 'status' | 'reason'> {
  if (gaps > 0) return { status: 'degraded', reason: null }
  if (status === 'unknown') return { status: 'partial', reason: 'stream_liveness_unknown' }
  if (status === 'degraded') return { status: 'partial', reason: 'streams_not_polling' }
  if (unobserved > 0) return { status: 'partial', reason: 'loss_events_not_observed' }
  return { status: 'complete', reason: null }
}

// A healed gap hides nothing any more. One gap without an estimate, or a place nobody looked at, makes the sum unknown.
function missed(
  gaps: readonly Gap[],
  unobserved: readonly PollEvent[],
  { status }: Liveness,
): number | null {
  if (status !== 'live' || unobserved.length > 0) return null
  let sum = 0
  for (const { missed_estimate, healed_at } of gaps) {
    if (healed_at !== null) continue
    if (missed_estimate === null) return null
    sum += missed_estimate
  }
  return sum
}

/** Whether what happened may have hidden items. */
export const hides = ({ kind, at, until_at }: Omit<PollEvent, 'stream'>): boolean =>
  kind !== 'process_down' &&
  (kind !== 'clock_jump' || until_at === null || Math.abs(until_at - at) > SMALL_JUMP_MS)

const unknown = (reason: NonNullable<Coverage['reason']>, since_at: number): Coverage => ({
  status: 'unknown',
  reason,
  since_at,
  gaps: [],
  gaps_returned: 0,
  gaps_truncated: false,
  gap_events_24h: null,
  posts_in_window_at_least: null,
  posts_missed_estimate: null,
  observed_events: [],
  unobserved_events: [],
})
