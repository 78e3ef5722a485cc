import { describe, expect, test } from 'bun:test'

import { idsOf, MINUTE, range, startForum } from './fixture.ts'

type Row = Record<string, unknown>

const topic = (id: number, more: Row = {}): Row => ({
  id,
  title: `Topic ${id}`,
  slug: 'a-topic',
  posts_count: 3,
  created_at: '2026-01-01T00:00:00.000Z',
  category_id: 6,
  posters: [{ description: 'Original Poster', user_id: 3 }],
  ...more,
})
const topicList = (topics: Row[], more = false) =>
  Response.json({
    users: [{ id: 3, username: 'ann' }],
    topic_list: { ...(more && { more_topics_url: '/latest?page=1' }), per_page: 30, topics },
  })
const post = (id: number, number: number, more: Row = {}): Row => ({
  id,
  topic_id: 1,
  post_number: number,
  post_type: 1,
  username: 'ann',
  user_id: 3,
  created_at: '2026-01-01T00:00:00.000Z',
  cooked: `<p>text ${id}</p>`,
  ...more,
})
const NEW = { sort: 'new', t: null } as const

/** A forum whose topic 1 has `count` posts with the ids 101 and up; each replies to its parent. */
function startTopic(
  count: number,
  parentOf: (number: number) => number | null = () => null,
  credential: string | null = null,
) {
  const it = startForum({ credential })
  const rows = range(1, count).map((number) =>
    post(100 + number, number, { reply_to_post_number: parentOf(number) }),
  )
  it.forum.override = ({ path, query }) => {
    if (path === '/t/1.json') {
      const post_stream = { posts: rows.slice(0, 20), stream: rows.map(({ id }) => id) }
      return Response.json({ ...topic(1), user_id: 3, posts_count: count, post_stream })
    }
    if (path === '/t/1/posts.json') {
      const ids = new Set(query.getAll('post_ids[]'))
      return Response.json({ post_stream: { posts: rows.filter(({ id }) => ids.has(String(id))) } })
    }
    const id = /^\/posts\/(\d+)\.json$/.exec(path)?.[1]
    const row = rows.find((one) => String(one['id']) === id)
    return row === undefined ? null : Response.json(row)
  }
  return it
}

