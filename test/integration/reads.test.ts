import { afterAll, beforeAll, describe, expect, test } from 'bun:test'

import type * as z from 'zod'

import { createShapes } from '../../src/api/reads/shapes.ts'
import { createNaming } from '../../src/core/forum/naming.ts'
import { startReading } from '../support/reads-fixture.ts'

type TestDaemon = Awaited<ReturnType<typeof startReading>>

const shapes = createShapes(createNaming({ platform: 'forum', community: 'subforum' }))()

/** Differences between a body and its documented shape; empty if none. */
const misfits = (shape: z.ZodType, body: unknown) => shape.safeParse(body).error?.issues ?? []

// Old enough that the platform shows its score.
const ago = (minutes: number) => Date.now() - minutes * 60_000

describe('a small data set', () => {
  let daemon: TestDaemon
  let post = { id: '', name: '', permalink: '' }
  let comment = { id: '', name: '', permalink: '' }

  beforeAll(async () => {
    daemon = await startReading()
    const { sandbox } = daemon
    for (let number = 0; number < 30; number++)
      sandbox.post({
        subforum: 'coffee',
        author: 'grinder',
        title: `A grinder, part ${number}`,
        text: 'Which burrs?',
        score: number,
        created_at: ago(600 - number),
      })
    post = sandbox.post({
      subforum: 'coffee',
      author: 'barista',
      title: 'Water for espresso',
      created_at: ago(500),
    })
    comment = sandbox.comment({
      parent: post.name,
      author: 'chemist',
      text: '**Soft** water',
      score: 7,
      created_at: ago(400),
    })
    sandbox.comment({
      parent: comment.name,
      author: 'barista',
      text: 'How soft is soft?',
      score: 3,
      created_at: ago(390),
    })
    sandbox.subforum({ name: 'cellar', access: 'private' })
    sandbox.subforum({ name: 'ruins', access: 'banned' })
    sandbox.user({ name: 'quiet_one', curated: true })
    sandbox.user({ name: 'sent_off', standing: 'suspended' })
    sandbox.post({
      subforum: 'coffee',
      author: 'photographer',
      title: 'Latte art',
      url: 'https://media.test/latteart.jpg',
    })
  })
  afterAll(() => daemon[Symbol.asyncDispose]())

  test("posts of a subforum are listed newest first, in the API's row format", async () => {
    const { status, headers, body } = await daemon.get('/posts?subforum=coffee&limit=3')

    expect(status).toBe(200)
    expect(headers.get('x-cache')).toBe('miss')
    expect(headers.get('x-credits-remaining')).not.toBeNull()
    expect(misfits(shapes.posts, body)).toEqual([])
    expect(body.posts.map((row: any) => row.title)).toEqual([
      'Latte art',
      'Water for espresso',
      'A grinder, part 29',
    ])
    expect(body.after).toMatch(/^t3_[a-z0-9]{5,12}$/)
    expect(body).not.toHaveProperty('listing_status')
  })

  test('a listing is read to its end by its cursors, without loss or repeat', async () => {
    const ids: string[] = []
    let after: string | null = ''
    let last: any = null
    while (after !== null && ids.length < 100) {
      const path: string = `/posts?subforum=coffee&limit=7&after=${encodeURIComponent(after)}`
      last = (await daemon.get(path)).body
      ids.push(...last.posts.map(({ id }: { id: string }) => id))
      after = last.after
    }

    expect(ids).toHaveLength(32)
    expect(new Set(ids).size).toBe(32)
    expect(last).toMatchObject({ after: null, listing_status: 'complete' })
  })

  test('a cursor is a fullname, and its listing still ends as complete', async () => {
    const first = await daemon.get('/posts?subforum=coffee&limit=5')
    expect(first.body.after).toMatch(/^t3_[a-z0-9]{5,12}$/)

    const { body } = await daemon.get(`/posts?subforum=coffee&limit=100&after=${first.body.after}`)

    expect(body.posts).toHaveLength(27)
    expect(body).toMatchObject({ after: null, listing_status: 'complete' })
  })

  test('a listing started at a foreign cursor cannot be reported as complete', async () => {
    const { body } = await daemon.get(`/posts?subforum=coffee&limit=100&after=${post.name}`)

    expect(body).toMatchObject({ after: null, listing_status: 'unknown' })
  })

  test.each([1, 2, 3, 25])(
    'pinned posts count toward a limit of %p, and no post is lost or repeated',
    async (limit) => {
      const { sandbox } = daemon
      sandbox.subforum({ name: `pinned${limit}` })
      for (let number = 0; number < 5; number++)
        sandbox.post({
          subforum: `pinned${limit}`,
          title: `Post ${number}`,
          stickied: number < 2,
          created_at: ago(60 - number),
        })
      const titles: string[] = []
      let after: string | null = ''
      let last: any = null
      for (let page = 0; after !== null && page < 10; page++) {
        const path: string = `/posts?subforum=pinned${limit}&sort=hot&limit=${limit}&after=${after}`
        last = (await daemon.get(path)).body
        expect(last.posts.length).toBeLessThanOrEqual(limit)
        titles.push(...last.posts.map(({ title }: { title: string }) => title))
        after = last.after
      }

      expect(titles.slice(0, 2).toSorted()).toEqual(['Post 0', 'Post 1'])
      expect(titles.toSorted()).toEqual(['Post 0', 'Post 1', 'Post 2', 'Post 3', 'Post 4'])
      expect(last).toMatchObject({ after: null, listing_status: 'complete' })
    },
  )

  test.each([
    'r/coffee',
    '/r/coffee/',
    'https://www.forum.test/r/coffee/',
    'www.forum.test/r/coffee',
  ])('the posts of %s are those of its name', async (named) => {
    const path = `/posts?subforum=${encodeURIComponent(named)}&limit=1`
    const about = await daemon.get(`/sub/${encodeURIComponent(named)}/about`)

    expect((await daemon.get(path)).body.posts).toHaveLength(1)
    expect(about.body.name).toBe('coffee')
  })

  test.each(['u/barista', '/user/barista/', '@barista', 'https://www.forum.test/u/barista'])(
    'the user %s is the one of that name',
    async (named) => {
      const { body } = await daemon.get(`/user/${encodeURIComponent(named)}`)

      expect(body.name).toBe('barista')
    },
  )

  test('the top posts of a week are listed best first', async () => {
    const { body } = await daemon.get('/sub/coffee/top?limit=2')

    expect(body.posts.map((row: any) => row.upvotes)).toEqual([29, 28])
  })

  test('a post is found by its id, with or without prefix', async () => {
    const [bare, full] = await Promise.all([
      daemon.get(`/post/${post.id}`),
      daemon.get(`/post/${post.name}`),
    ])

    expect(misfits(shapes.post, bare.body)).toEqual([])
    expect(bare.body).toMatchObject({ ...post, comments: 2, subforum: 'coffee', is_self: true })
    expect(full.body).toEqual(bare.body)
  })

  test('the three routes of a tree return the same one', async () => {
    const [one, two, three, four] = await Promise.all([
      daemon.get(`/post/${post.id}/comments`),
      daemon.get(`/comments/${post.name}`),
      daemon.get(`/comments?permalink=${post.permalink}`),
      daemon.get(`/comments?permalink=https://www.forum.test${post.permalink}?utm=1`),
      daemon.get(
        `/comments?permalink=${encodeURIComponent(`${daemon.sandbox.url}${post.permalink}`)}`,
      ),
    ])

    expect(misfits(shapes.tree, one.body)).toEqual([])
    expect(one.body).toMatchObject({
      post: { id: post.id },
      comments: [
        {
          kind: 't1',
          data: {
            name: comment.name,
            score: 7,
            link_id: post.name,
            replies: { data: { children: [{ data: { body: 'How soft is soft?' } }] } },
          },
        },
      ],
      after: null,
      meta: { truncated: false, more_count: 0 },
    })
    for (const { body } of [two, three, four]) expect(body).toEqual(one.body)
  })

  test('a tree of depth one lists its omissions', async () => {
    const { body } = await daemon.get(`/post/${post.id}/comments?depth=1`)

    expect(body.meta).toEqual({ truncated: true, more_count: 1 })
  })

  test('a given depth prevents the expansion of the tree', async () => {
    const { body } = await daemon.get(`/comments?permalink=${post.permalink}&depth=1`)

    expect(body.meta).toEqual({ truncated: true, more_count: 1 })
  })

  test('a timeframe is sent only with the sorts that support one', async () => {
    const before = daemon.sandbox.requests.length

    await daemon.get('/posts?subforum=coffee&sort=new&t=week')
    await daemon.get('/posts?subforum=coffee&sort=controversial&t=week')
    await daemon.get('/posts?subforum=coffee&sort=top')

    const times = daemon.sandbox.requests
      .slice(before)
      .map(({ query }) => new URLSearchParams(query).get('t'))
    expect(times).toEqual([null, 'week', 'day'])
  })

  test('a comment’s permalink returns its branch', async () => {
    const { body } = await daemon.get(`/comments?permalink=${comment.permalink}`)

    expect(body.comments.map(({ data }: any) => data.id)).toEqual([comment.id])
  })

  test("one comment is the platform's node; its replies are filled in on request", async () => {
    const plain = await daemon.get(`/comment/${comment.name}`)
    const filled = await daemon.get(`/comment/${comment.id}?replies=true`)

    expect(misfits(shapes.comment, plain.body)).toEqual([])
    expect(plain.body.comment).toMatchObject({
      kind: 't1',
      data: { id: comment.id, score: 7, link_id: post.name, body: '**Soft** water', replies: '' },
    })
    expect(filled.body.comment.data.replies.data.children).toHaveLength(1)
    expect({ ...filled.body.comment.data, replies: '' }).toEqual(plain.body.comment.data)
  })

  test("comments of a subforum and of a user have the API's row format", async () => {
    const place = await daemon.get('/sub/coffee/comments?limit=1')
    const person = await daemon.get('/user/chemist/comments')

    expect(misfits(shapes.comments, place.body)).toEqual([])
    expect(place.body.comments[0]).toMatchObject({
      body: 'How soft is soft?',
      post_id: post.id,
      link_title: 'Water for espresso',
      parent_id: comment.name,
    })
    expect(person.body.comments).toMatchObject([{ id: comment.id, upvotes: 7 }])
  })

  test('a search filters its page and reports the number of scanned posts', async () => {
    const { body } = await daemon.get('/search?q=grinder&limit=100&min_score=27&sort_type=score')

    expect(misfits(shapes.search, body)).toEqual([])
    expect(body.posts.map((row: any) => row.upvotes)).toEqual([29, 28, 27])
    expect(body.meta).toEqual({ scanned: 30, kept: 3 })
  })

  test('a search of one subforum stays in it', async () => {
    daemon.sandbox.post({ subforum: 'tea', title: 'Not a grinder' })

    const { body } = await daemon.get('/search?q=grinder&subforum=tea')

    expect(body.posts.map((row: any) => row.title)).toEqual(['Not a grinder'])
  })

  test('a media search returns displayable media only', async () => {
    const { body } = await daemon.get('/search/media?q=latte&kind=image')

    expect(misfits(shapes.media, body)).toEqual([])
    expect(body).toMatchObject({
      posts: [
        { title: 'Latte art', media: { kind: 'image', url: 'https://media.test/latteart.jpg' } },
      ],
      scanned: 1,
    })
  })

  test('a search of comments answers posts whose discussion matches, at the price of a read', async () => {
    const before = Number((await daemon.get(`/post/${post.id}`)).headers.get('x-credits-remaining'))

    const said = await daemon.get('/search/comments?q=water')
    const titled = await daemon.get('/search/comments?q=espresso')

    expect(before - Number(said.headers.get('x-credits-remaining'))).toBeCloseTo(0.002, 9)
    expect(misfits(shapes.discussions, said.body)).toEqual([])
    expect(said.body.posts.map((row: any) => row.title)).toEqual(['Water for espresso'])
    expect(titled.body).toMatchObject({ posts: [], meta: { searched: 1, comments_scanned: 2 } })
  })

  test('a deep search expands the requested number of posts, at its own price', async () => {
    const before = Number((await daemon.get(`/post/${post.id}`)).headers.get('x-credits-remaining'))

    const { headers, body } = await daemon.get('/search/comments/deep?q=grinder&limit=3')

    expect(before - Number(headers.get('x-credits-remaining'))).toBeCloseTo(0.02, 9)
    expect(body).toMatchObject({ comments: [], meta: { posts_expanded: 3, comments_scanned: 0 } })
    expect(body.after).toMatch(/^t3_[a-z0-9]{5,12}$/)
  })

  test('a deep search finds words in comments, not in posts', async () => {
    const { body } = await daemon.get('/search/comments/deep?q=water')

    expect(misfits(shapes.deep, body)).toEqual([])
    expect(body.comments).toMatchObject([
      {
        id: comment.id,
        score: 7,
        author: 'chemist',
        permalink: comment.permalink,
        post: { id: post.id },
      },
    ])
  })

  test('communities and users are found by name', async () => {
    const places = await daemon.get('/search/communities?q=coffee')
    const people = await daemon.get('/search/users?q=baris')

    expect(misfits(shapes.communities, places.body)).toEqual([])
    expect(misfits(shapes.users, people.body)).toEqual([])
    expect(places.body.communities).toMatchObject([{ name: 'coffee' }])
    expect(people.body.users).toMatchObject([{ name: 'barista' }])
  })

  test('a user is a flat record, a suspended one mostly nulls', async () => {
    const alive = await daemon.get('/user/barista')
    const suspended = await daemon.get('/user/sent_off')

    expect(misfits(shapes.user, alive.body)).toEqual([])
    expect(alive.body).toMatchObject({ name: 'barista', is_suspended: false })
    expect(misfits(shapes.user, suspended.body)).toEqual([])
    expect(suspended.body).toMatchObject({ name: 'sent_off', is_suspended: true, id: null })
  })

  test('posts of a user are a list', async () => {
    const { body } = await daemon.get('/user/photographer/submitted')

    expect(misfits(shapes.posts, body)).toEqual([])
    expect(body.posts).toMatchObject([{ title: 'Latte art' }])
    expect(body.posts[0]).not.toHaveProperty('kind')
  })

  test('a curated profile is an empty list that reports its uncertainty', async () => {
    const { body } = await daemon.get('/user/quiet_one/comments')

    expect(body).toEqual({ comments: [], after: null, listing_status: 'unknown' })
  })

  test('a subforum has a description', async () => {
    const { body } = await daemon.get('/sub/coffee/about')

    expect(misfits(shapes.community, body)).toEqual([])
    expect(body).toMatchObject({ name: 'coffee', over_18: false })
  })

  test('verification keeps order and repeats, with one request', async () => {
    const gone = daemon.sandbox.comment({ parent: post.name, text: 'soon gone' })
    daemon.sandbox.remove({ name: gone.name, by: 'moderator' })
    const before = daemon.requestedPaths().length

    const { body } = await daemon.post('/comments/verify', {
      ids: [gone.id, comment.name, 'zzzzzz', comment.id, 'Not An Id', post.name, ''],
    })
    const malformed = await daemon.post('/comments/verify', { ids: ['?'] })

    expect(misfits(shapes.verified, body)).toEqual([])
    expect(body.comments).toEqual([
      { id: gone.id, name: gone.name, status: 'removed' },
      { id: comment.name, name: comment.name, status: 'live' },
      { id: 'zzzzzz', name: 't1_zzzzzz', status: 'not_found' },
      { id: comment.id, name: comment.name, status: 'live' },
      { id: 'Not An Id', name: null, status: 'not_found' },
      { id: post.name, name: null, status: 'not_found' },
      { id: '', name: null, status: 'not_found' },
    ])
    expect(malformed.body.comments).toEqual([{ id: '?', name: null, status: 'not_found' }])
    expect(daemon.requestedPaths().length - before).toBe(1)
  })

  test.each([
    ['/posts?subforum=cellar', 403, 'private', ''],
    ['/posts?subforum=ruins', 404, 'banned', ''],
    ['/posts?subforum=nowhere_at_all', 404, 'absent', ''],
    ['/user/nobody_at_all', 404, 'absent', 'there is no such user'],
    ['/user/nobody_at_all/comments', 404, 'absent', 'there is no such user'],
    ['/user/sent_off/comments', 403, 'user_suspended', ''],
    ['/post/zzzzzz', 404, null, 'there is no such post'],
    ['/post/zzzzzz/comments', 404, 'absent', 'there is no such post'],
    ['/comment/zzzzzz', 404, null, 'there is no such comment'],
    ['/comments/zzzzzz', 404, 'absent', 'there is no such post'],
    ['/comments?permalink=/r/coffee/comments/zzzzzz/', 404, 'absent', 'there is no such post'],
  ])('%s is refused with %i, %p and %p', async (path, status, reason, message) => {
    const answer = await daemon.get(path)

    const code = status === 403 ? 'PERMISSION_DENIED' : 'NOT_FOUND'
    expect(answer.status).toBe(status)
    expect(answer.body).toMatchObject({ code, error: code, reason })
    expect(answer.body.message).toContain(message)
    expect(answer.headers.get('x-credits-remaining')).not.toBeNull()
  })

  test.each([
    ['/posts', 'subforum is required'],
    [
      '/posts?subforum=r/coffee/new',
      'subforum must be a name of 1 to 21 letters, digits, _ or -, such as coffee, r/coffee or its address',
    ],
    [
      '/posts?subforum=coffee&sort=old',
      'sort must be one of new, hot, top, rising, controversial, best',
    ],
    ['/posts?subforum=coffee&t=decade', 't must be one of hour, day, week, month, year, all'],
    ['/posts?subforum=coffee&limit=0', 'limit must be a whole number from 1 to 100'],
    ['/posts?subforum=coffee&limit=2.5', 'limit must be a whole number from 1 to 100'],
    ['/search', 'q is required'],
    ['/search?q=', 'q is required'],
    ['/search?q=x&sort=best', 'sort must be one of relevance, new, hot, top, comments'],
    ['/search?q=x&nsfw=maybe', 'nsfw must be true or false'],
    [
      '/search?q=x&min_score=many',
      'min_score must be a whole number from -1000000000 to 1000000000',
    ],
    ['/search?q=x&sort_type=age', 'sort_type must be one of score, num_comments, created'],
    ['/search/comments?q=x&sort=hot', 'sort must be one of relevance, new, top, comments'],
    ['/search/comments/deep?q=x&limit=11', 'limit must be a whole number from 1 to 10'],
    ['/search/comments/deep?q=author:x', 'q must contain a word to look for in comments'],
    ['/search/media?q=x&kind=audio', 'kind must be one of all, image, video, gallery, gif'],
    ['/search/users', 'q is required'],
    ['/posts?subforum=', 'subforum is required'],
    ['/comments', 'permalink is required'],
    [
      '/post/NOPE!',
      'id must be an id of 1 to 13 lower-case letters and digits, with t3_ before it or without',
    ],
    [
      '/post/t1_abc',
      'id must be an id of 1 to 13 lower-case letters and digits, with t3_ before it or without',
    ],
    [
      '/comment/t3_abc',
      'id must be an id of 1 to 13 lower-case letters and digits, with t1_ before it or without',
    ],
    ['/post/abc/comments?depth=11', 'depth must be a whole number from 1 to 10'],
    ['/post/abc/comments?limit=501', 'limit must be a whole number from 1 to 500'],
    ['/comments/abc?sort=best', 'sort must be one of confidence, top, new, controversial, old, qa'],
    [
      '/user/a%20b',
      "name must be a user's name of 1 to 21 letters, digits, _ or -, such as ann, u/ann or the address of the profile",
    ],
    ['/user/ada/comments?sort=hot', 'sort must be one of new, top, controversial'],
  ])('%s is 400: %s, without a request', async (path, error) => {
    const field = error.split(' ')[0]
    const before = daemon.requestedPaths().length

    const answer = await daemon.get(path)

    expect(answer.status).toBe(400)
    expect(answer.body).toEqual({ error, code: 'INVALID_REQUEST', field })
    expect(answer.headers.get('x-credits-remaining')).toBeNull()
    expect(daemon.requestedPaths().length).toBe(before)
  })

  test.each(['xyz', 't3_abc~many', 't3_ABC', '~5'])('the cursor %p is 400', async (after) => {
    const { status, body } = await daemon.get(`/posts?subforum=coffee&after=${after}`)

    expect(status).toBe(400)
    expect(body).toMatchObject({ code: 'INVALID_REQUEST', field: 'after' })
  })

  test.each([
    ['/posts?subforum=coffee', 't1_abc~3', 'posts'],
    ['/posts?subforum=coffee', 't5_abc', 'posts'],
    ['/sub/coffee/top?t=all', 't1_abc~3', 'posts'],
    ['/search?q=grinder', 't1_abc~3', 'posts'],
    ['/search/comments/deep?q=grinder', 't1_abc~3', 'posts'],
    ['/sub/coffee/comments?limit=5', 't3_abc~25', 'comments'],
    ['/user/ada/comments?limit=5', 't3_abc', 'comments'],
  ])('%s does not start over for %s, a cursor of another kind', async (path, after, rows) => {
    const before = daemon.requestedPaths().length
    const { status, body } = await daemon.get(`${path}&after=${after}`)

    expect(status).toBe(400)
    expect(body).toMatchObject({ code: 'INVALID_REQUEST', field: 'after' })
    expect(body.error).toStartWith(`after must be a cursor of a listing of ${rows}`)
    expect(daemon.requestedPaths().length).toBe(before)
  })

  test('a cursor that is not a fullname is passed on unchanged', async () => {
    await daemon.get('/posts?subforum=coffee&after=rb_abc~25')

    expect(daemon.sandbox.requests.at(-1)?.query).toMatch(/[?&]after=rb_abc(&|$)/)
  })

  test.each([
    [{}, 'ids'],
    [{ ids: [] }, 'ids'],
    [{ ids: 'abc' }, 'ids'],
    [{ ids: [1] }, 'ids[0]'],
    [{ ids: Array.from({ length: 101 }, () => 'a') }, 'ids'],
    [{ ids: ['a'], all: true }, 'all'],
  ])('verifying %p is 400', async (body, field) => {
    const answer = await daemon.post('/comments/verify', body)

    expect(answer.status).toBe(400)
    expect(answer.body).toMatchObject({ code: 'INVALID_REQUEST', field })
  })

  test('unknown query fields are ignored', async () => {
    expect((await daemon.get(`/post/${post.id}?colour=blue`)).status).toBe(200)
  })
})

