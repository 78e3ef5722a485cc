import type { Node } from '../core/items.ts'
import { repliesOf, textIn, withReplies } from './nodes.ts'

/** What to ask the platform for next: the nodes behind some ids, or the thread that goes on under a comment. */
type Wanted = { kind: 'ids'; ids: string[] } | { kind: 'thread'; comment_id: string }

/** A comment tree that can grow. */
export type Grove = {
  /** The next thing to ask for, at most `max` ids; null when there is none. The same again only where it was put off. */
  wanted(max: number): Wanted | null
  /** Puts what the platform gave for it where it belongs. */
  graft(wanted: Wanted, nodes: readonly Node[]): void
  /** The top-level nodes. Nodes under which nothing changed are the very objects the platform gave. */
  trees(): Node[]
}

type Twig = {
  node: Node
  /** Null on top. */
  parent: Twig | null
  children: Twig[]
  changed: boolean
  /** Ids behind a `more` node that were not asked for yet; null for every other node. */
  hidden: string[] | null
}

/** Starts a tree from the platform's first answer. `root` is the post's fullname. */
export function plant(root: string, nodes: readonly Node[]): Grove {
  const top: Twig[] = []
  const comments = new Map<string, Twig>()
  const buds = new Set<Twig>()
  const asked_ids = new Map<string, Twig>()
  const asked_threads = new Map<string, Twig>()

  function add(node: Node, parent: Twig | null): Twig | null {
    const name = textIn(node, 'name') ?? ''
    if (node.kind !== 'more' && comments.has(name)) return null
    const hidden = node.kind === 'more' ? hiddenIn(node) : null
    const twig: Twig = { node, parent, children: [], changed: false, hidden }
    const beside = parent?.children ?? top
    // `more` stands last among its siblings, whatever comes after it.
    const last = beside.findIndex((sibling) => sibling.hidden !== null)
    if (last === -1 || hidden !== null) beside.push(twig)
    else beside.splice(last, 0, twig)
    if (hidden === null) comments.set(name, twig)
    else buds.add(twig)
    return twig
  }

  /** Adds nodes with all that hangs below them. */
  function addAll(given: readonly Node[], parent: Twig | null) {
    const waiting = given.map((node) => ({ node, parent })).toReversed()
    for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
      const twig = add(next.node, next.parent)
      if (twig !== null)
        waiting.push(
          ...repliesOf(next.node)
            .map((node) => ({ node, parent: twig }))
            .toReversed(),
        )
    }
  }

  function change(twig: Twig | null) {
    for (let at = twig; at !== null && !at.changed; at = at.parent) at.changed = true
  }

  /** The comment a flat node belongs under; null for the top. */
  function placeFor(node: Node): Twig | null {
    const name = textIn(node, 'parent_id')
    if (name === root) return null
    // What hangs on a comment that is gone stays where its `more` node was.
    return comments.get(name ?? '') ?? asked_ids.get(textIn(node, 'id') ?? '')?.parent ?? null
  }

  function remove(bud: Twig) {
    const beside = bud.parent?.children ?? top
    beside.splice(beside.indexOf(bud), 1)
    buds.delete(bud)
    change(bud.parent)
  }

  /** Takes the ids that were asked for out of a `more` node, and the node away with the last of them. */
  function shrink(bud: Twig, before: number) {
    const { hidden, node } = bud
    if (hidden === null || hidden.length === before) return
    const [first] = hidden
    if (first === undefined) return remove(bud)
    const count = typeof node.data['count'] === 'number' ? node.data['count'] : before
    bud.node = {
      ...node,
      data: {
        ...node.data,
        count: Math.max(hidden.length, count - (before - hidden.length)),
        name: `t1_${first}`,
        id: first,
        children: [...hidden],
      },
    }
    change(bud.parent)
  }

  addAll(nodes, null)
  return {
    wanted(max) {
      const ids: string[] = []
      for (const bud of buds)
        for (const id of bud.hidden ?? []) {
          if (ids.length === max) return { kind: 'ids', ids }
          if (asked_ids.has(id)) continue
          asked_ids.set(id, bud)
          ids.push(id)
        }
      if (ids.length > 0) return { kind: 'ids', ids }
      for (const bud of buds) {
        const parent = textIn(bud.node, 'parent_id') ?? ''
        if (!parent.startsWith('t1_') || asked_threads.has(parent)) continue
        asked_threads.set(parent, bud)
        return { kind: 'thread', comment_id: parent.slice('t1_'.length) }
      }
      return null
    },

    graft(wanted, given) {
      if (wanted.kind === 'thread') {
        const name = `t1_${wanted.comment_id}`
        const bud = asked_threads.get(name)
        if (bud === undefined || given.length === 0) return
        addAll(given, comments.get(name) ?? bud.parent)
        remove(bud)
        return
      }
      const done = new Set(wanted.ids)
      const [old, known] = [[...buds], comments.size]
      for (const node of given) {
        const parent = placeFor(node)
        addAll([node], parent)
        change(parent)
      }
      for (const bud of old) {
        const before = bud.hidden?.length ?? 0
        bud.hidden = bud.hidden?.filter((id) => !done.has(id)) ?? null
        shrink(bud, before)
      }
      // An answer holds a hundred comments, whatever hangs on those asked for: what it had no room for is hidden anew.
      if (comments.size > known)
        for (const bud of buds)
          for (const id of bud.hidden ?? []) if (done.has(id)) asked_ids.delete(id)
    },

    trees: () => top.map(render),
  }
}

function render(twig: Twig): Node {
  return twig.changed ? withReplies(twig.node, twig.children.map(render)) : twig.node
}

function hiddenIn(node: Node): string[] {
  const { children } = node.data
  return Array.isArray(children) ? children.filter((id) => typeof id === 'string') : []
}
