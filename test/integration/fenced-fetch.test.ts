import { afterAll, expect, test } from 'bun:test'
import { createServer, type Socket } from 'node:net'

import { createAllowed } from '../../src/core/base/address.ts'
import { createMailer } from '../../src/delivery/smtp.ts'
import { createEgress } from '../../src/net/egress.ts'
import { createFencedFetch } from '../../src/net/fenced-fetch.ts'
import { createGuard } from '../../src/net/guard.ts'
import { createMqttPublisher } from '../../src/net/mqtt.ts'
import { createTransport } from '../../src/net/transport.ts'
import { type Fence, realClock } from '../../src/runtime/runtime.ts'
import { startReceiver } from '../support/receiver.ts'

/** A fence that is open for its first `times` checks. */
function handFence(times = Infinity) {
  const lost = new AbortController()
  let count = 0
  const fence: Fence = {
    epoch: 1,
    mayAct: () => count++ < times,
    mayCommit: () => count < times,
    remainingMs: () => (count < times ? 1000 : 0),
    lost: lost.signal,
  }
  return { fence, asked: () => count, lose: () => lost.abort() }
}

/** A TCP server that records the bytes of every connection. */
async function recorder(onConnection: (socket: Socket) => void = () => {}) {
  const bytes: Buffer[] = []
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
    socket.on('data', (chunk) => bytes.push(Buffer.from(chunk)))
    onConnection(socket)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const at = server.address()
  return {
    port: at !== null && typeof at === 'object' ? at.port : 0,
    text: () => Buffer.concat(bytes).toString('latin1'),
    [Symbol.dispose]() {
      for (const socket of sockets) socket.destroy()
      server.close()
    },
  }
}

const receiver = await startReceiver()
afterAll(() => receiver[Symbol.asyncDispose]())
const trust = { ca: receiver.ca, serverName: 'receiver.test' }
const hook = `https://127.0.0.1:${receiver.port}/hook`
const codeOf = (error: unknown) =>
  error instanceof Error && 'code' in error ? error.code : String(error)

test('a request arrives as it was given, over TLS with the name of the receiver', async () => {
  const { fence } = handFence()
  const body = new TextEncoder().encode('ünö'.repeat(50_000))
  receiver.answers.push({ status: 202, headers: { 'x-answer': 'yes' }, body: 'done' })

  const response = await createFencedFetch(fence)(hook, {
    method: 'POST',
    headers: { host: `receiver.test:${receiver.port}`, 'content-type': 'application/json' },
    body,
    tls: trust,
    redirect: 'manual',
  })

  expect([response.status, response.headers.get('x-answer')]).toEqual([202, 'yes'])
  expect(await response.text()).toBe('done')
  const got = receiver.received.at(-1)
  expect(got?.body).toEqual(body)
  expect(got?.headers.get('host')).toBe(`receiver.test:${receiver.port}`)
})

test('a certificate of another name or authority is refused', async () => {
  const fetch = createFencedFetch(handFence().fence)

  const name = await fetch(hook, { tls: { ...trust, serverName: 'other.example' } }).catch(codeOf)
  const authority = await fetch(hook, { tls: { serverName: 'receiver.test' } }).catch(codeOf)

  expect(name).toBe('ERR_TLS_CERT_ALTNAME_INVALID')
  expect(authority).toMatch(/SELF_SIGNED/)
})

test.each(['http', 'https'] as const)(
  'a fence that closes while %s connects lets no byte of the request through',
  async (scheme) => {
    const { fence, asked } = handFence(1)
    using server = await recorder()
    const before = receiver.received.length
    const url = scheme === 'https' ? hook : `http://127.0.0.1:${server.port}/`

    const error = await createFencedFetch(fence)(url, {
      method: 'POST',
      body: 'secret words',
      tls: trust,
    }).catch(codeOf)

    expect(error).toBe('FENCED')
    expect(asked()).toBe(2)
    await Bun.sleep(50)
    expect(server.text()).toBe('')
    expect(receiver.received.length).toBe(before)
  },
)

test('a kept connection is checked again at each request', async () => {
  const { fence, asked } = handFence(4)
  const fetch = createFencedFetch(fence)
  using server = await recorder((socket) =>
    socket.on('data', () => socket.write('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok')),
  )
  const url = `http://127.0.0.1:${server.port}/`
  for (let n = 0; n < 2; n++) expect(await (await fetch(url, {})).text()).toBe('ok')

  expect(await fetch(url, {}).catch(codeOf)).toBe('FENCED')
  expect(asked()).toBe(5)
  expect(server.text().match(/GET/g)).toHaveLength(2)
})

