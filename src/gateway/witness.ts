import type { Outcome } from '../core/outcome.ts'
import type { Call, Listing, Listings, Platform } from '../platform/platform.ts'

/** Remembers which calls the platform answered as if nobody had asked. A call that is gone is forgotten. */
export type Witness = {
  /** The same platform, its listings looked at on their way. */
  platform: Platform
  /** Whether a listing of a call said that it was for nobody. */
  isNobodys(call: Call): boolean
  /** Whether a listing had no rows, and did not tell that it was for somebody: it may have been for nobody. */
  isDoubtful(call: Call): boolean
}

/**
 * A session that has died does not make public reads fail: the platform shows the public page, and only a field of the
 * listing tells. Here it is noted for every call, so that no read has to remember to look.
 */
export function createWitness(platform: Platform): Witness {
  const strangers = new WeakSet<Call>()
  const doubtful = new WeakSet<Call>()

  const watched =
    <Query, Row>(list: (query: Query, call: Call) => Promise<Outcome<Listing<Row>>>) =>
    async (query: Query, call: Call) => {
      const listing = await list(query, call)
      if (!listing.ok) return listing
      const { rows, logged_in } = listing.value
      if (logged_in === false) strangers.add(call)
      if (logged_in !== true && rows.length === 0) doubtful.add(call)
      return listing
    }

  // The type asks for every one: a listing that is not watched would let a dead session pass for a living one.
  const listings: Listings = {
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
  }
  return {
    platform: { ...platform, ...listings },
    isNobodys: (call) => strangers.has(call),
    isDoubtful: (call) => doubtful.has(call),
  }
}
