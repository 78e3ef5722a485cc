import { expect, test } from 'bun:test'
import { gzipSync } from 'node:zlib'

import { createAllowed } from '../../../src/core/base/address.ts'
import { createGuard } from '../../../src/net/guard.ts'
import { createTransport } from '../../../src/net/transport.ts'
import { realClock, type Resolve } from '../../../src/runtime/runtime.ts'
import { certificate } from '../../support/certificate.ts'
import { fakeClock } from '../../support/clock.ts'
import { startReceiver } from '../../support/receiver.ts'

const BODY = new TextEncoder().encode('{"a":1}')
const TIMEOUT_MS = 10_000
const settle = () => Bun.sleep(1)

async function transporting({
  resolve = async () => ['127.0.0.1'],
  ca,
}: { resolve?: Resolve; ca?: string } = {}) {
  const clock = fakeClock(settle)
  const allowed = createAllowed({ allow_targets: ['127.0.0.0/8', '::1'], allow_http: true })
  const guard = createGuard({ resolve, clock, allowed, timeout_ms: TIMEOUT_MS })
  const fetched: string[] = []
  const received = Promise.withResolvers<void>()
  const transport = createTransport({
    fetch: (url, init) => {
      fetched.push(url)
      return fetch(url, init).finally(received.resolve)
    },
    clock,
    guard,
    timeout_ms: TIMEOUT_MS,
    ca: ca ?? (await certificate()).cert,
  })
  return {
    clock,
    fetched,
    /** Resolves with the status, or when the request has failed. */
    received: received.promise,
    post: (url: string, tried?: number) =>
      transport({
        url,
        headers: { 'content-type': 'application/json' },
        body: BODY,
        ...(tried !== undefined && { tried }),
      }),
  }
}

/** A server that answers with these bytes, repeatedly if `over_and_over` is set. */
function speaking(bytes: string, { over_and_over = false } = {}) {
  const spoken = Promise.withResolvers<void>()
  let closed = 0
  let rest = ''
  const flush = (socket: { write(data: string): number }) => {
    rest = rest.slice(socket.write(rest))
  }
  const server = Bun.listen({
    hostname: '127.0.0.1',
    port: 0,
    socket: {
      data(socket) {
        rest = bytes
        flush(socket)
        spoken.resolve()
      },
      drain(socket) {
        if (over_and_over) rest += bytes
        flush(socket)
      },
      close() {
        closed += 1
      },
    },
  })
  return {
    /** Resolves after a request was received and answered. */
    met: () => spoken.promise,
    url: `http://127.0.0.1:${server.port}/`,
    closed: () => closed,
    [Symbol.dispose]: () => server.stop(true),
  }
}

test('the connection goes to the checked address, under the requested name', async () => {
  await using receiver = await startReceiver()
  const { post, fetched } = await transporting()
  const answer = await post(receiver.url)

  expect(answer).toMatchObject({ kind: 'answered', status: 200 })
  expect(fetched).toEqual([`https://127.0.0.1:${receiver.port}/hook`])
  const { headers, body } = receiver.received[0] ?? {}
  expect(headers?.get('host')).toBe(`receiver.test:${receiver.port}`)
  expect(headers?.get('accept-encoding')).toBe('identity')
  expect(body).toEqual(BODY)
})

test('each attempt starts with the next address, because one of them may never respond', async () => {
  const all = ['127.0.0.1', '127.0.0.2', '127.0.0.3', '127.0.0.4']
  const { post, fetched } = await transporting({ resolve: async () => all })
  const dialled = async (tried?: number) => {
    fetched.length = 0
    // Nothing listens at port 1.
    await post('http://receiver.test:1/', tried)
    return fetched.map((url) => new URL(url).hostname)
  }

  expect(await dialled()).toEqual(['127.0.0.1', '127.0.0.2', '127.0.0.3'])
  expect(await dialled(1)).toEqual(['127.0.0.2', '127.0.0.3', '127.0.0.4'])
  expect(await dialled(6)).toEqual(['127.0.0.3', '127.0.0.4', '127.0.0.1'])
})

test('a name that changes its address is resolved once', async () => {
  await using receiver = await startReceiver()
  const answers = [['127.0.0.1'], ['169.254.169.254']]
  let lookups = 0
  const { post, fetched } = await transporting({ resolve: async () => answers[lookups++] ?? [] })
  await post(receiver.url)
  expect(lookups).toBe(1)

  expect(await post(receiver.url)).toEqual({ kind: 'failed', error: 'target_not_public' })
  expect(fetched).toHaveLength(1)
})

test('a certificate for another name is refused before a byte of the request is sent', async () => {
  const tls = await certificate(['other.example.net'])
  await using receiver = await startReceiver({ tls })
  const { post } = await transporting({ ca: tls.cert })
  expect(await post(receiver.url)).toEqual({ kind: 'failed', error: 'tls_failed' })
  expect(receiver.received).toHaveLength(0)
})

