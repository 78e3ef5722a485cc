import { createLru } from '../core/base/lru.ts'
import { fail, type Fault, ok, type Outcome } from '../core/base/result.ts'
import { earliestOffset, reportedOffset } from '../core/base/time.ts'
import type { FilterSpec } from '../core/filter/fields.ts'
import { decodeFilterSpec } from '../core/filter/parse.ts'
import { watchedSources } from '../core/filter/spec.ts'
import { HOME, type Item, type ItemState, type Page } from '../core/forum/items.ts'
import { isReservedSubforum } from '../core/forum/permalink.ts'
import { beginningAhead } from '../core/limits/plan.ts'
import { type AuditTokens, refill } from '../core/polling/audit.ts'
import type { FeedKind } from '../core/polling/feed.ts'
import type { FeedPage, PlaceVerdict } from '../core/polling/listing.ts'
import {
  ANONYMOUS,
  type Call,
  type Identity,
  type Listing,
  type SourceReads,
} from '../platforms/port.ts'
import {
  type IdRange,
  type IdWatch,
  type LeftOut,
  type PartialReason,
  type Reread,
  type Source,
  unsupported,
  type WatchCall,
  type WatchStep,
} from '../platforms/source.ts'
import type { Clock } from '../runtime/runtime.ts'
import { everyNode, readFullCommentTree } from './comments.ts'
import { isIdentityFault, withAnother } from './identity.ts'

type States = (
  fullnames: readonly string[],
  signal?: AbortSignal,
) => Promise<Outcome<ReadonlyMap<string, ItemState>>>

/** The list of a preview: a feed, or the newest `of` a source that is read by ids. */
type Sample = { kind: FeedKind; place: string; of: 'posts' | 'comments' }

type Watched = {
  /** Name by which items and feeds know the source. */
  name: string
  /** Names of its feeds if each is polled alone. */
  feeds?: readonly string[] | undefined
  has(capability: Parameters<Source['capabilities']['has']>[0]): boolean
  /** True when `place` is a name that it could have. */
  isPlace(place: string): boolean
  /** A place as the items of the source name it. */
  spell(place: string): string
  /** Asks the source for a place; `unverified`: it does not answer. */
  place(name: string): Promise<PlaceVerdict>
  /** Names of its places, as many as one list has. */
  placeNames(): Promise<string[]>
  /** Why it proves nothing of one of these places; no places: of all of it. Null: it does. */
  partialFor(places: readonly string[]): PartialReason | null
  /** Requests a minute that the source allows now. */
  per_minute(): number
  /** Creation time of an item, epoch ms; null if it does not exist. */
  createdAt(fullname: string): Promise<Outcome<number | null>>
  /**
   * Present items by fullname, as many as its requests allow: `tried`. Items that are deleted or could not be read are left
   * out.
   */
  refetch(
    fullnames: readonly string[],
    signal?: AbortSignal,
  ): Promise<{ tried: readonly string[]; found: Item[]; fault: Fault | null }>
  /** States of items, as far as the source states them clearly; absent: they are not read again. */
  recheck?: {
    items_max: number
    /** Requests for so many items, at most. */
    cost(items: number): number
    states: States
  }
  /** The newest items, which prove nothing. */
  sample(sample: Sample, rows: number, signal: AbortSignal): Promise<Outcome<Page<Item>>>
  /** Rows that were left out since the start; null: none. */
  left_out(): LeftOut | null
  /** Milliseconds by which its clock is ahead of ours; 0 unless it is more than a minute. */
  ahead_ms(): number
  /** The same without the threshold, accurate to a second; 0 until it was measured. */
  measured_ms(): number
  /** Least plausible lead: a monitor that begins by it loses nothing that is created later. */
  earliest_ms(): number
  /** Milliseconds by which that clock is behind ours; 0 if it is ahead, or behind by less than can be measured. */
  behind_ms(): number
  /** An instant of that clock by ours, or a little earlier. */
  ours(at: number): number
}

/** A source whose listings are polled. */
export type ListingWatch = Watched & {
  proof: 'time_listing'
  /**
   * One page of a feed, newest first; `partial` if there are items that no further page will show. `unlisted`: rows of a
   * profile that the lists of their places do not show. Ends early when `signal` aborts.
   */
  page(
    watch: { kind: FeedKind; place: string },
    paging: { limit: number; after: string | null },
    signal: AbortSignal,
  ): Promise<Outcome<FeedPage>>
  /** These items by id, at most 100; items that are deleted or not visible to us are left out. */
  byId(fullnames: readonly string[], signal?: AbortSignal): Promise<Outcome<Item[]>>
  /** Those of these items that exist and are visible to others; a few at a time. */
  present(fullnames: readonly string[], signal?: AbortSignal): Promise<Outcome<string[]>>
  /** The highest age of the last answers in caches, ms. */
  copy_ms(): number
}

