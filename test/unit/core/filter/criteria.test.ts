import { describe, expect, test } from 'bun:test'

import { compileFilter } from '../../../../src/core/filter/compile.ts'
import { parseFilterSpec } from '../../../../src/core/filter/parse.ts'
import { explainItem } from '../../../../src/core/filter/preview.ts'
import {
  countsOf,
  groupOf,
  meetsThresholds,
  minRelevanceOf,
  thresholdsOf,
} from '../../../../src/core/filter/spec.ts'
import type { Comment, Item, Post } from '../../../../src/core/forum/items.ts'
import { createNaming } from '../../../../src/core/forum/naming.ts'
import { commentOf, postOf } from '../../../support/items.ts'

const words = createNaming({ platform: 'forum', community: 'subforum' })
const parse = (value: unknown) => parseFilterSpec(value, words)

const matches = (criteria: object, item: Item): boolean =>
  compileFilter(parse({ subforum: ['cats'], kind: 'both', ...criteria }))(item) !== null

const post = (criteria: object, fields: Partial<Post>) => matches(criteria, postOf(fields))
const comment = (criteria: object, fields: Partial<Comment>) => matches(criteria, commentOf(fields))

describe('comparison of terms', () => {
  test.each([
    [{ include_any: ['cat'], match: 'substring' }, 'concatenate'],
    [{ include_any: ['café'], fold_accents: true }, 'a cafe'],
    [{ include_any: ['cafe'], fold_accents: true }, 'a CAFÉ'],
    [{ include_any: ['naive'], fold_accents: true }, 'naïve'],
    [{ include_any: ['lodz'], fold_accents: true }, 'Łódź'],
    [{ include_any: ['IT'], case_sensitive: true }, 'the IT crowd'],
    [{ include_any: ['IT é'], case_sensitive: true, fold_accents: true }, 'IT E then IT e'],
    [{ include_any: ['हिन्दी'], fold_accents: true }, 'हिन्दी में'],
    [{ q: 'throttl*', case_sensitive: true }, 'throttled'],
    [{ q: 'λογος*' }, 'λογοσήμανση'],
    [{ include_any: ['café'], case_sensitive: true }, 'cafe\u00ad\u0301'],
    [{ q: 'title:Bun AND NOT body:deno', case_sensitive: true }, 'Bun'],
  ])('%j finds %p', (criteria, title) => {
    expect(post(criteria, { title })).toBe(true)
  })

  test.each([
    [{ include_any: ['cat'] }, 'concatenate'],
    [{ include_any: ['café'] }, 'a cafe'],
    [{ include_any: ['IT'], case_sensitive: true }, 'it is it'],
    [{ include_any: ['हिन्द'], fold_accents: true }, 'हिन्दी'],
    [{ include_any: ['가'], fold_accents: true, case_sensitive: true }, '각'],
    [{ include_any: ['j'], match: 'substring' }, 'ǰ'],
    [{ q: 'Throttl*', case_sensitive: true }, 'throttled'],
  ])('%j does not match %p', (criteria, title) => {
    expect(post(criteria, { title })).toBe(false)
  })

  test.each('øo łl đd ðd ħh ŧt ıi ØO ŁL ĐD ÐD ĦH ŦT æae œoe þth ÆAE ŒOE ÞTH'.split(' '))(
    'without accents a letter equals its base letters: %s',
    (pair) => {
      const criteria = { include_any: [pair.slice(1)], fold_accents: true, case_sensitive: true }

      expect(post(criteria, { title: pair.slice(0, 1) })).toBe(true)
    },
  )

  test('a link target belongs to url only', () => {
    const text = 'see [the docs](https://bun.sh/guides)'
    const term = { include_any: ['guides'] }

    expect(post({ ...term, search_in: ['url'] }, { text })).toBe(true)
    expect(post({ ...term, search_in: ['body'] }, { text })).toBe(false)
    expect(post({ include_any: ['the docs'], search_in: ['body'] }, { text })).toBe(true)
    expect(post(term, { text })).toBe(true)
  })
})

