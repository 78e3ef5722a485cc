import { describe, expect, test } from 'bun:test'
import { createServer, type Socket } from 'node:net'
import { inspect } from 'node:util'
import { gzipSync } from 'node:zlib'

import { createAllowed } from '../../../src/core/base/address.ts'
import type { Proxy } from '../../../src/core/forum/proxy.ts'
import { createEgress } from '../../../src/net/egress.ts'
import { createGuard } from '../../../src/net/guard.ts'
import { createAgents, type EgressRequest } from '../../../src/net/proxy-agents.ts'
import { BODY_MAX } from '../../../src/net/read-body.ts'
import { realClock } from '../../../src/runtime/runtime.ts'
import { certificate } from '../../support/certificate.ts'
import { fakeClock } from '../../support/clock.ts'

const quiet = () => Bun.sleep(1)
const nowhere = () => Promise.reject(new Error('no such name'))

/** An egress on a fake clock, with a platform on the loopback that the resolver knows. */
function createFixture(
  answer: (request: Request) => Response | Promise<Response> = () => new Response('x'),
) {
  const server = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: answer })
  const clock = fakeClock(quiet)
  const egress = createEgress({
    fetch,
    clock,
    resolve: (host) => (host === 'platform.test' ? Promise.resolve(['127.0.0.1']) : nowhere()),
    guard: () => Promise.resolve({ ok: false, refusal: 'not_public' }),
  })
  const requestVia = (proxy: Proxy | null, more: Partial<EgressRequest> = {}): EgressRequest => ({
    url: `http://platform.test:${server.port}/`,
    headers: {},
    route: { proxy, guarded: false },
    timeout_ms: 10_000,
    ...more,
  })
  return {
    clock,
    egress,
    requestVia,
    port: server.port ?? 0,
    async [Symbol.asyncDispose]() {
      egress.close()
      await server.stop(true)
    },
  }
}