type StepCall = {
  interval_s: number
  signal: AbortSignal
  places: readonly string[]
  feed?: string
  /** The earliest start of a monitor that waits for the first step, epoch ms; null: none does. */
  since?: number | null
}

/** A source whose items are read in the order of their ids. */
export type StepWatch = Watched & {
  proof: IdWatch['proof']
  /** Reads what came after `state`, within the share of requests of an interval. Null: since the first start. */
  step(state: string | null, call: StepCall): Promise<Outcome<WatchStep>>
  /** Goes on where a step ended, after its items were recorded; null: nothing is left, or no request for it. */
  settle?(state: string, call: StepCall): Promise<Outcome<WatchStep | null>>
  /** A step is made at least this often, in seconds; Infinity: as often as monitors ask. */
  interval_max_s: number
  /** Time in which an item may be listed again under an old id; 0: steps find it. */
  relisted_ms: number
  /** Requests that `reread` may send now; 0: none. */
  reread_requests(): number
  /** Reads ids again, within the share of requests that is kept for it. */
  reread(ids: IdRange, call: Omit<StepCall, 'interval_s' | 'since'>): Promise<Outcome<Reread>>
}

/** A source for monitors. */
export type Watch = ListingWatch | StepWatch
export type Watches = ReadonlyMap<string, Watch>

/** Lead of true time over our clock, ms, as the source `home` shows it; 0 unless it is more than a minute. */
export const aheadOf = (watches: Watches): number => watches.get(HOME)?.ahead_ms() ?? 0

/** The same without the threshold. */
export const measuredOf = (watches: Watches): number => watches.get(HOME)?.measured_ms() ?? 0

/** Least plausible lead of the clocks by which the listings of a filter, absent: of {@link HOME}, are dated. */
export const earliestOf = (watches: Watches, spec: Pick<FilterSpec, 'source'> = OF_HOME): number =>
  Math.min(
    ...watchedSources(spec, watches.keys()).map((name) => {
      const watch = watches.get(name)
      return watch?.proof === 'time_listing' ? watch.earliest_ms() : earliestOffset(0)
    }),
  )

/** Facts of the sources for coverage of past days: true time, and reasons why they prove nothing. */
export const coverageContext = (watches: Watches) => ({
  offset_ms: earliestOf(watches),
  limitOf: (source: string, filter_spec: string) =>
    watches.get(source)?.partialFor(decodeFilterSpec(filter_spec).subforum) ?? null,
})

const OF_HOME = { source: [HOME] }
const JOIN = '+'
const EVERYWHERE = 'all'
/** Maximum number of further requests for a thread after the first. */
const THREAD_FETCHES = 12
/** Rows of profiles whose state is known. */
const PROFILE_ROWS_MAX = 20_000
/** A removed row stays on the profile of its author, and may be approved. */
const REMOVED_FRESH_MS = 10 * 60_000
const STATES_AT_ONCE = 100
/** Maximum number of identities per request; a failing one is replaced. */
const IDENTITIES_MAX = 2
/** Share of a source's requests that its monitors may use; callers' reads have the rest. */
const SHARE = 0.75
/** A step may send this many requests, however short the interval: the source's pace delays them. */
const REQUESTS_MIN = 10
/** A step that catches up after an outage reads for a minute, even if its interval is shorter. */
const STEP_MIN_MS = 60_000
const SETTLE_MIN_MS = 10_000
/** Share of a source's requests for ids that are read again, beside the share of steps. */
const REREAD_SHARE = 0.2
/** Requests of one reread, so that the next step is in time. */
const REREAD_AT_ONCE = 5
/** Share of any minute's requests that all of this may use. */
const MINUTE_SHARE = 0.9
/** Share of a minute's requests that one round of lookups by id may use. */
const REFETCH_SHARE = 1 / 6
/** Items in one round of states, where each has requests of its own: the thread of a comment may take another. */
const ITEMS_PER_ROUND = 20
const REQUESTS_PER_ITEM = 2
const REFETCH_DEADLINE_MS = 20_000
/** Bytes of answers that a step reads before it is recorded, so that ten sources fit into memory. One answer may be larger. */
const STEP_BYTES = 2 * 1024 * 1024
/** A caller waits for it. */
const LOOKUP_DEADLINE_MS = 10_000
const PLACE_NAMES = 100
/** The Date header has whole seconds, and answers take a while. */
const CLOCKS_AGREE_MS = 1500