describe('patterns', () => {
  test.each([
    [{ regex: ['bun\\s+v?\\d+'] }, 'Bun v2 is out', true],
    [{ regex: ['bun\\s+v?\\d+'], case_sensitive: true }, 'Bun v2 is out', false],
    [{ regex: ['^out', 'is out$'] }, 'Bun v2 is out', true],
    [{ regex: ['\\$\\d{3,}'] }, 'only $99', false],
    [{ regex: ['cafe'], fold_accents: true }, 'au café', true],
    [{ regex: ['password'] }, 'pass\u00adword', true],
    [{ regex: ['bun'], include_any: ['deno'] }, 'bun', false],
    [{ regex: ['bun'], search_in: ['author'] }, 'bun', false],
  ])('%j on %p: %p', (criteria, title, expected) => {
    expect(post(criteria, { title })).toBe(expected)
  })

  test('patterns see line breaks', () => {
    expect(post({ regex: ['(?m)^price: \\d+$'] }, { text: 'sold\nprice: 40\nnow' })).toBe(true)
  })

  test('they read the first ten thousand characters of a field', () => {
    expect(post({ regex: ['needle'] }, { text: `${'x'.repeat(9_995)} needle` })).toBe(false)
    expect(post({ regex: ['needle'] }, { text: `${'x'.repeat(9_900)} needle` })).toBe(true)
  })
})

describe('author and place', () => {
  test.each([
    [{ author: 'Mia' }, 'mia', true],
    [{ author: ['u/mia', 'tom'] }, 'Tom', true],
    [{ author: ['mia'] }, 'tom', false],
    [{ exclude_authors: ['@Mia'] }, 'mia', false],
    [{ exclude_authors: ['/user/mia/'] }, 'tom', true],
    [{ author: 'deleted' }, '[deleted]', false],
    [{ exclude_authors: ['deleted'] }, '[deleted]', true],
  ])('%j and an author %p: %p', (criteria, author, expected) => {
    expect(post(criteria, { author })).toBe(expected)
    expect(comment(criteria, { author })).toBe(expected)
  })

  test('a thread is the comments under a post, and watches comments by default', () => {
    const spec = parse({ subforum: ['cats'], thread: ['t3_Abc1', 'abc2'] })

    expect(spec).toMatchObject({ kind: 'comment', thread: ['abc1', 'abc2'] })
    expect(compileFilter(spec)(commentOf({ post_id: 'abc1' }))).not.toBeNull()
    expect(compileFilter(spec)(commentOf({ post_id: 'abc3' }))).toBeNull()
    expect(compileFilter(spec)(postOf({ id: 'abc1' }))).toBeNull()
  })

  test('the whole platform except some of its places', () => {
    const spec = parse({ q: 'bun', exclude_subforums: ['r/Dogs'] })

    expect(compileFilter(spec)(postOf({ title: 'bun', subforum: 'cats' }))).not.toBeNull()
    expect(compileFilter(spec)(postOf({ title: 'bun', subforum: 'DOGS' }))).toBeNull()
  })
})

