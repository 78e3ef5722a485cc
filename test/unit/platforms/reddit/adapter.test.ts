import { expect, test } from 'bun:test'

import type { Call } from '../../../../src/platforms/port.ts'
import type { Forum } from '../../../../src/platforms/reddit/adapter.ts'
import { comment, createForumFixture, listing, post } from './fixture.ts'

const page = { limit: 25, after: null }
const newest = { ...page, subforums: ['cats'], sort: 'new', t: null }
const empty = () => Response.json(listing([]))
const moderators = {
  kind: 'UserList',
  data: {
    children: [{ name: 'mod', id: 't2_9', date: 1_600_000_000.0, mod_permissions: ['all'] }],
  },
}

test('a request carries the user agent, the accepted type and the cookies of its identity', async () => {
  await using it = createForumFixture([empty()])

  await it.forum.posts(newest, it.call(1_000, 'acc_1', 'a=1; b=2'))

  const headers = it.requests[0]?.headers
  expect(headers?.get('user-agent')).toBe('forumd-test/1.0')
  expect(headers?.get('accept')).toBe('application/json')
  expect(headers?.get('cookie')).toBe('a=1; b=2')
})

test('an anonymous request carries no cookie', async () => {
  await using it = createForumFixture([empty()])

  await it.forum.posts(newest, it.call())

  expect(it.requests[0]?.headers.has('cookie')).toBe(false)
})

test('every listing has its path and its parameters', async () => {
  await using it = createForumFixture([empty()])
  const { forum, call } = it
  const q = 'a & b'

  await forum.posts({ ...newest, subforums: ['a', 'b/c'], sort: 'top', t: 'week' }, call())
  await forum.posts({ ...newest, subforums: [], sort: 'best', after: 't3_x' }, call())
  await forum.comments({ ...page, subforums: ['a', 'b'] }, call())
  await forum.search({ ...page, q, subforum: null, sort: 'new', t: 'all', nsfw: true }, call())
  await forum.search({ ...page, q, subforum: 'cats', sort: 'new', t: 'all', nsfw: false }, call())
  await forum.searchMedia({ ...page, q, sort: 'hot', t: 'day', nsfw: true }, call())
  await forum.searchCommunities({ ...page, q, nsfw: false }, call())
  await forum.searchUsers({ ...page, q, nsfw: true }, call())
  await forum.userComments({ ...page, name: 'ann/..', sort: 'top', t: 'all' }, call())
  await forum.userItems({ ...page, name: 'ann', tab: 'saved', sort: 'new', t: null }, it.as())

  expect(it.paths()).toEqual([
    '/r/a+b%2Fc/top.json?t=week&limit=25&raw_json=1',
    '/best.json?limit=25&after=t3_x&raw_json=1',
    '/r/a+b/comments.json?limit=25&raw_json=1',
    '/search.json?limit=25&q=a+%26+b&sort=new&t=all&type=link&include_over_18=on&raw_json=1',
    '/r/cats/search.json?limit=25&q=a+%26+b&sort=new&t=all&type=link&restrict_sr=1&raw_json=1',
    '/search.json?limit=25&q=a+%26+b&sort=hot&t=day&type=link&include_over_18=on&raw_json=1',
    '/subreddits/search.json?limit=25&q=a+%26+b&raw_json=1',
    '/users/search.json?limit=25&q=a+%26+b&include_over_18=on&raw_json=1',
    '/user/ann%2F../comments.json?limit=25&sort=top&t=all&raw_json=1',
    '/user/ann/saved.json?limit=25&sort=new&raw_json=1',
  ])
})

test('an account of the pool lists its hidden posts too, and its preference for adult posts is ignored', async () => {
  await using it = createForumFixture([empty()])
  const query = { ...page, q: 'a', sort: 'new', t: 'all', nsfw: false, subforum: null }

  await it.forum.search(query, it.as())
  await it.forum.tree({ post_id: 'ab12', sort: 'top', depth: null, limit: null }, it.as())

  expect(it.paths()).toEqual([
    '/search.json?limit=25&q=a&sort=new&t=all&type=link&include_over_18=off&show=all&raw_json=1',
    '/comments/ab12.json?sort=top&limit=200&raw_json=1',
  ])
})

