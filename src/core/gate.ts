/** What is let through: a monitor by its plan, an item by where its monitor begins, a match by its age. */
import type { Suppressed } from './envelope.ts'

/** What a customer's plan promises and bounds. */
export type Plan = {
  slots: number
  sitewide_slots: number
  cadence_s: number
  daily_deliveries: number
}

/** Ceiling suppressions that are stored per monitor and UTC day; the rest are only counted. */
export const CEILING_ROWS_A_DAY = 500

const DAY_MS = 86_400_000

/** The UTC day of an instant, as a number that grows by one a day. */
export const utcDay = (at: number): number => Math.floor(at / DAY_MS)

/** How often a monitor is promised to look: as asked, but never faster than the plan allows. */
export const effectiveCadence = (plan: Plan, requested_s: number | null): number =>
  Math.max(plan.cadence_s, requested_s ?? plan.cadence_s)

/** What of a plan is taken. */
export type Slots = { used: number; sitewide_used: number }

/** Whether a plan has room for one more; null when it has. `extra` is what the monitor would newly take. */
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

// The platform tells whole seconds, and its answers take a while: less than this is no difference between two clocks.
const CLOCKS_AGREE_MS = 1500

/**
 * Where a monitor begins: the second of the platform's clock in which it was created or resumed at `now` by ours.
 * `ahead_ms`: how far the platform's clock was seen to be ahead. What is not known for sure goes in favour of the
 * monitor: it may match what was created a second before it, and misses nothing that was created after it.
 */
export function beginningAt(now: number, ahead_ms: number): number {
  const sure_ms = Math.abs(ahead_ms) > CLOCKS_AGREE_MS ? ahead_ms - 500 : 0
  return Math.floor((now + sure_ms) / 1000) * 1000
}

/**
 * Whether an item lies ahead of where its monitor begins. The platform tells whole seconds only, so within the
 * second of a baseline item the ids decide: they grow.
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

/** Null for an item that was fresh when it was first seen; else why it is withheld. All instants by one clock. */
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
