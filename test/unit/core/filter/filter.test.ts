import { describe, expect, test } from 'bun:test'

import { ApiError } from '../../../../src/core/base/errors.ts'
import { compileFilter } from '../../../../src/core/filter/compile.ts'
import { placesOf, searchExpressions } from '../../../../src/core/filter/feeds.ts'
import { filterSchema } from '../../../../src/core/filter/fields.ts'
import { createMatcher } from '../../../../src/core/filter/index.ts'
import {
  decodeFilterSpec,
  encodeFilterSpec,
  parseFilterSpec,
  renderFilterSpec,
} from '../../../../src/core/filter/parse.ts'
import type { Query } from '../../../../src/core/filter/query.ts'
import { type Item, MORE_PLACES } from '../../../../src/core/forum/items.ts'
import { createNaming } from '../../../../src/core/forum/naming.ts'
import { commentOf, postOf } from '../../../support/items.ts'

const words = createNaming({ platform: 'forum', community: 'subforum' })
const parse = (value: unknown) => parseFilterSpec(value, words)

/** The terms of a spec that matched an item, or null. */
const match = (value: unknown, item: Item) => compileFilter(parse(value))(item)?.terms ?? null

const hits = (term: string, title: string): boolean =>
  match({ subforum: ['cats'], include_any: [term] }, postOf({ title })) !== null

const places = (value: unknown): string[] =>
  placesOf(parse(value)).map((it) => `${it.kind} ${it.place}`)

function refusal(value: unknown): ApiError {
  try {
    parse(value)
  } catch (error) {
    if (error instanceof ApiError) return error
    throw error
  }
  throw new Error(`${JSON.stringify(value)} was not refused`)
}

describe('words', () => {
  test.each([
    ['bun', 'Bun 1.4 is out'],
    ['BUN', 'the bun.'],
    ['bun', "bun's speed"],
    ['bun', 'see bun.sh'],
    ['bun', '_bun_ and **bun**'],
    ['C++', 'modern C++20'],
    ['C++', 'learn c++'],
    ['.NET', 'ASP.NET'],
    ['rate limit', 'a rate\n\t limit'],
    ['rate limit', 'rate\u00a0limit'],
    ['straße', 'STRASSE'],
    ['STRASSE', 'straße'],
    ['ﬁle', 'a FILE'],
    ['file', 'a ﬁle'],
    ['ｂｕｎ', 'bun'],
    ["don't", 'don’t'],
    ['ΟΔΟΣ', 'οδος'],
    ['password', 'pass\u00adword'],
    ['café', 'cafe\u0301'],
    ['漢字', 'これは漢字です'],
    ['bun', 'Bunを使う'],
    ['삼성', '삼성이 새로'],
    ['ภาษา', 'สอนภาษาไทย'],
    ['🚀', 'to the moon 🚀🚀'],
    ['❤', 'I ❤️ it'],
    ['GROSS', 'groẞ'],
    ['a b', 'a\u0085b'],
    ["don't", 'don‛t'],
    ['"so"', '“so‟'],
    ['e-mail', 'e‑mail'],
    ['a a', 'ba a a'],
  ])('%p is found in %p', (term, title) => {
    expect(hits(term, title)).toBe(true)
  })

  test.each([
    ['bun', 'bundle'],
    ['bun', 'hotbun'],
    ['bun', 'snake_bun'],
    ['bun', 'bun_case'],
    ['bun', 'bun2'],
    ['C++', 'objc++'],
    ['cafe', 'café'],
    ['rate limit', 'rate-limit'],
    ['rate limit', 'rate limits'],
    ['net', 'интернет'],
    ['1.4', '11.4'],
    ['٣', '٣٤'],
    ['bun', '𐐨bun'],
    // Accents that no single letter holds.
    ['i', 'İzmir'],
    ['за', 'за\u0301мок'],
    ['мок', 'за\u0301мок'],
  ])('%p is not found in %p', (term, title) => {
    expect(hits(term, title)).toBe(false)
  })

  // One word of each script, surrounded by others of its kind.
  test.each([
    ['漢字', 'これは漢字です'],
    ['ねこ', 'このねこです'],
    ['ネコ', 'クロネコデス'],
    ['ㄇㄠ', 'ㄅㄇㄠㄅ'],
    ['삼성', '오삼성이'],
    ['แมว', 'เลี้ยงแมวดำ'],
    ['ແມວ', 'ລ້ຽງແມວດຳ'],
    ['ឆ្មា', 'ចិញ្ចឹមឆ្មាខ្មៅ'],
    ['ကြောင်', 'အကြောင်လေး'],
    ['བོད', 'ཨབོདཨ'],
    ['ꦱꦥꦶ', 'ꦲꦱꦥꦶꦲ'],
    ['ᬩᬮᬶ', 'ᬅᬩᬮᬶᬅ'],
    ['ᥖᥭ', 'ᥐᥖᥭᥐ'],
    ['ᦺᦑ', 'ᦀᦺᦑᦀ'],
    ['ᩃᩣ', 'ᨠᩃᩣᨠ'],
  ])('%p is found in %p, whose script puts no space between words', (term, title) => {
    expect(hits(term, title)).toBe(true)
  })

  test('a second occurrence counts when the first is only part of a word', () => {
    expect(hits('bun', 'bundles of bun')).toBe(true)
  })
})

