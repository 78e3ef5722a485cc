import * as z from 'zod'

import { type Played, type Recording, unescaped } from '../support/replay.ts'
import { changes, differences } from './differences.ts'
import type { ConformanceFixture } from './fixture.ts'

// The routes that return rows. Each serves an answer of the platform to the daemon and returns the differences.

const API = '/api/forum'

const Row = z.record(z.string(), z.unknown())
export const Rows = z.array(Row)
/** A row with an id for lookups. */
export const Named = z.looseObject({ id: z.string() })
/** The platform's cursor; empty: none. */
export const After = z
  .string()
  .nullable()
  .transform((it) => it || null)
export const Node = z.looseObject({ kind: z.string(), data: Row })
export type Node = z.infer<typeof Node>

const Children = z.object({ data: z.object({ children: z.array(Node) }) })
const Page = z.looseObject({ after: z.string().nullable(), listing_status: z.string().optional() })
const MediaPage = z.object({
  posts: z.array(z.looseObject({ id: z.string(), media_kind: z.string(), media: Row })),
  scanned: z.int(),
})

/** The children of a recorded listing, as returned for raw text. */
export function childrenIn({ body, escaped }: Recording): Node[] {
  return Children.parse(JSON.parse(escaped ? unescaped(body) : body)).data.children
}

/** A listing with one item. */
export const wrapped = (thing: Recording): Recording => ({
  ...thing,
  body: `{"kind":"Listing","data":{"after":null,"before":null,"children":[${thing.body}]}}`,
})

/** Every comment of a tree, depth first. */
export const everyComment = (nodes: readonly Node[]): Node[] =>
  nodes.flatMap((node) => {
    const below = Children.safeParse(node.data['replies'])
    const rest = below.success ? everyComment(below.data.data.children) : []
    return node.kind === 't1' ? [node, ...rest] : rest
  })

const LIMIT = 100
const Names = z.array(z.looseObject({ name: z.string() }))

/** A page with pinned rows exceeds its limit; the rows beyond it belong to the next page. */
function cutAtLimit(rows: Record<string, unknown>): Record<string, unknown> {
  for (const [field, list] of Object.entries(rows)) {
    const named = Names.safeParse(list)
    if (!named.success || named.data.length <= LIMIT) continue
    const kept = named.data.slice(0, LIMIT)
    return { [field]: kept, after: kept.at(-1)?.name }
  }
  return {}
}

/** One page of a listing. */
export async function page(
  fixture: ConformanceFixture,
  recording: Recording,
  path: string,
  { rows, after }: { rows: Record<string, unknown>; after: string | null },
): Promise<string[]> {
  const due = { ...rows, after, ...cutAtLimit(rows) }
  const whole = `${path}${path.includes('?') ? '&' : '?'}limit=${LIMIT}`
  const { status, body } = await fixture.read(recording, API + whole)
  const found = differences(due, body)
  const parsed_page = status === 200 ? Page.parse(body) : null
  const status_stated = ['complete', 'truncated', 'unknown'].includes(
    parsed_page?.listing_status ?? '',
  )
  if (parsed_page && status_stated !== (parsed_page.after === null))
    found.push(`listing_status: ${parsed_page.listing_status}`)
  return at(path, status, found)
}

/** The posts of a page that have media. */
export async function mediaPage(
  fixture: ConformanceFixture,
  recording: Recording,
  { rows: { posts }, counted }: { rows: { posts: z.infer<typeof Rows> }; counted: number },
) {
  const path = '/search/media?q=cat&nsfw=true&limit=100'
  const { status, body } = await fixture.read(recording, API + path)
  if (status !== 200) return at(path, status, [])
  const media_page = MediaPage.parse(body)
  const ids = new Set(media_page.posts.map(({ id }) => id))
  // Either kind is correct if the documentation leaves it open.
  const due = posts.filter((it) =>
    'media_kind' in it ? it['media_kind'] !== null : ids.has(String(it['id'])),
  )
  return at(path, status, differences({ posts: due, scanned: counted }, media_page))
}

/** An answer with a single item. */
export async function one(fixture: ConformanceFixture, played: Played, path: string, due: unknown) {
  const { status, body } = await fixture.read(played, API + path)
  return at(path, status, differences(due, body))
}

/** One comment in the platform's form, and its row in monitors. */
export async function oneComment(
  fixture: ConformanceFixture,
  played: Played,
  node: Node,
  row: unknown,
) {
  const path = `/comment/${String(node.data['id'])}`
  const { status, body } = await fixture.read(played, API + path)
  const found = [
    ...changes({ comment: node }, body, 'comment'),
    ...differences(row, fixture.forum.commentOf(node)),
  ]
  return at(path, status, found)
}

/** A tree of nodes in the platform's form, with its metadata. */
export async function tree(
  fixture: ConformanceFixture,
  played: Played[],
  path: string,
  { nodes, ...beside }: { nodes: Node[]; post: unknown; meta: unknown },
) {
  const { status, body } = await fixture.read(played, API + path)
  const { comments } = z.looseObject({ comments: z.unknown().optional() }).parse(body)
  const found = [
    ...differences({ ...beside, after: null }, body),
    ...changes(nodes, comments, 'nodes'),
  ]
  return at(path, status, found)
}

/** The liveness of comments. */
export async function verify(
  fixture: ConformanceFixture,
  recording: Recording,
  liveness: Record<string, string>,
) {
  const ids = [...Object.keys(liveness), 'zzzzz0']
  const due = ids.map((id) => ({ id, name: `t1_${id}`, status: liveness[id] ?? 'not_found' }))
  const path = '/comments/verify'
  const { status, body } = await fixture.read(recording, API + path, { ids })
  return at(path, status, differences({ comments: due }, body))
}

const at = (path: string, status: number, found: string[]): string[] =>
  status === 200 ? found.map((line) => `${path} ${line}`) : [`${path} answered ${status}`]
