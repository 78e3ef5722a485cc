import { describe, expect, test } from 'bun:test'

import { totp } from '../../../../../src/core/accounts/totp.ts'
import { createEgress } from '../../../../../src/net/egress.ts'
import type { LoginCode, LoginRequest } from '../../../../../src/platforms/port.ts'
import { createJars } from '../../../../../src/platforms/reddit/login/cookie-jar.ts'
import { createLogin, withWait } from '../../../../../src/platforms/reddit/login/login.ts'
import { createOAuthTokens } from '../../../../../src/platforms/reddit/login/oauth.ts'
import { createForumFixture as forumStage, type Reply } from '../fixture.ts'

const SECRET = 'GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ'
const nowhere = () => Promise.reject(new Error('no such name'))

/** A platform with a given answer for each step, and a sign-in at it. */
function createFixture(replies: Reply[]) {
  const bodies: string[] = []
  const it = forumStage(
    replies.map((reply) => async (request: Request): Promise<Response> => {
      bodies.push(await request.clone().text())
      if (!(reply instanceof Response)) return reply(request)
      const { status, headers } = reply
      return new Response(await reply.clone().arrayBuffer(), { status, headers })
    }),
  )
  const { clock, base } = it
  const egress = createEgress({
    fetch,
    clock,
    resolve: nowhere,
    guard: () => Promise.resolve({ ok: false, refusal: 'not_public' }),
  })
  const common = { egress, clock, user_agent: 'forumd-test/1.0', timeout_ms: 10_000 }
  const jars = createJars({ base_url: base, session_cookie: 'session', clock })
  const login = createLogin({ ...common, jars, base_url: base })
  const tokens = createOAuthTokens({ ...common, token_url: `${base}/api/v1/access_token` })
  const loginRequest = (more: Partial<LoginRequest> = {}) => ({
    proxy: null,
    whose: 'pool' as const,
    deadline_at: clock.now() + 30_000,
    ...more,
  })
  return {
    ...it,
    bodies,
    tokens,
    visitor: loginRequest,
    signIn: (more: Partial<LoginRequest> = {}) =>
      login({ username: 'ann', password: 'p&ss', totp_secret: null, ...loginRequest(), ...more }),
    [Symbol.asyncDispose]: () => it[Symbol.asyncDispose](),
  }
}

const setting = (lines: string[], body = '', status = 200, date?: string) => {
  const headers = new Headers({ 'content-type': 'text/html', ...(date && { date }) })
  for (const line of lines) headers.append('set-cookie', line)
  return new Response(body, { status, headers })
}
const form = (date?: string) =>
  setting(['csrf_token=c5rf; Path=/', 'loid=visitor; Path=/'], '<html><form></form>', 200, date)
const oidc = (is_sso = false) => Response.json({ is_sso })
const partial = (message: string, status = 200) =>
  setting([], `<faceplate-alert level="error" message="${message}"></faceplate-alert>`, status)
const welcome = () =>
  setting(
    ['session=s1; Path=/; Max-Age=3600', 'loid=mine; Path=/', 'pc=p; Path=/'],
    '{"success":true}',
  )
const me = () =>
  Response.json({ kind: 't2', data: { name: 'Ann', id: 'a1', link_karma: 7, comment_karma: 9 } })
const WRONG = 'Invalid username or password.'
const WRONG_CODE = 'Invalid verification code. Check the code and try again.'
const block = () => setting([], '<html>blocked by network security</html>', 403)
const challenge = () => setting([], '<html>Please wait for verification</html>')

