import * as z from 'zod'

import { startSandbox } from '../../sandbox/server/sandbox.ts'
import { readCommentTree } from '../../src/gateway/comments.ts'
import { ANONYMOUS, type SourceReads } from '../../src/platforms/port.ts'
import { readNativeTree as readAnswer } from '../../src/platforms/reddit/readers/items.ts'
import { classify } from '../../src/platforms/reddit/response.ts'
import { type Bench, median, ratioOf } from './figures/results.ts'

const COMMENTS = 1500
const page_of_comments = z.object({
  data: z.object({
    children: z.tuple([z.object({ kind: z.string(), data: z.record(z.string(), z.unknown()) })]),
  }),
})
const [PARSE, COPY, OURS] = ['JSON.parse', 'JSON.parse and copying', 'parse and map'] as const

const listing = (children: unknown[]) => ({
  kind: 'Listing',
  data: { after: null, before: null, modhash: '', children },
})

/** A page of a thread with so many comments, nested and side by side, in the platform's format. */
async function page(): Promise<string> {
  await using sandbox = await startSandbox({
    port: 0,
    seed: 1,
    speed: 0,
    world: 'seeded',
    now: Date.now,
  })
  const list = await fetch(`${sandbox.url}/r/all/comments.json?limit=1&raw_json=1`)
  const [comment] = page_of_comments.parse(await list.json()).data.children
  const posts = await fetch(`${sandbox.url}/r/all/new.json?limit=1&raw_json=1`)
  const post = await posts.json()
  // Chains of ten, as in real threads: some comments reply to the post, the others to comments.
  let id_count = 0
  const chain = (left: number): unknown => {
    const id = `c${(id_count += 1).toString(36)}`
    const replies = left > 1 ? listing([chain(left - 1)]) : ''
    return { kind: comment.kind, data: { ...comment.data, id, name: `t1_${id}`, replies } }
  }
  const chains = Array.from({ length: COMMENTS / 10 }, () => chain(10))
  return JSON.stringify([post, listing(chains)])
}

type Native = { data: Record<string, unknown> & { replies?: Children | '' } }
type Children = { data: { children: Native[] } }

/** The fields of a comment as a hand-written service copies them, without any check: the floor of mapping. */
const copied = ({ data }: Native): object => ({
  id: data['id'],
  name: data['name'],
  parent_id: data['parent_id'],
  post_id: data['link_id'],
  author: data['author'],
  subforum: data['subreddit'],
  body: data['body'],
  permalink: data['permalink'],
  upvotes: data['score'],
  created: new Date(Number(data['created_utc']) * 1000).toISOString(),
  created_utc: data['created_utc'],
  edited: data['edited'],
  distinguished: data['distinguished'],
  stickied: data['stickied'] === true,
  locked: data['locked'] === true,
  flair: data['author_flair_text'] ?? null,
  is_submitter: data['is_submitter'] === true,
  replies: data.replies ? data.replies.data.children.map(copied) : [],
})

const HEADERS = new Headers({ 'content-type': 'application/json' })

export const trees: Bench = {
  name: 'trees',
  title: 'Deep trees: 1,500 comments',
  about:
    'A thread of 1,500 comments, ten deep, from the platform’s response text to the API answer: validated, parsed, classified, mapped, and its placeholders counted. In one process, alternating with parsing alone, and with parsing and copying eighteen fields of each comment without any check.',
  async run({ rounds, smoke }) {
    const text = await page()
    const tree: SourceReads['tree'] = () => {
      const found = classify(
        { status: 200, headers: HEADERS, body: text },
        { now: 0, native: true },
      )
      return Promise.resolve(found.ok ? readAnswer('https://forum.example', found.value) : found)
    }
    const variants = {
      [PARSE]: async () => JSON.parse(text).length === 2,
      [COPY]: async () => {
        const [, comments]: [unknown, Children] = JSON.parse(text)
        return comments.data.children.map(copied).length === COMMENTS / 10
      },
      [OURS]: async () => {
        const query = { post_id: 'x', comment_id: null, sort: 'best', depth: null, limit: null }
        const call = { identity: ANONYMOUS, deadline_at: Number.POSITIVE_INFINITY }
        return (await readCommentTree({ tree }, query, call)).ok
      },
    }
    const times = new Map<string, number[]>(Object.keys(variants).map((name) => [name, []]))
    const each = smoke ? 5 : 100
    // The first round warms up.
    for (let round = 0; round <= rounds; round++)
      for (const [name, variant] of Object.entries(variants)) {
        const taken: number[] = []
        for (let n = 0; n < each; n++) {
          const began = performance.now()
          if (!(await variant())) throw new Error(`${name} did not read the thread`)
          taken.push(performance.now() - began)
        }
        if (round > 0) times.get(name)?.push(median(taken))
      }
    const found = [...times].map(([name, ms]) => ({ name, rounds: { ms } }))
    return {
      figures: [{ key: 'ms', label: 'ms', digits: 2 }],
      variants: found,
      ratios: [
        ratioOf(found, 'ms', [OURS, PARSE], { label: 'time to JSON.parse', most: 1.5 }),
        ratioOf(found, 'ms', [COPY, PARSE], { label: 'of copying to JSON.parse' }),
      ],
      notes: [`The text has ${text.length.toLocaleString('en')} characters.`],
    }
  },
}