/** A proxy that handles each connection with `serve` and counts them. */
async function proxyOf(scheme: Proxy['scheme'], serve: (socket: Socket, count: number) => void) {
  const sockets: Socket[] = []
  const server = createServer((socket) => {
    socket.on('error', () => {})
    sockets.push(socket)
    serve(socket, sockets.length)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  const port = typeof address === 'object' && address ? address.port : 0
  const proxy: Proxy = { scheme, host: '127.0.0.1', port, username: null, password: null }
  return {
    proxy,
    sockets,
    [Symbol.dispose]() {
      for (const socket of sockets) socket.destroy()
      server.close()
    },
  }
}

test("a proxy's request for credentials is not an answer of the platform", async () => {
  await using it = createFixture()
  using proxy_server = await proxyOf('http', (socket) =>
    socket.once('data', () => socket.end('HTTP/1.1 407 Who are you\r\ncontent-length: 0\r\n\r\n')),
  )

  expect(await it.egress.send(it.requestVia(proxy_server.proxy))).toMatchObject({
    ok: false,
    why: 'denied',
  })
})

test('proxies of the environment are ignored', async () => {
  await using it = createFixture()
  using proxy_server = await proxyOf('http', (socket) => socket.destroy())
  process.env.http_proxy = `http://127.0.0.1:${proxy_server.proxy.port}`
  try {
    const url = `http://127.0.0.1:${it.port}/`
    expect(await it.egress.send(it.requestVia(null, { url }))).toMatchObject({ ok: true })
  } finally {
    delete process.env.http_proxy
  }
})

/** Speaks SOCKS 5 until the connection is made, then answers as the platform. */
function socks(answers: readonly (string | Uint8Array)[]) {
  return (socket: Socket) => {
    let step = 0
    socket.on('data', (data) => {
      if (step === 0) socket.write(Uint8Array.of(5, 0))
      else if (step === 1) socket.write(Uint8Array.of(5, 0, 0, 1, 127, 0, 0, 1, 0, 80))
      else {
        const answer = answers[step - 2]
        if (answer === undefined || data.length === 0) socket.destroy()
        else socket.write(answer)
      }
      step += 1
    })
  }
}

const httpResponse = (body: string) =>
  `HTTP/1.1 200 OK\r\ncontent-length: ${body.length}\r\nconnection: keep-alive\r\n\r\n${body}`

describe('a deadline', () => {
  test.each(['http', 'https', 'socks4', 'socks5', 'socks5h'] as const)(
    'holds for an %s proxy that accepts and never answers',
    async (scheme) => {
      await using it = createFixture()
      const arrived = Promise.withResolvers<void>()
      using silent = await proxyOf(scheme, () => arrived.resolve())

      const result = it.egress.send(it.requestVia(silent.proxy))
      await arrived.promise
      await it.clock.advance(10_000)

      expect(await result).toMatchObject({ ok: false, why: 'timeout' })
    },
  )

  test('holds for an endless body, through SOCKS too', async () => {
    await using it = createFixture()
    const arrived = Promise.withResolvers<void>()
    using dripping = await proxyOf('socks5h', (socket) => {
      socks(['HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nthe first words'])(socket)
      socket.on('data', (data) => data.includes('GET') && arrived.resolve())
    })

    const result = it.egress.send(it.requestVia(dripping.proxy))
    await arrived.promise
    await it.clock.advance(10_000)

    expect(await result).toMatchObject({ ok: false, why: 'timeout' })
  })

  test('is not awaited after the caller aborts', async () => {
    await using it = createFixture()
    const arrived = Promise.withResolvers<void>()
    using silent = await proxyOf('socks5', () => arrived.resolve())
    const given = new AbortController()

    const result = it.egress.send(it.requestVia(silent.proxy, { signal: given.signal }))
    await arrived.promise
    given.abort()

    expect(await result).toMatchObject({ ok: false, why: 'timeout' })
    expect(
      await it.egress.send(it.requestVia(silent.proxy, { signal: given.signal })),
    ).toMatchObject({
      ok: false,
      why: 'timeout',
    })
    expect(silent.sockets.length).toBe(1)
  })
})

/** An egress with its own fetch, which records the signal that it received. */
function over(answer: () => Promise<Response>) {
  const clock = fakeClock(quiet)
  const signals: (AbortSignal | null | undefined)[] = []
  const { send } = createEgress({
    fetch: (_, { signal }) => {
      signals.push(signal)
      return answer()
    },
    clock,
    resolve: nowhere,
    guard: () => Promise.resolve({ ok: false, refusal: 'not_public' }),
  })
  const request: EgressRequest = {
    url: 'http://platform.test/',
    headers: {},
    route: { proxy: null, guarded: false },
    timeout_ms: 10_000,
  }
  return {
    clock,
    send,
    request,
    abortedSignals: () => signals.map((it) => it?.aborted),
  }
}
const never = () => new Promise<Response>(() => {})

test('a direct request whose address the guard has to accept is not sent where it does not', async () => {
  const { send, request, abortedSignals } = over(() => Promise.resolve(new Response('x')))

  const guarded = await send({ ...request, route: { proxy: null, guarded: true } })
  expect([guarded, abortedSignals()]).toEqual([
    { ok: false, why: 'refused', left: false, cause: 'guarded' },
    [],
  ])
  expect((await send(request)).ok).toBe(true)
})

describe('a fetch that ignores its signal', () => {
  test('does not delay a caller that aborts', async () => {
    const { send, request, abortedSignals } = over(never)
    const given = new AbortController()

    const result = send({ ...request, signal: given.signal })
    given.abort()

    expect(await result).toMatchObject({ ok: false, why: 'timeout' })
    expect(abortedSignals()).toEqual([true])
  })

  test('is abandoned at the deadline', async () => {
    const { clock, send, request, abortedSignals } = over(never)

    const result = send(request)
    await clock.advance(10_000)

    expect(await result).toMatchObject({ ok: false, why: 'timeout' })
    expect(abortedSignals()).toEqual([true])
  })
})

const large = () => new Response('x', { headers: { 'content-length': String(BODY_MAX + 1) } })

test('an unread body is aborted, and a complete one is not', async () => {
  for (const [answer, aborted] of [
    [large, true],
    [() => new Response('x'), false],
  ] as const) {
    const it = over(() => Promise.resolve(answer()))
    const given = new AbortController()
    const { ok } = await it.send({ ...it.request, signal: given.signal })
    await it.clock.advance(20_000)
    given.abort()
    expect({ ok, abortedSignals: it.abortedSignals() }).toEqual({
      ok: !aborted,
      abortedSignals: [aborted],
    })
  }
})

describe('a body through SOCKS', () => {
  test('above 8 MiB is too large', async () => {
    await using it = createFixture()
    using proxy = await proxyOf('socks5h', socks([httpResponse('x'.repeat(BODY_MAX + 1))]))

    expect(await it.egress.send(it.requestVia(proxy.proxy))).toMatchObject({
      ok: false,
      why: 'too_large',
    })
  })

  test('above 8 MiB after decompression is too large as well', async () => {
    await using it = createFixture()
    const packed = gzipSync('x'.repeat(BODY_MAX + 1))
    const head = `HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: ${packed.length}\r\n\r\n`
    const answer = Buffer.concat([Buffer.from(head), packed])
    using proxy = await proxyOf('socks5h', socks([answer]))

    expect(await it.egress.send(it.requestVia(proxy.proxy))).toMatchObject({
      ok: false,
      why: 'too_large',
    })
  })
})

describe('a kept connection', () => {
  test('is used for the next request', async () => {
    await using it = createFixture()
    using proxy = await proxyOf('socks5h', socks([httpResponse('one'), httpResponse('two')]))

    const first = await it.egress.send(it.requestVia(proxy.proxy))
    await quiet()
    const second = await it.egress.send(it.requestVia(proxy.proxy))

    expect([first, second].map((one) => one.ok && one.answer.body)).toEqual(['one', 'two'])
    expect(proxy.sockets.length).toBe(1)
  })

  test('that was closed is replaced for a request that changes nothing', async () => {
    await using it = createFixture()
    using proxy = await proxyOf('socks5h', (socket, count) =>
      socks([httpResponse(`of ${count}`)])(socket),
    )

    await it.egress.send(it.requestVia(proxy.proxy))
    await quiet()
    const second = await it.egress.send(it.requestVia(proxy.proxy))

    expect(second).toMatchObject({ ok: true, answer: { body: 'of 2' } })
  })

  test('that was closed fails a form, which may have arrived', async () => {
    await using it = createFixture()
    using proxy = await proxyOf('socks5h', (socket, count) =>
      socks([httpResponse(`of ${count}`)])(socket),
    )

    await it.egress.send(it.requestVia(proxy.proxy))
    await quiet()
    const form = it.requestVia(proxy.proxy, { method: 'POST', body: 'a=1' })

    expect(await it.egress.send(form)).toMatchObject({ ok: false, why: 'failed' })
    expect(proxy.sockets.length).toBe(1)
  })
})

function agentsOf() {
  const clock = fakeClock(quiet)
  return { clock, agents: createAgents({ clock, resolve: nowhere }) }
}

describe('a kept agent', () => {
  const proxy: Proxy = {
    scheme: 'socks5',
    host: 'p.test',
    port: 1080,
    username: 'a',
    password: 'b',
  }

  test('is shared for the same proxy, address and credentials only', () => {
    const { agents } = agentsOf()
    const first = agents.borrow(proxy, '192.0.2.1')

    expect(agents.borrow(proxy, '192.0.2.1').agent).toBe(first.agent)
    for (const [other, address] of [
      [{ ...proxy, password: 'c' }, '192.0.2.1'],
      [{ ...proxy, username: 'c' }, '192.0.2.1'],
      [{ ...proxy, username: null, password: null }, '192.0.2.1'],
      [{ ...proxy, scheme: 'socks5h' }, '192.0.2.1'],
      [{ ...proxy, host: 'q.test' }, '192.0.2.1'],
      [{ ...proxy, port: 1081 }, '192.0.2.1'],
      [proxy, '192.0.2.2'],
    ] as const)
      expect(agents.borrow(other, address).agent).not.toBe(first.agent)
  })

  test('shows no credentials when it is printed', () => {
    const { agents } = agentsOf()
    const secret = { ...proxy, username: 'the-name', password: 'the-word' }
    const printed = (['socks4', 'socks5', 'socks5h'] as const)
      .map((scheme) => agents.borrow({ ...secret, scheme }, '192.0.2.1').agent)
      .map((it) => JSON.stringify(it) + inspect(it, { depth: 5 }))
      .join()

    expect(printed).not.toContain('the-name')
    expect(printed).not.toContain('the-word')
  })

  test('is closed a minute after its last use, but never during one', async () => {
    const { clock, agents } = agentsOf()
    const agent = agents.borrow(proxy, '192.0.2.1')
    agents.borrow(proxy, '192.0.2.2').done()
    await clock.advance(60_000)
    agents.borrow(proxy, '192.0.2.3').done()

    expect(agents.borrow(proxy, '192.0.2.1').agent).toBe(agent.agent)
    expect(agents.borrow(proxy, '192.0.2.2').reused).toBe(false)
    expect(agents.borrow(proxy, '192.0.2.3').reused).toBe(true)
  })

  test('is one of a limited number: the least recently used is closed', () => {
    const { agents } = agentsOf()
    for (let n = 0; n < 65; n++) agents.borrow(proxy, `192.0.2.${n}`).done()

    expect(agents.borrow(proxy, '192.0.2.0').reused).toBe(false)
    expect(agents.borrow(proxy, '192.0.2.64').reused).toBe(true)
  })
})

describe('a direct request', () => {
  test('to a closed port is unreached', async () => {
    await using it = createFixture()
    const request = it.requestVia(null, { url: 'http://127.0.0.1:1/' })

    expect(await it.egress.send(request)).toMatchObject({ ok: false, why: 'unreached' })
  })

  test('returns a redirect like other answers', async () => {
    await using it = createFixture(
      () => new Response('', { status: 302, headers: { location: '/y' } }),
    )
    const url = `http://127.0.0.1:${it.port}/x`

    const result = await it.egress.send(it.requestVia(null, { url }))

    expect(result).toMatchObject({ ok: true, answer: { status: 302 } })
  })
})

test("a caller's proxy that the guard refuses is not dialled with any scheme", async () => {
  await using it = createFixture()
  for (const scheme of ['http', 'https', 'socks4', 'socks5', 'socks5h'] as const) {
    using proxy = await proxyOf(scheme, () => {})
    const route = { proxy: proxy.proxy, guarded: true }

    expect(await it.egress.send(it.requestVia(null, { route }))).toMatchObject({
      ok: false,
      why: 'refused',
    })
    expect(proxy.sockets).toEqual([])
  }
})

describe('a request whose address is not of the configuration file', () => {
  test.each(['http', 'https'] as const)(
    'goes over %s to the address that the guard has checked, with its name',
    async (scheme) => {
      const { key, cert } = await certificate()
      const hosts: (string | null)[] = []
      using server = Bun.serve({
        hostname: '127.0.0.1',
        port: 0,
        ...(scheme === 'https' && { tls: { key, cert } }),
        fetch(request) {
          hosts.push(request.headers.get('host'))
          return new Response('x')
        },
      })
      // DNS rebinding: only the first resolution gives the checked address, and the system does not know the name.
      const answers = ['127.0.0.1', '127.0.0.2']
      const guard = createGuard({
        resolve: async () => answers.splice(0, 1),
        clock: fakeClock(quiet),
        allowed: createAllowed({ allow_targets: ['127.0.0.1'], allow_http: true }),
        timeout_ms: 1000,
      })
      const egress = createEgress({ fetch, clock: realClock, resolve: nowhere, guard, ca: cert })
      const request: EgressRequest = {
        url: `${scheme}://receiver.test:${server.port}/`,
        headers: {},
        route: { proxy: null, guarded: true },
        timeout_ms: 10_000,
      }

      expect(await egress.send(request)).toMatchObject({ ok: true, answer: { body: 'x' } })
      expect(await egress.send(request)).toMatchObject({ ok: false, why: 'refused' })
      expect(hosts).toEqual([`receiver.test:${server.port}`])
    },
  )
})
