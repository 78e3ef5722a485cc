import { heapStats } from 'bun:jsc'
import { describe, expect, test } from 'bun:test'

import * as fc from 'fast-check'

import { compileFilter } from '../../../../src/core/filter/compile.ts'
import {
  createIndex,
  createMatcher,
  type Index,
  type Matcher,
  needsOf,
} from '../../../../src/core/filter/index.ts'
import {
  decodeFilterSpec,
  encodeFilterSpec,
  parseFilterSpec,
} from '../../../../src/core/filter/parse.ts'
import type { Item } from '../../../../src/core/forum/items.ts'
import { createNaming } from '../../../../src/core/forum/naming.ts'
import { createVerdicts, type Verdicts } from '../../../../src/core/pattern/verdicts.ts'
import { commentOf, postOf } from '../../../support/items.ts'
import { cases } from '../../../support/long-form.ts'

// The matcher of a feed against a naive, independent one: without an index, and without normalisation except for a
// known alphabet. FORUMD_RUNS=100000 is the long form.
const RUNS = Number(process.env.FORUMD_RUNS ?? cases({ short: 1000, long: 4000 }))
const MONITORS = 5

const words = createNaming({ platform: 'forum', community: 'subforum' })
const parse = (value: unknown) => parseFilterSpec(value, words)
const stored = (value: unknown) => encodeFilterSpec(parse(value))

/** A matcher, and the stored texts of its monitors. */
function create(verdicts?: Verdicts) {
  const texts = new Map<string, string>()
  const matcher = createMatcher((id) => decodeFilterSpec(texts.get(id) ?? ''), verdicts)
  return {
    ...matcher,
    set(id: string, version: number, text: string) {
      const spec = decodeFilterSpec(text)
      if (!matcher.has(id, version)) texts.set(id, text)
      matcher.set(id, version, spec)
    },
  }
}

/** Input for both. */
type Query = {
  include_any: string[]
  include_all: string[]
  exclude_terms: string[]
  search_in: ('title' | 'thread_title' | 'body' | 'author')[]
  match: 'word' | 'substring'
  fold_accents: boolean
  case_sensitive: boolean
  kind: 'post' | 'comment' | 'both'
  author: string[]
}

// The naive matcher: 40 lines that can be checked against the rules by eye.
const LETTER = /[a-zé0-9]/iu

function naiveView(text: string, query: Query): string {
  let seen = text.replace(/\s+/g, ' ').trim()
  if (query.fold_accents) seen = seen.replaceAll('é', 'e').replaceAll('É', 'E')
  return query.case_sensitive ? seen : seen.toLowerCase()
}

function naiveOccurs(term: string, text: string, query: Query): boolean {
  const wanted = naiveView(term, query)
  const seen = naiveView(text, query)
  for (let at = seen.indexOf(wanted); at !== -1; at = seen.indexOf(wanted, at + 1)) {
    if (query.match === 'substring') return true
    const before = seen.slice(0, at).replace(/_+$/, '').at(-1) ?? ''
    const behind = seen.slice(at + wanted.length).replace(/^_+/, '')[0] ?? ''
    const left = LETTER.test(wanted[0] ?? '') && LETTER.test(before)
    const right = LETTER.test(wanted.at(-1) ?? '') && LETTER.test(behind)
    if (!left && !right) return true
  }
  return false
}

function naiveTexts(item: Item, query: Query): string[] {
  const texts = {
    title: item.kind === 'post' ? item.title : '',
    thread_title: item.kind === 'post' ? '' : (item.link_title ?? ''),
    body: item.kind === 'post' ? item.text : item.body,
    author: item.author,
  }
  return query.search_in.map((field) => texts[field])
}

function naive(query: Query, item: Item): string[] | null {
  const occurs = (term: string) =>
    naiveTexts(item, query).some((it) => naiveOccurs(term, it, query))
  if (query.kind !== 'both' && query.kind !== item.kind) return null
  if (query.author.length > 0 && !query.author.includes(item.author)) return null
  if (query.include_any.length > 0 && !query.include_any.some(occurs)) return null
  if (!query.include_all.every(occurs) || query.exclude_terms.some(occurs)) return null
  const seen = [...query.include_any, ...query.include_all].filter(occurs)
  return [...new Set(seen.map((it) => naiveView(it, query)))].toSorted()
}

