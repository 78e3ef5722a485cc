/**
 * The walker of feeds that a source lists by time: reads pages until it has what a poll, a first poll or an audit wants,
 * and splits what a merged listing shows. It knows the state of the feeds and what it asks for, and stores nothing.
 */
import { createLru } from '../base/lru.ts'
import { type Fault, faultText, type Outcome } from '../base/result.ts'
import { compileQuery } from '../filter/match.ts'
import { parseQuery } from '../filter/query.ts'
import { markdownOf, SEARCH_FIELDS } from '../filter/text.ts'
import type { Item, Page } from '../forum/items.ts'
import { auditSince } from './audit.ts'
import { isTooSilent, joinPlaces } from './batching.ts'
import {
  type AccessRefusal,
  accessRefusal,
  advance,
  AUDIT_ROWS_MAX,
  backUp,
  type Checkpoint,
  type FeedRow,
  includesAny,
  markPinned,
  newestAt,
  nextCheckpoint,
  oldestAt,
  PAGES_MAX,
  type PollState,
  readsNothing,
  startPoll,
  TRIES_MAX,
  type TruncationReason,
} from './cursor.ts'
import type { FeedKind } from './feed.ts'
import { gapOf } from './gap.ts'
import {
  type Advance,
  type BatchState,
  type Extra,
  type Feed,
  type Hole,
  type ListingState,
  NEW_LISTING,
  PLAIN_STEP,
  type PollJob,
  type Skipped,
  type Step,
  type Target,
  type Unwritten,
} from './step.ts'

export type FeedPage = Page<Item> & { partial?: boolean; unlisted?: ReadonlySet<string> }

/** Result of checking a target. `why` is the platform's reason; null if it gave none. */
export type PlaceVerdict =
  { kind: 'exists' | 'reserved' | 'unverified' } | { kind: 'refused'; why: string | null }

/** What the walker asks of the source, and of what is stored. */
export type Ask = {
  /**
   * One page of a feed, newest first; `partial` if there are items that no further page will show. `unlisted`: rows of a
   * profile that the lists of their places do not show.
   */
  page(
    feed: { kind: FeedKind; place: string },
    paging: { limit: number; after: string | null },
  ): Promise<Outcome<FeedPage>>
  place(name: string): Promise<PlaceVerdict>
  /** Those of these items that exist and are visible to others. */
  present(fullnames: readonly string[]): Promise<Outcome<string[]>>
  refetch(fullnames: readonly string[]): Promise<Outcome<Item[]>>
  /** Ids among these that polls of these feeds have shown. */
  known(feed_ids: readonly number[], ids: readonly string[]): ReadonlySet<string>
  /** Members that were out of sync, as they are now, without those that left the batch. */
  reload(feed_ids: readonly number[], batch: BatchState): Extra[]
  now(): number
  /** Milliseconds by which the clock of the items is ahead: as measured, and as it may be at least. */
  ahead_ms(): number
  earliest_ms(): number
  /** The highest age of the last answers in caches. */
  copy_ms(): number
  signal: AbortSignal
}

// An old copy that is served for longer than this many intervals is accepted. Nothing is lost: the checkpoint only moves
// to rows that were read, and old anchors stay.
const STALE_INTERVALS_MAX = 2.5
/** Polls read past the checkpoint by the lateness seen, within this bound; audits find what is later. */
const LATE_READ_MAX_MS = 10_000
/** Newest rows of a checkpoint that are looked up by id when their listing is empty. */
const EVIDENCE_MAX = 3
/** Checks in a row that confirm an empty listing, after which it counts as empty. */
const EMPTY_CONFIRMATIONS = 10
/** An item created shortly before a check may not have been listed for it yet. */
const VISIBILITY_LAG_MS = 60_000

export function listingOf({ state }: Pick<Feed, 'state'>): ListingState {
  if (state === null) return NEW_LISTING
  const listing: ListingState = JSON.parse(state)
  return listing
}

type End =
  | { kind: 'complete' }
  | { kind: 'cut'; reason: TruncationReason; fault: string | null; retry_after_s: number }

