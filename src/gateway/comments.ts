import { isObject } from '../core/base/object.ts'
import { ok, type Outcome } from '../core/base/result.ts'
import type { Node, Post } from '../core/forum/items.ts'
import type { Call, SourceReads } from '../platforms/port.ts'

/** The nodes directly under a node, including `more` nodes. */
export const repliesOf = (node: Node): Node[] => childrenOf(node).filter(isNode)

function childrenOf({ data: { replies } }: Node): readonly unknown[] {
  // "" and null both mean no replies.
  if (!isObject(replies) || !isObject(replies['data'])) return []
  const { children } = replies['data']
  return Array.isArray(children) ? children : []
}

/** The same node with other replies, in the platform's own shape. */
export function withReplies(node: Node, children: Node[]): Node {
  const { replies } = node.data
  const listing = isObject(replies) && isObject(replies['data']) ? replies['data'] : EMPTY_LISTING
  const grown = children.length === 0 ? '' : { kind: 'Listing', data: { ...listing, children } }
  return { ...node, data: { ...node.data, replies: grown } }
}

const EMPTY_LISTING = { after: null, dist: null, children: [], before: null }

/**
 * Every node of some trees, from the top down. Never recurses: the depth is set by external data.
 */
export function* everyNode(trees: readonly Node[]): Generator<Node> {
  const waiting = trees.toReversed()
  for (let node = waiting.pop(); node !== undefined; node = waiting.pop()) {
    yield node
    waiting.push(...repliesOf(node).toReversed())
  }
}

/** Number of comments behind the `more` nodes of some trees. A node without a count counts as one. */
export function countMore(trees: readonly Node[]): number {
  let count = 0
  // In no particular order, which takes half the time of top-down order.
  const waiting = [...trees]
  for (let node = waiting.pop(); node !== undefined; node = waiting.pop()) {
    if (node.kind === 'more') {
      const hidden = node.data['count']
      count += typeof hidden === 'number' && hidden >= 1 ? Math.floor(hidden) : 1
    }
    for (const child of childrenOf(node)) if (isNode(child)) waiting.push(child)
  }
  return count
}

/** A text field of a node; null if it has none. */
function textIn({ data }: Node, field: string): string | null {
  const value = data[field]
  return typeof value === 'string' ? value : null
}

const isNode = (value: unknown): value is Node =>
  isObject(value) && typeof value['kind'] === 'string' && isObject(value['data'])

/**
 * The next request to the platform: the nodes behind some ids, or the thread that continues under a
 * comment.
 */
type NextRequest = { kind: 'ids'; ids: string[] } | { kind: 'thread'; comment_id: string }

/** A comment tree that is expanded step by step. */
type CommentTree = {
  /**
   * The next request, with at most `max` ids; null if none is left. A request is repeated only if
   * it was postponed.
   */
  wanted(max: number): NextRequest | null
  insert(wanted: NextRequest, nodes: readonly Node[]): void
  /** The top-level nodes. Unchanged branches are the same objects that the platform returned. */
  trees(): Node[]
}

type TreeNode = {
  node: Node
  /** Null at the top level. */
  parent: TreeNode | null
  children: TreeNode[]
  changed: boolean
  /** Ids behind a `more` node that were not requested yet; null for every other node. */
  hidden: string[] | null
}