const letters = fc.constantFrom(...'aabBéÉe7漢+._  '.split(''))
const term = fc
  .array(letters, { minLength: 1, maxLength: 4 })
  .map((it) => it.join(''))
  .filter((it) => it.trim() !== '')
const text = fc.array(letters, { maxLength: 16 }).map((it) => it.join(''))
// In a body an underscore is Markdown; its rendering is covered by another test.
const prose = text.map((it) => it.replaceAll('_', ' '))
const author: fc.Arbitrary<string> = fc.constantFrom('aa', 'ab', 'b7')
const anyQuery: fc.Arbitrary<Query> = fc.record({
  include_any: fc.array(term, { maxLength: 4 }),
  include_all: fc.array(term, { maxLength: 2 }),
  exclude_terms: fc.array(term, { maxLength: 1 }),
  search_in: fc.subarray(['title', 'thread_title', 'body', 'author'] as const, { minLength: 1 }),
  match: fc.constantFrom('word' as const, 'word' as const, 'substring' as const),
  fold_accents: fc.boolean(),
  case_sensitive: fc.boolean(),
  kind: fc.constantFrom('post' as const, 'comment' as const, 'both' as const),
  author: fc.oneof(fc.constant<string[]>([]), fc.uniqueArray(author, { minLength: 1 })),
})
const item: fc.Arbitrary<Item> = fc
  .tuple(fc.boolean(), text, prose, author)
  .map(([post, title, body, by]) =>
    post
      ? postOf({ title, text: body, author: by })
      : commentOf({ link_title: title, body, author: by }),
  )

const textOf = ({ author: by, ...rest }: Query) =>
  stored({ subforum: ['cats'], ...rest, ...(by.length > 0 && { author: by }) })

test('the matcher agrees with a naive one while monitors are added and removed', () => {
  let matches = 0
  fc.assert(
    fc.property(
      fc.array(anyQuery, { minLength: MONITORS, maxLength: MONITORS }),
      fc.array(anyQuery, { minLength: MONITORS, maxLength: MONITORS }),
      fc.array(item, { minLength: 2, maxLength: 2 }),
      (before, after, items) => {
        const matcher = create()
        for (const [i, it] of before.entries()) matcher.set(`mon_${i}`, 1, textOf(it))
        for (const it of items) matcher.match({ ...it })
        // The first stays, the second is removed, the others are edited.
        matcher.remove('mon_1')
        for (const [i, it] of after.entries()) if (i > 1) matcher.set(`mon_${i}`, 2, textOf(it))
        const here = after.map((it, i) => (i === 0 ? (before[0] ?? it) : it))

        for (const it of items) {
          const found = new Map(matcher.match(it).map((m) => [m.monitor_id, m.terms]))
          const expected = here.flatMap((spec, i) => {
            const terms = i === 1 ? null : naive(spec, it)
            return terms === null ? [] : [[`mon_${i}`, terms] as const]
          })
          matches += expected.length
          expect([...found.keys()].toSorted()).toEqual(expected.map(([id]) => id).toSorted())
          for (const [id, terms] of expected) {
            const spec = here[Number(id.slice(4))]
            const seen = (found.get(id) ?? []).map((one) => (spec ? naiveView(one, spec) : one))
            expect([...new Set(seen)].toSorted()).toEqual(terms)
          }
        }
      },
    ),
    { numRuns: Math.ceil(RUNS / (2 * MONITORS)) },
  )

  // Without matches nothing would have been compared.
  expect(matches).toBeGreaterThan(RUNS / 50)
}, 600_000)

const WORDS = ['red', 'green', 'blue', 'C++', '漢字', 'a b', 'r*', 'body:red', 'author:mia']
const q = fc
  .array(fc.constantFrom(...WORDS, 'AND', 'OR', 'NOT', '(', ')', '-'), { maxLength: 7 })
  .map((it) => it.join(' '))

test('for any q the matcher agrees with the filter alone', () => {
  const title = fc.array(fc.constantFrom('red', 'green', 'c++', 'これは漢字', 'a', 'b', 'rx'))
  fc.assert(
    fc.property(fc.array(q, { maxLength: 6 }), title, title, (queries, haystack, below) => {
      const matcher = create()
      const post = postOf({ title: haystack.join(' '), text: below.join(' '), author: 'mia' })
      const expected = queries.flatMap((it, i) => {
        try {
          const spec = parse({ subforum: ['cats'], q: it, search_in: ['title'] })
          matcher.set(`mon_${i}`, 1, encodeFilterSpec(spec))
          const terms = compileFilter(spec)(post)?.terms
          return terms === undefined ? [] : [{ monitor_id: `mon_${i}`, terms }]
        } catch {
          return []
        }
      })

      const found = matcher.match(post)
      expect(found.toSorted((a, b) => (a.monitor_id < b.monitor_id ? -1 : 1))).toEqual(expected)
    }),
    { numRuns: RUNS / 4 },
  )
}, 600_000)

