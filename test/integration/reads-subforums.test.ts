import { afterAll, beforeAll, expect, test } from 'bun:test'

import type * as z from 'zod'

import { createShapes } from '../../src/api/reads/shapes.ts'
import { createNaming } from '../../src/core/forum/naming.ts'
import { startReading } from '../support/reads-fixture.ts'

type TestDaemon = Awaited<ReturnType<typeof startReading>>

const shapes = createShapes(createNaming({ platform: 'forum', community: 'subforum' }))()
const misfits = (shape: z.ZodType, body: unknown) => shape.safeParse(body).error?.issues ?? []
const ago = (minutes: number) => Date.now() - minutes * 60_000

let daemon: TestDaemon
let posts: { id: string; name: string }[] = []

beforeAll(async () => {
  daemon = await startReading()
  const { sandbox } = daemon
  sandbox.subforum({
    name: 'coffee',
    subscribers: 10,
    wiki: { 'guide/water': '# Water\n\n**Soft** & cold.' },
  })
  sandbox.subforum({ name: 'tea', subscribers: 20 })
  sandbox.subforum({ name: 'cellar', access: 'private' })
  posts = Array.from({ length: 4 }, (_, at) =>
    sandbox.post({
      subforum: at < 2 ? 'coffee' : 'tea',
      title: `Kettle ${at}`,
      created_at: ago(600 - at),
    }),
  )
  const cases: [number, string, string, number][] = [
    [0, 'ann', 'a kettle sings', 5],
    [1, 'bob', 'my kettle is louder', 9],
    [2, 'ann', 'kettle, kettle, kettle', 7],
    [3, 'cleo', 'no pots here', 90],
  ]
  for (const [at, author, text, score] of cases)
    sandbox.comment({ parent: posts[at]?.name ?? '', author, text, score, created_at: ago(500) })
})
afterAll(() => daemon[Symbol.asyncDispose]())

test('posts by id are returned in the requested order, each once, and missing ones are listed', async () => {
  const [a, b] = [posts[0]?.name ?? '', posts[2]?.id ?? '']
  const { status, body } = await daemon.get(`/by_id/${b},${a},t3_zzzz,${a}`)

  expect(status).toBe(200)
  expect(misfits(shapes.byId, body)).toEqual([])
  expect(body.posts.map(({ title }: { title: string }) => title)).toEqual(['Kettle 2', 'Kettle 0'])
  expect(body.meta).toEqual({
    listing_status: 'unknown',
    truncated: false,
    missing_fullnames: ['t3_zzzz'],
  })
  expect((await daemon.get(`/by_id/${a}`)).body.meta.listing_status).toBe('complete')
})

test.each([
  't1_abc',
  'a,,b',
  't3_UPPER',
  Array.from({ length: 101 }, (_, at) => `t3_${at}`).join(','),
])('ids of other kinds, or too many, are refused: %s', async (ids) => {
  const { status, body } = await daemon.get(`/by_id/${ids}`)

  expect([status, body.field]).toEqual([400, 'fullnames'])
  expect(body.error).toContain('1 to 100 ids of posts')
})

test('the rules of a subforum are listed beside those of the whole platform', async () => {
  const { status, body } = await daemon.get('/sub/coffee/rules')

  expect(status).toBe(200)
  expect(misfits(shapes.rules, body)).toEqual([])
  expect(body.site_rules.length).toBeGreaterThan(0)
})

test('a wiki page below another is named with its slash encoded', async () => {
  const { status, body } = await daemon.get('/sub/coffee/wiki/guide%2Fwater')

  expect(status).toBe(200)
  expect(misfits(shapes.wiki, body)).toEqual([])
  expect(body.content_md).toBe('# Water\n\n**Soft** & cold.')
})

test.each(['..%2F..%2Fapi%2Fme', 'a%2F%2Fb', 'a%0d%0ab', 'a%3Fb', '%2Fa', 'x'.repeat(257)])(
  'a wiki page may not be called %s',
  async (page) => {
    const seen = daemon.sandbox.requests.length
    const { status, body } = await daemon.get(`/sub/coffee/wiki/${page}`)

    expect([status, body.field]).toEqual([400, 'page'])
    expect(daemon.sandbox.requests).toHaveLength(seen)
  },
)

test('the platform’s lists of subforums omit closed ones', async () => {
  const { status, body } = await daemon.get('/subforums/popular')

  expect(status).toBe(200)
  expect(misfits(shapes.directory, body)).toEqual([])
  expect(body.subforums.map(({ name }: { name: string }) => name)).toEqual(['tea', 'coffee'])
  expect((await daemon.get('/subforums/default')).status).toBe(200)
  expect((await daemon.get('/subforums/new')).body.listing_status).toBe('complete')
  expect((await daemon.get('/subforums/other')).body.code).toBe('NOT_FOUND')
})

test('a post’s visibility is reported separately from the post', async () => {
  const { id = '', name = '' } = posts[3] ?? {}
  const before = await daemon.get(`/post/${id}/visibility`)
  daemon.sandbox.remove({ name, by: 'moderator' })
  const after = await daemon.get(`/post/${id}/visibility`)

  expect(misfits(shapes.visibility, before.body)).toEqual([])
  expect([before.body.id, before.body.verdict]).toEqual([id, 'live'])
  expect(after.body).toMatchObject({ verdict: 'not_visible', reason_code: 'removed' })
  expect(after.body.reason).toBe('moderators or the platform removed the post')
  expect((await daemon.get(`/post/${id}`)).status).toBe(200)
})

test('achievements are counted', async () => {
  const { status, body } = await daemon.get('/user/ann/achievements')

  expect(status).toBe(200)
  expect(misfits(shapes.achievements, body)).toEqual([])
  expect(body.count).toBe(body.achievements.length)
})

test('a deep search by author counts the comments of each, and their places', async () => {
  const { status, headers, body } = await daemon.get(
    '/search/comments/deep?q=kettle&group_by=author&max_authors=1&limit=10',
  )
  const all = await daemon.get('/search/comments/deep?q=kettle&group_by=author&limit=10')

  expect([status, headers.get('x-cache')]).toEqual([200, 'miss'])
  expect(misfits(shapes.deep, body)).toEqual([])
  expect(body).not.toHaveProperty('comments')
  expect(body.authors).toMatchObject([
    {
      author: 'ann',
      comment_count: 2,
      total_score: 12,
      subforums: ['tea', 'coffee'],
      top_comment: { score: 7, post: { title: 'Kettle 2' } },
    },
  ])
  expect(body.meta.authors_capped).toBe(true)
  expect(all.body.authors.map(({ author }: { author: string }) => author)).toEqual(['ann', 'bob'])
  expect(all.body.meta.authors_capped).toBe(false)
})

test('a deep search groups by author only', async () => {
  const { status, body } = await daemon.get('/search/comments/deep?q=kettle&group_by=subforum')

  expect([status, body.field]).toEqual([400, 'group_by'])
  expect(body.error).toBe('group_by must be one of author')
})
