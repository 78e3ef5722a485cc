import type { Item, Page } from '../core/items.ts'
import { RESERVED_SUBFORUMS } from '../core/names.ts'
import { fail, type Fault, ok, type Outcome } from '../core/outcome.ts'
import type { StreamKind } from '../core/stream.ts'
import type { Clock } from '../outside.ts'
import type { Call, Eyes, Listing, Platform } from '../platform/platform.ts'
import { isOfTheEyes } from './looking.ts'
import { everyNode } from './nodes.ts'
import { readFullTree } from './tree.ts'

/** What is known of a place that somebody wants watched. `why` is the platform's reason, when it told one. */
export type PlaceVerdict =
  { kind: 'exists' | 'reserved' | 'unverified' } | { kind: 'refused'; why: string | null }

/** The monitors' way to the platform. */
export type Watch = {
  /**
   * One page of a stream, newest first; `partial` when there is more that no further page will show. Gives up when
   * `signal` aborts.
   */
  page(
    stream: { kind: StreamKind; place: string },
    paging: { limit: number; after: string | null },
    signal: AbortSignal,
  ): Promise<Outcome<Page<Item> & { partial?: boolean }>>
  /** Whether a subforum is there and can be read. */
  subforum(name: string): Promise<PlaceVerdict>
  /** When the item of this fullname was created, epoch ms; null when there is no such item. */
  createdAt(fullname: string): Promise<Outcome<number | null>>
  /** These items as they are now, at most 100; what is gone or kept from us is left out. */
  again(fullnames: readonly string[], signal?: AbortSignal): Promise<Outcome<Item[]>>
  /** How far the platform's clock is ahead of ours; 0 unless it is more than a minute. */
  clock_offset_ms(): number
  /** How far it was seen to be ahead, give or take a second, however little that is; 0 until it was. */
  clock_measured_ms(): number
}

/** Several subforums travel in one request, joined like this. */
const JOIN = '+'

/** Further requests for a thread, where the first does not bring all of it. */
const THREAD_FETCHES = 12

const post = (row: Omit<Extract<Item, { kind: 'post' }>, 'kind'>): Item => ({
  ...row,
  kind: 'post',
})
const comment = (row: Omit<Extract<Item, { kind: 'comment' }>, 'kind'>): Item => ({
  ...row,
  kind: 'comment',
})

/** Whose eyes there are to watch through: the pool's, within the share that is kept for polls. */
export type PollEyes = {
  lease(use: 'poll', avoid?: readonly string[]): Eyes | null
  report(eyes: Eyes, fault: Fault | null): void
}

/** A pair of eyes that fails is replaced by another so many times. */
const PAIRS_MAX = 2

