import { defineKind, PACED } from '../../src/platforms/kind.ts'
import { createToy } from './adapter.ts'

/** A board whose one document, `/list.json`, has its posts, and which has no comments, acts or accounts. */
export const toy = defineKind({
  kind: 'toy',
  title: 'Toy board',
  pace: 60,
  keys: PACED,
  address: 'https://toy.example.org',
  docs: 'toy',
  syntax: { place: 'a word', user: 'a name', post: 'post', comment: 'none', proof: 'ids' },
  open: createToy,
})
