// Goal: the simulated Hacker News matches recorded answers of the database and of the search index. Every field it sends was
// recorded with the same type, and every field that all recorded objects of its kind have is sent.
import { HACKERNEWS } from '../../sandbox/hackernews/kind.ts'
import type { NewsWorld } from '../../sandbox/hackernews/model.ts'
import type { SourceSandbox } from '../../sandbox/sources/start.ts'
import {
  compareShapes,
  fieldsOf,
  rowsOf,
  type Sampled,
  type ShapedRoute,
  without,
} from './source-shapes.ts'

/** Items by kind; some recordings hold several by id. */
function items(body: unknown) {
  const all = 'id' in fieldsOf(body) ? [body] : Object.values(fieldsOf(body))
  return all.flatMap((value) => {
    const { type } = fieldsOf(value)
    return typeof type === 'string' ? [{ kind: type, value }] : []
  })
}

function hits(body: unknown) {
  const answer = { kind: 'search', value: without(body, 'hits') }
  const rows = rowsOf(fieldsOf(body)['hits']).map((value) => {
    const is_comment = rowsOf(fieldsOf(value)['_tags']).includes('comment')
    return { kind: is_comment ? 'comment hit' : 'post hit', value }
  })
  // Hits cut by hand have neither tags nor the frame of an answer.
  return 'page' in fieldsOf(body) ? [answer, ...rows] : []
}

/** Rows of a tree, each without its children. */
function tree(value: unknown): { kind: string; value: unknown }[] {
  const { children, type } = fieldsOf(value)
  const kind = type === 'comment' ? 'comment of a tree' : 'post of a tree'
  return [{ kind, value: without(value, 'children') }, ...rowsOf(children).flatMap(tree)]
}

const ROUTES: readonly ShapedRoute[] = [
  { endpoint: /\/v0\/item\//, objects: items },
  {
    endpoint: /\/v0\/(\w+stories|maxitem)/,
    objects: (value) => [{ kind: 'ids', value: rowsOf(value) }],
  },
  { endpoint: /\/v0\/user\//, objects: (value) => [{ kind: 'user', value }] },
  { endpoint: /\/api\/v1\/search/, objects: hits },
  {
    endpoint: /\/api\/v1\/items\//,
    objects: (body) =>
      ('id' in fieldsOf(body) ? [body] : Object.values(fieldsOf(body))).flatMap(tree),
  },
  { endpoint: /\/api\/v1\/users\//, objects: (value) => [{ kind: 'indexed user', value }] },
]

/** Known from the documentation and the source code of the index, beside the recordings. */
const UNRECORDED = [
  '.dead: boolean',
  '.children: array',
  '.children[]: number',
  /^\.(updated|created)_at: string$/,
  /^\.(title|url|points|parent_id): null$/,
  /^\.(parent|story)_id: number$/,
  '.options: array',
  '.text: string',
  /^\._highlightResult\.\w+\.fullyHighlighted: boolean$/,
  '._highlightResult.story_text.matchedWords[]: string',
]

/** Fields that only answers before 2020 have, or that depend on the item. */
const OPTIONAL =
  /relevancy_score|\.(url|title|story_url|story_text|comment_text|story_title|parent_id|points|num_comments|kids|text|about|delay|submitted|score)$|_highlightResult\./

async function sample(sandbox: SourceSandbox<NewsWorld>): Promise<Sampled[]> {
  const all = [...sandbox.world.items.values()]
  const shown = all.filter(({ deleted, visible_at }) => !deleted && visible_at < Infinity)
  const jobs = shown.filter(({ type }) => type === 'job')
  const polls = shown.filter(({ type }) => type === 'poll')
  const ids = [...shown.slice(-300), ...jobs, ...polls, ...polls.flatMap(({ parts }) => parts)].map(
    ({ id }) => id,
  )
  const root = all.findLast(
    ({ kids, root: post, dead }) => kids.length > 3 && post === null && !dead,
  )
  const paths = [
    ...ids.map((id) => `/v0/item/${id}.json`),
    '/v0/topstories.json',
    '/v0/user/cedar_owl.json',
    '/api/v1/search?query=server&hitsPerPage=100',
    '/api/v1/search_by_date?tags=comment&hitsPerPage=100',
    '/api/v1/search_by_date?tags=(story,poll)&hitsPerPage=100',
    `/api/v1/items/${root?.id}`,
    '/api/v1/users/cedar_owl',
  ]
  const answers: Sampled[] = []
  for (const path of paths) {
    const response = await fetch(sandbox.url + path)
    answers.push({ endpoint: `GET ${path}`, body: await response.json() })
  }
  return answers
}

const KINDS = [
  'story, comment, ids, user, search, post hit, comment hit, post of a tree',
  'comment of a tree, indexed user',
].flatMap((line) => line.split(', '))
/** Not recorded; the rows of a story and of a comment hold for them. */
const FURTHER = ['poll', 'pollopt', 'job']

await compareShapes({
  name: 'hackernews',
  kind: HACKERNEWS,
  routes: ROUTES,
  sample,
  kinds: KINDS,
  further: FURTHER,
  unrecorded: UNRECORDED,
  optional: OPTIONAL,
  unserved: /^$/,
})