test.each([
  (forum: Forum, call: Call) => forum.user('ME', call),
  (forum: Forum, call: Call) => forum.achievements('me', call),
  (forum: Forum, call: Call) => forum.community('u_me', call),
  (forum: Forum, call: Call) => forum.posts({ ...newest, subforums: ['cats', 'Friends'] }, call),
  (forum: Forum, call: Call) => forum.comments({ ...page, subforums: ['mod'] }, call),
  (forum: Forum, call: Call) =>
    forum.search(
      { ...page, q: 'a OR author:me', sort: 'new', t: 'all', nsfw: true, subforum: null },
      call,
    ),
])(
  'a request that names the account itself is never sent with an account of the pool (%#)',
  async (ask) => {
    await using it = createForumFixture([empty()])

    expect(await ask(it.forum, it.as())).toEqual({
      ok: false,
      fault: { kind: 'forbidden', reason: 'other_account' },
    })
    expect(it.paths()).toEqual([])
  },
)

test('every lookup by id has its path and its parameters', async () => {
  await using it = createForumFixture([empty()])
  const { forum, call } = it
  const tree = { post_id: 'ab12', sort: 'top', depth: 3, limit: null }

  await forum.tree(tree, call())
  await forum.tree({ ...tree, comment_id: 'cd34', depth: null, limit: 500 }, call())
  await forum.more({ post_id: 'ab12', ids: ['x', 'y'], sort: 'new' }, call())
  await forum.postsById(['AB', 'c'], call())
  await forum.nodesById(['x'], call())
  await forum.liveness(['x', 'y'], call())
  await forum.user('some body', call())
  await forum.community('cats', call())
  await forum.moderators('cats', it.as())

  expect(it.paths()).toEqual([
    '/comments/ab12.json?sort=top&depth=3&raw_json=1',
    '/comments/ab12.json?sort=top&limit=500&comment=cd34&context=0&raw_json=1',
    '/api/morechildren.json?api_type=json&link_id=t3_ab12&children=x%2Cy&sort=new&limit_children=false&raw_json=1',
    '/api/info.json?id=t3_ab%2Ct3_c&raw_json=1',
    '/api/info.json?id=t1_x&raw_json=1',
    '/api/info.json?id=t1_x%2Ct1_y&raw_json=1',
    '/user/some%20body/about.json?raw_json=1',
    '/r/cats/about.json?raw_json=1',
    '/r/cats/about/moderators.json?raw_json=1',
  ])
})

test('an empty list of ids sends no request', async () => {
  await using it = createForumFixture([empty()])

  expect(await it.forum.postsById([], it.call())).toEqual({ ok: true, value: [] })
  expect(await it.forum.nodesById([], it.call())).toEqual({ ok: true, value: [] })
  expect(await it.forum.liveness([], it.call())).toEqual({ ok: true, value: new Map() })
  expect(await it.forum.more({ post_id: 'a', ids: [], sort: 'new' }, it.call())).toEqual({
    ok: true,
    value: [],
  })
  expect(it.requests).toEqual([])
})

test.each([
  ['a cookie session', 'f'.repeat(50), true],
  ['an anonymous request', '', false],
  ['a bearer', null, null],
])('a listing reports logged_in for %s', async (_who, modhash, logged_in) => {
  await using it = createForumFixture([
    Response.json(listing([post()], { modhash, after: 't3_zz' })),
  ])

  const outcome = await it.forum.posts(newest, it.call())

  expect(outcome).toMatchObject({ ok: true, value: { logged_in, after: 't3_zz' } })
})

test('an empty cursor ends a listing: it would return the first page again', async () => {
  await using it = createForumFixture([Response.json(listing([post()], { after: '' }))])

  expect(await it.forum.posts(newest, it.call())).toMatchObject({ value: { after: null } })
})

test.each([
  ['{}', '{}'],
  ['the string "{}"', '"{}"'],
])('%s in place of a listing is an empty one without logged_in', async (_what, body) => {
  await using it = createForumFixture([
    new Response(body, { headers: { 'content-type': 'application/json' } }),
  ])

  expect(await it.forum.searchCommunities({ ...page, q: 'x', nsfw: true }, it.call())).toEqual({
    ok: true,
    value: { rows: [], after: null, logged_in: null },
  })
  expect(await it.forum.nodesById(['x'], it.call())).toEqual({ ok: true, value: [] })
})

test('an empty page with a cursor is not the last one', async () => {
  await using it = createForumFixture([Response.json(listing([], { dist: 25, after: 't3_on' }))])

  expect(await it.forum.posts(newest, it.call())).toMatchObject({
    ok: true,
    value: { rows: [], after: 't3_on' },
  })
})

