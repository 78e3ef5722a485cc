import { expect, test } from 'bun:test'

import { cookieOf, fetchPath, names, open, page } from './fetch-path.ts'

test('a profile has karma, age and description', async () => {
  await using sandbox = await open({ world: 'seeded' })

  const { json } = await fetchPath(sandbox, '/user/Ada_Reads/about.json')

  expect(json).toMatchObject({
    kind: 't2',
    data: {
      name: 'ada_reads',
      subreddit: { title: 'Ada', public_description: 'Reads more than she writes.' },
    },
  })
  expect(json.data).not.toHaveProperty('is_suspended')
})

test('a suspended user has only a name', async () => {
  await using sandbox = await open({ world: 'seeded' })

  const { status, json } = await fetchPath(sandbox, '/user/BestDealsDaily/about.json')

  expect(status).toBe(200)
  expect(json.data).toMatchObject({ name: 'BestDealsDaily', is_suspended: true })
  expect(json.data).not.toHaveProperty('id')
  expect(json.data).not.toHaveProperty('created_utc')
  expect((await fetchPath(sandbox, '/user/BestDealsDaily/comments.json')).status).toBe(403)
})

test.each(['nobody_at_all', 'unseen_hand', 'gone_fishing_88'])(
  '%s is not found, for any reason',
  async (name) => {
    await using sandbox = await open({ world: 'seeded' })

    for (const tab of ['about', 'comments', 'overview', 'saved'])
      expect(await fetchPath(sandbox, `/user/${name}/${tab}.json`)).toMatchObject({
        status: 404,
        json: { message: 'Not Found', error: 404 },
      })
  },
)

test('a curated profile appears empty', async () => {
  await using sandbox = await open({ world: 'seeded' })
  const path = '/user/carla_quiet/comments.json'

  const others = await page(sandbox, path)
  const own = await page(sandbox, path, { cookie: cookieOf(sandbox, 'carla_quiet') })

  expect(others.data).toMatchObject({ children: [], after: null })
  expect(own.data.children.length).toBeGreaterThan(0)
})

test('the tabs of a profile hold posts, comments, or both', async () => {
  await using sandbox = await open({ world: 'seeded' })
  const kinds = async (tab: string) => {
    const { data } = await page(sandbox, `/user/cedar_owl/${tab}.json?limit=100&sort=new`)
    return new Set(data.children.map(({ kind }) => kind))
  }

  expect(await kinds('submitted')).toEqual(new Set(['t3']))
  expect(await kinds('comments')).toEqual(new Set(['t1']))
  expect(await kinds('overview')).toEqual(new Set(['t1', 't3']))
  expect(await kinds('gilded')).toEqual(new Set())
})

test.each(['saved', 'upvoted', 'downvoted', 'hidden'])(
  '%s is visible to its owner only',
  async (tab) => {
    await using sandbox = await open({ world: 'seeded' })
    const path = `/user/ada_reads/${tab}.json?limit=100`

    const own = await page(sandbox, path, { cookie: cookieOf(sandbox, 'ada_reads') })
    const other = await fetchPath(sandbox, path, { cookie: cookieOf(sandbox, 'bruno_keeps') })

    expect(own.data.children.length).toBeGreaterThan(0)
    expect(other.status).toBe(403)
    expect((await fetchPath(sandbox, path)).status).toBe(403)
  },
)

test('saved can be restricted to posts or to comments', async () => {
  await using sandbox = await open({ world: 'seeded' })
  const cookie = cookieOf(sandbox, 'ada_reads')

  const links = await page(sandbox, '/user/ada_reads/saved.json?type=links', { cookie })
  const comments = await page(sandbox, '/user/ada_reads/saved.json?type=comments', { cookie })

  expect(links.data.children.every(({ kind }) => kind === 't3')).toBe(true)
  expect(comments.data.children.every(({ kind }) => kind === 't1')).toBe(true)
  expect(comments.data.children[0]?.data['saved']).toBe(true)
})

test('a hidden post is missing from listings and appears in its tab', async () => {
  await using sandbox = await open({ world: 'seeded' })
  const cookie = cookieOf(sandbox, 'ada_reads')
  const [hidden] = names(await page(sandbox, '/user/ada_reads/hidden.json', { cookie }))
  const post = sandbox.world.things.get(hidden ?? '')
  const place = post?.kind === 't3' ? post.subforum : undefined
  const depth =
    (place?.posts.length ?? 0) - (post?.kind === 't3' ? (place?.posts.indexOf(post) ?? 0) : 0)
  const anchor = place?.posts.at(-depth + 1)

  const path = `/r/${place?.name}/new.json?limit=5&after=${anchor?.name}`
  expect(names(await page(sandbox, path))).toContain(hidden ?? '')
  expect(names(await page(sandbox, path, { cookie }))).not.toContain(hidden ?? '')
})

