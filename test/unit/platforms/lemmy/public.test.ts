import { describe, expect, test } from 'bun:test'

import { ANONYMOUS } from '../../../../src/platforms/port.ts'
import { begun, createServer, MINUTE, namesOf, S, T0 } from './fixture.ts'

/** Not so young that PieFed's two reads delay it. */
const OLD = { published: T0 - 2 * MINUTE }

/** A server with post 100 and comment 500, and the state of a watch that has begun there. */
describe('what lists leave out is not delivered from a request by id', () => {
  test.each([
    ['v4', 'a scheduled post', { scheduled: T0 + 10 * MINUTE }],
    ['v4', 'a post that waits for another server', { is_pending: true }],
    ['piefed', 'a draft', { is_draft: true }],
  ] as const)('%s: %s, until it is published', async (generation, _, hidden) => {
    await using fixture = await begun(generation)
    const { world, put, step, source } = fixture
    const call = () => ({ ...fixture.call(), identity: ANONYMOUS })
    put('post', 101, hidden)
    put('post', 102, OLD)
    const first = await step(fixture.state)
    expect(namesOf(first)).toEqual(['t3_102'])
    expect(await source.reads.postsById(['101'], call())).toEqual({ ok: true, value: [] })
    const published = world.posts.get(101)?.published ?? 0
    world.now += 11 * MINUTE
    put('post', 101, { published, is_unlisted: true })
    const next = await step(first.state)
    expect(namesOf(next)).toEqual(['t3_101'])
    // It is as old as its publication.
    expect(next.published).toEqual(['t3_101'])
  })

  test('v4: a comment that waits for another server', async () => {
    await using fixture = await begun('v4')
    fixture.put('comment', 501, { is_pending: true })
    fixture.put('comment', 502)
    expect(namesOf(await fixture.step(fixture.state))).toEqual(['t1_502'])
  })

  test.each([
    ['v3', { hidden: true }],
    ['v3', { removed: true }],
    ['v4', { deleted: true }],
    ['v4', { visibility: 'private' }],
    ['v4', { visibility: 'local_only_private' }],
    ['piefed', { banned: true }],
  ] as const)('%s: a post of a community with %p', async (generation, community) => {
    await using fixture = await begun(generation)
    fixture.put('post', 101, { is_unlisted: true, ...OLD })
    fixture.put('post', 102, { is_unlisted: true, ...OLD })
    fixture.world.community = { ...community }
    expect(namesOf(await fixture.step(fixture.state))).toEqual([])
    expect(
      await fixture.source.reads.postsById(['102'], { ...fixture.call(), identity: ANONYMOUS }),
    ).toEqual({
      ok: true,
      value: [],
    })
  })

  test.each([
    [{ visibility: 'unlisted' }, {}],
    [{ nsfw: true }, {}],
    [{}, { nsfw: true }],
  ])('v4: a comment that no list has, with community %p and post %p', async (community, thread) => {
    await using fixture = await begun('v4')
    fixture.put('comment', 501, { is_unlisted: true })
    fixture.put('comment', 502)
    Object.assign(fixture.world, { community, thread })
    const names = namesOf(await fixture.step(fixture.state))
    expect(names).not.toContain('t1_501')
  })
})

test.each([
  ['v3', { removed: true }],
  ['v3', { deleted: true }],
  ['v4', { removed: true }],
  ['piefed', { deleted: true }],
] as const)(
  '%s: a listed comment under a post with %p is not delivered',
  async (generation, thread) => {
    await using fixture = await begun(generation)
    fixture.world.thread = { ...thread }
    fixture.put('comment', 501, OLD)
    expect(namesOf(await fixture.step(fixture.state))).toEqual([])
    const read = await fixture.source.reads.comments(
      { subforums: [], limit: 50, after: null },
      { ...fixture.call(), identity: ANONYMOUS },
    )
    expect(read).toMatchObject({ ok: true, value: { rows: [] } })
  },
)

test('piefed: a private community in the list of everything is not delivered', async () => {
  await using fixture = await begun('piefed')
  const { world, put, step, source } = fixture
  const call = () => ({ ...fixture.call(), identity: ANONYMOUS })
  world.now += 61 * MINUTE
  world.is_private = true
  put('post', 101, OLD)
  put('comment', 501, OLD)
  expect(namesOf(await step(fixture.state))).toEqual([])
  const read = await source.reads.posts(
    { subforums: [], sort: 'new', t: null, limit: 50, after: null },
    call(),
  )
  expect(read).toMatchObject({ ok: true, value: { rows: [] } })
})

test('piefed: one place of a list is asked again each half minute', async () => {
  await using fixture = await begun('piefed')
  const { world, put, step } = fixture
  const asked = () => world.requests.filter((it) => it.includes('community_id=')).length
  const counts = [asked()]
  let { state } = fixture
  for (const wait_s of [1, 10, 10, 11]) {
    world.now += wait_s * S
    put('post', 101 + counts.length)
    state = (await step(state)).state
    counts.push(asked())
  }
  expect(counts).toEqual([1, 2, 2, 2, 3])
})