const lead = (ms: number): number => (Math.abs(ms) > CLOCKS_AGREE_MS ? ms + CLOCKS_AGREE_MS : 0)

const post = (row: Omit<Extract<Item, { kind: 'post' }>, 'kind'>): Item => ({
  ...row,
  kind: 'post',
})
const comment = (row: Omit<Extract<Item, { kind: 'comment' }>, 'kind'>): Item => ({
  ...row,
  kind: 'comment',
})

/** Identities for polls: the pool's, within the share reserved for polls. */
type PollIdentities = {
  lease(use: 'poll', avoid?: readonly string[]): Identity | null
  report(identity: Identity, fault: Fault | null): void
  /**
   * Milliseconds until the first identity may send, 0: now; null if none becomes usable by waiting.
   */
  free_in_ms(use: 'poll'): number | null
}

/** The identity of a source without accounts, whose own client paces it. */
const ONE_WAY: PollIdentities = { lease: () => ANONYMOUS, report: () => {}, free_in_ms: () => 0 }

type Options = {
  /** {@link HOME}: its items have no prefix. */
  name: string
  source: Source
  clock: Clock
  /** Absent: the source has no accounts. */
  identities?: PollIdentities
  per_minute: () => number
  /** Limit of one page with all its retries. */
  deadline_ms?: number
  /** Registers work that should end within `limit_ms`. */
  expect?: <T>(limit_ms: number, work: Promise<T>) => Promise<T>
}

