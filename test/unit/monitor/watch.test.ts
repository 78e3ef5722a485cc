import { expect, test } from 'bun:test'

import { fail, ok } from '../../../src/core/outcome.ts'
import { createWatch } from '../../../src/gateway/watch.ts'
import type { Platform } from '../../../src/platform/platform.ts'
import { commentOf, postOf } from '../../support/items.ts'

/** A platform that notes what it is asked and answers as told. */
function asking(answers: Partial<Record<keyof Platform, unknown>>) {
  const asked: { name: string; query: any; call: any }[] = []
  const platform = new Proxy({} as Platform, {
    get: (_, name: string) => (query: unknown, call: unknown) => {
      asked.push({ name, query, call })
      return name === 'commentOf' ? commentOf({}) : answers[name as keyof Platform]
    },
  })
  const clock = { now: () => 5_000, mono: () => 0, sleep: async () => {} }
  return { asked, watch: createWatch({ platform, clock, deadline_ms: 1_000 }) }
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
      call: { deadline_at: 6_000, signal, eyes: { id: 'anonymous', cookie: null } },
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
