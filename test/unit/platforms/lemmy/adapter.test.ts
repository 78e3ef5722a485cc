import { describe, expect, test } from 'bun:test'

import type { Call } from '../../../../src/platforms/port.ts'
import { ANONYMOUS } from '../../../../src/platforms/port.ts'
import { createServer, S, T0 } from './fixture.ts'

const FIRST = { limit: 25, after: null }
const callOf = (fixture: { call(): { deadline_at: number } }): Call => ({
  identity: ANONYMOUS,
  ...fixture.call(),
})

describe.each(['v3', 'v4', 'piefed'] as const)('%s', (generation) => {
  test('the API is found once, from the newest on', async () => {
    await using fixture = createServer(generation)
    const requested = {
      v4: ['/api/v4/site'],
      v3: ['/api/v4/site', '/api/v3/site'],
      piefed: ['/api/alpha/site'],
    }[generation]
    const { reads } = fixture.source
    for (let count = 0; count < 2; count++)
      await reads.posts({ subforums: [], sort: 'new', t: null, ...FIRST }, callOf(fixture))
    expect(fixture.world.requests.filter((it) => it.endsWith('/site'))).toEqual(requested)
  })

  test('a listing has the fields of every source, and goes on by its cursor', async () => {
    await using fixture = createServer(generation)
    for (let id = 1; id <= 3; id++) fixture.put('post', id, { published: T0 + id * S })
    const query = { subforums: ['coffee'], sort: 'new', t: null, limit: 2 }
    const first = await fixture.source.reads.posts({ ...query, after: null }, callOf(fixture))
    expect(first).toMatchObject({
      ok: true,
      value: {
        rows: [
          {
            name: 't3_3',
            title: 'post 3',
            author: 'ann',
            subforum: 'coffee',
            upvotes: 3,
            comments: 2,
            upvote_ratio: 0.8,
            text: 'text 3',
            permalink: '/post/3',
            created_utc: T0 / S + 3,
          },
          { name: 't3_2' },
        ],
      },
    })
    const after = first.ok ? first.value.after : null
    const second = await fixture.source.reads.posts({ ...query, after }, callOf(fixture))
    expect(second).toMatchObject({ ok: true, value: { rows: [{ name: 't3_1' }], after: null } })
    expect(fixture.world.requests.at(-1)).toMatch(/community_name=coffee|community_id=3/)
    expect(fixture.world.requests.at(-1)).toContain('show_nsfw=true')
  })

  test('a removed post is not among those by id, nor visible', async () => {
    await using fixture = createServer(generation)
    fixture.put('post', 1)
    fixture.put('post', 2, { is_removed: true })
    const { reads } = fixture.source
    const posts = await reads.postsById(['1', '2', '3'], callOf(fixture))
    expect(posts).toMatchObject({ ok: true, value: [{ id: '1' }] })
    expect(await reads.visibility('1', callOf(fixture))).toMatchObject({
      value: { verdict: 'live' },
    })
    expect(await reads.visibility('2', callOf(fixture))).toMatchObject({
      value: { verdict: 'not_visible', confident: false },
    })
  })

  test('a deleted post that is still answered is no post', async () => {
    await using fixture = createServer(generation)
    const { world, source } = fixture
    fixture.put('post', 1)
    const given = await fixture.api().byId('post', 1, fixture.call())
    const view = given.ok ? given.value : null
    const post = { ...Object(view?.['post']), deleted: true }
    world.answer = (path) =>
      path === '/post' ? Response.json({ post_view: { ...view, post } }) : null
    expect(await source.reads.postsById(['1'], callOf(fixture))).toEqual({ ok: true, value: [] })
    expect(await source.reads.visibility('1', callOf(fixture))).toMatchObject({
      value: { verdict: 'not_visible', reason: 'deleted', confident: true },
    })
  })

  test('a community of another server carries its host', async () => {
    await using fixture = createServer(generation)
    fixture.put('post', 1, { is_local: false })
    expect(await fixture.source.reads.postsById(['1'], callOf(fixture))).toMatchObject({
      value: [{ subforum: 'coffee@other.example', author: 'ann' }],
    })
  })

  test('a tree nests replies, and names those beyond its bounds by id', async () => {
    await using fixture = createServer(generation)
    fixture.put('post', 1)
    fixture.put('comment', 11)
    fixture.put('comment', 12, { parent: 11, is_removed: true })
    fixture.put('comment', 13)
    const query = { post_id: '1', sort: 'new', depth: null, limit: null }
    const whole = await fixture.source.reads.tree(query, callOf(fixture))
    expect(whole).toMatchObject({
      value: {
        post: { id: '1' },
        comments: [
          { kind: 't1', data: { id: '13', is_submitter: true, link_id: 't3_1' } },
          {
            data: {
              id: '11',
              replies: {
                data: { children: [{ data: { id: '12', body: '[removed]', depth: 1 } }] },
              },
            },
          },
        ],
      },
    })
    const cut = await fixture.source.reads.tree({ ...query, depth: 1 }, callOf(fixture))
    expect(cut).toMatchObject({
      value: {
        comments: [
          { data: { id: '13' } },
          {
            data: {
              replies: { data: { children: [{ kind: 'more', data: { children: ['12'] } }] } },
            },
          },
        ],
      },
    })
    const more = await fixture.source.reads.more(
      { post_id: '1', ids: ['12'], sort: 'new' },
      callOf(fixture),
    )
    expect(more).toMatchObject({ value: [{ data: { id: '12', parent_id: 't1_11' } }] })
  })

  test('the state of comments is read by id', async () => {
    await using fixture = createServer(generation)
    fixture.put('comment', 11)
    fixture.put('comment', 12, { is_removed: true })
    const states = await fixture.source.reads.liveness(['11', '12', '13'], callOf(fixture))
    expect(states).toEqual({
      ok: true,
      value: new Map([
        ['11', 'live'],
        ['12', 'removed'],
      ]),
    })
  })
})

