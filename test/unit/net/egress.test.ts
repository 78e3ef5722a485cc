import { describe, expect, test } from 'bun:test'
import { createServer, type Socket } from 'node:net'
import { inspect } from 'node:util'
import { gzipSync } from 'node:zlib'

import type { Proxy } from '../../../src/core/proxy.ts'
import { createAgents } from '../../../src/net/agents.ts'
import { createEgress, type Errand } from '../../../src/net/egress.ts'
import { createSweep } from '../../../src/net/sweep.ts'
import { BODY_MAX } from '../../../src/net/whole.ts'
import { fakeClock } from '../../support/clock.ts'

const quiet = () => Bun.sleep(1)
const nowhere = () => Promise.reject(new Error('no such name'))

/** A way out on a clock we hold, with a platform on the loopback that is known to the resolver. */
function stage(
  answer: (request: Request) => Response | Promise<Response> = () => new Response('x'),
  collect?: () => void,
) {
  const server = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: answer })
  const clock = fakeClock(quiet)
  const egress = createEgress({
    fetch,
    clock,
    resolve: (host) => (host === 'platform.test' ? Promise.resolve(['127.0.0.1']) : nowhere()),
    guard: () => Promise.resolve({ ok: false, refusal: 'not_public' }),
    sweep: createSweep({ clock, collect }),
  })
  const errand = (proxy: Proxy | null, more: Partial<Errand> = {}): Errand => ({
    url: `http://platform.test:${server.port}/`,
    headers: {},
    way: { proxy, guarded: false },
    timeout_ms: 10_000,
    ...more,
  })
  return {
    clock,
    egress,
    errand,
    port: server.port ?? 0,
    async [Symbol.asyncDispose]() {
      egress.close()
      await server.stop(true)
    },
  }
}

/** A proxy that does with each connection what it is told, and says how many it had. */
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

test('what a proxy says that wants a name and a password is no answer of the platform', async () => {
  await using it = stage()
  using way = await proxyOf('http', (socket) =>
    socket.once('data', () => socket.end('HTTP/1.1 407 Who are you\r\ncontent-length: 0\r\n\r\n')),
  )

  expect(await it.egress.send(it.errand(way.proxy))).toEqual({ ok: false, why: 'denied' })
})

test('proxies of the environment are not obeyed', async () => {
  await using it = stage()
  using way = await proxyOf('http', (socket) => socket.destroy())
  process.env.http_proxy = `http://127.0.0.1:${way.proxy.port}`
  try {
    const url = `http://127.0.0.1:${it.port}/`
    expect(await it.egress.send(it.errand(null, { url }))).toMatchObject({ ok: true })
  } finally {
    delete process.env.http_proxy
  }
})

/** Speaks SOCKS 5 until the connection is made, and is the platform itself from there on. */
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

const said = (body: string) =>
  `HTTP/1.1 200 OK\r\ncontent-length: ${body.length}\r\nconnection: keep-alive\r\n\r\n${body}`

describe('a deadline', () => {
  test.each(['http', 'https', 'socks4', 'socks5', 'socks5h'] as const)(
    'holds for an %s proxy that takes us and says nothing',
    async (scheme) => {
      await using it = stage()
      const arrived = Promise.withResolvers<void>()
      using silent = await proxyOf(scheme, () => arrived.resolve())

      const carried = it.egress.send(it.errand(silent.proxy))
      await arrived.promise
      await it.clock.advance(10_000)

      expect(await carried).toEqual({ ok: false, why: 'timeout' })
    },
  )

  test('holds for a body that never ends, through SOCKS too', async () => {
    await using it = stage()
    const arrived = Promise.withResolvers<void>()
    using dripping = await proxyOf('socks5h', (socket) => {
      socks(['HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nthe first words'])(socket)
      socket.on('data', (data) => data.includes('GET') && arrived.resolve())
    })

    const carried = it.egress.send(it.errand(dripping.proxy))
    await arrived.promise
    await it.clock.advance(10_000)

    expect(await carried).toEqual({ ok: false, why: 'timeout' })
  })

  test('is not waited for once the caller has given up', async () => {
    await using it = stage()
    const arrived = Promise.withResolvers<void>()
    using silent = await proxyOf('socks5', () => arrived.resolve())
    const given = new AbortController()

    const carried = it.egress.send(it.errand(silent.proxy, { signal: given.signal }))
    await arrived.promise
    given.abort()

    expect(await carried).toEqual({ ok: false, why: 'timeout' })
    expect(await it.egress.send(it.errand(silent.proxy, { signal: given.signal }))).toEqual({
      ok: false,
      why: 'timeout',
    })
    expect(silent.sockets.length).toBe(1)
  })
})

