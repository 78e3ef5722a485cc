import { describe, expect, test } from 'bun:test'

import { fail, type Fault, ok, type Outcome } from '../../../src/core/outcome.ts'
import type { Session } from '../../../src/core/session.ts'
import type { Read } from '../../../src/gateway/cache.ts'
import { ANONYMOUS, type Call, type Eyes, type Platform } from '../../../src/platform/platform.ts'
import { fakeClock } from '../../support/clock.ts'
import { aComment, aPost, page, readsOver, tree } from '../../support/reads.ts'

const clock = () => fakeClock(() => Promise.resolve())
const FIRST = { limit: 25, after: null }
const CATS = { subforum: 'cats', sort: 'new', t: null, ...FIRST }
const PROXY = {
  scheme: 'http',
  host: '10.0.0.9',
  port: 3128,
  username: null,
  password: null,
} as const

const account = (id: string, proxy: Eyes['proxy'] = null): Eyes => ({
  id,
  whose: 'pool',
  cookie: `session=${id}`,
  bearer: null,
  proxy,
})

/** A pool of these, in turn, that remembers what it was told. */
function poolOf(...all: Eyes[]) {
  const reports: [string, Fault['kind'] | null][] = []
  return {
    reports,
    eyes_of: {
      lease: (_use: 'read', avoid: readonly string[] = []) =>
        all.find(({ id }) => !avoid.includes(id)) ?? null,
      report: (eyes: Eyes, fault: Fault | null) =>
        void reports.push([eyes.id, fault?.kind ?? null]),
    },
  }
}

/** Reads whose posts are answered by whose eyes look. */
function looking(
  pool: ReturnType<typeof poolOf>,
  answers: Record<string, Awaited<ReturnType<Platform['posts']>>>,
) {
  const seen: string[] = []
  const reads = readsOver(
    {
      posts: async (_query, { eyes }) => {
        seen.push(eyes.id)
        return answers[eyes.id] ?? fail({ kind: 'unreadable', path: eyes.id })
      },
    },
    clock(),
    { eyes_of: pool.eyes_of, read_cache_ms: 0 },
  )
  return { seen, reads }
}

const faultOf = <T>(outcome: Outcome<Read<T>>) => (outcome.ok ? null : outcome.fault.kind)
const good = page([aPost('a')])

describe('a public read', () => {
  test('looks through an account of the pool, which is told how it went', async () => {
    const pool = poolOf(account('acc_1'))
    const { seen, reads } = looking(pool, { acc_1: good })

    expect(await reads.posts(CATS, null)).toMatchObject({ ok: true })
    expect(seen).toEqual(['acc_1'])
    expect(pool.reports).toEqual([['acc_1', null]])
  })

  test.each<Fault>([
    { kind: 'login_required' },
    { kind: 'blocked' },
    { kind: 'throttled', retry_after_s: 60 },
    { kind: 'unavailable', status: null, retry_after_s: null, trouble: 'unreachable' },
  ])('goes through another account when the first is met with %p', async (fault) => {
    const pool = poolOf(account('acc_1'), account('acc_2'))
    const { seen, reads } = looking(pool, { acc_1: fail(fault), acc_2: good })

    expect(await reads.posts(CATS, null)).toMatchObject({ ok: true })
    expect(seen).toEqual(['acc_1', 'acc_2'])
    expect(pool.reports).toEqual([
      ['acc_1', fault.kind],
      ['acc_2', null],
    ])
  })

  test.each<Fault>([
    { kind: 'forbidden', reason: 'private' },
    { kind: 'not_found', reason: null },
    { kind: 'timeout' },
    { kind: 'unavailable', status: 503, retry_after_s: null },
    { kind: 'unreadable', path: 'kind' },
    { kind: 'rejected', status: 400 },
  ])(
    'is answered at once when it is met with %p, which no other account would mend',
    async (fault) => {
      const pool = poolOf(account('acc_1'), account('acc_2'))
      const { seen, reads } = looking(pool, { acc_1: fail(fault), acc_2: good })

      expect(await reads.posts(CATS, null)).toEqual(fail(fault))
      expect(seen).toEqual(['acc_1'])
    },
  )

  test('tries two accounts, not all of them', async () => {
    const pool = poolOf(account('acc_1'), account('acc_2'), account('acc_3'))
    const blocked = fail({ kind: 'blocked' })
    const { seen, reads } = looking(pool, { acc_1: blocked, acc_2: blocked, acc_3: good })

    expect(faultOf(await reads.posts(CATS, null))).toBe('blocked')
    expect(seen).toEqual(['acc_1', 'acc_2'])
  })

  test('never tells the caller to log in because our accounts are not let in', async () => {
    const dead = fail({ kind: 'login_required' })
    const one = looking(poolOf(account('acc_1')), { acc_1: dead })
    const two = looking(poolOf(account('acc_1'), account('acc_2')), { acc_1: dead, acc_2: dead })

    expect(faultOf(await one.reads.posts(CATS, null))).toBe('unavailable')
    expect(faultOf(await two.reads.posts(CATS, null))).toBe('unavailable')
  })

  test('that nobody’s eyes are refused stays refused', async () => {
    const { reads } = looking(poolOf(ANONYMOUS), { anonymous: fail({ kind: 'login_required' }) })

    expect(faultOf(await reads.posts(CATS, null))).toBe('login_required')
  })

  test('is unavailable when the pool has nobody to look through', async () => {
    const { seen, reads } = looking(poolOf(), {})

    expect(faultOf(await reads.posts(CATS, null))).toBe('unavailable')
    expect(faultOf(await reads.verify(['a']))).toBe('unavailable')
    expect(seen).toEqual([])
  })

  test('that the platform gave to nobody is answered, and the pool hears of the dead account', async () => {
    const pool = poolOf(account('acc_1'))
    const { reads } = looking(pool, {
      acc_1: ok({ rows: [aPost('a')], after: null, logged_in: false }),
    })

    expect(await reads.posts(CATS, null)).toMatchObject({
      value: { body: { posts: [{ id: 'a' }] } },
    })
    expect(pool.reports).toEqual([['acc_1', 'login_required']])
  })
})