describe('lists of topics', () => {
  test.each([
    [['all'], 'new', null, '/latest.json?order=created&page=0'],
    [['help/linux'], 'new', null, '/c/help/linux/6/l/latest.json?order=created&page=0'],
    [['tag:a b'], 'new', null, '/tag/a%20b/l/latest.json?order=created&page=0'],
    [['help'], 'hot', null, '/c/help/5/l/hot.json?page=0'],
    [[], 'top', 'week', '/top.json?period=weekly&page=0'],
    [[], 'rising', null, '/latest.json?page=0'],
  ])('%j by %s', async (subforums, sort, t, path) => {
    await using it = startForum()
    it.forum.override = (request) => (request.path === '/site.json' ? null : topicList([topic(1)]))
    const page = await it.source.reads.posts(
      { subforums, sort, t, limit: 25, after: null },
      it.call(),
    )
    expect(it.forum.paths).toContain(path)
    expect(page).toMatchObject({
      ok: true,
      value: {
        rows: [{ id: '1', author: 'ann', subforum: 'help/linux', comments: 2 }],
        after: null,
      },
    })
  })

  test('a cursor continues within a page, and no row is skipped or repeated', async () => {
    await using it = startForum()
    it.forum.override = ({ path, query }) => {
      if (path === '/site.json') return null
      const page = Number(query.get('page'))
      return topicList(
        range(page * 30 + 1, page * 30 + 30).map((id) => topic(id)),
        page < 2,
      )
    }
    const ids: number[] = []
    let after: string | null = null
    do {
      const query = { subforums: [], ...NEW, limit: 25, after }
      const page = await it.source.reads.posts(query, it.call())
      if (!page.ok) throw new Error(page.fault.kind)
      ids.push(...page.value.rows.map(({ id }) => Number(id)))
      ;({ after } = page.value)
    } while (after !== null)
    expect(ids).toEqual(range(1, 90))
  })

  test('a version without a hot list answers with the list by activity', async () => {
    await using it = startForum()
    it.forum.override = ({ path }) => (path === '/latest.json' ? topicList([topic(1)]) : null)
    const query = { subforums: [], sort: 'hot', t: null, limit: 5, after: null }
    expect(await it.source.reads.posts(query, it.call())).toMatchObject({
      ok: true,
      value: { rows: [{ id: '1' }] },
    })
  })

  test('an unknown category is not found, and no list is read', async () => {
    await using it = startForum()
    const query = { subforums: ['nothing'], ...NEW, limit: 5, after: null }
    expect(await it.source.reads.posts(query, it.call())).toMatchObject({
      ok: false,
      fault: { kind: 'not_found' },
    })
    expect(it.forum.paths).toEqual(['/site.json', '/c/nothing/find_by_slug.json'])
  })

  test('a category that the site does not list is looked up once', async () => {
    await using it = startForum()
    it.forum.override = ({ path }) => {
      if (path === '/c/99/show.json')
        return Response.json({ category: { id: 99, slug: 'deep', parent_category_id: 5 } })
      return path === '/latest.json' ? topicList([topic(1, { category_id: 99 })]) : null
    }
    const query = { subforums: [], ...NEW, limit: 5, after: null }
    for (let n = 0; n < 2; n++)
      expect(await it.source.reads.posts(query, it.call())).toMatchObject({
        ok: true,
        value: { rows: [{ subforum: 'help/deep' }] },
      })
    expect(it.forum.paths.filter((path) => path.startsWith('/c/'))).toHaveLength(1)
  })
})

test.each(['current', 'old'] as const)(
  'comments of a category and those below it, from the %s list, page by page',
  async (generation) => {
    await using it = startForum({ generation })
    for (const id of range(1, 240)) it.put(id, { category_id: id % 2 === 0 ? 6 : 7 })
    const ids: number[] = []
    let after: string | null = null
    do {
      const query = { subforums: ['help'], limit: 40, after }
      const page = await it.source.reads.comments(query, it.call())
      if (!page.ok) throw new Error(page.fault.kind)
      ids.push(...idsOf({ items: page.value.rows }))
      ;({ after } = page.value)
    } while (after !== null)
    expect(ids).toEqual(range(1, 120).map((n) => 242 - 2 * n))
  },
)

test('comments of a tag are unsupported: the list does not name tags', async () => {
  await using it = startForum()
  const query = { subforums: ['tag:x'], limit: 5, after: null }
  expect(await it.source.reads.comments(query, it.call())).toEqual({
    ok: false,
    fault: { kind: 'unsupported', capability: 'comments' },
  })
})

