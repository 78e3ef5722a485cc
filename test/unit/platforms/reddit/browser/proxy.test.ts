import { expect, test } from 'bun:test'
import { connect, createServer, type Socket } from 'node:net'

import type { Proxy } from '../../../../../src/core/forum/proxy.ts'
import type { Guard } from '../../../../../src/net/guard.ts'
import {
  createDial,
  type ProxyRoute,
} from '../../../../../src/platforms/reddit/browser/proxy-dial.ts'
import { openBridge } from '../../../../../src/platforms/reddit/browser/proxy.ts'
import { fakeClock } from '../../../../support/clock.ts'

const REFUSES: Guard = () => Promise.resolve({ ok: false, refusal: 'not_public' })
const quiet = async () => {}
const nowhere = () => Promise.reject(new Error('no such name'))

/** A server on the loopback that handles each connection with `serve`. */
async function serving(serve: (socket: Socket) => void) {
  const server = createServer((socket) => {
    socket.on('error', () => socket.destroy())
    serve(socket)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  const port = typeof address === 'object' ? (address?.port ?? 0) : 0
  return { port, [Symbol.dispose]: () => server.close() }
}

/** Answers every request with its own head. */
const mirror = (socket: Socket) =>
  socket.on('data', (bytes: Uint8Array) => {
    const body = new TextDecoder().decode(bytes)
    socket.end(`HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n\r\n${body}`)
  })

async function bridged(
  home_port: number,
  proxy_options: Partial<ProxyRoute> = {},
  guard: Guard = REFUSES,
) {
  const clock = fakeClock(quiet)
  const home = new URL(`http://127.0.0.1:${home_port}`)
  const dial = createDial(
    { resolve: nowhere, guard, clock, home },
    { proxy: null, guarded: false, ...proxy_options },
  )
  const bridge = await openBridge({ dial, password: 'word', home, proxy_tls: null })
  const who = `Proxy-Authorization: Basic ${btoa(`${bridge.username}:word`)}\r\n`
  /** Sends a request to the bridge, and returns everything received. */
  const connectWith = (first: string, more = who) =>
    new Promise<string>((done) => {
      let received = ''
      const socket = connect(bridge.port, '127.0.0.1', () =>
        socket.write(`${first} HTTP/1.1\r\n${more}\r\n`),
      )
      socket.on('data', (bytes) => (received += bytes.toString()))
      socket.on('error', () => {})
      socket.on('close', () => done(received))
    })
  return { bridge, say: connectWith, home: home.origin, clock, [Symbol.dispose]: bridge.close }
}

const proxyAt = (port: number, more: Partial<Proxy> = {}): Proxy => ({
  scheme: 'http',
  host: '127.0.0.1',
  port,
  username: 'ann',
  password: 'secret',
  ...more,
})

test('a client without the password gets a 407, and nothing is dialled', async () => {
  using platform = await serving(mirror)
  using it = await bridged(platform.port)

  for (const more of ['', 'Proxy-Authorization: Basic Zm9ydW1kOnh4\r\n'])
    expect(await it.say(`GET ${it.home}/`, more)).toStartWith('HTTP/1.1 407 ')
})

test('a plain request reaches the platform without the headers for the bridge', async () => {
  using platform = await serving(mirror)
  using it = await bridged(platform.port)

  const answer = await it.say(`GET ${it.home}/login/?a=1`)

  expect(answer).toContain('\r\n\r\nGET /login/?a=1 HTTP/1.1\r\nConnection: close\r\n')
  expect(answer).not.toContain('Authorization')
  expect(it.bridge.trouble()).toBeNull()
})

test("a request through an http proxy has an absolute address and the proxy's credentials", async () => {
  using proxy = await serving(mirror)
  using it = await bridged(1, { proxy: proxyAt(proxy.port) })

  const answer = await it.say(`GET ${it.home}/login/`)

  expect(answer).toContain(`GET ${it.home}/login/ HTTP/1.1`)
  expect(answer).toContain(`Proxy-Authorization: Basic ${btoa('ann:secret')}`)
})

test.each([
  'CONNECT 10.0.0.7:443',
  'CONNECT inside.test:443',
  'GET http://169.254.169.254/',
  'CONNECT 127.0.0.1:22',
])('a blocked destination is forbidden: %s', async (first) => {
  using platform = await serving(mirror)
  using it = await bridged(platform.port)

  expect(await it.say(first)).toBe(
    first.startsWith('CONNECT')
      ? 'HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\nConnection: close\r\n\r\n'
      : '',
  )
  expect(it.bridge.trouble()).toBeNull()
})

test("a caller's proxy that the guard refuses is not dialled", async () => {
  let dialled = 0
  using proxy = await serving(() => (dialled += 1))
  using it = await bridged(1, { proxy: proxyAt(proxy.port), guarded: true })

  await it.say(`GET ${it.home}/`)

  expect(it.bridge.trouble()).toBe('refused')
  expect(dialled).toBe(0)
})

test.each([
  ['HTTP/1.1 407 Who are you\r\n\r\n', 'denied'],
  ['HTTP/1.0 401 Unauthorized\r\nWWW-Authenticate: Basic realm="x"\r\n\r\n', 'denied'],
] as const)(
  'an answer of %p from the proxy is a refusal of the credentials',
  async (answer, trouble) => {
    using proxy = await serving((socket) => socket.once('data', () => socket.end(answer)))
    using it = await bridged(1, { proxy: proxyAt(proxy.port) })

    expect(await it.say(`GET ${it.home}/`)).toBe('')
    expect(it.bridge.trouble()).toBe(trouble)
    expect(await it.say('CONNECT 127.0.0.1:1')).toStartWith('HTTP/1.1 502 ')
    expect(it.bridge.trouble()).toBe(trouble)
  },
)

test.each(['http', 'socks5'] as const)(
  'an %s proxy that accepts and never answers times out',
  async (scheme) => {
    const arrived = Promise.withResolvers<void>()
    using proxy = await serving((socket) => socket.once('data', () => arrived.resolve()))
    using it = await bridged(1, { proxy: proxyAt(proxy.port, { scheme }) })

    const reply = it.say('CONNECT 127.0.0.1:1')
    await arrived.promise
    await it.clock.advance(10_000)

    expect(await reply).toStartWith('HTTP/1.1 502 ')
    expect(it.bridge.trouble()).toBe('failed')
  },
)

test.each([
  ['http', ['HTTP/1.1 200 OK\r\n\r\n']],
  ['socks5', ['\x05\x02', '\x01\0', '\x05\0\0\x01\0\0\0\0\0\0']],
] as const)(
  "bytes in the same packet as the %s proxy's answer are not lost",
  async (scheme, answers) => {
    using proxy = await serving((socket) => {
      let step = 0
      socket.on('data', () => {
        const answer = answers[step++] ?? ''
        if (step < answers.length) socket.write(answer)
        else socket.end(`${answer}hello`)
      })
    })
    using it = await bridged(1, { proxy: proxyAt(proxy.port, { scheme }) })

    expect(await it.say('CONNECT 127.0.0.1:1')).toBe('HTTP/1.1 200 OK\r\n\r\nhello')
  },
)

test.each([
  ['no method it accepts', ['\x05\xff']],
  ['wrong credentials', ['\x05\x02', '\x01\x01']],
] as const)('a socks5 proxy that answers %s has refused the credentials', async (_, answers) => {
  using proxy = await serving((socket) => {
    let step = 0
    socket.on('data', () => socket.write(answers[step++] ?? '', 'latin1'))
  })
  using it = await bridged(1, { proxy: proxyAt(proxy.port, { scheme: 'socks5' }) })

  expect(await it.say('CONNECT 127.0.0.1:1')).toStartWith('HTTP/1.1 502 ')
  expect(it.bridge.trouble()).toBe('denied')
})

test('drop closes open connections, and the next one is served', async () => {
  const open = Promise.withResolvers<void>()
  using platform = await serving((socket) => {
    socket.once('data', (bytes) =>
      bytes.toString().includes('/wait') ? open.resolve() : mirror(socket).emit('data', bytes),
    )
  })
  using it = await bridged(platform.port)
  const waiting = it.say(`GET ${it.home}/wait`)
  await open.promise

  it.bridge.drop()

  expect(await waiting).toBe('')
  expect(await it.say(`GET ${it.home}/`)).toContain('200 OK')
})

test.each(['BREW coffee', 'GET /', 'CONNECT x:99999', 'GET ftp://x/'])(
  '%p is answered with 400',
  async (first) => {
    using it = await bridged(1)

    expect(await it.say(first)).toStartWith('HTTP/1.1 400 ')
  },
)
