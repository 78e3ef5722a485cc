import { renderSubforum, renderUser } from '../render/users.ts'
import type { SandboxRequest } from '../server/request.ts'
import { json, type SandboxResponse } from '../server/response.ts'
import type { Subforum, Thing } from '../world/model.ts'
import { hot, rankBy, timeRangeSeconds } from '../world/ranking.ts'
import { parseSearchExpression } from '../world/search-query.ts'
import { findSubforums, publicSubforums } from '../world/subforum-access.ts'
import { inOrder, type RowSource } from '../world/timeline.ts'
import { DEEPEST, directory, listing, listingEnvelope } from './listing.ts'
import { matchingSubforums } from './subforums.ts'
import { usersMatching } from './users.ts'

/** Depth limit of a search, except when sorted by new. */
const DEEPEST_SEARCH = 250
const LONGEST_QUERY = 512

/** `/search` and `/r/<name>/search`. Comments are not searchable: posts are returned instead. */
export function searchListing(request: SandboxRequest, joined: string | null): SandboxResponse {
  const { query } = request
  const types = (query.get('type') ?? 'link').split(',')
  const restricted = joined !== null && ['1', 'on', 'true'].includes(query.get('restrict_sr') ?? '')
  const subforums =
    restricted && joined !== 'all' ? findSubforums(request, joined) : publicSubforums(request)
  if (!Array.isArray(subforums)) return subforums
  const q = (query.get('q') ?? '').trim().slice(0, LONGEST_QUERY)
  if (q === '')
    return json(listingEnvelope(request, [], { after: null, before: null, facets: true }))
  if (types.includes('sr'))
    return subforumResults(request, matchingSubforums(request, publicSubforums(request)))
  if (types.includes('user'))
    return json(
      directory(
        request,
        usersMatching(request),
        ({ id }) => `t2_${id}`,
        (it) => renderUser(it, request.world),
      ),
    )
  const newest = query.get('sort') === 'new'
  return json(
    listing(request, matchingPosts(request, subforums, q), {
      deepest: newest ? DEEPEST : DEEPEST_SEARCH,
      facets: true,
    }),
  )
}

/** Without results the platform sends a string with braces in it. */
function subforumResults(request: SandboxRequest, rows: readonly Subforum[]): SandboxResponse {
  if (rows.length === 0) return json('"{}"')
  return json(
    directory(
      request,
      rows,
      ({ id }) => `t5_${id}`,
      (it) => renderSubforum(it, request.viewer),
    ),
  )
}

function matchingPosts(
  request: SandboxRequest,
  subforums: readonly Subforum[],
  q: string,
): RowSource<Thing> {
  const { query, viewer } = request
  const sort = query.get('sort') ?? 'relevance'
  const adult = ['1', 'on', 'true'].includes(query.get('include_over_18') ?? '')
  const t = query.get('t')
  const minute = Math.floor(viewer.now_s / 60)
  const key = `search ${sort} ${t} ${minute} ${adult} ${subforums.map(({ id }) => id).join('+')} ${q}`
  return request.cache(key, () => {
    const measure = parseSearchExpression(q)
    const since_s = viewer.now_s - timeRangeSeconds(t, 'all')
    const scored = new Map<Thing, number>()
    for (const { posts: candidates } of subforums)
      for (const post of candidates) {
        if (post.created_s <= since_s || post.removed !== null || (post.over_18 && !adult)) continue
        const worth = measure(post)
        if (worth > 0) scored.set(post, worth)
      }
    return inOrder(order(scored, sort))
  })
}

function order(scored: ReadonlyMap<Thing, number>, sort: string): Thing[] {
  const things = [...scored.keys()]
  switch (sort) {
    case 'new':
      return rankBy(things, (it) => it.created_s)
    case 'hot':
      return rankBy(things, hot)
    case 'top':
      return rankBy(things, (it) => it.ups - it.downs)
    case 'comments':
      return rankBy(things, (it) => (it.kind === 't3' ? it.comment_count : 0))
    default:
      return rankBy(things, (it) => scored.get(it) ?? 0)
  }
}
