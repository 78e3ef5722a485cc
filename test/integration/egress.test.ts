import { afterAll, beforeAll, describe, expect, test } from 'bun:test'

import { createAllowed } from '../../src/core/base/address.ts'
import type { Proxy } from '../../src/core/forum/proxy.ts'
import { createEgress } from '../../src/net/egress.ts'
import { createGuard } from '../../src/net/guard.ts'
// Goal: a request uses its selected egress and no other, and a failing egress reports its fault.
// Method: real proxies from Debian, each of which connects from its own address to a server that
// records it.
import type { EgressRequest } from '../../src/net/proxy-agents.ts'
import { realClock } from '../../src/runtime/runtime.ts'
import { certificate } from '../support/certificate.ts'
import { installsAll } from '../support/long-form.ts'
import {
  missing,
  PASSWORD,
  PLAIN_PASSWORD,
  type RunningProxy,
  startDante,
  startMicrosocks,
  startSquid,
  startTinyproxy,
  USER,
} from './egress-proxies.ts'

const absent = missing()
if (absent.length > 0)
  console.log(`these are not installed, real proxies are skipped: ${absent.join(', ')}`)

test('the packages of real proxies are installed where required', () => {
  if (installsAll) expect(absent).toEqual([])
})

/**
 * The platform at two addresses of one port: `here` in the local resolver, `there` in the proxies'.
 */
const HERE = '127.0.0.1'
const THERE = '127.0.0.2'
const NAMES = { 'platform.test': THERE, 'other.test': THERE }

type Seen = {
  from: string
  side: 'here' | 'there'
  method: string
  body: string
  cookie: string | null
}
const seen: Seen[] = []
const requested_hosts: string[] = []