describe('a PieFed server', () => {
  test('its list of comments takes the id of a community, not the name', async () => {
    await using fixture = createServer('piefed')
    fixture.put('comment', 11)
    const { reads } = fixture.source
    const query = { subforums: ['coffee'], ...FIRST }
    expect(await reads.comments(query, callOf(fixture))).toMatchObject({
      value: { rows: [{ name: 't1_11', author: 'ann', body: 'text 11' }] },
    })
    expect(fixture.world.requests.at(-1)).toContain('community_id=3')
    expect(
      await reads.comments({ ...query, subforums: ['unknown'] }, callOf(fixture)),
    ).toMatchObject({ fault: { kind: 'not_found' } })
  })

  test('a tree goes on over its pages, which the API bounds', async () => {
    await using fixture = createServer('piefed')
    fixture.put('post', 1)
    for (let id = 1; id <= 120; id++) fixture.put('comment', id)
    const query = { post_id: '1', sort: 'new', depth: null, limit: null }
    const tree = await fixture.source.reads.tree(query, callOf(fixture))
    expect(tree.ok && tree.value.comments.length).toBe(120)
  })

  test('a row that it does not have is absent; an API that is switched off is no absence', async () => {
    await using fixture = createServer('piefed')
    const call = callOf(fixture)
    expect(await fixture.source.reads.postsById(['9'], call)).toEqual({ ok: true, value: [] })
    const unspecific = { code: 400, message: 'A sentence of its own', status: 'Bad Request' }
    fixture.world.answer = () => Response.json(unspecific, { status: 400 })
    expect(await fixture.source.reads.postsById(['9'], call)).toMatchObject({
      fault: { kind: 'unavailable' },
    })
    for (const [message, kind] of [
      ['alpha api is not enabled', 'forbidden'],
      ['incorrect_login', 'rejected'],
    ] as const) {
      const body = { code: 400, message, status: 'Bad Request' }
      fixture.world.answer = () => Response.json(body, { status: 400 })
      expect(await fixture.source.reads.postsById(['9'], call)).toMatchObject({ fault: { kind } })
    }
  })

  test('an account is read with its content, which the API leaves out unless asked', async () => {
    await using fixture = createServer('piefed')
    fixture.put('comment', 11)
    fixture.world.answer = (path, request) => {
      if (path !== '/user') return null
      const asked = new URL(request.url).searchParams.get('include_content') === 'true'
      return Response.json({ posts: [], comments: asked ? [{}] : [] })
    }
    const query = { name: 'ann', sort: 'new', t: null, ...FIRST }
    await fixture.source.reads.userComments(query, callOf(fixture))
    expect(fixture.world.requests.at(-1)).toContain('include_content=true')
  })
})

test('the announced limit of reads lowers the pace to half of it', async () => {
  await using fixture = createServer('v4', { is_pace_set: false })
  fixture.world.message_max = 180
  fixture.put('post', 1)
  const { reads } = fixture.source
  // Ten may be sent at once.
  for (let count = 0; count < 13; count++) await reads.postsById(['1'], callOf(fixture))
  expect(fixture.slowed_ms()).toBeGreaterThan((2 * 60_000) / 90)
  expect(fixture.slowed_ms()).toBeLessThan((5 * 60_000) / 90)
})

