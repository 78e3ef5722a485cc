import * as z from 'zod'

import { once } from '../base/lazy.ts'
import { visibleText } from '../enrichment/markdown.ts'
import type { Node } from '../forum/items.ts'

const TEXT_MAX = 2000
/** Comments above an item, and below it. */
const ANCESTORS_MAX = 30
const REPLIES_MAX = 20

/** A post or a comment around an item; null: not known. */
type ThreadRow = {
  id: string
  kind: 'post' | 'comment'
  author: string | null
  title: string | null
  text: string
  score: number | null
  url: string | null
  created: string | null
}

/** The surroundings of an item. `found` false: the read did not contain it. */
export type ItemThread = {
  post: ThreadRow | null
  ancestors: ThreadRow[]
  replies: ThreadRow[]
  found: boolean
}

const text = () => z.string().nullable().catch(null)

const postShape = once(() =>
  z.looseObject({
    name: z.string(),
    author: text(),
    title: text(),
    text: text(),
    upvotes: z.number().nullable().catch(null),
    url: text(),
    created: text(),
  }),
)

const commentShape = once(() =>
  z.looseObject({
    name: z.string(),
    author: text(),
    body: text(),
    score: z.number().nullable().catch(null),
    permalink: text(),
    created_utc: z.number().nullable().catch(null),
  }),
)

const cut = (source: string | null): string =>
  visibleText(source ?? '')
    .slice(0, TEXT_MAX)
    .toWellFormed()

/** A post as a read gives it; null if it has no name. */
function toThreadPost(row: unknown): ThreadRow | null {
  const parsed = postShape().safeParse(row)
  if (!parsed.success) return null
  const { name, author, title, text: source, upvotes, url, created } = parsed.data
  return { id: name, kind: 'post', author, title, text: cut(source), score: upvotes, url, created }
}

/** A comment as the node of a tree; `origin`: address of the platform, for its path. */
function toThreadComment({ data }: Node, origin: string | null): ThreadRow | null {
  const parsed = commentShape().safeParse(data)
  if (!parsed.success) return null
  const { name, author, body, score, permalink, created_utc } = parsed.data
  const url = permalink === null || origin === null ? null : URL.parse(permalink, origin)
  return {
    id: name,
    kind: 'comment',
    author,
    title: null,
    text: cut(body),
    score,
    url: url?.protocol === 'https:' || url?.protocol === 'http:' ? url.href : null,
    created: created_utc === null ? null : new Date(created_utc * 1000).toISOString(),
  }
}

/**
 * The surroundings of a comment within the tree of its post, or of the post itself. `nodes`: every node of the tree;
 * `repliesOf`: those directly under a node.
 */
export function threadOf({
  name,
  post,
  top,
  nodes,
  repliesOf,
}: {
  name: string
  post: unknown
  top: readonly Node[]
  nodes: Iterable<Node>
  repliesOf: (node: Node) => readonly Node[]
}): ItemThread {
  const post_row = toThreadPost(post)
  const origin = post_row?.url ?? null
  const rows = (list: readonly Node[]) =>
    list.flatMap((node) => (node.kind === 't1' ? (toThreadComment(node, origin) ?? []) : []))
  if (name.startsWith('t3_'))
    return { post: post_row, ancestors: [], replies: rows(top).slice(0, REPLIES_MAX), found: true }
  const parents = new Map<Node, Node>()
  let found: Node | null = null
  for (const node of nodes) {
    if (node.data['name'] === name) found = node
    for (const child of repliesOf(node)) parents.set(child, node)
  }
  if (found === null) return { post: post_row, ancestors: [], replies: [], found: false }
  const above: Node[] = []
  for (let at = parents.get(found); at !== undefined && above.length < ANCESTORS_MAX;) {
    above.unshift(at)
    at = parents.get(at)
  }
  return {
    post: post_row,
    ancestors: rows(above),
    replies: rows(repliesOf(found)).slice(0, REPLIES_MAX),
    found: true,
  }
}
