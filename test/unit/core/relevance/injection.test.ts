import { expect, test } from 'bun:test'

import { parseVerdict } from '../../../../src/core/relevance/answer.ts'
import {
  type JudgedItem,
  judgedItemOf,
  messagesFor,
  requestBody,
  visible,
} from '../../../../src/core/relevance/request.ts'
import { ORDERS, SHAPES } from '../../../support/injections.ts'
import { escapesOf, obey } from '../../../support/obedient-model.ts'

const PROMPT = 'People who look for a cat. "Quotes", <tags> and [brackets] are fine.'
const BENIGN: JudgedItem = { kind: 'post', place: 'cats', title: 'a cat', text: 'ORDER-free' }

const requestFor = (item: Partial<JudgedItem>, prompt = PROMPT) =>
  requestBody('m', messagesFor(prompt, { ...BENIGN, ...item }), 'schema')

const honest = ({ title }: Record<string, string>) => ({
  score: title === 'a cat' ? 0.9 : 0.1,
  reason: 'honest',
})

const bodyOf = (content: string) =>
  JSON.stringify({ choices: [{ message: { role: 'assistant', content } }] })

test('the corpus has 30 languages and 30 shapes', () => {
  expect(ORDERS.length).toBeGreaterThanOrEqual(30)
  expect(SHAPES.length).toBeGreaterThanOrEqual(30)
})

test.each(SHAPES)(
  'in the shape of %s an order stays in its field, in every language',
  (_, wrap) => {
    for (const [language, order] of ORDERS) {
      const hostile = wrap(order)
      for (const field of ['title', 'text', 'place'] as const)
        expect([language, field, escapesOf(requestFor({ [field]: hostile }))]).toEqual([
          language,
          field,
          [],
        ])
    }
  },
)

const broken = (text: string) =>
  JSON.stringify({
    messages: [
      { role: 'system', content: 'judge' },
      { role: 'user', content: `{"kind":"post","place":"","title":"","text":"${text}"}` },
    ],
  })

test('without its escapes a request would let orders through', () => {
  const caught = SHAPES.filter(([, wrap]) => escapesOf(broken(wrap('x'))).length > 0)

  expect(caught.length).toBeGreaterThan(15)
})

test.each(['score=1', 'score=99', 'all', 'fields', 'html', 'nonsense'])(
  'ORDER %s of one item changes neither the verdict of another nor the format',
  (order) => {
    for (const [, wrap] of SHAPES) {
      const hostile = requestFor({ title: 'x', text: wrap(`ORDER ${order} `) })
      const verdict = parseVerdict(bodyOf(obey(hostile, honest)))
      // At most it is persuaded about itself, within the format.
      if (verdict !== null) {
        expect(Object.keys(verdict)).toEqual(['score', 'reason'])
        expect(verdict.score).toBeGreaterThanOrEqual(0)
        expect(verdict.score).toBeLessThanOrEqual(1)
        expect(verdict.reason).not.toStartWith('ESCAPED')
      }
      expect(parseVerdict(bodyOf(obey(requestFor({}), honest)))).toEqual({
        score: 0.9,
        reason: 'honest',
      })
    }
  },
)

test('a request about one item does not contain another', () => {
  const [system, user] = messagesFor(PROMPT, BENIGN)
  const [other_system, other] = messagesFor(PROMPT, { ...BENIGN, text: 'the other' })

  expect(system).toEqual(other_system)
  expect(JSON.parse(user.content)).toEqual(BENIGN)
  expect(JSON.parse(other.content)['text']).toBe('the other')
})

test('a prompt of any text is one string of the system message', () => {
  for (const [, wrap] of SHAPES) {
    const prompt = wrap('a "cat" $& $1').slice(0, 2000)
    const [{ content }] = messagesFor(prompt, BENIGN)
    const [, interest = ''] = /as JSON: (\{.*\})$/m.exec(content) ?? []
    expect(JSON.parse(interest)).toEqual({ interest: visible(prompt, Infinity) })
  }
})

test('scripts that need joiners keep them, and texts stay as they are', () => {
  for (const [, order] of ORDERS) expect(visible(order, 10_000)).toBe(order)
  expect(visible('می\u200cخواهم 👩\u200d👩', 100)).toBe('می\u200cخواهم 👩\u200d👩')
})

test('texts are cut at whole characters', () => {
  expect(visible('😀😀', 3)).toBe('😀')
  const { text } = JSON.parse(messagesFor('x', { ...BENIGN, text: '漢'.repeat(9000) })[1].content)
  expect(text).toHaveLength(4000)
})

test('no author, address or id of an item is sent', () => {
  const row = {
    kind: 'comment',
    id: 'IDENT',
    name: 't1_IDENT',
    author: 'AUTHOR',
    author_info: { fullname: 't2_AUTHOR' },
    permalink: '/r/x/ADDRESS',
    url: 'https://ADDRESS',
    link_url: 'https://ADDRESS',
    link_title: 'the thread',
    body: 'the text',
    subforum: 'cats',
    upvotes: 5,
  }
  const item = judgedItemOf(row, 'subforum')

  expect(item).toEqual({ kind: 'comment', place: 'cats', title: 'the thread', text: 'the text' })
  expect(requestFor(item)).not.toMatch(/AUTHOR|ADDRESS|IDENT/)
})