describe('fields', () => {
  const comment = commentOf({ body: 'a purr', link_title: 'Whiskers', author: 'mia' })

  test('matched terms are as written, without duplicates, those of q first', () => {
    const spec = { subforum: ['cats'], q: 'title:Bun', include_any: ['bun', 'Deno', 'node'] }

    expect(match(spec, postOf({ title: 'bun and deno' }))).toEqual(['Bun', 'bun', 'Deno'])
  })

  test('a spec without keywords matches everything in its place', () => {
    expect(match({ subforum: ['r/Cats'] }, postOf({ subforum: 'CATS' }))).toEqual([])
    expect(match({ subforum: ['/r/cats/'] }, postOf({ subforum: 'dogs' }))).toBeNull()
    const address = 'https://www.forum.example/r/cats/'
    expect(match({ subforum: [address] }, postOf({ subforum: 'cats' }))).not.toBeNull()
    expect(match({ subforum: ['u/ann'] }, postOf({ subforum: 'u_ann' }))).not.toBeNull()
  })

  test('a keyword is reported only in its own fields', () => {
    const spec = { subforum: ['cats'], q: 'title:tea OR coffee' }

    expect(match(spec, postOf({ title: 'x', text: 'tea and coffee' }))).toEqual(['coffee'])
  })

  test('every include_all term must occur, in any field', () => {
    const spec = { subforum: ['cats'], include_all: ['bun', 'sqlite'] }

    expect(match(spec, postOf({ title: 'bun', text: 'with sqlite' }))).toEqual(['bun', 'sqlite'])
    expect(match(spec, postOf({ title: 'bun' }))).toBeNull()
  })

  test('an exclusion wins over everything', () => {
    const spec = { subforum: ['cats'], include_any: ['bun'], exclude_terms: ['hiring'] }

    expect(match(spec, postOf({ title: 'bun', text: 'we are hiring' }))).toBeNull()
  })

  test('q, include_any and include_all must all agree', () => {
    const spec = {
      subforum: ['cats'],
      q: 'bun',
      include_any: ['fast', 'slow'],
      include_all: ['js'],
    }

    expect(match(spec, postOf({ title: 'bun js is fast' }))).toEqual(['bun', 'fast', 'js'])
    expect(match(spec, postOf({ title: 'bun is fast' }))).toBeNull()
    expect(match(spec, postOf({ title: 'bun js' }))).toBeNull()
  })

  test('q and include_any must both agree', () => {
    const spec = { subforum: ['cats'], q: 'bun', include_any: ['fast', 'slow'] }

    expect(match(spec, postOf({ title: 'bun is slow' }))).toEqual(['bun', 'slow'])
    expect(match(spec, postOf({ title: 'bun' }))).toBeNull()
  })

  test('kind selects posts or comments, posts by default', () => {
    const post = postOf({})

    expect(match({ subforum: ['cats'] }, comment)).toBeNull()
    expect(match({ subforum: ['cats'], kind: 'comment' }, comment)).toEqual([])
    expect(match({ subforum: ['cats'], kind: 'comment' }, post)).toBeNull()
    expect(match({ subforum: ['cats'], kind: 'both' }, post)).toEqual([])
    expect(match({ subforum: ['cats'], kind: 'both' }, comment)).toEqual([])
  })

  test("a comment is found by its own text, and by its thread's title on request", () => {
    const spec = { subforum: ['cats'], kind: 'comment', include_any: ['whiskers'] }

    expect(match(spec, comment)).toBeNull()
    expect(match({ ...spec, search_in: ['thread_title'] }, comment)).toEqual(['whiskers'])
  })

  test('author, flair, url and permalink are searched on request', () => {
    const post = postOf({
      author: 'mia',
      flair: 'Help',
      link_url: 'https://bun.sh/x',
      permalink: '/r/cats/comments/a1/slug_words/',
    })
    const found = (field: string, term: string) =>
      match({ subforum: ['cats'], include_any: [term], search_in: [field] }, post) !== null

    expect(found('author', 'mia')).toBe(true)
    expect(found('flair', 'help')).toBe(true)
    expect(found('url', 'bun.sh')).toBe(true)
    expect(found('permalink', 'a1')).toBe(true)
    expect(match({ subforum: ['cats'], include_any: ['mia'] }, post)).toBeNull()
  })

  test('a deleted author has no name', () => {
    const spec = { subforum: ['cats'], q: 'author:deleted' }

    expect(match(spec, postOf({ author: '[deleted]' }))).toBeNull()
  })

  test('a comment matches by the links of its own text, not by that of its thread', () => {
    const of_thread = commentOf({ post_id: 'p9', link_url: 'https://bun.sh' })
    const own = commentOf({ body: '[docs](https://bun.sh)' })
    const spec = { subforum: ['cats'], kind: 'comment', include_any: ['bun'] }

    expect(match(spec, of_thread)).toBeNull()
    expect(match(spec, own)).toEqual(['bun'])
  })

  test('without a place only posts match', () => {
    expect(match({ q: 'bun' }, postOf({ title: 'bun', subforum: 'anywhere' }))).toEqual(['bun'])
    expect(match({ q: 'bun' }, commentOf({ body: 'bun' }))).toBeNull()
  })
})