/** A source for monitors; null: it has no watch. */
export function createWatch({
  name,
  source,
  clock,
  identities = ONE_WAY,
  per_minute,
  deadline_ms = REFETCH_DEADLINE_MS,
  expect = (_, work) => work,
}: Options): Watch | null {
  const { watch, reads, capabilities, isPlace, clock_offset_ms, states: readStates } = source
  const is_listed = source.has_listings === true
  const mark = (item: Item): Item => (name === HOME ? item : { ...item, source: name })
  type Bounds = { signal?: AbortSignal | undefined; ms?: number }

  /** Runs `work` with an identity, and again with another if the first one failed. */
  const withIdentity = <T>(
    work: (call: Call) => Promise<Outcome<T>>,
    { signal, ms = deadline_ms }: Bounds = {},
    isAnonymous: (value: T) => boolean = () => false,
  ): Promise<Outcome<T>> => expect(2 * ms, withOne(work, { signal, ms }, isAnonymous))

  async function withOne<T>(
    work: (call: Call) => Promise<Outcome<T>>,
    { signal, ms }: { signal: AbortSignal | undefined; ms: number },
    isAnonymous: (value: T) => boolean,
  ): Promise<Outcome<T>> {
    const deadline_at = clock.now() + ms
    const tried: string[] = []
    let outcome: Outcome<T> = NO_IDENTITY
    let over_budget = true
    while (tried.length < IDENTITIES_MAX) {
      const identity = identities.lease('poll', tried)
      if (identity === null || tried.includes(identity.id)) break
      tried.push(identity.id)
      const call: Call = { identity, use: 'poll', deadline_at, ...(signal && { signal }) }
      outcome = await work(withAnother(call, identities, 'poll'))
      const dead = outcome.ok && identity.whose === 'pool' && isAnonymous(outcome.value)
      identities.report(identity, dead ? SESSION_EXPIRED : outcome.ok ? null : outcome.fault)
      over_budget &&= !dead && isOverBudget(outcome)
      if (signal?.aborted || !(dead || (!outcome.ok && isIdentityFault(outcome.fault)))) break
    }
    if (outcome.ok || outcome.fault.kind !== 'throttled' || outcome.fault.searches_only)
      return outcome
    // The wait of the last identity says nothing about the others.
    const free_ms = identities.free_in_ms('poll')
    const retry_after_s = free_ms === null ? outcome.fault.retry_after_s : Math.ceil(free_ms / 1000)
    return fail({ ...outcome.fault, retry_after_s, ...(!over_budget && { resting: true }) })
  }

  async function listed<T>(
    list: (call: Call) => Promise<Outcome<Listing<T>>>,
    toItem: (row: T) => Item,
    signal: AbortSignal,
  ): Promise<Outcome<Page<Item>>> {
    const found = await withIdentity(list, { signal }, ({ logged_in }) => logged_in === false)
    if (!found.ok) return found
    return ok({ rows: found.value.rows.map((row) => mark(toItem(row))), after: found.value.after })
  }

  async function readPage(
    { kind, place }: { kind: FeedKind; place: string },
    paging: { limit: number; after: string | null },
    signal: AbortSignal,
  ): Promise<Outcome<FeedPage>> {
    const subforums = place.split(JOIN)
    const of_user = { ...paging, name: place, sort: 'new', t: null }
    switch (kind) {
      case 'posts':
        return listed(
          (call) => reads.posts({ ...paging, subforums, sort: 'new', t: null }, call),
          post,
          signal,
        )
      case 'comments':
        return listed((call) => reads.comments({ ...paging, subforums }, call), comment, signal)
      case 'search': {
        const query = { ...paging, q: place, subforum: null, sort: 'new', t: 'all', nsfw: true }
        return listed((call) => reads.search(query, call), post, signal)
      }
      case 'user_posts': {
        const query = { ...of_user, tab: 'submitted' } as const
        return listed(
          (call) => reads.userItems(query, call),
          (item) => item,
          signal,
        )
      }
      case 'user_comments':
        return listed((call) => reads.userComments(of_user, call), comment, signal)
      case 'thread': {
        const page = await withIdentity((call) => threadPage(reads, place, call), { signal })
        return page.ok ? ok({ ...page.value, rows: page.value.rows.map(mark) }) : page
      }
      // It has no pages.
      case 'all':
        return unsupported('page')
    }
  }

  /** Until when a row of a profile is known to be listed in its place, monotonic ms, or not to be. */
  const rows_known = createLru<string, { is_listed: boolean; until: number }>(PROFILE_ROWS_MAX)

  /** A profile shows the items of its owner with their text, also those that were removed from their places. */
  async function withStates(
    page: Outcome<Page<Item>>,
    signal: AbortSignal,
  ): Promise<Outcome<FeedPage>> {
    if (!page.ok || readStates === undefined) return page
    const names = page.value.rows.map((it) => it.name)
    const unknown = names.filter((it) => (rows_known.get(it)?.until ?? -1) < clock.mono())
    for (let at = 0; at < unknown.length; at += STATES_AT_ONCE) {
      const asked = unknown.slice(at, at + STATES_AT_ONCE)
      const found = await withIdentity((call) => readStates(asked, call), { signal })
      if (!found.ok) return found
      for (const it of asked) {
        const is_live = (found.value.get(it)?.state ?? 'live') === 'live'
        const until = is_live ? Infinity : clock.mono() + REMOVED_FRESH_MS
        rows_known.set(it, { is_listed: is_live, until })
      }
    }
    const unlisted = new Set(names.filter((it) => rows_known.get(it)?.is_listed === false))
    return ok({ ...page.value, unlisted })
  }

  async function byId(
    fullnames: readonly string[],
    signal?: AbortSignal,
  ): Promise<Outcome<Item[]>> {
    const posts = fullnames.filter((it) => it.startsWith('t3_')).map(idOf)
    const comments = fullnames.filter((it) => it.startsWith('t1_')).map(idOf)
    const found: Item[] = []
    if (posts.length > 0) {
      const rows = await withIdentity((call) => reads.postsById(posts, call), { signal })
      if (!rows.ok) return rows
      found.push(...rows.value.map(post))
    }
    if (comments.length > 0) {
      const nodes = await withIdentity((call) => reads.nodesById(comments, call), { signal })
      if (!nodes.ok) return nodes
      found.push(...nodes.value.map((node) => comment(reads.commentOf(node))))
    }
    return ok(found.map(mark))
  }

  const states: States | undefined =
    readStates &&
    (async (fullnames, signal) => {
      const read = await withIdentity((call) => readStates(fullnames, call), { signal })
      if (!read.ok) return read
      const marked = [...read.value].map(([key, it]): [string, ItemState] => [
        key,
        it.state === 'live' ? { ...it, item: mark(it.item) } : it,
      ])
      return ok(new Map(marked))
    })

  /** A read by id masks what was removed meanwhile: only what states show as live is an item. */
  async function readLive(
    fullnames: readonly string[],
    signal?: AbortSignal,
  ): Promise<Outcome<Item[]>> {
    if (!is_listed || states === undefined) return byId(fullnames, signal)
    const read = await states(fullnames, signal)
    if (!read.ok) return read
    return ok([...read.value.values()].flatMap((it) => (it.state === 'live' ? [it.item] : [])))
  }

  const behindMs = () => Math.max(0, -beginningAhead(earliestOffset(clock_offset_ms())))
  const lookup = { ms: LOOKUP_DEADLINE_MS }
  const common: Watched = {
    name,
    feeds: watch?.feeds,
    has: (capability) => capabilities.has(capability),
    isPlace,
    spell: (place) => source.spell?.(place) ?? place,
    per_minute,
    async place(place) {
      if (is_listed && isReservedSubforum(place)) return { kind: 'reserved' }
      const found = await withIdentity((call) => reads.community(place, call), lookup)
      if (found.ok)
        return found.value.type === 'private' && is_listed
          ? { kind: 'refused', why: 'private' }
          : { kind: 'exists' }
      const { fault } = found
      return fault.kind === 'not_found' || fault.kind === 'forbidden'
        ? { kind: 'refused', why: fault.reason }
        : { kind: 'unverified' }
    },
    async placeNames() {
      const query = { which: 'popular', limit: PLACE_NAMES, after: null } as const
      const found = await withIdentity((call) => reads.communities(query, call), lookup)
      return found.ok ? found.value.rows.map((it) => it.name) : []
    },
    partialFor(places) {
      const reasons = (places.length === 0 ? [EVERYWHERE] : places).map((it) =>
        source.partialFor?.(it),
      )
      return reasons.find((it) => it != null) ?? null
    },
    async createdAt(fullname) {
      const [prefix, id = ''] = fullname.split('_')
      const found = await withIdentity<Dated[]>(
        (call) => (prefix === 't1' ? nodesOf(reads, id, call) : reads.postsById([id], call)),
        lookup,
      )
      if (!found.ok) return found
      const [row] = found.value
      return ok(row === undefined ? null : row.created_utc * 1000)
    },
    async refetch(fullnames, signal) {
      const tried = is_listed
        ? fullnames
        : fullnames.slice(0, Math.max(1, Math.floor(REFETCH_SHARE * per_minute())))
      const read = await readLive(tried, signal)
      return read.ok
        ? { tried, found: read.value, fault: null }
        : { tried, found: [], fault: read.fault }
    },
    ...(states && {
      recheck: {
        items_max: is_listed ? STATES_AT_ONCE : ITEMS_PER_ROUND,
        cost: (items: number) => (is_listed ? 1 : items * REQUESTS_PER_ITEM),
        states,
      },
    }),
    sample({ kind, place, of }, limit, signal) {
      const paging = { limit, after: null }
      if (is_listed) return readPage({ kind, place }, paging, signal)
      const query = { ...paging, subforums: [] }
      if (of === 'comments') return listed((call) => reads.comments(query, call), comment, signal)
      const list = source.newestPosts ?? reads.posts
      return listed((call) => list({ ...query, sort: 'new', t: null }, call), post, signal)
    },
    left_out: () => source.left_out?.() ?? null,
    ahead_ms: () => reportedOffset(clock_offset_ms()),
    measured_ms: clock_offset_ms,
    earliest_ms: () => earliestOffset(clock_offset_ms()),
    behind_ms: behindMs,
    // A source's times are never later than the present.
    ours: (at) => Math.min(at - lead(clock_offset_ms()), clock.now()),
  }

  if (is_listed)
    return {
      ...common,
      proof: 'time_listing',
      async page(feed, paging, signal) {
        const page = await readPage(feed, paging, signal)
        return feed.kind.startsWith('user_') ? withStates(page, signal) : page
      },
      byId,
      async present(fullnames, signal) {
        const found: string[] = []
        const comments = fullnames.filter((it) => it.startsWith('t1_'))
        if (comments.length > 0) {
          const ids = comments.map(idOf)
          const live = await withIdentity((call) => reads.liveness(ids, call), { signal })
          if (!live.ok) return live
          found.push(...comments.filter((it) => live.value.get(idOf(it)) === 'live'))
        }
        for (const it of fullnames.filter((id) => id.startsWith('t3_'))) {
          const seen = await withIdentity((call) => reads.visibility(idOf(it), call), { signal })
          if (!seen.ok) return seen
          if (seen.value.verdict === 'live') found.push(it)
        }
        return ok(found)
      },
      copy_ms: () => source.copy_ms?.() ?? 0,
    }

  if (watch === null) return null
  let saved: AuditTokens = { tokens: 0, mono: clock.mono() }
  const rereadRequests = (): number => {
    saved = refill(saved, clock.mono(), REREAD_SHARE * per_minute())
    return Math.max(0, Math.floor(saved.tokens))
  }
  const shareOf = (interval_s: number): number =>
    Math.max(REQUESTS_MIN, Math.floor((SHARE * per_minute() * interval_s) / 60))
  const callOf = (
    { signal, places, interval_s, feed }: Partial<StepCall>,
    { requests, ms }: { requests: number; ms: number },
  ): WatchCall => ({
    requests,
    ...(interval_s !== undefined && { interval_s }),
    deadline_at: clock.now() + ms,
    signal,
    ...(places && { places }),
    feed,
    share: MINUTE_SHARE,
    allowance: { left: STEP_BYTES },
  })
  const marked = <T extends { items: Item[] }>(read: Outcome<T>): Outcome<T> =>
    read.ok ? { ...read, value: { ...read.value, items: read.value.items.map(mark) } } : read

  return {
    ...common,
    proof: watch.proof,
    async step(state, call) {
      const requests = Math.max(watch.requests_min ?? 0, shareOf(call.interval_s))
      const ms = Math.max(STEP_MIN_MS, call.interval_s * 1000)
      const { since = null } = call
      // The clock of a source is known from its first answer on.
      const from = since === null ? {} : { since: () => since - behindMs() }
      return marked(await watch.advance(state, { ...callOf(call, { requests, ms }), ...from }))
    },
    async settle(state, call) {
      if (watch.settle === undefined) return ok(null)
      // The next step must not wait for it.
      const ms = Math.max(SETTLE_MIN_MS, (call.interval_s * 1000) / 2)
      const step = marked(
        await watch.settle(state, callOf(call, { requests: shareOf(call.interval_s), ms })),
      )
      return step.ok && step.value.requests === 0 ? ok(null) : step
    },
    interval_max_s: watch.interval_max_s ?? Infinity,
    relisted_ms: watch.relisted_ms,
    reread_requests: rereadRequests,
    async reread(ids, call) {
      const requests = Math.min(REREAD_AT_ONCE, rereadRequests())
      const bounds = { requests, ms: REFETCH_DEADLINE_MS }
      const read = marked(await watch.reread(ids, callOf(call, bounds)))
      // A request that failed has cost one too.
      saved = { ...saved, tokens: saved.tokens - (read.ok ? read.value.requests : 1) }
      return read
    },
  }
}