describe('type of item', () => {
  const image: Partial<Post> = { is_self: false, link_url: 'https://i.x.test/a.png' }

  test.each<[string, Partial<Post>, boolean]>([
    ['self', {}, true],
    ['link', {}, false],
    ['self', { is_self: false, link_url: null }, true],
    ['link', { is_self: false, link_url: 'https://x.test' }, true],
    ['image', { ...image, media_kind: 'image' }, true],
    ['image', { ...image, media_kind: 'gif' }, true],
    ['link', { ...image, media_kind: 'image' }, false],
    ['video', { is_self: false, is_video: true }, true],
    ['gallery', { is_self: false, media_kind: 'gallery' }, true],
    ['crosspost', { is_self: false, is_crosspost: true }, true],
    ['image', { is_self: false, is_crosspost: true, media_kind: 'image' }, true],
    ['self', { is_self: false, is_crosspost: true }, false],
  ])('%s, of %j: %p', (post_type, fields, expected) => {
    expect(post({ post_type: [post_type] }, fields)).toBe(expected)
    expect(post({ post_type }, fields)).toBe(expected)
  })

  test('a comment has none of these types', () => {
    expect(comment({ post_type: ['self', 'link'] }, {})).toBe(false)
  })

  test.each([
    [{ nsfw: true }, true, true],
    [{ nsfw: true }, false, false],
    [{ nsfw: true }, null, false],
    [{ nsfw: false }, true, false],
    [{ nsfw: false }, false, true],
    [{ nsfw: false }, null, true],
  ])('%j and over_18 %p: %p', (criteria, over_18, expected) => {
    expect(comment(criteria, { over_18 })).toBe(expected)
    if (over_18 !== null) expect(post(criteria, { over_18 })).toBe(expected)
  })

  test.each<[object, string | null, boolean]>([
    [{ flair: 'help' }, ' Help ', true],
    [{ flair: ['Help', 'Solved'] }, 'solved', true],
    [{ flair: 'help' }, 'Help wanted', false],
    [{ flair: 'help' }, null, false],
    [{ exclude_flair: ['Meme'] }, 'meme', false],
    [{ exclude_flair: ['Meme'] }, null, true],
    [{ has_flair: true }, 'x', true],
    [{ has_flair: true }, null, false],
    [{ has_flair: false }, ' ', true],
    [{ has_flair: false }, 'x', false],
  ])('%j and a flair %p: %p', (criteria, flair, expected) => {
    expect(post(criteria, { flair })).toBe(expected)
  })
})

const link = (link_url: string) => ({ is_self: false, link_url })

describe('links', () => {
  test.each<[object, Partial<Post>, boolean]>([
    [{ domain: 'Example.com' }, link('https://example.com/x'), true],
    [{ domain: 'example.com' }, link('https://blog.EXAMPLE.com'), true],
    [{ domain: 'example.com' }, link('https://notexample.com'), false],
    [{ domain: 'blog.example.com' }, link('https://example.com'), false],
    [{ domain: ['a.test', 'b.test'] }, { text: 'at https://b.test:8080/x.' }, true],
    [{ domain: 'b.test' }, { text: '[here](http://b.test "b")' }, true],
    [{ domain: 'b.test' }, { text: 'see [it][1]\n\n[1]: https://b.test/y' }, true],
    [{ domain: 'b.test' }, { text: 'b.test is no link' }, false],
    [{ domain: 'bücher.test' }, link('https://xn--bcher-kva.test/'), true],
    [{ domain: 'origin.test' }, { is_crosspost: true, domain: 'origin.test' }, true],
    [{ domain: 'origin.test' }, { is_crosspost: true, domain: 'Origin.test' }, true],
    [{ domain: 'b.test' }, { ...link('https://a.test'), text: 'https://b.test' }, true],
    [{ exclude_domains: ['example.com'] }, link('https://example.com'), false],
    [{ exclude_domains: ['example.com'] }, {}, true],
  ])('%j of %j: %p', (criteria, fields, expected) => {
    expect(post(criteria, fields)).toBe(expected)
  })

  test('a comment links to the targets of its text and of its thread', () => {
    expect(comment({ domain: 'a.test' }, { body: 'https://a.test' })).toBe(true)
    expect(comment({ domain: 'a.test' }, { link_url: 'https://a.test/x' })).toBe(true)
  })
})

describe('language and sentiment', () => {
  const question = { title: 'How do I install bun on Debian?', text: 'Any tips?' }

  test('intent and sentiment', () => {
    expect(post({ intent: 'question' }, question)).toBe(true)
    expect(post({ intent: ['promotion', 'praise'] }, question)).toBe(false)
    expect(post({ sentiment: ['positive'] }, { title: 'I love it, it is great' })).toBe(true)
    expect(post({ sentiment: ['negative'] }, { title: 'I love it, it is great' })).toBe(false)
  })

  test('language', () => {
    const german = 'Meine Katze wirft ständig Sachen vom Regal'

    expect(post({ language: 'de' }, { title: german })).toBe(true)
    expect(post({ language: ['en', 'fr'] }, { title: german })).toBe(false)
    expect(comment({ language: ['de'] }, { body: german, link_title: 'My cat again' })).toBe(true)
    expect(post({ language: ['en'] }, { title: 'too short' })).toBe(false)
  })
})

