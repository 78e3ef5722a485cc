import { renderComment, renderOldComment } from '../render/comments.ts'
import { renderPost } from '../render/posts.ts'
import { existed, type SandboxRequest } from '../server/request.ts'
import { json, refusal, type SandboxResponse } from '../server/response.ts'
import { isVisible } from '../server/viewer.ts'
import type { SandboxComment, Thing } from '../world/model.ts'
import { confidence, controversy } from '../world/ranking.ts'
import { accessError } from '../world/subforum-access.ts'
import { limitOf, listingEnvelope } from './listing.ts'

/** Sort orders of comments. */
const TREE_SORTS = [
  'confidence',
  'top',
  'new',
  'controversial',
  'old',
  'random',
  'qa',
  'live',
] as const
type TreeSort = (typeof TREE_SORTS)[number]

/** Measure by which a sort orders comments, highest first. */
function measure(sort: TreeSort): (comment: SandboxComment) => number {
  switch (sort) {
    case 'confidence':
      return confidence
    case 'top':
      return ({ ups, downs }) => ups - downs
    case 'controversial':
      return controversy
    case 'old':
      return ({ created_s }) => -created_s
    case 'new':
    case 'live':
      return ({ created_s }) => created_s
    case 'random':
      return ({ serial }) => (serial * 2_654_435_761) % 4_096
    case 'qa':
      // The author's answers, and comments that the author answered, come first.
      return (it) =>
        confidence(it) +
        (it.author === it.post.author || it.replies.some((each) => each.author === it.post.author)
          ? 1
          : 0)
  }
}

type TreeOptions = { sort: TreeSort; limit: number; depth: number }

/** Number of visible descendants of a comment. */
function countVisible(request: SandboxRequest, comment: SandboxComment): number {
  let count = 0
  const open = [comment]
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    count++
    open.push(...visibleComments(request, next.replies))
  }
  return count
}

/**
 * Comments that a tree shows. One that its author deleted, or by a shadowed account, appears
 * masked, and only if it has answers.
 */
function visibleComments(
  request: SandboxRequest,
  rows: readonly SandboxComment[],
): SandboxComment[] {
  const { user } = request.viewer
  return rows.filter((it) => {
    if (!existed(request.patch, it)) return false
    if (it.removed === 'author') return it.replies.length > 0
    return it.removed !== null || isVisible(it, user) || it.replies.length > 0
  })
}

/**
 * The `limit` comments with the highest measure, each only after its parent, within the depth
 * limit.
 */
function chooseComments(
  request: SandboxRequest,
  roots: readonly SandboxComment[],
  { sort, limit, depth }: TreeOptions,
) {
  const worth = measure(sort)
  const lowest = (one: SandboxComment, other: SandboxComment) =>
    Number(one.stickied) - Number(other.stickied) ||
    worth(one) - worth(other) ||
    one.serial - other.serial
  const top = roots[0]?.depth ?? 0
  const open = [...roots].toSorted(lowest)
  const chosen = new Set<SandboxComment>()
  while (chosen.size < limit) {
    const best = open.pop()
    if (best === undefined) break
    chosen.add(best)
    if (best.depth - top + 1 >= depth) continue
    for (const reply of visibleComments(request, best.replies)) {
      let index = open.length
      while (index > 0 && lowest(open[index - 1] ?? reply, reply) > 0) index--
      open.splice(index, 0, reply)
    }
  }
  return { chosen, order: (one: SandboxComment, other: SandboxComment) => lowest(other, one) }
}

const moreNode = (data: {
  count: number
  name: string
  id: string
  parent_id: string
  depth: number
  children: string[]
}) => JSON.stringify({ kind: 'more', data })

/** `more` node of omitted siblings. Its count includes their descendants. */
function placeholder(
  request: SandboxRequest,
  parent: Thing,
  depth: number,
  rest: readonly SandboxComment[],
): string {
  const [first] = rest
  const id = first?.id ?? '_'
  const count = rest.reduce((sum, it) => sum + countVisible(request, it), 0)
  const children = rest.map((it) => it.id)
  return moreNode({ count, name: `t1_${id}`, id, parent_id: parent.name, depth, children })
}

/** "Continue this thread" node: the tree is deeper than requested. */
const continuation = (parent: SandboxComment, depth: number): string =>
  moreNode({ count: 0, name: 't1__', id: '_', parent_id: parent.name, depth, children: [] })

/** Second listing of a comments page: nested comments, `more` always the last child. */
function renderTree(
  request: SandboxRequest,
  parent: Thing,
  roots: readonly SandboxComment[],
  options: TreeOptions,
): string {
  const all = visibleComments(request, roots)
  const { chosen, order } = chooseComments(request, all, options)

  const level = (under: Thing, siblings: readonly SandboxComment[], depth: number): string[] => {
    const sorted = siblings.toSorted(order)
    const rows = sorted
      .filter((it) => chosen.has(it))
      .map((it) =>
        renderComment(it, request.viewer, { kind: 'tree', depth, replies: replies(it, depth + 1) }),
      )
    const rest = sorted.filter((it) => !chosen.has(it))
    if (rest.length > 0) rows.push(placeholder(request, under, depth, rest))
    return rows
  }
  const replies = (comment: SandboxComment, depth: number): string => {
    const below = visibleComments(request, comment.replies)
    if (below.length === 0) return '""'
    const rows =
      depth >= options.depth ? [continuation(comment, depth)] : level(comment, below, depth)
    return listingEnvelope(request, rows, { after: null, before: null, dist: null })
  }
  return listingEnvelope(request, level(parent, all, 0), { after: null, before: null, dist: null })
}

