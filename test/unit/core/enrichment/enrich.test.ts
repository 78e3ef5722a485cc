import { describe, expect, test } from 'bun:test'

import * as fc from 'fast-check'

import { enrich } from '../../../../src/core/enrichment/enrich.ts'
import { INTENTS } from '../../../../src/core/enrichment/lexicon/cues.ts'
import { weights } from '../../../../src/core/enrichment/lexicon/words.ts'
import { SENTIMENT_LABELS } from '../../../../src/core/enrichment/sentiment.ts'
import type { FilterSpec } from '../../../../src/core/filter/fields.ts'
import { parseFilterSpec } from '../../../../src/core/filter/parse.ts'
import { createNaming } from '../../../../src/core/forum/naming.ts'
import { commentOf, postOf } from '../../../support/items.ts'

const words = createNaming({ platform: 'forum', community: 'subforum' })
const specOf = (fields: Record<string, unknown>): FilterSpec =>
  parseFilterSpec({ subforum: ['cats'], kind: 'both', ...fields }, words)
const none = specOf({})

const sentiment = (body: string) => enrich(none, commentOf({ body })).sentiment
const intent = (title: string, text = '') => enrich(none, postOf({ title, text })).intent.tag

describe('relevance', () => {
  test('is the share of the monitor’s own keywords that the item contains', () => {
    const spec = specOf({ q: 'bun OR sqlite -hiring', include_any: ['fast', 'slow'] })

    expect(enrich(spec, postOf({ title: 'Bun is fast' })).relevance).toEqual({
      score: 0.5,
      matched_terms: ['bun', 'fast'],
      considered_terms: 4,
      method: 'keyword_match_heuristic',
    })
  })

  test('is 1 for a monitor without keywords, for any item', () => {
    expect(enrich(specOf({ exclude_terms: ['x'] }), postOf({})).relevance).toEqual({
      score: 1,
      matched_terms: [],
      considered_terms: 0,
      method: 'no_keyword_criteria',
    })
  })

  test('a keyword in two fields of the filter counts once', () => {
    const spec = specOf({ q: 'Bun', include_any: ['bun', 'deno', 'node'] })

    expect(enrich(spec, postOf({ title: 'bun' })).relevance).toMatchObject({
      score: 0.33,
      considered_terms: 3,
    })
  })
})

describe('sentiment', () => {
  test.each([
    ['I love it, it is amazing!', 'positive'],
    ['Not bad at all.', 'positive'],
    ["I can't recommend it enough", 'positive'],
    ['No problems so far, works like a charm', 'positive'],
    ['Not only great but also fast', 'positive'],
    ['😍😍', 'positive'],
    ['This is terrible and I hate it', 'negative'],
    ['This is not good.', 'negative'],
    ["It isn't very helpful", 'negative'],
    ['The new version crashes', 'negative'],
    ['Great design but the app is slow and buggy', 'mixed'],
    ['It is exceptionally bad', 'negative'],
    ['The train leaves at five.', 'neutral'],
    ['', 'neutral'],
  ])('%p is %s', (body, label) => {
    expect(sentiment(body).label).toBe(label as (typeof SENTIMENT_LABELS)[number])
  })

  test('the terms are reported as written, with their negation', () => {
    expect(sentiment('I love it, but the support is not helpful')).toMatchObject({
      positive_terms: ['love'],
      negative_terms: ['not helpful'],
      method: 'lexicon_heuristic',
    })
  })

  test('a degree word intensifies or weakens', () => {
    const plain = sentiment('it is good').polarity

    expect(sentiment('it is extremely good').polarity).toBeGreaterThan(plain)
    expect(sentiment('it is slightly good').polarity).toBeLessThan(plain)
  })

  test('a negation ends with its clause', () => {
    expect(sentiment('No, great idea').label).toBe('positive')
  })

  test('one mild word does not determine a long text', () => {
    const long = 'The train leaves at five and comes back at nine. '.repeat(30)

    expect(sentiment(`${long} There was a delay.`).label).toBe('neutral')
  })

  test('quotes, code, addresses and the thread’s title do not count', () => {
    const body =
      '> awful, terrible\n\nread `horrible` at https://x.test/worst/hate\n\n    disgusting'

    expect(
      enrich(none, commentOf({ body, link_title: 'I hate this' })).sentiment.negative_terms,
    ).toEqual([])
  })
})

describe('intent', () => {
  test.each<[string, string, (typeof INTENTS)[number]]>([
    ['How do I install it on Debian?', '', 'question'],
    ['Does anyone know what this error means', 'I get E42.', 'question'],
    ['Need help with my setup', 'It will not start. Any ideas?', 'question'],
    ['Can anyone recommend a laptop under $500?', '', 'recommendation_request'],
    ['Looking for a good note taking app', 'Any suggestions?', 'recommendation_request'],
    ["What's the best camera for travel?", '', 'recommendation_request'],
    [
      'Cancelled my subscription',
      'The update broke everything and support is terrible.',
      'complaint',
    ],
    ['Why is this still broken', 'Fed up. It keeps crashing.', 'complaint'],
    ['We just launched our new app', 'Use code SAVE10 for 20% off!', 'promotion'],
    ['I built a tool that counts cats', 'Feedback welcome, link in bio', 'promotion'],
    ['Shout-out to the devs', 'I love this, it works great, thank you so much', 'praise'],
    ['Release notes for 1.4', 'It contains changes to the parser.', 'discussion'],
    ['', '', 'discussion'],
  ])('%p, %p is %s', (title, text, tag) => {
    expect(intent(title, text)).toBe(tag)
  })
})

test('the enrichment of any item is within its bounds and deterministic', () => {
  const listed = fc.constantFrom(
    ...weights().keys(),
    'not',
    'very',
    'but',
    '?',
    '.',
    'how',
    'love',
    '> ',
  )
  const text = fc.oneof(
    fc.array(listed).map((it) => it.join(' ')),
    fc.string({ unit: 'binary' }),
  )
  fc.assert(
    fc.property(text, text, (title, body) => {
      const spec = specOf({ include_any: ['love', 'how'] })
      const one = enrich(spec, postOf({ title, text: body }))

      expect(enrich(spec, postOf({ title, text: body }))).toEqual(one)
      expect(Math.abs(one.sentiment.polarity)).toBeLessThanOrEqual(1)
      expect(SENTIMENT_LABELS).toContain(one.sentiment.label)
      expect(INTENTS).toContain(one.intent.tag)
      expect([0, 0.5, 1]).toContain(one.relevance.score)
    }),
  )
})

test('every word of the lexicon is one plain word with a weight', () => {
  expect(weights().size).toBeGreaterThan(1000)
  for (const [word, weight] of weights()) {
    expect(word).toMatch(/^[a-z]+(?:-[a-z]+)*$/)
    expect([-2, -1, -0.5, 0.5, 1, 2]).toContain(weight)
  }
})
