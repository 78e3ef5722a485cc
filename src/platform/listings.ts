import { OWN_TABS } from '../core/listing.ts'
import { ok, type Outcome } from '../core/outcome.ts'
import type { Ask } from './client.ts'
import { type Readers, readListing } from './listing.ts'
import type { Call, Listing, Listings, UserTab } from './platform.ts'
import type { Prover } from './proof.ts'
import type { RowReaders } from './readers.ts'

/** Everything that comes a page at a time. */
export function createListings(client: Prover, read: RowReaders): Listings {
  async function list<T>(ask: Ask, readers: Readers<T>, call: Call): Promise<Outcome<Listing<T>>> {
    const answer = await client.get(ask, call)
    if (!answer.ok) return answer
    const page = readListing(answer.value, readers)
    // A page is ten times its rows; whoever waited for it would keep it until all is swept.
    answer.value = null
    return ask.own ? client.ownPage(page, call) : page
  }

  return {
    posts({ subforums, sort, t, limit, after }, call) {
      const path = `${placeOf(subforums)}/${encode(sort)}.json`
      return list({ path_kind: 'posts', path, query: { t, limit, after } }, { t3: read.post }, call)
    },
    comments({ subforums, limit, after }, call) {
      const path = `${placeOf(subforums)}/comments.json`
      const ask = { path_kind: 'comments', path, query: { limit, after } }
      return list(ask, { t1: read.comment }, call)
    },
    async search({ subforum, nsfw, ...query }, call) {
      const within = subforum === null ? null : 1
      const path = `${placeOf(subforum === null ? [] : [subforum])}/search.json`
      const asked = { ...query, type: 'link', restrict_sr: within, include_over_18: adult(nsfw) }
      const ask = { path_kind: 'search', path, query: asked }
      return suitable(await list(ask, { t3: read.post }, call), nsfw)
    },
    async searchMedia({ nsfw, ...query }, call) {
      const asked = { ...query, type: 'link', include_over_18: adult(nsfw) }
      const ask = { path_kind: 'search', path: '/search.json', query: asked }
      return suitable(await list(ask, { t3: read.postWithMedia }, call), nsfw)
    },
    async searchCommunities({ nsfw, ...query }, call) {
      const asked = { ...query, include_over_18: adult(nsfw) }
      const ask = { path_kind: 'search', path: '/subreddits/search.json', query: asked }
      return suitable(await list(ask, { t5: read.community }, call), nsfw)
    },
    async searchUsers({ nsfw, ...query }, call) {
      const asked = { ...query, include_over_18: adult(nsfw) }
      const ask = { path_kind: 'search', path: '/users/search.json', query: asked }
      return suitable(await list(ask, { t2: read.foundUser }, call), nsfw)
    },
    userComments({ name, ...query }, call) {
      const path = `/user/${encode(name)}/comments.json`
      const ask = { path_kind: 'user_listing', path, query, person: 'public' } as const
      return list(ask, { t1: read.comment }, call)
    },
    userItems({ name, tab, ...query }, call) {
      const path = `/user/${encode(name)}/${tab}.json`
      const own = SESSION_ONLY.has(tab)
      const person = own ? ('own' as const) : ('public' as const)
      const ask = { path_kind: 'user_listing', path, query, person, own }
      return list(ask, { t3: read.postItem, t1: read.commentItem }, call)
    },
    feed({ sort, ...query }, call) {
      const ask = { path_kind: 'feed', path: `/${encode(sort)}.json`, query, own: true }
      return list(ask, { t3: read.post }, call)
    },
    communities({ which, ...query }, call) {
      const ask = { path_kind: 'communities', path: `/subreddits/${which}.json`, query }
      return list(ask, { t5: read.community }, call)
    },
  }
}

const encode = encodeURIComponent

/** Several places are one path; none is the front page. */
const placeOf = (subforums: readonly string[]): string =>
  subforums.length === 0 ? '' : `/r/${subforums.map(encode).join('+')}`

const adult = (nsfw: boolean): 'on' | null => (nsfw ? 'on' : null)

/** Unasked, an account's own preference decides what a search shows; ours is the caller's word. */
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
