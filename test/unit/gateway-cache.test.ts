import { expect, test } from 'bun:test'

import { fail, ok, type Outcome } from '../../src/core/outcome.ts'
import { createShare } from '../../src/gateway/cache.ts'
import { fakeClock } from '../support/clock.ts'
import { aNode, aPost, page, readsOver, tree } from '../support/reads.ts'

function counted(
  keep_ms: number,
  answer: (query: string, asked: number) => Promise<Outcome<string>>,
) {
  const clock = fakeClock(() => Promise.resolve())
  let asked = 0
  const read = createShare(clock, keep_ms)(
    (query: string) => query,
    () => 1,
    (query) => answer(query, ++asked),
  )
  return { clock, read, asked: () => asked }
}

test('reads under way are shared, and their answer serves repeats for a while', async () => {
  const gate = Promise.withResolvers<void>()
  const { clock, read, asked } = counted(5_000, async (query, number) => {
    await gate.promise
    return ok(`${query}${number}`)
  })

  const [first, second] = [read('a'), read('a')]
  gate.resolve()

  expect(await first).toEqual(ok({ body: 'a1', cache: 'miss' }))
  expect(await second).toEqual(ok({ body: 'a1', cache: 'shared' }))
  await clock.advance(4_999)
  expect(await read('a')).toEqual(ok({ body: 'a1', cache: 'hit' }))
  await clock.advance(1)
  expect(await read('a')).toEqual(ok({ body: 'a2', cache: 'miss' }))
  expect(asked()).toBe(2)
})

test('what is kept is told without asking anybody, and as long as it would be answered with', async () => {
  const states: string[] = []
  const clock = fakeClock(() => Promise.resolve())
  const read = createShare(clock, 5_000, (state) => states.push(state))(
    (query: string) => query,
    () => 1,
    async (query) => ok(query),
  )

  expect(read.kept('a')).toBeNull()
  await read('a')
  expect(read.kept('a')).toEqual({ body: 'a', cache: 'hit' })
  expect(read.kept('b')).toBeNull()
  await clock.advance(5_000)
  expect(read.kept('a')).toBeNull()
  expect(states).toEqual(['miss', 'hit'])
})

test('what is kept of a read is for those who send no session', async () => {
  const clock = fakeClock(() => Promise.resolve())
  const reads = readsOver({ posts: async () => page([aPost('a')], null) }, clock)
  const asked = { subforum: 'cats', sort: 'new', t: null, limit: 25, after: null }
  const session = { cookies: [{ name: 'session', value: 'mine' }], proxy: null } as const

  await reads.posts(asked, null)

  expect(reads.posts.kept(asked, null)?.body.posts).toHaveLength(1)
  expect(reads.posts.kept(asked, session)).toBeNull()
})

test('other queries are other reads', async () => {
  const { read } = counted(5_000, async (query) => ok(query))

  await read('a')

  expect(await read('b')).toEqual(ok({ body: 'b', cache: 'miss' }))
})

test('a fault goes to those who were waiting and to nobody after them', async () => {
  const { read, asked } = counted(5_000, async (_, number) =>
    number === 1 ? fail({ kind: 'timeout' }) : ok('good'),
  )

  const both = await Promise.all([read('a'), read('a')])

  expect(both).toEqual([fail({ kind: 'timeout' }), fail({ kind: 'timeout' })])
  expect(await read('a')).toEqual(ok({ body: 'good', cache: 'miss' }))
  expect(asked()).toBe(2)
})

test('a bug in a read does not stand in the way of the next', async () => {
  const { read } = counted(5_000, async (_, number) => {
    if (number === 1) throw new Error('a bug')
    return ok('good')
  })

  expect(await read('a').catch(String)).toBe('Error: a bug')

  expect(await read('a')).toEqual(ok({ body: 'good', cache: 'miss' }))
})

test('with a time of zero nothing is kept, but reads under way are shared', async () => {
  const { read, asked } = counted(0, async () => ok('x'))

  await Promise.all([read('a'), read('a')])
  await read('a')

  expect(asked()).toBe(2)
})

test('the answers that are kept are few', async () => {
  const { read, asked } = counted(60_000, async (query) => ok(query))

  for (let number = 0; number <= 200; number++) await read(`q${number}`)

  expect(await read('q200')).toMatchObject({ value: { cache: 'hit' } })
  expect(await read('q0')).toMatchObject({ value: { cache: 'miss' } })
  expect(asked()).toBe(202)
})

test('an answer too large to keep is not kept', async () => {
  const clock = fakeClock(() => Promise.resolve())
  const read = createShare(clock, 60_000)(
    (query: string) => query,
    () => 20_001,
    async (query) => ok(query),
  )

  await read('a')

  expect(await read('a')).toMatchObject({ value: { cache: 'miss' } })
})

test('two spellings of a subforum are one read, two pages of it are two', async () => {
  const clock = fakeClock(() => Promise.resolve())
  const reads = readsOver({ posts: async () => page([aPost('a')], 't3_a') }, clock)
  const asked = { sort: 'new', t: null, limit: 25, after: null }
  const cache = async (query: Parameters<typeof reads.posts>[0]) => {
    const outcome = await reads.posts(query, null)
    return outcome.ok ? outcome.value.cache : null
  }

  expect(await cache({ subforum: 'Cats', ...asked })).toBe('miss')
  expect(await cache({ subforum: 'cats', ...asked })).toBe('hit')
  expect(await cache({ subforum: 'cats', ...asked, after: { native: 't3_a', depth: 1 } })).toBe(
    'miss',
  )
})

test.each([
  [20_000, 'miss'],
  [19_999, 'hit'],
] as const)(
  'a comment counts with all that is below it: of %i replies, %s',
  async (count, cache) => {
    const replies = Array.from({ length: count }, (_, n) => aNode(`r${n}`, 't1_top'))
    const top = aNode('top', 't3_p', replies)
    const reads = readsOver(
      { nodesById: async () => ok([aNode('top', 't3_p')]), tree: async () => tree([top]) },
      fakeClock(() => Promise.resolve()),
    )

    await reads.comment({ id: 'top', replies: true })

    const again = await reads.comment({ id: 'top', replies: true })
    expect(again.ok && again.value.cache).toBe(cache)
  },
)