describe('the search', () => {
  const query = {
    q: 'fish',
    subforum: 'help',
    sort: 'new',
    t: 'week',
    nsfw: false,
    limit: 5,
    after: null,
  }

  test('finds topics by their first posts, in the words of the site', async () => {
    await using it = startForum()
    let asked = ''
    it.forum.override = (request) => {
      if (request.path !== '/search.json') return null
      asked = request.query.get('q') ?? ''
      return Response.json({
        posts: [
          { id: 9, topic_id: 1, post_number: 1, username: 'bob', blurb: 'a fish', like_count: 4 },
        ],
        topics: [topic(1)],
        grouped_search_result: { more_full_page_results: null, error: null },
      })
    }
    const page = await it.source.reads.search(query, it.call())
    expect(page).toMatchObject({
      ok: true,
      value: { rows: [{ id: '1', author: 'bob', text: 'a fish', upvotes: 4 }], after: null },
    })
    expect(asked).toBe('fish in:first order:latest_topic after:2025-12-25 category:5')
  })

  test.each([
    [
      () => Response.json({ posts: [], topics: [], grouped_search_result: { error: 'Slow down' } }),
      'throttled',
    ],
    [() => Response.json({ failed: 'FAILED', message: 'Slow down' }, { status: 429 }), 'throttled'],
    [() => Response.json({ error_type: 'invalid_parameters' }, { status: 400 }), 'rejected'],
    [() => Response.json({ grouped_search_result: null }), 'unreadable'],
  ])('a refusal is never an empty result (%#)', async (answer, kind) => {
    await using it = startForum()
    it.forum.override = ({ path }) => (path === '/search.json' ? answer() : null)
    const outcome = await it.source.reads.search(query, {
      ...it.call(),
      deadline_at: it.forum.now + 500,
    })
    expect(outcome).toMatchObject({ ok: false, fault: { kind } })
  })

  test('a refusal of the search does not hold other reads up', async () => {
    await using it = startForum()
    it.forum.override = ({ path }) =>
      path === '/search.json'
        ? Response.json({ posts: [], grouped_search_result: { error: 'Slow down' } })
        : null
    await it.source.reads.search(query, it.call())
    await it.step(null)
    expect(it.skipped()).toBe(0)
  })
})

test.each([
  { failed: 'FAILED', message: 'Slow down' },
  { errors: ['Slow down'], error_type: 'rate_limit', extras: { wait_seconds: 60 } },
])('a limit of the search alone holds for searches: %j', async (body) => {
  await using it = startForum()
  const query = { q: 'fish', subforum: null, sort: 'new', t: 'all', nsfw: false, limit: 5 }
  const soon = () => ({ ...it.call(), deadline_at: it.forum.now + 500 })
  it.forum.override = ({ path }) =>
    path === '/search.json' ? Response.json(body, { status: 429 }) : null
  const search = () => it.source.reads.search({ ...query, after: null }, soon())
  expect(await search()).toMatchObject({ fault: { kind: 'throttled', retry_after_s: 60 } })
  await it.step(null)
  expect(it.skipped()).toBe(0)

  it.forum.now += 20_000
  expect(await search()).toMatchObject({
    fault: { kind: 'throttled', retry_after_s: 40, not_requested: true },
  })
  it.forum.now += 41_000
  await search()
  expect(it.forum.paths.filter((path) => path.startsWith('/search.json'))).toHaveLength(2)
})

test('a limit of the address holds every request up, with and without Retry-After', async () => {
  for (const [text, headers, seconds] of [
    ['Slow down, please retry again in 7 seconds.', {}, 7],
    ['Slow down', { 'retry-after': '9' }, 9],
    ['Slow down', {}, 60],
  ] as const) {
    await using it = startForum()
    it.forum.override = ({ path }) =>
      path === '/about.json' ? new Response(text, { status: 429, headers }) : null
    const soon = { ...it.call(), requests: 1, deadline_at: it.forum.now + 500 }
    expect(await it.source.probe(soon)).toMatchObject({
      fault: { kind: 'throttled', retry_after_s: seconds },
    })
    const later = { ...it.call(), requests: 50, deadline_at: it.forum.now + 2 * MINUTE }
    expect((await it.watch.advance(null, later)).ok).toBe(true)
    expect(it.skipped()).toBe(seconds * 1000)
  }
})

