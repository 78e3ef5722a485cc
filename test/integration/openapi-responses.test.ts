import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'

import * as z from 'zod'

import { TAKEN_FIELDS } from '../../src/core/forum/session.ts'
import { withoutReferences } from '../../src/mcp/tools.ts'
import { pathsShape } from '../support/openapi-paths.ts'
import { startTestDaemon } from '../support/test-daemon.ts'

// Many calls each, on a machine that may be busy.
setDefaultTimeout(60_000)

// The document describes the service, so that generated clients work.

const schema_shape = z.record(z.string(), z.json())
const operation_shape = z.object({
  parameters: z.array(z.object({ name: z.string(), in: z.string() })).default([]),
  responses: z.record(
    z.string(),
    z.object({
      // Some answers are not JSON: events, a feed.
      content: z
        .object({ 'application/json': z.object({ schema: schema_shape }).optional() })
        .optional(),
    }),
  ),
})
const document_shape = z.object({
  paths: pathsShape(operation_shape),
})

/** For calls that change nothing. */
let shared: Awaited<ReturnType<typeof startDocumented>>
beforeAll(async () => {
  shared = await startDocumented()
})
afterAll(() => shared.house[Symbol.asyncDispose]())

/** A seeded daemon, its document, and calls that are checked against it. */
async function startDocumented() {
  const daemon = await startTestDaemon({
    world: 'seeded',
    change: (config) => {
      config.limits.key_burst = 0
      config.limits.key_rate = 0
    },
  })
  const { paths } = document_shape.parse(
    withoutReferences((await daemon.call('/openapi.json')).body),
  )

  /** Difference between an answer and the document; null if it conforms. */
  function judge(method: string, template: string, status: number, body: unknown): string | null {
    // The other prefix of monitoring is described in a sentence.
    const path_documented = template.replace(/^\/api(?=\/forum\/monitor\/)/, '')
    const response = paths[path_documented]?.[method.toLowerCase()]?.responses[status]
    if (!response) return `${method} ${template} does not tell of ${status}`
    const declared = response.content?.['application/json']?.schema ?? {}
    const { error } = z.fromJSONSchema(declared).safeParse(body)
    return error ? `${method} ${template} ${status}: ${z.prettifyError(error)}` : null
  }

  return {
    house: daemon,
    paths,
    /** Calls, and checks the answer against the document. */
    async get(template: string, path = template) {
      const { status, body } = await daemon.call(path)
      return { status, body, wrong: judge('GET', template, status, body) }
    },
    async post(template: string, sent: object) {
      const { status, body } = await daemon.send(template, sent)
      return { status, body, wrong: judge('POST', template, status, body) }
    },
  }
}

const A = '/api/forum'

test.each([
  ['/health', '', 200],
  ['/health/ready', '', 200],
  ['/account/me', '', 200],
  ['/account/payments', '', 200],
  ['/account/usage', '?bucket=hour', 200],
  ['/account/usage', '?bucket=week', 400],
  [`${A}/posts`, '?subforum=coffee&limit=100', 200],
  [`${A}/posts`, '?subforum=RoastersLounge', 403],
  [`${A}/posts`, '?subforum=nosuchplace', 404],
  [`${A}/posts`, '', 400],
  [`${A}/search`, '?q=coffee&min_score=1&sort_type=score', 200],
  [`${A}/search/communities`, '?q=coffee', 200],
  [`${A}/search/comments`, '?q=coffee', 200],
  [`${A}/search/comments/deep`, '?q=grinder', 200],
  [`${A}/search/media`, '?q=the&limit=100', 200],
  [`${A}/search/users`, '?q=ada', 200],
  [`${A}/comments`, '?permalink=nowhere', 400],
  ['/forum/monitor/health', '?id=mon_x', 404],
  ['/forum/monitor/items', '?id=mon_x', 404],
  ['/forum/monitor/items', '', 400],
  ['/forum/monitor/deliveries', '?status=lost', 400],
])('GET %s%s conforms to the document: %i', async (path, query, expected) => {
  const { status, wrong } = await shared.get(path, path + query)

  expect([status, wrong]).toEqual([expected, null])
})

test.each([
  [`${A}/sub/{name}/top`, 'coffee'],
  [`${A}/sub/{name}/about`, 'coffee'],
  [`${A}/sub/{name}/comments`, 'coffee'],
  [`${A}/user/{name}`, 'ada_reads'],
  [`${A}/user/{name}/comments`, 'ada_reads'],
  [`${A}/user/{name}/submitted`, 'ada_reads'],
  [`${A}/user/{name}`, 'dimitri_late'],
])('GET %s of %s conforms to the document', async (template, name) => {
  expect(await shared.get(template, template.replace('{name}', name))).toMatchObject({
    status: 200,
    wrong: null,
  })
})

