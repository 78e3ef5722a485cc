import { type Answer, json, refusal } from './answer.ts'
import type { Ask } from './ask.ts'
import { envelope, limitOf } from './listing.ts'
import type { Comment, Thing } from './model.ts'
import { renderComment, renderOldComment } from './native-comment.ts'
import { renderPost } from './native-post.ts'
import { refused } from './places.ts'
import { renderMore, renderTree, TREE_SORTS, type TreeSort } from './tree.ts'

const USUAL_COMMENTS = 200
const MOST_COMMENTS = 500
const DEEPEST = 10
const MOST_CONTEXT = 8
const MOST_CHILDREN = 100

const treeSort = (word: string | null): TreeSort =>
  TREE_SORTS.find((sort) => sort === word) ?? 'confidence'

/** `/comments/<id>[/slug[/<comment>]]`, alone or under `/r/<name>`: the post, then the tree. */
export function comments(
  ask: Ask,
  { id = '', place, comment_id }: { id?: string; place?: string; comment_id?: string },
): Answer {
  const { query, world } = ask
  const post = world.things.get(`t3_${id}`)
  if (post?.kind !== 't3') return refusal(404)
  const no = refused(post.subforum, ask)
  if (no !== null) return no
  // A post that stands elsewhere, or whose author only shows to himself, is not here.
  if (place !== undefined && place.toLowerCase() !== post.subforum.name.toLowerCase())
    return refusal(404)
  if (post.author.standing === 'shadowed' && post.author !== ask.viewer.user) return refusal(404)

  const wanted = comment_id ?? query.get('comment')
  const branch = wanted ? branchOf(ask, wanted, post) : { parent: post, roots: post.comments }
  if (branch === null) return refusal(404)
  const asked_depth = Number.parseInt(query.get('depth') ?? '', 10)
  const options = {
    sort: treeSort(query.get('sort')),
    limit: limitOf(query, USUAL_COMMENTS, MOST_COMMENTS),
    depth: asked_depth >= 1 ? Math.min(DEEPEST, asked_depth) : DEEPEST,
  }
  const head = envelope(ask, [renderPost(post, ask.viewer)], {
    after: null,
    before: null,
    dist: 1,
  })
  return json(`[${head},${renderTree(ask, branch.parent, branch.roots, options)}]`)
}

/** The branch that begins `context` parents above a comment; a vanished comment has none, an alien one is absent. */
function branchOf(
  { query, world }: Ask,
  id: string,
  post: Thing,
): { parent: Thing; roots: Comment[] } | null {
  const comment = world.things.get(`t1_${id}`)
  if (comment?.kind !== 't1' || comment.post !== post) return null
  if (comment.removed === 'author' && comment.replies.length === 0)
    return { parent: post, roots: [] }
  const asked = Number.parseInt(query.get('context') ?? '0', 10)
  let root = comment
  for (let above = Math.min(MOST_CONTEXT, asked); above > 0 && root.parent; above--)
    root = root.parent
  return { parent: root.parent ?? post, roots: [root] }
}

/** `/api/morechildren`: flat. Without `.json` the rows come rendered, as the platform's old pages want them. */
export function moreChildren(ask: Ask, asJson: boolean): Answer {
  const { query, world } = ask
  const post = world.things.get(query.get('link_id') ?? '')
  if (post?.kind !== 't3' || refused(post.subforum, ask) !== null) return refusal(403)
  const ids = (query.get('children') ?? '').split(',').filter((id) => id !== '')
  if (ids.length === 0 || ids.length > MOST_CHILDREN) return refusal(400)
  const asked = ids.flatMap((id) => {
    const comment = world.things.get(`t1_${id}`)
    return comment?.kind === 't1' && comment.post === post ? [comment] : []
  })
  const render = asJson
    ? (comment: Comment) =>
        renderComment(comment, ask.viewer, { kind: 'flat', depth: comment.depth })
    : renderOldComment
  const things = renderMore(ask, asked, treeSort(query.get('sort')), render)
  if (query.get('api_type') !== 'json')
    return json('{"jquery":[[0,1,"call",["body"]]],"success":true}')
  return json(`{"json":{"errors":[],"data":{"things":[${things.join(',')}]}}}`)
}
