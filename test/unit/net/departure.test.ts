import { describe, expect, test } from 'bun:test'
import { createServer, type Socket } from 'node:net'

import type { Target } from '../../../src/core/address.ts'
import type { Proxy } from '../../../src/core/proxy.ts'
import { mayHaveLeft } from '../../../src/net/departure.ts'
import { type Carried, createEgress } from '../../../src/net/egress.ts'
import { realClock } from '../../../src/outside.ts'

/** A server that does with each connection what it is told. */
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

const errand = (url: string) => ({
  url,
  method: 'POST' as const,
  headers: {},
  body: 'x=1',
  once: true,
  timeout_ms: 5_000,
})

const send = (url: string, proxy: Proxy | null = null, guarded = false): Promise<Carried> =>
  egress.send({ ...errand(url), way: { proxy, guarded } })

const NOBODY = 1

describe('nothing has left', () => {
  test.each([
    ['where nobody listens', `http://127.0.0.1:${NOBODY}/`, null],
    ['where a name has no address', 'http://nowhere.test/', proxyAt(NOBODY, 'socks5')],
    ['where nobody listens as an http proxy', 'https://localhost/', proxyAt(NOBODY)],
    ['where nobody listens as a SOCKS proxy', 'http://localhost/', proxyAt(NOBODY, 'socks5')],
  ])('%s', async (_where, url, proxy) => {
    expect(await send(url, proxy)).toMatchObject({ ok: false, left: false })
  })

  test('where the proxy may not be dialled', async () => {
    expect(await send('https://localhost/', proxyAt(NOBODY), true)).toEqual({
      ok: false,
      why: 'refused',
      left: false,
    })
  })

  test.each(['http', 'socks5'] as const)('where the %s proxy opens no way', async (scheme) => {
    const refusal = scheme === 'http' ? 'HTTP/1.1 502 Bad Gateway\r\n\r\n' : '\x05\xff'
    await using proxy = await listening((socket) =>
      socket.once('data', () => socket.end(refusal, 'latin1')),
    )

    expect(await send('https://localhost/', proxyAt(proxy.port, scheme))).toMatchObject({
      ok: false,
      left: false,
    })
  })

  test('where the other side cannot say who it is', async () => {
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
])('of an error %s (%s), may it have left: %p', (code, message, left) => {
  expect(mayHaveLeft(Object.assign(new Error(message), { code }))).toBe(left)
})

describe('it may have left', () => {
  test.each([
    ['and the connection broke without a word', ''],
    ['and the answer broke off', 'HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf'],
  ])('%s', async (_how, said) => {
    let asked = 0
    await using server = await listening((socket) =>
      socket.once('data', () => {
        asked += 1
        socket.end(said)
      }),
    )

    expect(await send(`http://127.0.0.1:${server.port}/`)).toMatchObject({ ok: false, left: true })
    expect(asked).toBe(1)
  })

  test('through an open way that broke', async () => {
    let asked = 0
    await using proxy = await listening((socket) => {
      socket.once('data', () => {
        socket.write(Buffer.from([5, 0]))
        socket.once('data', () => {
          socket.write(Buffer.from([5, 0, 0, 1, 127, 0, 0, 1, 0, 80]))
          socket.once('data', () => {
            asked += 1
            socket.destroy()
          })
        })
      })
    })

    expect(await send('http://localhost/', proxyAt(proxy.port, 'socks5'))).toMatchObject({
      ok: false,
      left: true,
    })
    expect(asked).toBe(1)
  })

  test('and no other address of the proxy is tried', async () => {
    let asked = 0
    await using proxy = await listening((socket) => {
      socket.once('data', () => {
        socket.write(Buffer.from([5, 0]))
        socket.once('data', () => {
          socket.write(Buffer.from([5, 0, 0, 1, 127, 0, 0, 1, 0, 80]))
          socket.once('data', () => {
            asked += 1
            socket.end('this is no answer\r\n\r\n')
          })
        })
      })
    })
    const addresses: [string, ...string[]] = ['127.0.0.1', '127.0.0.1']
    const target: Target = {
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

    const carried = await twice.send({
      ...errand('http://localhost/'),
      way: { proxy: proxyAt(proxy.port, 'socks5'), guarded: true },
    })

    expect(carried).toMatchObject({ ok: false, left: true })
    expect(asked).toBe(1)
  })
})
