import { expect, test } from 'bun:test'

import { weigh } from '../../../src/gateway/cache.ts'
import { aComment, aNode, aPost } from '../../support/reads.ts'

const all = (value: unknown) => weigh(value, Number.POSITIVE_INFINITY)

test.each([
  ['a page of posts', { posts: [aPost('a'), aPost('b', { text: 'x'.repeat(40_000) })] }],
  ['three-byte characters', { posts: [aPost('a', { text: '猫'.repeat(10_000) })] }],
  ['a page of comments', { comments: [aComment('a'), aComment('b')] }],
  ['a tree', { comments: [aNode('a', 't3_p', [aNode('b', 't1_a', [aNode('c', 't1_b')])])] }],
])('the estimate of %s is at least its characters in memory plus its JSON', (_, body) => {
  const json = JSON.stringify(body)
  const letters = (json.match(/[^\0-\xff]/g)?.length ?? 0) * 2

  expect(all(body)).toBeGreaterThan(Buffer.byteLength(json) + letters)
})

const everywhere = (text: string) => [
  all(text),
  all({ text }),
  all([text]),
  all({ rows: [{ in: { text } }] }),
]

test('a string is estimated by its length at any place', () => {
  const [without, withLetters] = [everywhere(''), everywhere('x'.repeat(1000))]

  expect(withLetters.map((weight, n) => weight - (without[n] ?? 0))).toEqual([
    5000, 5000, 5000, 5000,
  ])
})

test('a value deeper than any stack is estimated', () => {
  let deep: object = {}
  for (let n = 0; n < 200_000; n++) deep = { replies: deep }

  expect(all(deep)).toBeGreaterThan(200_000 * 8)
})

test('weighing stops at the limit', () => {
  const rows = [
    { text: 'x'.repeat(100) },
    {
      get text(): string {
        throw new Error('read too far')
      },
    },
  ]

  // The last row is read first.
  expect(weigh({ rows: rows.toReversed() }, 300)).toBeGreaterThan(300)
  expect(() => weigh({ rows: rows.toReversed() }, 1000)).toThrow('read too far')
})
