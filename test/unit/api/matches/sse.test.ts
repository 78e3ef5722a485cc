import { expect, test } from 'bun:test'
import { connect } from 'node:net'

import { openEventStream, type SseChunk } from '../../../../src/api/matches/sse.ts'
import { fakeClock } from '../../../support/clock.ts'

const clock = () => fakeClock(() => Bun.sleep(0))
const still = new AbortController().signal

/** A stream whose reader is the test. */
function open(
  nextChunk: () => SseChunk,
  over: Partial<Parameters<typeof openEventStream>[0]> = {},
) {
  const it = clock()
  let closed = 0
  const stream = openEventStream({
    clock: it,
    ended: still,
    left: still,
    nextChunk,
    hold: () => ({ release: () => {} }),
    on_close: () => (closed += 1),
    ...over,
  })
  return { it, reader: stream.getReader(), closed: () => closed }
}
const decoder = new TextDecoder()

test('a reader that does not read triggers no poll', async () => {
  let polls = 0
  const { it, reader } = open(() => {
    polls += 1
    return { events: `data: ${polls}\n\n` }
  })
  await it.advance(60_000)
  expect(polls).toBe(0)

  const first = await reader.read()
  const second = await reader.read()
  await it.advance(60_000)
  expect([decoder.decode(first.value), decoder.decode(second.value)]).toEqual([
    'retry: 3000\n\n',
    'data: 1\n\n',
  ])
  // One chunk is created while the last is in flight, and no more.
  expect(polls).toBeLessThanOrEqual(2)
  await reader.cancel()
})

test('a socket that is not read stops the polls', async () => {
  let polls = 0
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
          nextChunk: () => {
            polls += 1
            return event
          },
          hold: () => ({ release: () => {} }),
          on_close: () => {},
        }),
      ),
  })
  const socket = connect(server.port ?? 0, '127.0.0.1')
  socket.pause()
  socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n')
  let before = -1
  // Until no bytes move: the kernel buffers are full.
  for (let quiet = 0; quiet < 20; quiet = polls > 0 && polls === before ? quiet + 1 : 0) {
    before = polls
    await Bun.sleep(5)
  }

  expect(polls).toBeGreaterThan(0)
  expect(polls).toBeLessThan(400)
  socket.destroy()
  await server.stop(true)
})

test('events wait while the buffer is full, and none is lost', async () => {
  const held: number[] = []
  let has_room = false
  let released = 0
  const texts = ['data: 1\n\n', 'data: 2\n\n']
  const { it, reader } = open(
    () => {
      const events = texts.shift()
      return events === undefined ? 'nothing' : { events }
    },
    {
      hold: (bytes) => {
        if (!has_room) return null
        held.push(bytes)
        return { release: () => (released += 1) }
      },
    },
  )
  await reader.read()
  const next = reader.read()
  await it.advance(3000)
  expect(held).toEqual([])

  has_room = true
  await it.advance(1000)
  expect(decoder.decode((await next).value)).toBe('data: 1\n\n')
  expect(decoder.decode((await reader.read()).value)).toBe('data: 2\n\n')
  await reader.cancel()
  expect([held, released]).toEqual([[9, 9], 2])
})

test('the stream ends after the last event and is closed once', async () => {
  const { reader, closed } = open(() => 'end')
  await reader.read()

  expect((await reader.read()).done).toBe(true)
  await reader.cancel()
  expect(closed()).toBe(1)
})

test('it is closed once if a lookup fails', async () => {
  const { reader, closed } = open(() => {
    throw new Error('disk I/O error')
  })
  await reader.read()

  expect(reader.read()).rejects.toThrow('disk I/O error')
  await reader.closed.catch(() => {})
  expect(closed()).toBe(1)
})

test('the stream ends with the daemon, even during a wait', async () => {
  const ended = new AbortController()
  const { reader, closed } = open(() => 'nothing', { ended: ended.signal })
  await reader.read()
  const next = reader.read()
  ended.abort()

  expect((await next).done).toBe(true)
  expect(closed()).toBe(1)
})

test('the stream ends after an hour', async () => {
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

test('a reader that disconnects before its first read is noticed', () => {
  const left = new AbortController()
  const { closed } = open(() => 'nothing', { left: left.signal })
  left.abort()

  expect(closed()).toBe(1)
})
