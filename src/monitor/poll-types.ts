import type { Item } from '../core/forum/items.ts'
import type { PollState, TruncationReason } from '../core/polling/cursor.ts'
import type { Feed } from '../store/monitoring/feeds.ts'
import type { BatchState } from '../store/monitoring/poll-batches.ts'

/** First instant after `now` at which the monitor loop checks for due feeds; Infinity: never. */
export type Schedule = (now: number) => number

/** End of a check. */
export type PollEnd =
  | { kind: 'complete' }
  | { kind: 'truncated'; reason: TruncationReason; fault: string | null; retry_after_s: number }

/** Result of a check of one feed. Instants `*_at` by our clock, `seen_at` by the item clock. */
export type FeedResult = {
  stream: Feed
  state: PollState
  items: ReadonlyMap<string, Item>
  ending: PollEnd
  /** Start of the audit by the platform's clock; null: no audit. */
  audit: { started_at: number } | null
  /** The gap that was read back to; null: none. */
  gap_id: number | null
  started_at: number
  ended_at: number
  seen_at: number
}

/** Result of a poll: of each feed, and of the batch. */
export type PollResult = {
  results: FeedResult[]
  /** Null for an individual poll, and where nothing of the batch poll counts. */
  batch_result: BatchResult | null
  /** Epoch at which an individual poll started. */
  epoch: number
}

/** State that a batch poll leaves for the next one. */
export type BatchResult = {
  batch: BatchState
  /** Rows of all members; null: none, and the batch loses its anchors. */
  state: PollState | null
  /** Members that the poll does not verify and that are polled individually next. */
  unproven: number[]
  /** Members that were out of sync and are in sync again. */
  resynced: Feed[]
  started_at: number
  ended_at: number
}

/** A poll that is not recorded as a check. `wait_s`: seconds until an identity may send again. */
export type Skipped = {
  why: 'stale_listing' | 'stopping' | 'over_budget' | 'throttled'
  wait_s: number
}
