import { many } from './format.ts'
import { coverageReason, gapReason } from './reasons.ts'
import type { Coverage, Gap, Health } from './types.ts'

const DAY_MS = 86_400_000

export type Tone = 'good' | 'warn' | 'bad' | 'quiet' | 'plain'

/** The status of a monitor: tone, one or two words, and a sentence. */
export type MonitorStatus = { tone: Tone; word: string; detail: string }

export function monitorStatus({
  active,
  pause_reason,
  coverage_24h,
  stream_liveness,
}: Health): MonitorStatus {
  if (pause_reason !== null)
    return { tone: 'bad', word: 'Stopped', detail: coverageReason(pause_reason) }
  if (!active) return { tone: 'quiet', word: 'Paused', detail: coverageReason('monitor_paused') }
  const { status, reason, gaps_open, gap_events_24h, posts_missed_estimate } = coverage_24h
  if (stream_liveness.reason === 'streams_awaiting_first_poll')
    return {
      tone: 'plain',
      word: 'Collecting',
      detail: coverageReason('streams_awaiting_first_poll'),
    }
  if (status === 'complete')
    return {
      tone: 'good',
      word: 'Complete',
      detail: 'Every check overlapped the one before it.',
    }
  const cut = `${many(gap_events_24h ?? 0, 'check was', 'checks were')} truncated in 24 hours`
  if (status === 'degraded' && gaps_open === 0)
    return { tone: 'warn', word: 'Caught up', detail: `${cut}; the missing items were read later.` }
  if (status === 'degraded')
    return {
      tone: 'bad',
      word: 'Gaps',
      detail: `${cut}; ${missed(posts_missed_estimate)}.`,
    }
  const why = stream_liveness.reason ?? reason
  return {
    tone: 'warn',
    word: status === 'partial' ? 'Partial' : 'Unknown',
    detail: why === null ? 'Unknown reason.' : coverageReason(why),
  }
}

const COLLECTING_MS = 900_000

/** True while a monitor is too new for its coverage of a day to show anything. */
export function isCollecting(
  { active, coverage_24h, stream_liveness }: Health,
  now: number,
): boolean {
  const { since, gaps, unobserved_events } = coverage_24h
  if (!active || gaps.length > 0 || unobserved_events.length > 0) return false
  const is_unread = stream_liveness.reason === 'streams_awaiting_first_poll'
  return is_unread || now - Date.parse(since) < COLLECTING_MS
}

/** The status of a monitor at an instant; a new one is not called complete. */
export function statusAt(health: Health, now: number): MonitorStatus {
  const status = monitorStatus(health)
  return status.tone === 'good' && isCollecting(health, now)
    ? { tone: 'plain', word: 'Collecting', detail: 'Every check so far overlapped the one before.' }
    : status
}

const missed = (estimate: number | null): string =>
  estimate === null
    ? 'the number of missed items cannot be estimated'
    : `an estimated ${many(estimate, 'item')} missed`

/** Truncated polls with the same feed, reason and start of the gap. */
export type TruncatedChecks = Gap & { checks: number }

/** Groups gaps with the same feed, reason and start. Newest first, like the input. */
export function groupGaps(gaps: readonly Gap[]): TruncatedChecks[] {
  const alike = Map.groupBy(gaps, (it) => `${it.stream} ${it.reason} ${it.from ?? it.at}`)
  return [...alike.values()].flatMap((group) => {
    const [newest] = group
    if (newest === undefined) return []
    const estimates = group.map((it) => it.missed_estimate)
    const availableEstimates = estimates.filter((it) => it !== null)
    return {
      ...newest,
      at: group.at(-1)?.at ?? newest.at,
      checks: group.length,
      missed_estimate:
        availableEstimates.length < estimates.length
          ? null
          : availableEstimates.reduce((sum, it) => sum + it, 0),
      // Recovered only if every gap of the group was.
      healed_at: group.some((it) => it.healed_at === null) ? null : newest.healed_at,
    }
  })
}

/** A period of the last 24 hours, in [0, 1]: 0 is a day ago, 1 is now. */
export type Stretch = {
  kind: 'seen' | 'gap' | 'healed' | 'blind'
  from: number
  until: number
  why: string
}

/** Drawn length of a gap without a known start. */
const LEAST_MS = 180_000

/** The last 24 hours of a monitor as periods, in drawing order: the topmost last. */
export function stretchesOf(coverage: Coverage, now: number): Stretch[] {
  const begin = now - DAY_MS
  const at = (ms: number) => Math.min(1, Math.max(0, (ms - begin) / DAY_MS))
  const between = (kind: Stretch['kind'], from: number, until: number, why: string): Stretch => ({
    kind,
    from: at(Math.min(from, until - LEAST_MS)),
    until: at(until),
    why,
  })
  const since = Date.parse(coverage.since)
  return [
    { kind: 'seen', from: at(since), until: 1, why: 'Observed' },
    ...coverage.unobserved_events.map((it) => {
      const from = Date.parse(it.at)
      const until = it.until === null ? from + LEAST_MS : Date.parse(it.until)
      return between('blind', Math.min(from, until), Math.max(from, until), gapReason(it.kind))
    }),
    // An id that was requested, and has no item, is no time that was not observed.
    ...coverage.gaps.flatMap((it) => {
      if (it.reason === 'unanswered') return []
      const until = Date.parse(it.until ?? it.at)
      const from = it.from === null ? until : Date.parse(it.from)
      return between(it.healed_at === null ? 'gap' : 'healed', from, until, gapReason(it.reason))
    }),
  ]
}
