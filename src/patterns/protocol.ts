/** A part of a task, small enough to be answered soon. Each entry of `texts` holds the fields of one item. */
export type Slice = {
  patterns: readonly string[]
  case_sensitive: boolean
  texts: readonly (readonly string[])[]
  /** The first of the patterns to try on the first entry; those before it did not match. */
  from_pattern: number
  /** False: the patterns are compiled for this slice alone and do not displace others. */
  keep: boolean
}

/** The evaluated part of a slice. `indexes`: of the entries that are finished, the first pattern that matched, or -1. */
export type SliceResult = {
  indexes: number[]
  /** The next pattern of the entry after those. */
  next_pattern: number
  cpu_ms: number
}

type CostQuery = { pattern: string; case_sensitive: boolean }
type CostResult = { cost_ms: number; cpu_ms: number }

export type ThreadRequest = { slice: Slice } | { cost: CostQuery }
/** A reply of the thread; `ready` is sent once, at its start. */
export type ThreadReply = { ready: true } | SliceResult | CostResult | { failed: string }
