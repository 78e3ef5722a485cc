import { expect, test } from 'bun:test'

import * as fc from 'fast-check'

import { ApiError } from '../../../../src/core/base/errors.ts'
import { normalise } from '../../../../src/core/base/form.ts'
import { compileFilter } from '../../../../src/core/filter/compile.ts'
import { placesOf } from '../../../../src/core/filter/feeds.ts'
import { FILTER_FIELDS } from '../../../../src/core/filter/fields.ts'
import { compileQuery, type MatchOptions } from '../../../../src/core/filter/match.ts'
import {
  decodeFilterSpec,
  encodeFilterSpec,
  parseFilterSpec,
  renderFilterSpec,
} from '../../../../src/core/filter/parse.ts'
import { explainItem } from '../../../../src/core/filter/preview.ts'
import { parseQuery } from '../../../../src/core/filter/query.ts'
import { occursIn, toWord } from '../../../../src/core/filter/text.ts'
import { createNaming } from '../../../../src/core/forum/naming.ts'
import { postOf } from '../../../support/items.ts'

// Thousands of cases take long on busy machines.
const PATIENCE_MS = 60_000

const words = createNaming({ platform: 'forum', community: 'subforum' })
const parse = (value: unknown) => parseFilterSpec(value, words)

const WORDS = ['a', 'Bun', 'c++', 'é', '漢', 'AND', 'OR', 'NOT', 'title:', 'author:', '🚀']
const SIGNS = [' ', '  ', '-', '"', '(', ')', '*', ':', '_', '\\', '\u200b', '\ud83d', '\n']
const fragments = fc.constantFrom(...WORDS, ...SIGNS)
const written = fc.array(fragments, { maxLength: 24 }).map((it) => it.join(''))
const anySpec = fc.oneof(
  fc.anything(),
  fc.record(
    {
      subforum: fc.oneof(written, fc.array(written), fc.anything()),
      kind: fc.oneof(fc.constantFrom('post', 'comment', 'both'), fc.anything()),
      q: fc.oneof(written, fc.anything()),
      include_any: fc.oneof(fc.array(written), fc.anything()),
      include_all: fc.oneof(fc.array(written), fc.anything()),
      exclude_terms: fc.oneof(fc.array(written), fc.anything()),
      search_in: fc.oneof(fc.array(fc.constantFrom('title', 'body')), fc.anything()),
      match: fc.oneof(fc.constantFrom('word', 'substring'), fc.anything()),
      fold_accents: fc.oneof(fc.boolean(), fc.anything()),
      case_sensitive: fc.oneof(fc.boolean(), fc.anything()),
      regex: fc.oneof(fc.array(written), fc.anything()),
      author: fc.oneof(written, fc.array(written), fc.anything()),
      exclude_subforums: fc.oneof(fc.array(written), fc.anything()),
      exclude_authors: fc.oneof(fc.array(written), fc.anything()),
      thread: fc.oneof(written, fc.array(written), fc.anything()),
      domain: fc.oneof(written, fc.array(fc.domain()), fc.anything()),
      flair: fc.oneof(written, fc.array(written), fc.anything()),
      post_type: fc.oneof(fc.array(fc.constantFrom('self', 'link')), fc.anything()),
      nsfw: fc.oneof(fc.boolean(), fc.anything()),
      min_score: fc.oneof(fc.integer(), fc.anything()),
      language: fc.oneof(fc.array(fc.constantFrom('de', 'en')), fc.anything()),
      group: fc.oneof(fc.boolean(), written, fc.anything()),
      group_window_s: fc.oneof(fc.nat(), fc.anything()),
    },
    { requiredKeys: [] },
  ),
)

test(
  'any spec is parsed or refused with an error',
  () => {
    fc.assert(
      fc.property(anySpec, (value) => {
        try {
          const spec = parse(value)
          expect(parse(renderFilterSpec(spec, words))).toEqual(spec)
          expect(placesOf(spec).length).toBeGreaterThan(0)
          const item = postOf({ title: 'Bun c++ 漢' })
          const unmet = explainItem(spec, item, words).some(({ verdict }) => verdict === 'not_met')
          expect(compileFilter(spec)(item) === null).toBe(unmet)
        } catch (error) {
          if (!(error instanceof ApiError)) throw error
          expect(error.details.field).toStartWith('filter_spec')
        }
      }),
      { numRuns: 2000 },
    )
  },
  PATIENCE_MS,
)

// One random field at a time beside a valid place.
test(
  'any value of one field is parsed or refused at that field',
  () => {
    const field = fc.constantFrom(...FILTER_FIELDS)
    fc.assert(
      fc.property(field, fc.oneof(fc.anything(), written, fc.array(written)), (name, value) => {
        try {
          const spec = parse({ subforum: ['cats'], [name]: value })
          expect(decodeFilterSpec(encodeFilterSpec(spec))).toEqual(spec)
        } catch (error) {
          if (!(error instanceof ApiError)) throw error
          expect(error.details.field).toStartWith('filter_spec')
          expect(error.details.message?.length).toBeLessThan(800)
        }
      }),
      { numRuns: 2000 },
    )
  },
  PATIENCE_MS,
)

