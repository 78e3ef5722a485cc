/** Delivery counters and cadence of a monitor over the last 24 hours, from counted rows. */
import {
  type ChangesWaiting,
  type Coverage,
  type FeedFacts,
  type IdFacts,
  type Ids,
  judgeIds,
} from './coverage.ts'

/** Counts of delivery rows of the last 24 hours. */
export type DeliveryCounts = {
  delivered: number
  dead: number
  failed: number
  ceiling: number
  stale: number
  low_relevance: number
  irrelevant: number
  /** Suppressed for a reason that this version does not know. */
  unknown: number
}

type Breakdown = {
  ceiling: number
  stale: number
  low_relevance: number
  irrelevant: number
  unknown: number
  sampled: number
  sample_truncated: boolean
  resolved: boolean
  unresolved_reason: 'ceiling_records_capped' | 'reason_unknown' | null
}

/** Suppressed matches by reason. `capped`: a day of the window had more ceiling suppressions than are stored. */
function breakDown(counts: DeliveryCounts, capped: boolean): Breakdown {
  const { ceiling, stale, low_relevance, irrelevant, unknown } = counts
  return {
    ceiling,
    stale,
    low_relevance,
    irrelevant,
    unknown,
    sampled: ceiling + stale + low_relevance + irrelevant + unknown,
    sample_truncated: capped,
    resolved: !capped && unknown === 0,
    unresolved_reason: capped ? 'ceiling_records_capped' : unknown > 0 ? 'reason_unknown' : null,
  }
}

/** The counters of health. suppressed_24h is a floor, and neither low relevance nor the verdict of a model is a part of it. */
export function countersOf(counts: DeliveryCounts, capped: boolean) {
  const suppressed_breakdown = breakDown(counts, capped)
  return {
    delivered_24h: counts.delivered,
    failed_24h: counts.dead,
    rejected_24h: counts.failed,
    suppressed_24h: counts.ceiling + counts.stale + counts.unknown,
    suppressed_breakdown,
    ceiling_reached: counts.ceiling > 0 || !suppressed_breakdown.resolved,
  }
}

export type Cadence = {
  promised_cadence_s: number
  requested_cadence_s: number | null
  /** True: every feed is polled as often as promised, by its interval and by its last check. */
  meets_entitlement: boolean | null
  last_checked_s_ago: number | null
  /** Age of the oldest last check over the promise: 1 or less is as promised. */
  freshness_ratio: number | null
  within_margin: boolean | null
  slowest_stream: string | null
  unknown_reason: 'monitor_paused' | 'streams_awaiting_first_poll' | 'poll_log_unreadable' | null
}

const MARGIN = 1.5

/** Judges actual against promised cadence. Null: the feeds could not be read. */
export function judgeCadence(
  feeds: readonly FeedFacts[] | null,
  promise: {
    active: boolean
    cadence_s: number
    requested_cadence_s: number | null
    now: number
  },
): Cadence {
  const { active, cadence_s, requested_cadence_s, now } = promise
  const unknownCadence = (unknown_reason: Cadence['unknown_reason']): Cadence => ({
    promised_cadence_s: cadence_s,
    requested_cadence_s,
    meets_entitlement: null,
    last_checked_s_ago: null,
    freshness_ratio: null,
    within_margin: null,
    slowest_stream: null,
    unknown_reason,
  })
  if (!active) return unknownCadence('monitor_paused')
  if (feeds === null) return unknownCadence('poll_log_unreadable')
  const checked = feeds.flatMap(({ id, last_check_at }) =>
    last_check_at === null ? [] : [{ id, last_check_at }],
  )
  const [slowest] = checked.toSorted((a, b) => a.last_check_at - b.last_check_at)
  if (slowest === undefined || checked.length < feeds.length)
    return unknownCadence('streams_awaiting_first_poll')
  const age_s = Math.max(0, (now - slowest.last_check_at) / 1000)
  const ratio = Math.round((age_s / cadence_s) * 100) / 100
  const within_margin = ratio <= MARGIN
  return {
    promised_cadence_s: cadence_s,
    requested_cadence_s,
    meets_entitlement: within_margin && feeds.every(({ interval_s }) => interval_s <= cadence_s),
    last_checked_s_ago: Math.floor(age_s),
    freshness_ratio: ratio,
    within_margin,
    slowest_stream: slowest.id,
    unknown_reason: null,
  }
}

/** Ids of a source that were reported missing, by what became of them. */
type MissingIds = { found: number; healed: number; open: number }

/** An open gap of ids. Epoch ms; `retry_at` null: its patience is over. */
export type OpenIds = Ids & { reason: string; recorded_at: number; retry_at: number | null }

const OPEN_MAX = 50

/** Coverage of one source of a monitor: its proof, how far it reaches, and what is missing. */
export type SourceCoverage = Pick<Coverage, 'status' | 'reason'> & {
  source: string
  proof: string | null
  /** Ids that are proven: every item in them that was visible when it was read, but for the open ones. */
  proven: Ids | null
  behind: Ids | null
  /** Number of ids behind the highest known one. */
  lag_ids: number
  /** Seconds since the instant up to which everything was read; null: nothing yet. */
  lag_s: number | null
  reread: IdFacts['reread']
  missing: MissingIds
  open: OpenIds[]
  open_truncated: boolean
  /** Null: the source names no changes. */
  changes: ChangesWaiting | null
  /** Rows that were left out since the start of the daemon, `field`: what was wrong with the last. Null: none. */
  left_out: { rows: number; field: string; at: number } | null
}

export function judgeSource(
  source: string,
  ids: IdFacts,
  {
    missing,
    open,
    left_out,
    now,
  }: Pick<SourceCoverage, 'missing' | 'left_out'> & { open: readonly OpenIds[]; now: number },
): SourceCoverage {
  const { proof, proven, behind, verified_until, changes, reread } = ids
  const is_cut = open.some(({ reason }) => reason === 'skipped')
  const state = judgeIds([ids], now) ?? {
    status: is_cut ? ('degraded' as const) : ('complete' as const),
    reason: is_cut ? 'ids_skipped' : null,
  }
  return {
    source,
    ...state,
    proof,
    proven,
    behind,
    lag_ids: behind === null ? 0 : behind.to_id - behind.from_id + 1,
    lag_s: verified_until === null ? null : Math.max(0, Math.round((now - verified_until) / 1000)),
    reread,
    missing,
    open: open.slice(0, OPEN_MAX),
    open_truncated: open.length > OPEN_MAX,
    changes,
    left_out,
  }
}
