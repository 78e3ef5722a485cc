import { expect, test } from 'bun:test'

import { Elysia } from 'elysia'

import { type Bytes, jsonResponse, mapOnce, markShared } from '../../../../src/api/http/response.ts'
import { createTestInFlight } from '../../../support/in-flight.ts'

const send = (bytes: Bytes) => createTestInFlight().send(new Request('http://localhost/'), bytes)
const large = { posts: Array.from({ length: 500 }, (_, n) => ({ n, title: 'bread, käse, 面包' })) }

test('a large answer arrives complete, with its headers and status', async () => {
  const app = new Elysia()
    .mapResponse({ as: 'global' }, ({ responseValue, set }) =>
      jsonResponse(responseValue, set.headers, send),
    )
    .get('/', async ({ set }) => {
      await Promise.resolve()
      set.headers['x-cache'] = 'miss'
      set.status = 203
      return large
    })
    .listen({ port: 0, hostname: '127.0.0.1' })
  try {
    const answer = await fetch(`http://127.0.0.1:${app.server?.port}/`)
    expect(answer.status).toBe(203)
    expect(answer.headers.get('content-type')).toBe('application/json;charset=utf-8')
    expect(answer.headers.get('x-cache')).toBe('miss')
    expect(answer.headers.get('content-length')).toBeNull()
    expect(await answer.json()).toEqual(large)
  } finally {
    await app.stop(true)
  }
})

test.each([null, undefined, 'text'.repeat(5000), new Response('x')])(
  '%p is answered as by Elysia',
  (value) => {
    expect(jsonResponse(value, {}, send)).toBeUndefined()
  },
)

test.each([{ ok: true }, [[1]], { posts: [] }])('%j is answered as its JSON', async (value) => {
  const answer = jsonResponse(value, {}, send)
  expect(await answer?.json()).toEqual(value)
})

test("an error's answer arrives too", async () => {
  const app = new Elysia()
    .mapResponse({ as: 'global' }, ({ responseValue, set }) =>
      jsonResponse(responseValue, set.headers, send),
    )
    .onError(({ set }) => {
      set.status = 418
      return { error: 'no coffee' }
    })
    .onRequest(() => {
      throw new Error('no coffee')
    })
    .get('/', () => 'never')
  const answer = await app.handle(new Request('http://localhost/'))
  expect(answer.status).toBe(418)
  expect(answer.headers.get('content-type')).toBe('application/json;charset=utf-8')
  expect(await answer.json()).toEqual({ error: 'no coffee' })
})

test('a given content type is kept', () => {
  const headers: Record<string, string> = { 'content-type': 'application/problem+json' }
  expect(jsonResponse(large, headers, send)).toBeInstanceOf(Response)
  expect(headers['content-type']).toBe('application/problem+json')
})

const textOf = async (value: unknown) => jsonResponse(value, {}, send)?.text()

test('a shared value is mapped once, and its bytes serve all callers', async () => {
  const body = { posts: [...large.posts] }
  let dressings = 0
  const mapBody = (it: typeof body) => {
    dressings += 1
    return { ...it, mapped: true }
  }
  markShared(body)

  const texts = await Promise.all(Array.from({ length: 20 }, () => textOf(mapOnce(body, mapBody))))

  expect(dressings).toBe(1)
  expect(new Set(texts).size).toBe(1)
  expect(JSON.parse(texts[0] ?? '')).toEqual({ ...body, mapped: true })
})

test('an unshared value is serialised in its current state', async () => {
  const body = { posts: [...large.posts] }
  const addCount = (it: typeof body) => ({ ...it, count: it.posts.length })
  const before = await textOf(mapOnce(body, addCount))
  body.posts.pop()
  const after = await textOf(mapOnce(body, addCount))

  expect(JSON.parse(before ?? '')).toMatchObject({ count: 500 })
  expect(JSON.parse(after ?? '')).toMatchObject({ count: 499 })
})

test('a changed value is serialised again', async () => {
  const body = { posts: [...large.posts] }
  const before = await textOf(body)
  body.posts.pop()

  expect(await textOf(body)).not.toBe(before)
})
