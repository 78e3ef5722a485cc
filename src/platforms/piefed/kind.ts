import { defineKind, PACED } from '../kind.ts'
import { createLemmy } from '../lemmy/adapter.ts'

export const piefed = defineKind({
  kind: 'piefed',
  title: 'PieFed',
  pace: 60,
  keys: PACED,
  address: 'https://piefed.example.org',
  docs: 'piefed',
  syntax: {
    place: 'as `lemmy`',
    user: 'as `lemmy`',
    post: 'post',
    comment: 'comment',
    proof: 'as `lemmy`',
  },
  open: (options) => createLemmy(options, 'piefed'),
})
