import { coverageReason, gapReason } from './reasons.ts'
import { many } from './show.ts'
import type { Coverage, Gap, Health } from './types.ts'

const DAY_MS = 86_400_000

/** How well something stands; the colour that goes with a word. */
export type Tone = 'good' | 'warn' | 'bad' | 'quiet' | 'plain'

/** How a monitor does, in two words and a sentence. */
export type Standing = { tone: Tone; word: string; detail: string }

/** What the health of a monitor comes to, for who looks once. */
export function standingOf({ active, coverage_24h, stream_liveness }: Health): Standing {
  if (!active) return { tone: 'quiet', word: 'Paused', detail: coverageReason('monitor_paused') }
  const { status, reason, gaps, gaps_truncated, gap_events_24h, posts_missed_estimate } =
    coverage_24h
  if (stream_liveness.reason === 'streams_awaiting_first_poll')
    return {
      tone: 'plain',
      word: 'Starting',
      detail: coverageReason('streams_awaiting_first_poll'),
    }
  if (status === 'complete')
    return {
      tone: 'good',
      word: 'All seen',
      detail: 'Every check reached where the one before it ended.',
    }
  const cut = `${many(gap_events_24h ?? 0, 'check was', 'checks were')} cut short in 24 hours`
  if (status === 'degraded' && !gaps_truncated && gaps.every((it) => it.healed_at !== null))
    return { tone: 'warn', word: 'Caught up', detail: `${cut}; what they left out was read later.` }
  if (status === 'degraded')
    return {
      tone: 'bad',
      word: 'Gaps',
      detail: `${cut}; ${missed(posts_missed_estimate)}.`,
    }
  const why = stream_liveness.reason ?? reason
  return {
    tone: 'warn',
    word: status === 'partial' ? 'Partly known' : 'Unknown',
    detail: why === null ? 'The reason is not known.' : coverageReason(why),
  }
}

const missed = (estimate: number | null): string =>
  estimate === null
    ? 'how much was missed cannot be estimated'
    : `an estimated ${many(estimate, 'item')} missed`

/** Checks that were cut short for one reason over one stretch of time. */
export type Cut = Gap & { checks: number }

/** Gaps that are one to a person: the same feed, the same reason, missing from the same instant on. Newest first, as they came. */
export function cutsOf(gaps: readonly Gap[]): Cut[] {
  const alike = Map.groupBy(gaps, (it) => `${it.stream} ${it.reason} ${it.from ?? it.at}`)
  return [...alike.values()].flatMap((group) => {
    const [newest] = group
    if (newest === undefined) return []
    const estimates = group.map((it) => it.missed_estimate)
    const known = estimates.filter((it) => it !== null)
    return {
      ...newest,
      at: group.at(-1)?.at ?? newest.at,
      checks: group.length,
      missed_estimate:
        known.length < estimates.length ? null : known.reduce((sum, it) => sum + it, 0),
      // Read later only when all of it was.
      healed_at: group.some((it) => it.healed_at === null) ? null : newest.healed_at,
    }
  })
}

/** A stretch of the last 24 hours, from 0 (a day ago) to 1 (now). */
export type Stretch = {
  kind: 'seen' | 'gap' | 'healed' | 'blind'
  from: number
  until: number
  why: string
}

/** A cut whose beginning is not known is drawn this long. */
const LEAST_MS = 180_000

/** The last 24 hours of a monitor as stretches, what lies on top last. */
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
    { kind: 'seen', from: at(since), until: 1, why: 'Seen' },
    ...coverage.unobserved_events.map((it) => {
      const from = Date.parse(it.at)
      const until = it.until === null ? from + LEAST_MS : Date.parse(it.until)
      return between('blind', Math.min(from, until), Math.max(from, until), gapReason(it.kind))
    }),
    ...coverage.gaps.map((it) => {
      const until = Date.parse(it.until ?? it.at)
      const from = it.from === null ? until : Date.parse(it.from)
      return between(it.healed_at === null ? 'gap' : 'healed', from, until, gapReason(it.reason))
    }),
  ]
}
