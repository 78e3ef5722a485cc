import { describe, expect, test } from 'bun:test'

import { fail, type Fault, ok } from '../../../src/core/outcome.ts'
import { newStanding, paused } from '../../../src/core/pool.ts'
import { ANONYMOUS, type Eyes } from '../../../src/platform/platform.ts'
import type { Renewed } from '../../../src/pool/craft.ts'
import {
  changeAccount,
  listAccounts,
  openAccount,
  removeAccount,
} from '../../../src/store/accounts.ts'
import { jarOf, ring, startStage } from './stage.ts'

const MINUTE = 60_000
const BLOCKED: Fault = { kind: 'blocked' }
const answered = (eyes: string, fault: Fault | null = null, path_kind = 'posts') => ({
  eyes,
  path_kind,
  fault,
})
const leased = (eyes: Eyes | null) => eyes ?? expect.unreachable('nobody was leased')

describe('a lease', () => {
  test('is of the account with the most headroom, with its own cookies and its own way out', () => {
    using stage = startStage()
    stage.addProxy('way')
    stage.add('a')
    stage.add('b', { proxy_id: 'way' })
    stage.headroom.set('a', { requests: 3, until_ms: 0 })
    stage.headroom.set('b', { requests: 9, until_ms: 0 })
    stage.pool.reload()

    expect(stage.pool.lease('read')).toMatchObject({
      id: 'b',
      whose: 'pool',
      cookie: 'c=b',
      bearer: null,
      proxy: { host: 'way.test', username: 'u', password: 'p' },
    })
  })

  test('is written down with its hour before long', async () => {
    using stage = startStage()
    stage.add('a')
    stage.pool.reload()
    const used_at = stage.clock.now()
    stage.pool.lease('read')
    await stage.pass(2 * MINUTE)

    expect(listAccounts(stage.db)[0]?.last_used_at).toBe(used_at)
  })

  test('goes round among equals', () => {
    using stage = startStage()
    for (const name of ['a', 'b', 'c']) stage.add(name)
    stage.pool.reload()

    const ids = Array.from({ length: 6 }, () => stage.pool.lease('read')?.id)
    expect(new Set(ids.slice(0, 3)).size).toBe(3)
    expect(ids.slice(3)).toEqual(ids.slice(0, 3))
  })

  test('is never of one that is to be avoided, paused, logged out or suspended', () => {
    using stage = startStage()
    stage.add('a')
    stage.add('b')
    stage.add('c', { standing: paused(0) })
    stage.add('d', { jar: null })
    stage.add('e', { standing: { ...newStanding(0), state: 'suspended', probe_at: null } })
    stage.pool.reload()

    expect(stage.pool.lease('read', ['a'])?.id).toBe('b')
    expect(stage.pool.lease('read', ['a', 'b'])).toBeNull()
  })

  test("is of nobody's eyes while there is no account, if that is allowed", () => {
    using open = startStage()
    expect(open.pool.lease('read')).toBe(ANONYMOUS)
    expect(open.pool.lease('read', ['anonymous'])).toBeNull()
    expect(open.pool.usable()).toBe(true)

    using closed = startStage({ allow_anonymous: false })
    expect(closed.pool.lease('read')).toBeNull()
    expect(closed.pool.usable()).toBe(false)

    open.add('a', { jar: null })
    open.pool.reload()
    expect(open.pool.lease('read')).toBeNull()
  })

  test('is of the one that is free first when nobody has any headroom', () => {
    using stage = startStage()
    stage.add('a')
    stage.add('b')
    stage.headroom.set('a', { requests: 0, until_ms: 9000 })
    stage.headroom.set('b', { requests: 0, until_ms: 2000 })
    stage.pool.reload()

    expect(stage.pool.lease('poll')?.id).toBe('b')
  })

  test('is not of an account whose way out has just failed, as long as there is another', async () => {
    using stage = startStage()
    stage.addProxy('way')
    stage.add('a', { proxy_id: 'way' })
    stage.add('b')
    stage.headroom.set('a', { requests: 99, until_ms: 0 })
    stage.pool.reload()
    stage.pool.heard(
      answered('a', { kind: 'unavailable', status: null, retry_after_s: null, trouble: 'denied' }),
    )

    expect(stage.pool.lease('read')?.id).toBe('b')
    expect(stage.events()).toEqual(['account.way_closed'])
    await stage.clock.advance(30_000)
    expect(stage.pool.lease('read')?.id).toBe('a')
  })
})