test.each([
  ['a list', [], 'kind'],
  ['another kind', { kind: 't3', data: {} }, 'kind'],
  ['no children', { kind: 'Listing', data: {} }, 'data.children'],
  ['a cursor that is a number', listing([], { after: 7 }), 'data.after'],
  ['rows of another kind only', listing([comment()]), 'data.children[0].kind'],
  [
    'a row that inherits its kind',
    listing([{ kind: 'toString', data: {} }]),
    'data.children[0].kind',
  ],
  [
    'a row without data',
    { kind: 'Listing', data: { children: [{ kind: 't3' }] } },
    'data.children[0].data',
  ],
  ['a row without an id', listing([post({ id: 7 })]), 'data.children[0].data.id'],
  [
    'a row without a time',
    listing([post({ created_utc: null })]),
    'data.children[0].data.created_utc',
  ],
  [
    'a row with a time outside the range of Date',
    listing([post({ created_utc: 1e300 })]),
    'data.children[0].data.created_utc',
  ],
])('%s in place of posts is unreadable, with its path', async (_what, body, path) => {
  await using it = createForumFixture([Response.json(body)])

  expect(await it.forum.posts(newest, it.call())).toEqual({
    ok: false,
    fault: { kind: 'unreadable', path },
  })
})

test('a row that cannot be read is left out, and the others are given', async () => {
  const rows = [
    post({ id: 'a' }),
    comment(),
    post({ id: 7 }),
    post({ created_utc: 1e300 }),
    post({ id: 'b' }),
  ]
  await using it = createForumFixture([Response.json(listing(rows))])

  const found = await it.forum.posts(newest, it.call())

  expect(found.ok && found.value.rows.map(({ id }) => id)).toEqual(['a', 'b'])
  expect(found).toMatchObject({ value: { left_out: 3 } })
})

test('suspended users in search results have no id and are left out', async () => {
  const rows = [
    { kind: 't2', data: { name: 'gone', is_suspended: true } },
    { kind: 't2', data: { name: 'here', id: '1' } },
  ]
  await using it = createForumFixture([Response.json(listing(rows))])

  const found = await it.forum.searchUsers({ ...page, q: 'e', nsfw: true }, it.call())

  expect(found.ok && found.value.rows.map(({ name }) => name)).toEqual(['here'])
  expect(found).toMatchObject({ value: { left_out: 1 } })
})

test("a search without adult content returns none, regardless of the account's preference", async () => {
  const rows = [post({ id: 'a', over_18: true }), post({ id: 'b' })]
  await using it = createForumFixture([Response.json(listing(rows))])
  const search = { ...page, q: 'x', subforum: null, sort: 'new', t: 'all' }

  const without = await it.forum.search({ ...search, nsfw: false }, it.call())
  const including = await it.forum.search({ ...search, nsfw: true }, it.call())

  expect(without.ok && without.value.rows.map(({ id }) => id)).toEqual(['b'])
  expect(without).toMatchObject({ value: { left_out: 1 } })
  expect(including.ok && including.value.rows.map(({ id }) => id)).toEqual(['a', 'b'])
})

test("a user's listing keeps the platform's order and the kind of each row", async () => {
  await using it = createForumFixture([
    Response.json(listing([comment(), post(), comment({ id: 'z' })])),
  ])
  const query = { ...page, name: 'ann', tab: 'overview', sort: 'new', t: null } as const

  const outcome = await it.forum.userItems(query, it.call())

  expect(outcome.ok && outcome.value.rows.map(({ kind, id }) => `${kind} ${id}`)).toEqual([
    'comment cd34',
    'post ab12',
    'comment z',
  ])
})

test('a refused public listing of a user means suspended, a refused private one does not', async () => {
  await using it = createForumFixture([
    Response.json({ message: 'Forbidden', error: 403 }, { status: 403 }),
  ])
  const query = { ...page, name: 'ann', sort: 'new', t: null }

  expect(await it.forum.userComments(query, it.call())).toEqual({
    ok: false,
    fault: { kind: 'forbidden', reason: 'user_suspended' },
  })
  for (const tab of ['saved', 'gilded'] as const)
    expect(await it.forum.userItems({ ...query, tab }, it.as())).toEqual({
      ok: false,
      fault: { kind: 'forbidden', reason: null },
    })
})

test('the profile of a suspended user is readable', async () => {
  const data = {
    name: 'gone',
    is_suspended: true,
    is_blocked: false,
    total_karma: 0,
    link_karma: 0,
  }
  await using it = createForumFixture([Response.json({ kind: 't2', data })])

  expect(await it.forum.user('gone', it.call())).toMatchObject({
    ok: true,
    value: { name: 'gone', id: null, is_suspended: true, link_karma: null, created: null },
  })
})

