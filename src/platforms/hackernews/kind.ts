import { defineKind, PACED } from '../kind.ts'
import { createHackerNews } from './adapter.ts'

export const hackernews = defineKind({
  kind: 'hackernews',
  title: 'Hacker News',
  pace: 180,
  words: ['hn'],
  keys: PACED,
  address: null,
  docs: 'places-users-and-ids-by-kind',
  syntax: {
    place: '`story`, `ask`, `show`, `job`',
    user: 'a name',
    post: 'story, job, poll',
    comment: 'comment',
    proof: 'ids: every id has an item',
  },
  open: createHackerNews,
})
