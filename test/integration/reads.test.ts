import { afterAll, beforeAll, describe, expect, test } from 'bun:test'

import type * as z from 'zod'

import { createShapes } from '../../src/api/reads/shapes.ts'
import { createWords } from '../../src/core/wire.ts'
import { startReading } from '../support/reading.ts'

type House = Awaited<ReturnType<typeof startReading>>

const shapes = createShapes(createWords({ platform: 'forum', community: 'subforum' }))()

/** What is wrong with a body by the shape that documents it; nothing. */
const misfits = (shape: z.ZodType, body: unknown) => shape.safeParse(body).error?.issues ?? []

// Old enough that the platform shows its score.
const ago = (minutes: number) => Date.now() - minutes * 60_000

describe('a small world', () => {
  let house: House
  let post = { id: '', name: '', permalink: '' }
  let comment = { id: '', name: '', permalink: '' }

  beforeAll(async () => {
    house = await startReading()
    const { sandbox } = house
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
  afterAll(() => house[Symbol.asyncDispose]())

  test('posts of a subforum come newest first, as rows of ours', async () => {
    const { status, headers, body } = await house.get('/posts?subforum=coffee&limit=3')

    expect(status).toBe(200)
    expect(headers.get('x-cache')).toBe('miss')
    expect(headers.get('x-credits-remaining')).not.toBeNull()
    expect(misfits(shapes.posts, body)).toEqual([])
    expect(body.posts.map((row: any) => row.title)).toEqual([
      'Latte art',
      'Water for espresso',
      'A grinder, part 29',
    ])
    expect(body.after).toMatch(/^t3_[a-z0-9]+~3$/)
    expect(body).not.toHaveProperty('listing_status')
  })

  test('a listing is read to its end by its cursors, without loss or repeat', async () => {
    const ids: string[] = []
    let after: string | null = ''
    let last: any = null
    while (after !== null && ids.length < 100) {
      const path: string = `/posts?subforum=coffee&limit=7&after=${encodeURIComponent(after)}`
      last = (await house.get(path)).body
      ids.push(...last.posts.map(({ id }: { id: string }) => id))
      after = last.after
    }

    expect(ids).toHaveLength(32)
    expect(new Set(ids).size).toBe(32)
    expect(last).toMatchObject({ after: null, listing_status: 'complete' })
  })

  test('a listing begun at a bare cursor cannot say that it is complete', async () => {
    const first = await house.get('/posts?subforum=coffee&limit=5')
    const bare = first.body.after.replace(/~.*/, '')

    const { body } = await house.get(`/posts?subforum=coffee&limit=100&after=${bare}`)

    expect(body.posts).toHaveLength(27)
    expect(body).toMatchObject({ after: null, listing_status: 'unknown' })
  })

  test('the best posts of a week come best first', async () => {
    const { body } = await house.get('/sub/coffee/top?limit=2')

    expect(body.posts.map((row: any) => row.upvotes)).toEqual([29, 28])
  })

  test('one post is itself, with its prefix or without', async () => {
    const [bare, full] = await Promise.all([
      house.get(`/post/${post.id}`),
      house.get(`/post/${post.name}`),
    ])

    expect(misfits(shapes.post, bare.body)).toEqual([])
    expect(bare.body).toMatchObject({ ...post, comments: 2, subforum: 'coffee', is_self: true })
    expect(full.body).toEqual(bare.body)
  })

  test('the three ways to a tree lead to the same one', async () => {
    const [one, two, three, four] = await Promise.all([
      house.get(`/post/${post.id}/comments`),
      house.get(`/comments/${post.name}`),
      house.get(`/comments?permalink=${post.permalink}`),
      house.get(`/comments?permalink=https://www.forum.test${post.permalink}?utm=1`),
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

  test('a tree of depth one says what it left out', async () => {
    const { body } = await house.get(`/post/${post.id}/comments?depth=1`)

    expect(body.meta).toEqual({ truncated: true, more_count: 1 })
  })

  test('a full tree is not what somebody wants who names a depth', async () => {
    const { body } = await house.get(`/comments?permalink=${post.permalink}&depth=1`)

    expect(body.meta).toEqual({ truncated: true, more_count: 1 })
  })

  test('a timeframe goes to the platform with the sorts that have one, and with no other', async () => {
    const before = house.sandbox.requests.length

    await house.get('/posts?subforum=coffee&sort=new&t=week')
    await house.get('/posts?subforum=coffee&sort=controversial&t=week')
    await house.get('/posts?subforum=coffee&sort=top')

    const times = house.sandbox.requests
      .slice(before)
      .map(({ query }) => new URLSearchParams(query).get('t'))
    expect(times).toEqual([null, 'week', 'day'])
  })

  test('a comment’s permalink leads to its branch', async () => {
    const { body } = await house.get(`/comments?permalink=${comment.permalink}`)

    expect(body.comments.map(({ data }: any) => data.id)).toEqual([comment.id])
  })

  test('one comment is the native node; its replies are filled in when asked for', async () => {
    const plain = await house.get(`/comment/${comment.name}`)
    const filled = await house.get(`/comment/${comment.id}?replies=true`)

    expect(misfits(shapes.comment, plain.body)).toEqual([])
    expect(plain.body.comment).toMatchObject({
      kind: 't1',
      data: { id: comment.id, score: 7, link_id: post.name, body: '**Soft** water', replies: '' },
    })
    expect(filled.body.comment.data.replies.data.children).toHaveLength(1)
    expect({ ...filled.body.comment.data, replies: '' }).toEqual(plain.body.comment.data)
  })

  test('comments of a subforum and of a user are rows of ours', async () => {
    const place = await house.get('/sub/coffee/comments?limit=1')
    const person = await house.get('/user/chemist/comments')

    expect(misfits(shapes.comments, place.body)).toEqual([])
    expect(place.body.comments[0]).toMatchObject({
      body: 'How soft is soft?',
      post_id: post.id,
      link_title: 'Water for espresso',
      parent_id: comment.name,
    })
    expect(person.body.comments).toMatchObject([{ id: comment.id, upvotes: 7 }])
  })

  test('a search filters its page and says what it looked through', async () => {
    const { body } = await house.get('/search?q=grinder&limit=100&min_score=27&sort_type=score')

    expect(misfits(shapes.search, body)).toEqual([])
    expect(body.posts.map((row: any) => row.upvotes)).toEqual([29, 28, 27])
    expect(body.meta).toEqual({ scanned: 30, kept: 3 })
  })

  test('a search of one subforum stays in it', async () => {
    house.sandbox.post({ subforum: 'tea', title: 'Not a grinder' })

    const { body } = await house.get('/search?q=grinder&subforum=tea')

    expect(body.posts.map((row: any) => row.title)).toEqual(['Not a grinder'])
  })

  test('a media search keeps what can be shown', async () => {
    const { body } = await house.get('/search/media?q=latte&kind=image')

    expect(misfits(shapes.media, body)).toEqual([])
    expect(body).toMatchObject({
      posts: [
        { title: 'Latte art', media: { kind: 'image', url: 'https://media.test/latteart.jpg' } },
      ],
      scanned: 1,
    })
  })

  test('a deep search expands as many posts as it is asked to, at its own price', async () => {
    const before = Number((await house.get(`/post/${post.id}`)).headers.get('x-credits-remaining'))

    const { headers, body } = await house.get('/search/comments/deep?q=grinder&limit=3')

    expect(before - Number(headers.get('x-credits-remaining'))).toBeCloseTo(0.02, 9)
    expect(body).toMatchObject({ comments: [], meta: { posts_expanded: 3, comments_scanned: 0 } })
    expect(body.after).toMatch(/~3$/)
  })

  test('a deep search finds words in comments, not in posts', async () => {
    const { body } = await house.get('/search/comments/deep?q=water')

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

  test('communities and people are found by their names', async () => {
    const places = await house.get('/search/communities?q=coffee')
    const people = await house.get('/search/users?q=baris')

    expect(misfits(shapes.communities, places.body)).toEqual([])
    expect(misfits(shapes.users, people.body)).toEqual([])
    expect(places.body.communities).toMatchObject([{ name: 'coffee' }])
    expect(people.body.users).toMatchObject([{ name: 'barista' }])
  })

  test('a person is a flat record, a suspended one mostly nulls', async () => {
    const alive = await house.get('/user/barista')
    const suspended = await house.get('/user/sent_off')

    expect(misfits(shapes.user, alive.body)).toEqual([])
    expect(alive.body).toMatchObject({ name: 'barista', is_suspended: false })
    expect(misfits(shapes.user, suspended.body)).toEqual([])
    expect(suspended.body).toMatchObject({ name: 'sent_off', is_suspended: true, id: null })
  })

  test('what a person posted is a list of posts', async () => {
    const { body } = await house.get('/user/photographer/submitted')

    expect(misfits(shapes.posts, body)).toEqual([])
    expect(body.posts).toMatchObject([{ title: 'Latte art' }])
    expect(body.posts[0]).not.toHaveProperty('kind')
  })

  test('a curated profile is an empty list that admits it does not know', async () => {
    const { body } = await house.get('/user/quiet_one/comments')

    expect(body).toEqual({ comments: [], after: null, listing_status: 'unknown' })
  })

  test('a subforum says what it is', async () => {
    const { body } = await house.get('/sub/coffee/about')

    expect(misfits(shapes.community, body)).toEqual([])
    expect(body).toMatchObject({ name: 'coffee', over_18: false })
  })

  test('verification keeps order and repeats, and asks once', async () => {
    const gone = house.sandbox.comment({ parent: post.name, text: 'soon gone' })
    house.sandbox.remove({ name: gone.name, by: 'moderator' })
    const before = house.asked().length

    const { body } = await house.post('/comments/verify', {
      ids: [gone.id, comment.name, 'zzzzzz', comment.id, '?'],
    })

    expect(misfits(shapes.verified, body)).toEqual([])
    expect(body.comments.map(({ id, status }: any) => [id, status])).toEqual([
      [gone.id, 'removed'],
      [comment.name, 'live'],
      ['zzzzzz', 'not_found'],
      [comment.id, 'live'],
      ['?', 'not_found'],
    ])
    expect(house.asked().length - before).toBe(1)
  })

  test.each([
    ['/posts?subforum=cellar', 403, 'PERMISSION_DENIED', 'private'],
    ['/posts?subforum=ruins', 404, 'NOT_FOUND', 'banned'],
    ['/posts?subforum=nowhere_at_all', 404, 'NOT_FOUND', 'absent'],
    ['/user/nobody_at_all', 404, 'NOT_FOUND', 'absent'],
    ['/user/sent_off/comments', 403, 'PERMISSION_DENIED', 'user_suspended'],
    ['/post/zzzzzz', 404, 'NOT_FOUND', null],
    ['/comment/zzzzzz', 404, 'NOT_FOUND', null],
    ['/comments/zzzzzz', 404, 'NOT_FOUND', 'absent'],
  ])('%s is refused with %i %s', async (path, status, code, reason) => {
    const answer = await house.get(path)

    expect(answer.status).toBe(status)
    expect(answer.body).toMatchObject({ code, error: code, reason })
    expect(answer.headers.get('x-credits-remaining')).not.toBeNull()
  })

  test.each([
    ['/posts', 'subforum is required', 'subforum'],
    [
      '/posts?subforum=r/coffee',
      'subforum must be a name of 1 to 21 letters, digits, _ or -, without prefix',
      'subforum',
    ],
    [
      '/posts?subforum=coffee&sort=old',
      'sort must be one of new, hot, top, rising, controversial, best',
      'sort',
    ],
    ['/posts?subforum=coffee&t=decade', 't must be one of hour, day, week, month, year, all', 't'],
    ['/posts?subforum=coffee&limit=0', 'limit must be a whole number from 1 to 100', 'limit'],
    ['/posts?subforum=coffee&limit=2.5', 'limit must be a whole number from 1 to 100', 'limit'],
    ['/search', 'q is required', 'q'],
    ['/search?q=', 'q is required', 'q'],
    ['/search?q=x&sort=best', 'sort must be one of relevance, new, hot, top, comments', 'sort'],
    ['/search?q=x&nsfw=maybe', 'nsfw must be true or false', 'nsfw'],
    [
      '/search?q=x&min_score=many',
      'min_score must be a whole number from -1000000000 to 1000000000',
      'min_score',
    ],
    [
      '/search?q=x&sort_type=age',
      'sort_type must be one of score, num_comments, created',
      'sort_type',
    ],
    ['/search/comments?q=x&sort=hot', 'sort must be one of relevance, new, top, comments', 'sort'],
    ['/search/comments/deep?q=x&limit=11', 'limit must be a whole number from 1 to 10', 'limit'],
    ['/search/comments/deep?q=author:x', 'q must contain a word to look for in comments', 'q'],
    ['/search/media?q=x&kind=audio', 'kind must be one of all, image, video, gallery, gif', 'kind'],
    ['/search/users', 'q is required', 'q'],
    ['/comments', 'permalink is required', 'permalink'],
    [
      '/post/NOPE!',
      'id must be an id of 1 to 13 lower-case letters and digits, with t3_ before it or without',
      'id',
    ],
    [
      '/post/t1_abc',
      'id must be an id of 1 to 13 lower-case letters and digits, with t3_ before it or without',
      'id',
    ],
    [
      '/comment/t3_abc',
      'id must be an id of 1 to 13 lower-case letters and digits, with t1_ before it or without',
      'id',
    ],
    ['/post/abc/comments?depth=11', 'depth must be a whole number from 1 to 10', 'depth'],
    ['/post/abc/comments?limit=501', 'limit must be a whole number from 1 to 500', 'limit'],
    [
      '/comments/abc?sort=best',
      'sort must be one of confidence, top, new, controversial, old, qa',
      'sort',
    ],
    [
      '/user/a%20b',
      "name must be a user's name of 1 to 21 letters, digits, _ or -, without prefix",
      'name',
    ],
    ['/user/ada/comments?sort=hot', 'sort must be one of new, top, controversial', 'sort'],
  ])('%s is 400, naming the field, and asks nobody', async (path, error, field) => {
    const before = house.asked().length

    const answer = await house.get(path)

    expect(answer.status).toBe(400)
    expect(answer.body).toEqual({ error, code: 'INVALID_REQUEST', field })
    expect(answer.headers.get('x-credits-remaining')).toBeNull()
    expect(house.asked().length).toBe(before)
  })

  test.each(['xyz', 't3_abc~many', 't3_ABC', '~5'])('the cursor %p is 400', async (after) => {
    const { status, body } = await house.get(`/posts?subforum=coffee&after=${after}`)

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
  ])('%s does not begin anew for %s, a cursor of something else', async (path, after, rows) => {
    const before = house.asked().length
    const { status, body } = await house.get(`${path}&after=${after}`)

    expect(status).toBe(400)
    expect(body).toMatchObject({ code: 'INVALID_REQUEST', field: 'after' })
    expect(body.error).toStartWith(`after must be a cursor of a listing of ${rows}`)
    expect(house.asked().length).toBe(before)
  })

  test('a cursor that names nothing is passed on as the platform made it', async () => {
    await house.get('/posts?subforum=coffee&after=rb_abc~25')

    expect(house.sandbox.requests.at(-1)?.query).toMatch(/[?&]after=rb_abc(&|$)/)
  })

  test.each([
    [{}, 'ids'],
    [{ ids: [] }, 'ids'],
    [{ ids: 'abc' }, 'ids'],
    [{ ids: [1] }, 'ids[0]'],
    [{ ids: Array.from({ length: 101 }, () => 'a') }, 'ids'],
    [{ ids: ['a'], all: true }, 'all'],
  ])('verifying %p is 400', async (body, field) => {
    const answer = await house.post('/comments/verify', body)

    expect(answer.status).toBe(400)
    expect(answer.body).toMatchObject({ code: 'INVALID_REQUEST', field })
  })

  test('unknown query fields are ignored', async () => {
    expect((await house.get(`/post/${post.id}?colour=blue`)).status).toBe(200)
  })
})

test('a tree larger than one answer is read whole', async () => {
  await using house = await startReading()
  const { sandbox } = house
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

  const { body } = await house.get(`/comments?permalink=${post.permalink}`)

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

test('identical reads share one request, and a moment later its answer', async () => {
  await using house = await startReading({ read_cache_ms: 60_000 })
  house.sandbox.post({ subforum: 'coffee', title: 'Hot' })

  const both = await Promise.all([
    house.get('/posts?subforum=coffee'),
    house.get('/posts?subforum=coffee'),
  ])
  const later = await house.get('/posts?subforum=Coffee&sort=new&limit=25')

  expect(new Set(both.map(({ headers }) => headers.get('x-cache')))).toEqual(
    new Set(['miss', 'shared']),
  )
  expect(later.headers.get('x-cache')).toBe('hit')
  expect(later.body).toEqual(both[0]?.body)
  expect(house.asked()).toHaveLength(1)
  expect(later.headers.get('x-credits-remaining')).toBe('0.494')
})

test.each([
  ['block_403_html', 503, 'upstream_unavailable'],
  ['challenge_200_html', 503, 'upstream_unavailable'],
  ['429_json', 429, 'HTTP_429'],
  ['5xx', 503, 'upstream_unavailable'],
  ['truncated', 503, 'upstream_unavailable'],
] as const)(
  'under %s a read is %i %s, tells when to come back and costs nothing',
  async (fault, status, code) => {
    await using house = await startReading()
    house.sandbox.weather({ path: '/r/coffee', fault })

    const answer = await house.get('/posts?subforum=coffee')

    expect(answer.status).toBe(status)
    expect(answer.body).toMatchObject({ code, error: code })
    expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0)
    expect(answer.headers.get('x-credits-remaining')).toBeNull()
    expect((await house.account()).body.credits_remaining).toBe(0.5)
  },
)

test('a verification that the platform cannot answer is 502 and costs nothing', async () => {
  await using house = await startReading()
  house.sandbox.weather({ path: '/api/info', fault: '5xx' })

  const answer = await house.post('/comments/verify', { ids: ['abc'] })

  expect(answer.status).toBe(502)
  expect(answer.body).toMatchObject({ code: 'UPSTREAM_ERROR' })
  expect(answer.headers.get('x-credits-remaining')).toBeNull()
})

test('the configured words stand in paths, parameters, rows, errors and the document', async () => {
  await using house = await startReading({ wire: { platform: 'agora', community: 'guild' } })
  const post = house.sandbox.post({ subforum: 'coffee', title: 'Hot water' })
  house.sandbox.comment({ parent: post.name, text: 'hot!' })

  const listing = await house.get('/posts?guild=coffee')
  const missing = await house.get('/posts?subforum=coffee')
  const within = await house.get('/search?q=hot&guild=coffee')
  const deep = await house.get('/search/comments/deep?q=hot')
  const { body: document } = await house.document()

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
  await using house = await startReading()

  const { paths } = (await house.document()).body

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

test.skipIf(ssrf === undefined)('no permalink leads anywhere but to the platform', async () => {
  await using house = await startReading()
  const text = await Bun.file(`${ssrf}/sequences.jsonl`).text()
  const vias = text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => String(JSON.parse(line).via))
    .filter((via) => via.includes('/comments?permalink='))

  expect(vias.length).toBeGreaterThan(0)
  for (const via of vias) {
    const permalink = via.slice(via.indexOf('permalink=') + 'permalink='.length)
    const { status } = await house.get(`/comments?permalink=${encodeURIComponent(permalink)}`)
    expect([400, 404]).toContain(status)
  }
  for (const path of house.asked()) expect(path).toMatch(/^\/comments\/[a-z0-9]+\.json$/)
})
