import type { MediaKind, MediaPost } from '../core/items.ts'
import type { Turn } from '../core/listing.ts'
import { ok, type Outcome } from '../core/outcome.ts'
import type { Call, Platform } from '../platform/platform.ts'
import { type Paged, paging, settlePage } from './listing.ts'

/** A search of posts that carry media; `limit` is how many are scanned. */
export type MediaQuery = Paged & {
  q: string
  kind: MediaKind | 'all'
  sort: string
  t: string
  nsfw: boolean
}
/** Posts that carry media, of so many `scanned`. */
export type MediaBody = { posts: MediaPost[]; scanned: number } & Turn

/** Searches posts and keeps those that show something. `scanned` counts what was looked through. */
export async function searchMedia(
  platform: Platform,
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
