import { describe, expect, test } from 'bun:test'

import { toPost } from '../../../../src/platforms/lemmy/readers.ts'
import { ANONYMOUS } from '../../../../src/platforms/port.ts'
import { begun, createServer, MINUTE, namesOf, S, T0 } from './fixture.ts'

/** Not so young that the two reads of a server that publishes in steps delay it. */
const AGE = 2 * MINUTE

test('posts of a community outside of the list of everything are delivered: its own list has them', async () => {
  await using fixture = await begun('piefed', 10 * MINUTE)
  const { world, put, step, state } = fixture
  world.community = { hidden: true }
  put('post', 101, { is_unlisted: true, published: world.now - AGE })
  expect(namesOf(await step(state))).toEqual(['t3_101'])
})

test('the own list of an unlisted community answers for all of its posts at once', async () => {
  await using fixture = await begun('piefed', 10 * MINUTE)
  const { world, put, step, state } = fixture
  const ids = [101, 102, 103, 104, 105, 106, 107, 108]
  for (const id of ids) put('post', id, { is_unlisted: true, published: world.now - AGE })
  put('post', 109, { published: world.now - AGE })
  world.requests.length = 0
  expect(namesOf(await step(state))).toHaveLength(9)
  // Those that are requested at once precede the list.
  expect(world.requests.filter((it) => it.includes('/post?id=')).length).toBeLessThanOrEqual(4)
})

test('late posts that the requests of a step cannot check are not requested in it', async () => {
  await using fixture = createServer('piefed')
  const { world, put, step } = fixture
  for (let id = 1; id <= 60; id++) put('post', id)
  put('comment', 500)
  const { state } = await step(null)
  world.now += 10 * MINUTE
  for (let id = 61; id <= 64; id++) put('post', id, { published: T0 - MINUTE, is_local: false })
  put('post', 65, { published: world.now - 2 * MINUTE })
  world.requests.length = 0
  const next = await step(state, 6)
  const of = (path: string) => world.requests.filter((it) => it.includes(path)).length
  expect(of('/post?id=')).toBeGreaterThan(0)
  expect(of('/search?')).toBe(of('/post?id='))
  expect(next.items).toHaveLength(1 + of('/search?'))
})

test('a late post is delivered if one that is featured is older', async () => {
  await using fixture = createServer('piefed')
  const { world, put, step } = fixture
  for (let id = 1; id <= 60; id++) put('post', id)
  put('post', 30, { published: T0 - 60 * MINUTE, is_sticky: true })
  put('comment', 500)
  const { state } = await step(null)
  world.now += 10 * MINUTE
  put('post', 61, { published: T0 - MINUTE, is_local: false })
  put('post', 62, { published: world.now - AGE })
  expect(namesOf(await step(state))).toEqual(['t3_61', 't3_62'])
})

test('a young post that no list has is read again by its id', async () => {
  await using fixture = await begun('piefed', 10 * MINUTE)
  const { world, put, step, state } = fixture
  put('post', 101, { is_unlisted: true, text: '' })
  put('post', 102, { is_unlisted: true })
  const first = await step(state)
  expect(first.items).toEqual([])
  put('post', 101, { is_unlisted: true, published: world.now, text: 'whole' })
  world.posts.delete(102)
  world.now += 20 * S
  const second = await step(first.state)
  expect(second.items).toMatchObject([{ name: 't3_101', text: 'whole' }])
  world.now += 2 * MINUTE
  expect((await step(second.state)).verified_until).toBe(world.now)
})

describe('a post that takes the time of its publication', () => {
  test('is no sign of ids that went back, and is delivered', async () => {
    await using fixture = await begun('piefed', 10 * MINUTE)
    const { world, put, step, state } = fixture
    put('post', 101, { is_draft: true, author: 8 })
    put('post', 102, { published: world.now - AGE })
    const first = await step(state)
    expect(namesOf(first)).toEqual(['t3_102'])
    world.now += 3 * MINUTE
    put('post', 101, { author: 8, published: world.now })
    const second = await step(first.state)
    expect(second.went_back).toBeUndefined()
    world.now += 10 * S
    const third = await step(second.state)
    expect(namesOf(third)).toEqual(['t3_101'])
  })

  test('is none either if its first commit was listed', async () => {
    await using fixture = await begun('piefed', 10 * MINUTE)
    const { world, put, step, state } = fixture
    put('post', 101, { author: 8, text: '' })
    const first = await step(state)
    put('post', 101, { author: 8, is_draft: true })
    const second = await step(first.state)
    world.now += 3 * MINUTE
    put('post', 101, { author: 8, published: world.now })
    expect((await step(second.state)).went_back).toBeUndefined()
  })
})