describe('a sign-in', () => {
  test('ends with the jar, the name and the karma of the account', async () => {
    await using it = createFixture([form(), oidc(), welcome(), me()])

    const done = await it.signIn()

    expect(done).toMatchObject({ ok: true, name: 'Ann', link_karma: 7, comment_karma: 9 })
    expect(done.ok && done.jar.cookies().map(({ name, value }) => `${name}=${value}`)).toEqual(
      expect.arrayContaining(['session=s1', 'loid=mine', 'csrf_token=c5rf', 'pc=p']),
    )
    expect(done.ok && done.jar.expires_at()).toBe(it.clock.now() + 3_600_000)
    expect(it.paths()).toEqual([
      '/login/',
      '/svc/shreddit/account/login/check_is_oidc_required',
      '/svc/shreddit/account/login',
      '/api/me.json?raw_json=1',
    ])
    expect(it.bodies[2]).toBe('username=ann&password=p%26ss&csrf_token=c5rf')
  })

  test('sends the cookies received so far, and our user agent', async () => {
    await using it = createFixture([form(), oidc(), welcome(), me()])

    await it.signIn()

    const cookies = it.requests.map(({ headers }) => headers.get('cookie'))
    expect(cookies[0]).toBeNull()
    expect(cookies[2]).toContain('csrf_token=c5rf')
    expect(cookies[3]).toContain('session=s1')
    for (const { headers } of it.requests) expect(headers.get('user-agent')).toBe('forumd-test/1.0')
  })

  test('continues if the check for a third-party sign-in fails', async () => {
    await using it = createFixture([form(), new Response('', { status: 404 }), welcome(), me()])

    expect(await it.signIn()).toMatchObject({ ok: true })
  })

  test('stores no cookies from a refusal', async () => {
    const refusal = setting(['csrf_token=other; Path=/'], '', 403)
    await using it = createFixture([form(), refusal, welcome(), me()])

    await it.signIn()

    expect(it.requests[2]?.headers.get('cookie')).toContain('csrf_token=c5rf')
    expect(it.bodies[2]).toContain('csrf_token=c5rf')
  })

  test('sends a code if one is required', async () => {
    await using it = createFixture([form(), oidc(), setting([], '', 202), welcome(), me()])

    expect(await it.signIn({ totp_secret: SECRET })).toMatchObject({ ok: true, name: 'Ann' })

    expect(it.paths()[3]).toBe('/svc/shreddit/account/login/otp')
    const sent = new URLSearchParams(it.bodies[3])
    expect(sent.get('appOtp')).toMatch(/^\d{6}$/)
    expect(sent.get('password')).toBe('p&ss')
  })

  test("sends the code of the platform's clock, and then the adjacent one once", async () => {
    const date = 'Thu, 01 Jan 2026 05:00:10 GMT'
    const dated = (status: number) => setting([], '', status, date)
    await using it = createFixture([
      form(date),
      Response.json({ is_sso: false }, { headers: { date } }),
      dated(202),
      () => setting([], partialText(WRONG_CODE), 400, date),
      welcome(),
      me(),
    ])

    expect(await it.signIn({ totp_secret: SECRET })).toMatchObject({ ok: true })

    const at = Date.parse(date)
    const codes = it.bodies.slice(3, 5).map((body) => new URLSearchParams(body).get('appOtp'))
    expect(codes).toEqual([totp(SECRET, at), totp(SECRET, at - 30_000)])
  })
})

const partialText = (message: string) => `<faceplate-alert message="${message}"></faceplate-alert>`

describe('a verdict on the credentials', () => {
  test.each([
    ['a wrong password', partial(WRONG), 'AUTH_FAILED'],
    ['a wrong password with a 400', partial(WRONG, 400), 'AUTH_FAILED'],
    ['a wrong password with a 403', partial('Incorrect username or password', 403), 'AUTH_FAILED'],
    ['a code of the old form', partial('WRONG_PASSWORD', 401), 'AUTH_FAILED'],
    ['a second factor', setting([], '', 202), 'TWO_FACTOR_REQUIRED'],
  ] satisfies [string, Response, LoginCode][])('is %s', async (_what, answer, code) => {
    await using it = createFixture([form(), oidc(), answer])

    expect(await it.signIn()).toEqual({ ok: false, code })
    expect(it.requests.length).toBe(3)
  })

  test('is an account that signs in with a third party, which has no password here', async () => {
    await using it = createFixture([form(), oidc(true)])

    expect(await it.signIn()).toEqual({ ok: false, code: 'AUTH_FAILED' })
    expect(it.requests.length).toBe(2)
  })

  test('is a code that is refused twice', async () => {
    await using it = createFixture([form(), oidc(), setting([], '', 202), partial(WRONG_CODE, 400)])

    expect(await it.signIn({ totp_secret: SECRET })).toEqual({
      ok: false,
      code: 'TWO_FACTOR_INVALID',
    })
    expect(it.requests.length).toBe(5)
  })
})

describe('the result without a verdict', () => {
  test.each([
    ['a challenge on the first page', [challenge()], 'UPSTREAM_BLOCKED'],
    ['a block page on the first page', [block()], 'UPSTREAM_BLOCKED'],
    ['a fault on the first page', [setting([], '', 503)], 'UPSTREAM_ERROR'],
    ['a missing first page', [setting([], '', 404)], 'UNKNOWN'],
    ['a form without its token', [setting([], '<html><form></form>')], 'UNKNOWN'],
    [
      'a missing human check',
      [form(), oidc(), partial('Something went wrong logging in. Please try again.', 400)],
      'UPSTREAM_BLOCKED',
    ],
    ['a block page', [form(), oidc(), block()], 'UPSTREAM_BLOCKED'],
    ['a challenge', [form(), oidc(), challenge()], 'UPSTREAM_BLOCKED'],
    ['a success without a session', [form(), oidc(), setting([], '')], 'UNKNOWN'],
    ['a status alone', [form(), oidc(), setting([], '', 401)], 'UNKNOWN'],
    ['a fault', [form(), oidc(), setting([], '', 500)], 'UPSTREAM_ERROR'],
    ['an anonymous session', [form(), oidc(), welcome(), Response.json({})], 'UNKNOWN'],
    ['a block page after the password', [form(), oidc(), welcome(), block()], 'UPSTREAM_BLOCKED'],
    [
      'a human check after the code',
      [form(), oidc(), setting([], '', 202), partial('Prove your humanity', 400)],
      'UPSTREAM_BLOCKED',
    ],
  ] satisfies [string, Response[], LoginCode][])('follows %s', async (_what, answers, code) => {
    await using it = createFixture(answers)

    expect(await it.signIn({ totp_secret: SECRET })).toEqual({ ok: false, code })
  })

  test.each([
    ['a header', new Response('', { status: 429, headers: { 'retry-after': '90' } }), 90],
    ['a sentence', partial('RATELIMIT: try again in 5 minutes.', 429), 300],
    ['a success', partial('you are doing that too much. try again in 9 seconds.'), 9],
  ])('after a throttling has the pause from %s', async (_where, answer, s) => {
    await using it = createFixture([form(), oidc(), answer])

    expect(await it.signIn()).toEqual({ ok: false, code: 'UPSTREAM_ERROR', retry_after_s: s })
  })

  test('names an unreachable proxy', async () => {
    await using it = createFixture([form()])
    const proxy = { host: '127.0.0.1', port: 1, username: 'u', password: 'p' }

    for (const scheme of ['http', 'socks5h'] as const)
      expect(await it.signIn({ proxy: { ...proxy, scheme } })).toEqual({
        ok: false,
        code: 'UPSTREAM_ERROR',
        trouble: 'unreachable',
      })
    expect(it.requests).toEqual([])
  })

  test('is returned for a passed deadline before any request', async () => {
    await using it = createFixture([form()])

    expect(await it.signIn({ deadline_at: it.clock.now() })).toEqual({
      ok: false,
      code: 'UPSTREAM_ERROR',
    })
    expect(it.requests).toEqual([])
  })
})

