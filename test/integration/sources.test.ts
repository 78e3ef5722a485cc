import { afterAll, beforeAll, expect, test } from 'bun:test'

import { startTestDaemon } from '../support/test-daemon.ts'

/** Items of the API by id; times are those of the daemon's clock. */
const TIME = Date.UTC(2026, 0, 1) / 1000
const ITEMS: Record<number, unknown> = {
  1: {
    id: 1,
    type: 'story',
    by: 'ann',
    time: TIME,
    title: 'Show HN: A &amp; B',
    url: 'https://example.org/x',
    score: 5,
    descendants: 2,
    kids: [2],
  },
  2: {
    id: 2,
    type: 'comment',
    by: 'bob',
    time: TIME + 1,
    parent: 1,
    kids: [3],
    text: 'first<p>second',
  },
  5: {
    id: 5,
    type: 'comment',
    by: 'zed',
    time: TIME + 3,
    parent: 4,
    text: 'no story',
  },
  3: { id: 3, type: 'comment', by: 'ann', time: TIME + 2, parent: 2, text: '<i>thanks</i>' },
}

const hn = Bun.serve({
  hostname: '127.0.0.1',
  port: 0,
  fetch({ url }) {
    const { pathname } = new URL(url)
    const id = /^\/v0\/item\/(\d+)\.json$/.exec(pathname)?.[1]
    if (id !== undefined) return Response.json(ITEMS[Number(id)] ?? null)
    if (pathname === '/v0/newstories.json') return Response.json([1])
    if (pathname === '/v0/showstories.json') return Response.json([])
    if (pathname === '/v0/maxitem.json') return Response.json(3)
    if (pathname === '/api/v1/items/1')
      return Response.json({
        id: 1,
        children: [
          {
            id: 2,
            author: 'bob',
            created_at_i: TIME + 1,
            text: 'first<p>second',
            parent_id: 1,
            children: [
              {
                id: 3,
                author: 'ann',
                created_at_i: TIME + 2,
                text: '<i>thanks</i>',
                parent_id: 2,
                children: [],
              },
            ],
          },
        ],
      })
    return Response.json(null)
  },
})

let daemon: Awaited<ReturnType<typeof startTestDaemon>>
beforeAll(async () => {
  daemon = await startTestDaemon({
    change: (config) =>
      config.source.push({
        name: 'hn',
        kind: 'hackernews',
        base_url: `http://127.0.0.1:${hn.port}`,
        user_agent: '',
        requests_per_minute: 6000,
        api_key: '',
        ends_at: '',
      }),
  })
})
afterAll(async () => {
  await daemon[Symbol.asyncDispose]()
  await hn.stop(true)
})

test('the sources are listed with what each can do', async () => {
  const { status, body } = await daemon.call('/api/forum/sources')
  expect(status).toBe(200)
  expect(body.sources).toMatchObject([
    { name: 'forum', kind: 'reddit', proof: 'time_listing', state: { status: 'never_tried' } },
    {
      name: 'hn',
      kind: 'hackernews',
      proof: 'dense',
      capabilities: expect.arrayContaining(['posts']),
    },
  ])
})

test('a read that names a source is answered from it, and its rows name the source', async () => {
  const { status, body, headers } = await daemon.call('/api/forum/posts?subforum=show&source=hn')
  expect(status).toBe(200)
  expect(headers.get('x-request-id')).not.toBeNull()
  expect(headers.get('x-credits-remaining')).not.toBeNull()
  expect(body).toEqual({
    posts: [],
    after: null,
    listing_status: expect.any(String),
  })
  const story = await daemon.call('/api/forum/posts?subforum=story&source=hn')
  expect(story.body.posts).toMatchObject([
    { id: '1', name: 't3_1', title: 'Show HN: A & B', subforum: 'show', source: 'hn', comments: 2 },
  ])
})

test('a tree of another source has the documented nodes', async () => {
  const { status, body } = await daemon.call('/api/forum/comments/1?source=hn')
  expect(status).toBe(200)
  expect(body.comments).toMatchObject([
    {
      kind: 't1',
      data: {
        id: '2',
        parent_id: 't3_1',
        body: 'first\n\nsecond',
        depth: 0,
        replies: {
          data: { children: [{ kind: 't1', data: { id: '3', body: '_thanks_', depth: 1 } }] },
        },
      },
    },
  ])
})

test('a comment whose story cannot be read is shown without a title', async () => {
  const { status, body } = await daemon.call('/api/forum/comment/5?source=hn')
  expect(status).toBe(200)
  expect(body.comment.data).toMatchObject({ id: '5', body: 'no story', link_id: 't3_4' })
})

test('a call that a source has no means for names the capability', async () => {
  const { status, body } = await daemon.call('/api/forum/sub/show/rules?source=hn')
  expect(status).toBe(501)
  expect(body).toMatchObject({ code: 'NOT_SUPPORTED_BY_SOURCE', capability: 'rules' })
})

test('an unknown source is refused with the names of those that exist', async () => {
  const { status, body } = await daemon.call('/api/forum/posts?subforum=show&source=nowhere')
  expect(status).toBe(400)
  expect(body).toMatchObject({ error: 'source must be one of forum, hn' })
})

test('the first platform has the name of its table, and its rows stay as they are', async () => {
  const { status, body } = await daemon.call('/api/forum/posts?subforum=coffee&source=forum')
  const plain = await daemon.call('/api/forum/posts?subforum=coffee')
  expect([status, body]).toEqual([plain.status, plain.body])
})

test('a read of another source is counted and billed like any other', async () => {
  const before = await daemon.call('/account/me')
  await daemon.call('/api/forum/post/2?source=hn')
  await daemon.call('/api/forum/user/ann?source=hn')
  await daemon.call('/api/forum/post/1?source=hn')
  const after = await daemon.call('/account/me')
  expect(JSON.stringify(after.body)).not.toBe(JSON.stringify(before.body))
})

test('a call without a key is refused before a source is requested', async () => {
  const refused = await fetch(`${daemon.url()}/api/forum/posts?subforum=story&source=hn`)
  expect(refused.status).toBe(401)
})

test('a read of another source is measured once, by its route', async () => {
  const count = async () =>
    (await (await fetch(`${daemon.url()}/metrics`)).text())
      .split('\n')
      .filter((line) => /^forumd_http_requests_total\{.*user\/:name"/.test(line))
  await daemon.call('/api/forum/user/zoe?source=hn')
  const lines = await count()
  expect(lines).toHaveLength(1)
  expect(lines[0]).toContain('/sources/hn/user/:name')
})
