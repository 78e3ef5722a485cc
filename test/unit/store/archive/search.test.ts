import { expect, test } from 'bun:test'

import * as fc from 'fast-check'

import { wordQuery } from '../../../../src/core/archive/words.ts'
import { compileFilter } from '../../../../src/core/filter/compile.ts'
import { parseFilterSpec } from '../../../../src/core/filter/parse.ts'
import { type Item, MORE_PLACES } from '../../../../src/core/forum/items.ts'
import { openArchive } from '../../../../src/store/archive/file.ts'
import { createJudge } from '../../../../src/store/archive/search.ts'
import { archive, searchAll, words } from '../../../support/archive.ts'
import { commentOf, postOf } from '../../../support/items.ts'

// A search of the archive against live matching, which knows no index. FORUMD_RUNS=100000 is the long form.
const RUNS = Number(process.env.FORUMD_RUNS ?? 3000)
const ITEMS = 24

const parse = (value: unknown) => parseFilterSpec(value, words)

// Scripts without spaces beside words, accents in both forms, ligatures, signs within words, capitals that fold to more
// than one letter, invisible characters, and half-width letters.
const PIECES = [
  ..."aabBéÉe7漢字京大東+._ -'’ßẞİıøæﬁσςΣ".split(''),
  'e\u0301',
  'ﾊﾞ',
  'ไทย',
  'かな',
  'タワー',
  '한국',
  '\u200b',
  '、',
  'हि',
  'node.js',
  'c++',
  ' ',
  '  ',
  '\n',
]
const letters = fc.constantFrom(...PIECES)
const textOf = (max: number) => fc.array(letters, { maxLength: max }).map((it) => it.join(''))
const term = textOf(5).filter((it) => it.normalize('NFKC').replaceAll(/[\s\u200b]/gu, '') !== '')
const author = fc.constantFrom('aa', 'Ab', 'b_7', '[deleted]')
const place = fc.constantFrom('cats', 'Dogs', 'birds')

const anyItem: fc.Arbitrary<Item> = fc
  .record({
    is_post: fc.boolean(),
    title: textOf(10),
    text: textOf(16),
    author,
    subforum: place,
    flair: fc.option(textOf(3)),
    link_url: fc.constantFrom(null, 'https://www.example.org/a-b_c/éé'),
    created_utc: fc.integer({ min: 1_767_225_600, max: 1_767_225_600 + 40 * 86_400 }),
    source: fc.constantFrom(undefined, 'hn'),
    post_id: fc.constantFrom('p1', 'p2'),
    upvotes: fc.integer({ min: 0, max: 5 }),
    more: fc.constantFrom(undefined, ['tag'], null),
  })
  .map(({ is_post, title, text, flair, link_url, post_id, source, more, ...shared }) => ({
    ...(is_post
      ? postOf({ ...shared, title, text, flair, link_url, is_self: link_url === null })
      : commentOf({ ...shared, body: text, link_title: title, link_url, post_id })),
    ...(source !== undefined && { source }),
    ...(more !== undefined && { [MORE_PLACES]: more }),
  }))

const terms = (max: number) => fc.array(term, { maxLength: max })
const q = fc
  .array(
    fc.oneof(
      fc.constantFrom(
        'AND',
        'OR',
        'NOT',
        '(',
        ')',
        'title:a',
        'author:aa',
        'body:漢',
        'ab*',
        '東*',
      ),
      term.map((it) => `"${it.replaceAll('"', '')}"`),
      term.map((it) => `"${it.replaceAll('"', '')}"*`),
    ),
    { minLength: 1, maxLength: 6 },
  )
  .map((it) => it.join(' '))
const some = <T>(it: fc.Arbitrary<T>) => fc.option(it, { nil: undefined, freq: 3 })

