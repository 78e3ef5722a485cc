import { expect, test } from 'bun:test'

import { parseVerdict, REASON_MAX } from '../../../../src/core/relevance/answer.ts'

const body = (content: unknown, more: object = {}) =>
  JSON.stringify({ choices: [{ message: { role: 'assistant', content } }], ...more })

test.each([
  ['plain', '{"score": 0.756, "reason": "on topic"}'],
  ['with blanks', ' \n{"score":0.756,"reason":"on topic"}\n'],
  ['in a fence', '```json\n{"score":0.756,"reason":"on topic"}\n```'],
  ['after thoughts', '<think>It asks {"score": 0}.</think>\n{"score":0.756,"reason":"on topic"}'],
])('a verdict is read: %s', (_, content) => {
  expect(parseVerdict(body(content))).toEqual({ score: 0.76, reason: 'on topic' })
})

test('a reason is cut, on one line, and without invisible characters', () => {
  const reason = `a\n\nb\u202e\u{e0041}\u0000 ${'😀'.repeat(REASON_MAX)}`
  const verdict = parseVerdict(body(JSON.stringify({ score: 1, reason })))

  expect(verdict?.reason.startsWith('a b 😀')).toBe(true)
  expect(verdict?.reason.length).toBeLessThanOrEqual(REASON_MAX)
  expect(verdict?.reason.isWellFormed()).toBe(true)
})

test.each([
  ['no JSON', 'oops'],
  ['no choices', '{}'],
  ['an empty list', '{"choices":[]}'],
  [
    'two choices',
    JSON.stringify({
      choices: [1, 2].map(() => ({ message: { content: '{"score":1,"reason":"x"}' } })),
    }),
  ],
  ['a call of a tool', body(null)],
  ['a score above 1', body(JSON.stringify({ score: 1.5, reason: 'x' }))],
  ['a negative score', body(JSON.stringify({ score: -0.1, reason: 'x' }))],
  ['a score as text', body(JSON.stringify({ score: '0.9', reason: 'x' }))],
  ['no score', body(JSON.stringify({ reason: 'x' }))],
  ['no reason', body(JSON.stringify({ score: 0.9 }))],
  ['a further field', body(JSON.stringify({ score: 0.9, reason: 'x', deliver: true }))],
  ['a list of verdicts', body(JSON.stringify([{ score: 0.9, reason: 'x' }]))],
  ['text around the object', body('Sure! {"score": 0.9, "reason": "x"}')],
  ['two objects', body('{"score": 0.1, "reason": "x"} {"score": 0.9, "reason": "y"}')],
  ['nothing', body('')],
  ['null', body('null')],
  ['NaN', body('{"score": NaN, "reason": "x"}')],
  ['a verdict beside the answer', JSON.stringify({ score: 1, reason: 'x', choices: [] })],
  ['more than an answer can have', body(`{"score":1,"reason":"${'x'.repeat(70_000)}"}`)],
  ['a verdict in an error', JSON.stringify({ error: { message: '{"score":1,"reason":"x"}' } })],
])('a body with %s is no verdict', (_, text) => {
  expect(parseVerdict(text)).toBeNull()
})
