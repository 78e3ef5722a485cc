import { describe, expect, test } from 'bun:test'
import { createServer, type Socket } from 'node:net'

import type { AddressTarget } from '../../../src/core/base/address.ts'
import type { Proxy } from '../../../src/core/forum/proxy.ts'
import { createEgress } from '../../../src/net/egress.ts'
import type { EgressResult } from '../../../src/net/proxy-agents.ts'
import { mayHaveBeenSent } from '../../../src/net/sent.ts'
import { realClock } from '../../../src/runtime/runtime.ts'

/** A server that handles each connection with `meet`. */
async function listening(meet: (socket: Socket) => void) {
  const server = createServer((socket) => {
    socket.on('error', () => {})
    meet(socket)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('no address')
  return {
    port: address.port,
    [Symbol.asyncDispose]: () => new Promise<void>((resolve) => server.close(() => resolve())),
  }
}

/** A SOCKS5 proxy that opens every tunnel; `meet` handles what is sent through it. */
const tunnel = (meet: (socket: Socket) => void) =>
  listening((socket) =>
    socket.once('data', () => {
      socket.write(Buffer.from([5, 0]))
      socket.once('data', () => {
        socket.write(Buffer.from([5, 0, 0, 1, 127, 0, 0, 1, 0, 80]))
        socket.once('data', () => meet(socket))
      })
    }),
  )

const egress = createEgress({
  fetch: (url, init) => fetch(url, init),
  clock: realClock,
  resolve: (host) =>
    host === 'localhost'
      ? Promise.resolve(['127.0.0.1'])
      : Promise.reject(new Error('no such name')),
  guard: () => Promise.resolve({ ok: false, refusal: 'unresolved' }),
})

const proxyAt = (port: number, scheme: Proxy['scheme'] = 'http'): Proxy => ({
  scheme,
  host: '127.0.0.1',
  port,
  username: null,
  password: null,
})

const requestTo = (url: string) => ({
  url,
  method: 'POST' as const,
  headers: {},
  body: 'x=1',
  once: true,
  timeout_ms: 5_000,
})

const send = (url: string, proxy: Proxy | null = null, guarded = false): Promise<EgressResult> =>
  egress.send({ ...requestTo(url), route: { proxy, guarded } })

const UNUSED_PORT = 1

describe('nothing was sent', () => {
  test.each([
    ['to a closed port', `http://127.0.0.1:${UNUSED_PORT}/`, null],
    ['to a name without an address', 'http://nowhere.test/', proxyAt(UNUSED_PORT, 'socks5')],
    ['to a closed port in place of an http proxy', 'https://localhost/', proxyAt(UNUSED_PORT)],
    [
      'to a closed port in place of a SOCKS proxy',
      'http://localhost/',
      proxyAt(UNUSED_PORT, 'socks5'),
    ],
  ])('%s', async (_where, url, proxy) => {
    expect(await send(url, proxy)).toMatchObject({ ok: false, left: false })
  })

  test('to a proxy that must not be dialled', async () => {
    expect(await send('https://localhost/', proxyAt(UNUSED_PORT), true)).toEqual({
      ok: false,
      why: 'refused',
      left: false,
    })
  })

  test.each(['http', 'socks5'] as const)('to a %s proxy that opens no tunnel', async (scheme) => {
    const refusal = scheme === 'http' ? 'HTTP/1.1 502 Bad Gateway\r\n\r\n' : '\x05\xff'
    await using proxy = await listening((socket) =>
      socket.once('data', () => socket.end(refusal, 'latin1')),
    )

    expect(await send('https://localhost/', proxyAt(proxy.port, scheme))).toMatchObject({
      ok: false,
      left: false,
    })
  })

  test('to a server with an invalid certificate', async () => {
    await using server = await listening((socket) =>
      socket.once('data', () => socket.end('HTTP/1.1 400\r\n\r\n')),
    )

    expect(await send(`https://127.0.0.1:${server.port}/`)).toMatchObject({
      ok: false,
      left: false,
    })
  })
})

test.each([
  ['ECONNREFUSED', 'x', false],
  ['ENOTFOUND', 'x', false],
  ['DEPTH_ZERO_SELF_SIGNED_CERT', 'x', false],
  ['ERR_TLS_CERT_ALTNAME_INVALID', 'x', false],
  ['EPROTO', 'The TLS handshake failed', false],
  ['EPROTO', 'bad record', true],
  ['ECONNRESET', 'x', true],
  ['EPIPE', 'x', true],
  ['ETIMEDOUT', 'x', true],
  ['HPE_INVALID_CONSTANT', 'x', true],
])('after the error %s (%s), sent is possible: %p', (code, message, left) => {
  expect(mayHaveBeenSent(Object.assign(new Error(message), { code }))).toBe(left)
})

describe('the request may have been sent', () => {
  test.each([
    ['and the connection closed without an answer', ''],
    ['and the answer was truncated', 'HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf'],
  ])('%s', async (_how, response_text) => {
    let requests = 0
    await using server = await listening((socket) =>
      socket.once('data', () => {
        requests += 1
        socket.end(response_text)
      }),
    )

    expect(await send(`http://127.0.0.1:${server.port}/`)).toMatchObject({ ok: false, left: true })
    expect(requests).toBe(1)
  })

  test('through a tunnel that broke', async () => {
    let requests = 0
    await using proxy = await tunnel((socket) => {
      requests += 1
      socket.destroy()
    })

    expect(await send('http://localhost/', proxyAt(proxy.port, 'socks5'))).toMatchObject({
      ok: false,
      left: true,
    })
    expect(requests).toBe(1)
  })

  test('and no other address of the proxy is tried', async () => {
    let requests = 0
    await using proxy = await tunnel((socket) => {
      requests += 1
      socket.end('this is no answer\r\n\r\n')
    })
    const addresses: [string, ...string[]] = ['127.0.0.1', '127.0.0.1']
    const target: AddressTarget = {
      url: new URL('https://proxy.test/'),
      host: 'proxy.test',
      literal: null,
      named: false,
      unless_allowed: null,
    }
    const twice = createEgress({
      fetch: (to, init) => fetch(to, init),
      clock: realClock,
      resolve: () => Promise.resolve(['127.0.0.1']),
      guard: () => Promise.resolve({ ok: true, target, addresses }),
    })

    const result = await twice.send({
      ...requestTo('http://localhost/'),
      route: { proxy: proxyAt(proxy.port, 'socks5'), guarded: true },
    })

    expect(result).toMatchObject({ ok: false, left: true })
    expect(requests).toBe(1)
  })
})
