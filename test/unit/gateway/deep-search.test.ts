import { expect, test } from 'bun:test'

import { byAuthor } from '../../../src/gateway/deep-search.ts'
import { aComment, aPost } from '../../support/reads.ts'

const comment = (author: string, score: number, subforum = 'cats') => {
  const { id, body, permalink, url, created } = aComment(`${author}${score}`)
  return { id, body, permalink, url, created, author, score, subforum, post: aPost('p') }
}

test('authors are ranked by the total score of all their comments', () => {
  const authors = byAuthor([
    comment('ann', 9),
    comment('bob', 8),
    comment('bob', 5, 'dogs'),
    comment('ann', -2),
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

test('comments of deleted accounts have no author row', () => {
  expect(byAuthor([comment('[deleted]', 9), comment('[deleted]', 8)])).toEqual([])
})