test('a way out that fails while nothing can be written down harms nobody who asked through it', () => {
  using stage = startStage()
  stage.addProxy('way')
  stage.add('a', { proxy_id: 'way' })
  stage.add('b')
  stage.pool.reload()
  stage.db.run('PRAGMA query_only = 1')
  const fault: Fault = { kind: 'unavailable', status: null, retry_after_s: null, trouble: 'failed' }

  stage.pool.heard(answered('a', fault))
  expect(stage.pool.lease('read')?.id).toBe('b')
})

describe('a throttled account', () => {
  test('rests until it may be asked through again', async () => {
    using stage = startStage()
    stage.add('a')
    stage.add('b')
    stage.pool.reload()
    stage.pool.heard(answered('a', { kind: 'throttled', retry_after_s: 40 }))

    expect(stage.states()).toEqual({ a: 'cooling', b: 'ready' })
    expect([stage.pool.lease('read')?.id, stage.pool.lease('read')?.id]).toEqual(['b', 'b'])
    await stage.clock.advance(40_000)
    expect(stage.pool.lease('read')?.id).toBe('a')
  })

  test('is leased when all are, for the pacer to say until when; but not when the pacer forgot', () => {
    using stage = startStage()
    stage.add('a')
    stage.pool.reload()
    stage.pool.heard(answered('a', { kind: 'throttled', retry_after_s: 40 }))
    stage.headroom.set('a', { requests: 0, until_ms: 40_000 })
    expect(stage.pool.lease('read')?.id).toBe('a')

    stage.headroom.set('a', { requests: 30, until_ms: 0 })
    expect(stage.pool.lease('read')).toBeNull()
  })

  test('is still resting after a restart', async () => {
    using stage = startStage()
    stage.add('a')
    stage.pool.reload()
    stage.pool.heard(answered('a', { kind: 'throttled', retry_after_s: 400 }))
    await stage.turn()

    expect(stage.restarted().list()).toMatchObject([{ name: 'a', state: 'cooling' }])
  })
})

