import { afterAll, beforeAll, beforeEach, expect, setDefaultTimeout, test } from 'bun:test'
import { connect, createServer } from 'node:net'

import type { Proxy } from '../../src/core/forum/proxy.ts'
import {
  PASSWORD,
  PLAIN_PASSWORD,
  type RunningProxy,
  startMicrosocks,
  startTinyproxy,
  USER,
} from '../integration/egress-proxies.ts'
import { type BrowserFixture, inBrowser, startBrowserFixture, TEST_MS } from './fixture.ts'

setDefaultTimeout(TEST_MS)

const missing = ['tinyproxy', 'microsocks'].filter((it) => Bun.which(it) === null)
if (missing.length > 0 && !process.env['CI'])
  console.log(`not installed: ${missing.join(', ')}; a browser behind proxies is not tested`)

/** A relay in front of the platform that records the source address of each connection. */
async function startForwarder() {
  const from = new Set<string>()
  let port = 0
  const server = createServer((near) => {
    from.add(near.remoteAddress ?? '')
    const far = connect(port, '127.0.0.1')
    near.pipe(far).pipe(near)
    for (const socket of [near, far]) socket.on('error', () => (near.destroy(), far.destroy()))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  return {
    from,
    url: `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}`,
    leadTo: (to: number) => (port = to),
    [Symbol.dispose]: () => server.close(),
  }
}

inBrowser('a browser behind a proxy', () => {
  let it: BrowserFixture
  let forwarder: Awaited<ReturnType<typeof startForwarder>>
  let http: RunningProxy
  let socks: RunningProxy
  const stack = new AsyncDisposableStack()
  if (missing.length > 0 && !process.env['CI']) return
  beforeAll(async () => {
    forwarder = stack.use(await startForwarder())
    it = stack.use(await startBrowserFixture({ base_url: forwarder.url }))
    forwarder.leadTo(it.sandbox.port)
    http = stack.use(await startTinyproxy())
    socks = stack.use(await startMicrosocks())
  }, TEST_MS)
  beforeEach(() => forwarder.from.clear())
  afterAll(() => stack.disposeAsync(), TEST_MS)

  const tinyproxy = (password = PLAIN_PASSWORD): Proxy => ({
    scheme: 'http',
    host: '127.0.0.1',
    port: http.port,
    username: 'user',
    password,
  })
  const microsocks = (password = PASSWORD): Proxy => ({
    scheme: 'socks5',
    host: '127.0.0.1',
    port: socks.port,
    username: USER,
    password,
  })

  test.each([
    ['an http proxy with credentials', () => tinyproxy()],
    ['a socks5 proxy with credentials', () => microsocks()],
  ])('signs in and comments only through %s', async (_, proxy) => {
    const { name: post } = it.sandbox.post({ subforum: 'bread', author: 'bea', title: 'Rye' })

    const signed = await it.signIn('ann', { proxy: proxy() })
    const done = await it.answer('ann', { post }, { proxy: proxy() })

    expect({ signed, done }).toMatchObject({ signed: { ok: true }, done: { ok: true } })
    expect([...forwarder.from]).toEqual([proxy().scheme === 'http' ? http.from : socks.from])
  })

  test.each<[string, () => Proxy, string]>([
    ['an http proxy that refuses our credentials', () => tinyproxy('wrong'), 'denied'],
    ['a socks5 proxy that refuses our credentials', () => microsocks('wrong'), 'denied'],
    ['an unreachable proxy', () => ({ ...tinyproxy(), port: 1 }), 'unreachable'],
    [
      'a proxy with another protocol',
      () => ({ ...tinyproxy(), scheme: 'https', port: it.sandbox.port }),
      'failed',
    ],
  ])('%s is reported as a fault of the proxy', async (_, proxy, trouble) => {
    const { name: post } = it.sandbox.post({ subforum: 'bread', author: 'bea', title: 'Rye' })

    const signed = await it.signIn('ann', { proxy: proxy() })
    const done = await it.answer('ann', { post }, { proxy: proxy() })

    expect(signed).toMatchObject({ ok: false, code: 'UPSTREAM_ERROR', trouble })
    expect(done).toMatchObject({ ok: false, fault: { kind: 'proxy', trouble } })
    expect([...forwarder.from]).toEqual([])
  })

  test.each(['socks4', 'socks5h'] as const)(
    '%s is not supported as a browser proxy',
    async (scheme) => {
      const signed = await it.signIn('ann', { proxy: { ...microsocks(), scheme } })

      expect(signed).toEqual({ ok: false, code: null, fault: { kind: 'scheme' } })
    },
  )
})
