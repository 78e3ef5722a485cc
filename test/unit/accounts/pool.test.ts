import { describe, expect, test } from 'bun:test'

import type { Renewed } from '../../../src/accounts/client.ts'
import { newStatus, paused } from '../../../src/core/accounts/status.ts'
import { fail, type Fault, ok } from '../../../src/core/base/result.ts'
import { ANONYMOUS, type Identity } from '../../../src/platforms/port.ts'
import {
  changeAccount,
  listAccounts,
  openAccount,
  removeAccount,
} from '../../../src/store/accounts/accounts.ts'
import { jarOf, ring, startPoolFixture } from './fixture.ts'

const MINUTE = 60_000
const BLOCKED: Fault = { kind: 'blocked' }
const answered = (identity: string, fault: Fault | null = null, path_kind = 'posts') => ({
  identity: identity,
  path_kind,
  fault,
})
const leased = (identity: Identity | null) =>
  identity ?? expect.unreachable('no identity was leased')

/** A pool with these accounts, ready. */
function poolOf(...names: string[]) {
  const fixture = startPoolFixture()
  for (const name of names) fixture.add(name)
  fixture.pool.reload()
  return fixture
}

/** A pool with an account that has a password and no session. */
function withPassword() {
  const fixture = startPoolFixture()
  const secrets = { kind: 'session', password: 'x', totp_secret: null } as const
  fixture.add('a', { secrets, jar: null })
  return fixture
}

describe('a lease', () => {
  test('uses the account with the most headroom, with its own cookies and proxy', () => {
    using fixture = startPoolFixture()
    fixture.addProxy('way')
    fixture.add('a')
    fixture.add('b', { proxy_id: 'way' })
    fixture.headroom.set('a', { requests: 3, until_ms: 0 })
    fixture.headroom.set('b', { requests: 9, until_ms: 0 })
    fixture.pool.reload()

    expect(fixture.pool.lease('read')).toMatchObject({
      id: 'b',
      whose: 'pool',
      cookie: 'c=b',
      bearer: null,
      proxy: { host: 'way.test', username: 'u', password: 'p' },
    })
  })

  test('is stored with its time within a minute', async () => {
    using fixture = poolOf('a')
    const used_at = fixture.clock.now()
    fixture.pool.lease('read')
    await fixture.pass(2 * MINUTE)

    expect(listAccounts(fixture.db)[0]?.last_used_at).toBe(used_at)
  })

  test('rotates among equal accounts', () => {
    using fixture = startPoolFixture()
    for (const name of ['a', 'b', 'c']) fixture.add(name)
    fixture.pool.reload()

    const ids = Array.from({ length: 6 }, () => fixture.pool.lease('read')?.id)
    expect(new Set(ids.slice(0, 3)).size).toBe(3)
    expect(ids.slice(3)).toEqual(ids.slice(0, 3))
  })

  test('never uses an avoided, paused, logged-out or suspended account', () => {
    using fixture = startPoolFixture()
    fixture.add('a')
    fixture.add('b')
    fixture.add('c', { status: paused(0) })
    fixture.add('d', { jar: null })
    fixture.add('e', { status: { ...newStatus(0), state: 'suspended', probe_at: null } })
    fixture.pool.reload()

    expect(fixture.pool.lease('read', ['a'])?.id).toBe('b')
    expect(fixture.pool.lease('read', ['a', 'b'])).toBeNull()
  })

  test('is anonymous while there is no account, if that is allowed', () => {
    using open = startPoolFixture()
    expect(open.pool.lease('read')).toBe(ANONYMOUS)
    expect(open.pool.lease('read', ['anonymous'])).toBeNull()
    expect(open.pool.usable()).toBe(true)

    using closed = startPoolFixture({ allow_anonymous: false })
    expect(closed.pool.lease('read')).toBeNull()
    expect(closed.pool.usable()).toBe(false)

    open.add('a', { jar: null })
    open.pool.reload()
    expect(open.pool.lease('read')).toBeNull()
  })

  test('uses the account that is free first if none has headroom', () => {
    using fixture = poolOf('a', 'b')
    fixture.headroom.set('a', { requests: 0, until_ms: 9000 })
    fixture.headroom.set('b', { requests: 0, until_ms: 2000 })

    expect(fixture.pool.lease('poll')?.id).toBe('b')
  })

  test('avoids an account with a failed proxy as long as there is another', async () => {
    using fixture = startPoolFixture()
    fixture.addProxy('way')
    fixture.add('a', { proxy_id: 'way' })
    fixture.add('b')
    fixture.headroom.set('a', { requests: 99, until_ms: 0 })
    fixture.pool.reload()
    fixture.pool.onRequest(
      answered('a', { kind: 'unavailable', status: null, retry_after_s: null, trouble: 'denied' }),
    )

    expect(fixture.pool.lease('read')?.id).toBe('b')
    expect(fixture.events()).toEqual(['account.proxy_failed'])
    await fixture.clock.advance(30_000)
    expect(fixture.pool.lease('read')?.id).toBe('a')
  })
})

