import type { Comment, Node } from '../../core/forum/items.ts'
import { type HiddenReplies, toTree } from '../items.ts'
import { fieldsOf, idAt, numberAt, textAt } from '../values.ts'

type Row = Record<string, unknown>

/** Comments of a tree. `is_cut`: the server has more than it answered. */
export type TreeRows = { rows: Row[]; is_cut: boolean }

const pathOf = (row: Row): string[] => (textAt(fieldsOf(row['comment']), 'path') ?? '').split('.')

/** Replies that the server counts below each comment and the rows lack, without those below another such comment. */
export function missingReplies(rows: readonly Row[]): Map<string, number> {
  const missing = new Map<string, number>()
  const add = (id: string | undefined, count: number): void => {
    const known = id === undefined ? undefined : missing.get(id)
    if (id !== undefined && known !== undefined) missing.set(id, known + count)
  }
  for (const row of rows) {
    const comment = fieldsOf(row['comment'])
    const counts = { ...fieldsOf(row['counts']), ...comment }
    missing.set(String(idAt(comment, 'id')), numberAt(counts, 'child_count') ?? 0)
  }
  for (const row of rows) for (const id of pathOf(row).slice(1, -1)) add(id, -1)
  // From the deepest up: a comment passes on what it lacks itself.
  for (const row of rows.toSorted((a, b) => pathOf(b).length - pathOf(a).length)) {
    const path = pathOf(row)
    const own = Math.max(0, missing.get(path.at(-1) ?? '') ?? 0)
    for (const id of path.slice(1, -1)) add(id, -own)
  }
  return new Map([...missing].filter(([, count]) => count > 0))
}

type TreeBounds = { comment_id: string | undefined; depth: number | null; limit: number | null }

/** Nests comments to the requested depth and number; the others are named by id, or by the comment above them. */
export function cutTree(
  { name: root, comments: count }: { name: string; comments: number },
  comments: readonly Comment[],
  { rows, is_cut }: TreeRows,
  { comment_id, depth, limit }: TreeBounds,
): Node[] {
  const top = comments.find(({ id }) => id === comment_id)?.depth ?? 0
  const shallow = comments.filter((it) => (it.depth ?? 0) - top < (depth ?? Infinity))
  const all = new Set(comments.map(({ name }) => name))
  // The server bounds the rows of a tree: a reply whose parent it left out is no root.
  const isOrphan = ({ id, parent_id }: Comment): boolean =>
    parent_id !== null && parent_id !== root && id !== comment_id && !all.has(parent_id)
  const kept = shallow.filter((it) => !isOrphan(it)).slice(0, limit ?? Infinity)
  const names = new Set(kept.map(({ name }) => name))
  const hidden = new Map<string, HiddenReplies>()
  for (const it of comments) {
    const { name, id, parent_id } = it
    const parent = isOrphan(it) ? root : (parent_id ?? root)
    if (names.has(name) || (parent !== root && !names.has(parent))) continue
    const replies = hidden.get(parent) ?? { parent, ids: [] }
    replies.ids.push(id)
    hidden.set(parent, replies)
  }
  if (is_cut) {
    const missing = missingReplies(rows)
    const below = [...missing.values()].reduce((sum, it) => sum + it, 0)
    if (comment_id === undefined && count > rows.length + below) missing.set(root, 1)
    for (const id of missing.keys()) {
      const parent = id === root ? root : `t1_${id}`
      const is_shown = parent === root || names.has(parent)
      if (is_shown && !hidden.has(parent)) hidden.set(parent, { parent, ids: [] })
    }
  }
  return toTree(root, kept, [...hidden.values()])
}
