import { defineKind, PACED } from '../kind.ts'
import { createLemmy } from './adapter.ts'

export const lemmy = defineKind({
  kind: 'lemmy',
  title: 'Lemmy',
  pace: 90,
  keys: PACED,
  address: 'https://lemmy.example.org',
  docs: 'places-users-and-ids-by-kind',
  syntax: {
    place: '`community`, or `community@instance` for one of another instance; `all`, `local`',
    user: 'a name, or `name@instance`',
    post: 'post',
    comment: 'comment',
    proof: 'ids of the instance: each was listed or requested',
  },
  open: createLemmy,
})