test('a failing proxy does not fail the request if the fault cannot be stored', () => {
  using fixture = startPoolFixture()
  fixture.addProxy('way')
  fixture.add('a', { proxy_id: 'way' })
  fixture.add('b')
  fixture.pool.reload()
  fixture.db.run('PRAGMA query_only = 1')
  const fault: Fault = { kind: 'unavailable', status: null, retry_after_s: null, trouble: 'failed' }

  fixture.pool.onRequest(answered('a', fault))
  expect(fixture.pool.lease('read')?.id).toBe('b')
})

describe('a throttled account', () => {
  test('is not used until its pause ends', async () => {
    using fixture = poolOf('a', 'b')
    fixture.pool.onRequest(answered('a', { kind: 'throttled', retry_after_s: 40 }))

    expect(fixture.states()).toEqual({ a: 'cooling', b: 'ready' })
    expect([fixture.pool.lease('read')?.id, fixture.pool.lease('read')?.id]).toEqual(['b', 'b'])
    await fixture.clock.advance(40_000)
    expect(fixture.pool.lease('read')?.id).toBe('a')
  })

  test('is used on after a limit of searches alone', () => {
    using fixture = poolOf('a')
    const fault: Fault = { kind: 'throttled', retry_after_s: 40, searches_only: true }
    fixture.pool.onRequest(answered('a', fault, 'search'))

    expect(fixture.states()).toEqual({ a: 'ready' })
    expect(fixture.pool.lease('read')?.id).toBe('a')
  })

  test('is leased if all are throttled, so that the pacer returns the wait, unless the pacer has no window for it', () => {
    using fixture = poolOf('a')
    fixture.pool.onRequest(answered('a', { kind: 'throttled', retry_after_s: 40 }))
    fixture.headroom.set('a', { requests: 0, until_ms: 40_000 })
    expect(fixture.pool.lease('read')?.id).toBe('a')

    fixture.headroom.set('a', { requests: 30, until_ms: 0 })
    expect(fixture.pool.lease('read')).toBeNull()
  })

  test('delays polls no longer than until the first account is usable', () => {
    using it = startPoolFixture()
    it.add('one')
    it.add('two')
    it.headroom.set('one', { requests: 0, until_ms: 9_000 })
    it.headroom.set('two', { requests: 0, until_ms: 300_000 })
    it.pool.reload()
    expect(it.pool.free_in_ms('poll')).toBe(9_000)

    it.headroom.set('one', { requests: 3, until_ms: 0 })
    expect(it.pool.free_in_ms('poll')).toBe(0)
  })

  test('stays paused after a restart', async () => {
    using fixture = poolOf('a')
    fixture.pool.onRequest(answered('a', { kind: 'throttled', retry_after_s: 400 }))
    await fixture.turn()

    expect(fixture.restarted().list()).toMatchObject([{ name: 'a', state: 'cooling' }])
  })
})