type Times = Pick<Step, 'started_at' | 'ended_at' | 'seen_at'>

/** Polls a feed or a batch once. `unwritten`: polls of these feeds that ended and were not recorded. */
export async function walkListing(
  ask: Ask,
  { targets, extras, batch, epoch }: PollJob,
  unwritten: ReadonlyMap<number, Unwritten> = new Map(),
): Promise<Advance | Skipped> {
  if (batch !== null) return walkBatch(ask, { targets, extras, batch }, unwritten)
  const [only] = targets
  if (only === undefined) return { why: 'stopping', wait_s: 0 }
  const step = await walkOne(ask, only, epoch, unwritten.get(only.feed.id))
  return 'why' in step ? step : { steps: [step], batch: null }
}

async function walkOne(
  ask: Ask,
  { feed, backfill_since, open_gap, audit: is_audit }: Target,
  epoch: number,
  unwritten: Unwritten | undefined,
): Promise<Step | Skipped> {
  const before = listingOf(feed)
  const started_at = ask.now()
  // The earlier of two plausible clocks: the verified range must not claim more than was read.
  const source_now = Math.round(started_at + ask.earliest_ms())
  const start = startPoll({
    checkpoint: before.checkpoint,
    backfill_since,
    accept_stale: acceptsStale(feed, started_at),
    gap_ids: open_gap?.anchor_ids ?? null,
    late_since: lateSince(before, feed),
    audit_since: is_audit ? auditSince({ ...feed, audits: before.audits }, source_now) : null,
    kind: feed.kind,
  })
  const { state, items, ending } = await fetchPages(ask, feed, [feed.id], start)
  const audit_from = source_now - ask.copy_ms()
  const toStep = (end: End): Step => {
    const ended_at = ask.now()
    return stepOf({
      feed,
      before,
      state,
      items,
      end,
      epoch,
      unwritten,
      audit: is_audit ? { started_at: audit_from } : null,
      gap_id: open_gap?.gap_id ?? null,
      is_alone: true,
      at: { started_at, ended_at, seen_at: ended_at + ask.ahead_ms() },
    })
  }
  switch (ending.kind) {
    case 'complete':
      return toStep({ kind: 'complete' })
    case 'truncated':
      return toStep(cut(ending.reason))
    case 'empty':
      return toStep(await explainEmpty(ask, feed, before.checkpoint))
    case 'fault':
      return skippedBy(ending.fault, state.pages) ?? toStep(faultEnd(ending.fault))
    case 'stale':
      return { why: 'stale_listing', wait_s: 0 }
    case 'stopping':
      return { why: 'stopping', wait_s: 0 }
  }
}

function acceptsStale({ last_check_at, interval_s }: Feed, now: number): boolean {
  const silent_ms = last_check_at === null ? 0 : now - last_check_at
  return silent_ms > STALE_INTERVALS_MAX * interval_s * 1000
}

const lateSince = ({ checkpoint }: ListingState, { lateness_ms }: Feed): number | null =>
  checkpoint?.checkpoint_at == null || lateness_ms === 0
    ? null
    : checkpoint.checkpoint_at - Math.min(lateness_ms, LATE_READ_MAX_MS)

// Feeds stay one for each place, in the store and in health; only requests are shared. So the rows of a batch poll are
// split: each member gets its own rows as if it had been polled individually, and is verified by its own known rows. A
// member without them is polled individually next.

