/**
 * Limits on monitors by their plan, on items by the start of their monitor, on matches by their
 * age.
 */
import type { Suppressed } from '../delivery/envelope.ts'

export type Plan = {
  slots: number
  sitewide_slots: number
  cadence_s: number
  daily_deliveries: number
}

/** Ceiling suppressions stored per monitor and UTC day; further ones are only counted. */
export const CEILING_ROWS_A_DAY = 500

const DAY_MS = 86_400_000

/** UTC day number of an instant. */
export const utcDay = (at: number): number => Math.floor(at / DAY_MS)

/** Guaranteed poll interval in seconds: as requested, but no shorter than the plan allows. */
export const effectiveCadence = (plan: Plan, requested_s: number | null): number =>
  Math.max(plan.cadence_s, requested_s ?? plan.cadence_s)

export type Slots = { used: number; sitewide_used: number }

/**
 * Checks a plan for room; null if there is room. `extra` is the additional demand of the monitor.
 */
export function judgeSlots(
  plan: Plan,
  taken: Slots,
  extra: Slots,
): { code: 'monitor_slots_exhausted' | 'sitewide_slots_exhausted'; limit: number } | null {
  if (extra.used > 0 && taken.used + extra.used > plan.slots)
    return { code: 'monitor_slots_exhausted', limit: plan.slots }
  if (extra.sitewide_used > 0 && taken.sitewide_used + extra.sitewide_used > plan.sitewide_slots)
    return { code: 'sitewide_slots_exhausted', limit: plan.sitewide_slots }
  return null
}

// Timestamps of the platform are whole seconds and its answers take a while: a smaller difference
// between the clocks is not significant.
const CLOCKS_AGREE_MS = 1500

/**
 * Start of a monitor: the second of the platform's clock in which it was created or resumed at `now` by
 * our clock. `ahead_ms`: minimum lead of the platform's clock. Uncertainty favours the monitor: it may
 * match items created a second before it, and misses none created after it.
 */
export function beginningAt(now: number, ahead_ms: number): number {
  return Math.floor((now + beginningAhead(ahead_ms)) / 1000) * 1000
}

/** Lead of the platform's clock at the start of a monitor, if the clocks differ by more than can be measured. */
export const beginningAhead = (ahead_ms: number): number =>
  Math.abs(ahead_ms) > CLOCKS_AGREE_MS ? ahead_ms - 500 : 0

/**
 * True for an item after the start of the monitor. Times are whole seconds, so within the second of
 * a baseline item the ids decide: they increase.
 */
export function isAhead(
  item: { name: string; created_at: number },
  { active_since, baseline_item_id }: { active_since: number; baseline_item_id: string | null },
): boolean {
  if (item.created_at !== active_since || baseline_item_id === null)
    return item.created_at >= active_since
  if (item.name.slice(0, 3) !== baseline_item_id.slice(0, 3)) return true
  return base36(item.name) > base36(baseline_item_id)
}

const base36 = (fullname: string): number => Number.parseInt(fullname.slice(3), 36)

/**
 * Null for an item that was fresh when first observed; else the reason of its suppression. All
 * instants by one clock.
 */
export function judgeFreshness(
  { created_at, first_seen_at }: { created_at: number; first_seen_at: number },
  freshness_ms: number,
): Suppressed | null {
  const age_ms = first_seen_at - created_at
  if (age_ms <= freshness_ms) return null
  return {
    reason: 'stale_item',
    oldest_age_s: Math.floor(age_ms / 1000),
    threshold_s: Math.floor(freshness_ms / 1000),
  }
}
