import { createLru } from '../core/base/lru.ts'
import { fail, type Fault, ok, type Outcome } from '../core/base/result.ts'
import { earliestOffset } from '../core/base/time.ts'
import type { Item, ItemState, Page } from '../core/forum/items.ts'
import { isReservedSubforum } from '../core/forum/permalink.ts'
import type { FeedKind } from '../core/polling/feed.ts'
import type { FeedPage, PlaceVerdict } from '../core/polling/listing.ts'
import type { Call, Identity, ItemStates, Listing, Platform } from '../platforms/port.ts'
import type { Clock } from '../runtime/runtime.ts'
import { everyNode, readFullCommentTree } from './comments.ts'
import { isIdentityFault, withAnother } from './identity.ts'

export type Watch = {
  /**
   * One page of a feed, newest first; `partial` if there are items that no further page will show. `unlisted`: rows of a
   * profile that the lists of their places do not show. Ends early when `signal` aborts.
   */
  page(
    watch: { kind: FeedKind; place: string },
    paging: { limit: number; after: string | null },
    signal: AbortSignal,
  ): Promise<Outcome<FeedPage>>
  /** Checks that a subforum exists and is readable. */
  subforum(name: string): Promise<PlaceVerdict>
  /** Creation time of an item, epoch ms; null if it does not exist. */
  createdAt(fullname: string): Promise<Outcome<number | null>>
  /**
   * Current state of these items, at most 100; items that are deleted or not visible to us are left
   * out.
   */
  refetch(fullnames: readonly string[], signal?: AbortSignal): Promise<Outcome<Item[]>>
  /**
   * States of these items, at most 100, as far as the platform states them clearly; all that is not clear is left out.
   * Absent: there is no such read.
   */
  states?(
    fullnames: readonly string[],
    signal?: AbortSignal,
  ): Promise<Outcome<ReadonlyMap<string, ItemState>>>
  /** Those of these items that exist and are visible to others; a few at a time. */
  present(fullnames: readonly string[], signal?: AbortSignal): Promise<Outcome<string[]>>
  /** Offset of the platform's clock to ours in ms; 0 unless it exceeds a minute. */
  clock_offset_ms(): number
  /** The same without the threshold, accurate to a second; 0 until it was measured. */
  clock_measured_ms(): number
  /** The highest age of the last answers in caches, ms; absent: there are none. */
  copy_ms?(): number
  /** Least plausible offset: a monitor that begins by it loses nothing that is created later. */
  clock_earliest_ms(): number
}

const JOIN = '+'

/** Maximum number of further requests for a thread after the first. */
const THREAD_FETCHES = 12

const post = (row: Omit<Extract<Item, { kind: 'post' }>, 'kind'>): Item => ({
  ...row,
  kind: 'post',
})
const comment = (row: Omit<Extract<Item, { kind: 'comment' }>, 'kind'>): Item => ({
  ...row,
  kind: 'comment',
})

/** Source of identities for polls: the pool's, within the share reserved for polls. */
export type PollIdentities = {
  lease(use: 'poll', avoid?: readonly string[]): Identity | null
  report(identity: Identity, fault: Fault | null): void
  /**
   * Milliseconds until the first identity may send, 0: now; null if none becomes usable by waiting.
   */
  free_in_ms(use: 'poll'): number | null
}

/** Rows of profiles whose state is known. */
const PROFILE_ROWS_MAX = 20_000
/** A removed row stays on the profile of its author, and may be approved. */
const REMOVED_FRESH_MS = 10 * 60_000
const STATES_AT_ONCE = 100

/** Maximum number of identities per request; a failing one is replaced. */
const IDENTITIES_MAX = 2

