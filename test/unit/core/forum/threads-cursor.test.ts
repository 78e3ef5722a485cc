import { expect, test } from 'bun:test'

import { readThreadsCursor, writeThreadsCursor } from '../../../../src/core/forum/writes.ts'

test.each([
  { mail: '', chat: null },
  { mail: 't4_ab12', chat: null },
  { mail: null, chat: { at: 1_763_640_000_000, id: '!room:chat.example' } },
  { mail: 't4_ab12', chat: { at: 0, id: '!room:chat.example' } },
])('%j reads back unchanged', (cursor) => {
  const text = writeThreadsCursor(cursor)

  expect(text).toMatch(/^[\w-]+$/)
  expect(readThreadsCursor(text)).toEqual(cursor)
})

const encoded = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')

test.each([
  '',
  't4_ab12',
  'no base64!',
  encoded('text'),
  encoded([null, null]),
  encoded(['../x', null, null]),
  encoded([null, 'now', '!room']),
  encoded([null, 5, null]),
  encoded([1, null, null]),
  'A'.repeat(600),
])('%j is not a cursor', (text) => {
  expect(readThreadsCursor(text)).toBeNull()
})