test('a tree larger than one answer is read completely', async () => {
  await using daemon = await startReading()
  const { sandbox } = daemon
  const post = sandbox.post({ subforum: 'coffee', title: 'Say hello' })
  const written: string[] = []
  for (let number = 0; number < 620; number++)
    written.push(sandbox.comment({ parent: post.name, text: `hello ${number}` }).id)
  let parent = `t1_${written[0]}`
  for (let level = 0; level < 25; level++) {
    const { id, name } = sandbox.comment({ parent, text: `deeper ${level}` })
    written.push(id)
    parent = name
  }

  const { body } = await daemon.get(`/comments?permalink=${post.permalink}`)

  const found: string[] = []
  const walk = (nodes: any[]) => {
    for (const { kind, data } of nodes) {
      if (kind === 't1') found.push(data.id)
      if (data.replies?.data) walk(data.replies.data.children)
    }
  }
  walk(body.comments)
  expect(body.meta).toEqual({ truncated: false, more_count: 0 })
  expect(found.toSorted()).toEqual(written.toSorted())
})

test('identical reads share one request, and later its cached answer', async () => {
  await using daemon = await startReading({ read_cache_ms: 60_000 })
  daemon.sandbox.post({ subforum: 'coffee', title: 'Hot' })

  const both = await Promise.all([
    daemon.get('/posts?subforum=coffee'),
    daemon.get('/posts?subforum=coffee'),
  ])
  const later = await daemon.get('/posts?subforum=Coffee&sort=new&limit=25')

  expect(new Set(both.map(({ headers }) => headers.get('x-cache')))).toEqual(
    new Set(['miss', 'shared']),
  )
  expect(later.headers.get('x-cache')).toBe('hit')
  expect(later.body).toEqual(both[0]?.body)
  expect(daemon.requestedPaths()).toHaveLength(1)
  expect(later.headers.get('x-credits-remaining')).toBe('0.494')
})

