import { describe, expect, test } from 'bun:test'

import type * as z from 'zod'

import { createWriteShapes } from '../../src/api/writes/shapes.ts'
import { createNaming } from '../../src/core/forum/naming.ts'
import { PRICES } from '../support/app-options.ts'
import { startWriting, type Writing } from '../support/writes-fixture.ts'

const shapes = createWriteShapes(createNaming({ platform: 'forum', community: 'subforum' }))()
const misfits = (shape: z.ZodType, body: unknown) => shape.safeParse(body).error?.issues ?? []

const ANN = { username: 'ann', password: 'open-sesame' }
const SECRET = 'JBSWY3DPEHPK3PXP'

/** A missing browser: a fallback to it reports the earlier result. */
const startWithout = () =>
  startWriting({
    change: (config) => {
      config.browser.executable = '/nowhere/chromium'
    },
  })

const login = (it: Writing, body: object) => it.send('login', body)

describe('signing in', () => {
  test("answers all cookies by the wire's names, and they are a session", async () => {
    await using it = await startWithout()
    const { status, body, headers } = await login(it, ANN)
    const { cookies } = body
    const written = await it.send('vote', { ...it.WRITES.vote, ...cookies })

    expect(status).toBe(200)
    expect(misfits(shapes.login, body)).toEqual([])
    expect(body).toMatchObject({ success: true, method: 'http', username: 'ann' })
    expect(Object.keys(cookies)).toContainValues([
      'forum_session',
      'loid',
      'token_v2',
      'csrf_token',
    ])
    expect(Object.keys(body.expires)).toEqual(Object.keys(cookies))
    expect(headers.get('x-credits-remaining')).not.toBeNull()
    expect(written.status).toBe(200)
    expect(await it.spent()).toBe(PRICES.write + PRICES.vote)
  })

  test('accepts the secret of a second factor in any notation', async () => {
    await using it = await startWithout()
    it.sandbox.user({ name: 'ann', totp_secret: SECRET })

    const { status } = await login(it, { ...ANN, totp_secret: 'jbsw y3dp ehpk 3pxp ==' })

    expect(status).toBe(200)
  })

  test('logs no names, and stores nothing', async () => {
    await using it = await startWithout()
    const { body } = await login(it, ANN)

    const log_text = JSON.stringify(it.house.events)
    for (const secret of [ANN.password, body.cookies.forum_session])
      expect(log_text).not.toContain(secret)
  })
})

describe("the platform's verdict on the credentials", () => {
  test.each([
    ['wrong', {}, 502, 'AUTH_FAILED', true],
    ['2fa', {}, 502, 'TWO_FACTOR_REQUIRED', true],
    ['captcha', {}, 502, 'UPSTREAM_BLOCKED', false],
    ['html', {}, 502, 'UPSTREAM_BLOCKED', false],
    ['rate', {}, 502, 'UPSTREAM_ERROR', false],
  ] as const)('%s with %j is answered %i %s, billed: %j', async (...row) => {
    const [verdict, more, status, code, billed] = row
    await using it = await startWithout()
    it.sandbox.addFault({ path: '/svc/shreddit/account/login', fault: 'login_verdict', verdict })

    const answer = await login(it, { ...ANN, ...more })

    expect([answer.status, answer.body.code]).toEqual([status, code])
    expect(answer.body.message).toBeString()
    expect(await it.spent()).toBe(billed ? PRICES.write : 0)
    expect(answer.headers.get('x-credits-remaining') !== null).toBe(billed)
  })

  test('a wrong code is a verdict too', async () => {
    await using it = await startWithout()
    it.sandbox.user({ name: 'ann', totp_secret: SECRET })
    const { status, body } = await login(it, { ...ANN, totp_secret: 'GEZDGNBVGY3TQOJQ' })

    expect([status, body.code]).toEqual([502, 'TWO_FACTOR_INVALID'])
    expect(await it.spent()).toBe(PRICES.write)
  })

  test('a rate limit reports the wait', async () => {
    await using it = await startWithout()
    it.sandbox.addFault({
      path: '/svc/shreddit/account/login',
      fault: '429_html',
      retry_after_s: 42,
    })
    const { body, headers } = await login(it, ANN)

    expect([body.code, body.retry_after, headers.get('retry-after')]).toEqual([
      'UPSTREAM_ERROR',
      42,
      '42',
    ])
  })

  test('an answer without a verdict is UNKNOWN without a browser to retry', async () => {
    await using it = await startWithout()
    it.sandbox.addFault({
      path: '/svc/shreddit/account/login',
      fault: 'answer',
      status: 200,
      body: '',
    })
    const { status, body } = await login(it, ANN)

    expect([status, body.code]).toEqual([502, 'UNKNOWN'])
    expect(await it.spent()).toBe(0)
  })

  test('a human check is reported to the operator', async () => {
    await using it = await startWithout()
    it.sandbox.addFault({ path: '/login', fault: 'challenge_200_html' })
    const { body } = await login(it, ANN)

    expect(body.message).toMatch(/ordinary browser.*cookies/)
    expect(it.house.events.map(({ event, fields }) => [event, fields['act']])).toContainEqual([
      'act.blocked',
      'login',
    ])
  })
})

