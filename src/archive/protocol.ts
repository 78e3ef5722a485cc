import type { Naming } from '../core/forum/naming.ts'
import type { Backtest, BacktestResult } from '../store/archive/backtest.ts'
import type { ArchiveStats, ErasurePosition } from '../store/archive/erase.ts'
import type { QueuedItem } from '../store/archive/queue.ts'
import type { ArchiveFound, ArchiveSearch } from '../store/archive/search.ts'
import type { MatchMessage } from '../store/delivery/projections.ts'
import type { Tombstone } from '../store/erasure/kept-items.ts'

/** Input of the names of platform and community, because functions do not reach a thread. */
export type WordsInput = Pick<Naming, 'platform' | 'community' | 'default_source' | 'home'>

/** Work of the thread by its name: what it takes, and what it answers. */
export type ArchiveWork = {
  ingest: {
    takes: { queued: readonly QueuedItem[]; messages: readonly MatchMessage[] }
    gives: true
  }
  /** Erases what tombstones name, and moves the position; none: the position alone. */
  follow: { takes: { tombstones: readonly Tombstone[]; known_to: number }; gives: ErasurePosition }
  prune: { takes: { before_at: number; max_bytes: number; now: number }; gives: number }
  /** Scrubs the file if that is due; false: something was in the way. */
  scrub: { takes: { fd: number }; gives: boolean }
  search: { takes: ArchiveSearch & { budget_ms: number }; gives: ArchiveFound }
  backtest: { takes: Backtest & { budget_ms: number }; gives: BacktestResult }
  stats: { takes: object; gives: ArchiveStats }
}

export type WorkName = keyof ArchiveWork

/** A message to the thread: the first opens the archive, the last one ends the thread. */
export type ArchiveMessage =
  | { open: string; words: WordsInput }
  | { id: number; work: WorkName; input: unknown }
  | { close: true }

export type ArchiveReply =
  | { ready: true }
  | { id: number; gives: unknown }
  | { id: number; failed: string; code: string | null }
  | { closed: true }