test.each([
  ['block_403_html', 503, 'upstream_unavailable'],
  ['challenge_200_html', 503, 'upstream_unavailable'],
  ['429_json', 429, 'HTTP_429'],
  ['5xx', 503, 'upstream_unavailable'],
  ['truncated', 503, 'upstream_unavailable'],
] as const)(
  'under %s a read is %i %s, has Retry-After and costs nothing',
  async (fault, status, code) => {
    await using daemon = await startReading()
    daemon.sandbox.addFault({ path: '/r/coffee', fault })

    const answer = await daemon.get('/posts?subforum=coffee')

    expect(answer.status).toBe(status)
    expect(answer.body).toMatchObject({ code, error: code })
    expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0)
    expect(answer.headers.get('x-credits-remaining')).toBeNull()
    expect((await daemon.account()).body.credits_remaining).toBe(0.5)
  },
)

test('a verification that the platform cannot answer is 502 and free', async () => {
  await using daemon = await startReading()
  daemon.sandbox.addFault({ path: '/api/info', fault: '5xx' })

  const answer = await daemon.post('/comments/verify', { ids: ['abc'] })

  expect(answer.status).toBe(502)
  expect(answer.body).toMatchObject({ code: 'UPSTREAM_ERROR' })
  expect(answer.headers.get('x-credits-remaining')).toBeNull()
})