describe('an account that the platform treats as anonymous', () => {
  test('is checked, and needs a login if a check two minutes later confirms it', async () => {
    using fixture = poolOf('a')
    fixture.mes.push(ok(null), ok(null))
    fixture.pool.report(leased(fixture.pool.lease('read')), { kind: 'login_required' })
    expect(fixture.pool.lease('read')).toBeNull()
    await fixture.turn()
    expect(fixture.states()).toEqual({ a: 'cooling' })
    await fixture.pass(2 * MINUTE)

    expect(fixture.asked).toEqual(['me a', 'me a'])
    expect(fixture.states()).toEqual({ a: 'needs_login' })
    expect(fixture.events()).toContain('account.needs_login')
    expect(fixture.pool.usable()).toBe(false)
    await fixture.turn()
    expect(fixture.events()).toContain('pool.empty')
  })

  test.each([
    ['returns with the cookies that an answer has replaced', 'c=a', 'ready'],
    ['needs a login although cookies before proven ones are known again', 'c=b', 'needs_login'],
  ] as const)('%s', async (_what, first, state) => {
    using fixture = poolOf('a')
    const { known, pool } = fixture
    leased(pool.lease('read')).on_cookies?.(['c=b'])
    for (known.cookies of [first, 'c=a']) {
      pool.report(leased(pool.lease('read')), { kind: 'login_required' })
      await fixture.pass(2 * MINUTE)
    }

    expect(fixture.states()).toEqual({ a: state })
  })

  test('returns by itself once the platform knows its session again', async () => {
    using fixture = poolOf('a')
    fixture.mes.push(ok(null), ok(null), ok(null))
    fixture.pool.report(leased(fixture.pool.lease('read')), { kind: 'login_required' })
    await fixture.pass(13 * MINUTE)
    expect(fixture.states()).toEqual({ a: 'needs_login' })
    await fixture.pass(60 * MINUTE)

    expect(fixture.states()).toEqual({ a: 'ready' })
  })

  test('is not logged out while all others are anonymous too: that is the platform', async () => {
    using fixture = startPoolFixture()
    const names = ['a', 'b', 'c']
    for (const name of names) fixture.add(name)
    fixture.mes.push(...Array.from({ length: 6 }, () => ok(null)))
    fixture.pool.reload()
    for (const _ of names)
      fixture.pool.report(leased(fixture.pool.lease('read')), { kind: 'login_required' })
    await fixture.pass(3 * MINUTE)
    expect(fixture.asked).toHaveLength(6)
    expect(fixture.states()).toEqual({ a: 'cooling', b: 'cooling', c: 'cooling' })
    expect(fixture.events()).not.toContain('account.needs_login')
    await fixture.pass(11 * MINUTE)

    expect(fixture.states()).toEqual({ a: 'ready', b: 'ready', c: 'ready' })
  })

  test('is logged out while another one is signed in', async () => {
    using fixture = poolOf('a', 'b')
    fixture.mes.push(ok(null), ok(null))
    fixture.pool.report(leased(fixture.pool.lease('read')), { kind: 'login_required' })
    await fixture.pass(3 * MINUTE)

    expect(Object.values(fixture.states()).toSorted()).toEqual(['needs_login', 'ready'])
  })

  test('stays in use if the check finds it signed in', async () => {
    using fixture = poolOf('a')
    fixture.pool.report(leased(fixture.pool.lease('read')), { kind: 'login_required' })
    await fixture.turn()

    expect(fixture.states()).toEqual({ a: 'ready' })
  })

  test('is signed in again automatically, and its new cookies are stored encrypted', async () => {
    using fixture = startPoolFixture()
    fixture.add('a', {
      secrets: { kind: 'session', password: 'hunter2', totp_secret: null },
      username: 'ann',
    })
    fixture.mes.push(ok(null), ok(null))
    fixture.sign_ins.push({ ok: true, jar: jarOf('c=fresh'), username: 'ann' })
    fixture.pool.reload()
    fixture.pool.report(leased(fixture.pool.lease('read')), { kind: 'login_required' })
    await fixture.pass(3 * MINUTE)

    expect(fixture.asked).toEqual(['me a', 'me a', 'sign in ann'])
    expect(fixture.pool.lease('read')?.cookie).toBe('c=fresh')
    expect(fixture.events()).not.toContain('account.needs_login')
    expect(openAccount(fixture.beside, ring, 'a')?.jar).toBe('c=fresh')
  })

  test('is not signed in more than three times in an hour', async () => {
    using fixture = withPassword()
    await fixture.pass(60 * MINUTE - 1)

    expect(fixture.asked.length).toBeLessThanOrEqual(3)
    expect(fixture.asked.length).toBeGreaterThanOrEqual(2)
  })

  test('is not tried before the pause that the platform requests', async () => {
    using fixture = withPassword()
    for (let n = 0; n < 100; n++)
      fixture.sign_ins.push({ ok: false, reason: null, final: false, retry_after_s: 86_400 })
    await fixture.pass(60 * MINUTE)

    expect(fixture.asked.length).toBeLessThanOrEqual(3)
  })

  test('is not tried again with a wrong password, and the operator is notified at once', async () => {
    using fixture = withPassword()
    fixture.sign_ins.push({ ok: false, reason: 'wrong_credentials', final: true })
    await fixture.pass(24 * 60 * MINUTE)

    expect(fixture.asked).toEqual(['sign in a'])
    expect(fixture.logged).toContainEqual([
      'account.needs_login',
      { account: 'a', reason: 'wrong_credentials' },
    ])
  })
})

