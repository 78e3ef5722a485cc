import { expect, test } from 'bun:test'

import { byAuthor } from '../../../src/gateway/by-author.ts'
import { aComment, aPost } from '../../support/reads.ts'

const said = (author: string, score: number, subforum = 'cats') => {
  const { id, body, permalink, url, created } = aComment(`${author}${score}`)
  return { id, body, permalink, url, created, author, score, subforum, post: aPost('p') }
}

test('people are counted over all their comments, highest scores together first', () => {
  const authors = byAuthor([
    said('ann', 9),
    said('bob', 8),
    said('bob', 5, 'dogs'),
    said('ann', -2),
  ])

  expect(authors).toMatchObject([
    {
      author: 'bob',
      comment_count: 2,
      total_score: 13,
      subforums: ['cats', 'dogs'],
      top_comment: { score: 8 },
    },
    { author: 'ann', comment_count: 2, total_score: 7, subforums: ['cats'] },
  ])
})

test('what deleted accounts have left is nobody’s in particular', () => {
  expect(byAuthor([said('[deleted]', 9), said('[deleted]', 8)])).toEqual([])
})