async function walkBatch(
  ask: Ask,
  { targets, extras, batch }: Pick<PollJob, 'targets' | 'extras'> & { batch: BatchState },
  unwritten: ReadonlyMap<number, Unwritten>,
): Promise<Advance | Skipped> {
  const started_at = ask.now()
  const limits = targets.flatMap(({ backfill_since }) => backfill_since ?? [])
  const start = startPoll({
    checkpoint: batch.checkpoint,
    backfill_since: limits.length === 0 ? null : Math.min(...limits),
    accept_stale: targets.every(({ feed }) => acceptsStale(feed, started_at)),
    kind: batch.kind,
  })
  const members = [...targets, ...extras].map(({ feed }) => feed)
  const merged = {
    kind: batch.kind,
    place: joinPlaces(
      batch.kind,
      members.map((it) => it.place),
    ),
  }
  const feed_ids = members.map(({ id }) => id)
  const { state, items, ending } = await fetchPages(ask, merged, feed_ids, start)
  const ended_at = ask.now()
  const at = { started_at, ended_at, seen_at: ended_at + ask.ahead_ms() }
  const nothing: Advance = {
    steps: [],
    batch: {
      ...at,
      id: batch.id,
      checkpoint: emptied(batch.checkpoint),
      quiet: [],
      unproven: targets.map(({ feed }) => feed.id),
      resynced: [],
    },
  }
  switch (ending.kind) {
    case 'complete':
    case 'truncated':
      return splitBatch(
        {
          targets,
          // Some were polled individually meanwhile and are in sync now.
          extras: ask.reload(
            extras.map(({ feed }) => feed.id),
            batch,
          ),
          batch,
          state,
          items,
          at,
          complete: ending.kind === 'complete',
        },
        unwritten,
      )
    case 'empty':
      return nothing
    case 'fault': {
      // The platform does not say which member is refused.
      if (ending.fault.kind === 'forbidden' || ending.fault.kind === 'not_found') return nothing
      // Nothing of a failed batch poll is recorded, not even the pages it had read.
      const skipped = skippedBy(ending.fault, 0)
      if (skipped !== null) return skipped
      const steps = targets.map((target) => {
        const own = ownStart(target)
        const end = faultEnd(ending.fault)
        const facts = { ...target, at, end, items: new Map<string, Item>(), epoch: null }
        return stepOf({
          ...facts,
          ...own,
          unwritten: unwritten.get(target.feed.id),
          is_alone: true,
        })
      })
      return { steps, batch: null }
    }
    case 'stale':
      return { why: 'stale_listing', wait_s: 0 }
    case 'stopping':
      return { why: 'stopping', wait_s: 0 }
  }
}

const emptied = (checkpoint: Checkpoint | null): Checkpoint => ({
  anchor_ids: [],
  checkpoint_at: checkpoint?.checkpoint_at ?? null,
})

/** A poll of a member, as if it were polled individually. */
function ownStart({ feed, backfill_since }: Pick<Target, 'feed' | 'backfill_since'>) {
  const before = listingOf(feed)
  const { checkpoint } = before
  const state = startPoll({ checkpoint, backfill_since, accept_stale: false })
  return { before, state, audit: null, gap_id: null }
}

type PolledBatch = {
  targets: readonly Target[]
  /** Members polled with the others although they are out of sync. */
  extras: readonly Extra[]
  batch: BatchState
  state: PollState
  items: ReadonlyMap<string, Item>
  at: Times
  /** True: the poll reached the batch's checkpoint and every backfill limit. */
  complete: boolean
}

const NO_ITEMS: ReadonlyMap<string, Item> = new Map()

/**
 * The step of each member that a batch poll proves something about. A merged listing leaves places out without a sign,
 * so a member is proven by its own rows only: with new rows and none of its known ones it is polled individually. A
 * member without rows keeps its state; audits decide how complete it is.
 */
