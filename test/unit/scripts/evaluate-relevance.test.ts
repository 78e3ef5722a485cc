// The measurement, with a rule in the place of a model: it says nothing about any model.
import { expect, test } from 'bun:test'

import { measureRelevance } from '../../evaluation/relevance.ts'
import { scoresOf } from '../../evaluation/score.ts'
import { reviewSet } from '../../evaluation/sets.ts'

const replyOf = (content: string) =>
  JSON.stringify({
    choices: [{ message: { role: 'assistant', content } }],
    usage: { prompt_tokens: 90, completion_tokens: 10 },
  })

test('a rule that knows the labels is measured as right, and its tokens are counted', async () => {
  const set = (await reviewSet()).filter(({ intent }) => intent !== null).slice(0, 40)
  const praised = new Set(
    set.flatMap(({ item, intent }) =>
      intent === 'praise' && item.kind === 'comment' ? [item.body.trim()] : [],
    ),
  )
  const { pairs, unjudged, tokens } = await measureRelevance(set, {
    intent: 'praise',
    model: 'rule',
    min_score: 0.5,
    ask: async (body) => {
      const { text } = JSON.parse(JSON.parse(body).messages[1].content)
      return replyOf(JSON.stringify({ score: praised.has(text.trim()) ? 1 : 0, reason: 'rule' }))
    },
  })

  expect(pairs).toHaveLength(40)
  expect(unjudged).toBe(0)
  expect(tokens).toBe(4000)
  expect(scoresOf(pairs).map(({ f1 }) => f1)).toEqual([1, 1])
})

test('answers without a verdict are counted, and are no label', async () => {
  const set = (await reviewSet()).filter(({ intent }) => intent !== null).slice(0, 10)
  const { pairs, unjudged } = await measureRelevance(set, {
    intent: 'praise',
    model: 'rule',
    min_score: 0.5,
    ask: async () => replyOf('Sure!'),
  })

  expect([pairs.length, unjudged]).toEqual([0, 10])
})
