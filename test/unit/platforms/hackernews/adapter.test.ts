import { expect, test } from 'bun:test'

import { createHackerNews } from '../../../../src/platforms/hackernews/adapter.ts'
import { ANONYMOUS } from '../../../../src/platforms/port.ts'
import { realClock } from '../../../../src/runtime/runtime.ts'
import { createLoopbackEgress } from '../../../support/loopback-egress.ts'

/** The adapter with both of its hosts in one server. */
function startSite(answer: (path: string) => Response) {
  const paths: string[] = []
  let now = Date.UTC(2026, 0, 1)
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch(request) {
      const { pathname } = new URL(request.url)
      paths.push(pathname)
      return answer(pathname)
    },
  })
  const clock = { ...realClock, now: () => now, mono: () => now, async sleep() {} }
  const egress = createLoopbackEgress()
  return {
    paths,
    source: createHackerNews({
      egress,
      clock,
      log: () => {},
      random: { fraction: () => 0.5 },
      base_url: `http://127.0.0.1:${server.port}`,
      user_agent: 'forumd-test/1.0',
      requests_per_minute: 6000,
      timeout_ms: 5000,
      credential: null,
    }),
    call: () => ({ deadline_at: now + 500, identity: ANONYMOUS, requests: 10 }),
    pass: (ms: number) => void (now += ms),
    async [Symbol.asyncDispose]() {
      egress.close()
      await server.stop(true)
    },
  }
}

const QUERY = {
  q: 'fish',
  subforum: null,
  sort: 'new',
  t: 'all',
  nsfw: false,
  limit: 5,
  after: null,
}

test.each([
  () => Response.json({ message: 'blocked' }, { status: 403 }),
  () => new Response('', { status: 429, headers: { 'retry-after': '60' } }),
])('a limit of the search index holds searches up, and no item (%#)', async (refusal) => {
  await using it = startSite((path) =>
    path.startsWith('/api/') ? refusal() : Response.json(path.includes('maxitem') ? 7 : null),
  )
  const search = () => it.source.reads.search(QUERY, it.call())
  expect(await search()).toMatchObject({ fault: { kind: 'throttled', retry_after_s: 60 } })
  expect(await it.source.probe(it.call())).toMatchObject({
    ok: true,
    value: { notes: ['newest item: 7'] },
  })
  expect(await it.source.reads.liveness(['1'], it.call())).toMatchObject({ ok: true })

  it.pass(20_000)
  expect(await search()).toMatchObject({ fault: { retry_after_s: 40, not_requested: true } })
  it.pass(40_000)
  await search()
  expect(it.paths.filter((path) => path.startsWith('/api/'))).toHaveLength(2)
})

test('an answer without the newest item is no Hacker News', async () => {
  await using it = startSite(() => Response.json(null))
  expect(await it.source.probe(it.call())).toMatchObject({
    ok: false,
    fault: { kind: 'unreadable' },
  })
})

test('a story that the index does not have yet has its comments by id', async () => {
  const story = {
    id: 8,
    type: 'story',
    title: 'New',
    by: 'ann',
    time: 1_700_000_000,
    kids: [9, 10],
  }
  await using it = startSite((path) =>
    path.startsWith('/api/')
      ? Response.json({ status: 404, error: 'Not Found' }, { status: 404 })
      : Response.json(story),
  )
  const query = { post_id: '8', sort: 'new', depth: null, limit: null }
  const tree = await it.source.reads.tree(query, it.call())
  expect(tree).toMatchObject({
    ok: true,
    value: {
      post: { title: 'New' },
      comments: [{ kind: 'more', data: { children: ['9', '10'] } }],
    },
  })
})

test('the address of a comment that the index does not have yet leads to it and its story', async () => {
  const items = new Map<string, object>([
    ['8', { id: 8, type: 'story', title: 'New', by: 'ann', time: 1_700_000_000, kids: [9] }],
    [
      '9',
      { id: 9, type: 'comment', text: 'a', by: 'b', time: 1_700_000_001, parent: 8, kids: [10] },
    ],
  ])
  await using it = startSite((path) => {
    const [, id = ''] = /item\/(\d+)\.json$/.exec(path) ?? []
    return path.startsWith('/api/')
      ? Response.json({ status: 404, error: 'Not Found' }, { status: 404 })
      : Response.json(items.get(id) ?? null)
  })
  const target = it.source.targetOf(new URL('https://news.ycombinator.com/item?id=9'))
  const query = { post_id: target?.post_id ?? '', sort: 'new', depth: null, limit: null }

  expect(await it.source.reads.tree(query, it.call())).toMatchObject({
    ok: true,
    value: {
      post: { id: '8' },
      comments: [
        {
          kind: 't1',
          data: {
            id: '9',
            replies: { data: { children: [{ kind: 'more', data: { children: ['10'] } }] } },
          },
        },
      ],
    },
  })
})

test('an id that is answered with null is not certain to be absent', async () => {
  await using it = startSite(() => Response.json(null))
  expect(await it.source.reads.visibility('8', it.call())).toEqual({
    ok: true,
    value: { verdict: 'not_visible', reason: 'absent', confident: false },
  })
})

const comment = (id: number, parent_id: number, children: object[] = []) => ({
  id,
  parent_id,
  author: 'ann',
  text: 'a',
  created_at_i: 1_700_000_000,
  children,
})

const replies = (parent: number) =>
  Array.from({ length: 1000 }, (_, n) => comment(parent * 1000 + n, parent))

test('replies beyond the bound of a tree are named by id under their comment', async () => {
  const tops = Array.from({ length: 11 }, (_, n) => 9 + n)
  await using it = startSite((path) =>
    Response.json(
      path.startsWith('/api/')
        ? { id: 8, children: tops.map((top) => comment(top, 8, replies(top))) }
        : { id: 8, type: 'story', title: 'Long', by: 'ann', time: 1_700_000_000, kids: tops },
    ),
  )
  const query = { post_id: '8', sort: 'new', depth: null, limit: null }
  const tree = await it.source.reads.tree(query, it.call())
  expect(tree).toMatchObject({
    ok: true,
    value: {
      comments: {
        9: {
          data: {
            id: '18',
            replies: { data: { children: { 989: { kind: 'more', data: { count: 11 } } } } },
          },
        },
        10: { data: { id: '19', replies: { data: { children: [{ data: { count: 1000 } }] } } } },
      },
    },
  })
})

test('a search ends with its last page', async () => {
  const hit = { objectID: '1', title: 'Fish', author: 'ann', created_at_i: 1_700_000_000 }
  const body = { hits: [{ ...hit, _tags: ['story'] }], nbPages: 2 }
  await using it = startSite(() => Response.json(body))
  const cursors: unknown[] = []
  for (const after of [null, 'p1']) {
    const page = await it.source.reads.search({ ...QUERY, after }, it.call())
    cursors.push(page.ok && page.value.after)
  }
  expect(cursors).toEqual(['p1', null])
})