test('a certificate of an unknown authority is refused', async () => {
  await using receiver = await startReceiver({
    tls: await certificate(['receiver.test', 'x.test']),
  })
  const { post } = await transporting()
  expect(await post(receiver.url)).toEqual({ kind: 'failed', error: 'tls_failed' })
  expect(receiver.received).toHaveLength(0)
})

test('an IP address is checked against the certificate', async () => {
  await using receiver = await startReceiver()
  const { post } = await transporting()
  expect(await post(`https://127.0.0.1:${receiver.port}/`)).toMatchObject({ status: 200 })

  const tls = await certificate(['receiver.test', 'no-address.test'])
  await using nameless = await startReceiver({ tls })
  const other = await transporting({ ca: tls.cert })
  expect(await other.post(`https://127.0.0.1:${nameless.port}/`)).toEqual({
    kind: 'failed',
    error: 'tls_failed',
  })
})

test('a redirect is returned and not followed', async () => {
  await using receiver = await startReceiver()
  receiver.answers.push({ status: 307, headers: { location: `${receiver.url}/elsewhere` } })
  const { post } = await transporting()
  expect(await post(receiver.url)).toMatchObject({ kind: 'answered', status: 307 })
  expect(receiver.received).toHaveLength(1)
})

test('after a refused connection the next checked address is tried, without another lookup', async () => {
  await using receiver = await startReceiver()
  let lookups = 0
  const { post, fetched } = await transporting({
    resolve: async () => {
      lookups += 1
      return ['::1', '127.0.0.1']
    },
  })
  expect(await post(receiver.url)).toMatchObject({ kind: 'answered', status: 200 })
  expect(fetched.map((url) => new URL(url).hostname)).toEqual(['[::1]', '127.0.0.1'])
  expect(lookups).toBe(1)
})

test.each(['end', 'terminate'] as const)(
  'a connection that closes after the request (%s) is connection_closed: the request may have been read',
  async (how) => {
    using server = Bun.listen({
      hostname: '127.0.0.1',
      port: 0,
      socket: { data: (socket) => void socket[how]() },
    })
    const { post } = await transporting()

    expect(await post(`http://127.0.0.1:${server.port}/`)).toEqual({
      kind: 'failed',
      error: 'connection_closed',
    })
  },
)

test('a process without free file descriptors reports out_of_files, for a name and for an address', async () => {
  // Closes each connection, because a kept one would be used again.
  using server = Bun.serve({
    port: 0,
    fetch: () => new Response('ok', { headers: { connection: 'close' } }),
  })
  const script = new URL('../../support/out-of-files.ts', import.meta.url).pathname
  const { stdout } = Bun.spawn(
    ['sh', '-c', 'ulimit -n 64; exec "$0" "$@"', process.execPath, script, String(server.port)],
    { stderr: 'ignore' },
  )

  expect(await new Response(stdout).json()).toEqual(['answered', 'out_of_files', 'out_of_files'])
})

test('refused connections at all addresses are connect_failed', async () => {
  const { post } = await transporting()
  expect(await post('https://receiver.test:1/')).toEqual({
    kind: 'failed',
    error: 'connect_failed',
  })
})

test.each([
  ['a switch of protocols', 'HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n'],
  ['a greeting of another protocol', '220 smtp.example.com ESMTP\r\n\r\n'],
  ['an endless head', `HTTP/1.1 200 OK\r\nx: ${'a'.repeat(3_000_000)}\r\n\r\n`],
])('%s is not an answer to a POST', async (_, bytes) => {
  using server = speaking(bytes)
  const { post } = await transporting()
  expect(await post(server.url)).toEqual({ kind: 'failed', error: 'bad_answer' })
})

test('endless 100 responses end at the deadline, and the socket is closed', async () => {
  using server = speaking('HTTP/1.1 100 Continue\r\n\r\n'.repeat(500), { over_and_over: true })
  const { post, clock } = await transporting()
  const answer = post(server.url)
  await server.met()
  await clock.advance(TIMEOUT_MS)
  expect(await answer).toEqual({ kind: 'failed', error: 'timeout' })
  while (server.closed() === 0) await Bun.sleep(1)
  expect(server.closed()).toBe(1)
})

test('a receiver that accepts and never answers ends at the deadline', async () => {
  using server = speaking('')
  const { post, clock } = await transporting()
  const answer = post(server.url)
  await clock.advance(TIMEOUT_MS)
  expect(await answer).toEqual({ kind: 'failed', error: 'timeout' })
})

test('a truncated body keeps its status', async () => {
  using server = speaking('HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc')
  const { post, clock, received } = await transporting()
  const answer = post(server.url)
  await received
  // The three bytes were in the same packet as the status; a few turns of the event loop later,
  // they are read.
  await Bun.sleep(20)
  await clock.advance(TIMEOUT_MS)
  expect(await answer).toMatchObject({ kind: 'answered', status: 200, body: Buffer.from('abc') })
})