describe('an account that the platform takes for nobody', () => {
  test('is asked who it is, and needs a login when the answer is nobody', async () => {
    using stage = startStage()
    stage.add('a')
    stage.mes.push(ok(null))
    stage.pool.reload()
    stage.pool.report(leased(stage.pool.lease('read')), { kind: 'login_required' })
    expect(stage.pool.lease('read')).toBeNull()
    await stage.turn()

    expect(stage.asked).toEqual(['me a'])
    expect(stage.states()).toEqual({ a: 'needs_login' })
    expect(stage.events()).toContain('account.needs_login')
    expect(stage.pool.usable()).toBe(false)
    await stage.turn()
    expect(stage.events()).toContain('pool.empty')
  })

  test('is used on when it was somebody after all', async () => {
    using stage = startStage()
    stage.add('a')
    stage.pool.reload()
    stage.pool.report(leased(stage.pool.lease('read')), { kind: 'login_required' })
    await stage.turn()

    expect(stage.states()).toEqual({ a: 'ready' })
  })

  test('is signed in again by itself, and its new cookies are kept sealed', async () => {
    using stage = startStage()
    stage.add('a', {
      secrets: { kind: 'session', password: 'hunter2', totp_secret: null },
      username: 'ann',
    })
    stage.mes.push(ok(null))
    stage.sign_ins.push({ ok: true, jar: jarOf('c=fresh'), username: 'ann' })
    stage.pool.reload()
    stage.pool.report(leased(stage.pool.lease('read')), { kind: 'login_required' })
    await stage.pass(20_000)

    expect(stage.asked).toEqual(['me a', 'sign in ann'])
    expect(stage.pool.lease('read')?.cookie).toBe('c=fresh')
    expect(stage.events()).not.toContain('account.needs_login')
    expect(openAccount(stage.beside, ring, 'a')?.jar).toBe('c=fresh')
  })

  test('is not signed in more than three times in an hour', async () => {
    using stage = startStage()
    const secrets = { kind: 'session', password: 'x', totp_secret: null } as const
    stage.add('a', { secrets, jar: null })
    await stage.pass(60 * MINUTE - 1)

    expect(stage.asked.length).toBeLessThanOrEqual(3)
    expect(stage.asked.length).toBeGreaterThanOrEqual(2)
  })

  test('is not hammered where the platform asks to wait for a day', async () => {
    using stage = startStage()
    const secrets = { kind: 'session', password: 'x', totp_secret: null } as const
    stage.add('a', { secrets, jar: null })
    for (let n = 0; n < 100; n++)
      stage.sign_ins.push({ ok: false, reason: null, final: false, retry_after_s: 86_400 })
    await stage.pass(60 * MINUTE)

    expect(stage.asked.length).toBeLessThanOrEqual(3)
  })

  test('is not tried again with a wrong password, and a person is asked at once', async () => {
    using stage = startStage()
    const secrets = { kind: 'session', password: 'x', totp_secret: null } as const
    stage.add('a', { secrets, jar: null })
    stage.sign_ins.push({ ok: false, reason: 'wrong_credentials', final: true })
    await stage.pass(24 * 60 * MINUTE)

    expect(stage.asked).toEqual(['sign in a'])
    expect(stage.logged).toContainEqual([
      'account.needs_login',
      { account: 'a', reason: 'wrong_credentials' },
    ])
  })
})

describe('block pages', () => {
  test('are put up with until three came in a row; then the account is asked who it is, and comes back', async () => {
    using stage = startStage()
    stage.add('a')
    stage.mes.push(fail(BLOCKED), fail(BLOCKED))
    stage.pool.reload()
    for (let n = 0; n < 3; n++) stage.pool.heard(answered('a', BLOCKED))
    expect(stage.states()).toEqual({ a: 'cooling' })

    await stage.pass(29_000)
    expect(stage.asked).toEqual([])
    await stage.pass(2_000)
    expect(stage.states()).toEqual({ a: 'needs_login' })
    await stage.pass(119_000)
    expect(stage.asked.length).toBe(2)
    await stage.pass(480_000)
    expect(stage.states()).toEqual({ a: 'ready' })
  })

  test('that answer the question who we are do not count twice', () => {
    using stage = startStage()
    stage.add('a')
    stage.pool.reload()
    for (let n = 0; n < 2; n++) {
      stage.pool.heard(answered('a', BLOCKED))
      stage.pool.heard(answered('a', BLOCKED, 'me'))
    }

    expect(stage.states()).toEqual({ a: 'ready' })
  })
})

describe('what the command line does beside a running daemon', () => {
  test('is noticed at the next lease, a second later', async () => {
    using stage = startStage()
    stage.add('a')
    stage.pool.reload()
    stage.add('b')
    changeAccount(stage.beside, ring, 'a', { standing: paused(stage.clock.now()) })
    await stage.clock.advance(1000)
    expect(stage.pool.lease('read')?.id).toBe('b')

    removeAccount(stage.beside, 'b')
    await stage.clock.advance(1000)
    expect(stage.pool.lease('read')).toBeNull()
  })

  test('is not undone by what the daemon learned before', async () => {
    using stage = startStage()
    stage.add('a')
    stage.pool.reload()
    const eyes = leased(stage.pool.lease('read'))
    changeAccount(stage.beside, ring, 'a', {
      standing: newStanding(stage.clock.now()),
      jar: { text: 'c=imported', expires_at: null },
    })
    eyes.on_cookies?.(['c=older'])
    stage.pool.heard(answered('a', { kind: 'throttled', retry_after_s: 60 }))
    await stage.pass(10_000)

    expect(openAccount(stage.beside, ring, 'a')?.jar).toBe('c=imported')
    expect(stage.pool.lease('read')?.cookie).toBe('c=imported')
    expect(stage.states()).toEqual({ a: 'ready' })
  })
})