describe('refusals', () => {
  test.each<[unknown, string, string]>([
    ['cats', 'filter_spec', 'must be an object'],
    [null, 'filter_spec', 'must be an object'],
    [[], 'filter_spec', 'must be an object'],
    [{}, 'filter_spec', 'must name a place (subforum, author, thread) or a keyword'],
    [{ exclude_terms: ['a'] }, 'filter_spec', 'must name a place'],
    [{ subforum: [] }, 'filter_spec.subforum', '1 to 50 names'],
    [{ subforum: 7 }, 'filter_spec.subforum', 'must be a list of 1 to 50 names'],
    [{ subforum: Array(51).fill('a') }, 'filter_spec.subforum', 'has 51 entries'],
    [{ subforum: ['cats', 'a b'] }, 'filter_spec.subforum[1]', '(it was "a b")'],
    [
      { subforum: ['cats'], kind: 'posts' },
      'filter_spec.kind',
      'must be one of post, comment, both',
    ],
    [{ q: '' }, 'filter_spec.q', '1 to 200 characters'],
    [{ q: 5 }, 'filter_spec.q', 'must be a text'],
    [{ q: 'é'.repeat(201) }, 'filter_spec.q', 'has 201 characters'],
    [{ q: '\u200b' }, 'filter_spec.q', 'nothing to look for'],
    [{ q: '\ud800x' }, 'filter_spec.q', 'nothing to look for'],
    [{ include_any: 'bun' }, 'filter_spec.include_any', 'must be a list of up to 50 terms'],
    [{ include_any: ['bun', 3] }, 'filter_spec.include_any[1]', '(it was 3)'],
    [{ include_all: Array(51).fill('a') }, 'filter_spec.include_all', 'has 51 terms'],
    [{ include_all: ['x'.repeat(101)] }, 'filter_spec.include_all[0]', 'has 101 characters'],
    [{ q: 'a', exclude_terms: [' '] }, 'filter_spec.exclude_terms[0]', 'nothing to look for'],
    [{ q: 'a', search_in: [] }, 'filter_spec.search_in', 'title, body, url, permalink'],
    [{ q: 'a', search_in: ['tittle'] }, 'filter_spec.search_in[0]', '(it was "tittle")'],
    [{ q: 'a', kind: 'comment' }, 'filter_spec.kind', 'must be post'],
    [{ q: '-a' }, 'filter_spec.q', 'every alternative'],
    [{ q: 'a OR -b' }, 'filter_spec.q', 'every alternative'],
    [{ q: 'a', keywords: ['a'] }, 'filter_spec.keywords', 'is not a field'],
    [{ q: 'a', constructor: {} }, 'filter_spec.constructor', 'is not a field'],
    [
      JSON.parse('{"q":"a","__proto__":{"kind":"both"}}'),
      'filter_spec.__proto__',
      'is not a field',
    ],
  ])('%j names %s', (value, field, sentence) => {
    const { code, details } = refusal(value)

    expect(code).toBe('INVALID_REQUEST')
    expect(details.field).toBe(field)
    expect(details.message).toContain(field)
    expect(details.message).toContain(sentence)
  })

  test.each(['all', 'r/All', 'popular'])('%s selects many places and has its own code', (name) => {
    expect(refusal({ subforum: ['cats', name] })).toMatchObject({
      code: 'subforum_reserved',
      details: { field: 'filter_spec.subforum' },
    })
  })

  test('a spec of exclusions only is accepted where a place bounds it', () => {
    expect(match({ subforum: ['cats'], q: '-hiring' }, postOf({ title: 'bun' }))).toEqual([])
    expect(match({ subforum: ['cats'], q: '-hiring' }, postOf({ title: 'hiring' }))).toBeNull()
  })

  test('the configured words are parsed, used in messages and shown', () => {
    const other = createNaming({ platform: 'board', community: 'room' })

    const spec = parseFilterSpec({ room: 'Cats' }, other)

    expect(renderFilterSpec(spec, other)).toEqual({ room: ['Cats'], kind: 'post' })
    expect(() => parseFilterSpec({ subforum: ['cats'] }, other)).toThrow(
      'the fields are source, room, kind, include_any',
    )
    expect(() => parseFilterSpec({ room: ['all'] }, other)).toThrow('stands for many rooms')
    expect(() => parseFilterSpec({}, other)).toThrow('must name a place (room, author, thread)')
    expect(() => parseFilterSpec({ room: ['c'], exclude_rooms: ['b'] }, other)).toThrow(
      'filter_spec.exclude_rooms is for monitors of the whole platform; it must be left out beside room',
    )
  })
})