test('a post that was written before the beginning and is published after it is delivered', async () => {
  await using fixture = createServer('piefed')
  const { world, put, step } = fixture
  put('post', 99, { is_draft: true })
  put('post', 100)
  put('comment', 500)
  const { state } = await fixture.step(null)
  world.now += 10 * MINUTE
  put('post', 98, { published: world.now - 20 * MINUTE })
  put('post', 99)
  const first = await step(state)
  world.now += 10 * S
  expect(namesOf(await step(first.state))).toEqual(['t3_99'])
})

test('a known id with another author and a later time is one that is given again', async () => {
  await using fixture = await begun('piefed', 10 * MINUTE)
  const { world, put, step, state } = fixture
  put('post', 101, { author: 8, published: world.now - AGE })
  const first = await step(state)
  world.now += MINUTE
  put('post', 101, { author: 9, published: world.now })
  expect((await step(first.state)).went_back).toBe(true)
})

test('after a restored database, ids below those given again are still read, and those that no list has', async () => {
  await using fixture = await begun('piefed', 10 * MINUTE)
  const { world, put, step, state } = fixture
  put('post', 101, { is_draft: true })
  for (const id of [102, 103, 104]) put('post', id, { author: 8, published: world.now - AGE })
  const first = await step(state)
  world.now += MINUTE
  world.posts.delete(104)
  put('post', 102, { author: 9, published: world.now })
  put('post', 103, { author: 9, published: world.now, is_unlisted: true })
  const second = await step(first.state)
  expect(second.went_back).toBe(true)
  put('post', 101)
  world.now += 20 * S
  const third = await step(second.state)
  world.now += 20 * S
  const fourth = await step(third.state)
  expect(new Set([...namesOf(third), ...namesOf(fourth)])).toEqual(
    new Set(['t3_101', 't3_102', 't3_103']),
  )
})

describe('a post that its server does not answer by id holds nothing up', () => {
  test.each([
    ['refused', 'Private community - membership required'],
    ['failing', "unsupported operand type(s) for +: 'int' and 'NoneType'"],
  ])('%s', async (_, message) => {
    await using fixture = await begun('piefed', 10 * MINUTE)
    const { world, put, step, state } = fixture
    put('post', 101, { is_draft: true, published: world.now - AGE })
    put('post', 102, { is_unlisted: true, published: world.now - AGE })
    put('comment', 501, { published: world.now - AGE })
    put('post', 103, { published: world.now - AGE })
    world.answer = (path, request) =>
      path === '/post' && request.url.endsWith('id=101')
        ? Response.json({ code: 400, message }, { status: 400 })
        : null
    const first = await step(state)
    expect(namesOf(first).toSorted()).toEqual(['t1_501', 't3_102', 't3_103'])
    world.now += 2 * MINUTE
    const next = await step(first.state)
    expect(next.verified_until).toBeGreaterThan(world.now - MINUTE)
    expect(next.behind).toBeNull()
  })

  test('unless the server fails at its lists too', async () => {
    await using fixture = await begun('piefed', 10 * MINUTE)
    const { world, put, source, state } = fixture
    const call = () => ({ requests: 100, ...fixture.call() })
    put('post', 101, { is_draft: true, published: world.now - AGE })
    put('post', 102, { published: world.now - AGE })
    const listed = await source.watch?.advance(state, call())
    if (!listed?.ok) throw new Error('the lists failed')
    world.answer = () =>
      Response.json({ code: 400, message: 'connection refused' }, { status: 400 })
    const settled = await source.watch?.settle?.(listed.value.state, call())
    expect(settled).toMatchObject({ ok: false, fault: { kind: 'unavailable' } })
  })
})

test('a community that becomes private is noticed at the next new item', async () => {
  await using fixture = await begun('piefed', 10 * MINUTE)
  const { world, put, step, state } = fixture
  put('post', 101, { published: world.now - AGE })
  const first = await step(state)
  expect(namesOf(first)).toEqual(['t3_101'])
  world.now += MINUTE
  world.is_private = true
  put('post', 102, { published: world.now - AGE })
  put('comment', 501, { published: world.now - AGE })
  expect(namesOf(await step(first.state))).toEqual([])
})

test('a draft of an unlisted community answers for no other draft there', async () => {
  await using fixture = await begun('piefed', 10 * MINUTE)
  const { world, put, step } = fixture
  world.community = { hidden: true }
  for (const id of [101, 102]) put('post', id, { is_draft: true, published: world.now - AGE })
  put('post', 103, { published: world.now - AGE })
  const first = await step(fixture.state)
  expect(namesOf(first)).toEqual(['t3_103'])
  put('post', 102, { published: world.now - AGE, is_unlisted: true })
  world.now += 16 * S
  expect(namesOf(await step(first.state))).toEqual(['t3_102'])
})

