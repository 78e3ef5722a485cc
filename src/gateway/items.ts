import { fail, ok, type Outcome } from '../core/base/result.ts'
import type {
  Item,
  ItemLiveness,
  MediaKind,
  MediaPost,
  Moderator,
  Post,
} from '../core/forum/items.ts'
import type { ListingKind, OwnTab, PageEnd } from '../core/forum/listing.ts'
import { bareId } from '../core/forum/permalink.ts'
import type { Call, SourceReads } from '../platforms/port.ts'
import { requireAccount } from './identity.ts'
import { type Paged, pagedRead, paging, settlePage, type Work } from './listing.ts'

/** Posts by their ids, and the ids that the platform does not return. */
export type ByIdBody = {
  /** In the requested order, without repeats. */
  posts: Post[]
  meta: {
    /** `unknown` if some are missing: they may be deleted or not visible to us. */
    listing_status: 'complete' | 'unknown'
    /** Always false: more ids than one request takes are refused. */
    truncated: false
    missing_fullnames: string[]
  }
}

/** Reads posts by their ids, without prefix. At most 100. */
export async function readById(
  platform: SourceReads,
  requested_ids: readonly string[],
  call: Call,
): Promise<Outcome<ByIdBody>> {
  const ids = [...new Set(requested_ids)]
  const found = await platform.postsById(ids, call)
  if (!found.ok) return found
  const posts = new Map(found.value.map((post) => [post.id, post]))
  const missing = ids.filter((id) => !posts.has(id))
  return ok({
    posts: ids.flatMap((id) => posts.get(id) ?? []),
    meta: {
      listing_status: missing.length === 0 ? 'complete' : 'unknown',
      truncated: false,
      missing_fullnames: missing.map((id) => `t3_${id}`),
    },
  })
}

/** `id` as requested; `name` is null if it is not a valid comment id. */
type Verified = { id: string; name: string | null; status: ItemLiveness }
/** Liveness of comments, in the requested order. */
export type VerifyBody = { comments: Verified[] }

/** Checks the liveness of comments: one entry per requested id, in the same order, with repeats. */
export async function verifyComments(
  platform: SourceReads,
  requested_ids: readonly string[],
  call: Call,
): Promise<Outcome<VerifyBody>> {
  const ids = requested_ids.map((id) => bareId('t1_', id))
  const valid_ids = [...new Set(ids.filter((id) => id !== null))]
  const found = valid_ids.length === 0 ? ok(new Map()) : await platform.liveness(valid_ids, call)
  if (!found.ok) return found
  const comments = requested_ids.map((id, index): Verified => {
    const bare = ids[index] ?? null
    if (bare === null) return { id, name: null, status: 'not_found' }
    return { id, name: `t1_${bare}`, status: found.value.get(bare) ?? 'not_found' }
  })
  return ok({ comments })
}

/** A search of posts with media; `limit` is the number of posts to scan. */
export type MediaQuery = Paged & {
  q: string
  kind: MediaKind | 'all'
  sort: string
  t: string
  nsfw: boolean
}
export type MediaBody = { posts: MediaPost[]; scanned: number } & PageEnd

/** Searches posts and returns those with media. `scanned` counts all posts searched. */
export async function searchMedia(
  platform: SourceReads,
  { kind, q, sort, t, nsfw, ...paged }: MediaQuery,
  call: Call,
): Promise<Outcome<MediaBody>> {
  const page = await platform.searchMedia({ q, sort, t, nsfw, ...paging(paged) }, call)
  if (!page.ok) return page
  const { rows, turn } = settlePage('search', paged, page.value)
  const posts = rows.flatMap((post) => {
    const { media } = post
    return media !== null && (kind === 'all' || media.kind === kind) ? [{ ...post, media }] : []
  })
  return ok({ posts, scanned: page.value.rows.length, ...turn })
}

/** A listing of an account that only its owner sees. */
export type OwnQuery = Paged & { name: string; tab: OwnTab; sort: string; t: string | null }
export type OwnBody = { items: Item[] } & PageEnd

// The platform no longer fills this listing: an empty one proves nothing about the session.
const listingKind = ({ tab }: OwnQuery): ListingKind =>
  tab === 'gilded' ? 'user' : 'chronological'

/** The account is verified first: for a dead session the platform returns other rows or none. */
export function ownItems(platform: SourceReads): Work<OwnQuery, OwnBody> {
  const page = pagedRead(
    listingKind,
    ({ name, tab, sort, t, ...paged }: OwnQuery, call) =>
      platform.userItems({ name, tab, sort, t, ...paging(paged) }, call),
    (items) => ({ items }),
  )
  return async (query, call) => {
    const me = await requireAccount(platform, call)
    if (!me.ok) return me
    const { name, is_suspended } = me.value
    if (name.toLowerCase() !== query.name.toLowerCase()) {
      const other = await platform.user(query.name, call)
      if (!other.ok && other.fault.kind === 'not_found') return other
      return fail({ kind: 'forbidden', reason: 'other_account' })
    }
    if (is_suspended) return fail({ kind: 'forbidden', reason: 'user_suspended' })
    return page(query, call)
  }
}

/** The moderators of a subforum. Needs a session: anonymous clients get the list only sometimes. */
export const moderatorsOf =
  (platform: SourceReads): Work<{ name: string }, { moderators: Moderator[] }> =>
  async ({ name }, call) => {
    const me = await requireAccount(platform, call)
    if (!me.ok) return me
    const moderators = await platform.moderators(name, call)
    return moderators.ok ? ok({ moderators: moderators.value }) : moderators
  }