const MOST_MORE = 100

/**
 * Content of a `more` node: the requested comments and their descendants, flat, with `more` nodes
 * of their own.
 */
function renderMore(
  request: SandboxRequest,
  targets: readonly SandboxComment[],
  sort: TreeSort,
  render: (comment: SandboxComment) => string,
): string[] {
  const worth = measure(sort)
  const rows: string[] = []
  let remaining = MOST_MORE
  const add = (under: Thing, siblings: readonly SandboxComment[]) => {
    const rest: SandboxComment[] = []
    for (const comment of siblings) {
      if (remaining <= 0) {
        rest.push(comment)
        continue
      }
      remaining--
      rows.push(render(comment))
      add(
        comment,
        visibleComments(request, comment.replies).toSorted(
          (one, other) => worth(other) - worth(one),
        ),
      )
    }
    if (rest.length > 0) rows.push(placeholder(request, under, rest[0]?.depth ?? 0, rest))
  }
  for (const comment of visibleComments(request, targets))
    add(comment.parent ?? comment.post, [comment])
  return rows
}

const DEFAULT_COMMENTS = 200
const MOST_COMMENTS = 500
const DEEPEST = 10
const MOST_CONTEXT = 8
const MOST_CHILDREN = 100

const treeSort = (word: string | null): TreeSort =>
  TREE_SORTS.find((sort) => sort === word) ?? 'confidence'

/** `/comments/<id>[/slug[/<comment>]]`, alone or under `/r/<name>`: the post, then the tree. */
export function commentsPage(
  request: SandboxRequest,
  {
    id = '',
    subforum_name,
    comment_id,
  }: { id?: string; subforum_name?: string; comment_id?: string },
): SandboxResponse {
  const { query, world } = request
  const post = world.things.get(`t3_${id}`)
  if (post?.kind !== 't3') return refusal(404)
  const access_error = accessError(post.subforum, request)
  if (access_error !== null) return access_error
  // A post of another subforum, or one that only its author can see, is not found.
  if (
    subforum_name !== undefined &&
    subforum_name.toLowerCase() !== post.subforum.name.toLowerCase()
  )
    return refusal(404)
  if (post.author.standing === 'shadowed' && post.author !== request.viewer.user)
    return refusal(404)

  const branch_id = comment_id ?? query.get('comment')
  const branch = branch_id
    ? branchOf(request, branch_id, post)
    : { parent: post, roots: post.comments }
  if (branch === null) return refusal(404)
  const depth = Number.parseInt(query.get('depth') ?? '', 10)
  const options = {
    sort: treeSort(query.get('sort')),
    limit: limitOf(query, DEFAULT_COMMENTS, MOST_COMMENTS),
    depth: depth >= 1 ? Math.min(DEEPEST, depth) : DEEPEST,
  }
  const head = listingEnvelope(request, [renderPost(post, request.viewer)], {
    after: null,
    before: null,
    dist: 1,
  })
  return json(`[${head},${renderTree(request, branch.parent, branch.roots, options)}]`)
}

/**
 * Branch that begins `context` parents above a comment. A removed comment has none; one of another
 * post is undefined.
 */
function branchOf(
  { query, world }: SandboxRequest,
  id: string,
  post: Thing,
): { parent: Thing; roots: SandboxComment[] } | null {
  const comment = world.things.get(`t1_${id}`)
  if (comment?.kind !== 't1' || comment.post !== post) return null
  if (comment.removed === 'author' && comment.replies.length === 0)
    return { parent: post, roots: [] }
  const context = Number.parseInt(query.get('context') ?? '0', 10)
  let root = comment
  for (let above = Math.min(MOST_CONTEXT, context); above > 0 && root.parent; above--)
    root = root.parent
  return { parent: root.parent ?? post, roots: [root] }
}

/** `/api/morechildren`: flat. Without `.json` the rows are rendered HTML for the old pages. */
export function moreChildren(request: SandboxRequest, asJson: boolean): SandboxResponse {
  const { query, world } = request
  const post = world.things.get(query.get('link_id') ?? '')
  if (post?.kind !== 't3' || accessError(post.subforum, request) !== null) return refusal(403)
  const ids = (query.get('children') ?? '').split(',').filter((id) => id !== '')
  if (ids.length === 0 || ids.length > MOST_CHILDREN) return refusal(400)
  const targets = ids.flatMap((id) => {
    const comment = world.things.get(`t1_${id}`)
    return comment?.kind === 't1' && comment.post === post ? [comment] : []
  })
  const render = asJson
    ? (comment: SandboxComment) =>
        renderComment(comment, request.viewer, { kind: 'flat', depth: comment.depth })
    : renderOldComment
  const things = renderMore(request, targets, treeSort(query.get('sort')), render)
  if (query.get('api_type') !== 'json')
    return json('{"jquery":[[0,1,"call",["body"]]],"success":true}')
  return json(`{"json":{"errors":[],"data":{"things":[${things.join(',')}]}}}`)
}
