// Goal: no customer learns of another's objects, not even that they exist.
// Method: from the service's own document take every field of every call that names an object; name one of somebody
// else's, and one that nobody has. The two answers must be the same, byte for byte, and nothing may have changed. A
// field that is new and names something fails the test until it is said here what it names.

import { expect, test } from 'bun:test'

import * as z from 'zod'

import { startHouse } from '../support/house.ts'

const MINUTE_MS = 60_000
/** Fields that name an object of a customer's. */
const OURS = ['id', 'monitor_id', 'webhook_id', 'webhook_ids', 'delivery_id']
/** Fields that name what is the platform's, or are a secret themselves. */
const NOT_OURS = ['item_id', 'baseline_item_id', 'token', 'csrf_token']
const NAMES_SOMETHING = /(^|_)(ids?|token|uuid|key|ref)$/

const field = z.object({ name: z.string(), in: z.string() })
const operation = z.object({
  parameters: z.array(field).optional(),
  requestBody: z
    .object({
      content: z.record(
        z.string(),
        z.object({
          schema: z.object({ properties: z.record(z.string(), z.unknown()).optional() }),
        }),
      ),
    })
    .optional(),
})
const documentShape = z.object({ paths: z.record(z.string(), z.record(z.string(), operation)) })

type Call = { method: string; path: string; field: string; where: 'query' | 'body' | 'path' }

/** Every field of every call of ours that names something. The platform's own things belong to nobody here. */
function callsOf(document: unknown): Call[] {
  const { paths } = documentShape.parse(document)
  // Monitoring answers under /api too, as its tag says.
  const twice = Object.entries(paths).flatMap(([path, it]) =>
    (path.startsWith('/forum/monitor/') ? [path, `/api${path}`] : [path]).map(
      (at) => [at, it] as const,
    ),
  )
  return twice.flatMap(([path, methods]) =>
    path.startsWith('/api/forum/') && !path.startsWith('/api/forum/monitor/')
      ? []
      : Object.entries(methods).flatMap(([method, { parameters = [], requestBody }]) => {
          const schema = requestBody?.content['application/json']?.schema.properties ?? {}
          const fields = [
            ...parameters.map((it) => ({ name: it.name, where: it.in })),
            ...Object.keys(schema).map((name) => ({ name, where: 'body' })),
          ]
          return fields
            .filter(({ name, where }) => NAMES_SOMETHING.test(name) && where !== 'header')
            .map(({ name, where }) => ({
              method,
              path,
              field: name,
              where: z.enum(['query', 'body', 'path']).parse(where),
            }))
        }),
  )
}

const lastOf = ({ path }: Call): number => (/delete|remove/.test(path) ? 1 : 0)

