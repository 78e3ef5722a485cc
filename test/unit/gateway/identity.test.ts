import { describe, expect, test } from 'bun:test'

import { fail, type Fault, ok, type Outcome } from '../../../src/core/base/result.ts'
import type { Session } from '../../../src/core/forum/session.ts'
import type { CacheResult } from '../../../src/gateway/cache.ts'
import {
  ANONYMOUS,
  type Call,
  type Identity,
  type SourceReads,
} from '../../../src/platforms/port.ts'
import { fakeClock } from '../../support/clock.ts'
import { aPost, page, readsOver } from '../../support/reads.ts'

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

const account = (id: string, proxy: Identity['proxy'] = null): Identity => ({
  id,
  whose: 'pool',
  cookie: `session=${id}`,
  bearer: null,
  proxy,
})

/** A pool that leases these identities in turn and records the reports. */
function poolOf(...all: Identity[]) {
  const reports: [string, Fault['kind'] | null][] = []
  return {
    reports,
    identities: {
      lease: (_use: 'read', avoid: readonly string[] = []) =>
        all.find(({ id }) => !avoid.includes(id)) ?? null,
      report: (identity: Identity, fault: Fault | null) =>
        void reports.push([identity.id, fault?.kind ?? null]),
    },
  }
}

/** Reads whose posts depend on the identity of the request. */
function createPooledReads(
  pool: ReturnType<typeof poolOf>,
  answers: Record<string, Awaited<ReturnType<SourceReads['posts']>>>,
) {
  const seen: string[] = []
  const reads = readsOver(
    {
      posts: async (_query, { identity }) => {
        seen.push(identity.id)
        return answers[identity.id] ?? fail({ kind: 'unreadable', path: identity.id })
      },
    },
    clock(),
    { identities: pool.identities, read_cache_ms: 0 },
  )
  return { seen, reads }
}

const faultOf = <T>(outcome: Outcome<CacheResult<T>>) => (outcome.ok ? null : outcome.fault.kind)
const good = page([aPost('a')])

describe('a public read', () => {
  test('uses an account of the pool and reports the result to it', async () => {
    const pool = poolOf(account('acc_1'))
    const { seen, reads } = createPooledReads(pool, { acc_1: good })

    expect(await reads.posts(CATS, null)).toMatchObject({ ok: true })
    expect(seen).toEqual(['acc_1'])
    expect(pool.reports).toEqual([['acc_1', null]])
  })

  test.each<Fault>([
    { kind: 'login_required' },
    { kind: 'blocked' },
    { kind: 'throttled', retry_after_s: 60 },
    { kind: 'unavailable', status: null, retry_after_s: null, trouble: 'unreachable' },
  ])('uses another account after %p', async (fault) => {
    const pool = poolOf(account('acc_1'), account('acc_2'))
    const { seen, reads } = createPooledReads(pool, { acc_1: fail(fault), acc_2: good })

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
  ])('is answered at once after %p, which another account would not fix', async (fault) => {
    const pool = poolOf(account('acc_1'), account('acc_2'))
    const { seen, reads } = createPooledReads(pool, { acc_1: fail(fault), acc_2: good })

    expect(await reads.posts(CATS, null)).toEqual(fail(fault))
    expect(seen).toEqual(['acc_1'])
  })

  test('tries two accounts, not all of them', async () => {
    const pool = poolOf(account('acc_1'), account('acc_2'), account('acc_3'))
    const blocked = fail({ kind: 'blocked' })
    const { seen, reads } = createPooledReads(pool, { acc_1: blocked, acc_2: blocked, acc_3: good })

    expect(faultOf(await reads.posts(CATS, null))).toBe('blocked')
    expect(seen).toEqual(['acc_1', 'acc_2'])
  })

  test("never reports login_required to the caller when the pool's accounts are not accepted", async () => {
    const dead = fail({ kind: 'login_required' })
    const one = createPooledReads(poolOf(account('acc_1')), { acc_1: dead })
    const two = createPooledReads(poolOf(account('acc_1'), account('acc_2')), {
      acc_1: dead,
      acc_2: dead,
    })

    expect(faultOf(await one.reads.posts(CATS, null))).toBe('unavailable')
    expect(faultOf(await two.reads.posts(CATS, null))).toBe('unavailable')
  })

  test('that is refused anonymously stays refused', async () => {
    const { reads } = createPooledReads(poolOf(ANONYMOUS), {
      anonymous: fail({ kind: 'login_required' }),
    })

    expect(faultOf(await reads.posts(CATS, null))).toBe('login_required')
  })

  test('that the platform answered as anonymous is returned, and the dead account is reported to the pool', async () => {
    const pool = poolOf(account('acc_1'))
    const { reads } = createPooledReads(pool, {
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

/** Reads with a caller's session, and the calls that reached the platform. */
function createCallerReads(answers: Partial<SourceReads>, pool = poolOf(account('acc_1'))) {
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
  return { calls, reads: readsOver(noted, clock(), { identities: pool.identities }) }
}

const me =
  (name: string, over = {}) =>
  async () =>
    ok({ id: 'x', name, is_suspended: false, is_locked: false, ...over })

describe('a read with the caller’s own account', () => {
  test('carries the caller’s cookies alone, under an id that does not reveal them', async () => {
    const { calls, reads } = createCallerReads({ posts: async () => good })

    await reads.posts(CATS, session)

    expect(calls[0]?.identity).toMatchObject({
      whose: 'caller',
      cookie: 'session=secret-of-ann; loid=l',
      bearer: null,
    })
    expect(calls[0]?.identity.id).toMatch(/^caller:[0-9a-f]{64}$/)
  })

  test('without a proxy uses the egress of a pool account, and nothing else of it', async () => {
    const { calls, reads } = createCallerReads(
      { posts: async () => good },
      poolOf(account('acc_1', PROXY)),
    )

    await reads.posts(CATS, session)

    expect(calls[0]?.identity).toMatchObject({
      proxy: PROXY,
      pool_proxy: true,
      cookie: 'session=secret-of-ann; loid=l',
    })
  })

  test('uses a proxy of the pool even if none of its accounts may read', async () => {
    const empty = poolOf()
    const pool = { ...empty, identities: { ...empty.identities, egress: () => PROXY } }
    const { calls, reads } = createCallerReads({ posts: async () => good }, pool)

    await reads.posts(CATS, session)

    expect(calls[0]?.identity).toMatchObject({ whose: 'caller', proxy: PROXY, pool_proxy: true })
  })
})

describe('private content', () => {
  const SAVED = { name: 'Ann', tab: 'saved', sort: 'new', t: null, ...FIRST } as const
  test.each<[string, Partial<SourceReads>, Fault]>([
    [
      'a session that dies between two requests',
      {
        me: me('ann'),
        userItems: async () => ok({ rows: [], after: null, logged_in: false }),
      },
      { kind: 'login_required' },
    ],
    [
      'an account that cannot be verified',
      { me: async () => fail({ kind: 'blocked' }) },
      { kind: 'blocked' },
    ],
  ])('is refused for %s', async (_what, answers, fault) => {
    const { reads } = createCallerReads(answers)

    expect(await reads.ownItems(SAVED, session)).toEqual(fail(fault))
  })
})