const markup = (body: string, status = 200) =>
  new Response(`<!doctype html><html>${body}</html>`, {
    status,
    headers: { 'content-type': 'text/html' },
  })

const given = (more: object = {}) =>
  Response.json({ access_token: 'at1', token_type: 'bearer', expires_in: 3600, ...more })

describe('a token', () => {
  const grant = { client_id: 'id', client_secret: 'se:cret', refresh_token: 'r1' }

  test("is requested with a refresh token and the application's credentials", async () => {
    await using it = createFixture([given()])
    const now = it.clock.now()

    expect(await it.tokens(grant, it.visitor())).toEqual({
      ok: true,
      value: {
        value: 'at1',
        renew_at: now + 3_480_000,
        expires_at: now + 3_600_000,
        refresh_token: 'r1',
      },
    })
    expect(it.requests[0]?.headers.get('authorization')).toBe(`Basic ${btoa('id:se:cret')}`)
    expect(it.bodies).toEqual(['grant_type=refresh_token&refresh_token=r1'])
  })

  test("without a refresh token is requested with the application's credentials alone", async () => {
    await using it = createFixture([given()])

    const token = await it.tokens({ ...grant, refresh_token: null }, it.visitor())

    expect(token).toMatchObject({ ok: true, value: { refresh_token: null } })
    expect(it.bodies).toEqual(['grant_type=client_credentials'])
  })

  test('includes a new refresh token if the platform replaces it', async () => {
    await using it = createFixture([given({ refresh_token: 'r2' })])

    expect(await it.tokens(grant, it.visitor())).toMatchObject({ value: { refresh_token: 'r2' } })
  })

  test.each([
    [3599.4567, 3_599_000],
    [1e300, 31_536_000_000],
    [-5, 0],
  ])(
    'with a lifetime of %p s expires at a whole instant within the range of Date',
    async (expires_in, ms) => {
      await using it = createFixture([given({ expires_in })])

      const token = await it.tokens(grant, it.visitor())

      expect(token).toMatchObject({ value: { expires_at: it.clock.now() + ms } })
    },
  )

  test.each([
    [
      'a withdrawn grant',
      Response.json({ error: 'invalid_grant' }, { status: 400 }),
      'login_required',
    ],
    [
      'a refusal with a success status',
      Response.json({ error: 'invalid_grant' }),
      'login_required',
    ],
    ['an unknown application', Response.json({ error: 401 }, { status: 401 }), 'login_required'],
    ['a throttling', new Response('', { status: 429 }), 'throttled'],
    ['a block page', block(), 'blocked'],
    // A block page says nothing about the grant.
    ['an HTML page with a 400', markup('<h1>Bad Request</h1>', 400), 'rejected'],
    ['a login page', markup('<title>Log in</title>'), 'blocked'],
    [
      'a redirect to a login page',
      new Response(null, { status: 302, headers: { location: '/login/' } }),
      'blocked',
    ],
    ['a fault', new Response('', { status: 503 }), 'unavailable'],
    ['an answer without a token', Response.json({}), 'unreadable'],
    ['a token that is invalid in a header', given({ access_token: 'a\nb' }), 'unreadable'],
  ])('is not read from %s', async (_what, answer, kind) => {
    await using it = createFixture([answer])

    expect(await it.tokens(grant, it.visitor())).toMatchObject({ ok: false, fault: { kind } })
  })
})

test('a pause that is stated as a date lasts until then', () => {
  const now = Date.parse('2026-01-01T00:00:00Z')
  const headers = new Headers({ 'retry-after': new Date(now + 90_000).toUTCString() })

  expect(withWait('UPSTREAM_ERROR', { status: 429, headers, body: '' }, now)).toEqual({
    ok: false,
    code: 'UPSTREAM_ERROR',
    retry_after_s: 90,
  })
})
