import * as fc from 'fast-check'

import { parseFilterSpec } from '../../src/core/filter/parse.ts'
import { type Item, MORE_PLACES } from '../../src/core/forum/items.ts'
import { words } from './archive.ts'
import { commentOf, postOf } from './items.ts'

/** The spec of a request. */
export const parse = (value: unknown) => parseFilterSpec(value, words)

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

/** An item of any words, place, author, source and time within 40 days. */
export const anyItem: fc.Arbitrary<Item> = fc
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

/** A filter of any fields; null where they contradict each other. */
export const anySpec = fc
  .record(
    {
      source: some(fc.constantFrom(['all'], ['forum'], ['hn'], ['hn', 'forum'])),
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
