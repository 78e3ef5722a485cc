import { expect, test } from 'bun:test'

import { createReadJson } from '../../../../src/api/http/body.ts'
import { ApiError } from '../../../../src/core/base/errors.ts'
import { fakeClock } from '../../../support/clock.ts'

const MAX = 1024 * 1024
const bytesOf = (text: string) => new TextEncoder().encode(text)

/** A request whose body consists of these chunks, in the same buffers that its reader gets. */
const arriving = (chunks: readonly Uint8Array[]) =>
  new Request('http://localhost/', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: new ReadableStream({
      start(controller) {
        for (const piece of chunks) controller.enqueue(piece)
        controller.close()
      },
    }),
  })

function createFixture() {
  const clock = fakeClock(() => Promise.resolve())
  const readJson = createReadJson({ clock, hold: () => {} })
  return { read: (chunks: readonly Uint8Array[]) => readJson(arriving(chunks), MAX) }
}

/** Code of the thrown error; `read` if none was thrown. */
const endOf = (reading: Promise<unknown>) =>
  reading.then(
    () => 'read',
    (error: unknown) => (error instanceof ApiError ? error.message : 'something else'),
  )

test.each([
  ['of one piece', ['{"a":"ü"}'], 'read'],
  ['of several', ['{"a"', ':"', 'ü"}'], 'read'],
  ['that is no JSON', ['{"a"', '}'], 'body is not valid JSON'],
  ['that is nested too deeply', ['['.repeat(40), ']'.repeat(40)], /^body is nested too deeply/],
  ['that is too large', [' '.repeat(MAX), ' '], 'the body must be at most 1 MiB'],
])('the bytes of a body %s are released', async (_, texts, end) => {
  const chunks = texts.map(bytesOf)

  expect(await endOf(createFixture().read(chunks))).toMatch(end)

  expect(chunks.map(({ byteLength }) => byteLength)).toEqual(chunks.map(() => 0))
})

test('the bytes of a body that is not UTF-8 are released', async () => {
  const piece = Uint8Array.of(0x22, 0xff, 0x22)

  expect(await endOf(createFixture().read([piece]))).toBe('body must be UTF-8')

  expect(piece.byteLength).toBe(0)
})

test('chunks are joined, including a character split between two', async () => {
  const whole = bytesOf('{"a":"üüü","b":[1,2]}')
  const chunks = Array.from(whole, (byte) => Uint8Array.of(byte))

  expect(await createFixture().read(chunks)).toEqual({ a: 'üüü', b: [1, 2] })
})

test('the rest of a shared buffer is unchanged', async () => {
  const shared = bytesOf('before{"a":1}after')

  expect(await createFixture().read([shared.subarray(6, 13)])).toEqual({ a: 1 })

  expect(new TextDecoder().decode(shared)).toBe('before{"a":1}after')
})
