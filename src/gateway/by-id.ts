import type { Post } from '../core/items.ts'
import { ok, type Outcome } from '../core/outcome.ts'
import type { Call, Platform } from '../platform/platform.ts'

/** Posts by their ids, and which of them the platform does not show. */
export type ByIdBody = {
  /** In the order asked, each once. */
  posts: Post[]
  meta: {
    /** `unknown` when some are missing: they may be gone, or kept from us. */
    listing_status: 'complete' | 'unknown'
    /** Never: more ids than one request takes are refused before it. */
    truncated: false
    missing_fullnames: string[]
  }
}

/** Posts by their ids, without prefix. At most 100. */
export async function readById(
  platform: Platform,
  asked: readonly string[],
  call: Call,
): Promise<Outcome<ByIdBody>> {
  const ids = [...new Set(asked)]
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