test('private messages of the holder of the key are shown to no reader of the source', async () => {
  await using it = startForum({ credential: 'key' })
  const secret = { ...topic(1), archetype: 'private_message', category_id: null }
  const first = post(101, 1, { topic_title: 'for your eyes' })
  const second = post(102, 2, { topic_title: 'for your eyes' })
  it.forum.override = ({ path }) => {
    if (path === '/t/1.json')
      return Response.json({
        ...secret,
        post_stream: { posts: [first, second], stream: [101, 102] },
      })
    if (path === '/t/1/posts.json') return Response.json({ post_stream: { posts: [second] } })
    if (path === '/posts/102.json') return Response.json(second)
    if (path === '/search.json')
      return Response.json({
        posts: [{ id: 101, topic_id: 1, post_number: 1, username: 'bob', blurb: 'a fish' }],
        topics: [secret],
        grouped_search_result: { error: null },
      })
    return path === '/latest.json' ? topicList([secret]) : null
  }
  const { reads } = it.source
  const absent = { ok: false, fault: { kind: 'not_found', reason: 'absent' } } as const
  const query = { post_id: '1', sort: 'old', depth: null, limit: null }

  expect(await reads.nodesById(['102'], it.call())).toEqual({ ok: true, value: [] })
  expect(await reads.more({ post_id: '1', ids: ['102'], sort: 'old' }, it.call())).toEqual(absent)
  expect(await reads.tree(query, it.call())).toEqual(absent)
  expect(await reads.postsById(['1'], it.call())).toEqual({ ok: true, value: [] })
  const found = await reads.search(
    {
      q: 'fish in:messages',
      subforum: null,
      sort: 'new',
      t: 'all',
      nsfw: false,
      limit: 5,
      after: null,
    },
    it.call(),
  )
  expect(found).toMatchObject({ ok: true, value: { rows: [] } })
  const listed = await reads.posts({ subforums: [], ...NEW, limit: 5, after: null }, it.call())
  expect(listed).toMatchObject({ ok: true, value: { rows: [] } })
})

test('a topic that becomes a private message after it was read is shown to no reader', async () => {
  await using it = startForum({ credential: 'key' })
  const second = post(102, 2)
  let archetype = 'regular'
  it.forum.override = ({ path }) => {
    if (path === '/t/1.json')
      return Response.json({
        ...topic(1),
        archetype,
        post_stream: { posts: [post(101, 1), second], stream: [101, 102] },
      })
    if (path === '/t/1/posts.json') return Response.json({ post_stream: { posts: [second] } })
    return path === '/posts/102.json' ? Response.json(second) : null
  }
  const { reads, states } = it.source
  const look = async () => ({
    nodes: await reads.nodesById(['102'], it.call()),
    liveness: await reads.liveness(['102'], it.call()),
    states: await states?.(['t1_102'], it.call()),
    more: (await reads.more({ post_id: '1', ids: ['102'], sort: 'old' }, it.call())).ok,
  })
  expect(await look()).toMatchObject({
    nodes: { ok: true, value: [{ data: { id: '102' } }] },
    liveness: { ok: true, value: new Map([['102', 'live']]) },
    states: { ok: true, value: new Map([['t1_102', expect.objectContaining({ state: 'live' })]]) },
    more: true,
  })
  archetype = 'private_message'
  expect(await look()).toEqual({
    nodes: { ok: true, value: [] },
    liveness: { ok: true, value: new Map([['102', 'not_found']]) },
    states: { ok: true, value: new Map([['t1_102', { state: 'absent' }]]) },
    more: false,
  })
})

test('a topic that is unlisted is no item by id, and was not removed', async () => {
  await using it = startForum()
  let visible = true
  it.forum.override = ({ path }) =>
    path === '/t/1.json'
      ? Response.json({
          id: 1,
          title: 'Topic 1',
          category_id: 5,
          visible,
          post_stream: { posts: [post(101, 1)], stream: [101, 102] },
        })
      : path === '/posts/102.json'
        ? Response.json(post(102, 2))
        : null
  const { reads, states } = it.source
  const look = async () => {
    const [posts, nodes] = [
      await reads.postsById(['1'], it.call()),
      await reads.nodesById(['102'], it.call()),
    ]
    const state = await states?.(['t3_1'], it.call())
    return {
      posts: posts.ok && posts.value.map(({ name }) => name),
      nodes: nodes.ok && nodes.value.length,
      state: state?.ok && state.value.get('t3_1')?.state,
    }
  }
  visible = false
  const hidden = await look()
  visible = true

  expect(hidden).toEqual({ posts: [], nodes: 0, state: undefined })
  expect(await look()).toEqual({ posts: ['t3_1'], nodes: 1, state: 'live' })
})

