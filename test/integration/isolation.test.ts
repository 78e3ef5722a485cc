// Goal: no customer learns of another's objects, not even of their existence. Method: every field
// of the document that names an object is sent once with the id of another customer's object and
// once with an unknown id. Both answers must be equal, byte for byte, and nothing may have changed.
// A new field of this kind fails the test until it is classified here.

import { expect, test } from 'bun:test'

import * as z from 'zod'

import { pathsShape } from '../support/openapi-paths.ts'
import { startTestDaemon } from '../support/test-daemon.ts'

const MINUTE_MS = 60_000
/** Fields that name an object of a customer. */
const OURS = ['id', 'monitor_id', 'webhook_id', 'webhook_ids', 'delivery_id', 'action_id']
/** Fields that name objects of the platform, or are secrets themselves. `ids` are those of matched items. */
const NOT_OURS = ['item_id', 'baseline_item_id', 'ids', 'token', 'csrf_token']
/** Fields that narrow a list, which is empty for an object of another customer. */
const NARROWING = ['key_id']
/** Calls about a matched item, whose `id` is that of the platform. */
const ABOUT_ITEMS = /\/inbox\/(mute|context|item)$/
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
const documentShape = z.object({ paths: pathsShape(operation) })

type Call = { method: string; path: string; field: string; where: 'query' | 'body' | 'path' }

/**
 * Every field of every call that names a customer's object. Objects of the platform belong to no
 * customer.
 */
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

test('another customer’s object and an unknown one give the same answer, byte for byte', async () => {
  await using daemon = await startTestDaemon({
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
  const bob = daemon.mint('bob')
  const document: unknown = (await daemon.call('/openapi.json')).body
  const calls = callsOf(document)
  const as = (key: string) => (path: string, body: object) =>
    daemon.call(path, { method: 'POST', body: JSON.stringify(body) }, key)

  // Ann's objects, one of each kind.
  daemon.sandbox.post({ subforum: 'hay', title: 'a needle from before' })
  const spec = { filter_spec: { subforum: 'hay', include_any: ['needle'] } }
  const webhook = (await daemon.send('/forum/monitor/webhook/create', { url: daemon.receiver.url }))
    .body
  const monitor = (await daemon.send('/forum/monitor/add', spec)).body
  await daemon.clock.advance(2 * MINUTE_MS)
  daemon.sandbox.post({ subforum: 'hay', title: 'a needle', created_at: daemon.clock.now() })
  await daemon.clock.advance(2 * MINUTE_MS)
  const [delivery] = (await daemon.call('/forum/monitor/deliveries')).body.deliveries
  const owned = [webhook.id, monitor.id, delivery.delivery_id]
  if (calls.some(({ path }) => path.startsWith('/feedback/'))) {
    const words = { type: 'idea', title: 'a needle', details: 'in the hay' }
    owned.push((await daemon.send('/feedback', words)).body.id)
  }
  const vote = { action: 'vote', body: { id: 't3_1', direction: 'up' } }
  owned.push((await daemon.send('/drafts', vote)).body.id)
  const [item] = (await daemon.call('/forum/inbox')).body.items
  const star = { ids: [item.id], set: { starred: true } }
  owned.push((await daemon.send('/forum/inbox/update', star)).body.action_id)
  const bobs = (await as(bob)('/forum/monitor/add', spec)).body.id
  const state = async () =>
    JSON.stringify([
      (await daemon.call('/forum/monitor/list')).body,
      (await daemon.call('/forum/monitor/webhook/list')).body,
      (await daemon.call('/forum/monitor/deliveries')).body,
      (await daemon.call('/forum/monitor/list', {}, bob)).body,
    ])
  const before = await state()
  const sent = daemon.receiver.received.length

  /** Further fields of a call, so that its answer is about the object. */
  const besides = (path: string, name: string, mine: string): Record<string, unknown> => {
    if (path.endsWith('/redeliver') && name === 'webhook_id')
      return { since: '2026-01-01T00:00:00Z' }
    if (path.endsWith('/why') && name === 'id') return { item_id: 't3_1' }
    if (path.endsWith('/mute')) return { id: item.id, mute: 'author' }
    if (name !== 'webhook_ids') return {}
    return path.endsWith('/add') ? spec : { id: mine }
  }

  async function sendCall({ method, path, field: name, where }: Call, id: string, key: string) {
    const beside = besides(path, name, key === bob ? bobs : monitor.id)
    const fields = { ...beside, [name]: name.endsWith('_ids') ? [id] : id }
    const query = new URLSearchParams(
      Object.entries(fields).map(([a, b]): [string, string] => [a, String(b)]),
    )
    const route = path.replace(`{${name}}`, id) + (where === 'query' ? `?${query.toString()}` : '')
    const response = await fetch(daemon.url() + route, {
      method: method.toUpperCase(),
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      ...(where === 'body' && { body: JSON.stringify(fields) }),
    })
    // An open stream never ends.
    const text = response.status === 200 ? '' : await response.text()
    await response.body?.cancel().catch(() => {})
    // An answer may repeat the given id, and nothing else of the object.
    return { status: response.status, text: text.replaceAll(id, '<id>') }
  }

  const history = (await daemon.call('/forum/inbox/history')).body.actions
  const [{ by }] = history
  for (const key_id of [by.key_id, `${by.key_id}x`])
    expect((await daemon.call(`/forum/inbox/history?key_id=${key_id}`, {}, bob)).body).toEqual({
      actions: [],
      next_cursor: null,
    })
  expect((await daemon.call(`/forum/inbox/history?key_id=${by.key_id}`)).body.actions).toEqual(
    history,
  )

  const others = [...NOT_OURS, ...NARROWING]
  const named = calls.filter(
    ({ path, field: name }) => !others.includes(name) && !(name === 'id' && ABOUT_ITEMS.test(path)),
  )
  expect(named.filter(({ field: name }) => !OURS.includes(name))).toEqual([])

  const silent = new Set<string>()
  for (const call of named)
    for (const id of owned) {
      const absent = `${id.slice(0, -1)}${id.endsWith('x') ? 'y' : 'x'}`
      const what = `${call.method} ${call.path} ${call.field} ${id.slice(0, 4)}`
      const foreign = await sendCall(call, id, bob)
      expect({ what, ...foreign }).toEqual({ what, ...(await sendCall(call, absent, bob)) })
      // No call accepts them.
      expect(foreign.status, what).toBeGreaterThanOrEqual(400)
      if (foreign.status === 404) silent.add(`${call.method} ${call.path} ${call.field}`)
    }
  expect(await state()).toBe(before)
  expect(daemon.receiver.received).toHaveLength(sent)
  // Targets are given in a list, and a list with a foreign target is invalid.
  const all = new Set(named.map((it) => `${it.method} ${it.path} ${it.field}`))
  expect([...all].filter((it) => !silent.has(it) && !it.endsWith('webhook_ids'))).toEqual([])
  expect(silent.size).toBeGreaterThanOrEqual(30)

  // The owner's calls find them, so the calls do find objects. Removals run last.
  const unheard: string[] = []
  for (const call of named.toSorted((a, b) => lastOf(a) - lastOf(b))) {
    const statuses: number[] = []
    for (const id of owned) statuses.push((await sendCall(call, id, daemon.key)).status)
    if (statuses.every((it) => it === 404))
      unheard.push(`${call.method} ${call.path} ${call.field}`)
  }
  // After its first prefix has removed it, the second does not find it either.
  expect(unheard.filter((it) => !/delete|remove/.test(it))).toEqual([])
})