describe('block pages', () => {
  test('are ignored until three in a row; then the account is checked, and returns', async () => {
    using fixture = poolOf('a')
    fixture.mes.push(fail(BLOCKED), fail(BLOCKED))
    for (let n = 0; n < 3; n++) fixture.pool.onRequest(answered('a', BLOCKED))
    expect(fixture.states()).toEqual({ a: 'cooling' })

    await fixture.pass(29_000)
    expect(fixture.asked).toEqual([])
    await fixture.pass(2_000)
    expect(fixture.states()).toEqual({ a: 'needs_login' })
    await fixture.pass(119_000)
    expect(fixture.asked.length).toBe(2)
    await fixture.pass(480_000)
    expect(fixture.states()).toEqual({ a: 'ready' })
  })

  test('that answer the account check do not count twice', () => {
    using fixture = poolOf('a')
    for (let n = 0; n < 2; n++) {
      fixture.pool.onRequest(answered('a', BLOCKED))
      fixture.pool.onRequest(answered('a', BLOCKED, 'me'))
    }

    expect(fixture.states()).toEqual({ a: 'ready' })
  })
})

describe('changes by the command line while the daemon runs', () => {
  test('take effect at the next lease, a second later', async () => {
    using fixture = poolOf('a')
    fixture.add('b')
    changeAccount(fixture.beside, ring, 'a', { status: paused(fixture.clock.now()) })
    await fixture.clock.advance(1000)
    expect(fixture.pool.lease('read')?.id).toBe('b')

    removeAccount(fixture.beside, 'b')
    await fixture.clock.advance(1000)
    expect(fixture.pool.lease('read')).toBeNull()
  })

  test('are not undone by older changes of the daemon', async () => {
    using fixture = poolOf('a')
    const identity = leased(fixture.pool.lease('read'))
    changeAccount(fixture.beside, ring, 'a', {
      status: newStatus(fixture.clock.now()),
      jar: { text: 'c=imported', expires_at: null },
    })
    identity.on_cookies?.(['c=older'])
    fixture.pool.onRequest(answered('a', { kind: 'throttled', retry_after_s: 60 }))
    await fixture.pass(10_000)

    expect(openAccount(fixture.beside, ring, 'a')?.jar).toBe('c=imported')
    expect(fixture.pool.lease('read')?.cookie).toBe('c=imported')
    expect(fixture.states()).toEqual({ a: 'ready' })
  })
})