test('the rest of an open topic is read with a key, after its topic', async () => {
  await using it = startTopic(22, () => null, 'key')
  const { reads } = it.source
  const query = { post_id: '1', ids: ['121'], sort: 'old' }
  expect(await reads.more(query, it.call())).toMatchObject({
    ok: true,
    value: [{ data: { id: '121' } }],
  })
})

test('a comment of a topic with too many posts to list is found by its id', async () => {
  await using it = startTopic(22)
  const { override } = it.forum
  it.forum.override = (request, count) => {
    if (request.path !== '/t/1.json') return override(request, count)
    const post_stream = { posts: [post(101, 1), post(102, 2)] }
    return Response.json({ ...topic(1), user_id: 3, posts_count: 10_001, post_stream })
  }
  const query = { post_id: '1', sort: 'old', depth: null, limit: null }
  const tree = (comment_id: string) => it.source.reads.tree({ ...query, comment_id }, it.call())
  expect(await tree('121')).toMatchObject({
    ok: true,
    value: { comments: [{ data: { id: '121' } }] },
  })
  expect(await tree('999')).toMatchObject({ ok: false, fault: { kind: 'not_found' } })
})

test('an answer that is no post says nothing of it', async () => {
  await using it = startForum()
  it.forum.override = () => Response.json({})
  expect(await it.source.reads.liveness(['1'], it.call())).toEqual({
    ok: false,
    fault: { kind: 'unreadable', path: '$.id' },
  })
})

test('known categories are used while the site answers without them', async () => {
  await using it = startForum()
  const community = () => it.source.reads.community('help', it.call())
  expect(await community()).toMatchObject({ ok: true })
  it.forum.now += 11 * MINUTE
  it.forum.override = () => Response.json({})
  expect(await community()).toMatchObject({ ok: true, value: { id: '5' } })

  await using new_one = startForum()
  new_one.forum.override = () => Response.json({})
  expect(await new_one.source.reads.community('help', new_one.call())).toMatchObject({
    fault: { kind: 'unreadable', path: '$.categories' },
  })
})

test('a site of another software is not taken for a forum', async () => {
  await using it = startForum()
  it.forum.override = () => Response.json({})
  expect(await it.source.probe({ ...it.call(), requests: 1 })).toMatchObject({
    ok: false,
    fault: { kind: 'unreadable', path: '$.about' },
  })
})

test('several places with a tag among them are no list of posts', async () => {
  await using it = startForum()
  const query = { subforums: ['help', 'tag:a'], ...NEW, limit: 5, after: null }
  expect(await it.source.reads.posts(query, it.call())).toMatchObject({
    fault: { kind: 'unsupported', capability: 'posts' },
  })
})

