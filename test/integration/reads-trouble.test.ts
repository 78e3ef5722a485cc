import { describe, expect, test } from 'bun:test'
import { createServer } from 'node:http'

import { SESSION_COOKIE } from '../../src/sandbox/sessions.ts'
import { startHouse } from '../support/house.ts'
import { startReading } from '../support/reading.ts'
import { signedIn } from '../support/sessions.ts'

type House = Awaited<ReturnType<typeof startHouse>>

const get = (house: House, path: string, headers: Record<string, string> = {}) =>
  house.call(`/api/forum${path}`, {
    headers: { authorization: `Bearer ${house.key}`, ...headers },
  })

test('while the platform answers badly four reads of a key run, eight wait, and one more is refused for free', async () => {
  await using house = await startReading({ degraded: true })
  const { sandbox } = house
  const places = Array.from({ length: 13 }, (_, at) => `place${at}`)
  for (const subforum of places) sandbox.post({ subforum, title: 'Here' })
  sandbox.weather({ path: '/r/', fault: 'slow', delay_s: 3600 })

  const asked = places.map((subforum) => house.get(`/posts?subforum=${subforum}`))
  const refused = await Promise.race(asked)
  const all = Promise.all(asked)
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
  expect((await house.account()).body).toMatchObject({ credits_used: 0.024 })
})

test('what was seen of the platform decides whether reads are degraded', async () => {
  await using house = await startHouse({
    change: (config) => {
      config.platform.retries = 0
      config.limits.health_cache_s = 0
      config.limits.key_burst = 0
    },
  })
  house.sandbox.weather({ path: '/', fault: '5xx', status: 503 })

  for (let at = 0; at < 20; at++) await get(house, `/posts?subforum=place${at}`)

  expect((await house.call('/health')).body).toEqual({ ok: true, reads: 'degraded' })
})

test('the share of reads that were spared the platform is counted, those of sessions left out', async () => {
  await using house = await startHouse({ change: knowSession })
  house.sandbox.post({ subforum: 'coffee', title: 'Here' })
  const ann = signedIn(house.sandbox, 'ann')

  for (const headers of [{}, {}, {}, ann]) await get(house, '/posts?subforum=coffee', headers)

  const metrics = await (await fetch(`${house.url()}/metrics`)).text()
  expect(metrics).toContain('forumd_reads_cache_total{state="miss"} 1\n')
  expect(metrics).toContain('forumd_reads_cache_total{state="hit"} 2\n')
})

test('without an account, and without leave to do without, nothing is read', async () => {
  await using house = await startHouse({
    change: (config) => void (config.pool.allow_anonymous = false),
  })

  const { status, body, headers } = await get(house, '/posts?subforum=coffee')

  expect([status, body.code]).toEqual([503, 'upstream_unavailable'])
  expect(headers.get('retry-after')).toBe('5')
  expect(headers.has('x-credits-remaining')).toBe(false)
  expect(house.sandbox.requests).toEqual([])
})

const knowSession = (config: House['config']) => {
  config.platform.session_cookie = SESSION_COOKIE
}

/** A proxy that carries plain requests and remembers for whom; or one that has just gone away. */
async function startProxy({ gone = false } = {}) {
  const carried: { url: string; credentials: string | undefined; cookie: string | undefined }[] = []
  const server = createServer((request, response) => {
    const { url = '', headers } = request
    carried.push({ url, credentials: headers['proxy-authorization'], cookie: headers.cookie })
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
    carried,
    port: address.port,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections()
      if (!gone) await stop()
    },
  }
}

const privately = (config: House['config']) => {
  knowSession(config)
  config.guard.allow_targets = ['127.0.0.1/32']
  config.platform.retries = 0
}

describe('a caller’s own proxy', () => {
  test('carries every request of the read, with its credentials', async () => {
    await using house = await startHouse({ change: privately })
    await using proxy = await startProxy()
    house.sandbox.subforum({ name: 'coffee', moderators: ['ann'] })
    const ann = signedIn(house.sandbox, 'ann')

    const { status, body } = await get(house, '/sub/coffee/moderators', {
      ...ann,
      'x-forum-proxy': `http://ann:hunter2@127.0.0.1:${proxy.port}`,
    })

    expect([status, body.moderators.length]).toEqual([200, 1])
    expect(proxy.carried.length).toBe(2)
    for (const { url, credentials, cookie } of proxy.carried) {
      expect(url).toStartWith(house.sandbox.url)
      expect(credentials).toBe(`Basic ${btoa('ann:hunter2')}`)
      expect(cookie).toContain(ann['x-forum-session'])
    }
    expect(house.sandbox.requests.map(({ user }) => user)).toEqual(['ann', 'ann'])
  })

  test('that cannot carry it is 502 PROXY_ERROR, and billed; nothing goes another way', async () => {
    await using house = await startHouse({ change: privately })
    await using proxy = await startProxy({ gone: true })
    const ann = signedIn(house.sandbox, 'ann')

    const { status, body, headers } = await get(house, '/posts?subforum=coffee', {
      ...ann,
      'x-forum-proxy': `http://ann:hunter2@127.0.0.1:${proxy.port}`,
    })

    expect([status, body.code]).toEqual([502, 'PROXY_ERROR'])
    expect(headers.get('x-credits-remaining')).toBe('99.998')
    expect(house.sandbox.requests).toEqual([])
    expect(JSON.stringify([body, house.events])).not.toContain('hunter2')
  })

  test.each(['127.0.0.1', '10.0.0.1', '[::1]', 'metadata.google.internal', '169.254.169.254'])(
    'at %s is refused before anything is dialled, for free',
    async (host) => {
      await using house = await startHouse({ change: knowSession })
      const ann = signedIn(house.sandbox, 'ann')

      const { status, body, headers } = await get(house, '/posts?subforum=coffee', {
        ...ann,
        'x-forum-proxy': `socks5h://${host}:1080`,
      })

      expect([status, body.code, body.field]).toEqual([400, 'INVALID_PROXY', 'x-forum-proxy'])
      expect(headers.has('x-credits-remaining')).toBe(false)
      expect(house.sandbox.requests).toEqual([])
    },
  )
})
