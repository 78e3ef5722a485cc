import type { Node } from '../core/items.ts'
import { isObject } from '../core/object.ts'
import { ok, type Outcome } from '../core/outcome.ts'
import { dataOf, isNode, POST_NEEDS, toPost } from './items.ts'
import type { Tree } from './platform.ts'
import { lacking, rowAt, unreadable } from './read.ts'

/** A post and the nodes below it: two listings in one array, the second of which may be empty. */
export function readTree(base: string, value: unknown): Outcome<Tree> {
  if (!Array.isArray(value)) return unreadable('')
  const posts = childrenOf(value[0])
  if (!posts) return unreadable('[0].data.children')
  const post = dataOf(posts[0], 't3')
  if (!post) return unreadable('[0].data.children[0]')
  const missing = lacking(post, POST_NEEDS)
  if (missing !== null) return unreadable(`[0].data.children[0].data.${missing}`)

  const nodes = childrenOf(value[1])
  if (!nodes) return unreadable('[1].data.children')
  const comments = nodesOf(nodes, '[1].data.children')
  return comments.ok ? ok({ post: toPost(base, post), comments: comments.value }) : comments
}

/** The nodes behind a `more`, flat. Without things there was nothing left to show. */
export function readMore(value: unknown): Outcome<Node[]> {
  const json = isObject(value) ? rowAt(value, 'json') : null
  if (!json) return unreadable('json')
  const data = rowAt(json, 'data')
  if (!data) return ok([])
  const things = data['things']
  return Array.isArray(things)
    ? nodesOf(things, 'json.data.things')
    : unreadable('json.data.things')
}

/** Native nodes as the same objects. One that is rendered for a page, without its text, is no node. */
export function nodesOf(values: readonly unknown[], path: string): Outcome<Node[]> {
  const nodes: Node[] = []
  for (const [index, value] of values.entries()) {
    if (!isNode(value)) return unreadable(`${path}[${index}]`)
    if (value.kind !== 't1' && value.kind !== 'more') return unreadable(`${path}[${index}].kind`)
    if (value.kind === 't1' && typeof value.data['body'] !== 'string')
      return unreadable(`${path}[${index}].data.body`)
    nodes.push(value)
  }
  return ok(nodes)
}

/** The children of a native listing; null when it is none. */
export function childrenOf(value: unknown): readonly unknown[] | null {
  const children = dataOf(value, 'Listing')?.['children']
  return Array.isArray(children) ? children : null
}
