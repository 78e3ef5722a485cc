import { expect, test } from 'bun:test'

import { fail, ok, type Outcome } from '../../../src/core/base/result.ts'
import { createShare } from '../../../src/gateway/cache.ts'
import { fakeClock } from '../../support/clock.ts'
import { aNode, aPost, page, readsOver, tree } from '../../support/reads.ts'

function counted(
  keep_ms: number,
  answer: (query: string, request_number: number) => Promise<Outcome<string>>,
) {
  const clock = fakeClock(() => Promise.resolve())
  let requests = 0
  const read = createShare(clock, keep_ms)(
    (query: string) => query,
    (query) => answer(query, ++requests),
  )
  return { clock, read, requestCount: () => requests }
}

test('reads in flight are shared, and their answer serves identical reads for a while', async () => {
  const barrier = Promise.withResolvers<void>()
  const { clock, read, requestCount } = counted(5_000, async (query, number) => {
    await barrier.promise
    return ok(`${query}${number}`)
  })

  const [first, second] = [read('a'), read('a')]
  barrier.resolve()

  expect(await first).toEqual(ok({ body: 'a1', cache: 'miss' }))
  expect(await second).toEqual(ok({ body: 'a1', cache: 'shared' }))
  await clock.advance(4_999)
  expect(await read('a')).toEqual(ok({ body: 'a1', cache: 'hit' }))
  await clock.advance(1)
  expect(await read('a')).toEqual(ok({ body: 'a2', cache: 'miss' }))
  expect(requestCount()).toBe(2)
})

test('a cached answer is available without a request, for as long as the read would return it', async () => {
  const states: string[] = []
  const clock = fakeClock(() => Promise.resolve())
  const read = createShare(clock, 5_000, (state) => states.push(state))(
    (query: string) => query,
    async (query) => ok(query),
  )

  expect(read.cached('a')).toBeNull()
  await read('a')
  const take = read.cached('a')
  // A caller that finds the answer and does not take it, for example without credits, has not read.
  expect(states).toEqual(['miss'])
  expect(take?.()).toEqual({ body: 'a', cache: 'hit' })
  expect(read.cached('b')).toBeNull()
  await clock.advance(5_000)
  expect(read.cached('a')).toBeNull()
  expect(states).toEqual(['miss', 'hit'])
})

test('a cached answer is for callers without a session', async () => {
  const clock = fakeClock(() => Promise.resolve())
  const reads = readsOver({ posts: async () => page([aPost('a')], null) }, clock)
  const query = { subforum: 'cats', sort: 'new', t: null, limit: 25, after: null }
  const session = { cookies: [{ name: 'session', value: 'mine' }], proxy: null } as const

  await reads.posts(query, null)

  expect(reads.posts.cached(query, null)?.().body.posts).toHaveLength(1)
  expect(reads.posts.cached(query, session)).toBeNull()
})

test('an answer that was requested before the cache was emptied is neither cached nor shared afterwards', async () => {
  const barriers = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const clock = fakeClock(() => Promise.resolve())
  let requests = 0
  const share = createShare(clock, 5_000)
  const read = share(
    (query: string) => query,
    async () => {
      const number = requests++
      await barriers[number]?.promise
      return ok(`answer ${number}`)
    },
  )

  const before = read('a')
  // An item was erased, and the platform may have answered before it was deleted there.
  share.forget()
  const after = read('a')
  barriers[1]?.resolve()
  expect(await after).toEqual(ok({ body: 'answer 1', cache: 'miss' }))
  barriers[0]?.resolve()
  expect(await before).toEqual(ok({ body: 'answer 0', cache: 'miss' }))

  expect(await read('a')).toEqual(ok({ body: 'answer 1', cache: 'hit' }))
})

test('other queries are other reads', async () => {
  const { read } = counted(5_000, async (query) => ok(query))

  await read('a')

  expect(await read('b')).toEqual(ok({ body: 'b', cache: 'miss' }))
})

