// Goal: the simulated Hacker News matches recorded answers of the database and of the search index. Every field it sends was
// recorded with the same type, and every field that all recorded objects of its kind have is sent.
import { describe, expect, test } from 'bun:test'

import { HACKERNEWS } from '../../sandbox/hackernews/kind.ts'
import { startSource } from '../../sandbox/sources/start.ts'
import {
  collect,
  fieldsOf,
  lackingIn,
  recordedAnswers,
  rowsOf,
  type ShapedRoute,
  type Shapes,
  shapesOf,
  strangeTo,
  without,
} from './source-shapes.ts'

const folder = process.env['FORUMD_SOURCES']
if (folder === undefined)
  console.log('FORUMD_SOURCES is not set: the shapes of the simulated Hacker News are not compared')

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
const UNRECORDED = new Set([
  '.dead: boolean',
  '.children: array',
  '.children[]: number',
  '.updated_at: string',
  '.created_at: string',
  '.title: null',
  '.url: null',
  '.points: null',
  '.parent_id: null',
  '.parent_id: number',
  '.story_id: number',
  '.options: array',
  '.text: string',
  '._highlightResult.title.fullyHighlighted: boolean',
  '._highlightResult.comment_text.fullyHighlighted: boolean',
  '._highlightResult.story_title.fullyHighlighted: boolean',
  '._highlightResult.story_text.fullyHighlighted: boolean',
  '._highlightResult.story_url.fullyHighlighted: boolean',
  '._highlightResult.story_text.matchedWords[]: string',
])

/** Fields that only answers before 2020 have, or that depend on the item. */
const OPTIONAL =
  /relevancy_score|\.(url|title|story_url|story_text|comment_text|story_title|parent_id|points|num_comments|kids|text|about|delay|submitted|score)$|_highlightResult\./

type Sampled = { endpoint: string; body: unknown }

async function sample(): Promise<Sampled[]> {
  await using sandbox = await startSource(HACKERNEWS, {
    port: 0,
    seed: 5,
    speed: 0,
    world: 'seeded',
    now: () => Date.UTC(2026, 10, 20, 12),
  })
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

const recorded = folder === undefined ? [] : await recordedAnswers(`${folder}/hackernews`)
const { all, unserved } = shapesOf(recorded, ROUTES, /./)
const simulated: Shapes = new Map()
const samples = folder === undefined ? [] : await sample()
for (const { endpoint, body } of samples)
  collect(simulated, ROUTES.find((route) => route.endpoint.test(endpoint))?.objects(body) ?? [])

const KINDS = [
  'story',
  'comment',
  'ids',
  'user',
  'search',
  'post hit',
  'comment hit',
  'post of a tree',
  'comment of a tree',
  'indexed user',
]
/** Not recorded; the rows of a story and of a comment hold for them. */
const FURTHER = ['poll', 'pollopt', 'job']

describe.skipIf(folder === undefined)('Hacker News against what was recorded', () => {
  test('every kind was recorded and is simulated', () => {
    expect([...all.keys()].filter((kind) => !FURTHER.includes(kind)).toSorted()).toEqual(
      KINDS.toSorted(),
    )
    expect([...simulated.keys()].toSorted()).toEqual([...KINDS, ...FURTHER].toSorted())
    expect(unserved).toEqual([])
    const strange = KINDS.flatMap((kind) => {
      const [real, ours] = [all.get(kind), simulated.get(kind)]
      return real === undefined || ours === undefined ? [] : strangeTo([real], ours)
    })
    expect([...UNRECORDED].filter((field) => !strange.includes(field))).toEqual([])
  })

  test.each(KINDS)('no %s has a field, or a type of one, that was never recorded', (kind) => {
    const [real, ours] = [all.get(kind), simulated.get(kind)]
    if (real === undefined || ours === undefined) throw new Error('no objects')
    expect(strangeTo([real], ours).filter((field) => !UNRECORDED.has(field))).toEqual([])
  })

  test.each(KINDS)('a %s has every field that all recorded ones have', (kind) => {
    const [real, ours] = [all.get(kind), simulated.get(kind)]
    if (real === undefined || ours === undefined) throw new Error('no objects')
    expect(lackingIn(real, ours).filter((field) => !OPTIONAL.test(field))).toEqual([])
  })
})