test('the end of the lease resets a request that waits for its answer', async () => {
  const { fence, lose } = handFence()
  const closed = Promise.withResolvers<void>()
  using server = await recorder((socket) => {
    socket.on('close', () => closed.resolve())
    socket.once('data', lose)
  })

  const error = await createFencedFetch(fence)(`http://127.0.0.1:${server.port}/`, {}).catch(codeOf)

  expect(error).toBe('FENCED')
  await closed.promise
})

test('a server that closes its connections without saying so loses no request', async () => {
  const fetch = createFencedFetch(handFence().fence)
  let answered = 0
  using server = await recorder((socket) =>
    socket.on('data', () => {
      socket.write('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok')
      socket.end()
    }),
  )
  for (let n = 0; n < 50; n++) {
    const response = await fetch(`http://127.0.0.1:${server.port}/`, { method: 'POST', body: 'x' })
    if ((await response.text()) === 'ok') answered++
  }

  expect(answered).toBe(50)
})

test('a refused request of the platform is reported as one that did not leave', async () => {
  const { fence } = handFence(0)
  const egress = createEgress({
    fetch: createFencedFetch(fence),
    clock: realClock,
    resolve: () => Promise.resolve([]),
    guard: () => Promise.resolve({ ok: false, refusal: 'unresolved' }),
    fence,
  })

  const result = await egress.send({
    url: 'http://127.0.0.1:9/',
    headers: {},
    route: { proxy: null, guarded: false },
    timeout_ms: 1000,
  })

  expect(result).toEqual({ ok: false, why: 'unreached', left: false })
})

test('a message to a broker is not sent once the fence has closed', async () => {
  const { fence } = handFence(0)
  using broker = await recorder()
  const address = `http://127.0.0.1:${broker.port}/topic`
  const url = new URL(address)
  const publish = createMqttPublisher({
    clock: realClock,
    guard: () =>
      Promise.resolve({
        ok: true,
        target: { url, host: '127.0.0.1', literal: '127.0.0.1', named: true, unless_allowed: null },
        addresses: ['127.0.0.1'],
      }),
    timeout_ms: 1000,
    fence,
  })

  const outcome = await publish({
    address,
    topic: 'topic',
    payload: new Uint8Array(1),
    username: null,
    password: null,
    id: 'dlv_1',
    tried: 0,
    repeated: false,
  })

  expect(outcome.kind).toBe('failed')
  expect(broker.text()).toBe('')
})

test.each([
  ['open', 1, 1],
  ['closed', 0, 0],
])('a mail is accepted with an %s fence at its last line, otherwise not', async (_, may, mails) => {
  const { SMTPServer } = await import('smtp-server')
  let accepted = 0
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS'],
    onData(stream, _session, done) {
      stream.resume()
      stream.on('end', () => (accepted++, done()))
    },
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const at = server.server.address()
  const port = at !== null && typeof at === 'object' ? at.port : 0
  const mail = createMailer({
    url: `smtp://127.0.0.1:${port}`,
    from: 'a@example.org',
    timeout_ms: 1000,
    clock: realClock,
    fence: handFence(may).fence,
  })

  const outcome = await mail({
    to: 'b@example.org',
    subject: 's',
    text: 't',
    html: '<p>t</p>',
    id: 'x',
    headers: {},
  })
  await new Promise<void>((resolve) => server.close(() => resolve()))

  expect(accepted).toBe(mails)
  expect(outcome.kind).toBe(mails === 1 ? 'mailed' : 'failed')
})

test('a request whose time is over once its connection stands is not sent: it would be sent again', async () => {
  using other = await recorder()
  const { fence } = handFence()
  const allowed = createAllowed({ allow_targets: ['127.0.0.0/8'], allow_http: true })
  const guard = createGuard({
    resolve: async () => ['127.0.0.1'],
    clock: realClock,
    allowed,
    timeout_ms: 1000,
  })
  const post = createTransport({
    fetch: createFencedFetch(fence),
    clock: realClock,
    guard,
    timeout_ms: 50,
  })
  const url = `http://127.0.0.1:${other.port}/`
  const answer = post({ url, headers: {}, body: new Uint8Array(1) })
  await Promise.resolve()
  // Other work of this process, such as that of a start on a busy machine.
  for (const began = performance.now(); performance.now() - began < 150;);

  expect(await answer).toEqual({ kind: 'failed', error: 'timeout' })
  await Bun.sleep(50)
  expect(other.text()).toBe('')
})
