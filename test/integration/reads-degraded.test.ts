import { describe, expect, test } from 'bun:test'
import { createServer } from 'node:http'

import { SESSION_COOKIE } from '../../sandbox/server/sessions.ts'
import { homeOf } from '../../src/config/schema.ts'
import { startReading } from '../support/reads-fixture.ts'
import { signedIn } from '../support/sessions.ts'
import { startTestDaemon } from '../support/test-daemon.ts'

type TestDaemon = Awaited<ReturnType<typeof startTestDaemon>>

const get = (daemon: TestDaemon, path: string, headers: Record<string, string> = {}) =>
  daemon.call(`/api/forum${path}`, {
    headers: { authorization: `Bearer ${daemon.key}`, ...headers },
  })

test('while the platform is degraded four reads of a key run, eight wait, and one more is refused for free', async () => {
  await using daemon = await startReading({ degraded: true })
  const { sandbox } = daemon
  const places = Array.from({ length: 13 }, (_, at) => `place${at}`)
  for (const subforum of places) sandbox.post({ subforum, title: 'Here' })
  sandbox.addFault({ path: '/r/', fault: 'slow', delay_s: 3600 })

  const responses = places.map((subforum) => daemon.get(`/posts?subforum=${subforum}`))
  const refused = await Promise.race(responses)
  const all = Promise.all(responses)
  const done = all.then(() => true)
  while (!(await Promise.race([done, Bun.sleep(1)]))) sandbox.advance(3600)
  const answers = await all

  expect([refused.status, refused.body.code, refused.body.retry_after]).toEqual([
    429,
    'too_many_concurrent_reads',
    2,
  ])
  expect(refused.headers.get('retry-after')).toBe('2')
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(12)
  expect((await daemon.account()).body).toMatchObject({ credits_used: 0.024 })
})

test('the outcomes of platform requests decide if reads are degraded', async () => {
  await using daemon = await startTestDaemon({
    change: (config) => {
      homeOf(config)!.retries = 0
      config.limits.health_cache_s = 0
      config.limits.key_burst = 0
    },
  })
  daemon.sandbox.addFault({ path: '/', fault: '5xx', status: 503 })

  for (let at = 0; at < 20; at++) await get(daemon, `/posts?subforum=place${at}`)

  expect((await daemon.call('/health')).body).toEqual({ ok: true, reads: 'degraded' })
})

test('reads are degraded while the platform is unreachable, and the operator is notified of start and end', async () => {
  const kinds: string[] = []
  using operator = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    async fetch(request) {
      const { kind } = (await request.json()) as { kind: string }
      kinds.push(kind)
      return new Response()
    },
  })
  await using daemon = await startTestDaemon({
    change: (config) => {
      homeOf(config)!.retries = 0
      config.limits.health_cache_s = 0
      config.limits.key_burst = 0
      config.operator.webhook = operator.url.href
    },
  })
  const read = (place: string) => get(daemon, `/posts?subforum=${place}`)
  const requests = () => daemon.sandbox.requests.length
  daemon.sandbox.addFault({ path: '/', fault: 'reset', times: 3 })
  for (const place of ['one', 'two', 'three']) await read(place)

  expect((await daemon.call('/health')).body).toMatchObject({ reads: 'degraded' })
  const requests_before = requests()
  expect((await read('four')).status).toBeGreaterThanOrEqual(502)
  expect(requests()).toBe(requests_before)

  await daemon.clock.advance(2_000)
  await read('five')
  expect(requests()).toBe(requests_before + 1)
  expect((await daemon.call('/health')).body).not.toMatchObject({ reads: 'degraded' })
  await daemon.clock.advance(2_000)
  expect(kinds).toEqual(['platform_unreachable', 'platform_recovered'])
})

test('the share of cached reads is counted, without those of sessions', async () => {
  await using daemon = await startTestDaemon({ change: knowSession })
  daemon.sandbox.post({ subforum: 'coffee', title: 'Here' })
  const ann = signedIn(daemon.sandbox, 'ann')

  for (const headers of [{}, {}, {}, ann]) await get(daemon, '/posts?subforum=coffee', headers)

  const metrics = await (await fetch(`${daemon.url()}/metrics`)).text()
  expect(metrics).toContain('forumd_reads_cache_total{state="miss"} 1\n')
  expect(metrics).toContain('forumd_reads_cache_total{state="hit"} 2\n')
})