const idOf = (fullname: string): string => fullname.slice(3)

/**
 * The comments under a post as one page, newest first, with the details of their post that the tree
 * omits.
 */
async function threadPage(
  reads: SourceReads,
  post_id: string,
  call: Call,
): Promise<Outcome<Page<Item> & { partial: boolean }>> {
  const tree_query = { post_id, comment_id: null, sort: 'new', depth: null, limit: null }
  const tree = await readFullCommentTree(reads, tree_query, THREAD_FETCHES, call)
  if (!tree.ok) return tree
  const { post: top, comments, meta } = tree.value
  const rows = [...everyNode(comments)]
    .filter(({ kind }) => kind === 't1')
    .map((node) => reads.commentOf(node))
    .map((row) => ({
      ...row,
      link_title: row.link_title ?? top.title,
      link_url: row.link_url ?? top.link_url ?? top.url,
    }))
  return ok({
    rows: rows.toSorted((a, b) => b.created_utc - a.created_utc).map(comment),
    after: null,
    partial: meta.truncated,
  })
}

/** True if nothing was sent because the identity's budget is used up. */
const isOverBudget = (outcome: Outcome<unknown>): boolean =>
  !outcome.ok &&
  outcome.fault.kind === 'throttled' &&
  outcome.fault.not_requested === true &&
  outcome.fault.resting !== true

type Dated = { name: string; created_utc: number }

const NO_IDENTITY = fail({ kind: 'unavailable', status: null, retry_after_s: null })
const SESSION_EXPIRED: Fault = { kind: 'login_required' }

async function nodesOf(reads: SourceReads, id: string, call: Call) {
  const found = await reads.nodesById([id], call)
  return found.ok ? ok(found.value.map((node) => reads.commentOf(node))) : found
}