export function splitBatch(
  { targets, extras, batch, state, items, at, complete }: PolledBatch,
  unwritten: ReadonlyMap<number, Unwritten> = new Map(),
): Advance {
  const steps: Step[] = []
  const quiet: Feed[] = []
  const unproven: number[] = []
  const resynced: Feed[] = []
  const rows = itemsByFeed(
    [...targets, ...extras].map(({ feed }) => feed),
    items,
  )
  const read_to = oldestAt(state.rows)
  const seen = state.seen ?? new Set<string>()
  const evidenceFor = (feed: Feed, mine: ReadonlyMap<string, Item>) => {
    const own = toRows([...mine.values()])
    const { checkpoint, ...before } = listingOf(feed)
    if (own.length === 0) return isMissing(feed, before, read_to, at.seen_at) ? 'missing' : 'quiet'
    if (includesAny(own, checkpoint?.anchor_ids ?? [])) return 'overlapped'
    return own.every(({ id, sticky }) => sticky || seen.has(id)) ? 'quiet' : 'unproven'
  }
  const add = (member: Pick<Target, 'feed' | 'backfill_since'>, mine: typeof items): void => {
    const { feed, backfill_since } = member
    if (mine.size === 0 && backfill_since === null && !unwritten.has(feed.id)) quiet.push(feed)
    else steps.push(memberStep(member, mine, { at, pages: state.pages, unwritten }))
  }
  for (const { feed, backfill_since } of targets) {
    const mine = rows.get(feed.id) ?? NO_ITEMS
    const is = evidenceFor(feed, mine)
    const proven = is === 'overlapped' || (is === 'quiet' && complete && batch.checkpoint !== null)
    // Where a monitor starts, or the batch stopped short, only the feed's own known rows tell how far it was read.
    if (!proven || (backfill_since !== null && (is !== 'overlapped' || !complete)))
      unproven.push(feed.id)
    else add({ feed, backfill_since }, mine)
  }
  // An extra that is not proven stays as it was: it is polled individually when that is due.
  for (const { feed, in_sync } of extras) {
    const mine = rows.get(feed.id) ?? NO_ITEMS
    const is = evidenceFor(feed, mine)
    if (!complete || !(is === 'overlapped' || (is === 'quiet' && in_sync))) continue
    add({ feed, backfill_since: null }, mine)
    resynced.push(feed)
  }
  const checkpoint = nextCheckpoint(state, state.overlapped)
  return { steps, batch: { ...at, id: batch.id, checkpoint, quiet, unproven, resynced } }
}

function memberStep(
  member: Pick<Target, 'feed' | 'backfill_since'>,
  items: ReadonlyMap<string, Item>,
  {
    at,
    pages,
    unwritten,
  }: { at: Times; pages: number; unwritten?: ReadonlyMap<number, Unwritten> },
): Step {
  const { state, ...own } = ownStart(member)
  const { feed } = member
  return stepOf({
    ...own,
    feed,
    state: {
      ...state,
      rows: toRows([...items.values()]),
      pages,
      overlapped: true,
      complete: true,
    },
    items,
    end: { kind: 'complete' },
    epoch: null,
    unwritten: unwritten?.get(feed.id),
    is_alone: false,
    at,
  })
}

/** The step of a member without rows, for a poll at which more than its times changes. */
export const quietStep = (feed: Feed, at: Times): Step =>
  memberStep({ feed, backfill_since: null }, NO_ITEMS, { at, pages: 1 })

/** Rows by feed. A row of a search may belong to several members. */
function itemsByFeed(
  feeds: readonly Feed[],
  items: ReadonlyMap<string, Item>,
): Map<number, Map<string, Item>> {
  const found = new Map<number, Map<string, Item>>()
  const give = ({ id }: Feed, item: Item) => {
    const mine = found.get(id) ?? new Map<string, Item>()
    found.set(id, mine.set(item.name, item))
  }
  const by_place = new Map(feeds.map((it) => [it.place, it]))
  for (const item of items.values()) {
    const feed = by_place.get(item.subforum.toLowerCase())
    if (feed !== undefined && feed.kind !== 'search') give(feed, item)
    else
      for (const it of feeds) if (it.kind === 'search' && belongsTo(it.place, item)) give(it, item)
  }
  return found
}

/** The sight of known rows is stored this often. */
export const SIGHT_SLACK_MS = 15 * 60_000

/**
 * True for a place without rows that may have been closed: a merged listing leaves it out without a sign. Its newest row
 * should be listed here, or it has been silent for longer than chance explains.
 */
const isMissing = (
  { peak_rate_per_s }: Feed,
  { item_seen_at, newest_at }: Pick<ListingState, 'item_seen_at' | 'newest_at'>,
  read_to: number | null,
  seen_at: number,
): boolean =>
  (newest_at !== null && read_to !== null && newest_at > read_to) ||
  item_seen_at === null ||
  isTooSilent(seen_at - item_seen_at - SIGHT_SLACK_MS, peak_rate_per_s)