test('a missing browser is reported, and free', async () => {
  await using it = await startWithout()
  const answers = [
    await login(it, { ...ANN, method: 'browser' }),
    await it.act('comment', it.WRITES['v2/comment']),
  ]

  for (const { status, body, headers } of answers) {
    expect([status, body.code]).toEqual([503, 'browser_unavailable'])
    expect(body.message).toContain('/nowhere/chromium')
    expect(headers.get('retry-after')).not.toBeNull()
  }
  expect(it.comments()).toEqual([])
  expect(await it.spent()).toBe(0)
})

test('an unreachable proxy of the caller is billed, by login and by every write', async () => {
  await using it = await startWithout()
  const proxy = 'http://127.0.0.1:9'
  const answers = [
    await login(it, { ...ANN, proxy }),
    ...(await Promise.all(
      Object.entries(it.WRITES).map(([path, body]) => it.act(path, { ...body, proxy })),
    )),
  ]

  for (const { status, body } of answers) expect([status, body.code]).toEqual([502, 'PROXY_ERROR'])
  const { write, vote, dm } = PRICES
  expect(await it.spent()).toBe(write + write + vote + 3 * dm + 4 * write)
})

test.each([
  [{}, 'username'],
  [{ username: 'ann' }, 'password'],
  [{ ...ANN, password: '' }, 'password'],
  [{ ...ANN, username: 'x'.repeat(255) }, 'username'],
  [{ ...ANN, totp_secret: 'not base32!' }, 'totp_secret'],
  [{ ...ANN, method: 'telepathy' }, 'method'],
  [{ ...ANN, locale: 'not a tag' }, 'locale'],
  [{ ...ANN, timezone: '+05:30' }, 'timezone'],
  [{ ...ANN, timezone: 'Mars/Olympus' }, 'timezone'],
  [{ ...ANN, remember: true }, 'remember'],
])('login %j is refused by field', async (body, field) => {
  await using it = await startWithout()
  const answer = await login(it, body)

  expect([answer.status, answer.body.field]).toEqual([400, field])
  expect(JSON.stringify(answer.body)).not.toContain(ANN.password)
})

test.each([
  ['', 'INVALID_PROXY', 'proxy'],
  ['proxy.test:3128', 'INVALID_PROXY', 'proxy'],
  ['ftp://proxy.test', 'INVALID_PROXY', 'proxy'],
  ['http://10.0.0.1:3128', 'INVALID_PROXY', 'proxy'],
])('login over http rejects a proxy like %s', async (proxy, code, field) => {
  await using it = await startWithout()
  const { status, body } = await login(it, { ...ANN, proxy })

  expect([status, body.code, body.field]).toEqual([400, code, field])
  expect(it.sandbox.requests).toEqual([])
})

test('a field like a proxy in a login is named', async () => {
  await using it = await startWithout()
  const { status, body } = await login(it, { ...ANN, http_proxy: 'a.test:1' })

  expect([status, body.code, body.field]).toEqual([400, 'INVALID_FIELD', 'http_proxy'])
})
