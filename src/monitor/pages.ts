import { createLru } from '../core/base/lru.ts'
import type { Fault } from '../core/base/result.ts'
import { compileQuery } from '../core/filter/match.ts'
import { parseQuery } from '../core/filter/query.ts'
import { SEARCH_FIELDS } from '../core/filter/text.ts'
import type { Item } from '../core/forum/items.ts'
import { isTooSilent, joinPlaces } from '../core/polling/batching.ts'
import {
  advance,
  backUp,
  type FeedRow,
  includesAny,
  markPinned,
  oldestAt,
  PAGES_MAX,
  type PollState,
  startPoll,
  TRIES_MAX,
  type TruncationReason,
} from '../core/polling/cursor.ts'
import type { FeedKind } from '../core/polling/feed.ts'
import type { Watch } from '../gateway/watch.ts'
import type { Clock } from '../runtime/runtime.ts'
import type { Feed } from '../store/monitoring/feeds.ts'
import type { BatchState, Extra, PollTarget } from '../store/monitoring/poll-batches.ts'

/** First instant after `now` at which the monitor loop checks for due feeds; Infinity: never. */
export type Schedule = (now: number) => number

export type PollEnd =
  | { kind: 'complete' }
  | { kind: 'truncated'; reason: TruncationReason; fault: string | null; retry_after_s: number }

/** Result of a check of one feed. Instants `*_at` by our clock, `seen_at` by the platform's clock. */
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

export type PollResult = {
  results: FeedResult[]
  /** Null for an individual poll, and where nothing of the batch poll counts. */
  batch_result: BatchResult | null
  /** Epoch at which an individual poll started. */
  epoch: number
}

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
  /** `ended_at` by the clock of the items. */
  seen_at: number
}

/** A poll that is not recorded as a check. `wait_s`: seconds until an identity may send again. */
export type Skipped = {
  why: 'stale_listing' | 'stopping' | 'over_budget' | 'throttled'
  wait_s: number
}

export type PollDeps = { watch: Watch; clock: Clock; signal: AbortSignal }

/** Ids of `ids` that the polled feeds have shown before. */
export type FindSeen = (ids: readonly string[]) => ReadonlySet<string>

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
      const before =
        state.pages > 0 && page.fault.kind === 'forbidden' ? backUp(state, false) : null
      if (before?.kind === 'retry') {
        ;({ state } = before)
        continue
      }
      // The client has already retried where a retry can help.
      return end({ kind: 'fault', fault: page.fault })
    }
    const { after, unlisted } = page.value
    for (const item of page.value.rows)
      if (!items.has(item.name) && unlisted?.has(item.name) !== true) items.set(item.name, item)
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

export const toRows = (items: readonly Item[]): FeedRow[] =>
  markPinned(
    items.map((item) => ({
      id: item.name,
      created_at: item.created_utc * 1000,
      sticky: item.kind === 'post' && item.stickied,
    })),
  )

type Test = (item: Item) => boolean

const CACHED_TESTS_MAX = 2000
const cached_tests = createLru<string, Test>(CACHED_TESTS_MAX)

// Accents are ignored: the platform may match with or without them, and so may a filter that folds them.
const MATCH_OPTIONS = { search_in: SEARCH_FIELDS, view: 1, substring: true } as const

/**
 * True if a search expression may find an item. Expressions have the syntax of `q`, so the same parser reads them. Wide
 * rather than narrow: parts of words count anywhere. An unreadable expression finds everything, so that one customer's
 * filter does not keep a batch from being split.
 */
export function belongsTo(expression: string, item: Item): boolean {
  let test = cached_tests.get(expression)
  if (test === undefined) cached_tests.set(expression, (test = testOf(expression)))
  return test(item)
}

function testOf(expression: string): Test {
  try {
    return compileQuery(parseQuery(expression), MATCH_OPTIONS)
  } catch {
    return () => true
  }
}

// Feeds stay one for each place, in the store and in health; only requests are shared. So the rows of a batch poll are
// split: each member gets its own rows as if it had been polled individually, and is verified by its own known rows. A
// member without them is polled individually next.

/** The listing that shows the rows of all these feeds. */
export function feedOf(targets: readonly Pick<PollTarget, 'stream'>[]): {
  kind: FeedKind
  place: string
} {
  const kind = targets[0]?.stream.kind ?? 'posts'
  return {
    kind,
    place: joinPlaces(
      kind,
      targets.map(({ stream }) => stream.place),
    ),
  }
}

