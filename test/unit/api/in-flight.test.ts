// Method: answers through a real server to a real socket that reads, stalls or disconnects.

import { describe, expect, test } from 'bun:test'
import { connect } from 'node:net'

import { ApiError } from '../../../src/core/base/errors.ts'
import { fakeClock } from '../../support/clock.ts'
import { createTestInFlight } from '../../support/in-flight.ts'

const MIB = 1024 * 1024
/** More than the kernel takes for a client that does not read. */
const LARGE = 64 * MIB

/** A server that answers each request with `bytes` bytes. */
function serve(bytes: number, options: Parameters<typeof createTestInFlight>[0] = {}) {
  const events: string[] = []
  const in_flight = createTestInFlight({ ...options, events })
  const body = new Uint8Array(bytes).fill(120)
  let requests = 0
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    development: false,
    fetch(request) {
      requests += 1
      return in_flight.send(request, body)
    },
  })
  return {
    in_flight,
    events,
    url: server.url.href,
    port: server.port ?? 0,
    requests: () => requests,
    [Symbol.asyncDispose]: () => server.stop(true),
  }
}

/** A connection that sends this many requests at once and reads only on request. */
function openUnread(port: number, count = 1) {
  const closed = Promise.withResolvers<number>()
  let received = 0
  let wanted = Infinity
  const socket = connect(port, '127.0.0.1')
  socket.pause()
  socket.on('error', () => {})
  socket.on('data', (chunk) => {
    received += chunk.length
    if (received >= wanted) socket.pause()
  })
  socket.on('close', () => closed.resolve(received))
  socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(count))
  return {
    socket,
    closed: closed.promise,
    received: () => received,
    /** Reads about this many more bytes, and stops. */
    async read(bytes: number) {
      wanted = received + bytes
      socket.resume()
      await until(() => received >= wanted)
    },
  }
}

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await Bun.sleep(1)
}

describe('an answer', () => {
  test('counts until the client has read it', async () => {
    await using it = serve(LARGE)
    const client = openUnread(it.port)
    await until(() => it.in_flight.held() === LARGE)
    await Bun.sleep(50)
    expect(it.in_flight.held()).toBe(LARGE)

    client.socket.resume()
    await until(() => client.received() > LARGE)
    await until(() => it.in_flight.held() === 0)
    client.socket.destroy()
  })

  test('counts until the client leaves', async () => {
    await using it = serve(LARGE)
    const client = openUnread(it.port)
    await until(() => it.in_flight.held() === LARGE)
    client.socket.destroy()
    await until(() => it.in_flight.held() === 0)
    expect(it.events).toEqual([])
  })

  test('that is not read for 30 seconds closes the connection', async () => {
    const clock = fakeClock(() => Bun.sleep(0))
    await using it = serve(LARGE, { clock })
    const client = openUnread(it.port)
    await until(() => clock.waiting() > 0)
    await clock.advance(29_000)
    expect([it.in_flight.held(), it.events]).toEqual([LARGE, []])
    await clock.advance(1000)

    expect([it.in_flight.held(), it.events]).toEqual([0, ['stalled']])
    client.socket.resume()
    expect(await client.closed).toBeLessThan(LARGE)
  })

  test('that is read slowly continues', async () => {
    const clock = fakeClock(() => Bun.sleep(0))
    await using it = serve(LARGE, { clock })
    const client = openUnread(it.port)
    for (let turn = 0; turn < 5; turn++) {
      await until(() => clock.waiting() > 0)
      await clock.advance(20_000)
      // More than the kernel holds for a client, or the server could not write again.
      await client.read(8 * MIB)
      // The bytes read made room for another slice, which has its own 30 seconds.
      await Bun.sleep(20)
    }
    expect(it.events).toEqual([])
    client.socket.destroy()
  })

  test('arrives complete', async () => {
    await using it = serve(3 * MIB + 7)
    const bytes = await (await fetch(it.url)).bytes()
    expect([bytes.length, bytes.every((byte) => byte === 120)]).toEqual([3 * MIB + 7, true])
    expect(it.in_flight.held()).toBe(0)
  })

  test('to HEAD holds no bytes', async () => {
    await using it = serve(LARGE)
    expect((await fetch(it.url, { method: 'HEAD' })).status).toBe(200)
    expect(it.in_flight.held()).toBe(0)
  })

  test('that is small has a Content-Length and is not counted', async () => {
    await using it = serve(1000)
    const answer = await fetch(it.url)
    expect([answer.headers.get('content-length'), it.in_flight.held()]).toEqual(['1000', 0])
  })

  test('that does not fit is refused', () => {
    const events: string[] = []
    const in_flight = createTestInFlight({ limit: 100_000, events })
    const request = new Request('http://localhost/')
    expect(() => in_flight.send(request, new Uint8Array(200_000))).toThrow(ApiError)
    expect(events).toEqual(['answers process'])
  })
})

test('a connection that does not read gets no further answers', async () => {
  await using it = serve(MIB)
  const client = openUnread(it.port, 500)
  await Bun.sleep(200)
  expect(it.requests()).toBeLessThan(20)
  expect(it.in_flight.held()).toBeLessThanOrEqual(MIB)
  client.socket.destroy()
})

describe('the bytes held during a call', () => {
  test('count until the call ends', () => {
    const in_flight = createTestInFlight({ limit: 96 * MIB })
    const request = new Request('http://localhost/')
    in_flight.holdForRequest(request, 20 * MIB)
    in_flight.holdForRequest(request, 4 * MIB)
    expect(in_flight.held()).toBe(24 * MIB)
    in_flight.end(request)
    in_flight.end(request)
    expect(in_flight.held()).toBe(0)
  })

  test('are refused with 503 and Retry-After if they do not fit', () => {
    const in_flight = createTestInFlight({ limit: 96 * MIB })
    in_flight.holdForRequest(new Request('http://localhost/'), 32 * MIB)
    let thrown: unknown
    try {
      in_flight.admit(new Request('http://localhost/'))
    } catch (error) {
      thrown = error
    }
    expect(thrown).toBeInstanceOf(ApiError)
    expect(thrown).toMatchObject({ code: 'overloaded', status: 503, details: { retry_after_s: 2 } })
  })
})