test('a post, its comments and one of them conform to the document', async () => {
  const it = shared
  const [first] = (await it.get(`${A}/search`, `${A}/search?q=coffee&min_comments=1`)).body.posts
  const tree = await it.get(`${A}/post/{id}/comments`, `${A}/post/${first.id}/comments`)
  const comment = tree.body.comments[0].data.id
  const answers = [
    tree,
    await it.get(`${A}/post/{id}`, `${A}/post/${first.id}`),
    await it.get(`${A}/comments/{postId}`, `${A}/comments/${first.name}?depth=1`),
    await it.get(`${A}/comments`, `${A}/comments?permalink=${first.permalink}`),
    await it.get(`${A}/comment/{id}`, `${A}/comment/${comment}?replies=true`),
    await it.post(`${A}/comments/verify`, { ids: [comment, 'zzzz', '???'] }),
  ]

  expect(answers.map(({ status, wrong }) => [status, wrong])).toEqual(
    answers.map(() => [200, null]),
  )
})

test.each(['', '/api'])('monitors and targets under %s/ conform to the document', async (at) => {
  const it = await startDocumented()
  await using _ = it.house
  const M = `${at}/forum/monitor`
  const target = await it.post(`${M}/webhook/create`, { url: 'https://receiver.test/' })
  const monitor = await it.post(`${M}/add`, { filter_spec: { subforum: 'coffee', kind: 'both' } })
  const named = { id: monitor.body.id }
  const answers = [
    target,
    monitor,
    await it.post(`${M}/update`, { ...named, webhook_ids: [target.body.id] }),
    await it.get(`${M}/list`),
    await it.get(`${M}/health`, `${M}/health?id=${named.id}`),
    await it.get(`${M}/deliveries`),
    await it.get(`${M}/items`, `${M}/items?id=${named.id}`),
    await it.post(`${M}/feed/rotate`, named),
    await it.get(`${M}/webhook/list`),
    await it.post(`${M}/webhook/test`, { id: target.body.id }),
    await it.post(`${M}/webhook/delete`, { id: target.body.id }),
    await it.post(`${M}/remove`, named),
  ]

  expect(answers.map(({ status, wrong }) => [status, wrong])).toEqual(
    answers.map(() => [200, null]),
  )
})

test.each([
  [400, { filter_spec: { subforum: 'all' } }],
  [400, { filter_spec: { subforum: 'nosuchplace' } }],
  [400, { filter_spec: { subforum: 'coffee' }, webhook_ids: ['wh_x'] }],
  [413, { name: 'x'.repeat(1_100_000) }],
])('a monitor refused with %i conforms to the document', async (expected, sent) => {
  const { status, wrong } = await shared.post('/forum/monitor/add', sent)

  expect([status, wrong]).toEqual([expected, null])
})

test('the refusal by a full plan conforms to the document', async () => {
  const it = await startDocumented()
  await using _ = it.house
  const add = (q: string) => it.post('/forum/monitor/add', { filter_spec: { q } })
  const answers = [await add('one'), await add('two'), await add('three')]

  expect(answers.map(({ status, wrong }) => [status, wrong])).toEqual([
    [200, null],
    [200, null],
    [402, null],
  ])
})

test('the word for a community cannot equal another word of the same object', async () => {
  const beside = new Set<string>()
  const walk = (value: unknown): void => {
    if (Array.isArray(value)) return value.forEach(walk)
    const { success, data } = z.record(z.string(), z.unknown()).safeParse(value)
    if (!success) return
    if ('subforum' in data || 'subforums' in data)
      for (const name of Object.keys(data)) beside.add(name)
    Object.values(data).forEach(walk)
  }
  for (const operations of Object.values(shared.paths))
    for (const operation of Object.values(operations)) {
      walk(operation.responses)
      walk(Object.fromEntries(operation.parameters.map(({ name }) => [name, null])))
    }
  const plain = [...beside].filter((name) => /^(?!subforums?$)[a-z0-9_]+$/.test(name))

  expect(plain.length).toBeGreaterThan(40)
  expect(plain.filter((name) => !TAKEN_FIELDS.includes(name))).toEqual([])
})
