import { type Ask, existed } from './ask.ts'
import { envelope } from './listing.ts'
import type { Comment, Thing } from './model.ts'
import { renderComment } from './native-comment.ts'
import { confidence, controversy } from './ranking.ts'
import { visible } from './viewer.ts'

/** Orders of comments. */
export const TREE_SORTS = [
  'confidence',
  'top',
  'new',
  'controversial',
  'old',
  'random',
  'qa',
  'live',
] as const
export type TreeSort = (typeof TREE_SORTS)[number]

/** The measure a sort puts highest first. */
function measure(sort: TreeSort): (comment: Comment) => number {
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
      // The author's own answers, and what the author answered, come first.
      return (it) =>
        confidence(it) +
        (it.author === it.post.author || it.replies.some((each) => each.author === it.post.author)
          ? 1
          : 0)
  }
}

export type TreeOptions = { sort: TreeSort; limit: number; depth: number }

/** Descendants of a comment that a tree would show. */
function countShown(ask: Ask, comment: Comment): number {
  let count = 0
  const open = [comment]
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    count++
    open.push(...shown(ask, next.replies))
  }
  return count
}

/** What its author deleted, or a shadowed account wrote, stays, masked, only where somebody has answered. */
function shown(ask: Ask, comments: readonly Comment[]): Comment[] {
  const { user } = ask.viewer
  return comments.filter((it) => {
    if (!existed(ask.twist, it)) return false
    if (it.removed === 'author') return it.replies.length > 0
    return it.removed !== null || visible(it, user) || it.replies.length > 0
  })
}

/** The `limit` comments with the highest measure, each only after its parent, none too deep. */
function choose(ask: Ask, roots: readonly Comment[], { sort, limit, depth }: TreeOptions) {
  const worth = measure(sort)
  const lowest = (one: Comment, other: Comment) =>
    Number(one.stickied) - Number(other.stickied) ||
    worth(one) - worth(other) ||
    one.serial - other.serial
  const top = roots[0]?.depth ?? 0
  const open = [...roots].toSorted(lowest)
  const chosen = new Set<Comment>()
  while (chosen.size < limit) {
    const best = open.pop()
    if (best === undefined) break
    chosen.add(best)
    if (best.depth - top + 1 >= depth) continue
    for (const reply of shown(ask, best.replies)) {
      let index = open.length
      while (index > 0 && lowest(open[index - 1] ?? reply, reply) > 0) index--
      open.splice(index, 0, reply)
    }
  }
  return { chosen, order: (one: Comment, other: Comment) => lowest(other, one) }
}

const more = (data: {
  count: number
  name: string
  id: string
  parent_id: string
  depth: number
  children: string[]
}) => JSON.stringify({ kind: 'more', data })

/** Says which siblings were left out. It counts their descendants too. */
function leftOut(ask: Ask, parent: Thing, depth: number, rest: readonly Comment[]): string {
  const [first] = rest
  const id = first?.id ?? '_'
  const count = rest.reduce((sum, it) => sum + countShown(ask, it), 0)
  const children = rest.map((it) => it.id)
  return more({ count, name: `t1_${id}`, id, parent_id: parent.name, depth, children })
}

/** "Continue this thread": the tree is deeper than was asked for. */
const goOn = (parent: Comment, depth: number): string =>
  more({ count: 0, name: 't1__', id: '_', parent_id: parent.name, depth, children: [] })

/** The second listing of a comments page: nested comments, `more` always the last child. */
export function renderTree(
  ask: Ask,
  parent: Thing,
  roots: readonly Comment[],
  options: TreeOptions,
): string {
  const all = shown(ask, roots)
  const { chosen, order } = choose(ask, all, options)

  const level = (under: Thing, siblings: readonly Comment[], depth: number): string[] => {
    const sorted = siblings.toSorted(order)
    const rows = sorted
      .filter((it) => chosen.has(it))
      .map((it) =>
        renderComment(it, ask.viewer, { kind: 'tree', depth, replies: replies(it, depth + 1) }),
      )
    const rest = sorted.filter((it) => !chosen.has(it))
    if (rest.length > 0) rows.push(leftOut(ask, under, depth, rest))
    return rows
  }
  const replies = (comment: Comment, depth: number): string => {
    const below = shown(ask, comment.replies)
    if (below.length === 0) return '""'
    const rows = depth >= options.depth ? [goOn(comment, depth)] : level(comment, below, depth)
    return envelope(ask, rows, { after: null, before: null, dist: null })
  }
  return envelope(ask, level(parent, all, 0), { after: null, before: null, dist: null })
}

const MOST_MORE = 100

/** What is behind a `more`: the comments asked for and what is below them, flat, with `more` nodes of their own. */
export function renderMore(
  ask: Ask,
  asked: readonly Comment[],
  sort: TreeSort,
  render: (comment: Comment) => string,
): string[] {
  const worth = measure(sort)
  const rows: string[] = []
  let room = MOST_MORE
  const add = (under: Thing, siblings: readonly Comment[]) => {
    const rest: Comment[] = []
    for (const comment of siblings) {
      if (room <= 0) {
        rest.push(comment)
        continue
      }
      room--
      rows.push(render(comment))
      add(
        comment,
        shown(ask, comment.replies).toSorted((one, other) => worth(other) - worth(one)),
      )
    }
    if (rest.length > 0) rows.push(leftOut(ask, under, rest[0]?.depth ?? 0, rest))
  }
  for (const comment of shown(ask, asked)) add(comment.parent ?? comment.post, [comment])
  return rows
}