/** A way out over a fetch of its own, which tells the signal that it was given. */
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
  const errand: Errand = {
    url: 'http://platform.test/',
    headers: {},
    way: { proxy: null, guarded: false },
    timeout_ms: 10_000,
  }
  return { clock, send, errand, given_up: () => signals.map((it) => it?.aborted) }
}
const never = () => new Promise<Response>(() => {})

describe('a connection that does not keep to its signal', () => {
  test('holds nobody up whose caller has given up', async () => {
    const { send, errand, given_up } = over(never)
    const given = new AbortController()

    const carried = send({ ...errand, signal: given.signal })
    given.abort()

    expect(await carried).toEqual({ ok: false, why: 'timeout' })
    expect(given_up()).toEqual([true])
  })

  test('is given up when its time is over', async () => {
    const { clock, send, errand, given_up } = over(never)

    const carried = send(errand)
    await clock.advance(10_000)

    expect(await carried).toEqual({ ok: false, why: 'timeout' })
    expect(given_up()).toEqual([true])
  })
})

const large = () => new Response('x', { headers: { 'content-length': String(BODY_MAX + 1) } })

test('a body that nobody reads to its end is given up, and a whole one is not', async () => {
  for (const [answer, given_up] of [
    [large, true],
    [() => new Response('x'), false],
  ] as const) {
    const it = over(() => Promise.resolve(answer()))
    const given = new AbortController()
    const { ok } = await it.send({ ...it.errand, signal: given.signal })
    await it.clock.advance(20_000)
    given.abort()
    expect({ ok, given_up: it.given_up() }).toEqual({ ok: !given_up, given_up: [given_up] })
  }
})

describe('a body through SOCKS', () => {
  test('of more than 8 MiB is too large', async () => {
    await using it = stage()
    using proxy = await proxyOf('socks5h', socks([said('x'.repeat(BODY_MAX + 1))]))

    expect(await it.egress.send(it.errand(proxy.proxy))).toEqual({ ok: false, why: 'too_large' })
  })

  test('that is packed small and is not is too large as well', async () => {
    await using it = stage()
    const packed = gzipSync('x'.repeat(BODY_MAX + 1))
    const head = `HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: ${packed.length}\r\n\r\n`
    const answer = Buffer.concat([Buffer.from(head), packed])
    using proxy = await proxyOf('socks5h', socks([answer]))

    expect(await it.egress.send(it.errand(proxy.proxy))).toEqual({ ok: false, why: 'too_large' })
  })
})

describe('a kept connection', () => {
  test('is used for the next request', async () => {
    await using it = stage()
    using proxy = await proxyOf('socks5h', socks([said('one'), said('two')]))

    const first = await it.egress.send(it.errand(proxy.proxy))
    await quiet()
    const second = await it.egress.send(it.errand(proxy.proxy))

    expect([first, second].map((one) => one.ok && one.answer.body)).toEqual(['one', 'two'])
    expect(proxy.sockets.length).toBe(1)
  })

  test('that was hung up is met with another, for a request that changes nothing', async () => {
    await using it = stage()
    using proxy = await proxyOf('socks5h', (socket, count) => socks([said(`of ${count}`)])(socket))

    await it.egress.send(it.errand(proxy.proxy))
    await quiet()
    const second = await it.egress.send(it.errand(proxy.proxy))

    expect(second).toMatchObject({ ok: true, answer: { body: 'of 2' } })
  })

  test('that was hung up loses a form, which may have arrived', async () => {
    await using it = stage()
    using proxy = await proxyOf('socks5h', (socket, count) => socks([said(`of ${count}`)])(socket))

    await it.egress.send(it.errand(proxy.proxy))
    await quiet()
    const form = it.errand(proxy.proxy, { method: 'POST', body: 'a=1' })

    expect(await it.egress.send(form)).toEqual({ ok: false, why: 'failed' })
    expect(proxy.sockets.length).toBe(1)
  })
})

