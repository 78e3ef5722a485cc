import type { Item } from '../forum/items.ts'
import type { Ids } from './coverage.ts'
import type { Checkpoint, FeedRow, TruncationReason } from './cursor.ts'
import type { FeedKind } from './feed.ts'

/** Position of a listing. Instants by the clock of its items. */
export type ListingState = {
  /** Null until a poll has finished. */
  checkpoint: Checkpoint | null
  /** The last time at which any row was seen, and the creation of the newest. */
  item_seen_at: number | null
  newest_at: number | null
  /** Epoch of the last complete poll of the feed alone. */
  covered_epoch: number
  audits: number
  /** Requests of an audit, smoothed. */
  audit_pages: number
  /** Start of what no poll has reached since, null: unknown; absent: nothing is open. */
  open?: { from_at: number | null } | undefined
  /** Polls in a row that have found the listing empty. */
  empties: number
}

export const NEW_LISTING: ListingState = {
  checkpoint: null,
  item_seen_at: null,
  newest_at: null,
  covered_epoch: 0,
  audits: 0,
  audit_pages: 1,
  empties: 0,
}

/** What is polled of a source: a listing of a place, or all that it has by their ids. */
export type Feed = {
  id: number
  key: string
  source: string
  kind: FeedKind
  place: string
  interval_s: number
  /** The fastest cadence of its monitors, seconds. */
  requested_interval_s: number
  /** Slow-down by throttling: 1 is none. */
  backoff_factor: number
  /** True: no active monitor watches it, and it is not polled. */
  asleep: boolean
  /** JSON of its position; null before the first poll. A step from another position is discarded. */
  state: string | null
  next_seq: number
  last_check_at: number | null
  /** The same by the clock of the items: ours may be set while the daemon is stopped. */
  last_seen_at: number | null
  last_fault: string | null
  /** New items a second: recently, and in its busiest hours. */
  rate_per_s: number | null
  peak_rate_per_s: number | null
  created_at: number
  poll_batch_id: number | null
  /** Epoch of the poll of its batch that covered it last. */
  synced_epoch: number
  /** Seconds between two audits, and the start of the last complete one (epoch ms, our clock). */
  audit_interval_s: number
  audited_at: number | null
  /** Null: it has no audits. */
  audit_due_at: number | null
  /** Start and end of the unbroken range of creation times that are verified; null: none yet. */
  audited_from: number | null
  audited_until: number | null
  /** Largest recent delay between creation and first sight of a row found behind the checkpoint, ms. */
  lateness_ms: number
}

/** Creation times that a poll has not observed, or ids that it has not read. */
export type Hole = {
  reason: TruncationReason | 'ids_went_back' | 'skipped' | 'unanswered'
  /** Null: unknown. */
  from_at: number | null
  /** Null: until the next poll that reaches the checkpoint. */
  until_at: number | null
  recorded_at: number
  /** Ids that are read again later; absent: their times alone are known. */
  ids?: Ids
  /** The checkpoint that was not reached. */
  anchor_ids?: readonly string[]
  /** What the number of missed items is estimated from; absent: it is not known. */
  evidence?: {
    rows: readonly FeedRow[]
    until_at: number
    read_at: number
    polled_at: number | null
  }
}

/** `unanswered`: requested, and had no item. `skipped`: passed without a request. */
export type IdGapReason = 'unanswered' | 'skipped'

/** An open gap of ids. Epoch ms by our clock, `until_at` by that of the items. */
export type IdGap = Ids & {
  id: number
  reason: IdGapReason
  /** Number of ids; less than the range has, if gaps were joined. */
  missed_estimate: number
  until_at: number
  recorded_at: number
  close_attempts: number
  /** Null: its patience is over. */
  retry_at: number | null
}

/** Result of a request for the ids of a gap: those without an item, and those that were not read and are due at `rest_at`. */
export type Settled = {
  gap: IdGap
  unanswered: readonly number[]
  behind: Ids | null
  rest_at: number
}

