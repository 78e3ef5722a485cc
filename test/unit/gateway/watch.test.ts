import { expect, test } from 'bun:test'

import { fail, type Fault, ok } from '../../../src/core/base/result.ts'
import { HOME } from '../../../src/core/forum/items.ts'
import {
  ANONYMOUS,
  type Identity,
  type ItemStates,
  type SourceReads,
} from '../../../src/platforms/port.ts'
import { commentOf, postOf } from '../../support/items.ts'
import { createListingWatch, listedSource } from '../../support/watch.ts'

/** A platform that records its calls and answers with the given outcomes. */
function createScriptedWatch(
  answers: Partial<Record<keyof SourceReads, unknown>>,
  identities: readonly Identity[] = [ANONYMOUS],
  free_in_ms: number | null = null,
  states?: ItemStates,
) {
  const calls: { name: string; query: any; call: any }[] = []
  const platform = new Proxy({} as SourceReads, {
    get: (_, name: string) => (query: unknown, call: unknown) => {
      calls.push({ name, query, call })
      const answer = answers[name as keyof SourceReads]
      if (name === 'commentOf') return commentOf({})
      return Array.isArray(answer) ? (answer.shift() as unknown) : answer
    },
  })
  let mono = 0
  const clock = { now: () => 5_000, mono: () => mono, sleep: async () => {} }
  const reports: [string, Fault | null][] = []
  const identity_source = {
    lease: (_: string, avoid: readonly string[] = []) =>
      identities.find(({ id }) => !avoid.includes(id)) ?? null,
    report: ({ id }: Identity, fault: Fault | null) => void reports.push([id, fault]),
    free_in_ms: () => free_in_ms,
  }
  return {
    calls,
    reports,
    pass: (ms: number) => void (mono += ms),
    watch: createListingWatch({
      name: HOME,
      source: listedSource(platform, { states }),
      per_minute: () => Infinity,
      identities: identity_source,
      clock,
      deadline_ms: 1_000,
    }),
  }
}
const paging = { limit: 100, after: null }
const { signal } = new AbortController()

test('posts are requested newest first within the deadline, and returned as items', async () => {
  const { calls, watch } = createScriptedWatch({
    posts: ok({ rows: [postOf({})], after: 't3_p1', logged_in: null }),
  })
  const page = await watch.page({ kind: 'posts', place: 'cats' }, paging, signal)

  expect(page).toMatchObject({ ok: true, value: { rows: [{ kind: 'post' }], after: 't3_p1' } })
  expect(calls).toMatchObject([
    {
      name: 'posts',
      query: { subforums: ['cats'], sort: 'new', limit: 100 },
      call: {
        deadline_at: 6_000,
        signal,
        identity: { id: 'anonymous', cookie: null },
        use: 'poll',
      },
    },
  ])
})

test('rows of a profile that a read by id does not show as live are not listed in their places', async () => {
  const rows = ['c1', 'c2', 'c3'].map((id) => commentOf({ id, name: `t1_${id}`, author: 'ann' }))
  const removed = new Set(['t1_c2'])
  const asked: string[][] = []
  const { watch, pass } = createScriptedWatch(
    { userComments: ok({ rows, after: null, logged_in: null }) },
    [ANONYMOUS],
    null,
    async (names) => {
      asked.push([...names])
      return ok(
        new Map(
          names.map((it) => [
            it,
            removed.has(it)
              ? { state: 'removed' }
              : { state: 'live', item: { ...commentOf({}), kind: 'comment' }, author_gone: false },
          ]),
        ),
      )
    },
  )
  const read = async () => {
    const page = await watch.page({ kind: 'user_comments', place: 'ann' }, paging, signal)
    return page.ok ? [page.value.rows.length, ...(page.value.unlisted ?? [])] : page
  }

  expect(await read()).toEqual([3, 't1_c2'])
  expect(await read()).toEqual([3, 't1_c2'])
  expect(asked).toEqual([['t1_c1', 't1_c2', 't1_c3']])
  removed.clear()
  pass(11 * 60_000)
  expect(await read()).toEqual([3])
  expect(asked.at(-1)).toEqual(['t1_c2'])
})

test('a page of a profile whose states cannot be read is not read', async () => {
  const { watch } = createScriptedWatch(
    { userComments: ok({ rows: [commentOf({})], after: null, logged_in: null }) },
    [ANONYMOUS],
    null,
    async () => fail({ kind: 'timeout' }),
  )
  const page = await watch.page({ kind: 'user_comments', place: 'ann' }, paging, signal)

  expect(page).toEqual(fail({ kind: 'timeout' }))
})

test('a search covers all subforums, newest first', async () => {
  const { calls, watch } = createScriptedWatch({
    search: ok({ rows: [], after: null, logged_in: null }),
  })
  await watch.page({ kind: 'search', place: '"a cat"' }, paging, signal)

  expect(calls[0]?.query).toMatchObject({
    q: '"a cat"',
    subforum: null,
    sort: 'new',
    t: 'all',
    nsfw: true,
  })
})

test('comments are returned as items too, and a fault stays a fault', async () => {
  const { watch } = createScriptedWatch({
    comments: ok({ rows: [commentOf({})], after: null, logged_in: null }),
  })
  const page = await watch.page({ kind: 'comments', place: 'cats' }, paging, signal)
  expect(page).toMatchObject({ ok: true, value: { rows: [{ kind: 'comment' }] } })

  const { watch: down } = createScriptedWatch({ comments: fail({ kind: 'timeout' }) })
  expect(await down.page({ kind: 'comments', place: 'cats' }, paging, signal)).toEqual(
    fail({ kind: 'timeout' }),
  )
})

