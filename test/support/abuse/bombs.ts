import { brotliCompressSync, constants, gzipSync } from 'node:zlib'

const MIB = 1024 * 1024

/** A body of JSON that is more than it looks, and whether it has to be refused by every route. */
export type JsonBomb = { name: string; body: string }

/** Bodies up to a MiB that are deep, wide, long, odd or no JSON at all. */
export const jsonBombs = (): readonly JsonBomb[] => {
  const fill = (unit: string, overhead = 0) =>
    unit.repeat(Math.floor((MIB - overhead) / unit.length))
  const half = MIB / 2 - 1
  return [
    { name: 'arrays in arrays', body: '['.repeat(half) + ']'.repeat(half) },
    { name: 'arrays that never end', body: '['.repeat(MIB) },
    { name: 'objects in objects', body: `${'{"a":'.repeat(160_000)}1${'}'.repeat(160_000)}` },
    { name: 'objects that never end', body: fill('{"a":') },
    { name: 'very many numbers', body: `[${fill('1,', 8)}1]` },
    { name: 'very many empty objects', body: `[${fill('{},', 8)}{}]` },
    {
      name: 'very many fields',
      body: `{${Array.from({ length: 80_000 }, (_, n) => `"k${n}":1`).join()}}`,
    },
    { name: 'one field many times', body: `{${fill('"url":1,', 16)}"url":2}` },
    { name: 'a very long name', body: `{"${fill('n', 16)}":1}` },
    { name: 'a very long text', body: `{"url":"${fill('u', 32)}"}` },
    { name: 'a text of escapes', body: `{"url":"${fill('\\u0041', 32)}"}` },
    { name: 'a text that never ends', body: `{"url":"${fill('u', 32)}` },
    { name: 'escapes that break at the end', body: `{"url":"${fill('\\n', 32)}\\x"}` },
    { name: 'a very long number', body: `{"cadence_s":${fill('9', 32)}}` },
    { name: 'a fraction without end', body: `{"cadence_s":0.${fill('0', 32)}1}` },
    { name: 'an exponent', body: '{"cadence_s":1e999999999}' },
    { name: 'white space', body: fill(' ') },
    {
      name: 'a prototype',
      body: '{"__proto__":{"admin":true},"constructor":{"prototype":{"admin":true}}}',
    },
    { name: 'halves of characters', body: `{"url":"${fill('\\ud800', 32)}"}` },
    { name: 'terms without end', body: `{"filter_spec":{"include_any":[${fill('"a",', 64)}"a"]}}` },
    { name: 'a question of parentheses', body: `{"filter_spec":{"q":"${'('.repeat(200_000)}"}}` },
  ]
}

/** Gzip data that inflates to this many MiB of zeros, one member per MiB. */
export function gzipBomb(mib: number): Uint8Array<ArrayBuffer> {
  const gzip_member = gzipSync(new Uint8Array(MIB), { level: 9 })
  return new Uint8Array(Buffer.concat(Array.from({ length: mib }, () => gzip_member)))
}

/** One member that inflates to so many MiB of zeros, and cannot be stopped between two. */
export const gzipBombOfOne = (mib: number): Uint8Array<ArrayBuffer> =>
  new Uint8Array(gzipSync(new Uint8Array(mib * MIB), { level: 1 }))

/** The same in Brotli. */
export const brotliBomb = (mib: number): Uint8Array<ArrayBuffer> =>
  new Uint8Array(
    brotliCompressSync(new Uint8Array(mib * MIB), {
      params: { [constants.BROTLI_PARAM_QUALITY]: 1 },
    }),
  )