test('a valid session gets its name and its write token', async () => {
  await using sandbox = await open({ world: 'seeded' })

  const { json } = await fetchPath(sandbox, '/api/me.json', {
    cookie: cookieOf(sandbox, 'ada_reads'),
  })

  expect(json).toMatchObject({
    kind: 't2',
    data: { name: 'ada_reads', modhash: expect.stringMatching(/^.{50}$/) },
  })
})

test.each([
  ['no session', undefined],
  ['an unknown session', 'reddit_session=eyJhbGciOiJub25lIn0.e30.x'],
])('%s gets status 200, without a name', async (_, cookie) => {
  await using sandbox = await open({ world: 'seeded' })

  const { status, json } = await fetchPath(sandbox, '/api/me.json', cookie ? { cookie } : {})

  expect(status).toBe(200)
  expect(json).not.toHaveProperty('kind')
  expect(json.data).not.toHaveProperty('name')
})

test('an invalid session gets the public view, distinguished by the empty modhash only', async () => {
  await using sandbox = await open({ world: 'seeded' })
  const cookie = cookieOf(sandbox, 'ada_reads')
  for (const session of sandbox.world.sessions.values()) session.revoked = true

  const { data } = await page(sandbox, '/r/coffee/new.json', { cookie })

  expect(data.modhash).toBe('')
  expect(data.children.length).toBeGreaterThan(20)
})

test('authors still see posts that a moderator removed', async () => {
  await using sandbox = await open({ world: 'seeded' })
  const cookie = cookieOf(sandbox, 'ada_reads')
  const post = sandbox.post({
    subforum: 'coffee',
    title: 'mine',
    text: 'words',
    author: 'ada_reads',
  })
  const comment = sandbox.comment({ parent: post.name, text: 'my words', author: 'ada_reads' })
  for (const { name } of [post, comment]) sandbox.remove({ name, by: 'moderator' })
  const path = `/api/info.json?id=${post.name},${comment.name}`

  const others = await page(sandbox, path)
  const own = await page(sandbox, path, { cookie })

  expect(others.data.children.map(({ data }) => data['selftext'] ?? data['body'])).toEqual([
    '[removed]',
    '[removed]',
  ])
  expect(own.data.children.map(({ data }) => data['selftext'] ?? data['body'])).toEqual([
    'words',
    'my words',
  ])
})

test('a deleted account keeps its texts and loses its name', async () => {
  await using sandbox = await open()
  const post = sandbox.post({ subforum: 'cats', title: 'a cat' })
  const comment = sandbox.comment({ parent: post.name, text: 'still here', author: 'leaving' })

  sandbox.user({ name: 'leaving', standing: 'deleted' })

  const [row] = (await page(sandbox, `/api/info.json?id=${comment.name}`)).data.children
  expect(row?.data).toMatchObject({ author: '[deleted]', body: 'still here' })
  expect(row?.data).not.toHaveProperty('author_fullname')
})

const ids = (count: number) => Array.from({ length: count }, (_, i) => `t1_x${i}`).join(',')

test('info omits unknown names, and accepts a hundred ids at most', async () => {
  await using sandbox = await open()
  const post = sandbox.post({ subforum: 'cats', title: 'a cat' })

  const { data } = await page(sandbox, `/api/info.json?id=t1_nosuch,${post.name}`)

  expect(data.children.map((it) => it.data['name'])).toEqual([post.name])
  expect((await fetchPath(sandbox, `/api/info.json?id=${ids(100)}`)).status).toBe(200)
  expect((await fetchPath(sandbox, `/api/info.json?id=${ids(101)}`)).status).toBe(400)
})

test('users are found by a part of their name', async () => {
  await using sandbox = await open({ world: 'seeded' })

  const direct = await page(sandbox, '/users/search.json?q=quiet')
  const searched = await page(sandbox, '/search.json?type=user&q=quiet')

  expect(names(direct)).toEqual(['carla_quiet', 'quietcolumns'])
  expect(names(searched)).toEqual(names(direct))
})
