import { describe, expect, test } from 'bun:test'

import { ApiError } from '../../../../src/core/base/errors.ts'
import { compileFilter } from '../../../../src/core/filter/compile.ts'
import { placesOf } from '../../../../src/core/filter/feeds.ts'
import { filterSchema } from '../../../../src/core/filter/fields.ts'
import {
  decodeFilterSpec,
  encodeFilterSpec,
  parseFilterSpec,
  renderFilterSpec,
} from '../../../../src/core/filter/parse.ts'
import { createNaming } from '../../../../src/core/forum/naming.ts'
import { postOf } from '../../../support/items.ts'

const words = createNaming({ platform: 'forum', community: 'subforum' })
const parse = (value: unknown) => parseFilterSpec(value, words)

function refusal(value: unknown): ApiError {
  try {
    parse(value)
  } catch (error) {
    if (error instanceof ApiError) return error
    throw error
  }
  throw new Error(`${JSON.stringify(value)} was not refused`)
}

const within = { subforum: ['cats'] }

describe('each field names its allowed values', () => {
  test.each<[object, string, string]>([
    [{ match: 'words' }, 'match', 'must be one of word, substring (it was "words")'],
    [{ fold_accents: 'yes' }, 'fold_accents', 'must be true or false (it was "yes")'],
    [{ case_sensitive: null }, 'case_sensitive', 'must be true or false (it was null)'],
    [{ author: [] }, 'author', 'has 0 entries; allowed are 1 to 50 names'],
    [{ author: 'a b' }, 'author', 'is none; allowed are 1 to 50 names'],
    [{ author: ['mia', '[deleted]'] }, 'author[1]', '(it was "[deleted]")'],
    [{ author: 7 }, 'author', 'must be a list of 1 to 50 names'],
    [{ exclude_authors: Array(51).fill('a') }, 'exclude_authors', 'has 51 entries'],
    [{ thread: ['t1_abc'] }, 'thread[0]', 'ids of posts, such as abc123'],
    [{ thread: ['abc'], kind: 'post' }, 'kind', 'beside thread'],
    [{ domain: ['https://x.test'] }, 'domain[0]', 'without scheme, port or path'],
    [{ domain: ['x'] }, 'domain[0]', 'such as example.com'],
    [{ domain: 'x.test/a' }, 'domain', 'names of hosts'],
    [{ domain: 'x.test:80' }, 'domain', 'names of hosts'],
    [{ exclude_domains: ['a..b'] }, 'exclude_domains[0]', 'names of hosts'],
    [{ flair: [''] }, 'flair[0]', 'texts of 1 to 100 characters'],
    [{ flair: ['x'.repeat(101)] }, 'flair[0]', '1 to 100 characters'],
    [{ has_flair: 1 }, 'has_flair', 'must be true or false'],
    [{ has_flair: false, flair: 'x' }, 'has_flair', 'beside flair'],
    [{ post_type: ['text'] }, 'post_type[0]', 'self, link, image, video, gallery, crosspost'],
    [{ post_type: [] }, 'post_type', 'one or more of self'],
    [{ nsfw: 'false' }, 'nsfw', 'must be true or false'],
    [{ min_score: 1.5 }, 'min_score', 'a whole number from -1000000000'],
    [{ min_comments: -1 }, 'min_comments', 'a whole number from 0'],
    [{ min_comments: '3' }, 'min_comments', '(it was "3")'],
    [{ min_relevance: 101 }, 'min_relevance', 'a whole number from 0 to 100'],
    [{ intent: 'rant' }, 'intent', 'must be one of question, recommendation_request'],
    [{ sentiment: ['sad'] }, 'sentiment[0]', 'positive, negative, mixed, neutral'],
    [{ language: ['english'] }, 'language[0]', 'en, es, et'],
    [{ group: '' }, 'group', 'true or a label of 1 to 64 characters'],
    [{ group: 'x'.repeat(65) }, 'group', 'has 65 characters'],
    [{ group: 1 }, 'group', 'true or a label'],
    [{ group_window_s: 60 }, 'group_window_s', 'without group'],
    [{ group: true, group_window_s: 3601 }, 'group_window_s', 'from 0 to 3600'],
    [{ exclude_subforums: ['dogs'] }, 'exclude_subforums', 'must be left out beside subforum'],
    [{ kind: 'comment', flair: 'x' }, 'flair', 'what only posts have'],
    [{ kind: 'comment', has_flair: true }, 'has_flair', 'what only posts have'],
    [{ kind: 'comment', post_type: 'self' }, 'post_type', 'what only posts have'],
    [{ kind: 'comment', min_comments: 2 }, 'min_comments', 'what only posts have'],
    [{ langauge: ['en'] }, 'langauge', 'did you mean language?'],
    [{ include_any: ['\u0301'], fold_accents: true }, 'include_any[0]', 'nothing to look for'],
    [{ q: '"x" "\u0301"', fold_accents: true }, 'q', 'position 5'],
  ])('%j is refused at %s', (criteria, field, sentence) => {
    const { code, details } = refusal({ ...within, ...criteria })

    expect(code).toBe('INVALID_REQUEST')
    expect(details.field).toBe(`filter_spec.${field}`)
    expect(details.message).toContain(`filter_spec.${field}`)
    expect(details.message).toContain(sentence)
  })

  test.each<[unknown[], string, string]>([
    [['a(b'], '[0]', 'position 2: missing closing )'],
    [['a', 'x)y'], '[1]', 'position 2: unexpected )'],
    [['[(]('], '[0]', 'position 4: missing closing )'],
    [['ab[z-a]'], '[0]', 'position 4: invalid character class range'],
    [['🚀 a**'], '[0]', 'position 4: invalid nested repetition'],
    [['x(?=y)'], '[0]', 'position 2: has no lookaround and no backreference'],
    [['x(?<!y)'], '[0]', 'position 2: has no lookaround'],
    [['(a)\\1'], '[0]', 'position 4: has no lookaround and no backreference'],
    [['ab\\'], '[0]', 'position 3: trailing backslash'],
    [['x{1001}'], '[0]', 'position 2: invalid repeat count'],
    [['[a-z]{1,500}\\d'], '[0]', 'unfolds to 1002 steps; allowed are 500'],
    [[''], '[0]', 'has 0 characters'],
    [['x'.repeat(201)], '[0]', 'has 201 characters'],
    [[5], '[0]', 'must be one of up to 10 patterns'],
    [['\ud800'], '[0]', 'half a surrogate pair'],
    [Array(11).fill('x'), '', 'has 11 patterns'],
    [Array.from({ length: 9 }, (_, i) => `x{1${i}0}`), '', 'for all patterns together'],
  ])('the patterns %j are refused', (regex, at, sentence) => {
    const { details } = refusal({ ...within, regex })

    expect(details.field).toBe(`filter_spec.regex${at}`)
    expect(details.message).toContain(sentence)
  })

  test('a single pattern is not a list', () => {
    expect(refusal({ ...within, regex: 'a' }).details.message).toContain('must be a list')
  })
})

