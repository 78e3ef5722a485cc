import { expect, test } from 'bun:test'

import { createEgress } from '../../../src/net/egress.ts'
import { createModelClient } from '../../../src/net/model.ts'
import { createRuntime } from '../../../src/runtime/runtime.ts'

const runtime = createRuntime(() => {})

/** A client of a service whose answers are scripted, and the requests that it got. */
function startService(
  answer: (request: Request) => Response | Promise<Response>,
  timeout_ms = 300,
) {
  const requests: { headers: Headers }[] = []
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    idleTimeout: 0,
    fetch(request) {
      requests.push({ headers: new Headers(request.headers) })
      return answer(request)
    },
  })
  const stopping = new AbortController()
  const egress = createEgress({
    ...runtime,
    guard: () => Promise.reject(new Error('the address is not checked')),
  })
  const ask = createModelClient(
    { egress, clock: runtime.clock, signal: stopping.signal },
    { base_url: `http://127.0.0.1:${server.port}/v1`, key: 'k', timeout_ms },
  )
  return {
    ask,
    requests,
    stopping,
    server,
    [Symbol.asyncDispose]: () => server.stop(true),
  }
}

test('an answer is read whole, with its Retry-After', async () => {
  await using it = startService(
    () => new Response('later', { status: 429, headers: { 'retry-after': '7' } }),
  )

  expect(await it.ask('{}')).toEqual({
    kind: 'answered',
    status: 429,
    body: 'later',
    retry_after_s: 7,
  })
  expect(it.requests[0]?.headers.get('authorization')).toBe('Bearer k')
})

test('a service that does not answer is left after its time', async () => {
  await using it = startService(() => new Promise(() => {}))

  expect(await it.ask('{}')).toEqual({ kind: 'failed', fault: 'timeout', sent: true })
})

test('a service that drips its answer is left after its time', async () => {
  await using it = startService(
    () =>
      new Response(
        new ReadableStream({
          async pull(stream) {
            await Bun.sleep(20)
            stream.enqueue(new TextEncoder().encode(' '))
          },
        }),
      ),
  )

  expect(await it.ask('{}')).toEqual({ kind: 'failed', fault: 'timeout', sent: true })
})

test('a redirect is not followed, and takes neither the key nor the item elsewhere', async () => {
  await using elsewhere = startService(() => new Response('no'))
  await using it = startService(
    () =>
      new Response('', {
        status: 307,
        headers: { location: `http://127.0.0.1:${elsewhere.server.port}/` },
      }),
  )

  expect(await it.ask('{}')).toMatchObject({ kind: 'answered', status: 307 })
  expect(elsewhere.requests).toHaveLength(0)
})

test('a huge answer is not read', async () => {
  await using it = startService(() => new Response('x'.repeat(9 * 1024 * 1024)))

  expect(await it.ask('{}')).toEqual({ kind: 'failed', fault: 'too_large', sent: true })
})

test('a connection that is closed during a request may have sent it', async () => {
  using server = Bun.listen({
    hostname: '127.0.0.1',
    port: 0,
    socket: { data: (socket) => void socket.end() },
  })
  const ask = createModelClient(
    {
      egress: createEgress({ ...runtime, guard: () => Promise.reject(new Error('unused')) }),
      clock: runtime.clock,
      signal: new AbortController().signal,
    },
    { base_url: `http://127.0.0.1:${server.port}`, key: '', timeout_ms: 2000 },
  )

  expect(await ask('{}')).toEqual({ kind: 'failed', fault: 'unreachable', sent: true })
})

test('nothing is sent to a port without a service', async () => {
  const it = startService(() => new Response(''))
  await it.server.stop(true)

  expect(await it.ask('{}')).toEqual({ kind: 'failed', fault: 'unreachable', sent: false })
})

test('a stop of the daemon ends a request at once', async () => {
  await using it = startService(() => new Promise(() => {}), 600_000)
  const reply = it.ask('{}')
  while (it.requests.length === 0) await Bun.sleep(1)
  it.stopping.abort()

  // Its own time would end later than this test may take.
  expect(await reply).toMatchObject({ kind: 'failed', sent: true })
})
