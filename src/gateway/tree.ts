import type { Node, Post } from '../core/items.ts'
import { ok, type Outcome } from '../core/outcome.ts'
import type { Call, Platform } from '../platform/platform.ts'
import { plant } from './grove.ts'
import { countMore, repliesOf } from './nodes.ts'

/** The comments under a post, or under one of them; `depth` and `limit` null: as the platform likes. */
export type TreeQuery = {
  post_id: string
  comment_id: string | null
  sort: string
  depth: number | null
  limit: number | null
}

/** `more_count` is how many `more` nodes still stand for replies that are not here; `truncated`, whether any does. */
export type TreeBody = {
  post: Post
  comments: Node[]
  after: null
  meta: { truncated: boolean; more_count: number }
}

const IDS_A_CALL = 100
/** As many top-level comments as the platform gives at once. */
const FULL_LIMIT = 500

/** A post and its comments, as deep and as many as was asked. */
export async function readTree(
  platform: Pick<Platform, 'tree'>,
  query: TreeQuery,
  call: Call,
): Promise<Outcome<TreeBody>> {
  const tree = await platform.tree(asked(query), call)
  return tree.ok ? ok(toBody(tree.value.post, tree.value.comments)) : tree
}

/**
 * The whole tree, as far as `fetches` further requests reach. One that fails ends it early: what is
 * already here is a good answer, and `meta.truncated` says that it is not all.
 */
export async function readFullTree(
  platform: Platform,
  query: TreeQuery,
  fetches: number,
  call: Call,
): Promise<Outcome<TreeBody>> {
  const tree = await platform.tree(asked({ ...query, limit: FULL_LIMIT }), call)
  if (!tree.ok) return tree
  const { post, comments } = tree.value
  const grove = plant(post.name, comments)
  for (let fetched = 0; fetched < fetches; fetched++) {
    const wanted = grove.wanted(IDS_A_CALL)
    if (wanted === null) break
    const grown =
      wanted.kind === 'ids'
        ? await platform.more({ post_id: query.post_id, ids: wanted.ids, sort: query.sort }, call)
        : await branch(platform, { ...query, comment_id: wanted.comment_id }, call)
    if (!grown.ok) break
    grove.graft(wanted, grown.value)
  }
  return ok(toBody(post, grove.trees()))
}

/** The replies under one comment, as native nodes; none when the platform no longer shows it there. */
export async function branch(
  platform: Platform,
  query: TreeQuery,
  call: Call,
): Promise<Outcome<Node[]>> {
  const tree = await platform.tree(asked({ ...query, limit: FULL_LIMIT }), call)
  if (!tree.ok) return tree
  const top = tree.value.comments.find(({ data }) => data['id'] === query.comment_id)
  return ok(top === undefined ? [] : repliesOf(top))
}

const asked = ({ comment_id, ...query }: TreeQuery) =>
  comment_id === null ? query : { ...query, comment_id }

function toBody(post: Post, comments: Node[]): TreeBody {
  const more_count = countMore(comments)
  return { post, comments, after: null, meta: { truncated: more_count > 0, more_count } }
}