test('cookies that an answer set just before the account was paused are not lost by that', async () => {
  using stage = startStage()
  stage.add('a')
  stage.pool.reload()
  const eyes = leased(stage.pool.lease('read'))
  eyes.on_cookies?.(['c=second'])
  for (const standing of [paused(stage.clock.now()), newStanding(stage.clock.now())]) {
    changeAccount(stage.beside, ring, 'a', { standing })
    await stage.clock.advance(1000)
    await stage.turn()
  }
  expect(stage.pool.lease('read')?.cookie).toBe('c=second')

  // Of a request that left before all this.
  eyes.on_cookies?.(['c=third'])
  await stage.pass(10_000)
  expect(stage.pool.lease('read')?.cookie).toBe('c=third')
  expect(openAccount(stage.beside, ring, 'a')?.jar).toBe('c=third')
})

test('cookies that answers set are written back together, sealed, some seconds later', async () => {
  using stage = startStage()
  stage.add('a')
  stage.pool.reload()
  const eyes = leased(stage.pool.lease('read'))
  eyes.on_cookies?.(['c=second'])
  eyes.on_cookies?.(['c=third'])
  await stage.turn()
  expect(openAccount(stage.beside, ring, 'a')?.jar).toBe('c=a')

  await stage.pass(5_000)
  expect(openAccount(stage.beside, ring, 'a')?.jar).toBe('c=third')
  const row = stage.beside
    .query<{ jar: Uint8Array; secrets: Uint8Array }, []>('SELECT * FROM accounts')
    .get()
  expect(Buffer.from(row?.jar ?? []).includes('third')).toBe(false)
  expect(stage.pool.lease('read')?.cookie).toBe('c=third')
})

test('suspension is noticed within the hour, and that it is over too', async () => {
  using stage = startStage()
  stage.add('a', { standing: newStanding(Date.parse('2026-01-01T00:00:00Z')) })
  const me = { id: 't2_a', name: 'ann' }
  stage.mes.push(
    ok({ ...me, is_suspended: false }),
    ok({ ...me, is_suspended: true }),
    ok({ ...me, is_suspended: false }),
  )
  await stage.pass(59 * MINUTE)
  expect(stage.states()).toEqual({ a: 'ready' })
  await stage.pass(2 * MINUTE)
  expect(stage.states()).toEqual({ a: 'suspended' })
  await stage.pass(60 * MINUTE)
  expect(stage.states()).toEqual({ a: 'ready' })
})

const token = (value: string, at: number) =>
  ({
    ok: true,
    token: { value, renew_at: at - 2 * MINUTE, expires_at: at },
    refresh_token: 'r2',
  }) as const