/** `deadline_ms` limits one page with all its retries. */
export function createWatch({
  platform,
  states: readStates,
  identities,
  clock,
  deadline_ms,
}: {
  platform: Platform
  /** Reads the states of items; absent: that is not possible. */
  states?: ItemStates | undefined
  identities: PollIdentities
  clock: Clock
  deadline_ms: number
}): Watch {
  /** Runs `work` with an identity of the pool, and again with another if the first one failed. */
  async function withIdentity<T>(
    work: (call: Call) => Promise<Outcome<T>>,
    signal?: AbortSignal,
    isAnonymous: (value: T) => boolean = () => false,
  ): Promise<Outcome<T>> {
    const deadline_at = clock.now() + deadline_ms
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

  const listRows = <T>(
    list: (call: Call) => Promise<Outcome<Listing<T>>>,
    signal: AbortSignal,
  ): Promise<Outcome<Listing<T>>> =>
    withIdentity(list, signal, ({ logged_in }) => logged_in === false)

  async function readPage(
    { kind, place }: { kind: FeedKind; place: string },
    paging: { limit: number; after: string | null },
    signal: AbortSignal,
  ): Promise<Outcome<FeedPage>> {
    const subforums = place.split(JOIN)
    switch (kind) {
      case 'posts': {
        const query = { ...paging, subforums, sort: 'new', t: null }
        return pageOf(await listRows((call) => platform.posts(query, call), signal), post)
      }
      case 'comments': {
        const query = { ...paging, subforums }
        return pageOf(await listRows((call) => platform.comments(query, call), signal), comment)
      }
      case 'search': {
        const query = { ...paging, q: place, subforum: null, sort: 'new', t: 'all', nsfw: true }
        return pageOf(await listRows((call) => platform.search(query, call), signal), post)
      }
      case 'user_posts': {
        const query = { ...paging, name: place, tab: 'submitted', sort: 'new', t: null } as const
        const page = await listRows((call) => platform.userItems(query, call), signal)
        return withStates(
          pageOf(page, (item) => item),
          signal,
        )
      }
      case 'user_comments': {
        const query = { ...paging, name: place, sort: 'new', t: null }
        const page = await listRows((call) => platform.userComments(query, call), signal)
        return withStates(pageOf(page, comment), signal)
      }
      case 'thread':
        return withIdentity((call) => threadPage(platform, place, call), signal)
      // It has no pages: `watches.ts` reads it.
      case 'all':
        return fail({ kind: 'unsupported', capability: 'page' })
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
    const names = page.value.rows.map(({ name }) => name)
    const unknown = names.filter((it) => (rows_known.get(it)?.until ?? -1) < clock.mono())
    for (let at = 0; at < unknown.length; at += STATES_AT_ONCE) {
      const asked = unknown.slice(at, at + STATES_AT_ONCE)
      const states = await withIdentity((call) => readStates(asked, call), signal)
      if (!states.ok) return states
      for (const name of asked) {
        const is_listed = (states.value.get(name)?.state ?? 'live') === 'live'
        const until = is_listed ? Infinity : clock.mono() + REMOVED_FRESH_MS
        rows_known.set(name, { is_listed, until })
      }
    }
    const unlisted = new Set(names.filter((it) => rows_known.get(it)?.is_listed === false))
    return ok({ ...page.value, unlisted })
  }

  return {
    page: readPage,

    async subforum(name) {
      if (isReservedSubforum(name)) return { kind: 'reserved' }
      const found = await withIdentity((call) => platform.community(name, call))
      if (found.ok)
        return found.value.type === 'private'
          ? { kind: 'refused', why: 'private' }
          : { kind: 'exists' }
      const { fault } = found
      return fault.kind === 'not_found' || fault.kind === 'forbidden'
        ? { kind: 'refused', why: fault.reason }
        : { kind: 'unverified' }
    },

    async createdAt(fullname) {
      const [prefix, id = ''] = fullname.split('_')
      const found = await withIdentity<Dated[]>((call) =>
        prefix === 't1' ? nodesOf(platform, id, call) : platform.postsById([id], call),
      )
      if (!found.ok) return found
      const [row] = found.value
      return ok(row === undefined ? null : row.created_utc * 1000)
    },

    async refetch(fullnames, signal) {
      const posts = fullnames.filter((it) => it.startsWith('t3_')).map(idOf)
      const comments = fullnames.filter((it) => it.startsWith('t1_')).map(idOf)
      const found: Item[] = []
      if (posts.length > 0) {
        const rows = await withIdentity((call) => platform.postsById(posts, call), signal)
        if (!rows.ok) return rows
        found.push(...rows.value.map(post))
      }
      if (comments.length > 0) {
        const nodes = await withIdentity((call) => platform.nodesById(comments, call), signal)
        if (!nodes.ok) return nodes
        found.push(...nodes.value.map((node) => comment(platform.commentOf(node))))
      }
      return ok(found)
    },

    ...(readStates && {
      states: (fullnames: readonly string[], signal?: AbortSignal) =>
        withIdentity((call) => readStates(fullnames, call), signal),
    }),

    async present(fullnames, signal) {
      const found: string[] = []
      const comments = fullnames.filter((it) => it.startsWith('t1_'))
      if (comments.length > 0) {
        const ids = comments.map(idOf)
        const states = await withIdentity((call) => platform.liveness(ids, call), signal)
        if (!states.ok) return states
        found.push(...comments.filter((it) => states.value.get(idOf(it)) === 'live'))
      }
      for (const name of fullnames.filter((it) => it.startsWith('t3_'))) {
        const seen = await withIdentity((call) => platform.visibility(idOf(name), call), signal)
        if (!seen.ok) return seen
        if (seen.value.verdict === 'live') found.push(name)
      }
      return ok(found)
    },

    clock_offset_ms: () => platform.clock_offset_ms(),
    clock_measured_ms: () => platform.clock_measured_ms(),
    copy_ms: () => platform.copy_ms?.() ?? 0,
    clock_earliest_ms: () => earliestOffset(platform.clock_measured_ms()),
  }
}

const idOf = (fullname: string): string => fullname.slice(3)

/**
 * The comments under a post as one page, newest first, with the details of their post that the tree
 * omits.
 */
async function threadPage(
  platform: Platform,
  post_id: string,
  call: Call,
): Promise<Outcome<Page<Item> & { partial: boolean }>> {
  const tree_query = { post_id, comment_id: null, sort: 'new', depth: null, limit: null }
  const tree = await readFullCommentTree(platform, tree_query, THREAD_FETCHES, call)
  if (!tree.ok) return tree
  const { post: top, comments, meta } = tree.value
  const rows = [...everyNode(comments)]
    .filter(({ kind }) => kind === 't1')
    .map((node) => platform.commentOf(node))
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

async function nodesOf(platform: Platform, id: string, call: Call) {
  const found = await platform.nodesById([id], call)
  return found.ok ? ok(found.value.map((node) => platform.commentOf(node))) : found
}

function pageOf<T>(found: Outcome<Page<T>>, toItem: (row: T) => Item): Outcome<Page<Item>> {
  if (!found.ok) return found
  return ok({ rows: found.value.rows.map(toItem), after: found.value.after })
}