describe('an absence has a second witness', () => {
  const down = {
    v3: { error: 'unknown', message: 'database "x" is not currently accepting connections' },
    v4: { error: 'unknown', message: 'database "x" is not currently accepting connections' },
    piefed: { code: 400, message: '(psycopg2.OperationalError) connection refused' },
  }
  const absent = {
    v3: { error: 'couldnt_find_comment' },
    v4: { error: 'not_found' },
    piefed: { code: 400, message: "'NoneType' object has no attribute 'community_id'" },
  }

  test.each(['v3', 'v4', 'piefed'] as const)(
    '%s: the text of an absence proves nothing while the database is away',
    async (generation) => {
      await using fixture = await begun(generation)
      const { world, source } = fixture
      const call = () => ({ ...fixture.call(), identity: ANONYMOUS })
      world.answer = (path) => {
        if (path === '/site') return null
        const is_comment = path === '/comment'
        return Response.json((is_comment ? absent : down)[generation], { status: 400 })
      }
      const unavailable = { ok: false, fault: { kind: 'unavailable' } }
      expect(await source.states?.(['t1_500'], call())).toMatchObject(unavailable)
      expect(await source.reads.nodesById(['500'], call())).toMatchObject(unavailable)
      expect(await source.reads.visibility('100', call())).toMatchObject(unavailable)
      world.answer = () => null
      expect(await source.reads.nodesById(['999'], call())).toEqual({ ok: true, value: [] })
    },
  )
})

test.each(['v3', 'v4', 'piefed'] as const)(
  '%s: a token that has ended proves nothing, and its absences are none',
  async (generation) => {
    await using fixture = createServer(generation, { credential: 'token' })
    const { world, put, step, source, call } = fixture
    put('post', 100)
    const first = await step(null)
    expect(first.partial).toBeNull()
    world.is_ended = true
    world.now += 6 * MINUTE
    expect(await step(first.state)).toMatchObject({ partial: 'seen_as_anonymous' })
    expect(await source.states?.(['t3_999'], { ...call(), identity: ANONYMOUS })).toMatchObject({
      ok: false,
      fault: { kind: 'login_required' },
    })
    world.is_ended = false
    world.now += 6 * MINUTE
    expect(await step(first.state)).toMatchObject({ partial: null })
  },
)

test.each(['v3', 'v4'] as const)(
  '%s: answers to anyone betray an ended token within a minute, and prove nothing',
  async (generation) => {
    await using fixture = createServer(generation, { credential: 'token' })
    const { world, put, step } = fixture
    put('post', 100)
    world.headers = { 'cache-control': 'private' }
    let { state } = await step(null)
    const ended_at = world.now
    world.is_ended = true
    world.headers = { 'cache-control': 'public, max-age=60' }
    for (let age_s = 30; age_s <= 300; age_s += 30) {
      world.now = ended_at + age_s * S
      const next = await step(state)
      expect(next.verified_until).toBeLessThanOrEqual(ended_at)
      if (age_s > 60) expect(next.partial).toBe('seen_as_anonymous')
      ;({ state } = next)
    }
    world.is_ended = false
    world.headers = { 'cache-control': 'private' }
    world.now += 6 * MINUTE
    expect((await step(state)).verified_until).toBe(world.now)
  },
)

test.each(['v3', 'v4', 'piefed'] as const)(
  '%s: a place proves nothing before the server has shown it',
  async (generation) => {
    await using fixture = createServer(generation)
    const { source, world, step, put } = fixture
    put('post', 100)
    world.answer = (path) => (path === '/community' ? new Response('', { status: 503 }) : null)
    const advance = (state: string | null, places: string[]) =>
      source.watch?.advance(state, { requests: 10, ...fixture.call(), places })
    const { state } = await step(null)
    expect(source.partialFor?.('coffee')).toBeNull()
    expect(source.partialFor?.('tea')).toBe('places_not_read')
    await advance(state, ['tea'])
    expect(source.partialFor?.('tea')).toBe('places_not_read')
    world.answer = (path, request) =>
      path === '/community' && request.url.includes('name=tea')
        ? Response.json({ community_view: { community: { id: 4, name: 'Tea', local: true } } })
        : null
    world.requests.length = 0
    await advance(state, ['tea'])
    expect(world.requests.some((it) => it.includes('/community?'))).toBe(false)
    world.now += 61 * MINUTE
    await advance(state, ['tea', 'all', 'tea@other.example'])
    expect(world.requests.filter((it) => it.includes('/community?'))).toHaveLength(1)
    expect(source.partialFor?.('tea')).toBeNull()
  },
)

test.each([{ visibility: 'unlisted' }, { nsfw: true }])(
  'v4: a place (%j) whose comments are in no list is not covered',
  async (community) => {
    await using fixture = createServer('v4')
    const { source, world, step, put } = fixture
    world.community = community
    put('post', 100)
    await step(null)
    expect(source.partialFor?.('coffee')).toBe('places_not_read')
  },
)

test('v3: an id of a comment is not believed void while the database is down', async () => {
  await using fixture = createServer('v3')
  const { source, world, step, put } = fixture
  put('post', 100)
  put('comment', 500)
  const first = await step(null)
  world.now += 10 * S
  put('comment', 501, { is_absent: true })
  put('comment', 502)
  const seen = await step(first.state)
  world.now += 65 * S
  put('comment', 501, { is_unlisted: true })
  const listed = await step(seen.state, 2, { settles: false })
  // The database stops after the lists.
  world.answer = (path) => {
    if (path === '/site') return null
    const error = path === '/comment' ? 'couldnt_find_comment' : 'unknown'
    return Response.json({ error, message: 'Error occurred: no connection' }, { status: 400 })
  }
  const settle = () => source.watch?.settle?.(listed.state, { requests: 2, ...fixture.call() })
  expect(await settle()).toMatchObject({ ok: false, fault: { kind: 'unavailable' } })
  world.answer = () => null
  expect(await settle()).toMatchObject({ ok: true, value: { items: [{ name: 't1_501' }] } })
})