describe('a topic', () => {
  const query = { post_id: '1', sort: 'old', depth: null, limit: null }

  test('is a tree by the numbers that replies name, and further posts are named by id', async () => {
    await using it = startTopic(150, (number) => (number === 3 ? 2 : number === 60 ? 3 : null))
    const tree = await it.source.reads.tree(query, it.call())
    if (!tree.ok) throw new Error(tree.fault.kind)
    expect(tree.value.post).toMatchObject({
      id: '1',
      title: 'Topic 1',
      text: 'text 101',
      comments: 149,
    })
    const [first] = tree.value.comments
    expect(first?.data).toMatchObject({ id: '102', depth: 0, is_submitter: true })
    const text = JSON.stringify(first)
    expect(text).toContain('"id":"103"')
    expect(text).toContain('"id":"160"')
    const more = tree.value.comments.at(-1)
    expect(more?.kind).toBe('more')
    const hidden = more?.data['children']
    expect(hidden).toEqual(range(221, 250).map(String))
    expect(it.forum.paths.filter((path) => path.startsWith('/t/'))).toHaveLength(6)

    const rest = await it.source.reads.more(
      { post_id: '1', ids: ['221', '222'], sort: 'old' },
      it.call(),
    )
    expect(rest.ok && rest.value.map(({ data }) => data['id'])).toEqual(['221', '222'])
  })

  test('is cut to the branch of a comment', async () => {
    await using it = startTopic(40, (number) => (number > 30 ? number - 1 : null))
    const branch = await it.source.reads.tree({ ...query, comment_id: '135' }, it.call())
    if (!branch.ok) throw new Error(branch.fault.kind)
    expect(branch.value.comments).toHaveLength(1)
    const text = JSON.stringify(branch.value.comments)
    for (const id of range(135, 140)) expect(text).toContain(`"id":"${id}"`)
    expect(text).not.toContain('"id":"134"')
  })

  test('a single post has the place and the title of its topic', async () => {
    await using it = startTopic(5)
    const nodes = await it.source.reads.nodesById(['103', '999'], it.call())
    if (!nodes.ok) throw new Error(nodes.fault.kind)
    expect(nodes.value.map(it.source.reads.commentOf)).toMatchObject([
      {
        id: '103',
        subforum: 'help/linux',
        link_title: 'Topic 1',
        body: 'text 103',
        is_submitter: true,
      },
    ])
  })
})

test('liveness by the state of each post', async () => {
  await using it = startForum()
  const rows = new Map([
    ['1', post(1, 2)],
    ['2', post(2, 2, { user_deleted: true })],
    ['3', post(3, 2, { hidden: true, cooked_hidden: true })],
  ])
  it.forum.override = ({ path }) => {
    const id = /^\/posts\/(\d+)\.json$/.exec(path)?.[1] ?? ''
    const row = rows.get(id)
    if (id === '4') return Response.json({ error_type: 'invalid_access' }, { status: 403 })
    return row === undefined ? null : Response.json(row)
  }
  const states = await it.source.reads.liveness(['1', '2', '3', '4', '5'], it.call())
  expect(states.ok && Object.fromEntries(states.value)).toEqual({
    1: 'live',
    2: 'deleted',
    3: 'removed',
    4: 'removed',
    5: 'not_found',
  })
})

test('texts are Markdown with absolute links, from the source where the site sends it', async () => {
  await using it = startForum()
  it.put(1)
  const { state } = await it.step(null)
  it.put(2, { raw: 'see [a](/t/1) ![b](upload://x.png) [c](//other.example/)' })
  it.put(3, { raw: undefined, cooked: '<p>see <a href="/t/1">a</a></p>' })
  const { items } = await it.step(state)
  expect(items).toMatchObject([
    {
      body: `see [a](${it.base_url}/t/1) ![b](${it.base_url}/uploads/short-url/x.png) [c](//other.example/)`,
    },
    { body: `see [a](${it.base_url}/t/1)` },
  ])
})

test('places, links and categories', async () => {
  await using it = startForum()
  const { source, base_url } = it
  for (const place of ['all', 'help', 'help/linux', 'tag:c++', 'новости'])
    expect(source.isPlace(place)).toBe(true)
  for (const place of ['', 'a b', 'tag:', '../x', 'a/b/c/d'])
    expect(source.isPlace(place)).toBe(false)
  expect(source.targetOf(new URL(`${base_url}/t/a-topic/12/5`))).toEqual({
    post_id: '12',
    comment_id: null,
    number: 5,
  })
  expect(source.targetOf(new URL(`${base_url}/t/12`))).toEqual({ post_id: '12', comment_id: null })
  expect(source.targetOf(new URL(`${base_url}/c/help/5`))).toBeNull()
  expect(source.targetOf(new URL('https://other.example/t/a-topic/12'))).toBeNull()
  const found = await source.reads.searchCommunities(
    { q: 'QUESTIONS', nsfw: false, limit: 5, after: null },
    it.call(),
  )
  expect(found).toMatchObject({ ok: true, value: { rows: [{ name: 'help', id: '5' }] } })
  expect(await source.reads.community('help/linux', it.call())).toMatchObject({
    ok: true,
    value: { title: 'Linux', url: `${base_url}/c/help/linux/6` },
  })
  expect(await source.reads.rules('help', it.call())).toEqual({
    ok: false,
    fault: { kind: 'unsupported', capability: 'rules' },
  })
})

