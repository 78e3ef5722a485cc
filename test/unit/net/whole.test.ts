import { describe, expect, test } from 'bun:test'
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib'

import { BODY_MAX, readWhole } from '../../../src/net/whole.ts'

const MIB = 1024 * 1024
const text = 'grüße '.repeat(10_000)

/** A body in pieces, and how many of them were taken. */
function inPieces(bytes: Uint8Array, size = 64 * 1024) {
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
  readWhole({ body: inPieces(bytes), headers: new Headers(headers) })

/** What a promise was rejected with, by name. */
const failure = (promise: Promise<unknown>) =>
  promise.then(() => null).catch((error: unknown) => (error instanceof Error ? error.name : error))

const from = (headers: Record<string, string>) =>
  readWhole({
    body: inPieces(gzipSync('in pieces')),
    headers: new Headers(headers),
    text: () => Promise.resolve('at once'),
  })

test('a plain body of a told length is read at once, and no other is', async () => {
  expect(await from({ 'content-length': '9' })).toBe('at once')
  expect(await from({ 'content-length': '9', 'content-encoding': 'gzip' })).toBe('in pieces')
  expect(await from({ 'content-encoding': 'gzip' })).toBe('in pieces')
})

test('what comes in chunks is measured, whatever length it tells', async () => {
  const told = { 'content-length': '9', 'transfer-encoding': 'chunked' }
  const answer = {
    body: inPieces(new Uint8Array(BODY_MAX + 1)),
    headers: new Headers(told),
    text: () => Promise.resolve('at once'),
  }

  expect(await readWhole(answer)).toBeNull()
})

test('of a body that is read at once no stream is made', async () => {
  const answer = {
    get body(): never {
      throw new Error('looked at')
    },
    headers: new Headers({ 'content-length': '9' }),
    text: () => Promise.resolve('at once'),
  }

  expect(await readWhole(answer)).toBe('at once')
})

describe('a body', () => {
  test.each([
    ['as it is', Buffer.from(text), {}],
    ['packed as gzip', gzipSync(text), { 'content-encoding': 'gzip' }],
    ['packed as GZIP', gzipSync(text), { 'content-encoding': 'GZIP' }],
    [
      'in two members',
      Buffer.concat([gzipSync(text.slice(0, 99)), gzipSync(text.slice(99))]),
      { 'content-encoding': 'gzip' },
    ],
    ['packed as deflate', deflateSync(text), { 'content-encoding': 'deflate' }],
    ['packed as br', brotliCompressSync(text), { 'content-encoding': 'br' }],
    ['not packed, and says so', Buffer.from(text), { 'content-encoding': 'identity' }],
  ] as const)('%s is read', async (_, bytes, headers) => {
    expect(await read(bytes, headers)).toBe(text)
  })

  test('of nothing is empty, however nothing is packed', async () => {
    expect(await read(new Uint8Array(), { 'content-encoding': 'gzip' })).toBe('')
    expect(await readWhole({ body: null, headers: new Headers() })).toBe('')
  })

  test('of the most that is read is read, and of a byte more is not', async () => {
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
  ])('that inflates from %s to much more is not', async (packing, bytes) => {
    expect(await read(bytes, { 'content-encoding': packing })).toBeNull()
  })

  test('that says it is too long is not begun, one that is is left in the middle', async () => {
    const long = inPieces(new Uint8Array(BODY_MAX + MIB))
    expect(
      await readWhole({
        body: long,
        headers: new Headers({ 'content-length': String(BODY_MAX + 1) }),
      }),
    ).toBeNull()
    expect(long.taken).toBe(0)
    const endless = inPieces(new Uint8Array(BODY_MAX + MIB), MIB)
    expect(await readWhole({ body: endless, headers: new Headers() })).toBeNull()
    expect(endless.taken).toBe(9)
  })

  test.each([
    ['gzip', Buffer.from('{}')],
    ['gzip', gzipSync(text).subarray(0, 100)],
    ['zstd', Buffer.from(Bun.zstdCompressSync('{}'))],
    ['gzip, gzip', gzipSync(gzipSync('{}'))],
    ['constructor', Buffer.from('{}')],
  ])('that says %s and is not, or was not asked to be, is no answer', async (packing, bytes) => {
    expect(await failure(read(bytes, { 'content-encoding': packing }))).toBe('Unpackable')
  })
})