describe.skipIf(absent.length > 0)('through real proxies', () => {
  const stack = new AsyncDisposableStack()
  let url = ''
  let plain_url = ''
  let tinyproxy: RunningProxy
  let microsocks: RunningProxy
  let dante: RunningProxy
  let squid: RunningProxy & { tls_port: number }
  let send: (
    way: Partial<Proxy>,
    more?: Partial<EgressRequest & { guarded: boolean }>,
  ) => Promise<unknown>

  beforeAll(async () => {
    const platform = await certificate(['platform.test'])
    const proxy_tls = await certificate(['proxy.test', 'localhost'])
    const serve = (hostname: string, port: number, tls?: typeof platform) => {
      const server = Bun.serve({
        hostname,
        port,
        ...(tls && { tls }),
        async fetch(request, self): Promise<Response> {
          seen.push({
            from: self.requestIP(request)?.address ?? '',
            side: hostname === HERE ? 'here' : 'there',
            method: request.method,
            body: await request.text(),
            cookie: request.headers.get('cookie'),
          })
          const headers = new Headers([
            ['set-cookie', 'a=1'],
            ['set-cookie', 'b=2'],
            ['content-encoding', 'gzip'],
          ])
          return new Response(Bun.gzipSync('{"as":"asked"}'), { headers })
        },
      })
      stack.defer(() => server.stop(true))
      return server.port ?? 0
    }
    const port = serve(HERE, 0, platform)
    serve(THERE, port, platform)
    url = `https://platform.test:${port}/x.json`
    plain_url = `http://platform.test:${serve(THERE, 0)}/x.json`

    tinyproxy = stack.use(await startTinyproxy(NAMES))
    microsocks = stack.use(await startMicrosocks(NAMES))
    dante = stack.use(await startDante(NAMES))
    squid = stack.use(await startSquid(NAMES, proxy_tls))

    const resolve = (host: string) => {
      requested_hosts.push(host)
      return host.endsWith('.test') ? Promise.resolve([HERE]) : Promise.reject(new Error('unknown'))
    }
    const egress = createEgress({
      fetch,
      clock: realClock,
      resolve,
      guard: createGuard({
        resolve,
        clock: realClock,
        allowed: createAllowed({ allow_targets: ['proxy.test'], allow_http: false }),
        timeout_ms: 5_000,
      }),
      ca: `${platform.cert}${proxy_tls.cert}`,
    })
    stack.defer(egress.close)
    send = async (proxy_options, { guarded = false, ...more } = {}) => {
      const proxy: Proxy = {
        scheme: 'http',
        host: '127.0.0.1',
        port: 0,
        username: null,
        password: null,
        ...proxy_options,
      }
      const request: EgressRequest = {
        url,
        headers: { cookie: 'session=s' },
        route: { proxy, guarded },
        timeout_ms: 10_000,
        ...more,
      }
      const result = await egress.send(request)
      if (!result.ok) return result.why
      const { status, headers, body } = result.answer
      return { status, body, cookies: headers.getSetCookie() }
    }
  })
  afterAll(() => stack.disposeAsync())

  const ANSWER = { status: 200, body: '{"as":"asked"}', cookies: ['a=1', 'b=2'] }

  /** Every working egress: its name, and what the server and both resolvers observe of it. */
  const PROXY_KINDS: [string, () => Partial<Proxy>, string, 'here' | 'there'][] = [
    ['an http proxy', () => tiny(), '127.0.0.6', 'there'],
    ['another http proxy', () => ofSquid('http'), '127.0.0.7', 'there'],
    ['an https proxy', () => ofSquid('https'), '127.0.0.7', 'there'],
    ['socks4', () => ({ scheme: 'socks4', port: dante.port }), '127.0.0.8', 'here'],
    ['socks5', () => micro('socks5'), '127.0.0.9', 'here'],
    ['socks5 without a name', () => ({ scheme: 'socks5', port: dante.port }), '127.0.0.8', 'here'],
    ['socks5h', () => micro('socks5h'), '127.0.0.9', 'there'],
  ]
  const tiny = (): Partial<Proxy> => ({
    port: tinyproxy.port,
    username: 'user',
    password: PLAIN_PASSWORD,
  })
  const ofSquid = (scheme: 'http' | 'https'): Partial<Proxy> => ({
    scheme,
    host: scheme === 'https' ? 'localhost' : '127.0.0.1',
    port: scheme === 'https' ? squid.tls_port : squid.port,
    username: USER,
    password: PASSWORD,
  })
  const micro = (scheme: 'socks5' | 'socks5h'): Partial<Proxy> => ({
    scheme,
    port: microsocks.port,
    username: USER,
    password: PASSWORD,
  })

  test.each(PROXY_KINDS)(
    '%s carries a request and its answer',
    async (_name, proxyOptions, from, side) => {
      seen.length = 0
      requested_hosts.length = 0

      expect(await send(proxyOptions())).toEqual(ANSWER)

      expect(seen).toEqual([{ from, side, method: 'GET', body: '', cookie: 'session=s' }])
      // Names are resolved on the side of the scheme, and on that side only.
      expect(requested_hosts).toEqual(side === 'here' ? ['platform.test'] : [])
    },
  )

  test.each(PROXY_KINDS)('%s carries a form', async (_name, proxyOptions, from, side) => {
    seen.length = 0

    expect(await send(proxyOptions(), { method: 'POST', body: 'a=1&b=2' })).toEqual(ANSWER)

    expect(seen).toEqual([{ from, side, method: 'POST', body: 'a=1&b=2', cookie: 'session=s' }])
  })

  test.each([
    ['an http proxy', () => ofSquid('http'), '127.0.0.7'],
    ['an https proxy', () => ofSquid('https'), '127.0.0.7'],
    ['socks5h', () => micro('socks5h'), '127.0.0.9'],
  ])('%s carries plain http', async (_name, proxyOptions, from) => {
    seen.length = 0

    expect(await send(proxyOptions(), { url: plain_url })).toEqual(ANSWER)

    expect(seen.map((it) => it.from)).toEqual([from])
  })

  test.each(PROXY_KINDS)(
    '%s reuses its connection for the next request',
    async (_name, proxyOptions) => {
      seen.length = 0

      expect(await Promise.all([1, 2, 3].map(() => send(proxyOptions())))).toEqual([
        ANSWER,
        ANSWER,
        ANSWER,
      ])
      expect(await send(proxyOptions())).toEqual(ANSWER)

      expect(seen.length).toBe(4)
    },
  )

  test.each(PROXY_KINDS)(
    "%s is accepted only with the platform's own certificate",
    async (_name, proxyOptions) => {
      const other = url.replace('platform.test', 'other.test')
      seen.length = 0

      expect(await send(proxyOptions(), { url: other })).toBe('failed')

      expect(seen).toEqual([])
    },
  )

  test.each([
    ['an http proxy', () => ({ ...tiny(), password: 'wrong' })],
    ['an http proxy without credentials', () => ({ port: tinyproxy.port })],
    ['an https proxy', () => ({ ...ofSquid('https'), password: 'wrong' })],
    ['socks5', () => ({ ...micro('socks5'), password: 'wrong' })],
    ['socks5h', () => ({ ...micro('socks5h'), password: 'wrong' })],
    ['socks5 without credentials', () => ({ ...micro('socks5'), username: null, password: null })],
  ])('%s that refuses the credentials is denied', async (_name, proxyOptions) => {
    seen.length = 0

    expect(await send(proxyOptions())).toBe('denied')

    expect(seen).toEqual([])
  })

  test.each(['http', 'https', 'socks4', 'socks5', 'socks5h'] as const)(
    'where no %s proxy listens is unreachable',
    async (scheme) => {
      expect(await send({ scheme, port: 1, username: USER, password: PASSWORD })).toBe(
        'unreachable',
      )
    },
  )

  test.each(PROXY_KINDS)(
    '%s that cannot reach the platform has failed',
    async (_name, proxyOptions) => {
      expect(await send(proxyOptions(), { url: 'https://platform.test:1/' })).toBe('failed')
    },
  )

  test('a name that the proxy resolves is not sent to the local resolver', async () => {
    requested_hosts.length = 0

    expect(await send(micro('socks5h'), { url: 'https://unknown.invalid/' })).toBe('failed')
    expect(await send(tiny(), { url: 'https://unknown.invalid/' })).toBe('failed')
    expect(requested_hosts).toEqual([])

    expect(await send(micro('socks5'), { url: 'https://unknown.invalid/' })).toBe('failed')
    expect(requested_hosts).toEqual(['unknown.invalid'])
  })

  describe('named by a caller', () => {
    const guarded = true

    test('the proxy is dialled at the address that the guard returned, resolved once', async () => {
      seen.length = 0
      requested_hosts.length = 0

      expect(await send({ ...tiny(), host: 'proxy.test' }, { guarded })).toEqual(ANSWER)
      expect(await send({ ...micro('socks5h'), host: 'proxy.test' }, { guarded })).toEqual(ANSWER)

      expect(requested_hosts).toEqual(['proxy.test', 'proxy.test'])
      expect(seen.map(({ from }) => from)).toEqual(['127.0.0.6', '127.0.0.9'])
    })

    test('an https proxy is verified by its name, at any address', async () => {
      const mine = { ...ofSquid('https'), host: 'proxy.test' }

      expect(await send(mine, { guarded })).toEqual(ANSWER)
    })

    test.each(['127.0.0.1', 'localhost', 'inner.test', '169.254.169.254'])(
      'nothing is dialled at %s',
      async (host) => {
        seen.length = 0

        expect(await send({ ...tiny(), host }, { guarded })).toBe('refused')

        expect(seen).toEqual([])
      },
    )
  })
})
