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

test.each([
  ['/post', '/post/list', 37],
  ['/search', '/post/list', 60],
  ['/search', '/search', 37],
])(
  'v4: a bare refusal of %s waits for the reset that an answer to %s has stated, %d s',
  async (refused, allowed, wait_s) => {
    await using fixture = createServer('v4')
    const { world, source, put } = fixture
    put('post', 1)
    const query = { q: 'tea', subforum: null, sort: 'new', t: 'all', nsfw: true, ...FIRST }
    const ask = (path: string) =>
      path === '/search'
        ? source.reads.search(query, callOf(fixture))
        : path === '/post'
          ? source.reads.postsById(['1'], callOf(fixture))
          : source.reads.posts({ subforums: [], sort: 'new', t: null, ...FIRST }, callOf(fixture))
    await ask('/post')
    world.headers = { 'x-ratelimit-reset': '40', 'x-ratelimit-remaining': '9' }
    await ask(allowed)
    world.headers = {}
    world.now += 3000
    world.answer = (path) =>
      path === refused ? Response.json({ error: 'too_many_requests' }, { status: 429 }) : null
    expect(await ask(refused)).toMatchObject({
      fault: { kind: 'throttled', retry_after_s: wait_s },
    })
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

/** A thread of 0.19 with more comments than one answer has: 290 at the top, and a reply to each of the first 20. */
function putThread({ put }: Pick<ReturnType<typeof createServer>, 'put'>) {
  put('post', 1)
  for (let id = 1; id <= 290; id++) put('comment', id, { published: T0 + id })
  for (let id = 1; id <= 20; id++) put('comment', 1000 + id, { published: T0 + id, parent: id })
}

test('v3: branches that a tree of 300 rows lacks are read, and the others are named by their comment', async () => {
  await using fixture = createServer('v3')
  const { source, world } = fixture
  putThread(fixture)
  const query = { post_id: '1', sort: 'new', depth: null, limit: null }
  const tree = await source.reads.tree(query, callOf(fixture))
  if (!tree.ok) throw new Error(tree.fault.kind)
  const { comments } = tree.value
  const below = comments.filter(({ data }) => JSON.stringify(data['replies']).includes('1'))
  expect(comments).toHaveLength(290)
  const replies = JSON.stringify(comments)
  const read = Array.from({ length: 20 }, (_, n) => replies.includes(`"id":"${1001 + n}"`))
  expect(read.filter((it) => it)).toHaveLength(18)
  // The two that the requests did not suffice for.
  expect(below.filter((it) => JSON.stringify(it).includes('"kind":"more"'))).toHaveLength(2)
  expect(world.requests.filter((it) => it.includes('parent_id='))).toHaveLength(8)
})

test('v3: a tree that is cut for its caller asks for no branches', async () => {
  await using fixture = createServer('v3')
  putThread(fixture)
  const query = { post_id: '1', sort: 'new', depth: null, limit: 10 }
  await fixture.source.reads.tree(query, callOf(fixture))
  expect(fixture.world.requests.some((it) => it.includes('parent_id='))).toBe(false)
})

test('v3: comments beyond the rows of a tree are read by their id', async () => {
  await using fixture = createServer('v3')
  putThread(fixture)
  const more = { post_id: '1', ids: ['1020'], sort: 'new' }
  expect(await fixture.source.reads.more(more, callOf(fixture))).toMatchObject({
    value: [{ data: { id: '1020', parent_id: 't1_20' } }],
  })
})

test('v3: listings of an account and searches lack adult posts, and say so', async () => {
  await using fixture = createServer('v3')
  const { source, world } = fixture
  world.answer = (path) =>
    path === '/user' || path === '/search' ? Response.json({ posts: [], comments: [] }) : null
  const person = { name: 'ann', sort: 'new', t: null, ...FIRST }
  const items = (tab: 'submitted' | 'overview' | 'comments') =>
    source.reads.userItems({ ...person, tab }, callOf(fixture))
  for (const tab of ['submitted', 'overview'] as const)
    expect(await items(tab)).toMatchObject({ value: { rows: [], lacks_some: true } })
  expect(await items('comments')).not.toMatchObject({ value: { lacks_some: true } })
  const query = { q: 'tea', subforum: null, sort: 'new', t: 'all', ...FIRST }
  const search = (nsfw: boolean) => source.reads.search({ ...query, nsfw }, callOf(fixture))
  expect(await search(true)).toMatchObject({ value: { lacks_some: true } })
  expect(await search(false)).not.toMatchObject({ value: { lacks_some: true } })
})

test('v4: a tree of a post for adults says that it has more comments', async () => {
  await using fixture = createServer('v4')
  const { source, put } = fixture
  put('post', 1, { nsfw: true })
  const query = { post_id: '1', sort: 'new', depth: null, limit: null }
  expect(await source.reads.tree(query, callOf(fixture))).toMatchObject({
    value: { comments: [{ kind: 'more' }] },
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