describe('later decisions', () => {
  test('score and comments make no difference at first sight', () => {
    const spec = parse({ subforum: ['cats'], min_score: 10, min_comments: 3 })

    expect(compileFilter(spec)(postOf({ upvotes: 1 }))).toEqual({ terms: [] })
    expect(thresholdsOf(spec)).toEqual({ min_score: 10, min_comments: 3 })
    expect(thresholdsOf(parse({ subforum: ['cats'] }))).toBeNull()
  })

  test.each([
    [{ score: 10, comments: 3 }, true],
    [{ score: 9, comments: 3 }, false],
    [{ score: 10, comments: 2 }, false],
    [{ score: null, comments: 3 }, false],
  ])('%j has reached ten and three: %p', (counts, expected) => {
    expect(meetsThresholds({ min_score: 10, min_comments: 3 }, counts)).toBe(expected)
  })

  test('an absent threshold is always reached', () => {
    expect(
      meetsThresholds({ min_score: null, min_comments: 1 }, { score: null, comments: 1 }),
    ).toBe(true)
    expect(
      meetsThresholds({ min_score: -5, min_comments: null }, { score: -5, comments: null }),
    ).toBe(true)
  })

  test('a comment has no number of comments, and reaches no threshold on it', () => {
    expect(meetsThresholds({ min_score: null, min_comments: 0 }, countsOf(commentOf({})))).toBe(
      false,
    )
  })

  test('relevance is a fraction', () => {
    expect(minRelevanceOf(parse({ q: 'a', min_relevance: 60 }))).toBe(0.6)
    expect(minRelevanceOf(parse({ q: 'a' }))).toBeNull()
  })

  test.each<[object, unknown]>([
    [{ group: true }, { label: null, window_s: 0 }],
    [
      { group: ' Digest ', group_window_s: 600 },
      { label: 'Digest', window_s: 600 },
    ],
    [{ group: false }, null],
    [{}, null],
  ])('%j groups as %j', (criteria, expected) => {
    expect(groupOf(parse({ q: 'a', ...criteria }))).toEqual(expected as null)
  })
})

describe('explanations', () => {
  const other = createNaming({ platform: 'board', community: 'room' })
  const spec = parseFilterSpec(
    {
      room: ['cats'],
      q: 'bun -deno',
      include_any: ['fast', 'Slow'],
      exclude_terms: ['hiring'],
      nsfw: false,
      min_score: 5,
      min_relevance: 90,
    },
    other,
  )

  test('every condition gives its verdict and the value it read, in terms of the API', () => {
    const item = postOf({ title: 'Bun is fast', text: 'we are hiring', upvotes: 2 })

    expect(explainItem(spec, item, other)).toEqual([
      { criterion: 'kind', verdict: 'met', detail: 'post' },
      { criterion: 'room', verdict: 'met', detail: 'cats' },
      { criterion: 'nsfw', verdict: 'met', detail: 'not adult' },
      { criterion: 'include_any', verdict: 'met', detail: 'fast' },
      { criterion: 'exclude_terms', verdict: 'not_met', detail: 'hiring' },
      { criterion: 'q', verdict: 'met', detail: 'bun' },
      { criterion: 'min_score', verdict: 'later', detail: '2, wanted 5' },
      { criterion: 'min_relevance', verdict: 'withheld', detail: '0.67, wanted 0.9' },
    ])
  })

  test('the explanation of an item agrees with the filter', () => {
    const items = [
      postOf({ title: 'Bun is slow' }),
      postOf({ title: 'Bun and deno are slow' }),
      postOf({ title: 'Bun is slow', subforum: 'dogs' }),
      commentOf({ body: 'bun is fast' }),
    ]

    for (const item of items) {
      const unmet = explainItem(spec, item, other).some(({ verdict }) => verdict === 'not_met')
      expect(unmet).toBe(compileFilter(spec)(item) === null)
    }
  })
})