test('a fault goes to the waiting callers only', async () => {
  const { read, requestCount } = counted(5_000, async (_, number) =>
    number === 1 ? fail({ kind: 'timeout' }) : ok('good'),
  )

  const both = await Promise.all([read('a'), read('a')])

  expect(both).toEqual([fail({ kind: 'timeout' }), fail({ kind: 'timeout' })])
  expect(await read('a')).toEqual(ok({ body: 'good', cache: 'miss' }))
  expect(requestCount()).toBe(2)
})

test('a bug in a read does not affect the next one', async () => {
  const { read } = counted(5_000, async (_, number) => {
    if (number === 1) throw new Error('a bug')
    return ok('good')
  })

  expect(await read('a').catch(String)).toBe('Error: a bug')

  expect(await read('a')).toEqual(ok({ body: 'good', cache: 'miss' }))
})

test('a lifetime of zero disables the cache, but reads in flight are shared', async () => {
  const { read, requestCount } = counted(0, async () => ok('x'))

  await Promise.all([read('a'), read('a')])
  await read('a')

  expect(requestCount()).toBe(2)
})

const MIB = 1024 * 1024
/** A text with this estimated size, without the overhead of its key. */
const filling = (bytes: number) => 'x'.repeat(bytes / 5)

test('the cache takes 64 MiB at most, and the oldest entry is removed first', async () => {
  const clock = fakeClock(() => Promise.resolve())
  const share = createShare(clock, 60_000)
  const kinds = [0, 1].map(() =>
    share(
      (query: string) => query,
      async () => ok(filling(7.9 * MIB)),
    ),
  )
  const [one, other] = kinds
  for (const query of ['a', 'b', 'c', 'd', 'e']) for (const kind of kinds) await kind(query)

  const cached = ['a', 'b', 'c', 'd', 'e'].map((query) => [
    one?.cached(query),
    other?.cached(query),
  ])
  expect(cached.map((both) => both.map((it) => it !== null))).toEqual([
    [false, false],
    [true, true],
    [true, true],
    [true, true],
    [true, true],
  ])
})

test('a removed entry makes room for others', async () => {
  const { clock, read } = counted(5_000, async () => ok(filling(7.9 * MIB)))
  for (let number = 0; number < 8; number++) await read(`old ${number}`)
  await clock.advance(5_000)

  for (let number = 0; number < 8; number++) await read(`new ${number}`)

  expect(read.cached('new 0')).not.toBeNull()
})

test('an answer above an eighth of the limit is not cached and removes no entry', async () => {
  const { read } = counted(60_000, async (query) => ok(query === 'large' ? filling(8 * MIB) : ''))

  await read('small')
  await read('large')

  expect(await read('large')).toMatchObject({ value: { cache: 'miss' } })
  expect(await read('small')).toMatchObject({ value: { cache: 'hit' } })
})

test('two spellings of a subforum are one read, two pages of it are two', async () => {
  const clock = fakeClock(() => Promise.resolve())
  const reads = readsOver({ posts: async () => page([aPost('a')], 't3_a') }, clock)
  const first_query = { sort: 'new', t: null, limit: 25, after: null }
  const cache = async (query: Parameters<typeof reads.posts>[0]) => {
    const outcome = await reads.posts(query, null)
    return outcome.ok ? outcome.value.cache : null
  }

  expect(await cache({ subforum: 'Cats', ...first_query })).toBe('miss')
  expect(await cache({ subforum: 'cats', ...first_query })).toBe('hit')
  expect(
    await cache({ subforum: 'cats', ...first_query, after: { native: 't3_a', depth: 1 } }),
  ).toBe('miss')
})

test.each([
  [60_000, 'miss'],
  [6_000, 'hit'],
] as const)('a comment counts with all its replies: with %i replies, %s', async (count, cache) => {
  const replies = Array.from({ length: count }, (_, n) => aNode(`r${n}`, 't1_top'))
  const top = aNode('top', 't3_p', replies)
  const reads = readsOver(
    { nodesById: async () => ok([aNode('top', 't3_p')]), tree: async () => tree([top]) },
    fakeClock(() => Promise.resolve()),
  )

  await reads.comment({ id: 'top', replies: true })

  const again = await reads.comment({ id: 'top', replies: true })
  expect(again.ok && again.value.cache).toBe(cache)
})
