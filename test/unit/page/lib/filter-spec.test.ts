import { expect, test } from 'bun:test'

import * as fc from 'fast-check'
import * as z from 'zod'

import { filterForm, filterSchema } from '../../../../src/core/filter/fields.ts'
import { createNaming } from '../../../../src/core/forum/naming.ts'
import {
  fieldOf,
  inFormWords,
  inShort,
  toSpec,
  toTyped,
} from '../../../../src/page/lib/filter-spec.ts'

const words = createNaming({ platform: 'forum', community: 'subforum' })
const fields = filterForm(words).flatMap((it) => it.fields)

const WHOLE = {
  subforum: ['bread', 'cheese'],
  kind: 'both',
  q: '("rate limit" OR throttl*) AND -hiring',
  include_any: ['sourdough', 'a whole night'],
  include_all: ['loaf'],
  exclude_terms: ['gluten, free'],
  search_in: ['title', 'author'],
  match: 'substring',
  fold_accents: true,
  case_sensitive: false,
  regex: ['^bak(er|ing)$'],
  language: ['de', 'en'],
  author: ['ann'],
  exclude_authors: ['bea'],
  exclude_subforums: ['pies'],
  thread: ['abc123'],
  domain: ['example.com'],
  exclude_domains: ['example.org'],
  post_type: ['self', 'gallery'],
  intent: ['question'],
  sentiment: ['mixed'],
  flair: ['How to'],
  exclude_flair: ['Spam, again'],
  has_flair: true,
  nsfw: false,
  min_score: 3,
  min_comments: 0,
  min_relevance: 50,
  group: 'morning',
  group_window_s: 600,
}

test('the form offers the allowed words of an enumerated key', () => {
  const schema = filterSchema(createNaming({ platform: 'forum', community: 'subforum' }))
  const { properties } = z
    .looseObject({ properties: z.record(z.string(), z.unknown()) })
    .parse(z.toJSONSchema(schema, { io: 'input' }))
  const taken = (name: string) =>
    new Set(
      [...JSON.stringify(properties[name]).matchAll(/"enum":\[([^\]]*)\]/g)].flatMap(
        ([, listed = '']) => listed.split(',').map((it) => it.replaceAll('"', '')),
      ),
    )
  const closed = fields.filter(({ options }) => options !== undefined)

  expect(closed.map(({ name }) => name).toSorted()).toEqual(
    fields
      .map(({ name }) => name)
      .filter((name) => taken(name).size > 0 && name !== 'language')
      .toSorted(),
  )
  for (const { name, options = [] } of closed)
    expect([
      name,
      options
        .map(([it]) => it)
        .filter((it) => it !== '')
        .toSorted(),
    ]).toEqual([name, [...taken(name)].toSorted()])
})

test('the form uses the configured words', () => {
  const other = createNaming({ platform: 'board', community: 'room' })
  const schema = filterSchema(other)
  const names = filterForm(other).flatMap((it) => it.fields.map((field) => field.name))

  expect(names.toSorted()).toEqual(Object.keys(schema.shape).toSorted())
})

test('a filter survives a round trip through the form', () => {
  expect(toSpec(toTyped(WHOLE, fields), fields)).toEqual(WHOLE)
})

test('fields unknown to the form stay in the filter', () => {
  const later = { ...WHOLE, from_the_future: { deep: [1] } }

  expect(toSpec(toTyped(later, fields), fields, later)).toEqual(later)
})

test('fields emptied in the form are removed from the filter', () => {
  const typed = { ...toTyped(WHOLE, fields), include_all: ' \n ', post_type: [], min_score: '' }
  const { include_all, post_type, min_score, ...rest } = WHOLE

  expect([include_all, post_type, min_score].length).toBe(3)
  expect(toSpec(typed, fields, WHOLE)).toEqual(rest)
})

test.each([
  ['subforum', ' bread,cheese  pies ', ['bread', 'cheese', 'pies']],
  ['subforum', ' , ', undefined],
  ['include_any', 'one\n\n two words \n', ['one', 'two words']],
  ['group', 'Yes', true],
  ['group', 'evening', 'evening'],
  ['min_score', 'many', 'many'],
  ['min_score', '-2', -2],
  ['nsfw', 'false', false],
])('%s typed as %p is %p', (name, text, value) => {
  expect(toSpec({ [name]: text }, fields)[name]).toEqual(value)
})

// Only text fields accept arbitrary input.
const typedIn = fields.filter((it) => it.options === undefined).map((it) => it.name)

test('any form input round-trips through the filter', () => {
  const typed = fc.dictionary(fc.constantFrom(...typedIn), fc.string())
  fc.assert(
    fc.property(typed, (it) => {
      const spec = toSpec(it, fields)
      expect(toSpec(toTyped(spec, fields), fields)).toEqual(spec)
    }),
  )
})

test.each([
  ['filter_spec.include_any[2]', 'include_any'],
  ['filter_spec.q', 'q'],
  ['filter_spec', 'filter_spec'],
  ['webhook_ids[0]', 'webhook_ids'],
  [null, null],
])('an error of %p is shown beside the field %p', (named, field) => {
  expect(fieldOf(named)).toBe(field)
})

test.each([
  ['filter_spec.q ends too early', 'Query ends too early'],
  ['filter_spec.q[2] is none', 'Query, entry 3, is none'],
  ['filter_spec.kind must be one', 'filter_spec.kind must be one'],
  ['q is required', 'q is required'],
])('%p is shown as %p', (message, rendered) => {
  expect(inFormWords(message, { name: 'q', label: 'Query', kind: 'text', needs: [] })).toBe(
    rendered,
  )
})

test.each([
  [{ subforum: ['bread'], include_any: ['rye', 'spelt'] }, 'rye, spelt in bread'],
  [{ q: 'title:bun' }, 'title:bun on the whole platform'],
  [{ q: 'title:bun', source: ['hn'] }, 'title:bun on hn'],
  [{ q: 'title:bun', source: ['all'] }, 'title:bun on all sources'],
  [{ source: ['meta'], subforum: ['support'] }, 'everything in support on meta'],
  [{ author: ['ann'] }, 'everything by ann'],
  [{ subforum: ['a', 'b', 'c', 'd'] }, 'everything in a, b, c …'],
  [{ thread: ['abc'] }, 'everything in chosen threads'],
])('%j is called %p', (spec, text) => {
  expect(inShort(spec, words)).toBe(text)
})
