import { RETRY_DELAYS_S, type Run, type Size } from './run.ts'

const DAY = 86_400_000
const WEEK = 7 * DAY
const STORED_MAX = 500
const LATENESS_MAX_MS = 2000
const TOLERANCE_MS = 300_000
const PAUSE_MAX_MS = 60_000

/** Figures of a run; those that count violations have to be 0. */
export function judge(it: Run, size: Size) {
  const chains = [...it.attempts.entries()]
  const all = chains.flatMap(([, seen]) => seen)
  const with_known_clock = all.filter(({ clock_known }) => clock_known)
  const wrong = {
    ...judgeRetries(it),
    signatures: with_known_clock.filter(
      ({ at, sent_s }) => Math.abs(sent_s * 1000 - at) > TOLERANCE_MS,
    ).length,
    ...ceiling(it, size),
    ...pauses(it, size),
    ...breaches(it),
  }
  const totals = {
    deliveries: chains.length,
    attempts: all.length,
    // Between a clock change and the next response of the platform the offset cannot be known.
    clock_unknown: all.length - with_known_clock.length,
    withheld: it.withheld,
  }
  return { wrong, shown: totals }
}

/**
 * By true time: no first attempt later than 2 s; no retry earlier than its delay, or later than its delay plus
 * 20 % plus 2 s.
 */
function judgeRetries({ attempts, committed, ended_at }: Run) {
  const found = { first_late: 0, retry_late: 0, retry_early: 0, never_sent: 0, never_retried: 0 }
  for (const [id, at] of committed) {
    const first = attempts.get(id)?.[0]
    if (first === undefined) found.never_sent++
    else if (first.at - at > LATENESS_MAX_MS) found.first_late++
  }
  for (const seen of attempts.values()) {
    const next_ms = (RETRY_DELAYS_S[seen.length] ?? Infinity) * 1000
    const last = seen.at(-1)
    if (last?.target === 'wh_dead' && last.at + next_ms * 1.2 + LATENESS_MAX_MS < ended_at)
      found.never_retried++
    for (const [n, { at }] of seen.entries()) {
      const before = seen[n - 1]
      if (before === undefined) continue
      const retry_delay_ms = (RETRY_DELAYS_S[n] ?? 0) * 1000
      if (at - before.at > retry_delay_ms * 1.2 + LATENESS_MAX_MS) found.retry_late++
      if (at - before.at < retry_delay_ms * 0.8 - LATENESS_MAX_MS) found.retry_early++
    }
  }
  return found
}

/**
 * On each full true day the number of created deliveries equals the ceiling, and each withheld match has one
 * stored row.
 */
function ceiling({ start, created, withheld, matches }: Run, { ceiling: most, busy_days }: Size) {
  const first = Math.ceil(start / DAY)
  const last = Math.floor(start / DAY + busy_days) - 1
  const days = Map.groupBy(created.values(), ({ day }) => day)
  const of = (day: number, reason: string | null) =>
    (days.get(day) ?? []).filter((it) => it.reason === reason).length
  const found = { created_in_a_day: 0, stored_in_a_day: 0, stale: 0, lost: 0, whole_days: 0 }
  for (const day of days.keys()) {
    const is_whole = day >= first && day <= last
    const [sent, stored] = [of(day, null), of(day, 'delivery_ceiling')]
    if (is_whole ? sent !== most : sent > most) found.created_in_a_day++
    if (is_whole ? stored !== STORED_MAX : stored > STORED_MAX) found.stored_in_a_day++
    found.stale += of(day, 'stale_item')
  }
  // A run without a full day proves nothing.
  found.whole_days = last - first + 1 >= 1 ? 0 : 1
  const sent = [...created.values()].filter(({ reason }) => reason === null).length
  found.lost = Math.abs(matches - sent - withheld)
  return found
}

const breaches = (it: Run): Record<string, number> =>
  Object.fromEntries(
    [...Map.groupBy(it.breaches, ({ invariant }) => `breach ${invariant}`)].map(([what, all]) => [
      what,
      all.length,
    ]),
  )

/** Webhooks are paused one week after their first permanent failure, to the minute, and no others are. */
function pauses({ attempts, paused_at }: Run, { days }: Size) {
  const failing = new Map<string, number>()
  for (const seen of attempts.values()) {
    const last = seen.at(-1)
    if (last === undefined) continue
    const is_final =
      last.target === 'wh_refusing' ||
      (last.target === 'wh_dead' && seen.length === RETRY_DELAYS_S.length)
    if (is_final) failing.set(last.target, Math.min(failing.get(last.target) ?? Infinity, last.at))
  }
  const found = { paused_wrongly: 0, paused_off: 0 }
  for (const target of paused_at.keys()) if (!failing.has(target)) found.paused_wrongly++
  if (days * DAY < WEEK) return { ...found, paused_off: paused_at.size }
  for (const target of ['wh_refusing', 'wh_dead']) {
    const at = (paused_at.get(target) ?? Infinity) - (failing.get(target) ?? 0)
    // Rows written a moment after the attempt began are measured from the attempt.
    if (!(at >= WEEK && at <= WEEK + PAUSE_MAX_MS)) found.paused_off++
  }
  return found
}
