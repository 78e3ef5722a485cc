import type { Node } from '../core/items.ts'
import { isObject } from '../core/object.ts'

/** The nodes directly under a node, `more` nodes among them. */
export const repliesOf = (node: Node): Node[] => childrenOf(node).filter(isNode)

function childrenOf({ data: { replies } }: Node): readonly unknown[] {
  // "" and null both mean none.
  if (!isObject(replies) || !isObject(replies['data'])) return []
  const { children } = replies['data']
  return Array.isArray(children) ? children : []
}

/** The same node with these nodes under it, in the platform's own dress. */
export function withReplies(node: Node, children: Node[]): Node {
  const { replies } = node.data
  const listing = isObject(replies) && isObject(replies['data']) ? replies['data'] : EMPTY_LISTING
  const grown = children.length === 0 ? '' : { kind: 'Listing', data: { ...listing, children } }
  return { ...node, data: { ...node.data, replies: grown } }
}

const EMPTY_LISTING = { after: null, dist: null, children: [], before: null }

/** Every node of some trees, from the top down. Never recurses: a stranger decides how deep a tree is. */
export function* everyNode(trees: readonly Node[]): Generator<Node> {
  const waiting = trees.toReversed()
  for (let node = waiting.pop(); node !== undefined; node = waiting.pop()) {
    yield node
    waiting.push(...repliesOf(node).toReversed())
  }
}

/** How many `more` nodes some trees hold. */
export function countMore(trees: readonly Node[]): number {
  let count = 0
  // In no order, which costs half of what the order from the top down would.
  const waiting = [...trees]
  for (let node = waiting.pop(); node !== undefined; node = waiting.pop()) {
    if (node.kind === 'more') count++
    for (const child of childrenOf(node)) if (isNode(child)) waiting.push(child)
  }
  return count
}

/** A text field of a node; null where there is none. */
export function textIn({ data }: Node, field: string): string | null {
  const value = data[field]
  return typeof value === 'string' ? value : null
}

const isNode = (value: unknown): value is Node =>
  isObject(value) && typeof value['kind'] === 'string' && isObject(value['data'])
