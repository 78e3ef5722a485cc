import { expect, test } from 'bun:test'

import { ANONYMOUS } from '../../../../src/platforms/port.ts'
import { createServer, T0 } from './fixture.ts'

const callOf = (fixture: { clock: { now(): number } }) => ({
  identity: ANONYMOUS,
  deadline_at: fixture.clock.now() + 1000,
})
const FIRST = { limit: 50, after: null }

test.each(['v3', 'v4'] as const)(
  '%s: a limit of searches stops nothing else',
  async (generation) => {
    await using fixture = createServer(generation)
    const { world, source, put } = fixture
    put('post', 1)
    world.answer = (path) =>
      path === '/search' ? Response.json({ error: 'too_many_requests' }, { status: 429 }) : null
    const query = { q: 'tea', subforum: null, sort: 'new', t: 'all', nsfw: true, ...FIRST }
    expect(await source.reads.search(query, callOf(fixture))).toMatchObject({
      fault: { kind: 'throttled' },
    })
    const before = fixture.clock.now()
    expect(await source.reads.postsById(['1'], callOf(fixture))).toMatchObject({ ok: true })
    expect(fixture.clock.now() - before).toBe(0)
    world.requests.length = 0
    expect(await source.reads.search(query, callOf(fixture))).toMatchObject({
      fault: { kind: 'throttled', not_requested: true },
    })
    expect(world.requests).toEqual([])
  },
)

test('v4: every list is asked without a limit of time, which is the default of the site else', async () => {
  await using fixture = createServer('v4')
  const { source, put, world } = fixture
  put('post', 1)
  put('comment', 1)
  const top = { subforums: [], sort: 'top', t: 'all', ...FIRST }
  await source.reads.posts(top, callOf(fixture))
  await source.reads.tree({ post_id: '1', sort: 'top', depth: null, limit: null }, callOf(fixture))
  const lists = world.requests.filter((it) => it.includes('/list?'))
  expect(lists).toHaveLength(2)
  for (const path of lists) expect(path).toContain('time_range_seconds=0')
})

test('a reply whose parent the server left out of a tree is no root', async () => {
  await using fixture = createServer('v3')
  const { source, put } = fixture
  put('post', 1)
  put('comment', 5)
  put('comment', 9, { parent: 7 })
  const query = { post_id: '1', sort: 'new', depth: null, limit: null }
  const tree = await source.reads.tree(query, callOf(fixture))
  expect(tree).toMatchObject({
    value: { comments: [{ data: { id: '5' } }, { kind: 'more', data: { children: ['9'] } }] },
  })
})

test('v3: a list ends at its hundredth page, which the server answers as the last', async () => {
  await using fixture = createServer('v3')
  const { source, put } = fixture
  for (let id = 1; id <= 5001; id++) put('comment', id, { published: T0 + id })
  const page = (after: string) =>
    source.reads.comments({ subforums: [], limit: 50, after }, callOf(fixture))
  expect(await page('99')).toMatchObject({ value: { after: '100' } })
  expect(await page('100')).toMatchObject({ value: { after: null } })
})

test('the address of a comment leads to it and to its tree', async () => {
  await using fixture = createServer('v4')
  const { source, put } = fixture
  put('post', 1)
  put('comment', 5)
  const place = source.targetOf(new URL('/comment/5', source.url))
  expect(place).toMatchObject({ comment_id: '5' })
  const query = {
    post_id: place?.post_id ?? '',
    comment_id: '5',
    sort: 'new',
    depth: null,
    limit: null,
  }
  expect(await source.reads.tree(query, callOf(fixture))).toMatchObject({
    value: { post: { id: '1' }, comments: [{ data: { id: '5' } }] },
  })
})

test.each(['v3', 'v4', 'piefed'] as const)(
  '%s: a post of a NSFW community is for adults',
  async (generation) => {
    await using fixture = createServer(generation)
    fixture.put('post', 1)
    fixture.world.community = { nsfw: true }
    expect(await fixture.source.reads.postsById(['1'], callOf(fixture))).toMatchObject({
      value: [{ over_18: true }],
    })
  },
)