test.each([
  ['up to the announced limit', 90, 90],
  ['not beyond it', 600, 180],
])('the pace that the operator sets holds, %s', async (_, requests_per_minute, used) => {
  await using fixture = createServer('v4', { requests_per_minute })
  fixture.world.message_max = 180
  fixture.put('post', 1)
  const { reads, perMinute } = fixture.source
  for (let count = 0; count < 10 + used; count++) await reads.postsById(['1'], callOf(fixture))
  expect(perMinute?.()).toBe(used)
  // All but the ten that may be sent at once.
  expect(fixture.slowed_ms()).toBeGreaterThan(58_000)
  expect(fixture.slowed_ms()).toBeLessThan(62_000)
})

test.each([
  [400, { error: 'rate_limit_error' }, 'throttled'],
  [401, { error: 'instance_is_private' }, 'login_required'],
  [400, { error: 'not_logged_in' }, 'login_required'],
  [400, { error: 'couldnt_find_community' }, 'not_found'],
  [400, { error: 'person_is_banned_from_site' }, 'forbidden'],
  [400, { error: 'invalid_fetch_limit' }, 'rejected'],
])('a refusal of status %d with %p is %s', async (status, body, kind) => {
  await using fixture = createServer('v3')
  fixture.world.answer = (path) => (path === '/community' ? Response.json(body, { status }) : null)
  const call = { ...callOf(fixture), deadline_at: fixture.clock.now() + S }
  expect(await fixture.source.reads.community('coffee', call)).toMatchObject({ fault: { kind } })
})

test('several places at once are refused, since the API lists one or all', async () => {
  await using fixture = createServer('v4')
  const query = { subforums: ['coffee', 'tea'], sort: 'new', t: null, ...FIRST }
  expect(await fixture.source.reads.posts(query, callOf(fixture))).toMatchObject({
    fault: { kind: 'rejected' },
  })
})

test('a shield in front of the server is no empty answer', async () => {
  await using fixture = createServer('v3')
  fixture.world.answer = () =>
    new Response('<!doctype html>', { status: 403, headers: { 'content-type': 'text/html' } })
  expect(await fixture.source.reads.community('coffee', callOf(fixture))).toMatchObject({
    fault: { kind: 'blocked' },
  })
})

test('a server that is down is not asked by an older API', async () => {
  await using fixture = createServer('v4')
  fixture.world.answer = () => Response.json({}, { status: 503 })
  const call = { ...callOf(fixture), deadline_at: fixture.clock.now() + 5000 }
  expect(await fixture.source.reads.community('coffee', call)).toMatchObject({
    fault: { kind: 'unavailable' },
  })
  expect(fixture.world.requests).not.toContain('/api/v3/site')
})

test('a community of another server is a copy, that of this one is not', async () => {
  await using fixture = createServer('v4')
  const { source } = fixture
  expect(source.partialFor?.('coffee@other.example')).toBe('copy_of_remote')
  expect(source.partialFor?.('all')).toBe('copy_of_remote')
  expect(source.partialFor?.(`coffee@${new URL(source.url).host}`)).toBe(
    source.partialFor?.('coffee'),
  )
  expect(['coffee', 'coffee@other.example', 'all'].every(source.isPlace)).toBe(true)
  expect(['', 'a b', 'coffee@', 'x/../y'].some(source.isPlace)).toBe(false)
})

test.each(['v3', 'v4', 'piefed'] as const)(
  '%s: a place is spelt as the server spells it, once it was asked for',
  async (generation) => {
    await using fixture = createServer(generation)
    const { source, world } = fixture
    world.answer = (path) =>
      path === '/community'
        ? Response.json({ community_view: { community: { id: 3, name: 'coffee', local: true } } })
        : null
    // The server has a name of its own, which is not that of its address.
    for (const place of ['Coffee', 'coffee@lemmy.example']) {
      expect(source.spell?.(place)).toBe(place)
      await source.reads.community(place, callOf(fixture))
      expect(source.spell?.(place)).toBe('coffee')
      expect(source.partialFor?.(place)).toBeNull()
    }
  },
)

test('a link to a post of this server leads to it', async () => {
  await using fixture = createServer('v4')
  const { targetOf, url } = fixture.source
  expect(targetOf(new URL(`${url}/post/12`))).toEqual({ post_id: '12', comment_id: null })
  expect(targetOf(new URL(`${url}/post/12/34`))).toEqual({ post_id: '12', comment_id: '34' })
  expect(targetOf(new URL('https://other.example/post/12'))).toBeNull()
})

test('the probe names the API and the limit', async () => {
  await using fixture = createServer('v3', { is_pace_set: false })
  fixture.world.message_max = 180
  expect(await fixture.source.probe({ requests: 5, ...fixture.call() })).toEqual({
    ok: true,
    value: {
      title: 'A server',
      version: '0.19.13',
      notes: ['API: /api/v3', 'reads allowed a minute: 180', 'requests a minute, at most: 90'],
    },
  })
})
