import { expect, test } from 'bun:test'

import { IMAGE_BYTES_MAX, readImage } from '../../../../src/core/forum/writes.ts'

const bytes = (hex: string, length = 32) => {
  const all = Buffer.alloc(length)
  Buffer.from(hex, 'hex').copy(all)
  return all
}
const PNG = '89504e470d0a1a0a0000000d49484452'
const JPEG = 'ffd8ffe000104a464946'
const WEBP = '52494646240000005745425056503820'

test.each([
  ['png', bytes(PNG)],
  ['jpeg', bytes(JPEG)],
  ['webp', bytes(WEBP)],
  ['png', bytes(PNG, IMAGE_BYTES_MAX)],
] as const)('a %s is detected by its first bytes', (kind, picture) => {
  expect(readImage(picture)).toEqual({ ok: true, kind })
})

test.each([
  ['GIF89a', bytes('474946383961')],
  ['a RIFF file with audio in it', bytes('52494646240000005741564566')],
  ['a picture drawn in text', Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"/>')],
  ['a page', Buffer.from('<!doctype html><title>x</title>')],
  ['the beginning of a PNG and nothing else', bytes(PNG, 8)],
  ['nothing', new Uint8Array()],
])('%s is not accepted', (_what, picture) => {
  expect(readImage(picture)).toEqual({ ok: false, why: 'must be a PNG, JPEG or WebP picture' })
})

test('one byte more than 5 MiB is too large, for any format', () => {
  expect(readImage(bytes(PNG, IMAGE_BYTES_MAX + 1))).toEqual({
    ok: false,
    why: 'must have at most 5 MiB',
  })
})
