// Goal: no customer learns of another's objects, not even that they exist.
// Method: from the service's own document take every call that names an object; name one of somebody else's, and one
// that nobody has. The two answers must be the same, byte for byte, and nothing may have changed.

import { expect, test } from 'bun:test'

import * as z from 'zod'

import { startHouse } from '../support/house.ts'

const MINUTE_MS = 60_000
const NAMES = ['id', 'monitor_id', 'webhook_id', 'delivery_id']

const documentShape = z.object({
  paths: z.record(
    z.string(),
    z.record(
      z.string(),
      z.object({
        parameters: z.array(z.object({ name: z.string(), in: z.string() })).optional(),
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
      }),
    ),
  ),
})

type Call = { method: string; path: string; field: string; where: 'query' | 'body' }

/** Every call under monitoring that takes the id of an object. */
function callsOf(document: unknown): Call[] {
  const { paths } = documentShape.parse(document)
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).flatMap(([method, { parameters = [], requestBody }]): Call[] => {
      if (!path.includes('/monitor/')) return []
      const in_query = parameters
        .filter((it) => it.in === 'query' && NAMES.includes(it.name))
        .map(({ name }): Call => ({ method, path, field: name, where: 'query' }))
      const schema = requestBody?.content['application/json']?.schema.properties ?? {}
      const in_body = Object.keys(schema)
        .filter((name) => NAMES.includes(name))
        .map((name): Call => ({ method, path, field: name, where: 'body' }))
      return [...in_query, ...in_body]
    }),
  )
}

/** What else a call needs, so that its answer is about the object. */
const BESIDE: Record<string, object> = {
  'webhook_id /forum/monitor/deliveries/redeliver': { since: '2026-01-01T00:00:00Z' },
}

test('what is somebody else’s and what nobody has give the same answer, byte for byte', async () => {
  await using house = await startHouse({
    change: (config) => {
      config.limits.management_per_minute = 0
      config.limits.webhook_test_per_minute = 0
      config.limits.key_rate = 0
    },
  })
  house.sandbox.post({ subforum: 'hay', title: 'a needle from before' })
  const webhook = (await house.send('/forum/monitor/webhook/create', { url: house.receiver.url }))
    .body
  const monitor = (
    await house.send('/forum/monitor/add', {
      filter_spec: { subforum: 'hay', include_any: ['needle'] },
    })
  ).body
  await house.clock.advance(2 * MINUTE_MS)
  house.sandbox.post({ subforum: 'hay', title: 'a needle', created_at: house.clock.now() })
  await house.clock.advance(2 * MINUTE_MS)
  const [delivery] = (await house.call('/forum/monitor/deliveries')).body.deliveries
  const owned = [webhook.id, monitor.id, delivery.delivery_id]
  const state = async () =>
    JSON.stringify([
      (await house.call('/forum/monitor/list')).body,
      (await house.call('/forum/monitor/webhook/list')).body,
      (await house.call('/forum/monitor/deliveries')).body,
    ])
  const before = await state()
  const sent = house.receiver.received.length
  const bob = house.mint('bob')

  const ask = async ({ method, path, field, where }: Call, id: string) => {
    const beside = BESIDE[`${field} ${path.replace('/api', '')}`] ?? {}
    const query = where === 'query' ? `?${field}=${id}` : ''
    const init = where === 'body' ? { body: JSON.stringify({ [field]: id, ...beside }) } : {}
    const answer = await house.call(path + query, { method: method.toUpperCase(), ...init }, bob)
    return { status: answer.status, text: JSON.stringify(answer.body) }
  }
  const calls = callsOf((await house.call('/openapi.json')).body)
  const silent: string[] = []
  for (const call of calls)
    for (const id of owned) {
      const absent = `${id.slice(0, -1)}${id.endsWith('x') ? 'y' : 'x'}`
      const foreign = await ask(call, id)
      expect(`${call.path} ${call.field} ${foreign.status} ${foreign.text}`).toBe(
        `${call.path} ${call.field} ${(await ask(call, absent)).status} ${(await ask(call, absent)).text}`,
      )
      if (foreign.status === 404) silent.push(`${call.method} ${call.path} ${call.field}`)
      // No call takes them for its own.
      expect(foreign.status).toBeGreaterThanOrEqual(400)
    }

  expect(await state()).toBe(before)
  expect(house.receiver.received).toHaveLength(sent)
  // Of every call, and not of a few that happened to be found.
  expect(new Set(silent).size).toBeGreaterThanOrEqual(20)
})
