import { defineKind, PACED } from '../kind.ts'
import { createDiscourse } from './adapter.ts'

export const discourse = defineKind({
  kind: 'discourse',
  title: 'Discourse',
  pace: 60,
  keys: PACED,
  address: 'https://meta.example.org',
  docs: 'places-users-and-ids-by-kind',
  syntax: {
    place: 'slug of a category (`support`, `support/bugs`), `tag:x`, `all`',
    user: 'a name',
    post: 'topic',
    comment: 'reply',
    proof: 'ids: a walk back to the last known post',
  },
  open: createDiscourse,
})