type PolledBatch = {
  targets: readonly PollTarget[]
  /** Members polled with the others although they are out of sync. */
  extras: readonly Extra[]
  batch: BatchState
  state: PollState
  items: ReadonlyMap<string, Item>
  at: Pick<FeedResult, 'started_at' | 'ended_at' | 'seen_at'>
  /** True: the poll reached the batch's checkpoint and every backfill limit. */
  complete: boolean
}

/**
 * The result of a batch poll for each member that it proves something about. A merged listing leaves places out
 * without a sign, so a member is proven by its own rows only: with new rows and none of its known ones it is polled
 * individually. A member without rows keeps its state; audits decide how complete it is.
 */
export function splitBatch(polled: PolledBatch): PollResult {
  const { targets, extras, batch, state, items, at, complete } = polled
  const results: FeedResult[] = []
  const unproven: number[] = []
  const resynced: Feed[] = []
  const rows = itemsByFeed([...targets, ...extras], items)
  const read_to = oldestAt(state.rows)
  const seen = state.seen ?? new Set<string>()
  const evidenceFor = (stream: Feed, mine: ReadonlyMap<string, Item>) => {
    const own = toRows([...mine.values()])
    if (own.length === 0) return isMissing(stream, read_to, at.ended_at) ? 'missing' : 'quiet'
    if (includesAny(own, stream.checkpoint?.anchor_ids ?? [])) return 'overlapped'
    return own.every(({ id, sticky }) => sticky || seen.has(id)) ? 'quiet' : 'unproven'
  }
  for (const { stream, backfill_since } of targets) {
    const mine = rows.get(stream.id) ?? new Map<string, Item>()
    const is = evidenceFor(stream, mine)
    const proven = is === 'overlapped' || (is === 'quiet' && complete && batch.checkpoint !== null)
    // Where a monitor starts, or the batch stopped short, only the feed's own known rows tell how far it was read.
    if (!proven || (backfill_since !== null && (is !== 'overlapped' || !complete)))
      unproven.push(stream.id)
    else results.push(resultOf({ stream, backfill_since }, polled, mine))
  }
  // An extra that is not proven stays as it was: it is polled individually when that is due.
  for (const { stream, in_sync } of extras) {
    const mine = rows.get(stream.id) ?? new Map<string, Item>()
    const is = evidenceFor(stream, mine)
    if (!complete || !(is === 'overlapped' || (is === 'quiet' && in_sync))) continue
    results.push(resultOf({ stream, backfill_since: null }, polled, mine))
    resynced.push(stream)
  }
  const { started_at, ended_at, seen_at } = at
  return {
    results,
    batch_result: { batch, state, unproven, resynced, started_at, ended_at, seen_at },
    epoch: 0,
  }
}

/** Result of a member, as if it had been polled individually. */
function resultOf(
  { stream, backfill_since }: Pick<PollTarget, 'stream' | 'backfill_since'>,
  { state, at }: PolledBatch,
  items: ReadonlyMap<string, Item>,
): FeedResult {
  const own = {
    ...startPoll({ checkpoint: stream.checkpoint, backfill_since, accept_stale: false }),
    rows: toRows([...items.values()]),
    pages: state.pages,
    overlapped: true,
    complete: true,
  }
  return {
    stream,
    state: own,
    items,
    ending: { kind: 'complete' },
    audit: null,
    gap_id: null,
    ...at,
  }
}

/** Rows by feed. A row of a search may belong to several members. */
function itemsByFeed(
  targets: readonly Pick<PollTarget, 'stream'>[],
  items: ReadonlyMap<string, Item>,
): Map<number, Map<string, Item>> {
  const found = new Map<number, Map<string, Item>>()
  const give = ({ id }: Feed, item: Item) => {
    const mine = found.get(id) ?? new Map<string, Item>()
    found.set(id, mine.set(item.name, item))
  }
  const by_place = new Map(targets.map(({ stream }) => [stream.place, stream]))
  for (const item of items.values()) {
    const stream = by_place.get(item.subforum.toLowerCase())
    if (stream !== undefined && stream.kind !== 'search') give(stream, item)
    else
      for (const it of targets)
        if (it.stream.kind === 'search' && belongsTo(it.stream.place, item)) give(it.stream, item)
  }
  return found
}

/**
 * True for a place without rows that may have been closed: a merged listing leaves it out without a sign. Its newest row
 * should be listed here, or it has been silent for longer than chance explains.
 */
const isMissing = (
  { last_item_seen_at, newest_item_at, peak_rate_per_s }: Feed,
  read_to: number | null,
  now: number,
): boolean =>
  (newest_item_at !== null && read_to !== null && newest_item_at > read_to) ||
  last_item_seen_at === null ||
  isTooSilent(now - last_item_seen_at, peak_rate_per_s)
