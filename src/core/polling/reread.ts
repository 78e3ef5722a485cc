import type { Ids } from './coverage.ts'

// Where a source lists items again under the id that they had, recent ids are read again in two passes that take turns:
// one over the newest, since most items that come late or are edited are minutes old, and one over those of a day.

/** A pass over recent ids for items that were listed late or have changed. */
export type Pass = {
  rereads: number
  reread_at: number | null
  rest: Ids | null
  /** Instant since which ids are read again; null: from the start of the feed. */
  reread_depth: number | null
}

/** The highest proven ids of the last day, and the present pass over them. */
export type Recent = Pass & {
  heads: [at: number, id: number][]
  proven_from: number | null
  proven_to: number | null
}

/** Pass over the newest ids of a feed: the rest of the present one, and when it began. Begins again with a restart. */
export type NearPass = {
  rest: Ids | null
  at: number
  /** It has its turn before the pass over older ids, if both have ids left. */
  is_next: boolean
}

/** From the start of a pass over older ids to the next. */
const PASS_EVERY_MS = 5 * 60_000
const PASS_DEPTH_MS = 3_600_000
const NEAR_EVERY_MS = 30_000
const NEAR_DEPTH_MS = 10 * 60_000
const NEAR_IDS = 500

/** The ids of the pass over the newest; begins one that is due. Null: none is. */
export function nextNear(
  { proven_from, proven_to, heads }: Recent,
  pass: NearPass,
  now: number,
): Ids | null {
  if (pass.rest !== null) return pass.rest
  if (proven_from === null || proven_to === null || now - pass.at < NEAR_EVERY_MS) return null
  const before = heads.findLast(([at]) => at <= now - NEAR_DEPTH_MS)
  const from_id = Math.max(proven_from, before?.[1] ?? 0, proven_to - NEAR_IDS + 1)
  pass.rest = { from_id, to_id: proven_to }
  pass.at = now
  return pass.rest
}

/**
 * The next pass over older ids; null: none is due. Every second one goes back twice as far as an hour, every fourth one
 * four times, up to the age at which items are listed late.
 */
export function nextPass(
  { proven_from, proven_to, rereads, reread_at, heads }: Recent,
  { relisted_ms, now }: { relisted_ms: number; now: number },
): Pass | null {
  if (proven_from === null || proven_to === null) return null
  if (reread_at !== null && now - reread_at < PASS_EVERY_MS) return null
  const next = rereads + 1
  const depth_ms = Math.min(relisted_ms, PASS_DEPTH_MS * (next & -next))
  const before = heads.findLast(([at]) => at <= now - depth_ms)
  return {
    rereads: next,
    reread_at: now,
    rest: { from_id: Math.max(proven_from, before?.[1] ?? proven_from), to_id: proven_to },
    reread_depth: before?.[0] ?? null,
  }
}