/** What one poll of a feed has read and shown: all that is recorded of it. Instants by our clock unless stated. */
export type Step = {
  /** The feed as it was when the poll began. */
  feed: Feed
  /** New items and known ones, oldest first. */
  items: readonly Item[]
  /** The feed's state afterwards. */
  state: string | null
  started_at: number
  ended_at: number
  /** `ended_at` by the clock of the items. */
  seen_at: number
  /** Milliseconds by which the clock of the items is behind that of the monitors' starts. */
  behind_ms: number
  requests: number
  /** The next poll by the source's own rhythm; null: by the pace of the monitors. */
  next_at: number | null
  /** Why it ended early; null: it did not. */
  cut: { reason: TruncationReason; fault: string | null; retry_after_s: number } | null
  /** False: the feed was not looked at, or its last look stays the one that counts. */
  is_look: boolean
  /** Items read back to: monitors that start from here on take known ones too; null: only new ones. */
  begins_since: number | null
  /** True when these monitors have begun by it. */
  has_begun: boolean
  /** Known items that may match now, beside those that have changed. */
  again: 'none' | 'edited' | 'all'
  /** Names of items that came after the start of every monitor that does not begin: their time does not count. */
  arrived: readonly string[]
  /** Names of those that were known to exist and not public: new ones are as old as this step. */
  published: readonly string[]
  /** Names of known items that were deleted or removed. */
  gone: readonly string[]
  holes: readonly Hole[]
  /** True: the gaps that were open are closed. */
  closes: boolean
  /** Ids that had an item after all. */
  answered: readonly number[]
  settled: Settled | null
  /** Creation times of which everything was read; null: none. */
  verified: { from: number; until: number } | null
  /** A stored proof was later than the clock, and was lowered. */
  is_lowered: boolean
  went_back: boolean
  /** An earlier poll that could not be recorded when it ended; null: none. */
  unwritten: Unwritten | null
  /** Facts of a listing; null: the source is read by its ids. */
  listing: ListingStep | null
}

/** A check that could not be recorded when it ended: its time and the reason. */
export type Unwritten = { at: number; kind: 'storage_full' | 'poll_log_failed' }

type ListingStep = {
  is_audit: boolean
  /** True: polled by itself. */
  is_alone: boolean
  /** True: it has read back for a new monitor or for a gap, so that old items are new to it. */
  reads_back: boolean
  /** Rows in the order of the source. */
  rows: readonly FeedRow[]
  /** The gap that was read back to, and whether it was found; null: none. */
  gap: { id: number; is_closed: boolean } | null
}

/** Plain values of a step: everything was read, and nothing else is to be said. */
export const PLAIN_STEP = {
  behind_ms: 0,
  next_at: null,
  cut: null,
  is_look: true,
  begins_since: null,
  has_begun: false,
  again: 'none',
  arrived: [],
  published: [],
  gone: [],
  holes: [],
  closes: false,
  answered: [],
  settled: null,
  verified: null,
  is_lowered: false,
  went_back: false,
  unwritten: null,
  listing: null,
} as const satisfies Partial<Step>

/** Feeds that were polled with one request. */
export type BatchAdvance = {
  id: number
  /** The position of the merged listing. */
  checkpoint: Checkpoint
  /** Members without rows, and with nothing to change in their state. */
  quiet: readonly Feed[]
  /** Members that the poll does not verify and that are polled individually next. */
  unproven: readonly number[]
  /** Members that were out of sync and are in sync again. */
  resynced: readonly Feed[]
  started_at: number
  ended_at: number
  seen_at: number
}

export type Advance = {
  steps: readonly Step[]
  /** Null: feeds that were polled by themselves, or nothing of the batch counts. */
  batch: BatchAdvance | null
}

/** A poll that is not recorded as a check. `wait_s`: seconds until an identity may send again. */
export type Skipped = {
  why: 'stale_listing' | 'stopping' | 'over_budget' | 'throttled'
  wait_s: number
}

/** Facts of a feed of listings that tell how far a poll of it reads. */
export type Target = {
  feed: Feed
  /** Earliest creation time that monitors starting here want, epoch ms; null when none starts. */
  backfill_since: number | null
  /** The gap of an earlier check that this poll tries to close; null when there is none. */
  open_gap: { gap_id: number; anchor_ids: readonly string[] } | null
  audit: boolean
}

export type BatchState = {
  id: number
  kind: FeedKind
  checkpoint: Checkpoint | null
  epoch: number
}

/** A member that was out of sync when the batch poll started. `in_sync`: it is in sync by now. */
export type Extra = { feed: Feed; in_sync: boolean }

/**
 * One poll of a feed, or of several in one request. `extras`: members out of sync, polled along at no cost, which may
 * get in sync again. `epoch`: its start, in epoch order.
 */
export type PollJob = {
  targets: Target[]
  extras: Target[]
  batch: BatchState | null
  epoch: number
}