const session: Session = {
  cookies: [
    { name: 'session', value: 'secret-of-ann' },
    { name: 'loid', value: 'l' },
  ],
  proxy: null,
}

/** Reads through a caller's session, with the calls that the platform was asked by. */
function visiting(answers: Partial<Platform>, pool = poolOf(account('acc_1'))) {
  const calls: Call[] = []
  const noted = Object.fromEntries(
    Object.entries(answers).map(([name, answer]) => [
      name,
      (...args: unknown[]) => {
        calls.push(args.at(-1) as Call)
        return (answer as (...args: unknown[]) => unknown)(...args)
      },
    ]),
  )
  return { calls, reads: readsOver(noted, clock(), { eyes_of: pool.eyes_of }) }
}

const me =
  (name: string, over = {}) =>
  async () =>
    ok({ id: 'x', name, is_suspended: false, is_locked: false, ...over })
const nobody = async () => ok(null)
const strangers = ok({ rows: [aPost('a')], after: null, logged_in: false })
const emptied = ok({ rows: [], after: null, logged_in: false })

describe('a read through the caller’s own account', () => {
  test('carries the caller’s cookies alone, under a name that does not tell them', async () => {
    const { calls, reads } = visiting({ posts: async () => good })

    await reads.posts(CATS, session)

    expect(calls[0]?.eyes).toMatchObject({
      whose: 'caller',
      cookie: 'session=secret-of-ann; loid=l',
      bearer: null,
    })
    expect(calls[0]?.eyes.id).toMatch(/^caller:[0-9a-f]{64}$/)
  })

  test('is never shared or kept', async () => {
    const { calls, reads } = visiting({ posts: async () => good })

    const answers = await Promise.all([reads.posts(CATS, session), reads.posts(CATS, session)])
    const [mine] = await Promise.all([reads.posts(CATS, null), reads.posts(CATS, null)])
    const again = await reads.posts(CATS, session)

    expect([...answers, again].map((it) => it.ok && it.value.cache)).toEqual([
      'miss',
      'miss',
      'miss',
    ])
    expect(mine).toMatchObject({ value: { cache: 'miss' } })
    expect(calls.map(({ eyes }) => eyes.whose)).toEqual(['caller', 'caller', 'pool', 'caller'])
  })

  test('keeps the proxy that was asked for through all its requests', async () => {
    const { calls, reads } = visiting({
      tree: async () => tree([]),
      nodesById: async () => ok([]),
    })
    const own = { ...session, proxy: { ...PROXY, host: 'p.example.com' } }

    await reads.tree(
      { post_id: 'p', comment_id: null, sort: 'top', depth: null, limit: null, full: true },
      own,
    )

    expect(calls.map(({ eyes }) => eyes.proxy?.host)).toEqual(['p.example.com'])
    expect(calls[0]?.eyes).not.toHaveProperty('lent')
  })

  test('borrows a way out of the pool where it names none, and nothing else', async () => {
    const { calls, reads } = visiting({ posts: async () => good }, poolOf(account('acc_1', PROXY)))

    await reads.posts(CATS, session)

    expect(calls[0]?.eyes).toMatchObject({
      proxy: PROXY,
      lent: true,
      cookie: 'session=secret-of-ann; loid=l',
    })
  })

  test('leaves by a way of the pool also while none of its accounts may read', async () => {
    const empty = poolOf()
    const pool = { ...empty, eyes_of: { ...empty.eyes_of, way: () => PROXY } }
    const { calls, reads } = visiting({ posts: async () => good }, pool)

    await reads.posts(CATS, session)

    expect(calls[0]?.eyes).toMatchObject({ whose: 'caller', proxy: PROXY, lent: true })
  })

  test('of public content is answered although the session is dead', async () => {
    const { reads } = visiting({ posts: async () => strangers })

    expect(await reads.posts(CATS, session)).toMatchObject({
      value: { body: { posts: [{ id: 'a' }] } },
    })
  })

  test('is never an empty list because the session is dead', async () => {
    const dead = visiting({ search: async () => emptied, me: nobody })
    const silent = visiting({ search: async () => page([]), me: nobody })
    const alive = visiting({ search: async () => emptied, me: me('ann') })
    const query = {
      q: 'x',
      subforum: null,
      sort: 'new',
      t: 'all',
      nsfw: false,
      filter: {},
      ...FIRST,
    }

    expect(faultOf(await dead.reads.search(query, session))).toBe('login_required')
    expect(faultOf(await silent.reads.search(query, session))).toBe('login_required')
    expect(await alive.reads.search(query, session)).toMatchObject({
      value: { body: { posts: [] } },
    })
  })
})

