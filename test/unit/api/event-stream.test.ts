import { expect, test } from 'bun:test'
import { connect } from 'node:net'

import { openEventStream, type Said } from '../../../src/api/event-stream.ts'
import { fakeClock } from '../../support/clock.ts'

const clock = () => fakeClock(() => Bun.sleep(0))
const still = new AbortController().signal

/** A stream whose reader is the test. */
function open(say: () => Said, over: Partial<Parameters<typeof openEventStream>[0]> = {}) {
  const it = clock()
  let closed = 0
  const stream = openEventStream({
    clock: it,
    ended: still,
    left: still,
    say,
    on_close: () => (closed += 1),
    ...over,
  })
  return { it, reader: stream.getReader(), closed: () => closed }
}
const decoder = new TextDecoder()

test('a reader that does not read is not asked for', async () => {
  let asked = 0
  const { it, reader } = open(() => {
    asked += 1
    return { events: `data: ${asked}\n\n` }
  })
  await it.advance(60_000)
  expect(asked).toBe(0)

  const first = await reader.read()
  const second = await reader.read()
  await it.advance(60_000)
  expect([decoder.decode(first.value), decoder.decode(second.value)]).toEqual([
    'retry: 3000\n\n',
    'data: 1\n\n',
  ])
  // One is made while the last is on its way, and no more.
  expect(asked).toBeLessThanOrEqual(2)
  await reader.cancel()
})

test('a socket that nobody reads from stops what is told to it', async () => {
  let asked = 0
  const event = { events: `data: ${'x'.repeat(100_000)}\n\n` }
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    fetch: (request) =>
      new Response(
        openEventStream({
          clock: clock(),
          ended: still,
          left: request.signal,
          say: () => {
            asked += 1
            return event
          },
          on_close: () => {},
        }),
      ),
  })
  const socket = connect(server.port ?? 0, '127.0.0.1')
  socket.pause()
  socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n')
  let before = -1
  // Until nothing moves any more: what the kernel takes is all there is.
  for (let quiet = 0; quiet < 20; quiet = asked > 0 && asked === before ? quiet + 1 : 0) {
    before = asked
    await Bun.sleep(5)
  }

  expect(asked).toBeGreaterThan(0)
  expect(asked).toBeLessThan(400)
  socket.destroy()
  await server.stop(true)
})

test('it ends when there will be nothing more, and is closed once', async () => {
  const { reader, closed } = open(() => 'end')
  await reader.read()

  expect((await reader.read()).done).toBe(true)
  await reader.cancel()
  expect(closed()).toBe(1)
})

test('it is closed once where nothing can be looked up any more', async () => {
  const { reader, closed } = open(() => {
    throw new Error('disk I/O error')
  })
  await reader.read()

  expect(reader.read()).rejects.toThrow('disk I/O error')
  await reader.closed.catch(() => {})
  expect(closed()).toBe(1)
})

test('it ends with the daemon, in the middle of a wait', async () => {
  const ended = new AbortController()
  const { reader, closed } = open(() => 'nothing', { ended: ended.signal })
  await reader.read()
  const next = reader.read()
  ended.abort()

  expect((await next).done).toBe(true)
  expect(closed()).toBe(1)
})

test('it ends after an hour', async () => {
  const { it, reader, closed } = open(() => 'nothing')
  await reader.read()
  let done = false
  const read = (async () => {
    while (!done) done = (await reader.read()).done
  })()
  await it.advance(3_599_000)
  expect(done).toBe(false)
  await it.advance(1000)
  await read

  expect(closed()).toBe(1)
})

test('a reader that leaves before it has read anything is gone', () => {
  const left = new AbortController()
  const { closed } = open(() => 'nothing', { left: left.signal })
  left.abort()

  expect(closed()).toBe(1)
})