test('what is somebody else’s and what nobody has give the same answer, byte for byte', async () => {
  await using house = await startHouse({
    change: ({ limits }) => {
      for (const name of [
        'management_per_minute',
        'webhook_test_per_minute',
        'key_rate',
        'feedback_per_minute',
        'account_per_minute',
      ] as const)
        limits[name] = 0
    },
  })
  const bob = house.mint('bob')
  const document: unknown = (await house.call('/openapi.json')).body
  const calls = callsOf(document)
  const as = (key: string) => (path: string, body: object) =>
    house.call(path, { method: 'POST', body: JSON.stringify(body) }, key)

  // What ann has, one of each kind.
  house.sandbox.post({ subforum: 'hay', title: 'a needle from before' })
  const spec = { filter_spec: { subforum: 'hay', include_any: ['needle'] } }
  const webhook = (await house.send('/forum/monitor/webhook/create', { url: house.receiver.url }))
    .body
  const monitor = (await house.send('/forum/monitor/add', spec)).body
  await house.clock.advance(2 * MINUTE_MS)
  house.sandbox.post({ subforum: 'hay', title: 'a needle', created_at: house.clock.now() })
  await house.clock.advance(2 * MINUTE_MS)
  const [delivery] = (await house.call('/forum/monitor/deliveries')).body.deliveries
  const owned = [webhook.id, monitor.id, delivery.delivery_id]
  if (calls.some(({ path }) => path.startsWith('/feedback/'))) {
    const words = { type: 'idea', title: 'a needle', details: 'in the hay' }
    owned.push((await house.send('/feedback', words)).body.id)
  }
  const vote = { action: 'vote', body: { id: 't3_1', direction: 'up' } }
  owned.push((await house.send('/drafts', vote)).body.id)
  const bobs = (await as(bob)('/forum/monitor/add', spec)).body.id
  const state = async () =>
    JSON.stringify([
      (await house.call('/forum/monitor/list')).body,
      (await house.call('/forum/monitor/webhook/list')).body,
      (await house.call('/forum/monitor/deliveries')).body,
      (await house.call('/forum/monitor/list', {}, bob)).body,
    ])
  const before = await state()
  const sent = house.receiver.received.length

  /** What else a call needs, so that its answer is about the object. */
  const besides = (path: string, name: string, mine: string): Record<string, unknown> => {
    if (path.endsWith('/redeliver') && name === 'webhook_id')
      return { since: '2026-01-01T00:00:00Z' }
    if (path.endsWith('/why') && name === 'id') return { item_id: 't3_1' }
    if (name !== 'webhook_ids') return {}
    return path.endsWith('/add') ? spec : { id: mine }
  }

  async function ask({ method, path, field: name, where }: Call, id: string, key: string) {
    const beside = besides(path, name, key === bob ? bobs : monitor.id)
    const fields = { ...beside, [name]: name.endsWith('_ids') ? [id] : id }
    const query = new URLSearchParams(
      Object.entries(fields).map(([a, b]): [string, string] => [a, String(b)]),
    )
    const route = path.replace(`{${name}}`, id) + (where === 'query' ? `?${query.toString()}` : '')
    const response = await fetch(house.url() + route, {
      method: method.toUpperCase(),
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      ...(where === 'body' && { body: JSON.stringify(fields) }),
    })
    // A stream that opened goes on for ever.
    const text = response.status === 200 ? '' : await response.text()
    await response.body?.cancel().catch(() => {})
    // An answer may repeat what was asked, and nothing else of it.
    return { status: response.status, text: text.replaceAll(id, '<id>') }
  }

  const named = calls.filter(({ field: name }) => !NOT_OURS.includes(name))
  expect(named.filter(({ field: name }) => !OURS.includes(name))).toEqual([])

  const silent = new Set<string>()
  for (const call of named)
    for (const id of owned) {
      const absent = `${id.slice(0, -1)}${id.endsWith('x') ? 'y' : 'x'}`
      const what = `${call.method} ${call.path} ${call.field} ${id.slice(0, 4)}`
      const foreign = await ask(call, id, bob)
      expect({ what, ...foreign }).toEqual({ what, ...(await ask(call, absent, bob)) })
      // No call takes them for its own.
      expect(foreign.status, what).toBeGreaterThanOrEqual(400)
      if (foreign.status === 404) silent.add(`${call.method} ${call.path} ${call.field}`)
    }
  expect(await state()).toBe(before)
  expect(house.receiver.received).toHaveLength(sent)
  // Targets are named in a list, and a list that names a stranger is a wrong one.
  const all = new Set(named.map((it) => `${it.method} ${it.path} ${it.field}`))
  expect([...all].filter((it) => !silent.has(it) && !it.endsWith('webhook_ids'))).toEqual([])
  expect(silent.size).toBeGreaterThanOrEqual(30)

  // Whose they are, finds them: it is not that nothing is ever found. What removes goes last.
  const unheard: string[] = []
  for (const call of named.toSorted((a, b) => lastOf(a) - lastOf(b))) {
    const statuses: number[] = []
    for (const id of owned) statuses.push((await ask(call, id, house.key)).status)
    if (statuses.every((it) => it === 404))
      unheard.push(`${call.method} ${call.path} ${call.field}`)
  }
  // After the first of its ways has removed it, the others do not find it either.
  expect(unheard.filter((it) => !/delete|remove/.test(it))).toEqual([])
})
