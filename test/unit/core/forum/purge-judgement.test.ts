import { expect, test } from 'bun:test'

import { eraseRow } from '../../../../src/core/forum/purge.ts'

const JUDGEMENT = { status: 'judged', score: 0.9, reason: 'ann asks in SECRET title', model: 'm' }
const ROW = {
  kind: 'comment',
  id: 'b',
  name: 't1_b',
  post_id: 'a',
  author: 'ann',
  author_info: { fullname: 't2_x', flair: null, premium: null },
  subforum: 'cats',
  body: 'text',
  link_title: 'SECRET title',
  permalink: '/r/cats/comments/a/secret_title/b/',
  judgement: JUDGEMENT,
}
const none: ReadonlySet<string> = new Set()

test.each([
  ['the item', { items: new Set(['t1_b']), authors: none }],
  ['its thread', { items: new Set(['t3_a']), authors: none }],
  ['its author', { items: none, authors: new Set(['t1_b']) }],
])('the erasure of %s takes the reason of its verdict too', (_, erasure) => {
  const { judgement } = eraseRow(ROW, erasure, 'subforum')

  expect(JSON.stringify(judgement)).not.toMatch(/ann|SECRET/)
  expect(judgement).toMatchObject({ score: 0.9 })
})

test('a row that is not affected keeps it', () => {
  expect(eraseRow(ROW, { items: none, authors: none }, 'subforum')).toBe(ROW)
})