describe('what only an account has', () => {
  const SAVED = { name: 'Ann', tab: 'saved', sort: 'new', t: null, ...FIRST } as const
  const kept = page([
    { ...aComment('c'), kind: 'comment' as const },
    { ...aPost('a'), kind: 'post' as const },
  ])

  test('comes as the platform orders it, each row with its kind', async () => {
    const { calls, reads } = visiting({ me: me('aNN'), userItems: async () => kept })

    expect(await reads.ownItems(SAVED, session)).toMatchObject({
      value: {
        cache: 'miss',
        body: { items: [{ kind: 'comment' }, { kind: 'post' }], listing_status: 'complete' },
      },
    })
    expect(new Set(calls.map(({ eyes }) => eyes.id)).size).toBe(1)
  })

  test.each<[string, Partial<Platform>, Fault]>([
    ['a dead session', { me: nobody }, { kind: 'login_required' }],
    ['another account', { me: me('bob') }, { kind: 'forbidden', reason: 'other_account' }],
    [
      'a suspended account',
      { me: me('ann', { is_suspended: true }) },
      { kind: 'forbidden', reason: 'user_suspended' },
    ],
    [
      'a session that dies between two requests',
      {
        me: me('ann'),
        userItems: async () => ok({ rows: [], after: null, logged_in: false }),
      },
      { kind: 'login_required' },
    ],
    ['nobody able to tell', { me: async () => fail({ kind: 'blocked' }) }, { kind: 'blocked' }],
  ])('is refused for %s', async (_what, answers, fault) => {
    const { reads } = visiting(answers)

    expect(await reads.ownItems(SAVED, session)).toEqual(fail(fault))
  })

  test('is complete when it is empty, but for what the platform has retired', async () => {
    const { reads } = visiting({ me: me('ann'), userItems: async () => page([]) })
    const status = async (tab: 'upvoted' | 'hidden' | 'gilded') => {
      const outcome = await reads.ownItems({ ...SAVED, tab }, session)
      return outcome.ok && outcome.value.body.listing_status
    }

    expect(await status('upvoted')).toBe('complete')
    expect(await status('hidden')).toBe('complete')
    expect(await status('gilded')).toBe('unknown')
  })

  test('is no stranger’s front page', async () => {
    const { reads } = visiting({ feed: async () => strangers })

    expect(faultOf(await reads.feed({ sort: 'best', t: null, ...FIRST }, session))).toBe(
      'login_required',
    )
  })

  test('is a list of moderators only for somebody, though strangers may be shown one', async () => {
    const { reads } = visiting({ me: nobody, moderators: async () => ok([]) })

    expect(faultOf(await reads.moderators({ name: 'cats' }, session))).toBe('login_required')
  })
})
