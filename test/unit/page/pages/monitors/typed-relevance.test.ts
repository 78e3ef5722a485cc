import { expect, test } from 'bun:test'

import {
  toRelevance,
  toTypedRelevance,
} from '../../../../../src/page/pages/monitors/typed-relevance.ts'

const typed = toTypedRelevance(null)

test('without a prompt there are no rules', () => {
  expect(toRelevance(typed)).toBeNull()
  expect(toRelevance({ ...typed, prompt: '  ' })).toBeNull()
})

test.each([
  ['0.7', 0.7],
  ['.5', 0.5],
  ['1', 1],
  // The API names the field, as for any other text.
  ['high', 'high'],
  ['', ''],
])('a minimum of %p is sent as %p', (min_score, sent) => {
  expect(toRelevance({ ...typed, prompt: 'cats', min_score })).toMatchObject({ min_score: sent })
})

test('rules are sent back as they were read', () => {
  const rules = { prompt: 'cats', min_score: 0.65, when_down: 'hold' as const }
  expect(toRelevance(toTypedRelevance(rules))).toEqual(rules)
})
