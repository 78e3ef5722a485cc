import { expect, test } from 'bun:test'

import { weigh } from '../../../src/gateway/weight.ts'
import { aComment, aNode, aPost } from '../../support/reads.ts'

const all = (value: unknown) => weigh(value, Number.POSITIVE_INFINITY)

test.each([
  ['a page of posts', { posts: [aPost('a'), aPost('b', { text: 'x'.repeat(40_000) })] }],
  ['letters of three bytes', { posts: [aPost('a', { text: '猫'.repeat(10_000) })] }],
  ['a page of comments', { comments: [aComment('a'), aComment('b')] }],
  ['a tree', { comments: [aNode('a', 't3_p', [aNode('b', 't1_a', [aNode('c', 't1_b')])])] }],
])('%s weighs no less than its letters in memory and its JSON together', (_, body) => {
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

test('a text weighs by its letters wherever it stands', () => {
  const [without, withLetters] = [everywhere(''), everywhere('x'.repeat(1000))]

  expect(withLetters.map((weight, n) => weight - (without[n] ?? 0))).toEqual([
    5000, 5000, 5000, 5000,
  ])
})

test('what is deeper than any stack is weighed', () => {
  let deep: object = {}
  for (let n = 0; n < 200_000; n++) deep = { replies: deep }

  expect(all(deep)).toBeGreaterThan(200_000 * 8)
})

test('beyond what is enough nothing more is looked at', () => {
  const rows = [
    { text: 'x'.repeat(100) },
    {
      get text(): string {
        throw new Error('looked at')
      },
    },
  ]

  // The last row is the first to be looked at.
  expect(weigh({ rows: rows.toReversed() }, 300)).toBeGreaterThan(300)
  expect(() => weigh({ rows: rows.toReversed() }, 1000)).toThrow('looked at')
})