test('cookies set just before the account was paused are kept', async () => {
  using fixture = poolOf('a')
  const identity = leased(fixture.pool.lease('read'))
  identity.on_cookies?.(['c=second'])
  for (const status of [paused(fixture.clock.now()), newStatus(fixture.clock.now())]) {
    changeAccount(fixture.beside, ring, 'a', { status })
    await fixture.clock.advance(1000)
    await fixture.turn()
  }
  expect(fixture.pool.lease('read')?.cookie).toBe('c=second')

  // A request that was sent before all this.
  identity.on_cookies?.(['c=third'])
  await fixture.pass(10_000)
  expect(fixture.pool.lease('read')?.cookie).toBe('c=third')
  expect(openAccount(fixture.beside, ring, 'a')?.jar).toBe('c=third')
})

test('cookies of answers are stored together and encrypted, some seconds later', async () => {
  using fixture = poolOf('a')
  const identity = leased(fixture.pool.lease('read'))
  identity.on_cookies?.(['c=second'])
  identity.on_cookies?.(['c=third'])
  await fixture.turn()
  expect(openAccount(fixture.beside, ring, 'a')?.jar).toBe('c=a')

  await fixture.pass(5_000)
  expect(openAccount(fixture.beside, ring, 'a')?.jar).toBe('c=third')
  const row = fixture.beside
    .query<{ jar: Uint8Array; secrets: Uint8Array }, []>('SELECT * FROM accounts')
    .get()
  expect(Buffer.from(row?.jar ?? []).includes('third')).toBe(false)
  expect(fixture.pool.lease('read')?.cookie).toBe('c=third')
})

