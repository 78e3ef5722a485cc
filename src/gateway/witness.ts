import { type Outcome } from '../core/outcome.ts'
import type { Call, Listing, Platform } from '../platform/platform.ts'

/** What was seen of a call's listings: one was made for nobody, and whether it had rows. */
type Sight = 'rows' | 'empty'

/** Remembers which calls the platform answered as if nobody had asked. A call that is gone is forgotten. */
export type Witness = {
  /** The same platform, its listings looked at on their way. */
  platform: Platform
  /** How a call was answered that was taken for nobody's; null when none of its listings said so. */
  nobody(call: Call): Sight | null
}

/**
 * A session that has died does not make public reads fail: the platform shows the public page, and only a field of the
 * listing tells. Here it is noted for every call, so that no read has to remember to look.
 */
export function createWitness(platform: Platform): Witness {
  const seen = new WeakMap<Call, Sight>()

  const watched =
    <Query, Row>(list: (query: Query, call: Call) => Promise<Outcome<Listing<Row>>>) =>
    async (query: Query, call: Call) => {
      const listing = await list(query, call)
      if (listing.ok && listing.value.logged_in === false)
        seen.set(call, listing.value.rows.length > 0 ? 'rows' : 'empty')
      return listing
    }

  return {
    platform: {
      ...platform,
      posts: watched(platform.posts),
      comments: watched(platform.comments),
      search: watched(platform.search),
      searchMedia: watched(platform.searchMedia),
      searchCommunities: watched(platform.searchCommunities),
      searchUsers: watched(platform.searchUsers),
      userComments: watched(platform.userComments),
      userItems: watched(platform.userItems),
      feed: watched(platform.feed),
      communities: watched(platform.communities),
    },
    nobody: (call) => seen.get(call) ?? null,
  }
}