describe('a spec without a subforum', () => {
  test.each<[unknown, string, string]>([
    [{ q: 'bun', kind: 'comment' }, 'filter_spec.kind', 'must be post: without subforum'],
    [{ q: 'bun', kind: 'both' }, 'filter_spec.kind', 'the whole platform is watched, posts only'],
    [{ q: '-bun' }, 'filter_spec.q', 'must look for a term in every alternative'],
    [{ exclude_subforums: ['dogs'] }, 'filter_spec', 'must name a place'],
    [{ regex: ['a'] }, 'filter_spec', 'must name a place'],
    [{ domain: 'x.test' }, 'filter_spec', 'or a keyword (q, include_any, include_all)'],
  ])('%j is refused', (value, field, sentence) => {
    const { details } = refusal(value)

    expect(details.field).toBe(field)
    expect(details.message).toContain(sentence)
  })

  test.each<[unknown, string]>([
    [{ subforum: 'friends' }, 'filter_spec.subforum'],
    [{ subforum: ['cats', '/r/MOD/'] }, 'filter_spec.subforum'],
    [{ subforum: 'u_me' }, 'filter_spec.subforum'],
    [{ q: 'a', exclude_subforums: 'friends' }, 'filter_spec.exclude_subforums'],
    [{ author: 'me' }, 'filter_spec.author'],
    [{ author: ['ann', 'u/Me'] }, 'filter_spec.author'],
    [{ q: 'a', exclude_authors: '@me' }, 'filter_spec.exclude_authors'],
    [{ q: 'author:me' }, 'filter_spec.q'],
    [{ q: 'author:"ME" OR kettle' }, 'filter_spec.q'],
    [{ q: 'author:me*' }, 'filter_spec.q'],
    [{ author: 'ann', q: '(author:me AND a) OR b' }, 'filter_spec.q'],
  ])('%j names the account that asks', (value, field) => {
    const { details } = refusal(value)

    expect(details.field).toBe(field)
    expect(details.message).toContain('refers to the account of the request')
  })

  test('names of many places cannot be excluded either', () => {
    expect(refusal({ q: 'a', exclude_subforums: ['all'] })).toMatchObject({
      code: 'subforum_reserved',
      details: { field: 'filter_spec.exclude_subforums' },
    })
  })

  test.each<[unknown, string[]]>([
    [{ author: ['Mia', 'tom'] }, ['author:mia OR author:tom']],
    [{ author: 'mia', q: 'bun' }, ['author:mia AND bun']],
    [{ author: 'mia', q: '-bun' }, ['author:mia']],
    [{ author: 'mia', exclude_terms: ['bun'] }, ['author:mia']],
    [{ include_any: ['bun'], match: 'substring' }, ['bun*']],
  ])('%j is searched for as expected', (value, expected) => {
    expect(placesOf(parse(value)).map(({ place }) => place)).toEqual(expected)
  })
})