test('a suspension and its end are detected within the hour', async () => {
  using fixture = startPoolFixture()
  fixture.add('a', { status: newStatus(Date.parse('2026-01-01T00:00:00Z')) })
  const me = { id: 't2_a', name: 'ann' }
  fixture.mes.push(
    ok({ ...me, is_suspended: false }),
    ok({ ...me, is_suspended: true }),
    ok({ ...me, is_suspended: true }),
    ok({ ...me, is_suspended: false }),
  )
  await fixture.pass(59 * MINUTE)
  expect(fixture.states()).toEqual({ a: 'ready' })
  await fixture.pass(2 * MINUTE)
  expect(fixture.states()).toEqual({ a: 'cooling' })
  await fixture.pass(2 * MINUTE)
  expect(fixture.states()).toEqual({ a: 'suspended' })
  await fixture.pass(60 * MINUTE)
  expect(fixture.states()).toEqual({ a: 'ready' })
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
  function withGrant() {
    const fixture = startPoolFixture()
    fixture.add('o', { secrets, jar: null, status: newStatus(fixture.clock.now()) })
    return fixture
  }
  /** Signed in with its first token, with a second one prepared. */
  async function withTokens() {
    const fixture = withGrant()
    const far = fixture.clock.now() + 600 * MINUTE
    fixture.renewals.push(token('t1', far), token('t2', far))
    await fixture.pool.turn()
    await fixture.pass(5 * MINUTE)
    return fixture
  }
  test('gets its token automatically, and a new one two minutes before it expires', async () => {
    using fixture = withGrant()
    const start = fixture.clock.now()
    fixture.renewals.push(token('t1', start + 60 * MINUTE), token('t2', start + 120 * MINUTE))
    expect(fixture.pool.lease('read')).toBe(ANONYMOUS)
    await fixture.turn()

    expect(fixture.pool.lease('read')).toMatchObject({ id: 'o', bearer: 't1', cookie: null })
    await fixture.pass(57 * MINUTE)
    expect(fixture.pool.lease('read')?.bearer).toBe('t1')
    await fixture.pass(MINUTE + 1)
    expect(fixture.pool.lease('read')?.bearer).toBe('t2')
    await fixture.pool.idle()
    expect(openAccount(fixture.beside, ring, 'o')?.secrets).toMatchObject({ refresh_token: 'r2' })
    expect(fixture.restarted().lease('read')?.bearer).toBe('t2')
  })

  test('with tokens that expire at once is renewed with a pause', async () => {
    using fixture = withGrant()
    const now = fixture.clock.now()
    const over = { value: 't', renew_at: now, expires_at: now }
    for (let count = 0; count < 500; count++)
      fixture.renewals.push({ ok: true, token: over, refresh_token: 'r1' })

    await fixture.pass(MINUTE)

    expect(fixture.asked.filter((it) => it === 'renew app').length).toBeLessThan(20)
  })

  test('with a refused token gets one more, and needs the operator if that one is refused too', async () => {
    using fixture = await withTokens()
    fixture.pool.onRequest(answered('o', { kind: 'login_required' }))
    expect(fixture.pool.lease('read')).toBeNull()
    await fixture.turn()
    expect(fixture.pool.lease('read')?.bearer).toBe('t2')

    fixture.pool.onRequest(answered('o', { kind: 'login_required' }))
    expect(fixture.states()).toEqual({ o: 'needs_login' })
    expect(fixture.events()).toContain('account.needs_login')
  })

  test('whose token was refused asks for one again after an hour, and is used again if that one may read', async () => {
    using fixture = await withTokens()
    fixture.pool.onRequest(answered('o', { kind: 'login_required' }))
    await fixture.turn()
    fixture.pool.onRequest(answered('o', { kind: 'login_required' }))
    fixture.renewals.push(token('t3', fixture.clock.now() + 180 * MINUTE))

    await fixture.pass(59 * MINUTE)
    expect(fixture.states()).toEqual({ o: 'needs_login' })
    await fixture.pass(2 * MINUTE)
    expect(fixture.states()).toEqual({ o: 'ready' })
    expect(fixture.pool.lease('read')?.bearer).toBe('t3')
  })

  test('stores a replaced grant at once, because the previous one may be invalid', async () => {
    using fixture = withGrant()
    fixture.renewals.push(token('t1', fixture.clock.now() + 60 * MINUTE))
    await fixture.turn()

    expect(fixture.pool.lease('read')?.bearer).toBe('t1')
    expect(openAccount(fixture.beside, ring, 'o')?.secrets).toMatchObject({ refresh_token: 'r2' })
  })

  test('keeps a replaced grant in memory until it can be stored', async () => {
    using fixture = withGrant()
    fixture.renewals.push(token('t1', fixture.clock.now() + 60 * MINUTE))
    fixture.db.run('PRAGMA query_only = 1')
    await fixture.turn()
    fixture.db.run('PRAGMA query_only = 0')
    await fixture.pass(MINUTE)

    expect(openAccount(fixture.beside, ring, 'o')?.secrets).toMatchObject({ refresh_token: 'r2' })
  })

  test('keeps its new grant if the operator changes the account during the request', async () => {
    using fixture = withGrant()
    const answer = Promise.withResolvers<Renewed>()
    fixture.renewals.push(answer.promise)
    await fixture.turn()
    for (const status of [paused(fixture.clock.now()), newStatus(fixture.clock.now())]) {
      changeAccount(fixture.beside, ring, 'o', { status })
      await fixture.clock.advance(1000)
      await fixture.turn()
    }
    // No second request is made with the old grant meanwhile.
    expect(fixture.asked).toEqual(['renew app'])

    answer.resolve(token('t1', fixture.clock.now() + 60 * MINUTE))
    await fixture.turn()
    expect(fixture.states()).toEqual({ o: 'ready' })
    expect(fixture.pool.lease('read')?.bearer).toBe('t1')
    expect(openAccount(fixture.beside, ring, 'o')?.secrets).toMatchObject({ refresh_token: 'r2' })
    await fixture.turn()
    expect(fixture.asked).toEqual(['renew app', 'me o'])
  })

  test('with a grant that the operator replaced ignores the token of the previous one', async () => {
    using fixture = withGrant()
    const answer = Promise.withResolvers<Renewed>()
    fixture.renewals.push(answer.promise)
    await fixture.turn()
    changeAccount(fixture.beside, ring, 'o', {
      status: newStatus(fixture.clock.now()),
      secrets: { ...secrets, refresh_token: 'other' },
    })
    answer.resolve(token('t1', fixture.clock.now() + 60 * MINUTE))
    await fixture.clock.advance(1000)
    await fixture.turn()
    expect(openAccount(fixture.beside, ring, 'o')?.secrets).toMatchObject({
      refresh_token: 'other',
    })
    expect(fixture.asked).toEqual(['renew app', 'renew app'])
  })

  test('stays valid despite late refusals of the previous token', async () => {
    using fixture = await withTokens()
    // Several requests are in flight with the token that the platform revokes.
    const before = leased(fixture.pool.lease('read'))
    fixture.pool.onRequest(answered('o', { kind: 'login_required' }), before)
    await fixture.turn()
    expect(fixture.pool.lease('read')?.bearer).toBe('t2')

    fixture.pool.onRequest(answered('o', { kind: 'login_required' }), before)
    fixture.pool.report(before, { kind: 'login_required' })
    expect(fixture.states()).toEqual({ o: 'ready' })
    expect(fixture.pool.lease('read')?.bearer).toBe('t2')
  })
})