test('the configured words are in paths, parameters, rows, errors and the document', async () => {
  await using daemon = await startReading({ wire: { platform: 'agora', community: 'guild' } })
  const post = daemon.sandbox.post({ subforum: 'coffee', title: 'Hot water' })
  daemon.sandbox.comment({ parent: post.name, text: 'hot!' })

  const listing = await daemon.get('/posts?guild=coffee')
  const missing = await daemon.get('/posts?subforum=coffee')
  const within = await daemon.get('/search?q=hot&guild=coffee')
  const deep = await daemon.get('/search/comments/deep?q=hot')
  const { body: document } = await daemon.document()

  const root = daemon.sandbox.comment({ parent: post.name, text: 'first' })
  daemon.sandbox.comment({ parent: root.name, text: 'second' })
  const whole = await daemon.get(`/comment/${root.id}`)
  const alone = await daemon.get(`/comment/${root.id}?replies=false`)

  expect(whole.body.comment.data.replies.data.children).toHaveLength(1)
  expect(alone.body.comment.data.replies).toBe('')
  expect(listing.body.posts[0]).toMatchObject({ guild: 'coffee' })
  expect(missing.body).toMatchObject({ error: 'guild is required', field: 'guild' })
  expect(within.body.posts).toHaveLength(1)
  expect(deep.body.comments[0]).toMatchObject({ guild: 'coffee', post: { guild: 'coffee' } })
  for (const { body } of [listing, within, deep])
    expect(JSON.stringify(body)).not.toContain('"subforum"')
  const { get } = document.paths['/api/agora/posts']
  expect(get.parameters.map(({ name }: { name: string }) => name)).toContain('guild')
  expect(JSON.stringify(get)).not.toContain('subforum')
})