describe('stored and shown', () => {
  const full = {
    subforum: ['Cats', 'dogs'],
    kind: 'both',
    q: '"rate limit" OR throttl*',
    include_any: ['bun', 'C++'],
    include_all: ['js'],
    exclude_terms: ['hiring'],
    search_in: ['title', 'author'],
  }

  test('a spec is returned as submitted', () => {
    expect(renderFilterSpec(parse(full), words)).toEqual(full)
  })

  test('a spec survives the store', () => {
    expect(decodeFilterSpec(encodeFilterSpec(parse(full)))).toEqual(parse(full))
  })

  test('a character counts once, even with several code units', () => {
    const hundred = '😀'.repeat(100)

    expect(parse({ subforum: ['cats'], include_any: [hundred] }).include_any).toEqual([hundred])
    expect(refusal({ subforum: ['cats'], include_any: [`${hundred}😀`] }).message).toContain(
      'has 101 characters',
    )
  })

  test('absent lists are one frozen list for all specs', () => {
    const { include_all, search_in } = parse({ subforum: ['cats'] })
    const other = parse({ subforum: ['dogs'] })

    expect(other.include_all).toBe(include_all)
    expect(other.search_in).toBe(search_in)
    expect(() => include_all.push('x')).toThrow(TypeError)
    expect(() => search_in.push('author')).toThrow(TypeError)
  })

  test('names and terms are stored without duplicates, and search_in in its own order', () => {
    const spec = parse({
      subforum: ['r/Cats', 'cats'],
      include_any: ['Bun', ' bun ', 'BUN'],
      search_in: ['author', 'title', 'title'],
    })

    expect(spec).toMatchObject({
      subforum: ['Cats'],
      include_any: ['Bun'],
      search_in: ['title', 'author'],
    })
  })

  test("the document's schema accepts what the parser accepts, and refuses unknown fields", () => {
    expect(filterSchema(words).safeParse(full).success).toBe(true)
    expect(filterSchema(words).safeParse({ ...full, foo: 1 }).success).toBe(false)
    expect(filterSchema(words).safeParse({ ...full, kind: 'posts' }).success).toBe(false)
  })
})

