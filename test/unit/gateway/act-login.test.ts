import { describe, expect, test } from 'bun:test'

import type { Proxy } from '../../../src/core/proxy.ts'
import { createSignIn, type SignIn } from '../../../src/gateway/act-login.ts'
import type { BrowserLoginResult } from '../../../src/platform/browser/login.ts'
import type { LoginResult } from '../../../src/platform/login.ts'
import { ANONYMOUS } from '../../../src/platform/platform.ts'
import { fakeClock } from '../../support/clock.ts'

const ANN: SignIn = {
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

/** Signs in where HTTP and the browser end as they are told, and tells which of them was asked. */
async function signIn(
  over: Partial<SignIn>,
  first: LoginResult,
  second: BrowserLoginResult,
  pools: Proxy | null = null,
) {
  const asked: string[] = []
  const ways: (Proxy | null)[] = []
  const sign = createSignIn({
    login: async ({ proxy, whose }) => {
      asked.push(`http ${whose}`)
      ways.push(proxy)
      return first
    },
    browser_login: async ({ proxy, whose }) => {
      asked.push(`browser ${whose}`)
      ways.push(proxy)
      return second
    },
    browser_schemes: ['http', 'https', 'socks5'],
    eyes_of: { lease: () => ({ ...ANONYMOUS, proxy: pools }) },
    clock: fakeClock(() => Promise.resolve()),
    deadline_ms: 30_000,
    browser_deadline_ms: 60_000,
  })
  const { method, result } = await sign({ ...ANN, ...over })
  return { asked, ways, method, code: result.ok ? 'ok' : result.code }
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
  test('without a verdict that can be read is tried in the browser', async () => {
    expect(await signIn({}, failed('UNKNOWN'), failed('AUTH_FAILED'))).toMatchObject({
      asked: ['http pool', 'browser pool'],
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
  ] as const)('that ends with %s ends there: a refusal is not gone around', async (code) => {
    expect(await signIn({}, failed(code), missing)).toMatchObject({
      asked: ['http pool'],
      method: 'http',
      code,
    })
  })

  test('keeps its own word where there is no browser', async () => {
    expect(await signIn({}, failed('UNKNOWN'), missing)).toMatchObject({
      asked: ['http pool', 'browser pool'],
      method: 'http',
      code: 'UNKNOWN',
    })
  })

  test.each(['socks4', 'socks5h'] as const)(
    'keeps its own word behind a %s proxy, which no browser knows',
    async (scheme) => {
      const ended = await signIn({ proxy: proxyOf(scheme) }, failed('UNKNOWN'), missing)

      expect(ended.asked).toEqual(['http caller'])
    },
  )

  test('takes the same way out for both', async () => {
    const own = proxyOf('socks5')
    const { asked, ways } = await signIn({ proxy: own }, failed('UNKNOWN'), missing)

    expect(asked).toEqual(['http caller', 'browser caller'])
    expect(ways).toEqual([own, own])
  })
})

test('a sign-in in the browser asks nobody else', async () => {
  const pools = proxyOf('http')
  const ended = await signIn({ method: 'browser' }, failed('UNKNOWN'), missing, pools)

  expect(ended).toMatchObject({ asked: ['browser pool'], method: 'browser', code: null })
  expect(ended.ways).toEqual([pools])
})
