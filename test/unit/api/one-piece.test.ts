import { expect, test } from 'bun:test'

import { Elysia } from 'elysia'
import * as fc from 'fast-check'

import { dressOnce, inOnePiece, lasts } from '../../../src/api/one-piece.ts'

const large = { posts: Array.from({ length: 500 }, (_, n) => ({ n, title: 'bread, käse, 面包' })) }

test('a large answer comes whole through a socket, with the headers and the status it was given', async () => {
  const app = new Elysia()
    .mapResponse({ as: 'global' }, ({ responseValue, set }) =>
      inOnePiece(responseValue, set.headers),
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
  '%p is answered as Elysia would',
  (value) => {
    expect(inOnePiece(value, {})).toBeUndefined()
  },
)

test.each([{ ok: true }, [[1]], { posts: [] }])('%j is answered as its JSON', async (value) => {
  const answer = inOnePiece(value, {})
  expect(await answer?.json()).toEqual(value)
})

test('what an error is answered with comes, too', async () => {
  const app = new Elysia()
    .mapResponse({ as: 'global' }, ({ responseValue, set }) =>
      inOnePiece(responseValue, set.headers),
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

test('a content type that was chosen stays', () => {
  const headers: Record<string, string> = { 'content-type': 'application/problem+json' }
  expect(inOnePiece(large, headers)).toBeInstanceOf(Response)
  expect(headers['content-type']).toBe('application/problem+json')
})

const textOf = async (value: unknown) => inOnePiece(value, {})?.text()

test('what lasts is dressed once, and the same bytes serve everybody at once', async () => {
  const body = { posts: [...large.posts] }
  let dressings = 0
  const dress = (it: typeof body) => {
    dressings += 1
    return { ...it, dressed: true }
  }
  lasts(body)

  const texts = await Promise.all(Array.from({ length: 20 }, () => textOf(dressOnce(body, dress))))

  expect(dressings).toBe(1)
  expect(new Set(texts).size).toBe(1)
  expect(JSON.parse(texts[0] ?? '')).toEqual({ ...body, dressed: true })
})

test('what was not said to last is answered as it is at the moment', async () => {
  const body = { posts: [...large.posts] }
  const dress = (it: typeof body) => ({ ...it, count: it.posts.length })
  const before = await textOf(dressOnce(body, dress))
  body.posts.pop()
  const after = await textOf(dressOnce(body, dress))

  expect(JSON.parse(before ?? '')).toMatchObject({ count: 500 })
  expect(JSON.parse(after ?? '')).toMatchObject({ count: 499 })
})

test('a value that changes is answered as it has become', async () => {
  const body = { posts: [...large.posts] }
  const before = await textOf(body)
  body.posts.pop()

  expect(await textOf(body)).not.toBe(before)
})

test('an answer is the JSON that it would be in one go, whatever it holds', async () => {
  const values = fc.anything({ maxDepth: 3, withDate: true, withNullPrototype: true })
  const bodies = fc.dictionary(fc.string(), fc.oneof(values, fc.array(values)), {
    noNullPrototype: true,
  })
  await fc.assert(
    fc.asyncProperty(bodies, async (body) => {
      expect(await textOf(body)).toBe(JSON.stringify(body))
    }),
    { numRuns: 300 },
  )
})