describe('an account of kind oauth', () => {
  const secrets = {
    kind: 'oauth',
    client_id: 'app',
    client_secret: 's',
    refresh_token: 'r1',
  } as const
  /** Signed in by its first token, with a second one to come. */
  async function withTokens() {
    const stage = startStage()
    stage.add('o', { secrets, jar: null, standing: newStanding(stage.clock.now()) })
    const far = stage.clock.now() + 600 * MINUTE
    stage.renewals.push(token('t1', far), token('t2', far))
    await stage.pool.turn()
    await stage.pass(5 * MINUTE)
    return stage
  }
  test('gets its token by itself, and a new one two minutes before it ends', async () => {
    using stage = startStage()
    stage.add('o', { secrets, jar: null, standing: newStanding(stage.clock.now()) })
    const start = stage.clock.now()
    stage.renewals.push(token('t1', start + 60 * MINUTE), token('t2', start + 120 * MINUTE))
    expect(stage.pool.lease('read')).toBe(ANONYMOUS)
    await stage.turn()

    expect(stage.pool.lease('read')).toMatchObject({ id: 'o', bearer: 't1', cookie: null })
    await stage.pass(57 * MINUTE)
    expect(stage.pool.lease('read')?.bearer).toBe('t1')
    await stage.pass(MINUTE + 1)
    expect(stage.pool.lease('read')?.bearer).toBe('t2')
    await stage.pool.idle()
    expect(openAccount(stage.beside, ring, 'o')?.secrets).toMatchObject({ refresh_token: 'r2' })
    expect(stage.restarted().lease('read')?.bearer).toBe('t2')
  })

  test('whose tokens end as they are given is not asked for others without a pause', async () => {
    using stage = startStage()
    stage.add('o', { secrets, jar: null, standing: newStanding(stage.clock.now()) })
    const now = stage.clock.now()
    const over = { value: 't', renew_at: now, expires_at: now }
    for (let count = 0; count < 500; count++)
      stage.renewals.push({ ok: true, token: over, refresh_token: 'r1' })

    await stage.pass(MINUTE)

    expect(stage.asked.filter((it) => it === 'renew app').length).toBeLessThan(20)
  })

  test('whose token is refused gets one more, and needs a person when that one is refused too', async () => {
    using stage = await withTokens()
    stage.pool.heard(answered('o', { kind: 'login_required' }))
    expect(stage.pool.lease('read')).toBeNull()
    await stage.turn()
    expect(stage.pool.lease('read')?.bearer).toBe('t2')

    stage.pool.heard(answered('o', { kind: 'login_required' }))
    expect(stage.states()).toEqual({ o: 'needs_login' })
    expect(stage.events()).toContain('account.needs_login')
  })

  test('keeps the grant that it was given in exchange at once: the one before may be worth nothing', async () => {
    using stage = startStage()
    stage.add('o', { secrets, jar: null, standing: newStanding(stage.clock.now()) })
    stage.renewals.push(token('t1', stage.clock.now() + 60 * MINUTE))
    await stage.turn()

    expect(stage.pool.lease('read')?.bearer).toBe('t1')
    expect(openAccount(stage.beside, ring, 'o')?.secrets).toMatchObject({ refresh_token: 'r2' })
  })

  test('keeps the grant that it was given until it can be written down', async () => {
    using stage = startStage()
    stage.add('o', { secrets, jar: null, standing: newStanding(stage.clock.now()) })
    stage.renewals.push(token('t1', stage.clock.now() + 60 * MINUTE))
    stage.db.run('PRAGMA query_only = 1')
    await stage.turn()
    stage.db.run('PRAGMA query_only = 0')
    await stage.pass(MINUTE)

    expect(openAccount(stage.beside, ring, 'o')?.secrets).toMatchObject({ refresh_token: 'r2' })
  })

  test('loses no grant to what the operator does while one is asked for', async () => {
    using stage = startStage()
    stage.add('o', { secrets, jar: null, standing: newStanding(stage.clock.now()) })
    const answer = Promise.withResolvers<Renewed>()
    stage.renewals.push(answer.promise)
    await stage.turn()
    for (const standing of [paused(stage.clock.now()), newStanding(stage.clock.now())]) {
      changeAccount(stage.beside, ring, 'o', { standing })
      await stage.clock.advance(1000)
      await stage.turn()
    }
    // With the old grant nobody asks a second time meanwhile.
    expect(stage.asked).toEqual(['renew app'])

    answer.resolve(token('t1', stage.clock.now() + 60 * MINUTE))
    await stage.turn()
    expect(stage.states()).toEqual({ o: 'ready' })
    expect(stage.pool.lease('read')?.bearer).toBe('t1')
    expect(openAccount(stage.beside, ring, 'o')?.secrets).toMatchObject({ refresh_token: 'r2' })
    await stage.turn()
    expect(stage.asked).toEqual(['renew app', 'me o'])
  })

  test('whose grant the operator has replaced meanwhile takes none for the one before', async () => {
    using stage = startStage()
    stage.add('o', { secrets, jar: null, standing: newStanding(stage.clock.now()) })
    const answer = Promise.withResolvers<Renewed>()
    stage.renewals.push(answer.promise)
    await stage.turn()
    changeAccount(stage.beside, ring, 'o', {
      standing: newStanding(stage.clock.now()),
      secrets: { ...secrets, refresh_token: 'other' },
    })
    answer.resolve(token('t1', stage.clock.now() + 60 * MINUTE))
    await stage.clock.advance(1000)
    await stage.turn()
    expect(openAccount(stage.beside, ring, 'o')?.secrets).toMatchObject({ refresh_token: 'other' })
    expect(stage.asked).toEqual(['renew app', 'renew app'])
  })

  test('is not given up for late refusals of the token before', async () => {
    using stage = await withTokens()
    // Several requests leave with the token that the platform takes back.
    const before = leased(stage.pool.lease('read'))
    stage.pool.heard(answered('o', { kind: 'login_required' }), before)
    await stage.turn()
    expect(stage.pool.lease('read')?.bearer).toBe('t2')

    stage.pool.heard(answered('o', { kind: 'login_required' }), before)
    stage.pool.report(before, { kind: 'login_required' })
    expect(stage.states()).toEqual({ o: 'ready' })
    expect(stage.pool.lease('read')?.bearer).toBe('t2')
  })
})

