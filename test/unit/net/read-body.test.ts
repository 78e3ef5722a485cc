import { describe, expect, test } from 'bun:test'
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from 'node:zlib'

import { BODIES_MAX, BODY_MAX, readBody } from '../../../src/net/read-body.ts'

const MIB = 1024 * 1024
const CHUNK = 64 * 1024
const text = 'grüße '.repeat(10_000)

/** A body in chunks, which counts those that were read. */
function inChunks(bytes: Uint8Array, size = CHUNK) {
  const it = {
    taken: 0,
    async *[Symbol.asyncIterator]() {
      for (let at = 0; at < bytes.length; at += size) {
        it.taken += 1
        yield bytes.subarray(at, at + size)
      }
    },
  }
  return it
}

const read = (bytes: Uint8Array, headers: Record<string, string> = {}) =>
  readBody({ body: inChunks(bytes), headers: new Headers(headers) })

/** Name of the error that a promise was rejected with. */
const failure = (promise: Promise<unknown>) =>
  promise.then(() => null).catch((error: unknown) => (error instanceof Error ? error.name : error))

const from = (headers: Record<string, string>) =>
  readBody({
    body: inChunks(gzipSync('in pieces')),
    headers: new Headers(headers),
    text: () => Promise.resolve('at once'),
  })

test('only a plain body with a Content-Length is read at once', async () => {
  expect(await from({ 'content-length': '9' })).toBe('at once')
  expect(await from({ 'content-length': '9', 'content-encoding': 'gzip' })).toBe('in pieces')
  expect(await from({ 'content-encoding': 'gzip' })).toBe('in pieces')
})

test.each([
  ['x-gzip', gzipSync('{}')],
  ['X-GZip', gzipSync('{}')],
  ['deflate', deflateSync('{}')],
  ['deflate', deflateRawSync('{}')],
  ['br, gzip', gzipSync(brotliCompressSync('{}'))],
  [' , gzip ,', gzipSync('{}')],
  ['', Buffer.from('{}')],
  ['identity', Buffer.from('{}')],
])('a body with the content coding %p is read', async (coding, bytes) => {
  expect(await read(bytes, { 'content-encoding': coding })).toBe('{}')
})

test('a chunked body is measured even with a Content-Length', async () => {
  const headers = { 'content-length': '9', 'transfer-encoding': 'chunked' }
  const answer = {
    body: inChunks(new Uint8Array(BODY_MAX + 1)),
    headers: new Headers(headers),
    text: () => Promise.resolve('at once'),
  }

  expect(await readBody(answer)).toBeNull()
})

test('a body that is read at once creates no stream', async () => {
  const answer = {
    get body(): never {
      throw new Error('body was read')
    },
    headers: new Headers({ 'content-length': '9' }),
    text: () => Promise.resolve('at once'),
  }

  expect(await readBody(answer)).toBe('at once')
})

describe('a body', () => {
  test.each([
    ['unencoded', Buffer.from(text), {}],
    ['with gzip', gzipSync(text), { 'content-encoding': 'gzip' }],
    ['packed as GZIP', gzipSync(text), { 'content-encoding': 'GZIP' }],
    [
      'with two gzip members',
      Buffer.concat([gzipSync(text.slice(0, 99)), gzipSync(text.slice(99))]),
      { 'content-encoding': 'gzip' },
    ],
    ['with deflate', deflateSync(text), { 'content-encoding': 'deflate' }],
    ['with br', brotliCompressSync(text), { 'content-encoding': 'br' }],
    ['with identity', Buffer.from(text), { 'content-encoding': 'identity' }],
  ] as const)('%s is read', async (_, bytes, headers) => {
    expect(await read(bytes, headers)).toBe(text)
  })

  test('without bytes is empty with any encoding', async () => {
    expect(await read(new Uint8Array(), { 'content-encoding': 'gzip' })).toBe('')
    expect(await readBody({ body: null, headers: new Headers() })).toBe('')
  })

  test('is read up to the limit and not a byte beyond', async () => {
    expect((await read(new Uint8Array(BODY_MAX).fill(0x20)))?.length).toBe(BODY_MAX)
    expect(await read(new Uint8Array(BODY_MAX + 1))).toBeNull()
    const packed = { 'content-encoding': 'gzip' }
    expect((await read(gzipSync(new Uint8Array(BODY_MAX)), packed))?.length).toBe(BODY_MAX)
    expect(await read(gzipSync(new Uint8Array(BODY_MAX + 1)), packed)).toBeNull()
  })

  test.each([
    ['gzip', gzipSync(new Uint8Array(64 * MIB))],
    ['gzip', Buffer.concat(Array.from({ length: 64 }, () => gzipSync(new Uint8Array(MIB))))],
    ['deflate', deflateSync(new Uint8Array(64 * MIB))],
    ['br', brotliCompressSync(new Uint8Array(64 * MIB))],
  ])('that inflates from %s beyond the limit is not read', async (packing, bytes) => {
    expect(await read(bytes, { 'content-encoding': packing })).toBeNull()
  })

  test('above the limit is not read if its length says so, and is abandoned midway otherwise', async () => {
    const long = inChunks(new Uint8Array(BODY_MAX + MIB))
    expect(
      await readBody({
        body: long,
        headers: new Headers({ 'content-length': String(BODY_MAX + 1) }),
      }),
    ).toBeNull()
    expect(long.taken).toBe(0)
    const endless = inChunks(new Uint8Array(BODY_MAX + MIB), MIB)
    expect(await readBody({ body: endless, headers: new Headers() })).toBeNull()
    expect(endless.taken).toBe(9)
  })

  test.each([
    ['gzip', Buffer.from('{}')],
    ['gzip', gzipSync(text).subarray(0, 100)],
    ['zstd', Buffer.from(Bun.zstdCompressSync('{}'))],
    ['gzip, gzip', gzipSync('{}')],
    ['gzip, br, gzip, br, gzip', gzipSync('{}')],
    ['constructor', Buffer.from('{}')],
  ])(
    'that does not match %s, or has an unrequested encoding, is an error',
    async (packing, bytes) => {
      expect(await failure(read(bytes, { 'content-encoding': packing }))).toBe('Unpackable')
    },
  )
})

test('large bodies wait beyond their common bound, small ones do not, and all are read in the end', async () => {
  const bodies = Array.from({ length: 20 }, () => {
    const it = {
      taken: 0,
      end: Promise.withResolvers<void>(),
      async *[Symbol.asyncIterator]() {
        for (; it.taken < BODY_MAX; it.taken += CHUNK) yield new Uint8Array(CHUNK)
        await it.end.promise
      },
    }
    return it
  })
  const taken = () => bodies.reduce((sum, it) => sum + it.taken, 0)
  const reads = bodies.map((body) => readBody({ body, headers: new Headers() }))
  for (let before = -1; before !== taken(); await Bun.sleep(1)) before = taken()

  expect(taken()).toBeGreaterThan(BODIES_MAX - BODY_MAX)
  // The oldest goes on beyond the bound, and each that waits has a chunk in hand.
  expect(taken()).toBeLessThanOrEqual(BODIES_MAX + BODY_MAX + bodies.length * CHUNK)
  expect(await read(gzipSync(text), { 'content-encoding': 'gzip' })).toBe(text)
  for (const { end } of bodies) end.resolve()
  expect((await Promise.all(reads)).map((it) => it?.length)).toEqual(bodies.map(() => BODY_MAX))
})
