import { describe, expect, test } from 'bun:test'

import type { Proxy } from '../../../src/core/forum/proxy.ts'
import { createSignIn, type SignInRequest } from '../../../src/gateway/login.ts'
import {
  ANONYMOUS,
  type BrowserLoginResult,
  type LoginResult,
} from '../../../src/platforms/port.ts'
import { fakeClock } from '../../support/clock.ts'

const ANN: SignInRequest = {
  username: 'ann',
  password: 'open-sesame',
  totp_secret: null,
  method: 'http',
  proxy: null,
  locale: 'en-US',
  timezone: 'UTC',
}
const proxyOf = (scheme: Proxy['scheme']): Proxy => ({
  scheme,
  host: 'proxy.test',
  port: 1080,
  username: null,
  password: null,
})

/** Signs in with the given results of HTTP and browser, and returns the methods that were tried. */
async function signIn(
  over: Partial<SignInRequest>,
  first: LoginResult,
  second: BrowserLoginResult,
  pools: Proxy | null = null,
) {
  const login_calls: string[] = []
  const proxies: (Proxy | null)[] = []
  const sign = createSignIn({
    login: async ({ proxy, whose }) => {
      login_calls.push(`http ${whose}`)
      proxies.push(proxy)
      return first
    },
    browser_login: async ({ proxy, whose }) => {
      login_calls.push(`browser ${whose}`)
      proxies.push(proxy)
      return second
    },
    browser_schemes: ['http', 'https', 'socks5'],
    identities: { lease: () => ({ ...ANONYMOUS, proxy: pools }) },
    clock: fakeClock(() => Promise.resolve()),
    deadline_ms: 30_000,
    browser_deadline_ms: 60_000,
  })
  const { method, result } = await sign({ ...ANN, ...over })
  return { login_calls, proxies, method, code: result.ok ? 'ok' : result.code }
}

const failed = (code: Extract<LoginResult, { ok: false }>['code']): LoginResult => ({
  ok: false,
  code,
})
const missing: BrowserLoginResult = {
  ok: false,
  code: null,
  fault: { kind: 'unavailable', why: 'no browser' },
}

describe('a sign-in over http', () => {
  test('without a readable verdict is tried in the browser', async () => {
    expect(await signIn({}, failed('UNKNOWN'), failed('AUTH_FAILED'))).toMatchObject({
      login_calls: ['http pool', 'browser pool'],
      method: 'browser',
      code: 'AUTH_FAILED',
    })
  })

  test.each([
    'AUTH_FAILED',
    'TWO_FACTOR_REQUIRED',
    'TWO_FACTOR_INVALID',
    'UPSTREAM_BLOCKED',
    'UPSTREAM_ERROR',
  ] as const)('that ends with %s is final: a refusal is not bypassed', async (code) => {
    expect(await signIn({}, failed(code), missing)).toMatchObject({
      login_calls: ['http pool'],
      method: 'http',
      code,
    })
  })

  test('keeps its result without a browser', async () => {
    expect(await signIn({}, failed('UNKNOWN'), missing)).toMatchObject({
      login_calls: ['http pool', 'browser pool'],
      method: 'http',
      code: 'UNKNOWN',
    })
  })

  test.each(['socks4', 'socks5h'] as const)(
    'keeps its result behind a %s proxy, which no browser supports',
    async (scheme) => {
      const ended = await signIn({ proxy: proxyOf(scheme) }, failed('UNKNOWN'), missing)

      expect(ended.login_calls).toEqual(['http caller'])
    },
  )

  test('uses the same proxy for both', async () => {
    const own = proxyOf('socks5')
    const { login_calls, proxies } = await signIn({ proxy: own }, failed('UNKNOWN'), missing)

    expect(login_calls).toEqual(['http caller', 'browser caller'])
    expect(proxies).toEqual([own, own])
  })
})

test('a sign-in in the browser uses no other method', async () => {
  const pools = proxyOf('http')
  const ended = await signIn({ method: 'browser' }, failed('UNKNOWN'), missing, pools)

  expect(ended).toMatchObject({ login_calls: ['browser pool'], method: 'browser', code: null })
  expect(ended.proxies).toEqual([pools])
})