type FetchedPages = {
  state: PollState
  /** Every row of every page, by fullname, as first read. */
  items: ReadonlyMap<string, Item>
  ending:
    | { kind: 'complete' | 'empty' | 'stale' | 'stopping' }
    | { kind: 'truncated'; reason: TruncationReason }
    | { kind: 'fault'; fault: Fault }
}

/** Bytes of texts after which a poll reads no further page: those of ten full pages are a fraction of it. */
const TEXTS_MAX = 2 * 1024 * 1024

/** Reads a listing page by page until the poll is complete or has to be truncated. */
async function fetchPages(
  ask: Ask,
  feed: { kind: FeedKind; place: string },
  feed_ids: readonly number[],
  start: PollState,
): Promise<FetchedPages> {
  const items = new Map<string, Item>()
  let bytes = 0
  let state = start
  const end = (ending: FetchedPages['ending']): FetchedPages => ({ state, items, ending })

  for (let request = 0; request < PAGES_MAX * TRIES_MAX; request++) {
    const page = await ask.page(feed, { limit: state.limit, after: state.after })
    if (ask.signal.aborted) return end({ kind: 'stopping' })
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
      if (!items.has(item.name) && unlisted?.has(item.name) !== true) {
        items.set(item.name, item)
        bytes += Buffer.byteLength(markdownOf(item))
      }
    const seen = ask.known(
      feed_ids,
      page.value.rows.map(({ name }) => name),
    )
    const step = advance(state, { rows: toRows(page.value.rows), after, seen })
    state = step.state
    // Rows that the platform held back may be newer than any that was read.
    if (page.value.partial === true && step.kind === 'complete')
      return end({ kind: 'truncated', reason: 'poll_overflow' })
    if (step.kind === 'truncated') return end({ kind: 'truncated', reason: step.reason })
    if (step.kind !== 'retry' && step.kind !== 'next_page') return end({ kind: step.kind })
    if (bytes > TEXTS_MAX) break
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
function belongsTo(expression: string, item: Item): boolean {
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

const cut = (reason: TruncationReason): End => ({
  kind: 'cut',
  reason,
  fault: null,
  retry_after_s: 0,
})

const faultEnd = (fault: Fault): End => ({
  kind: 'cut',
  reason: accessEndOf(fault) ?? 'error',
  fault: faultText(fault),
  // Throttling delays an identity, not the feed, which is due as planned through any usable one.
  retry_after_s: fault.kind === 'unavailable' ? (fault.retry_after_s ?? 0) : 0,
})

/**
 * A poll without budget is late, not truncated. So is one that the platform throttled before any page was read; the next
 * poll shows what was lost by waiting.
 */
function skippedBy(fault: Fault, pages_read: number): Skipped | null {
  if (fault.kind !== 'throttled') return null
  const wait_s = fault.retry_after_s ?? 0
  if (fault.not_requested && !fault.resting) return { why: 'over_budget', wait_s }
  return pages_read === 0 ? { why: 'throttled', wait_s } : null
}

/** The ended way in that a fault shows; null: none. */
function accessEndOf(fault: Fault): AccessRefusal | null {
  if (fault.kind === 'forbidden') return accessRefusal(fault.reason)
  const asks_for_login = fault.kind === 'blocked' && fault.login_hint === true
  return asks_for_login || fault.kind === 'login_required' ? 'login_wall' : null
}

/**
 * Explains an emptied listing: its place was closed, or its known rows still exist, so that the
 * page proves nothing. Otherwise it may be empty, which more checks have to confirm.
 */
async function explainEmpty(
  ask: Ask,
  { kind, place }: Feed,
  checkpoint: Checkpoint | null,
): Promise<End> {
  if (kind === 'posts' || kind === 'comments') {
    const verdict = await ask.place(place)
    if (verdict.kind === 'refused')
      return {
        ...faultEnd({ kind: 'forbidden', reason: null }),
        ...(verdict.why !== null && { fault: `refused:${verdict.why}` }),
      }
  }
  const anchors = (checkpoint?.anchor_ids ?? []).slice(0, EVIDENCE_MAX)
  const present = await ask.present(anchors)
  if (!present.ok) return faultEnd(present.fault)
  if (kind === 'search' && present.value.length > 0) {
    // An edited post may have left the search for good.
    const items = await ask.refetch(present.value)
    if (!items.ok) return faultEnd(items.fault)
    if (!items.value.some((it) => belongsTo(place, it))) return cut('empty_listing')
  }
  if (present.value.length === 0) return cut('empty_listing')
  const reason = kind === 'user_posts' || kind === 'user_comments' ? 'profile_hidden' : 'emptied'
  return { kind: 'cut', reason, fault: `refused:${reason}`, retry_after_s: 0 }
}

/**
 * True if the checkpoint advances although the poll did not reach it. It does where the listing itself ends, which
 * leaves a gap. Otherwise it stays, so that the next check can still reach it and close the gap.
 */
const movesCheckpoint = (reason: TruncationReason): boolean =>
  reason === 'poll_overflow' || reason === 'listing_exhausted'

type Polled = {
  feed: Feed
  before: ListingState
  state: PollState
  items: ReadonlyMap<string, Item>
  end: End
  /** Epoch at which a poll of the feed alone began; null: it was polled with others. */
  epoch: number | null
  unwritten: Unwritten | null | undefined
  /** Start of the audit by the clock of the items; null: no audit. */
  audit: { started_at: number } | null
  gap_id: number | null
  is_alone: boolean
  at: Times
}

/** The step of a finished or truncated poll of one feed. */
function stepOf({ end, unwritten = null, ...polled }: Polled): Step {
  const { feed, items, state, at, audit, gap_id, is_alone } = polled
  const late = unwritten?.kind === 'storage_full' ? holeOf(polled, unwritten.at) : null
  const before =
    late === null
      ? polled.before
      : { ...polled.before, open: polled.before.open ?? { from_at: late.from_at }, empties: 0 }
  const empties = end.kind === 'cut' && end.reason === 'empty_listing' ? before.empties + 1 : 0
  const is_complete = end.kind === 'complete' || empties > EMPTY_CONFIRMATIONS
  const part =
    end.kind === 'complete' || empties > EMPTY_CONFIRMATIONS
      ? completePart(polled, before, end.kind !== 'complete')
      : cutPart(polled, before, end)
  return {
    ...PLAIN_STEP,
    ...at,
    feed,
    items: oldestFirst(items),
    requests: state.pages,
    begins_since: state.backfill_since,
    has_begun: end.kind === 'complete' || movesCheckpoint(end.reason),
    again: audit === null ? 'none' : 'edited',
    ...part,
    holes: late === null ? part.holes : [late, ...part.holes],
    state: JSON.stringify({ ...part.state, empties: is_complete ? 0 : empties }),
    unwritten,
    listing: {
      is_audit: audit !== null,
      is_alone,
      reads_back: state.backfill_since !== null || state.gap_ids !== null,
      rows: state.rows,
      gap: gap_id === null || !is_complete ? null : { id: gap_id, is_closed: state.gap_closed },
    },
  }
}

const oldestFirst = (items: ReadonlyMap<string, Item>): Item[] =>
  [...items.values()].toReversed().toSorted((a, b) => a.created_utc - b.created_utc)

type Part = Pick<Step, 'cut' | 'is_look' | 'closes' | 'holes' | 'verified'> & {
  state: ListingState
}

/** A poll that reached the checkpoint. `is_emptied`: the listing is empty, and confirmed to be. */
function completePart(
  { state, items, epoch, audit, is_alone, at }: Omit<Polled, 'end' | 'unwritten'>,
  before: ListingState,
  is_emptied: boolean,
): Part {
  const is_audited = audit !== null && state.audited
  const at_end = state.after === null && state.rows.length < AUDIT_ROWS_MAX
  return {
    cut: null,
    is_look: true,
    closes: true,
    holes: [],
    verified: is_audited
      ? { from: at_end ? 0 : (oldestAt(state.rows) ?? 0), until: audit.started_at }
      : null,
    state: {
      ...before,
      checkpoint: is_emptied
        ? { anchor_ids: [], checkpoint_at: null }
        : nextCheckpoint(state, true),
      item_seen_at: is_alone || items.size > 0 ? at.seen_at : before.item_seen_at,
      newest_at: newestAt(state.rows) ?? (is_alone ? null : before.newest_at),
      covered_epoch: epoch ?? before.covered_epoch,
      ...(is_audited && {
        audits: before.audits + 1,
        audit_pages: 0.7 * before.audit_pages + 0.3 * state.pages,
      }),
      open: undefined,
    },
  }
}

function cutPart(
  { feed, state, at, epoch }: Omit<Polled, 'end' | 'unwritten'>,
  before: ListingState,
  { reason, fault, retry_after_s }: Extract<End, { kind: 'cut' }>,
): Part {
  const moves = movesCheckpoint(reason)
  const { from_at, until_at } = gapSince(before, gapOf(state, checkedAt(feed, before)))
  const end_at = until_at ?? at.seen_at
  const hole: Hole = {
    reason,
    from_at,
    until_at: moves ? end_at : null,
    recorded_at: at.ended_at,
    anchor_ids: before.checkpoint?.anchor_ids ?? [],
    evidence: {
      rows: state.rows,
      until_at: end_at,
      read_at: at.seen_at,
      polled_at: polledBefore(feed, before, from_at),
    },
  }
  return {
    cut: { reason, fault, retry_after_s },
    is_look: !readsNothing(reason) && (moves || before.checkpoint !== null),
    closes: false,
    holes: [hole],
    verified: null,
    state: {
      ...before,
      checkpoint: moves ? nextCheckpoint(state, false) : before.checkpoint,
      covered_epoch: moves && epoch !== null ? epoch : before.covered_epoch,
      open: moves ? undefined : (before.open ?? { from_at }),
    },
  }
}

/** What a check missed that could not be recorded. The checkpoint did not move, so a later one may close it. */
function holeOf({ feed, before }: Pick<Polled, 'feed' | 'before'>, at: number): Hole {
  const { checkpoint } = before
  const unread = startPoll({ checkpoint, backfill_since: null, accept_stale: false })
  const { from_at } = gapSince(before, gapOf(unread, checkedAt(feed, before)))
  const polled_at = polledBefore(feed, before, from_at)
  return {
    reason: 'storage_full',
    from_at,
    until_at: null,
    recorded_at: at,
    anchor_ids: checkpoint?.anchor_ids ?? [],
    evidence: { rows: [], until_at: at, read_at: at, polled_at },
  }
}

/** Extends a gap to the start of those that are still open: no check since then has reached the checkpoint. */
function gapSince({ open }: ListingState, { from_at, until_at }: ReturnType<typeof gapOf>) {
  if (open === undefined) return { from_at, until_at }
  const starts = [open.from_at, from_at].filter((it) => it !== null)
  return { from_at: starts.length < 2 ? open.from_at : Math.min(...starts), until_at }
}

/** The poll that a gap follows, by the clock of the items; null where the gap begins at an item that was seen. */
function polledBefore(
  { last_seen_at }: Feed,
  { checkpoint, open }: ListingState,
  from_at: number | null,
): number | null {
  if (from_at === null || from_at === checkpoint?.checkpoint_at) return null
  // Polls that were cut may have moved the time of the last one.
  return open === undefined ? last_seen_at : from_at + VISIBILITY_LAG_MS
}

/** The time of the last finished check by the clock of the items, less the lag for which its view was uncertain. */
const checkedAt = ({ last_seen_at }: Feed, { checkpoint }: ListingState): number | null =>
  last_seen_at === null || checkpoint === null ? null : last_seen_at - VISIBILITY_LAG_MS
