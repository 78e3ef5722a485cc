import { expect, test } from 'bun:test'

import { told } from '../../../src/delivery/told.ts'

const answered = (body: string, headers: Record<string, string> = {}) =>
  told({
    kind: 'answered',
    status: 500,
    headers: new Headers(headers),
    body: new TextEncoder().encode(body),
  })

test('of an answer a few headers are kept and the start of the body', () => {
  const kept = answered(`no such queue ${'x y '.repeat(1000)}`, {
    server: 'nginx',
    'retry-after': '7',
    'set-cookie': 'session=1',
    authorization: 'Basic abc',
  })
  expect(kept?.headers).toEqual({ server: 'nginx', 'retry-after': '7' })
  expect(kept?.body_start).toStartWith('no such queue x y')
  expect(kept?.body_start).toHaveLength(500)
})

test.each([
  `whsec_${Buffer.alloc(32, 7).toString('base64')}`,
  'whsec_short',
  'fk_0123456789abcdef',
  'Bearer abc.def.ghi',
  'Basic YTpi',
  'Bearer\u200bhidden',
  'eyJhbGciOiJIUzI1NiJ9eyJzdWIiOiIxIn0',
])('a receiver that echoes %s is not believed to have meant it', (secret) => {
  expect(answered(`invalid: ${secret} refused`)?.body_start).toBe('invalid: … refused')
})

test('of a long header the start is kept', () => {
  const { headers } = answered('', { server: 'n '.repeat(500) }) ?? {}
  expect(headers?.['server']).toHaveLength(200)
})

test('what would move a cursor or hide a line is a blank', () => {
  expect(answered('a\u001b[2Jb\r\n\u202ec')?.body_start).toBe('a [2Jb c')
})

test('where nothing answered nothing was said', () => {
  expect(told({ kind: 'failed', error: 'timeout' })).toBeNull()
})