const anySpec = fc
  .record(
    {
      source: some(fc.constantFrom(['all'], ['main'], ['hn'], ['hn', 'main'])),
      subforum: some(fc.uniqueArray(fc.constantFrom('cats', 'DOGS', 'tag'), { minLength: 1 })),
      kind: fc.constantFrom('post', 'comment', 'both'),
      q: some(q),
      include_any: some(terms(4)),
      include_all: some(terms(2)),
      exclude_terms: some(terms(2)),
      search_in: some(
        fc.uniqueArray(fc.constantFrom('title', 'body', 'url', 'permalink', 'flair', 'author'), {
          minLength: 1,
        }),
      ),
      match: fc.constantFrom('word', 'word', 'substring'),
      fold_accents: fc.boolean(),
      case_sensitive: fc.boolean(),
      regex: some(fc.constantFrom(['a+b'], ['漢.'])),
      author: some(fc.uniqueArray(fc.constantFrom('AA', 'ab', 'b_7'), { minLength: 1 })),
      thread: some(fc.constantFrom(['p1'], ['p2', 'p3'])),
      min_score: some(fc.integer({ min: 0, max: 5 })),
    },
    { requiredKeys: ['kind', 'match', 'fold_accents', 'case_sensitive'] },
  )
  .map((it) => {
    try {
      return parse(
        Object.fromEntries(Object.entries(it).filter(([, value]) => value !== undefined)),
      )
    } catch {
      return null
    }
  })

test('a search finds what live matching finds, newest first, for any filter and any text', () => {
  let matches = 0
  let indexed = 0
  fc.assert(
    fc.property(
      fc.array(anyItem, { minLength: ITEMS, maxLength: ITEMS }),
      fc.array(anySpec, { minLength: 8, maxLength: 8 }),
      (drawn, specs) => {
        const items = drawn.map((it, n): Item => ({ ...it, id: `x${n}`, name: `t3_x${n}` }))
        using db = openArchive(':memory:')
        archive(db, items)
        for (const spec of specs) {
          if (spec === null) continue
          const judge = createJudge(spec)
          const expected = items.filter((it) => judge({ ...it }) === 'matches')
          const { names, rows } = searchAll(db, { spec, limit: 5 })

          expect(names.toSorted()).toEqual(expected.map(({ name }) => name).toSorted())
          const times = rows.map(({ created_utc }) => Number(created_utc))
          expect(times).toEqual(times.toSorted((a, b) => b - a))
          matches += expected.length
          if (wordQuery(spec) !== null && expected.length > 0) indexed += 1
        }
      },
    ),
    { numRuns: Math.ceil(RUNS / 40) },
  )

  // Without matches through the index nothing would have been compared.
  expect(matches).toBeGreaterThan(RUNS / 40)
  expect(indexed).toBeGreaterThan(RUNS / 200)
}, 600_000)

test.each([
  ['cat', '猫cat'],
  ['東京', '私は東京に住む'],
  ['京', '東京'],
  ['node.js', 'about Node.js, and more'],
  ['cafe', 'CAFE'],
  ['straße', 'STRASSE'],
  ['"rate limit"', 'a rate  limit'],
  ['throttl*', 'throttling'],
])('the index finds %s in %s', (written, title) => {
  using db = openArchive(':memory:')
  const spec = parse({ q: written, kind: 'post' })
  archive(db, [postOf({ title }), postOf({ title: 'nothing of it', name: 't3_p2', id: 'p2' })])

  expect(compileFilter(spec)(postOf({ title }))).not.toBeNull()
  expect(wordQuery(spec)).not.toBeNull()
  expect(searchAll(db, { spec }).names).toEqual(['t3_p1'])
})

test('pages follow each other without a gap or a repeat, also within one second', () => {
  using db = openArchive(':memory:')
  const items = Array.from({ length: 120 }, (_, n) =>
    postOf({ title: 'cat', name: `t3_x${n}`, id: `x${n}`, created_utc: 1_767_225_600 + (n % 3) }),
  )
  archive(db, items)
  const { names, pages } = searchAll(db, { spec: parse({ q: 'cat' }), limit: 7 })

  expect(names).toHaveLength(120)
  expect(new Set(names).size).toBe(120)
  expect(pages).toBe(18)
})

test('a customer finds what its own monitors matched, and nothing else', () => {
  using db = openArchive(':memory:')
  archive(db, [postOf({ title: 'cat one', name: 't3_x1' })], { scopes: ['m:mine'] })
  archive(db, [postOf({ title: 'cat two', name: 't3_x2' })], { scopes: ['m:other'] })
  archive(db, [postOf({ title: 'cat three', name: 't3_x3' })], { scopes: ['m:other', 'm:mine'] })
  const { rows } = searchAll(db, { spec: parse({ q: 'cat' }), scopes: ['m:mine'] })

  expect(rows.map(({ name }) => name)).toEqual(['t3_x3', 't3_x1'])
  // Nor that another customer's monitor matched it.
  expect(rows[0]?.['archived']).toMatchObject({ monitor_ids: ['mine'] })
})