function matchedIds(index: Index, title: string): number[] {
  const waiters: number[] = []
  index.scan(postOf({ title }), (it) => void waiters.push(it))
  return waiters.toSorted((a, b) => a - b)
}

describe('waiters', () => {
  const bun = parse({ subforum: ['cats'], include_any: ['bun', 'deno'] })
  test('exactly the waiters of a word are reported', () => {
    const index = createIndex()
    for (const it of [0, 1, 2]) index.add(needsOf(bun), it)
    index.add(needsOf(parse({ subforum: ['cats'], include_any: ['node'] })), 3)

    expect(matchedIds(index, 'bun')).toEqual([0, 1, 2])
    expect(matchedIds(index, 'deno')).toEqual([0, 1, 2])
    expect(matchedIds(index, 'node')).toEqual([3])
    expect(matchedIds(index, 'rust')).toEqual([])
    expect(index.words()).toBe(3)
  })

  test('the longest of several required words is waited for', () => {
    const index = createIndex()
    index.add(needsOf(parse({ subforum: ['cats'], include_all: ['bun', 'sqlite'] })), 0)

    expect(matchedIds(index, 'bun')).toEqual([])
    expect(matchedIds(index, 'sqlite')).toEqual([0])
    expect(index.words()).toBe(2)
  })

  test('a word outside the index is searched for', () => {
    const index = createIndex()
    index.add(needsOf(bun), 0)
    const more = parse({ subforum: ['cats'], include_any: ['bun', 'node'] })
    const matches = compileFilter(more, index.term_index)
    const post = postOf({ title: 'node' })
    index.scan(post, () => {})

    expect(matches(post)).toEqual({ terms: ['node'] })
  })
})

const ids = (matcher: Pick<Matcher, 'match'>, title: string): string[] =>
  matcher
    .match(postOf({ title }))
    .map(({ monitor_id }) => monitor_id)
    .toSorted()

test('a word and its prefix form are two entries, each with its own waiters', () => {
  const matcher = create()
  matcher.set('mon_1', 1, stored({ subforum: ['cats'], q: 'cat OR cat* OR cat' }))

  expect(ids(matcher, 'a cat')).toEqual(['mon_1'])
  expect(ids(matcher, 'some cats')).toEqual(['mon_1'])
  expect(matcher.words()).toBe(2)
})

test('with many monitors and words the last one is reported too, and once', () => {
  const matcher = create()
  for (let i = 0; i < 200; i++) {
    const id = `mon_${i}`
    matcher.set(id, 1, stored({ subforum: ['cats'], include_any: [`a${i}`, `b${i}`] }))

    expect([ids(matcher, `b${i}`), ids(matcher, `a${i} b${i}`)]).toEqual([[id], [id]])
  }
})

/** Heap size after a full GC. */
function heldBytes(): number {
  Bun.gc(true)
  return heapStats().heapSize
}