/** Creates a tree from the platform's first answer. `root` is the post's fullname. */
function createCommentTree(root: string, nodes: readonly Node[]): CommentTree {
  const top: TreeNode[] = []
  const comments = new Map<string, TreeNode>()
  const placeholders = new Set<TreeNode>()
  const requested_ids = new Map<string, TreeNode>()
  const requested_threads = new Map<string, TreeNode>()

  function add(node: Node, parent: TreeNode | null): TreeNode | null {
    const name = textIn(node, 'name') ?? ''
    if (node.kind !== 'more' && comments.has(name)) return null
    const hidden = node.kind === 'more' ? hiddenIn(node) : null
    const tree_node: TreeNode = { node, parent, children: [], changed: false, hidden }
    const siblings = parent?.children ?? top
    // A `more` node stays last among its siblings.
    const last = siblings.findIndex((sibling) => sibling.hidden !== null)
    if (last === -1 || hidden !== null) siblings.push(tree_node)
    else siblings.splice(last, 0, tree_node)
    if (hidden === null) comments.set(name, tree_node)
    else placeholders.add(tree_node)
    return tree_node
  }

  /** Adds nodes with everything below them. */
  function addAll(given: readonly Node[], parent: TreeNode | null) {
    const waiting = given.map((node) => ({ node, parent })).toReversed()
    for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
      const tree_node = add(next.node, next.parent)
      if (tree_node !== null)
        waiting.push(
          ...repliesOf(next.node)
            .map((node) => ({ node, parent: tree_node }))
            .toReversed(),
        )
    }
  }

  function change(tree_node: TreeNode | null) {
    for (let at = tree_node; at !== null && !at.changed; at = at.parent) at.changed = true
  }

  /** The parent comment of a flat node; null for the top level. */
  function parentFor(node: Node): TreeNode | null {
    const name = textIn(node, 'parent_id')
    if (name === root) return null
    // A reply to a missing comment stays at the place of its `more` node.
    return comments.get(name ?? '') ?? requested_ids.get(textIn(node, 'id') ?? '')?.parent ?? null
  }

  function remove(placeholder: TreeNode) {
    const siblings = placeholder.parent?.children ?? top
    siblings.splice(siblings.indexOf(placeholder), 1)
    placeholders.delete(placeholder)
    change(placeholder.parent)
  }

  /** Removes the requested ids from a `more` node, and the node itself with its last id. */
  function removeRequested(placeholder: TreeNode, before: number) {
    const { hidden, node } = placeholder
    if (hidden === null || hidden.length === before) return
    const [first] = hidden
    if (first === undefined) return remove(placeholder)
    const count = typeof node.data['count'] === 'number' ? node.data['count'] : before
    placeholder.node = {
      ...node,
      data: {
        ...node.data,
        count: Math.max(hidden.length, count - (before - hidden.length)),
        name: `t1_${first}`,
        id: first,
        children: [...hidden],
      },
    }
    change(placeholder.parent)
  }

  addAll(nodes, null)
  return {
    wanted(max) {
      const ids: string[] = []
      for (const placeholder of placeholders)
        for (const id of placeholder.hidden ?? []) {
          if (ids.length === max) return { kind: 'ids', ids }
          if (requested_ids.has(id)) continue
          requested_ids.set(id, placeholder)
          ids.push(id)
        }
      if (ids.length > 0) return { kind: 'ids', ids }
      for (const placeholder of placeholders) {
        const parent = textIn(placeholder.node, 'parent_id') ?? ''
        if (!parent.startsWith('t1_') || requested_threads.has(parent)) continue
        requested_threads.set(parent, placeholder)
        return { kind: 'thread', comment_id: parent.slice('t1_'.length) }
      }
      return null
    },

    insert(wanted, given) {
      if (wanted.kind === 'thread') {
        const name = `t1_${wanted.comment_id}`
        const placeholder = requested_threads.get(name)
        if (placeholder === undefined || given.length === 0) return
        addAll(given, comments.get(name) ?? placeholder.parent)
        remove(placeholder)
        return
      }
      const done = new Set(wanted.ids)
      const [old, count_before] = [[...placeholders], comments.size]
      for (const node of given) {
        const parent = parentFor(node)
        addAll([node], parent)
        change(parent)
      }
      for (const placeholder of old) {
        const before = placeholder.hidden?.length ?? 0
        placeholder.hidden = placeholder.hidden?.filter((id) => !done.has(id)) ?? null
        removeRequested(placeholder, before)
      }
      // An answer holds at most a hundred comments, including replies to the requested ones: ids
      // without room are hidden again.
      if (comments.size > count_before)
        for (const placeholder of placeholders)
          for (const id of placeholder.hidden ?? []) if (done.has(id)) requested_ids.delete(id)
    },

    trees: () => top.map(render),
  }
}

function render(tree_node: TreeNode): Node {
  return tree_node.changed
    ? withReplies(tree_node.node, tree_node.children.map(render))
    : tree_node.node
}

function hiddenIn(node: Node): string[] {
  const { children } = node.data
  return Array.isArray(children) ? children.filter((id) => typeof id === 'string') : []
}

/**
 * The comments under a post, or under one of them; `depth` and `limit` null: the platform's
 * default.
 */
export type TreeQuery = {
  post_id: string
  comment_id: string | null
  sort: string
  depth: number | null
  limit: number | null
}

/**
 * `more_count`: number of comments behind the tree's `more` nodes; `truncated`: true if there is such
 * a node.
 */
export type TreeBody = {
  post: Post
  comments: Node[]
  after: null
  meta: { truncated: boolean; more_count: number }
}

const IDS_A_CALL = 100
/** Maximum number of top-level comments per answer of the platform. */
const FULL_LIMIT = 500

export async function readCommentTree(
  platform: Pick<SourceReads, 'tree'>,
  query: TreeQuery,
  call: Call,
): Promise<Outcome<TreeBody>> {
  const tree = await platform.tree(nativeQuery(query), call)
  return tree.ok ? ok(toBody(tree.value.post, tree.value.comments)) : tree
}

/**
 * The whole tree, within `fetches` further requests. A failed one ends it early: the present part
 * is still a useful answer, and `meta.truncated` marks it as incomplete.
 */
export async function readFullCommentTree(
  platform: SourceReads,
  query: TreeQuery,
  fetches: number,
  call: Call,
): Promise<Outcome<TreeBody>> {
  const tree = await platform.tree(nativeQuery({ ...query, limit: FULL_LIMIT }), call)
  if (!tree.ok) return tree
  const { post, comments } = tree.value
  const comment_tree = createCommentTree(post.name, comments)
  for (let fetched = 0; fetched < fetches; fetched++) {
    const wanted = comment_tree.wanted(IDS_A_CALL)
    if (wanted === null) break
    const grown =
      wanted.kind === 'ids'
        ? await platform.more({ post_id: query.post_id, ids: wanted.ids, sort: query.sort }, call)
        : await readReplies(platform, { ...query, comment_id: wanted.comment_id }, call)
    if (!grown.ok) break
    comment_tree.insert(wanted, grown.value)
  }
  return ok(toBody(post, comment_tree.trees()))
}

/**
 * The replies under one comment, as native nodes; empty if the platform no longer shows the comment
 * there.
 */
export async function readReplies(
  platform: SourceReads,
  query: TreeQuery,
  call: Call,
): Promise<Outcome<Node[]>> {
  const tree = await platform.tree(nativeQuery({ ...query, limit: FULL_LIMIT }), call)
  if (!tree.ok) return tree
  const top = tree.value.comments.find(({ data }) => data['id'] === query.comment_id)
  return ok(top === undefined ? [] : repliesOf(top))
}

const nativeQuery = ({ comment_id, ...query }: TreeQuery) =>
  comment_id === null ? query : { ...query, comment_id }

function toBody(post: Post, comments: Node[]): TreeBody {
  const more_count = countMore(comments)
  return { post, comments, after: null, meta: { truncated: more_count > 0, more_count } }
}
