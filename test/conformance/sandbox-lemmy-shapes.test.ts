// Goal: the simulated Lemmy matches recorded answers of both API generations. Every field it sends was recorded with the same
// type, and every field that all recorded objects of its kind have is sent.
import { describe, expect, test } from 'bun:test'

import { LEMMY } from '../../sandbox/lemmy/kind.ts'
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
  console.log('FORUMD_SOURCES is not set: the shapes of the simulated Lemmy are not compared')

const rows = (kind: string) => (body: unknown) => [
  { kind: `${kind} list`, value: without(body, 'items', 'comments') },
  ...rowsOf(fieldsOf(body)['items'] ?? fieldsOf(body)['comments']).map((value) => ({
    kind,
    value,
  })),
]

const ROUTES: readonly ShapedRoute[] = [
  { endpoint: /v4\/post\/list/, objects: rows('v4 post') },
  { endpoint: /v4\/comment\/list/, objects: rows('v4 comment') },
  { endpoint: /v3\/comment\/list/, objects: rows('v3 comment') },
  {
    endpoint: /v4\/account\/notification/,
    objects: (body) =>
      rowsOf(fieldsOf(body)['items']).map((value) => {
        const { type_ } = fieldsOf(fieldsOf(value)['data'])
        return { kind: `notification of a ${String(type_)}`, value }
      }),
  },
  { endpoint: /v4\/person/, objects: (value) => [{ kind: 'person', value }] },
]

/** Optional in the types of the official client, or depend on the object; also what a signed-in reader alone gets. */
const OPTIONAL =
  /\.(url|body|embed_title|display_name|avatar|banner|bio|sidebar|updated_at|\w+_actions|url_content_type|next_page|prev_page)(\.|$)|\.saved_at$/

/** Optional fields that the recorded objects happen not to have. */
const UNRECORDED = /\.(updated_at|updated|sidebar|description|body|bio): string$/

type Sampled = { endpoint: string; body: unknown }

async function sample(): Promise<Sampled[]> {
  await using sandbox = await startSource(LEMMY, {
    port: 0,
    seed: 5,
    speed: 0,
    world: 'seeded',
    now: () => Date.UTC(2026, 10, 20, 12),
  })
  const { jwt } = sandbox.call('session', { username: 'ada_reads' }) as { jwt: string }
  const [post] = [...sandbox.world.posts.values()].filter(
    ({ creator }) => creator.name === 'ada_reads',
  )
  sandbox.call('comment', { post_id: post?.id, text: 'An answer', author: 'cedar_owl' })
  sandbox.call('message', { from: 'bruno_keeps', to: 'ada_reads', text: 'Hello' })
  const answers: Sampled[] = []
  const get = async (path: string, headers = {}) => {
    const response = await fetch(sandbox.url + path, { headers })
    answers.push({ endpoint: `GET ${path}`, body: response.ok ? await response.json() : null })
  }
  await get('/api/v3/comment/list?limit=50&sort=New')
  sandbox.call('site', { version: '1.0' })
  await get('/api/v4/post/list?limit=50&sort=new')
  await get('/api/v4/comment/list?limit=50&sort=new')
  await get('/api/v4/account/notification/list', { authorization: `Bearer ${jwt}` })
  await get('/api/v4/person?username=ada_reads')
  return answers
}

const recorded = folder === undefined ? [] : await recordedAnswers(`${folder}/lemmy`)
const { all, unserved } = shapesOf(recorded, ROUTES, /./)
const simulated: Shapes = new Map()
const samples = folder === undefined ? [] : await sample()
for (const { endpoint, body } of samples)
  collect(simulated, ROUTES.find((route) => route.endpoint.test(endpoint))?.objects(body) ?? [])

const KINDS = [
  'v4 post',
  'v4 post list',
  'v4 comment',
  'v4 comment list',
  'v3 comment',
  'v3 comment list',
  'notification of a comment',
  'notification of a private_message',
  'person',
]

describe.skipIf(folder === undefined)('Lemmy against what was recorded', () => {
  test('every kind was recorded and is simulated; PieFed is not', () => {
    expect(samples.filter(({ body }) => body === null)).toEqual([])
    expect([...all.keys()].toSorted()).toEqual(KINDS.toSorted())
    expect([...simulated.keys()].toSorted()).toEqual(KINDS.toSorted())
    expect(unserved.every((endpoint) => endpoint.includes('/api/alpha/'))).toBe(true)
  })

  test.each(KINDS)('no %s has a field, or a type of one, that was never recorded', (kind) => {
    const [real, ours] = [all.get(kind), simulated.get(kind)]
    if (real === undefined || ours === undefined) throw new Error('no objects')
    expect(strangeTo([real], ours).filter((field) => !UNRECORDED.test(field))).toEqual([])
  })

  test.each(KINDS)('a %s has every field that all recorded ones have', (kind) => {
    const [real, ours] = [all.get(kind), simulated.get(kind)]
    if (real === undefined || ours === undefined) throw new Error('no objects')
    expect(lackingIn(real, ours).filter((field) => !OPTIONAL.test(field))).toEqual([])
  })
})