test('a new post that was hidden before its second read is delivered once it is shown', async () => {
  await using fixture = await begun('piefed', 10 * MINUTE)
  const { world, put, step } = fixture
  put('post', 101)
  let { state } = await step(fixture.state)
  world.now += 31 * S
  world.is_private = true
  ;({ state } = await step(state))
  world.is_private = false
  // It has left the newest page.
  put('post', 101, { is_unlisted: true })
  const found: string[] = []
  for (let n = 0; n < 8; n++) {
    world.now += 30 * S
    const next = await step(state)
    found.push(...namesOf(next))
    ;({ state } = next)
  }
  expect(found).toEqual(['t3_101'])
})

test('a tree is read without a bound of its depth', async () => {
  await using fixture = await begun('piefed', 10 * MINUTE)
  const { world, put, source, call } = fixture
  put('comment', 501)
  await source.reads.tree(
    { post_id: '100', sort: 'new', depth: null, limit: null },
    { ...call(), identity: ANONYMOUS },
  )
  const trees = world.requests.filter((it) => it.includes('post_id=100'))
  expect(trees).toHaveLength(1)
  expect(trees[0]).not.toContain('max_depth')
})

describe('places are asked for by their id', () => {
  test.each(['posts', 'comments', 'search'] as const)('%s', async (which) => {
    await using fixture = await begun('piefed', 10 * MINUTE)
    const { world, source, call } = fixture
    const { reads } = source
    const at = { ...call(), identity: ANONYMOUS }
    const place = { limit: 10, after: null, sort: 'new', t: 'all' } as const
    const read = () =>
      which === 'posts'
        ? reads.posts({ ...place, subforums: ['coffee'] }, at)
        : which === 'comments'
          ? reads.comments({ ...place, subforums: ['coffee'] }, at)
          : reads.search({ ...place, q: 'x', subforum: 'coffee', nsfw: true }, at)
    expect((await read()).ok).toBe(true)
    expect((await read()).ok).toBe(true)
    const asked = world.requests.filter((it) => it.includes('/community?'))
    const path = { posts: '/post/list', comments: '/comment/list', search: '/search' }[which]
    const last = world.requests.findLast((it) => it.includes(path)) ?? ''
    expect(asked).toHaveLength(1)
    expect(last).toContain('community_id=3')
    expect(last).not.toContain('community_name')
  })
})

test('an unknown community is absent only while the server works', async () => {
  await using fixture = await begun('piefed', 10 * MINUTE)
  const { world, source, call } = fixture
  const at = { ...call(), identity: ANONYMOUS }
  expect(await source.reads.community('nosuch', at)).toMatchObject({ fault: { kind: 'not_found' } })
  world.answer = (path) =>
    path === '/community' || path === '/site'
      ? null
      : Response.json({ code: 400, message: 'connection refused' }, { status: 400 })
  expect(await source.reads.community('nosuch', at)).toMatchObject({
    fault: { kind: 'unavailable' },
  })
})

test('a community whose own list refuses readers is private', async () => {
  await using fixture = await begun('piefed', 10 * MINUTE)
  const { world, source, call } = fixture
  const at = { ...call(), identity: ANONYMOUS }
  expect((await source.reads.community('coffee', at)).ok).toBe(true)
  world.now += MINUTE
  world.is_private = true
  expect(await source.reads.community('coffee', at)).toEqual({
    ok: false,
    fault: { kind: 'forbidden', reason: 'private' },
  })
})

test.each([
  ['Image', { media_kind: 'image', is_video: false, is_self: false }],
  ['Video', { media_kind: 'video', is_video: true, is_self: false }],
  ['Link', { media_kind: null, is_video: false, is_self: false }],
])('a post of the type %s', (post_type, fields) => {
  const post = { id: 1, title: 'x', published: '2026-01-01T00:00:00Z', post_type }
  const view = { post: { ...post, url: 'https://example.com/a' }, creator: {}, community: {} }
  expect(toPost(view, 'https://pie.example')).toMatchObject(fields)
})

test('a post with several flairs has them all', () => {
  const post = { id: 1, title: 'x', published: '2026-01-01T00:00:00Z', flair: 'Beans, Help' }
  const view = { post, creator: {}, community: {} }
  expect(toPost(view, 'https://pie.example')).toMatchObject({ flair: 'Beans, Help' })
})