describe('adding and removing', () => {
  const bun = stored({ subforum: ['cats'], include_any: ['bun'] })
  test('a removed monitor matches nothing', () => {
    const matcher = create()
    matcher.set('mon_1', 1, bun)
    matcher.set('mon_2', 1, bun)
    matcher.remove('mon_1')
    matcher.remove('mon_9')

    expect(ids(matcher, 'bun')).toEqual(['mon_2'])
    matcher.remove('mon_2')
    expect(ids(matcher, 'bun')).toEqual([])
    expect(matcher.ids()).toEqual([])
  })

  test('a new version replaces the old one, the same version changes nothing', () => {
    const matcher = create()
    matcher.set('mon_1', 1, bun)
    matcher.set('mon_1', 1, stored({ subforum: ['cats'], include_any: ['deno'] }))
    expect(ids(matcher, 'bun')).toEqual(['mon_1'])

    matcher.set('mon_1', 2, stored({ subforum: ['cats'], include_any: ['deno'] }))
    expect(ids(matcher, 'bun')).toEqual([])
    expect(ids(matcher, 'deno')).toEqual(['mon_1'])
    expect([matcher.has('mon_1', 1), matcher.has('mon_1', 2)]).toEqual([false, true])
  })

  test('removed versions leave nothing in memory, even if they have matched', () => {
    const matcher = create()
    const match = (version: number) => {
      // Compiled, each of these takes some 10 kB.
      const flairs = Array.from({ length: 50 }, (_, i) => `${version}.${i} ${'x'.repeat(80)}`)
      matcher.set(
        'mon_1',
        version,
        stored({ subforum: 'cats', include_any: ['bun'], exclude_flair: flairs }),
      )
      return matcher.match(postOf({ title: 'bun' })).length
    }
    match(0)
    const before = heldBytes()
    let matched = 0
    for (let version = 1; version <= 500; version++) matched += match(version)

    expect(matched).toBe(500)
    expect(heldBytes() - before).toBeLessThan(1_000_000)
  })

  test('rebuilds the index when removed versions outnumber monitors, and not for a few', () => {
    const matcher = create()
    for (let i = 0; i < 300; i++) matcher.set(`mon_${i}`, 1, bun)
    for (let i = 0; i < 100; i++) matcher.remove(`mon_${i}`)
    expect(matcher.isWorn()).toBe(false)

    for (let i = 100; i < 300; i++) matcher.set(`mon_${i}`, 2, bun)
    expect(matcher.isWorn()).toBe(false)
    matcher.set('mon_200', 3, bun)
    expect(matcher.isWorn()).toBe(true)
  })

  test('a monitor whose spec no longer exists matches nothing, and the others do', () => {
    const lost = createMatcher((id) => (id === 'mon_1' ? null : decodeFilterSpec(bun)))
    for (const id of ['mon_1', 'mon_2']) lost.set(id, 1, decodeFilterSpec(bun))

    expect(ids(lost, 'bun')).toEqual(['mon_2'])
  })

  test('monitors without a keyword are found by author, by thread, or always', () => {
    const matcher = create()
    matcher.set('all', 1, stored({ subforum: ['cats'], kind: 'both' }))
    matcher.set('mia', 1, stored({ subforum: ['cats'], kind: 'both', author: 'Mia' }))
    matcher.set('thread', 1, stored({ subforum: ['cats'], thread: ['t3_P9'] }))
    const matches = (it: Item) =>
      matcher
        .match(it)
        .map(({ monitor_id }) => monitor_id)
        .toSorted()

    expect(matches(postOf({ author: 'MIA' }))).toEqual(['all', 'mia'])
    expect(matches(commentOf({ post_id: 'p9' }))).toEqual(['all', 'thread'])
    expect(matches(commentOf({ post_id: 'p8' }))).toEqual(['all'])
    for (const it of ['all', 'mia', 'thread']) matcher.remove(it)
    expect(matches(postOf({ author: 'mia' }))).toEqual([])
  })

  test('two monitors may search for one word in different fields', () => {
    const matcher = create()
    matcher.set('title', 1, stored({ subforum: ['cats'], q: 'title:bun' }))
    const rest = { q: 'title:cat', exclude_terms: ['bun'], search_in: ['body'] }
    matcher.set('body', 1, stored({ subforum: ['cats'], ...rest }))
    const matches = (title: string, body: string) =>
      matcher.match(postOf({ title, text: body })).map(({ monitor_id }) => monitor_id)

    expect(matches('cat', 'bun')).toEqual([])
    expect(matches('cat bun', 'x').toSorted()).toEqual(['body', 'title'])
  })

  test('patterns are looked up, and unknown results are recorded as needs of the monitor', () => {
    const verdicts = createVerdicts()
    const matcher = create(verdicts)
    matcher.set('plain', 1, bun)
    matcher.set('patterns', 1, stored({ subforum: ['cats'], regex: ['b.n'] }))

    const post = postOf({ title: 'bun' })
    const found = () => matcher.match(post).map(({ monitor_id }) => monitor_id)
    expect(found()).toEqual(['plain'])
    const [need, ...rest] = verdicts.takeNeeds()
    expect(rest).toEqual([])
    expect(need).toMatchObject({ subject: 'patterns', item: post, set: { patterns: ['b.n'] } })

    if (need !== undefined) verdicts.know(need.set, post, 0)
    expect(found().toSorted()).toEqual(['patterns', 'plain'])
    expect(verdicts.lacking()).toBe(false)
  })
})