test('a tree has a converted post and unmodified nodes', async () => {
  const more = { kind: 'more', data: { count: 0, id: '_', name: 't1__', children: [] } }
  const node = comment({ z: 1, a: { b: null }, replies: listing([comment({ id: 'inner' }), more]) })
  await using it = createForumFixture([Response.json([listing([post()]), listing([node, more])])])

  const tree = await it.forum.tree(
    { post_id: 'ab12', sort: 'top', depth: null, limit: null },
    it.call(),
  )

  expect(tree).toMatchObject({ ok: true, value: { post: { id: 'ab12', subforum: 'cats' } } })
  expect(tree.ok && JSON.stringify(tree.value.comments)).toBe(JSON.stringify([node, more]))
})

test('a tree without comments is valid', async () => {
  await using it = createForumFixture([Response.json([listing([post()]), listing([])])])
  const query = { post_id: 'ab12', sort: 'top', depth: null, limit: null }

  expect(await it.forum.tree(query, it.call())).toMatchObject({ ok: true, value: { comments: [] } })
})

test.each([
  ['one listing', listing([post()]), ''],
  ['no post', [listing([]), listing([])], '[0].data.children[0]'],
  [
    'half a post',
    [listing([post({ title: null })]), listing([])],
    '[0].data.children[0].data.title',
  ],
  ['no second listing', [listing([post()])], '[1].data.children'],
  ['a node of another kind', [listing([post()]), listing([post()])], '[1].data.children[0].kind'],
])('%s in place of a tree is unreadable', async (_what, body, path) => {
  await using it = createForumFixture([Response.json(body)])
  const query = { post_id: 'ab12', sort: 'top', depth: null, limit: null }

  expect(await it.forum.tree(query, it.call())).toEqual({
    ok: false,
    fault: { kind: 'unreadable', path },
  })
})

test('the nodes behind a more are flat, and can be empty', async () => {
  const things = [comment(), { kind: 'more', data: { id: 'x', children: ['x'] } }]
  await using it = createForumFixture([
    Response.json({ json: { errors: [], data: { things } } }),
    Response.json({ json: { errors: [] } }),
    Response.json({
      json: {
        errors: [],
        data: { things: [{ kind: 't1', data: { id: 't1_x', content: '<p>' } }] },
      },
    }),
  ])
  const query = { post_id: 'ab12', ids: ['cd34'], sort: 'top' }
  const more = () => it.forum.more(query, it.call())

  expect(JSON.stringify(await more())).toBe(JSON.stringify({ ok: true, value: things }))
  expect(await more()).toEqual({ ok: true, value: [] })
  expect(await more()).toMatchObject({
    ok: false,
    fault: { path: 'json.data.things[0].data.body' },
  })
})

test('only the requested ids of an answer are returned', async () => {
  await using it = createForumFixture([
    Response.json(listing([post({ id: 'b' }), post({ id: 'x' }), post({ id: 'a' })])),
  ])

  const posts = await it.forum.postsById(['a', 'B', 'c'], it.call())

  expect(posts.ok && posts.value.map(({ id }) => id)).toEqual(['b', 'a'])
})

test('comments by id are live, deleted, removed or absent from the map', async () => {
  const masked = { author: '[deleted]', author_fullname: undefined }
  await using it = createForumFixture([
    Response.json(
      listing([
        comment({ id: 'a' }),
        comment({ id: 'b', ...masked, body: '[deleted]' }),
        comment({ id: 'c', ...masked, body: '[removed]' }),
      ]),
    ),
  ])

  expect(await it.forum.liveness(['a', 'b', 'c', 'd'], it.call())).toEqual({
    ok: true,
    value: new Map([
      ['a', 'live'],
      ['b', 'deleted'],
      ['c', 'removed'],
    ]),
  })
})

test('moderators are a list of users without a cursor', async () => {
  await using it = createForumFixture([Response.json(moderators)])

  expect(await it.forum.moderators('cats', it.as())).toEqual({
    ok: true,
    value: [
      {
        id: 't2_9',
        name: 'mod',
        mod_permissions: ['all'],
        flair_text: null,
        added: '2020-09-13T12:26:40.000Z',
      },
    ],
  })
})

test('more nodes are requested one at a time per identity', async () => {
  let [open, most] = [0, 0]
  await using it = createForumFixture([
    async () => {
      most = Math.max(most, ++open)
      await new Promise((resolve) => setImmediate(resolve))
      open--
      return Response.json({ json: { errors: [] } })
    },
  ])
  const fetchUser = (id: string) =>
    it.forum.more({ post_id: 'a', ids: ['x'], sort: 'new' }, it.call(30_000, id))

  await Promise.all([
    fetchUser('acc_1'),
    fetchUser('acc_1'),
    fetchUser('acc_1'),
    fetchUser('acc_1'),
  ])

  expect(it.requests.length).toBe(4)
  expect(most).toBe(1)
})