test(
  'any q is parsed or refused at a position within it',
  () => {
    fc.assert(
      fc.property(written, (q) => {
        try {
          parseQuery(q)
        } catch (error) {
          if (!(error instanceof ApiError)) throw error
          const position = Number(/position (\d+): /.exec(error.message)?.[1])
          expect(position).toBeGreaterThanOrEqual(1)
          expect(position).toBeLessThanOrEqual(Array.from(q).length + 1)
        }
      }),
      { numRuns: 400 },
    )
  },
  PATIENCE_MS,
)

test(
  'normalisation is idempotent, and ignores case and width',
  () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 40 }), (text) => {
        for (const view of [0, 1, 2, 3] as const) {
          const once = normalise(text, view)

          expect(normalise(once, view)).toBe(once)
          expect(normalise(` ${text.normalize('NFKC')}\n`, view)).toBe(once)
        }
      }),
      { numRuns: 400 },
    )
  },
  PATIENCE_MS,
)

// The naive matcher: the rule as a regular expression over an alphabet with known classes.
const letters = fc.constantFrom('a', 'b', 'é', '7', '漢', 'ก', '+', '.', ' ', '🚀')
const text = fc.array(letters, { maxLength: 14 }).map((it) => normalise(it.join('')))
const BOUND = /[abé7]/u

test(
  'a naive matcher agrees about words and their boundaries',
  () => {
    fc.assert(
      fc.property(text, text, fc.boolean(), (term, haystack, prefix) => {
        fc.pre(term !== '')
        const chars = Array.from(term)
        const left = BOUND.test(chars[0] ?? '') ? `(?<!${BOUND.source})` : ''
        const right = !prefix && BOUND.test(chars.at(-1) ?? '') ? `(?!${BOUND.source})` : ''
        const naive = new RegExp(
          left + chars.map((it) => (/[+.]/.test(it) ? `\\${it}` : it)).join('') + right,
          'u',
        )

        const word = toWord(term, 0, { prefix, substring: false })

        expect(occursIn(haystack, word)).toBe(naive.test(haystack))
      }),
      { numRuns: 2000 },
    )
  },
  PATIENCE_MS,
)

type Tree = { q: string; holds: (title: Set<string>) => boolean }

// A query is generated together with its meaning.
const { tree } = fc.letrec<{ tree: Tree; leaf: Tree; group: Tree }>((tie) => ({
  leaf: fc
    .tuple(fc.constantFrom('red', 'green', 'blue', 'grey'), fc.constantFrom('', 'title:', '"'))
    .map(([word, sign]) => ({
      q: sign === '"' ? `"${word}"` : `${sign}${word}`,
      holds: (title) => title.has(word),
    })),
  group: fc
    .tuple(
      tie('tree'),
      tie('tree'),
      fc.constantFrom(' ', ' AND ', ' OR '),
      fc.constantFrom('', '-', 'NOT '),
    )
    .map(([a, b, operator, sign]) => ({
      q: `${sign}(${a.q}${operator}${b.q})`,
      holds: (title) => {
        const both =
          operator === ' OR ' ? a.holds(title) || b.holds(title) : a.holds(title) && b.holds(title)
        return both !== (sign !== '')
      },
    })),
  tree: fc.oneof({ maxDepth: 4 }, tie('leaf'), tie('group')),
}))
const IN_TITLES: MatchOptions = {
  search_in: ['title'],
  view: 0,
  substring: false,
}
const titles = fc.subarray(['red', 'green', 'blue', 'grey'])

test(
  'a boolean query means what it was generated from',
  () => {
    fc.assert(
      fc.property(tree, titles, ({ q, holds: expected }, title) => {
        const matches = compileQuery(parseQuery(q), IN_TITLES)

        expect(matches(postOf({ title: title.join(', ') }))).toBe(expected(new Set(title)))
      }),
      { numRuns: 500 },
    )
  },
  PATIENCE_MS,
)

test(
  'an item that matches without a place is found by one of its searches',
  () => {
    fc.assert(
      fc.property(tree, titles, ({ q, holds: expected }, title) => {
        fc.pre(q.length <= 200 && expected(new Set(title)))
        const item = postOf({ title: title.join(' ') })
        try {
          const found = placesOf(parse({ q })).map(({ place }) =>
            compileQuery(parseQuery(place), IN_TITLES)(item),
          )

          expect(found).toContain(true)
        } catch (error) {
          // A query of exclusions only has no search.
          if (!(error instanceof ApiError)) throw error
          expect(error.message).toContain('every alternative')
        }
      }),
      { numRuns: 500 },
    )
  },
  PATIENCE_MS,
)
