import type { Fault } from '../core/base/result.ts'
import type { Item } from '../core/forum/items.ts'
import {
  advance,
  type FeedRow,
  markPinned,
  PAGES_MAX,
  type PollState,
  TRIES_MAX,
  type TruncationReason,
} from '../core/polling/cursor.ts'
import type { FeedKind } from '../core/polling/feed.ts'
import type { Watch } from '../gateway/watch.ts'
import type { Clock } from '../runtime/runtime.ts'

export type PollDeps = { watch: Watch; clock: Clock; signal: AbortSignal }

/** Ids of `ids` that the polled feeds have shown before. */
export type FindSeen = (ids: readonly string[]) => ReadonlySet<string>

/** Result of reading back page after page. */
export type FetchedPages = {
  state: PollState
  /** Every row of every page, by fullname, as first read. */
  items: ReadonlyMap<string, Item>
  ending:
    | { kind: 'complete' | 'empty' | 'stale' | 'stopping' }
    | { kind: 'truncated'; reason: TruncationReason }
    | { kind: 'fault'; fault: Fault }
}

/** Reads a listing page by page until the poll is complete or has to be truncated. */
export async function fetchPages(
  { watch, signal }: Pick<PollDeps, 'watch' | 'signal'>,
  feed: { kind: FeedKind; place: string },
  start: PollState,
  findSeen: FindSeen,
): Promise<FetchedPages> {
  const items = new Map<string, Item>()
  let state = start
  const end = (ending: FetchedPages['ending']): FetchedPages => ({ state, items, ending })

  for (let request = 0; request < PAGES_MAX * TRIES_MAX; request++) {
    const page = await watch.page(feed, { limit: state.limit, after: state.after }, signal)
    if (signal.aborted) return end({ kind: 'stopping' })
    if (!page.ok) {
      // Further pages were only for the gap of an earlier poll.
      if (state.complete) return end({ kind: 'complete' })
      // The client has already retried where a retry can help.
      return end({ kind: 'fault', fault: page.fault })
    }
    for (const item of page.value.rows) if (!items.has(item.name)) items.set(item.name, item)
    const { after } = page.value
    const seen = findSeen(page.value.rows.map(({ name }) => name))
    const step = advance(state, { rows: toRows(page.value.rows), after, seen })
    state = step.state
    // Rows that the platform held back may be newer than any that was read.
    if (page.value.partial === true && step.kind === 'complete')
      return end({ kind: 'truncated', reason: 'poll_overflow' })
    if (step.kind === 'truncated') return end({ kind: 'truncated', reason: step.reason })
    if (step.kind !== 'retry' && step.kind !== 'next_page') return end({ kind: step.kind })
  }
  return end(state.complete ? { kind: 'complete' } : { kind: 'truncated', reason: 'poll_overflow' })
}

/** Positions of items in a listing. */
export const toRows = (items: readonly Item[]): FeedRow[] =>
  markPinned(
    items.map((item) => ({
      id: item.name,
      created_at: item.created_utc * 1000,
      sticky: item.kind === 'post' && item.stickied,
    })),
  )
