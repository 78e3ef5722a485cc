import { expect, test } from 'bun:test'

import { excerptResponse } from '../../../src/delivery/send.ts'

const answered = (body: string, headers: Record<string, string> = {}) =>
  excerptResponse({
    kind: 'answered',
    status: 500,
    headers: new Headers(headers),
    body: new TextEncoder().encode(body),
  })

test('an excerpt has a few headers and the start of the body', () => {
  const excerpt = answered(`no such queue ${'x y '.repeat(1000)}`, {
    server: 'nginx',
    'retry-after': '7',
    'set-cookie': 'session=1',
    authorization: 'Basic abc',
  })
  expect(excerpt?.headers).toEqual({ server: 'nginx', 'retry-after': '7' })
  expect(excerpt?.body_start).toStartWith('no such queue x y')
  expect(excerpt?.body_start).toHaveLength(500)
})

test.each([
  `whsec_${Buffer.alloc(32, 7).toString('base64')}`,
  'whsec_short',
  'fk_0123456789abcdef',
  'Bearer abc.def.ghi',
  'Basic YTpi',
  'Bearer\u200bhidden',
  'eyJhbGciOiJIUzI1NiJ9eyJzdWIiOiIxIn0',
])('a secret echoed as %s is redacted', (secret) => {
  expect(answered(`invalid: ${secret} refused`)?.body_start).toBe('invalid: … refused')
})

test('a long header is cut', () => {
  const { headers } = answered('', { server: 'n '.repeat(500) }) ?? {}
  expect(headers?.['server']).toHaveLength(200)
})

test('characters that move a cursor or hide a line become blanks', () => {
  expect(answered('a\u001b[2Jb\r\n\u202ec')?.body_start).toBe('a [2Jb c')
})

test('without a response there is no excerpt', () => {
  expect(excerptResponse({ kind: 'failed', error: 'timeout' })).toBeNull()
})