test.each([
  ['is there', ok({ type: 'public' }), { kind: 'exists' }],
  ['is private', ok({ type: 'private' }), { kind: 'refused', why: 'private' }],
  ['is missing', fail({ kind: 'not_found', reason: 'absent' }), { kind: 'refused', why: 'absent' }],
  ['is banned', fail({ kind: 'not_found', reason: 'banned' }), { kind: 'refused', why: 'banned' }],
  [
    'is private',
    fail({ kind: 'forbidden', reason: 'private' }),
    { kind: 'refused', why: 'private' },
  ],
  ['cannot be checked', fail({ kind: 'throttled', retry_after_s: 1 }), { kind: 'unverified' }],
])('a subforum that %s has its verdict', async (_, answer, verdict) => {
  const { watch } = createScriptedWatch({ community: answer })

  expect(await watch.place('cats')).toEqual(verdict as never)
})

test('names that combine many subforums are not checked', async () => {
  const { calls, watch } = createScriptedWatch({})

  expect(await watch.place('All')).toEqual({ kind: 'reserved' })
  expect(calls).toEqual([])
})

test('the age of an item is looked up by its kind; a missing one is null', async () => {
  const { calls, watch } = createScriptedWatch({
    postsById: ok([postOf({ created_utc: 7 })]),
    nodesById: ok([]),
  })

  expect(await watch.createdAt('t3_p1')).toEqual(ok(7_000))
  expect(await watch.createdAt('t1_c1')).toEqual(ok(null))
  expect(calls.map(({ name, query }) => [name, query])).toEqual([
    ['postsById', ['p1']],
    ['nodesById', ['c1']],
  ])
})

const pair = (id: string): Identity => ({ ...ANONYMOUS, id, whose: 'pool', cookie: `c=${id}` })
const page = (logged_in: boolean | null) => ok({ rows: [], after: null, logged_in })

test.each<[string, Fault]>([
  ['blocked', { kind: 'blocked' }],
  ['sent to sign in', { kind: 'login_required' }],
  ['throttled', { kind: 'throttled', retry_after_s: 9 }],
])('an identity with the fault %s is replaced by another once, and reported', async (_, fault) => {
  const answers = { posts: [fail(fault), page(true), page(true)] }
  const { calls, reports, watch } = createScriptedWatch(answers, [pair('a'), pair('b')])

  const seen = await watch.page({ kind: 'posts', place: 'cats' }, paging, signal)
  expect(seen).toEqual(ok({ rows: [], after: null }))
  expect(calls.map(({ call }) => call.identity.id)).toEqual(['a', 'b'])
  expect(reports).toEqual([
    ['a', fault],
    ['b', null],
  ])
})

test('an account that the platform treats as anonymous is reported, and another one is used', async () => {
  const { calls, reports, watch } = createScriptedWatch({ posts: [page(false), page(true)] }, [
    pair('a'),
    pair('b'),
  ])

  await watch.page({ kind: 'posts', place: 'cats' }, paging, signal)
  expect(calls.length).toBe(2)
  expect(reports[0]).toEqual(['a', { kind: 'login_required' }])
})

test('a refusal is not retried with another account', async () => {
  const refusal: Fault = { kind: 'forbidden', reason: 'private' }
  const { calls, watch } = createScriptedWatch({ posts: fail(refusal) }, [pair('a'), pair('b')])

  expect(await watch.page({ kind: 'posts', place: 'cats' }, paging, signal)).toEqual(fail(refusal))
  expect(calls.length).toBe(1)
})

test('without an identity no request is sent', async () => {
  const { calls, watch } = createScriptedWatch({ posts: page(true) }, [])

  expect(await watch.page({ kind: 'posts', place: 'cats' }, paging, signal)).toMatchObject({
    ok: false,
    fault: { kind: 'unavailable' },
  })
  expect(calls).toEqual([])
})

const OWN = { ...ANONYMOUS, id: 'one' }
const OTHER = { ...ANONYMOUS, id: 'two' }
const blocked = () => fail({ kind: 'blocked' })
const resting = () =>
  fail({ kind: 'throttled', retry_after_s: 300, not_requested: true, resting: true })
const over_budget = () => fail({ kind: 'throttled', retry_after_s: 300, not_requested: true })

test('the wait of one account does not delay a feed while another is usable', async () => {
  const { watch } = createScriptedWatch({ posts: [blocked(), resting()] }, [OWN, OTHER], 0)

  expect(await watch.page({ kind: 'posts', place: 'cats' }, paging, signal)).toEqual(
    fail({ kind: 'throttled', retry_after_s: 0, not_requested: true, resting: true }),
  )
})

test('a wait is that of the first usable account, and does not apply after a block', async () => {
  const { watch } = createScriptedWatch({ posts: [blocked(), over_budget()] }, [OWN, OTHER], 12_400)

  expect(await watch.page({ kind: 'posts', place: 'cats' }, paging, signal)).toEqual(
    fail({ kind: 'throttled', retry_after_s: 13, not_requested: true, resting: true }),
  )
})

test('an exhausted budget of all accounts is reported as one', async () => {
  const { watch } = createScriptedWatch(
    { posts: [over_budget(), over_budget()] },
    [OWN, OTHER],
    40_000,
  )

  expect(await watch.page({ kind: 'posts', place: 'cats' }, paging, signal)).toEqual(
    fail({ kind: 'throttled', retry_after_s: 40, not_requested: true }),
  )
})