describe('places', () => {
  test('each place is watched for each kind, in lower case', () => {
    expect(places({ subforum: ['Cats', 'Dogs'] })).toEqual(['posts cats', 'posts dogs'])
    expect(places({ subforum: 'Cats', kind: 'comment' })).toEqual(['comments cats'])
    expect(places({ subforum: ['Cats'], kind: 'both' })).toEqual(['posts cats', 'comments cats'])
  })

  test.each<[unknown, string]>([
    [{ q: 'Bun' }, 'bun'],
    [{ q: 'rate  limit' }, '"rate limit"'],
    [{ q: '(a OR "b c") -d title:e' }, '("b c" OR a) AND title:e'],
    [{ include_any: ['b', 'A'], include_all: ['c'] }, '(a OR b) AND c'],
    [{ q: 'body:x* author:mia' }, 'author:mia AND x*'],
    [{ include_any: ['say "hi"'] }, '"say hi"'],
  ])('%j is searched for as expected', (value, expression) => {
    expect(places(value)).toEqual([`search ${expression}`])
  })

  test('equal queries give equal expressions, so that they share a feed', () => {
    expect(places({ include_any: ['b', 'a'] })).toEqual(places({ include_any: ['A', 'B', 'b'] }))
  })

  test('more alternatives than fit one search are spread over several', () => {
    const include_any = Array.from({ length: 50 }, (_, i) => `a rather long term number ${i}`)

    const found = placesOf(parse({ include_any })).map((it) => it.place)

    expect(found.length).toBeGreaterThan(1)
    for (const place of found) expect(place.length).toBeLessThanOrEqual(512)
    for (const term of include_any) expect(found.join()).toContain(`"${term}"`)
  })

  test.each([
    [254, 1],
    [255, 2],
  ])('a search has at most 512 characters: 254 and %i with OR between: %i', (length, count) => {
    const parts = ['a'.repeat(254), 'b'.repeat(length)].map((written): Query => ({
      kind: 'term',
      written,
      field: null,
      prefix: false,
    }))

    expect(searchExpressions({ kind: 'or', parts })).toHaveLength(count)
  })

  test('conditions that do not fit one search are left to matching', () => {
    const include_all = Array.from({ length: 50 }, (_, i) => `a rather long term number ${i}`)

    const [only, ...others] = placesOf(parse({ include_all }))

    expect(others).toEqual([])
    expect(only?.place.length).toBeLessThanOrEqual(512)
    expect(only?.place.length).toBeGreaterThan(450)
  })
})

describe('an item in several places', () => {
  const source = 'a'
  const tagged = {
    ...postOf({ subforum: 'Support' }),
    source,
    [MORE_PLACES]: ['tag:Urgent', 'tag:howto'],
  }
  const unknown = { ...tagged, [MORE_PLACES]: null }

  test.each(['support', 'tag:urgent', 'TAG:HOWTO'])('is in %s', (subforum) => {
    expect(match({ source, subforum }, tagged)).toEqual([])
    const matcher = createMatcher(() => parse({ source, subforum }))
    matcher.set('m', 0, parse({ source, subforum }))
    expect(matcher.match(tagged)).toHaveLength(1)
    expect(match({ source, kind: 'post', exclude_subforums: [subforum] }, tagged)).toBeNull()
  })

  test('is not in another one', () => {
    expect(match({ source, subforum: 'tag:release' }, tagged)).toBeNull()
  })

  test('that are not known yet is in its own, and outside of none', () => {
    expect(match({ source, subforum: 'support' }, unknown)).toEqual([])
    expect(match({ source, subforum: 'tag:urgent' }, unknown)).toBeNull()
    const outside = { source, include_any: ['a'], match: 'substring', exclude_subforums: ['tag:x'] }
    const named = { ...unknown, title: 'a' }
    expect(match(outside, named)).toBeNull()
    expect(match(outside, { ...named, [MORE_PLACES]: [] })).toEqual(['a'])
  })
})

test('without an accounts source all of the sources are watched for comments too', () => {
  const alone = createNaming(
    { platform: 'forum', community: 'subforum' },
    { default_source: 'hn', home: null },
  )
  const spec = { source: 'all', kind: 'both', include_any: ['ledgerly'] }

  expect(decodeFilterSpec(encodeFilterSpec(parseFilterSpec(spec, alone)))).toMatchObject({
    source: ['all'],
    kind: 'both',
  })
})