describe('the way out of who brings a session of their own', () => {
  test('is that of an account which may read', () => {
    using stage = startStage()
    stage.addProxy('prx_1')
    stage.add('a', { jar: null })
    stage.add('b', { proxy_id: 'prx_1' })
    stage.pool.reload()

    expect(stage.pool.way()).toMatchObject({ host: 'way.test' })
  })

  test('stays one of the pool while none of its accounts may read', () => {
    using stage = startStage()
    stage.addProxy('prx_1')
    stage.add('a', { jar: null, proxy_id: 'prx_1' })
    stage.add('b', { standing: paused(stage.clock.now()) })
    stage.pool.reload()

    expect(stage.pool.lease('read')).toBeNull()
    expect(stage.pool.way()).toMatchObject({ host: 'way.test' })
  })

  test('is the direct one where the pool has no other', () => {
    using stage = startStage()
    expect(stage.pool.way()).toBeNull()

    stage.add('a', { jar: null })
    stage.pool.reload()
    expect(stage.pool.way()).toBeNull()
  })
})

test('an account whose secrets do not open is left out, and said so', () => {
  using stage = startStage()
  stage.add('a')
  stage.add('b')
  stage.beside.run('UPDATE accounts SET secrets = (SELECT secrets FROM accounts WHERE id = ?)', [
    'a',
  ])
  stage.pool.reload()

  expect(stage.pool.list().map(({ name }) => name)).toEqual(['a'])
  expect(stage.logged).toEqual([['account.unreadable', { account: 'b' }]])
})

test('a sign-in that the end of the daemon cut short has not failed', async () => {
  using stage = startStage()
  const secrets = { kind: 'session', password: 'x', totp_secret: null } as const
  stage.add('a', { secrets, jar: null })
  const turn = stage.pool.turn()
  stage.stopping.abort()
  await turn
  await stage.pool.idle()

  expect(stage.asked).toEqual(['sign in a'])
  expect(listAccounts(stage.beside)).toMatchObject([{ login_failures: 0, next_login_at: null }])
})