describe("the egress of a caller's own session", () => {
  test('is that of an account that may read', () => {
    using fixture = startPoolFixture()
    fixture.addProxy('prx_1')
    fixture.add('a', { jar: null })
    fixture.add('b', { proxy_id: 'prx_1' })
    fixture.pool.reload()

    expect(fixture.pool.egress()).toMatchObject({ host: 'way.test' })
  })

  test('stays one of the pool while none of its accounts may read', () => {
    using fixture = startPoolFixture()
    fixture.addProxy('prx_1')
    fixture.add('a', { jar: null, proxy_id: 'prx_1' })
    fixture.add('b', { status: paused(fixture.clock.now()) })
    fixture.pool.reload()

    expect(fixture.pool.lease('read')).toBeNull()
    expect(fixture.pool.egress()).toMatchObject({ host: 'way.test' })
  })

  test('is direct if the pool has no proxy', () => {
    using fixture = startPoolFixture()
    expect(fixture.pool.egress()).toBeNull()

    fixture.add('a', { jar: null })
    fixture.pool.reload()
    expect(fixture.pool.egress()).toBeNull()
  })
})

test('an account with undecryptable secrets is left out and reported', () => {
  using fixture = startPoolFixture()
  fixture.add('a')
  fixture.add('b')
  fixture.beside.run('UPDATE accounts SET secrets = (SELECT secrets FROM accounts WHERE id = ?)', [
    'a',
  ])
  fixture.pool.reload()

  expect(fixture.pool.list().map(({ name }) => name)).toEqual(['a'])
  expect(fixture.logged).toEqual([['account.unreadable', { account: 'b' }]])
})

test("a sign-in that was interrupted by the daemon's stop is not a failure", async () => {
  using fixture = withPassword()
  const turn = fixture.pool.turn()
  fixture.stopping.abort()
  await turn
  await fixture.pool.idle()

  expect(fixture.asked).toEqual(['sign in a'])
  expect(listAccounts(fixture.beside)).toMatchObject([{ login_failures: 0, next_login_at: null }])
})
