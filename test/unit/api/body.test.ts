import { expect, test } from 'bun:test'

import { createReadJson } from '../../../src/api/body.ts'
import { ApiError } from '../../../src/core/errors.ts'
import { fakeClock } from '../../support/clock.ts'

const MAX = 1024 * 1024
const bytesOf = (text: string) => new TextEncoder().encode(text)

/** A request whose body is these pieces, in the very buffers that whoever reads it is given. */
const arriving = (pieces: readonly Uint8Array[]) =>
  new Request('http://localhost/', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: new ReadableStream({
      start(controller) {
        for (const piece of pieces) controller.enqueue(piece)
        controller.close()
      },
    }),
  })

function stage() {
  const left: number[] = []
  const clock = fakeClock(() => Promise.resolve())
  const readJson = createReadJson({ clock, sweep: (bytes) => void left.push(bytes) })
  return { left, read: (pieces: readonly Uint8Array[]) => readJson(arriving(pieces), MAX) }
}

/** What was thrown, as a word; `read` when nothing was. */
const endOf = (reading: Promise<unknown>) =>
  reading.then(
    () => 'read',
    (error: unknown) => (error instanceof ApiError ? error.message : 'something else'),
  )

test.each([
  ['of one piece', ['{"a":"ü"}'], 'read'],
  ['of several', ['{"a"', ':"', 'ü"}'], 'read'],
  ['that is no JSON', ['{"a"', '}'], 'body is not valid JSON at position 4: found "}"'],
  ['that is nested too deeply', ['['.repeat(40), ']'.repeat(40)], /^body is nested too deeply/],
  ['that is too large', [' '.repeat(MAX), ' '], 'the body must be at most 1 MiB'],
])('nothing is kept of the bytes of a body %s', async (_, texts, end) => {
  const pieces = texts.map(bytesOf)

  expect(await endOf(stage().read(pieces))).toMatch(end)

  expect(pieces.map(({ byteLength }) => byteLength)).toEqual(pieces.map(() => 0))
})

test('nothing is kept of a body that is not UTF-8', async () => {
  const piece = Uint8Array.of(0x22, 0xff, 0x22)

  expect(await endOf(stage().read([piece]))).toBe('body must be UTF-8')

  expect(piece.byteLength).toBe(0)
})

test('what arrives in pieces is read as one, letters that were cut in two included', async () => {
  const whole = bytesOf('{"a":"üüü","b":[1,2]}')
  const pieces = Array.from(whole, (byte) => Uint8Array.of(byte))

  expect(await stage().read(pieces)).toEqual({ a: 'üüü', b: [1, 2] })
})

test('a piece of a buffer that belongs to somebody else leaves the rest of it as it was', async () => {
  const shared = bytesOf('before{"a":1}after')

  expect(await stage().read([shared.subarray(6, 13)])).toEqual({ a: 1 })

  expect(new TextDecoder().decode(shared)).toBe('before{"a":1}after')
})

test('a body leaves its text behind, and what was made of it', async () => {
  const { left, read } = stage()

  await read([bytesOf('{"a"'), bytesOf(':1}')])
  await read([bytesOf('nonsense')]).catch(() => {})

  expect(left).toEqual([14, 16])
})
