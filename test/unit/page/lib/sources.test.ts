import { expect, test } from 'bun:test'

import { lackOf, placeHint, selectedSources } from '../../../../src/page/lib/sources.ts'
import type { Source } from '../../../../src/page/lib/types.ts'

const source = (name: string, capabilities: string[], place_examples: string[]): Source => ({
  name,
  kind: 'hackernews',
  url: 'https://forum.example',
  capabilities,
  place_examples,
  proof: 'dense',
  state: {
    status: 'works',
    fault: null,
    since: null,
    last_request_at: null,
    requests_last_minute: 1,
    requests_per_minute: 60,
  },
  ends_at: null,
})
const FORUM = source('forum', ['posts', 'tree', 'postsById', 'nodesById'], ['coffee'])
const HN = source('hn', ['posts', 'postsById', 'nodesById'], ['story', 'ask'])
const BARE = source('bare', ['posts'], ['x'])
const ALL = [FORUM, HN, BARE]

test.each([
  ['', [FORUM]],
  ['hn', [HN]],
  ['bare, forum', [FORUM, BARE]],
  ['all', ALL],
  ['gone', []],
])('the sources "%s" of a filter', (value, selected) => {
  expect(selectedSources(value, ALL)).toEqual(selected)
})

test('a field is unsupported as soon as one selected source lacks what it needs', () => {
  expect(lackOf(['tree'], [FORUM])).toBeNull()
  expect(lackOf(['tree'], [FORUM, HN, BARE])).toBe(
    'Not supported by hn, bare: it offers no comments of a post.',
  )
  expect(lackOf(['postsById', 'nodesById'], [HN])).toBeNull()
  expect(lackOf(['postsById', 'nodesById'], [BARE])).toContain('bare')
  expect(lackOf(['postsById'], [BARE])).toContain('posts by id')
  expect(lackOf([], [BARE])).toBeNull()
})

test('the hint of places has the examples of each selected source', () => {
  expect(placeHint([FORUM, HN])).toContain('forum: coffee; hn: story, ask.')
})
