import { expect, test } from 'bun:test'

import { fail, ok } from '../../../src/core/outcome.ts'
import type { Fault } from '../../../src/core/outcome.ts'
import { createWatch } from '../../../src/gateway/watch.ts'
import { ANONYMOUS, type Eyes, type Platform } from '../../../src/platform/platform.ts'
import { commentOf, postOf } from '../../support/items.ts'

/** A platform that notes what it is asked and answers as told. */
function asking(
  answers: Partial<Record<keyof Platform, unknown>>,
  eyes: readonly Eyes[] = [ANONYMOUS],
) {
  const asked: { name: string; query: any; call: any }[] = []
  const platform = new Proxy({} as Platform, {
    get: (_, name: string) => (query: unknown, call: unknown) => {
      asked.push({ name, query, call })
      const answer = answers[name as keyof Platform]
      if (name === 'commentOf') return commentOf({})
      return Array.isArray(answer) ? (answer.shift() as unknown) : answer
    },
  })
  const clock = { now: () => 5_000, mono: () => 0, sleep: async () => {} }
  const reports: [string, Fault | null][] = []
  const eyes_of = {
    lease: (_: string, avoid: readonly string[] = []) =>
      eyes.find(({ id }) => !avoid.includes(id)) ?? null,
    report: ({ id }: Eyes, fault: Fault | null) => void reports.push([id, fault]),
  }
  return { asked, reports, watch: createWatch({ platform, eyes_of, clock, deadline_ms: 1_000 }) }
}
const paging = { limit: 100, after: null }
const { signal } = new AbortController()

test('posts are asked for newest first, within the deadline, and come as items', async () => {
  const { asked, watch } = asking({
    posts: ok({ rows: [postOf({})], after: 't3_p1', logged_in: null }),
  })
  const page = await watch.page({ kind: 'posts', place: 'cats' }, paging, signal)

  expect(page).toMatchObject({ ok: true, value: { rows: [{ kind: 'post' }], after: 't3_p1' } })
  expect(asked).toMatchObject([
    {
      name: 'posts',
      query: { subforums: ['cats'], sort: 'new', limit: 100 },
      call: { deadline_at: 6_000, signal, eyes: { id: 'anonymous', cookie: null }, use: 'poll' },
    },
  ])
})

test('a search looks everywhere, at everything, newest first', async () => {
  const { asked, watch } = asking({ search: ok({ rows: [], after: null, logged_in: null }) })
  await watch.page({ kind: 'search', place: '"a cat"' }, paging, signal)

  expect(asked[0]?.query).toMatchObject({
    q: '"a cat"',
    subforum: null,
    sort: 'new',
    t: 'all',
    nsfw: true,
  })
})

test('comments come as items too, and a fault stays a fault', async () => {
  const { watch } = asking({
    comments: ok({ rows: [commentOf({})], after: null, logged_in: null }),
  })
  const page = await watch.page({ kind: 'comments', place: 'cats' }, paging, signal)
  expect(page).toMatchObject({ ok: true, value: { rows: [{ kind: 'comment' }] } })

  const { watch: down } = asking({ comments: fail({ kind: 'timeout' }) })
  expect(await down.page({ kind: 'comments', place: 'cats' }, paging, signal)).toEqual(
    fail({ kind: 'timeout' }),
  )
})

test.each([
  ['is there', ok({ type: 'public' }), { kind: 'exists' }],
  ['shows only its outside', ok({ type: 'private' }), { kind: 'refused', why: 'private' }],
  [
    'is not there',
    fail({ kind: 'not_found', reason: 'absent' }),
    { kind: 'refused', why: 'absent' },
  ],
  ['is banned', fail({ kind: 'not_found', reason: 'banned' }), { kind: 'refused', why: 'banned' }],
  [
    'is private',
    fail({ kind: 'forbidden', reason: 'private' }),
    { kind: 'refused', why: 'private' },
  ],
  ['cannot be asked about', fail({ kind: 'throttled', retry_after_s: 1 }), { kind: 'unverified' }],
])('a subforum that %s', async (_, answer, verdict) => {
  const { watch } = asking({ community: answer })

  expect(await watch.subforum('cats')).toEqual(verdict as never)
})

test('names that stand for many places are not asked about', async () => {
  const { asked, watch } = asking({})

  expect(await watch.subforum('All')).toEqual({ kind: 'reserved' })
  expect(asked).toEqual([])
})

test('the age of an item is looked up by its kind; an absent one is null', async () => {
  const { asked, watch } = asking({
    postsById: ok([postOf({ created_utc: 7 })]),
    nodesById: ok([]),
  })

  expect(await watch.createdAt('t3_p1')).toEqual(ok(7_000))
  expect(await watch.createdAt('t1_c1')).toEqual(ok(null))
  expect(asked.map(({ name, query }) => [name, query])).toEqual([
    ['postsById', ['p1']],
    ['nodesById', ['c1']],
  ])
})

const pair = (id: string): Eyes => ({ ...ANONYMOUS, id, whose: 'pool', cookie: `c=${id}` })
const page = (logged_in: boolean | null) => ok({ rows: [], after: null, logged_in })

test.each<[string, Fault]>([
  ['blocked', { kind: 'blocked' }],
  ['sent to sign in', { kind: 'login_required' }],
  ['throttled', { kind: 'throttled', retry_after_s: 9 }],
])('who is %s is replaced by another once, and reported', async (_, fault) => {
  const answers = { posts: [fail(fault), page(true), page(true)] }
  const { asked, reports, watch } = asking(answers, [pair('a'), pair('b')])

  const seen = await watch.page({ kind: 'posts', place: 'cats' }, paging, signal)
  expect(seen).toEqual(ok({ rows: [], after: null }))
  expect(asked.map(({ call }) => call.eyes.id)).toEqual(['a', 'b'])
  expect(reports).toEqual([
    ['a', fault],
    ['b', null],
  ])
})

test('an account that the platform takes for nobody is reported, and another one looks', async () => {
  const { asked, reports, watch } = asking({ posts: [page(false), page(true)] }, [
    pair('a'),
    pair('b'),
  ])

  await watch.page({ kind: 'posts', place: 'cats' }, paging, signal)
  expect(asked.length).toBe(2)
  expect(reports[0]).toEqual(['a', { kind: 'login_required' }])
})

test('what is refused to one is not asked again through another', async () => {
  const refusal: Fault = { kind: 'forbidden', reason: 'private' }
  const { asked, watch } = asking({ posts: fail(refusal) }, [pair('a'), pair('b')])

  expect(await watch.page({ kind: 'posts', place: 'cats' }, paging, signal)).toEqual(fail(refusal))
  expect(asked.length).toBe(1)
})

test('without any eyes nothing is asked', async () => {
  const { asked, watch } = asking({ posts: page(true) }, [])

  expect(await watch.page({ kind: 'posts', place: 'cats' }, paging, signal)).toMatchObject({
    ok: false,
    fault: { kind: 'unavailable' },
  })
  expect(asked).toEqual([])
})
