import { ok, type Outcome } from '../../core/base/result.ts'
import { OWN_TABS } from '../../core/forum/listing.ts'
import type { Transport } from '../../net/transport.ts'
import type { Random } from '../../runtime/runtime.ts'
import { createFence, createLeftOut, fencedReads, type LeftOutRows } from '../fence.ts'
import type {
  Acts,
  Call,
  ItemStates,
  Listing,
  Listings,
  Payer,
  SourceReads,
  Use,
  UserTab,
} from '../port.ts'
import { createSourceTrace, type SourceState } from '../source-state.ts'
import type { LeftOut } from '../source.ts'
import { textAt } from '../values.ts'
import {
  createClient,
  createSessionCheck,
  type NativeRequest,
  type SessionCheck,
} from './client.ts'
import { createAbout, createById } from './lookups.ts'
import type { Headroom, IdentityBudget } from './pacer.ts'
import { toComment } from './readers/items.ts'
import {
  createReaders,
  type Reader,
  type Readers,
  readListing,
  readPeople,
  type RowReaders,
} from './readers/listing.ts'
import type { ClientOptions } from './request.ts'
import { createActs } from './writes/writes.ts'

export type ForumOptions = ClientOptions & {
  /** Of the source. */
  name: string
  random: Random
  /** Counts rows that are left out; default: its own. */
  rows_left_out?: LeftOutRows | undefined
  /** Address of the chat; absent: no chat. */
  chat_url?: string | undefined
  /** Without it only small pictures can be sent. */
  store?: Transport | undefined
  link_hosts?: readonly string[] | undefined
}

export type Forum = SourceReads & {
  acts: Acts
  states: ItemStates
  /**
   * Requests that a use (default `read`) may make now with this identity; if none, the wait until
   * the next one.
   */
  headroom(payer: Payer, use?: Use): Headroom
  /** Rate budget of an identity for display; null before its first request. */
  budget(payer: Payer): IdentityBudget | null
  isDown(): boolean
  state(): SourceState
  /** Names of users whom the account has blocked: the platform leaves their items out of what it receives. */
  blocked(call: Call): Promise<Outcome<string[]>>
  /** Lead of its clock over ours, ms; 0 until three answers were measured. */
  clock_offset_ms(): number
  /** The highest age of the last answers in caches, ms. */
  copy_ms(): number
  /** True after three answers with a date: the clock's offset is known. */
  isClockKnown(): boolean
  /** Rows that were left out since the start; null: none. */
  left_out(): LeftOut | null
}

/** Makes requests with cookies, with a bearer token or anonymously. */
export function createForum(options: ForumOptions): Forum {
  const trace = createSourceTrace(options.clock)
  const client = createClient({ ...options, trace })
  const session_check = createSessionCheck(client, options.clock)
  const { rows_left_out: left_out = createLeftOut(options.name, options) } = options
  const read = createReaders(client.base, left_out.add)
  const by_id = createById(session_check, read, options.clock)
  const about = createAbout(session_check, read)
  const commentOf: SourceReads['commentOf'] = ({ data }) => toComment(client.base, data)
  const { clock, random, chat_url = '', store, link_hosts = [] } = options
  const fence = createFence({ ...options, left_out, commentOf, trace })
  return {
    ...fencedReads(
      { ...createListings(session_check, read), ...by_id, ...about, me: client.me },
      fence,
    ),
    left_out: left_out.now,
    acts: createActs({
      client,
      platform: { nodesById: by_id.nodesById, user: about.user, commentOf },
      clock,
      random,
      chat_url,
      store,
      link_hosts,
    }),
    headroom: client.headroom,
    budget: client.budget,
    isDown: client.isDown,
    state: trace.state,
    async blocked(call) {
      const request = { path_kind: 'blocked', path: '/prefs/blocked.json', own: true }
      const answer = await session_check.get(request, call)
      return answer.ok ? readPeople(answer.value, BLOCKED_USER) : answer
    },
    isClockKnown: client.isClockKnown,
    commentOf,
    clock_offset_ms: client.clock_offset_ms,
    copy_ms: client.copy_ms,
  }
}

const BLOCKED_USER: Reader<string> = {
  needs: { name: 'string' },
  map: (row) => textAt(row, 'name') ?? '',
}