test('an answer with a body despite a Content-Length of zero is read, and its connection closed at the end', async () => {
  const head = 'HTTP/1.1 200 OK\r\nContent-Length: 0\r\nTransfer-Encoding: chunked\r\n\r\n'
  using server = speaking(`${head}3\r\nabc\r\n`)
  const { post, clock, received } = await transporting()
  const answer = post(server.url)
  await received
  await Bun.sleep(20)
  await clock.advance(TIMEOUT_MS)
  expect(await answer).toMatchObject({ kind: 'answered', status: 200, body: Buffer.from('abc') })
  while (server.closed() === 0) await Bun.sleep(1)
  expect(server.closed()).toBe(1)
})

test('64 KiB of an endless body are read', async () => {
  await using receiver = await startReceiver()
  let sent = 0
  const endless = new ReadableStream({
    type: 'direct',
    pull: async (controller: ReadableStreamDirectController) => {
      for (; sent < 1024; sent++) {
        void controller.write(new Uint8Array(64 * 1024))
        await controller.flush()
        await Bun.sleep(0)
      }
      controller.close()
    },
  })
  receiver.answers.push({ body: endless })
  const { post } = await transporting()
  const answer = await post(receiver.url)
  expect(answer).toMatchObject({ kind: 'answered', status: 200 })
  if (answer.kind === 'answered') expect(answer.body).toHaveLength(64 * 1024)
  expect(sent).toBeLessThan(512)
})

test('the connection is closed after 64 KiB', async () => {
  const bytes = 'x'.repeat(64 * 1024)
  using server = speaking(`HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n${bytes}`)
  const { post } = await transporting()
  expect(await post(server.url)).toMatchObject({ kind: 'answered', status: 200 })
  while (server.closed() === 0) await Bun.sleep(1)
  expect(server.closed()).toBe(1)
})

test('a gzip bomb is not decompressed', async () => {
  await using receiver = await startReceiver()
  const bomb = gzipSync(Buffer.alloc(20 * 1024 * 1024))
  receiver.answers.push({ status: 500, headers: { 'content-encoding': 'gzip' }, body: bomb })
  const { post } = await transporting()
  const answer = await post(receiver.url)
  expect(answer).toMatchObject({ kind: 'answered', status: 500 })
  if (answer.kind === 'answered') expect(answer.body).toEqual(bomb.subarray(0, 64 * 1024))
})

test('a proxy in the environment is not used', async () => {
  await using receiver = await startReceiver()
  let requests = 0
  using proxy = Bun.listen({
    hostname: '127.0.0.1',
    port: 0,
    socket: { open: () => void (requests += 1), data() {} },
  })
  const names = ['HTTPS_PROXY', 'HTTP_PROXY', 'ALL_PROXY']
  const { post } = await transporting()
  for (const name of names) process.env[name] = `http://127.0.0.1:${proxy.port}`
  try {
    expect(await post(receiver.url)).toMatchObject({ kind: 'answered', status: 200 })
  } finally {
    for (const name of names) delete process.env[name]
  }
  expect(requests).toBe(0)
})

const FROZEN_MS = 5000
const READ_MAX_MS = 400

/** A transport whose process does not run from a request until after its deadline; `wake` ends that. */
function freezing(url: string) {
  const wake = Promise.withResolvers<void>()
  let ahead_ms = 0
  let slept = 0
  const naps: number[] = []
  const clock = {
    ...realClock,
    mono: () => realClock.mono() + ahead_ms,
    async sleep(ms: number, signal?: AbortSignal) {
      slept += 1
      if (slept > 1) {
        naps.push(ms)
        return realClock.sleep(ms, signal)
      }
      await wake.promise
      ahead_ms = FROZEN_MS
    },
  }
  const allowed = createAllowed({ allow_targets: ['127.0.0.0/8'], allow_http: true })
  const guard = createGuard({
    resolve: async () => ['127.0.0.1'],
    clock: realClock,
    allowed,
    timeout_ms: 1000,
  })
  const post = createTransport({ fetch, clock, guard, timeout_ms: 1000 })
  return {
    naps,
    wake: wake.resolve,
    answer: post({ url, headers: {}, body: new Uint8Array(1) }),
  }
}

/** A receiver that answers on request. */
function holding() {
  const asked = Promise.withResolvers<void>()
  const answering = Promise.withResolvers<void>()
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    async fetch() {
      asked.resolve()
      await answering.promise
      return new Response(null, { status: 204 })
    },
  })
  return {
    url: server.url.href,
    asked: asked.promise,
    answer: answering.resolve,
    [Symbol.asyncDispose]: () => server.stop(true),
  }
}

test('an answer that came while this process did not run is read, although its deadline is over', async () => {
  await using receiver = holding()
  const it = freezing(receiver.url)
  await receiver.asked
  it.wake()
  receiver.answer()

  expect(await it.answer).toMatchObject({ kind: 'answered', status: 204 })
})

test('a late deadline waits no longer than its bound for a receiver that does not answer', async () => {
  await using receiver = holding()
  const it = freezing(receiver.url)
  await receiver.asked
  it.wake()

  expect(await it.answer).toEqual({ kind: 'failed', error: 'timeout' })
  expect(it.naps[0]).toBe(READ_MAX_MS)
})
