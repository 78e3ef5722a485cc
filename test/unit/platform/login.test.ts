import { describe, expect, test } from 'bun:test'

import { totp } from '../../../src/core/totp.ts'
import { createEgress } from '../../../src/net/egress.ts'
import { createJars } from '../../../src/platform/cookies.ts'
import type { LoginCode } from '../../../src/platform/login-verdict.ts'
import { createLogin, type LoginRequest, withWait } from '../../../src/platform/login.ts'
import { createTokens } from '../../../src/platform/oauth.ts'
import { type Reply, stage as forumStage } from './stage.ts'

const SECRET = 'GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ'
const nowhere = () => Promise.reject(new Error('no such name'))

/** A platform whose answers to each step are given, and a sign-in in front of it. */
function stage(replies: Reply[]) {
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
  const tokens = createTokens({ ...common, token_url: `${base}/api/v1/access_token` })
  const visitor = (more: Partial<LoginRequest> = {}) => ({
    proxy: null,
    whose: 'pool' as const,
    deadline_at: clock.now() + 30_000,
    ...more,
  })
  return {
    ...it,
    bodies,
    tokens,
    visitor,
    signIn: (more: Partial<LoginRequest> = {}) =>
      login({ username: 'ann', password: 'p&ss', totp_secret: null, ...visitor(), ...more }),
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
  test('ends with the jar, the name and the karma of who was let in', async () => {
    await using it = stage([form(), oidc(), welcome(), me()])

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

  test('carries what it was given so far, and our own name', async () => {
    await using it = stage([form(), oidc(), welcome(), me()])

    await it.signIn()

    const cookies = it.requests.map(({ headers }) => headers.get('cookie'))
    expect(cookies[0]).toBeNull()
    expect(cookies[2]).toContain('csrf_token=c5rf')
    expect(cookies[3]).toContain('session=s1')
    for (const { headers } of it.requests) expect(headers.get('user-agent')).toBe('forumd-test/1.0')
  })

  test('goes on where it cannot be told whether a third party is asked', async () => {
    await using it = stage([form(), new Response('', { status: 404 }), welcome(), me()])

    expect(await it.signIn()).toMatchObject({ ok: true })
  })

  test('keeps nothing that a refusal tries to set', async () => {
    const refusal = setting(['csrf_token=other; Path=/'], '', 403)
    await using it = stage([form(), refusal, welcome(), me()])

    await it.signIn()

    expect(it.requests[2]?.headers.get('cookie')).toContain('csrf_token=c5rf')
    expect(it.bodies[2]).toContain('csrf_token=c5rf')
  })

  test('sends a code where one is wanted', async () => {
    await using it = stage([form(), oidc(), setting([], '', 202), welcome(), me()])

    expect(await it.signIn({ totp_secret: SECRET })).toMatchObject({ ok: true, name: 'Ann' })

    expect(it.paths()[3]).toBe('/svc/shreddit/account/login/otp')
    const sent = new URLSearchParams(it.bodies[3])
    expect(sent.get('appOtp')).toMatch(/^\d{6}$/)
    expect(sent.get('password')).toBe('p&ss')
  })

  test("takes the code of the platform's clock, and once the one beside it", async () => {
    const date = 'Thu, 01 Jan 2026 05:00:10 GMT'
    const dated = (status: number) => setting([], '', status, date)
    await using it = stage([
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
    ['a wrong password, told with a 400', partial(WRONG, 400), 'AUTH_FAILED'],
    [
      'a wrong password, told with a 403',
      partial('Incorrect username or password', 403),
      'AUTH_FAILED',
    ],
    ['a code of the old form', partial('WRONG_PASSWORD', 401), 'AUTH_FAILED'],
    ['a second factor', setting([], '', 202), 'TWO_FACTOR_REQUIRED'],
  ] satisfies [string, Response, LoginCode][])('is %s', async (_what, answer, code) => {
    await using it = stage([form(), oidc(), answer])

    expect(await it.signIn()).toEqual({ ok: false, code })
    expect(it.requests.length).toBe(3)
  })

  test('is an account that signs in with a third party, which has no password to try', async () => {
    await using it = stage([form(), oidc(true)])

    expect(await it.signIn()).toEqual({ ok: false, code: 'AUTH_FAILED' })
    expect(it.requests.length).toBe(2)
  })

  test('is a code that is refused twice', async () => {
    await using it = stage([form(), oidc(), setting([], '', 202), partial(WRONG_CODE, 400)])

    expect(await it.signIn({ totp_secret: SECRET })).toEqual({
      ok: false,
      code: 'TWO_FACTOR_INVALID',
    })
    expect(it.requests.length).toBe(5)
  })
})

describe('no verdict', () => {
  test.each([
    ['a challenge at the door', [challenge()], 'UPSTREAM_BLOCKED'],
    ['a block page at the door', [block()], 'UPSTREAM_BLOCKED'],
    ['a fault at the door', [setting([], '', 503)], 'UPSTREAM_ERROR'],
    ['a door that is not there', [setting([], '', 404)], 'UNKNOWN'],
    ['a form without its token', [setting([], '<html><form></form>')], 'UNKNOWN'],
    [
      'a human check that is missing',
      [form(), oidc(), partial('Something went wrong logging in. Please try again.', 400)],
      'UPSTREAM_BLOCKED',
    ],
    ['a block page', [form(), oidc(), block()], 'UPSTREAM_BLOCKED'],
    ['a challenge', [form(), oidc(), challenge()], 'UPSTREAM_BLOCKED'],
    ['a success without a session', [form(), oidc(), setting([], '')], 'UNKNOWN'],
    ['a status alone', [form(), oidc(), setting([], '', 401)], 'UNKNOWN'],
    ['a fault', [form(), oidc(), setting([], '', 500)], 'UPSTREAM_ERROR'],
    ['a session that is nobody', [form(), oidc(), welcome(), Response.json({})], 'UNKNOWN'],
    ['a block page after it', [form(), oidc(), welcome(), block()], 'UPSTREAM_BLOCKED'],
    [
      'a human check after the code',
      [form(), oidc(), setting([], '', 202), partial('Prove your humanity', 400)],
      'UPSTREAM_BLOCKED',
    ],
  ] satisfies [string, Response[], LoginCode][])(
    'can be read from %s',
    async (_what, answers, code) => {
      await using it = stage(answers)

      expect(await it.signIn({ totp_secret: SECRET })).toEqual({ ok: false, code })
    },
  )

  test.each([
    ['in a header', new Response('', { status: 429, headers: { 'retry-after': '90' } }), 90],
    ['in a sentence', partial('RATELIMIT: try again in 5 minutes.', 429), 300],
    ['in a success', partial('you are doing that too much. try again in 9 seconds.'), 9],
  ])(
    'can be read from a throttling, which says %s when to come again',
    async (_where, answer, s) => {
      await using it = stage([form(), oidc(), answer])

      expect(await it.signIn()).toEqual({ ok: false, code: 'UPSTREAM_ERROR', retry_after_s: s })
    },
  )

  test('comes through a proxy that is not there', async () => {
    await using it = stage([form()])
    const proxy = { host: '127.0.0.1', port: 1, username: 'u', password: 'p' }

    for (const scheme of ['http', 'socks5h'] as const)
      expect(await it.signIn({ proxy: { ...proxy, scheme } })).toEqual({
        ok: false,
        code: 'UPSTREAM_ERROR',
        trouble: 'unreachable',
      })
    expect(it.requests).toEqual([])
  })

  test('comes when the time is over before anything is asked', async () => {
    await using it = stage([form()])

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

  test('is asked for by a refresh token, by who the application is', async () => {
    await using it = stage([given()])
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

  test('without one is asked for by the application alone', async () => {
    await using it = stage([given()])

    const token = await it.tokens({ ...grant, refresh_token: null }, it.visitor())

    expect(token).toMatchObject({ ok: true, value: { refresh_token: null } })
    expect(it.bodies).toEqual(['grant_type=client_credentials'])
  })

  test('brings the next refresh token where the platform gives another', async () => {
    await using it = stage([given({ refresh_token: 'r2' })])

    expect(await it.tokens(grant, it.visitor())).toMatchObject({ value: { refresh_token: 'r2' } })
  })

  test.each([
    [3599.4567, 3_599_000],
    [1e300, 31_536_000_000],
    [-5, 0],
  ])('that lasts %p s ends at a whole instant that a calendar holds', async (expires_in, ms) => {
    await using it = stage([given({ expires_in })])

    const token = await it.tokens(grant, it.visitor())

    expect(token).toMatchObject({ value: { expires_at: it.clock.now() + ms } })
  })

  test.each([
    [
      'a grant that was withdrawn',
      Response.json({ error: 'invalid_grant' }, { status: 400 }),
      'login_required',
    ],
    ['a refusal dressed as success', Response.json({ error: 'invalid_grant' }), 'login_required'],
    ['an unknown application', Response.json({ error: 401 }, { status: 401 }), 'login_required'],
    ['a throttling', new Response('', { status: 429 }), 'throttled'],
    ['a block page', block(), 'blocked'],
    // What bars the way says nothing of the grant.
    ['a page that calls it wrong', markup('<h1>Bad Request</h1>', 400), 'rejected'],
    ['a page to sign in on', markup('<title>Log in</title>'), 'blocked'],
    [
      'the way to such a page',
      new Response(null, { status: 302, headers: { location: '/login/' } }),
      'blocked',
    ],
    ['a fault', new Response('', { status: 503 }), 'unavailable'],
    ['an answer without one', Response.json({}), 'unreadable'],
    ['one that fits no header', given({ access_token: 'a\nb' }), 'unreadable'],
  ])('is not had from %s', async (_what, answer, kind) => {
    await using it = stage([answer])

    expect(await it.tokens(grant, it.visitor())).toMatchObject({ ok: false, fault: { kind } })
  })
})

test('a pause that the platform names by its end is as long as that is away', () => {
  const now = Date.parse('2026-01-01T00:00:00Z')
  const headers = new Headers({ 'retry-after': new Date(now + 90_000).toUTCString() })

  expect(withWait('UPSTREAM_ERROR', { status: 429, headers, body: '' }, now)).toEqual({
    ok: false,
    code: 'UPSTREAM_ERROR',
    retry_after_s: 90,
  })
})