/** The platform as monitors see it. `deadline_ms` bounds one page with all its retries. */
export function createWatch({
  platform,
  eyes_of,
  clock,
  deadline_ms,
}: {
  platform: Platform
  eyes_of: PollEyes
  clock: Clock
  deadline_ms: number
}): Watch {
  /** Does `work` through the pool's eyes, and through another pair where the first ones see less than they should. */
  async function through<T>(
    work: (call: Call) => Promise<Outcome<T>>,
    signal?: AbortSignal,
    isNobodys: (value: T) => boolean = () => false,
  ): Promise<Outcome<T>> {
    const deadline_at = clock.now() + deadline_ms
    const tried: string[] = []
    let outcome: Outcome<T> = NO_EYES
    while (tried.length < PAIRS_MAX) {
      const eyes = eyes_of.lease('poll', tried)
      if (eyes === null || tried.includes(eyes.id)) break
      tried.push(eyes.id)
      outcome = await work({ eyes, use: 'poll', deadline_at, ...(signal && { signal }) })
      const dead = outcome.ok && eyes.whose === 'pool' && isNobodys(outcome.value)
      eyes_of.report(eyes, dead ? DEAD : outcome.ok ? null : outcome.fault)
      if (signal?.aborted || !(dead || (!outcome.ok && isOfTheEyes(outcome.fault)))) break
    }
    return outcome
  }

  const listed = <T>(
    list: (call: Call) => Promise<Outcome<Listing<T>>>,
    signal: AbortSignal,
  ): Promise<Outcome<Listing<T>>> => through(list, signal, ({ logged_in }) => logged_in === false)

  return {
    async page({ kind, place }, paging, signal) {
      const subforums = place.split(JOIN)
      switch (kind) {
        case 'posts': {
          const query = { ...paging, subforums, sort: 'new', t: null }
          return pageOf(await listed((call) => platform.posts(query, call), signal), post)
        }
        case 'comments': {
          const query = { ...paging, subforums }
          return pageOf(await listed((call) => platform.comments(query, call), signal), comment)
        }
        case 'search': {
          const query = { ...paging, q: place, subforum: null, sort: 'new', t: 'all', nsfw: true }
          return pageOf(await listed((call) => platform.search(query, call), signal), post)
        }
        case 'user_posts': {
          const query = { ...paging, name: place, tab: 'submitted', sort: 'new', t: null } as const
          const page = await listed((call) => platform.userItems(query, call), signal)
          return pageOf(page, (item) => item)
        }
        case 'user_comments': {
          const query = { ...paging, name: place, sort: 'new', t: null }
          return pageOf(await listed((call) => platform.userComments(query, call), signal), comment)
        }
        case 'thread':
          return through((call) => threadPage(platform, place, call), signal)
      }
    },

    async subforum(name) {
      if (RESERVED_SUBFORUMS.has(name.toLowerCase())) return { kind: 'reserved' }
      const found = await through((call) => platform.community(name, call))
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
      const found = await through<Dated[]>((call) =>
        prefix === 't1' ? nodesOf(platform, id, call) : platform.postsById([id], call),
      )
      if (!found.ok) return found
      const [row] = found.value
      return ok(row === undefined ? null : row.created_utc * 1000)
    },

    async again(fullnames, signal) {
      const posts = fullnames.filter((it) => it.startsWith('t3_')).map(idOf)
      const comments = fullnames.filter((it) => it.startsWith('t1_')).map(idOf)
      const found: Item[] = []
      if (posts.length > 0) {
        const rows = await through((call) => platform.postsById(posts, call), signal)
        if (!rows.ok) return rows
        found.push(...rows.value.map(post))
      }
      if (comments.length > 0) {
        const nodes = await through((call) => platform.nodesById(comments, call), signal)
        if (!nodes.ok) return nodes
        found.push(...nodes.value.map((node) => comment(platform.commentOf(node))))
      }
      return ok(found)
    },

    clock_offset_ms: () => platform.clock_offset_ms(),
    clock_measured_ms: () => platform.clock_measured_ms(),
  }
}

const idOf = (fullname: string): string => fullname.slice(3)

/** The comments under a post as one page, newest first, with what the tree does not tell them of their thread. */
async function threadPage(
  platform: Platform,
  post_id: string,
  call: Call,
): Promise<Outcome<Page<Item> & { partial: boolean }>> {
  const asked = { post_id, comment_id: null, sort: 'new', depth: null, limit: null }
  const tree = await readFullTree(platform, asked, THREAD_FETCHES, call)
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

type Dated = { created_utc: number }

const NO_EYES = fail({ kind: 'unavailable', status: null, retry_after_s: null })
const DEAD: Fault = { kind: 'login_required' }

async function nodesOf(platform: Platform, id: string, call: Call) {
  const found = await platform.nodesById([id], call)
  return found.ok ? ok(found.value.map((node) => platform.commentOf(node))) : found
}

function pageOf<T>(found: Outcome<Page<T>>, toItem: (row: T) => Item): Outcome<Page<Item>> {
  if (!found.ok) return found
  return ok({ rows: found.value.rows.map(toItem), after: found.value.after })
}