test('moderators are those of the whole site', async () => {
  await using it = startForum()
  const person = { id: 1, username: 'ann', title: 'boss' }
  it.forum.override = ({ path }) =>
    path === '/about.json'
      ? Response.json({ about: { version: '3.6', admins: [person], moderators: [person] } })
      : null
  expect(await it.source.reads.moderators('nothing', it.call())).toMatchObject({
    ok: false,
    fault: { kind: 'not_found' },
  })
  expect(await it.source.reads.moderators('help', it.call())).toMatchObject({
    ok: true,
    value: [{ name: 'ann', mod_permissions: ['admin', 'moderator'], flair_text: 'boss' }],
  })
})

test('a category that the list leaves out is found by its path, and one without is not', async () => {
  await using it = startForum()
  it.put(1)
  it.forum.override = ({ path }) =>
    path === '/c/attic/find_by_slug.json'
      ? Response.json({ category: { id: 90, name: 'Attic', slug: 'attic' } })
      : null
  const named = async (name: string) => {
    const found = await it.source.reads.community(name, it.call())
    return found.ok ? found.value.name : found.fault.kind
  }
  expect(await named('attic')).toBe('attic')
  expect(await named('nope')).toBe('not_found')
})

test('a category that was never seen proves nothing', async () => {
  await using it = startForum()
  it.put(1)
  const reasons = () =>
    ['help', 'help/linux', 'attic', 'all'].map((place) => it.source.partialFor?.(place))
  const unread = 'places_not_read'
  expect(reasons()).toEqual([unread, unread, unread, null])
  const { state } = await it.step(null)
  expect(reasons()).toEqual([null, null, 'places_not_read', null])
  it.forum.override = ({ path }) =>
    path === '/c/attic/find_by_slug.json'
      ? Response.json({ category: { id: 90, name: 'Attic', slug: 'attic' } })
      : null
  await it.step(state, 50, ['attic'])
  expect(reasons()).toEqual([null, null, null, null])
})

describe('an unknown id', () => {
  test('is absent while another read of the site works', async () => {
    await using it = startForum()
    it.put(1)
    expect(await it.source.states?.(['t1_9'], it.call())).toEqual({
      ok: true,
      value: new Map([['t1_9', { state: 'absent' }]]),
    })
    expect(it.listed()).toHaveLength(1)
    await it.source.states?.(['t1_10'], it.call())
    expect(it.listed()).toHaveLength(1)
  })

  test('is no absence while nothing else can be read', async () => {
    await using it = startForum()
    it.forum.override = ({ path }) =>
      path === '/posts.json' ? new Response('', { status: 500 }) : null
    const unavailable = { ok: false, fault: { kind: 'unavailable' } }
    const { states, reads } = it.source
    expect(await states?.(['t1_9'], it.call())).toMatchObject(unavailable)
    expect(await reads.liveness(['9'], it.call())).toMatchObject(unavailable)
    expect(await reads.visibility('9', it.call())).toMatchObject(unavailable)
  })
})

test('a post that the staff has coloured is a post, and a note of the software is not', async () => {
  await using it = startForum()
  it.put(1, { post_number: 1, topic_id: 4 })
  it.put(2, { topic_id: 4, post_type: 2 })
  it.put(3, { topic_id: 4, post_type: 2, action_code: 'closed.enabled' })
  it.put(4, { topic_id: 4, post_type: 3 })
  const query = { post_id: '4', sort: 'old', depth: null, limit: null }
  const tree = await it.source.reads.tree(query, it.call())
  expect(tree.ok && tree.value.comments.map(({ data }) => data['id'])).toEqual(['2'])
})