describe('threads and authors are places', () => {
  test.each<[unknown, string[]]>([
    [{ thread: ['t3_Abc', 'abd'] }, ['thread abc', 'thread abd']],
    [{ thread: 'abc', q: '-bun', kind: 'both' }, ['thread abc']],
    [{ thread: 'abc', subforum: 'cats' }, ['comments cats']],
    [{ thread: 'abc', author: 'mia' }, ['thread abc']],
    [{ author: ['Mia', 'tom'], kind: 'comment' }, ['user_comments mia', 'user_comments tom']],
    [{ author: 'mia', kind: 'both' }, ['user_comments mia', 'search author:mia']],
    [{ author: 'mia', subforum: 'cats', kind: 'comment' }, ['comments cats']],
  ])('%j watches %j', (value, expected) => {
    expect(placesOf(parse(value)).map(({ kind, place }) => `${kind} ${place}`)).toEqual(expected)
  })
})

describe('values that no client would send', () => {
  test.each<[string, unknown, string]>([
    ['a number too large for JSON', { ...within, min_score: 1n }, 'filter_spec.min_score'],
    ['a list with holes', { ...within, include_any: Array(3) }, 'filter_spec.include_any[0]'],
    ['names with holes', { subforum: Array(3) }, 'filter_spec.subforum[0]'],
    ['a symbol', { ...within, kind: Symbol('post') }, 'filter_spec.kind'],
    ['a field without a name', { ...within, '': 1 }, 'filter_spec.""'],
    ['a property of every object', { ...within, toString: 1 }, 'filter_spec.toString'],
    ['a prototype', JSON.parse('{"__proto__":{"q":"x"}}'), 'filter_spec.__proto__'],
  ])('%s is refused with its field', (_, value, field) => {
    expect(refusal(value).details.field).toBe(field)
  })

  test('the error for a name of any length is short', () => {
    const { message, details } = refusal({ ...within, ['x'.repeat(100_000)]: 1 })

    expect(details.field).toBe(`filter_spec.${'x'.repeat(57)}...`)
    expect(message.length).toBeLessThan(800)
  })
})

describe('stored and shown', () => {
  const full = {
    source: ['forum', 'hn'],
    subforum: ['Cats'],
    kind: 'both',
    q: 'bun',
    include_any: ['C++'],
    include_all: ['js'],
    exclude_terms: ['hiring'],
    search_in: ['body'],
    match: 'substring',
    fold_accents: true,
    case_sensitive: true,
    regex: ['\\d+', ' x '],
    author: ['Mia'],
    exclude_authors: ['Tom'],
    thread: ['abc1'],
    domain: ['example.com'],
    exclude_domains: ['x.test'],
    flair: ['Help'],
    exclude_flair: ['Meme'],
    has_flair: true,
    post_type: ['self', 'link'],
    nsfw: false,
    min_score: -3,
    min_comments: 0,
    min_relevance: 50,
    intent: ['question'],
    sentiment: ['positive', 'neutral'],
    language: ['de', 'en'],
    group: 'Digest',
    group_window_s: 0,
  }

  test('a spec is returned as submitted, and unchanged after storage', () => {
    expect(renderFilterSpec(parse(full), words)).toEqual(full)
    expect(decodeFilterSpec(encodeFilterSpec(parse(full)))).toEqual(parse(full))
  })

  test('minus zero is zero', () => {
    const spec = parse({ ...within, min_score: -0 })

    expect(spec.min_score).toBe(0)
    expect(decodeFilterSpec(encodeFilterSpec(spec))).toEqual(spec)
  })

  test('default values are not shown', () => {
    const usual = { match: 'word', fold_accents: false, group: false, exclude_authors: [] }

    expect(renderFilterSpec(parse({ ...within, ...usual }), words)).toEqual({
      subforum: ['Cats'.toLowerCase()],
      kind: 'post',
    })
  })

  test('a spec of the first version keeps its meaning', () => {
    const old = '{"subforum":["Cats"],"kind":"both","q":"bun -deno","search_in":["title"]}'

    const matches = compileFilter(decodeFilterSpec(old))

    expect(matches(postOf({ title: 'bun' }))).toEqual({ terms: ['bun'] })
    expect(matches(postOf({ title: 'bun, deno' }))).toBeNull()
    expect(renderFilterSpec(decodeFilterSpec(old), words)).toEqual(JSON.parse(old))
  })

  test("the document's schema accepts what the parser accepts", () => {
    const schema = filterSchema(words)

    expect(schema.safeParse(full).error).toBeUndefined()
    expect(schema.safeParse({ ...within, author: 'mia', group: true }).success).toBe(true)
    expect(schema.safeParse({ ...within, min_relevance: 101 }).success).toBe(false)
  })
})
