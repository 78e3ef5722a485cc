import { ok, type Outcome } from '../../core/base/result.ts'
import { OWN_TABS } from '../../core/forum/listing.ts'
import type { Call, Listing, Listings, UserTab } from '../port.ts'
import type { NativeRequest } from './client.ts'
import { type Readers, readListing, type RowReaders } from './readers/listing.ts'
import type { SessionCheck } from './session-check.ts'

/** Creates the calls that return a page at a time. */
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

/**
 * Applies the caller's `nsfw` choice. Without it, the preference of the account that makes the
 * request would decide.
 */
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
