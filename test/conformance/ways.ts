import * as z from 'zod'

import { type Played, type Recording, unescaped } from '../support/replay.ts'
import { changes, differences } from './differences.ts'
import type { Stage } from './stage.ts'

// The ways by which rows reach a caller. Each gives the platform's answer to the daemon and tells the differences.

const API = '/api/forum'

const Row = z.record(z.string(), z.unknown())
export const Rows = z.array(Row)
/** A row that can be asked for. */
export const Named = z.looseObject({ id: z.string() })
/** The platform's own cursor; an empty one is none. */
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

/** The children of a recorded listing, as they are told to those who ask for raw text. */
export function childrenIn({ body, escaped }: Recording): Node[] {
  return Children.parse(JSON.parse(escaped ? unescaped(body) : body)).data.children
}

/** A thing as a listing of it alone. */
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

/** One page of a listing. `counted` rows came with it, and its own cursor counts them. */
export async function page(
  stage: Stage,
  recording: Recording,
  path: string,
  {
    rows,
    after,
    counted,
  }: { rows: Record<string, unknown>; after: string | null; counted: number },
): Promise<string[]> {
  const due = { ...rows, after: after === null ? null : `${after}~${counted}` }
  const { status, body } = await stage.read(recording, API + path)
  const found = differences(due, body)
  const told = status === 200 ? Page.parse(body) : null
  const says = ['complete', 'truncated', 'unknown'].includes(told?.listing_status ?? '')
  if (told && says !== (told.after === null)) found.push(`listing_status: ${told.listing_status}`)
  return at(path, status, found)
}

/** The posts of a page that show something, and no others. */
export async function mediaPage(
  stage: Stage,
  recording: Recording,
  { rows: { posts }, counted }: { rows: { posts: z.infer<typeof Rows> }; counted: number },
) {
  const path = '/search/media?q=cat&nsfw=true'
  const { status, body } = await stage.read(recording, API + path)
  if (status !== 200) return at(path, status, [])
  const shown = MediaPage.parse(body)
  const ids = new Set(shown.posts.map(({ id }) => id))
  // Of a post whose kind the pages leave open either is right.
  const due = posts.filter((it) =>
    'media_kind' in it ? it['media_kind'] !== null : ids.has(String(it['id'])),
  )
  return at(path, status, differences({ posts: due, scanned: counted }, shown))
}

/** One thing that is the whole answer. */
export async function one(stage: Stage, played: Played, path: string, due: unknown) {
  const { status, body } = await stage.read(played, API + path)
  return at(path, status, differences(due, body))
}

/** One comment, as the platform gave it; and the row that monitors make of it. */
export async function oneComment(stage: Stage, played: Played, node: Node, row: unknown) {
  const path = `/comment/${String(node.data['id'])}`
  const { status, body } = await stage.read(played, API + path)
  const found = [
    ...changes({ comment: node }, body, 'comment'),
    ...differences(row, stage.forum.commentOf(node)),
  ]
  return at(path, status, found)
}

/** A tree whose nodes are as the platform gave them, and what stands beside them. */
export async function tree(
  stage: Stage,
  played: Played[],
  path: string,
  { nodes, ...beside }: { nodes: Node[]; post: unknown; meta: unknown },
) {
  const { status, body } = await stage.read(played, API + path)
  const { comments } = z.looseObject({ comments: z.unknown().optional() }).parse(body)
  const found = [
    ...differences({ ...beside, after: null }, body),
    ...changes(nodes, comments, 'nodes'),
  ]
  return at(path, status, found)
}

/** How things stand with comments. */
export async function verify(stage: Stage, recording: Recording, liveness: Record<string, string>) {
  const ids = [...Object.keys(liveness), 'zzzzz0']
  const due = ids.map((id) => ({ id, name: `t1_${id}`, status: liveness[id] ?? 'not_found' }))
  const path = '/comments/verify'
  const { status, body } = await stage.read(recording, API + path, { ids })
  return at(path, status, differences({ comments: due }, body))
}

const at = (path: string, status: number, found: string[]): string[] =>
  status === 200 ? found.map((line) => `${path} ${line}`) : [`${path} answered ${status}`]
