import { describe, expect, test } from 'bun:test'

import { enrich } from '../../../../src/core/enrichment/enrich.ts'
import type { IntentTag } from '../../../../src/core/enrichment/lexicon/cues.ts'
import { longest, phrasesByStart } from '../../../../src/core/enrichment/lexicon/phrases.ts'
import { tokenise } from '../../../../src/core/enrichment/tokenizer.ts'
import { parseFilterSpec } from '../../../../src/core/filter/parse.ts'
import { createNaming } from '../../../../src/core/forum/naming.ts'
import { commentOf, postOf } from '../../../support/items.ts'

const spec = parseFilterSpec(
  { subforum: ['cats'], kind: 'both' },
  createNaming({ platform: 'forum', community: 'subforum' }),
)
const sentiment = (body: string) => enrich(spec, commentOf({ body })).sentiment
const ofPost = (title: string, text = '', link_url: string | null = null) =>
  enrich(spec, postOf({ title, text, link_url })).intent.tag
const ofComment = (body: string) => enrich(spec, commentOf({ body })).intent.tag

describe('sentiment terms', () => {
  test.each([
    ['The new build is GREAT, great even', ['GREAT'], []],
    ["I don't think it is any good", [], ["don't think it is any good"]],
    ['Support was not very helpful.', [], ['not very helpful']],
    ['No. Great idea', ['Great'], []],
    ['I have never had such bland food', [], ['bland']],
    ["I've never had any major issues with it", ['never had any major issues'], []],
    ['Weirdly wholesome', ['wholesome'], []],
    ['The fooood is baaaad', [], ['baaaad']],
    ['It’s ‘not’ good', [], ["not' good"]],
    ['That works for me :D', [':D'], []],
    ['It broke again :-(', [], ['broke', ':-(']],
    ['It has worked like a charm', ['worked like a charm'], []],
  ])('%p', (body, positive_terms, negative_terms) => {
    expect(sentiment(body)).toMatchObject({ positive_terms, negative_terms })
  })

  test('praise inside a question does not count, blame does', () => {
    expect(sentiment('What is the most beautiful camera?')).toMatchObject({
      label: 'neutral',
      positive_terms: [],
    })
    expect(sentiment('Why is this so terrible?').label).toBe('negative')
  })

  test('thanks beside a question do not count', () => {
    expect(sentiment('Thank you!').label).toBe('positive')
    expect(sentiment('Where is the setting? Thank you!').label).toBe('neutral')
  })

  test('one unwelcome fact is no judgement, several are', () => {
    expect(sentiment('There was a delay at the station.').label).toBe('neutral')
    expect(sentiment('A delay, then an outage, then a leak.').label).toBe('negative')
  })

  test('intent', () => {
    expect(sentiment('I love it, but the support is not helpful')).toEqual({
      polarity: 0.34,
      label: 'mixed',
      positive_terms: ['love'],
      negative_terms: ['not helpful'],
      method: 'lexicon_heuristic',
    })
  })
})

describe('intent', () => {
  test.each<[string, string, IntentTag]>([
    ['Poet 0.4.0 is out!', '', 'promotion'],
    ['cats-cli - a small tool for naming cats', '', 'promotion'],
    ['[H] a blue cat [W] two red cats', '', 'promotion'],
    ['Our house', 'Come in: https://discord.gg/abc', 'promotion'],
    ['Looking for a small robotics framework', '', 'recommendation_request'],
    ['Wait for the next one or buy now?', 'Is it worth buying?', 'recommendation_request'],
    ['Does anyone know how the door opens', '', 'question'],
    ['Request: the name of this song', 'It goes la la.', 'question'],
    ['How daylight saving affects us in the north', '', 'discussion'],
    ['Why the vikings left', '', 'discussion'],
    ['What a joke', 'I want my money back.', 'complaint'],
  ])('a post %p, %p is %s', (title, text, tag) => {
    expect(ofPost(title, text)).toBe(tag)
  })

  test.each<[string, IntentTag]>([
    ['How much did that cost?', 'question'],
    ["Haven't you seen it? But fine, I get you.", 'discussion'],
    ['Thanks, OP!', 'praise'],
    ['The waiter was rude.', 'complaint'],
    ['The director is a genius', 'praise'],
    ['It made it there.', 'discussion'],
  ])('a comment %p is %s', (body, tag) => {
    expect(ofComment(body)).toBe(tag)
  })

  test('a post that links to a repository presents it', () => {
    const title = 'catwatcher - listen to cats in the terminal'

    expect(ofPost(title, '', 'https://github.com/someone/catwatcher')).toBe('promotion')
  })
})

describe('a text is split into words and marks', () => {
  test.each([
    [
      'Version 3.0 of cats.example, not 2.',
      ['version', '3', '0', 'of', 'cats', 'example', ',', 'not', '2', '.'],
    ],
    ["can't well-made 'quoted'", ["can't", 'well-made', 'quoted']],
    ['zero\u200bwidth ｆｕｌｌ', ['zerowidth', 'full']],
    ['a\nb', ['a', '\n', 'b']],
    ['note :Pascal', ['note', 'pascal']],
    ['so ;) 😍', ['so', ':)', '😍']],
  ])('%p', (text, words) => {
    expect(tokenise(text).words).toEqual(words)
  })

  test('and at most a thousand of them', () => {
    expect(tokenise('a '.repeat(5000)).words.length).toBe(1000)
  })
})

describe('a phrase', () => {
  const starts = phrasesByStart([
    ['how|where [on|in] earth', 'place'],
    ['how * is', 'state'],
    ['how on earth did', 'wonder'],
  ])
  const find = (text: string) => {
    const { words } = tokenise(text)
    const from = starts.get(words[0] ?? '')
    return from === undefined ? null : longest(from, words, 0)
  }

  test.each([
    ['how earth', 'place', 2],
    ['where in earth', 'place', 3],
    ['how on earth did', 'wonder', 4],
    ['how a b c d e is', 'state', 7],
    ['how is', 'state', 2],
  ])('%p is %s', (text, value, length) => {
    expect(find(text)).toEqual({ value, length })
  })

  test.each(['how a b c d e f is', 'how a. This is', 'how', 'where is'])('%p is none', (text) => {
    expect(find(text)).toBeNull()
  })
})