test('every read is documented with its parameters and its answer', async () => {
  await using daemon = await startReading()

  const { paths } = (await daemon.document()).body

  const reads = Object.entries<any>(paths).filter(([path]) => path.startsWith('/api/forum/'))
  expect(reads.map(([path]) => path).toSorted()).toEqual([
    '/api/forum/by_id/{fullnames}',
    '/api/forum/comment/{id}',
    '/api/forum/comments',
    '/api/forum/comments/verify',
    '/api/forum/comments/{postId}',
    '/api/forum/feed',
    '/api/forum/post/{id}',
    '/api/forum/post/{id}/comments',
    '/api/forum/post/{id}/visibility',
    '/api/forum/posts',
    '/api/forum/search',
    '/api/forum/search/comments',
    '/api/forum/search/comments/deep',
    '/api/forum/search/communities',
    '/api/forum/search/media',
    '/api/forum/search/users',
    '/api/forum/sub/{name}/about',
    '/api/forum/sub/{name}/comments',
    '/api/forum/sub/{name}/moderators',
    '/api/forum/sub/{name}/rules',
    '/api/forum/sub/{name}/top',
    '/api/forum/sub/{name}/wiki/{page}',
    '/api/forum/subforums/default',
    '/api/forum/subforums/new',
    '/api/forum/subforums/popular',
    '/api/forum/user/{name}',
    '/api/forum/user/{name}/achievements',
    '/api/forum/user/{name}/comments',
    '/api/forum/user/{name}/gilded',
    '/api/forum/user/{name}/hidden',
    '/api/forum/user/{name}/saved',
    '/api/forum/user/{name}/submitted',
    '/api/forum/user/{name}/upvoted',
  ])
  for (const [, { get, post }] of reads) {
    const { summary, responses } = get ?? post
    expect(summary).toBeString()
    expect(responses[200].content['application/json'].schema.properties).toBeObject()
  }
})

const ssrf = process.env['FORUMD_SSRF']
if (ssrf === undefined) console.log('FORUMD_SSRF is not set: hostile permalinks are skipped')

test.skipIf(ssrf === undefined)('every permalink leads to the platform', async () => {
  await using daemon = await startReading()
  const text = await Bun.file(`${ssrf}/sequences.jsonl`).text()
  const vias = text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => String(JSON.parse(line).via))
    .filter((via) => via.includes('/comments?permalink='))

  expect(vias.length).toBeGreaterThan(0)
  for (const via of vias) {
    const permalink = via.slice(via.indexOf('permalink=') + 'permalink='.length)
    const { status } = await daemon.get(`/comments?permalink=${encodeURIComponent(permalink)}`)
    expect([400, 404]).toContain(status)
  }
  for (const path of daemon.requestedPaths()) expect(path).toMatch(/^\/comments\/[a-z0-9]+\.json$/)
})