export function createListings(client: SessionCheck, read: RowReaders): Listings {
  async function list<T>(
    request: NativeRequest,
    readers: Readers<T>,
    call: Call,
  ): Promise<Outcome<Listing<T>>> {
    const answer = await client.get(asPublic(request, call), call)
    if (!answer.ok) return answer
    const page = readListing(answer.value, readers)
    // Drops the parsed page, ten times the size of its rows: a minor GC would not free it.
    answer.value = null
    return request.own ? client.ownPage(page, call) : page
  }

  return {
    posts({ subforums, sort, t, limit, after }, call) {
      const path = `${placeOf(subforums)}/${encode(sort)}.json`
      return list({ path_kind: 'posts', path, query: { t, limit, after } }, { t3: read.post }, call)
    },
    comments({ subforums, limit, after }, call) {
      const path = `${placeOf(subforums)}/comments.json`
      const request = { path_kind: 'comments', path, query: { limit, after } }
      return list(request, { t1: read.comment }, call)
    },
    async search({ subforum, nsfw, ...query }, call) {
      const within = subforum === null ? null : 1
      const path = `${placeOf(subforum === null ? [] : [subforum])}/search.json`
      const native_query = {
        ...query,
        type: 'link',
        restrict_sr: within,
        include_over_18: adult(nsfw),
      }
      const request = { path_kind: 'search', path, query: native_query }
      return suitable(await list(request, { t3: read.post }, call), nsfw)
    },
    async searchMedia({ nsfw, ...query }, call) {
      const native_query = { ...query, type: 'link', include_over_18: adult(nsfw) }
      const request = { path_kind: 'search', path: '/search.json', query: native_query }
      return suitable(await list(request, { t3: read.postWithMedia }, call), nsfw)
    },
    async searchCommunities({ nsfw, ...query }, call) {
      const native_query = { ...query, include_over_18: adult(nsfw) }
      const request = { path_kind: 'search', path: '/subreddits/search.json', query: native_query }
      return suitable(await list(request, { t5: read.community }, call), nsfw)
    },
    async searchUsers({ nsfw, ...query }, call) {
      const native_query = { ...query, include_over_18: adult(nsfw) }
      const request = { path_kind: 'search', path: '/users/search.json', query: native_query }
      return suitable(await list(request, { t2: read.foundUser }, call), nsfw)
    },
    userComments({ name, ...query }, call) {
      const path = `/user/${encode(name)}/comments.json`
      const request = { path_kind: 'user_listing', path, query, person: 'public' } as const
      return list(request, { t1: read.comment }, call)
    },
    userItems({ name, tab, ...query }, call) {
      const path = `/user/${encode(name)}/${tab}.json`
      const own = SESSION_ONLY.has(tab)
      const person = own ? ('own' as const) : ('public' as const)
      const request = { path_kind: 'user_listing', path, query, person, own }
      return list(request, { t3: read.postItem, t1: read.commentItem }, call)
    },
    feed({ sort, ...query }, call) {
      const request = { path_kind: 'feed', path: `/${encode(sort)}.json`, query, own: true }
      return list(request, { t3: read.post }, call)
    },
    communities({ which, ...query }, call) {
      const request = { path_kind: 'communities', path: `/subreddits/${which}.json`, query }
      return list(request, { t5: read.community }, call)
    },
  }
}

/**
 * A request whose answer does not depend on what the pool's account has hidden or prefers. Callers'
 * own sessions keep their settings.
 */
function asPublic(request: NativeRequest, { identity }: Call): NativeRequest {
  if (identity.whose !== 'pool' || request.own) return request
  const { include_over_18 } = request.query ?? {}
  const adult_off = include_over_18 === null ? { include_over_18: 'off' } : {}
  return { ...request, query: { ...request.query, ...adult_off, show: 'all' } }
}

const encode = encodeURIComponent

/** Path of several subforums; empty for the front page. */
const placeOf = (subforums: readonly string[]): string =>
  subforums.length === 0 ? '' : `/r/${subforums.map(encode).join('+')}`

const adult = (nsfw: boolean): 'on' | null => (nsfw ? 'on' : null)

/** Without it, the preference of the account that makes the request would decide. */
function suitable<T extends { over_18: boolean | null }>(
  page: Outcome<Listing<T>>,
  nsfw: boolean,
): Outcome<Listing<T>> {
  if (!page.ok || nsfw) return page
  const { rows: all, left_out = 0, ...rest } = page.value
  const rows = all.filter((it) => it.over_18 !== true)
  return ok({ ...rest, rows, left_out: left_out + all.length - rows.length })
}

const SESSION_ONLY: ReadonlySet<UserTab> = new Set(OWN_TABS)
