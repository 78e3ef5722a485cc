import { afterAll, beforeAll, beforeEach, expect, setDefaultTimeout, test } from 'bun:test'

import type { FaultRuleInput } from '../../sandbox/faults/rules.ts'
import type { LoginCode } from '../../src/platforms/port.ts'
import { type BrowserFixture, inBrowser, SECRET, startBrowserFixture, TEST_MS } from './fixture.ts'

setDefaultTimeout(TEST_MS)

/** Exactly this path, without subpaths. */
const FORM = '/svc/*/account/login'

inBrowser('signing in with a browser', () => {
  let it: BrowserFixture
  beforeAll(async () => {
    it = await startBrowserFixture()
  }, TEST_MS)
  beforeEach(() => it.sandbox.clearFaults())
  afterAll(() => it[Symbol.asyncDispose](), TEST_MS)

  test.each(['ann', 'ann@mail.example'])(
    '%s and the password return all cookies with their names and expiry times',
    async (username) => {
      const before = Date.now()

      const signed = await it.signIn(username)

      if (!signed.ok) throw new Error(`${signed.code}`)
      const cookies = signed.jar.cookies()
      const end = (name: string) => cookies.find((cookie) => cookie.name === name)?.expires_at
      expect(signed).toMatchObject({ name: 'ann', link_karma: 1, comment_karma: 0 })
      expect(cookies.map(({ name }) => name).toSorted()).toEqual([
        'csrf_token',
        'csv',
        'edgebucket',
        'loid',
        'pc',
        'reddit_session',
        'session_tracker',
        'token_v2',
      ])
      expect(end('reddit_session')).toBeNull()
      expect(end('token_v2')).toBeGreaterThan(before + 80_000_000)
      expect(end('token_v2')).toBeLessThan(before + 90_000_000)
    },
  )

  test('types a second factor into the page that requires it', async () => {
    const signed = await it.signIn('bea', { totp_secret: SECRET.toLowerCase() })

    expect(signed).toMatchObject({ ok: true, name: 'bea' })
  })

  test('tries the next code if the platform accepts it only one step later', async () => {
    it.sandbox.addFault({
      path: `${FORM}/otp`,
      fault: 'login_verdict',
      verdict: '2fa_bad',
      times: 1,
    })

    const signed = await it.signIn('bea', { totp_secret: SECRET })

    expect(signed).toMatchObject({ ok: true, name: 'bea' })
  })

  const verdict = (more: Partial<FaultRuleInput>): FaultRuleInput => ({
    path: FORM,
    fault: 'login_verdict',
    ...more,
  })

  test.each<
    [string, LoginCode, Parameters<BrowserFixture['signIn']>, FaultRuleInput | null, object]
  >([
    ['a wrong password', 'AUTH_FAILED', ['ann', { password: 'guess' }], null, {}],
    ['an account of a third party', 'AUTH_FAILED', ['cal'], null, {}],
    ['no code where one is wanted', 'TWO_FACTOR_REQUIRED', ['bea'], null, {}],
    [
      'a code that is rejected twice',
      'TWO_FACTOR_INVALID',
      ['bea', { totp_secret: 'KRSXG5CTMVRXEZLU' }],
      null,
      {},
    ],
    [
      'a generic refusal, as after a missing human check',
      'UPSTREAM_BLOCKED',
      ['ann'],
      verdict({ verdict: 'captcha' }),
      {},
    ],
    [
      'a block page as the response to the form',
      'UPSTREAM_BLOCKED',
      ['ann'],
      verdict({ verdict: 'html' }),
      {},
    ],
    ['a throttle', 'UPSTREAM_ERROR', ['ann'], verdict({ verdict: 'rate' }), { retry_after_s: 300 }],
    ['a failure', 'UPSTREAM_ERROR', ['ann'], { path: FORM, fault: '5xx' }, {}],
    [
      'a block page instead of the form',
      'UPSTREAM_BLOCKED',
      ['ann'],
      { path: '/login', fault: 'block_403_html' },
      {},
    ],
    [
      'a challenge instead of the form',
      'UPSTREAM_BLOCKED',
      ['ann'],
      { path: '/login', fault: 'challenge_200_html' },
      {},
    ],
    [
      'a page instead of a verdict',
      'UNKNOWN',
      ['ann'],
      { path: FORM, fault: 'html', body: '<html>Hello</html>' },
      {},
    ],
    ['a form that is cut off', 'UPSTREAM_ERROR', ['ann'], { path: '/login', fault: 'reset' }, {}],
  ])('%s is %s', async (_, code, [username, more], fault_rule, rest) => {
    if (fault_rule) it.sandbox.addFault(fault_rule)

    const signed = await it.signIn(username, more)

    expect(signed).toEqual({ ok: false, code, ...rest })
  })

  test('does not solve a challenge: requests the page once and nothing else', async () => {
    it.sandbox.addFault({ path: '/login', fault: 'challenge_200_html' })
    const since = it.sandbox.requests.length

    await it.signIn('ann')

    expect(it.sandbox.requests.slice(since).map(({ method, path }) => `${method} ${path}`)).toEqual(
      ['GET /login/'],
    )
  })
})
