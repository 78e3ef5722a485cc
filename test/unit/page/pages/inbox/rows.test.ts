import { expect, test } from 'bun:test'

import { createRows, segmentsOf } from '../../../../../src/page/pages/inbox/state/rows.ts'
import type { Match } from '../../../../../src/page/pages/inbox/state/types.ts'

const match = (id: string, fields: Partial<Match> = {}): Match => ({
  id,
  source: 'forum',
  kind: 'post',
  title: id,
  excerpt: '',
  highlights: [],
  matched_terms: [],
  url: null,
  place: 'bread',
  author: null,
  score: null,
  comments: null,
  created: null,
  matched_at: '2026-01-01T00:00:00.000Z',
  sentiment: null,
  intent: null,
  relevance: null,
  monitors: [],
  state: 'unread',
  starred: false,
  label: null,
  changed: null,
  erased: false,
  ...fields,
})

const page = (ids: string[], next_cursor: string | null = null) => ({
  items: ids.map((id) => match(id)),
  next_cursor,
  examined_until: null,
})

test('a match that two pages have is listed once', () => {
  const rows = createRows()
  rows.append(page(['a', 'b'], '1'))
  rows.append(page(['b', 'c'], '2'))
  rows.appendIds({ ids: ['c', 'd'], next_cursor: null })
  rows.prepend([match('z'), match('a')])

  expect(rows.ids()).toEqual(['z', 'a', 'b', 'c', 'd'])
  expect(rows.next()).toEqual({ cursor: null, ended: true })
})

test('ids alone are missing until their matches are replaced', () => {
  const rows = createRows()
  rows.append(page(['a'], '1'))
  rows.appendIds({ ids: ['b', 'c'], next_cursor: null })
  expect(rows.missing(0, 9)).toEqual(['b', 'c'])

  rows.replace([match('c'), match('unknown')])

  expect(rows.missing(0, 9)).toEqual(['b'])
  expect([rows.at(1), rows.at(2)?.id, rows.get('unknown')]).toEqual([undefined, 'c', undefined])
})

test('removed matches come back to their places', () => {
  const rows = createRows()
  rows.append(page(['a', 'b', 'c', 'd', 'e']))

  const removed = rows.remove(new Set(['b', 'c', 'e', 'unknown']))
  expect(rows.ids()).toEqual(['a', 'd'])
  expect([rows.has('b'), rows.positionOf('d')]).toEqual([false, 1])

  rows.restore(removed)
  expect(rows.ids()).toEqual(['a', 'b', 'c', 'd', 'e'])
  expect(rows.missing(0, 5)).toEqual([])
  rows.restore(removed)
  expect(rows.size()).toBe(5)
})

test('matches far from the view are dropped beyond the maximum, and those near it stay', () => {
  const rows = createRows(40)
  const ids = Array.from({ length: 100 }, (_, at) => `m${at}`)
  rows.append(page(ids))

  rows.trim(50, 60)

  expect(rows.kept()).toBe(30)
  expect(rows.missing(40, 70)).toEqual([])
  expect(rows.missing(0, 40).length).toBe(40)
  expect(rows.size()).toBe(100)
})

test.each([
  ['no highlight', 'abc', [], ['abc']],
  ['the whole text', 'abc', [[0, 3]], ['[abc]']],
  [
    'two parts',
    'a bc d ef',
    [
      [2, 4],
      [7, 9],
    ],
    ['a ', '[bc]', ' d ', '[ef]'],
  ],
  ['beyond the end', 'abc', [[2, 9]], ['abc']],
  [
    'an overlap',
    'abcdef',
    [
      [0, 4],
      [2, 6],
    ],
    ['[abcd]', 'ef'],
  ],
] as const)('segments with %s', (_, text, ranges, expected) => {
  const segments = segmentsOf(
    text,
    ranges.map(([start, end]) => ({ start, end })),
  )

  expect(segments.map((it) => (it.marked ? `[${it.text}]` : it.text))).toEqual([...expected])
})