test('without an account, and without permission for anonymous reads, nothing is read', async () => {
  await using daemon = await startTestDaemon({
    change: (config) => void (homeOf(config)!.accounts.allow_anonymous = false),
  })

  const { status, body, headers } = await get(daemon, '/posts?subforum=coffee')

  expect([status, body.code]).toEqual([503, 'upstream_unavailable'])
  expect(headers.get('retry-after')).toBe('5')
  expect(headers.has('x-credits-remaining')).toBe(false)
  expect(daemon.sandbox.requests).toEqual([])
})

const knowSession = (config: TestDaemon['config']) => {
  homeOf(config)!.session_cookie = SESSION_COOKIE
}

/**
 * A proxy that forwards plain requests and records their credentials; or one that has just stopped.
 */
async function startProxy({ gone = false } = {}) {
  const requests: { url: string; credentials: string | undefined; cookie: string | undefined }[] =
    []
  const server = createServer((request, response) => {
    const { url = '', headers } = request
    requests.push({ url, credentials: headers['proxy-authorization'], cookie: headers.cookie })
    const onward = { accept: 'application/json', cookie: headers.cookie ?? '' }
    void fetch(url, { headers: onward, redirect: 'manual' }).then(async (answer) => {
      response.writeHead(answer.status, { 'content-type': 'application/json' })
      response.end(await answer.text())
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('no port')
  const stop = () => new Promise<void>((resolve) => server.close(() => resolve()))
  if (gone) await stop()
  return {
    carried: requests,
    port: address.port,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections()
      if (!gone) await stop()
    },
  }
}

const privately = (config: TestDaemon['config']) => {
  knowSession(config)
  config.guard.allow_targets = ['127.0.0.1/32']
  homeOf(config)!.retries = 0
}

describe('a caller’s own proxy', () => {
  test('carries every request of the read, with its credentials', async () => {
    await using daemon = await startTestDaemon({ change: privately })
    await using proxy = await startProxy()
    daemon.sandbox.subforum({ name: 'coffee', moderators: ['ann'] })
    const ann = signedIn(daemon.sandbox, 'ann')

    const { status, body } = await get(daemon, '/sub/coffee/moderators', {
      ...ann,
      'x-forum-proxy': `http://ann:hunter2@127.0.0.1:${proxy.port}`,
    })

    expect([status, body.moderators.length]).toEqual([200, 1])
    expect(proxy.carried.length).toBe(2)
    for (const { url, credentials, cookie } of proxy.carried) {
      expect(url).toStartWith(daemon.sandbox.url)
      expect(credentials).toBe(`Basic ${btoa('ann:hunter2')}`)
      expect(cookie).toContain(ann['x-forum-session'])
    }
    expect(daemon.sandbox.requests.map(({ user }) => user)).toEqual(['ann', 'ann'])
  })

  test('that fails is 502 PROXY_ERROR, and billed; no other egress is used', async () => {
    await using daemon = await startTestDaemon({ change: privately })
    await using proxy = await startProxy({ gone: true })
    const ann = signedIn(daemon.sandbox, 'ann')

    const { status, body, headers } = await get(daemon, '/posts?subforum=coffee', {
      ...ann,
      'x-forum-proxy': `http://ann:hunter2@127.0.0.1:${proxy.port}`,
    })

    expect([status, body.code]).toEqual([502, 'PROXY_ERROR'])
    expect(headers.get('x-credits-remaining')).toBe('99.998')
    expect(daemon.sandbox.requests).toEqual([])
    expect(JSON.stringify([body, daemon.events])).not.toContain('hunter2')
  })

  test.each(['127.0.0.1', '10.0.0.1', '[::1]', 'metadata.google.internal', '169.254.169.254'])(
    'at %s is refused before any connection, for free',
    async (host) => {
      await using daemon = await startTestDaemon({ change: knowSession })
      const ann = signedIn(daemon.sandbox, 'ann')

      const { status, body, headers } = await get(daemon, '/posts?subforum=coffee', {
        ...ann,
        'x-forum-proxy': `socks5h://${host}:1080`,
      })

      expect([status, body.code, body.field]).toEqual([400, 'INVALID_PROXY', 'x-forum-proxy'])
      expect(headers.has('x-credits-remaining')).toBe(false)
      expect(daemon.sandbox.requests).toEqual([])
    },
  )
})