function agentsOf() {
  const clock = fakeClock(quiet)
  return { clock, agents: createAgents({ clock, resolve: nowhere }) }
}

describe('what is kept for a way out', () => {
  const proxy: Proxy = {
    scheme: 'socks5',
    host: 'p.test',
    port: 1080,
    username: 'a',
    password: 'b',
  }

  test('is shared by the same proxy, address and credentials, and by nobody else', () => {
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

  test('shows no credentials to whoever prints it', () => {
    const { agents } = agentsOf()
    const secret = { ...proxy, username: 'the-name', password: 'the-word' }
    const printed = (['socks4', 'socks5', 'socks5h'] as const)
      .map((scheme) => agents.borrow({ ...secret, scheme }, '192.0.2.1').agent)
      .map((it) => JSON.stringify(it) + inspect(it, { depth: 5 }))
      .join()

    expect(printed).not.toContain('the-name')
    expect(printed).not.toContain('the-word')
  })

  test('is forgotten a minute after its last use, but never in the middle of one', async () => {
    const { clock, agents } = agentsOf()
    const held = agents.borrow(proxy, '192.0.2.1')
    agents.borrow(proxy, '192.0.2.2').done()
    await clock.advance(60_000)
    agents.borrow(proxy, '192.0.2.3').done()

    expect(agents.borrow(proxy, '192.0.2.1').agent).toBe(held.agent)
    expect(agents.borrow(proxy, '192.0.2.2').reused).toBe(false)
    expect(agents.borrow(proxy, '192.0.2.3').reused).toBe(true)
  })

  test('is bounded: of many ways out the longest unused goes', () => {
    const { agents } = agentsOf()
    for (let n = 0; n < 65; n++) agents.borrow(proxy, `192.0.2.${n}`).done()

    expect(agents.borrow(proxy, '192.0.2.0').reused).toBe(false)
    expect(agents.borrow(proxy, '192.0.2.64').reused).toBe(true)
  })
})

describe('directly', () => {
  test('nobody there is unreached', async () => {
    await using it = stage()
    const errand = it.errand(null, { url: 'http://127.0.0.1:1/' })

    expect(await it.egress.send(errand)).toEqual({ ok: false, why: 'unreached' })
  })

  test('a redirect is an answer like others', async () => {
    await using it = stage(() => new Response('', { status: 302, headers: { location: '/y' } }))
    const url = `http://127.0.0.1:${it.port}/x`

    const carried = await it.egress.send(it.errand(null, { url }))

    expect(carried).toMatchObject({ ok: true, answer: { status: 302 } })
  })
})

test("a caller's proxy that the guard refuses is not dialled, whatever its scheme", async () => {
  await using it = stage()
  for (const scheme of ['http', 'https', 'socks4', 'socks5', 'socks5h'] as const) {
    using proxy = await proxyOf(scheme, () => {})
    const way = { proxy: proxy.proxy, guarded: true }

    expect(await it.egress.send(it.errand(null, { way }))).toEqual({ ok: false, why: 'refused' })
    expect(proxy.sockets).toEqual([])
  }
})

test.each([
  ['the largest answer there is', BODY_MAX, 1],
  ['one that was larger, and given up', BODY_MAX + 1, 1],
  ['an everyday one', 100_000, 0],
])('what is left of %s is freed accordingly', async (_, size, times) => {
  let freed = 0
  // In pieces, as what tells no length: how large it is shows while it is read.
  const pieces = () =>
    new ReadableStream<Uint8Array>({
      start(controller) {
        controller.enqueue(new Uint8Array(size).fill(0x20))
        controller.close()
      },
    })
  await using it = stage(
    () => new Response(pieces()),
    () => void freed++,
  )

  const carried = await it.egress.send({
    ...it.errand(null),
    url: `http://127.0.0.1:${it.port}/`,
  })
  await it.clock.advance(0)

  expect(carried.ok).toBe(size <= BODY_MAX)
  expect(freed).toBe(times)
})
