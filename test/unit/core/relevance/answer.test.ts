import { expect, test } from 'bun:test'

import { parseUsage, parseVerdict, REASON_MAX } from '../../../../src/core/relevance/answer.ts'

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
  ['a verdict beside the answer', JSON.stringify({ score: 1, reason: 'x', choices: [] })],
  ['more than an answer can have', body(`{"score":1,"reason":"${'x'.repeat(70_000)}"}`)],
  ['a verdict in an error', JSON.stringify({ error: { message: '{"score":1,"reason":"x"}' } })],
])('a body with %s is no verdict', (_, text) => {
  expect(parseVerdict(text)).toBeNull()
})

test.each([
  [{ usage: { prompt_tokens: 10, completion_tokens: 2 } }, { input: 10, output: 2 }],
  [{ usage: { prompt_tokens: 10 } }, { input: 10, output: 0 }],
  [
    { usage: { prompt_tokens: 1e300, completion_tokens: 0.5 } },
    { input: 1_000_000_000, output: 1 },
  ],
  [{ usage: { prompt_tokens: -1, completion_tokens: 2 } }, null],
  [{ usage: { prompt_tokens: '10', completion_tokens: 2 } }, null],
  [{ usage: null }, null],
  [{}, null],
])('usage %j is %j', (more, usage) => {
  expect(parseUsage(body('', more))).toEqual(usage)
})
