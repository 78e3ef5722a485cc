import { expect, test } from 'bun:test'

import { compileFilter } from '../../../../src/core/filter/compile.ts'
import { FILTER_FIELDS } from '../../../../src/core/filter/fields.ts'
import { createMatcher } from '../../../../src/core/filter/index.ts'
import {
  decodeFilterSpec,
  encodeFilterSpec,
  parseFilterSpec,
} from '../../../../src/core/filter/parse.ts'
import { type ItemVerdict, judgeItem } from '../../../../src/core/filter/preview.ts'
import type { Comment, Item, Post } from '../../../../src/core/forum/items.ts'
import { createNaming } from '../../../../src/core/forum/naming.ts'
import { commentOf, postOf } from '../../../support/items.ts'

// The rules of filter_spec, one line for each: a spec, an item, and the verdict.

const words = createNaming({ platform: 'forum', community: 'subforum' })

const post = (fields: Partial<Post> = {}): Item => postOf({ subforum: 'cats', ...fields })
const comment = (fields: Partial<Comment> = {}): Item => commentOf({ subforum: 'cats', ...fields })
const link = (link_url: string, more: Partial<Post> = {}): Item =>
  post({ is_self: false, link_url, ...more })

const IN = { subforum: ['cats'] }
const ANY = (...include_any: string[]) => ({ ...IN, include_any })
const yes: ItemVerdict = 'matches'
const no: ItemVerdict = 'does_not_match'
const GERMAN = 'Meine Katze wirft ständig Sachen vom Regal'

/** An item that is a text is a post with that title. */
type Line = [rule: string, spec: object, item: Item | string, verdict: ItemVerdict]

const hn = (item: Item): Item => ({ ...item, source: 'hn' })

const LINES: Record<string, Line[]> = {
  source: [
    ['absent: main', IN, post(), yes],
    ['one of them', { ...IN, source: ['forum', 'hn'] }, hn(post()), yes],
    ['one of them is the platform', { ...IN, source: ['forum', 'hn'] }, post(), yes],
    ['another', { ...IN, source: 'hn' }, post(), no],
    ['all', { ...IN, source: 'all' }, hn(post()), yes],
    ['alone it is a place', { source: 'hn' }, hn(post()), yes],
    ['its comments without a keyword', { source: 'hn', kind: 'both' }, hn(comment()), yes],
    ['its places', { source: 'hn', subforum: 'a/b' }, hn(post({ subforum: 'A/B' })), yes],
    ['another place', { source: 'hn', subforum: 'a/b' }, hn(post()), no],
    ['its users', { source: 'hn', author: 'a.b' }, hn(post({ author: 'a.b' })), yes],
    ['another user', { source: 'hn', author: 'a.b' }, hn(post()), no],
    ['excluded places', { source: 'hn', exclude_subforums: 'cats' }, hn(post()), no],
    ['comments of a thread', { source: 'hn', thread: '7' }, hn(comment({ post_id: '7' })), yes],
    ['another thread', { source: 'hn', thread: '7' }, hn(comment({ post_id: '8' })), no],
  ],
  subforum: [
    ['in one of them', { subforum: ['dogs', 'cats'] }, post(), yes],
    ['in none of them', { subforum: ['dogs'] }, post(), no],
    ['prefix and case ignored', { subforum: '/r/CATS/' }, post(), yes],
    ['the whole name', { subforum: 'cat' }, post(), no],
    ['absent: the whole platform', { q: 'tea' }, post({ title: 'tea', subforum: 'x' }), yes],
    ['absent: posts only', { q: 'tea' }, comment({ body: 'tea' }), no],
  ],
  exclude_subforums: [
    ['outside them', { q: 'tea', exclude_subforums: ['dogs'] }, 'tea', yes],
    ['inside one', { q: 'tea', exclude_subforums: ['r/Cats'] }, 'tea', no],
  ],
  kind: [
    ['post is the default', IN, post(), yes],
    ['post is the default', IN, comment(), no],
    ['comment', { ...IN, kind: 'comment' }, comment(), yes],
    ['comment', { ...IN, kind: 'comment' }, post(), no],
    ['both', { ...IN, kind: 'both' }, comment(), yes],
  ],
  q: [
    ['without signs the whole is one phrase', { ...IN, q: 'rate limit' }, 'a rate limit', yes],
    ['without signs the whole is one phrase', { ...IN, q: 'rate limit' }, 'limit the rate', no],
    ['lower-case words are no operators', { ...IN, q: 'this or that' }, 'this or that?', yes],
    ['adjacent terms AND', { ...IN, q: 'limit "rate"' }, 'rate, then limit', yes],
    ['adjacent terms AND', { ...IN, q: 'limit "rate"' }, 'rate', no],
    ['OR and groups', { ...IN, q: '(tea OR coffee) AND hot' }, 'hot coffee', yes],
    ['OR and groups', { ...IN, q: '(tea OR coffee) AND hot' }, 'hot milk', no],
    ['AND binds tighter than OR', { ...IN, q: 'tea OR coffee hot' }, 'tea', yes],
    ['NOT', { ...IN, q: 'tea NOT hot' }, 'cold tea', yes],
    ['NOT', { ...IN, q: 'tea NOT hot' }, 'hot tea', no],
    ['a minus', { ...IN, q: 'tea -hiring' }, 'tea, hiring', no],
    ['a minus within a word is none', { ...IN, q: 'e-mail' }, 'an e-mail', yes],
    ['a trailing *', { ...IN, q: 'throttl*' }, 'throttled', yes],
    ['a trailing *', { ...IN, q: 'throttl*' }, 'unthrottled', no],
    ['field:', { ...IN, q: 'title:bun' }, post({ title: 'bun' }), yes],
    ['field:', { ...IN, q: 'title:bun' }, post({ title: 'x', text: 'bun' }), no],
    ['field: of one of several', { ...IN, q: 'title:tea OR bun' }, post({ text: 'tea' }), no],
  ],
  include_any: [
    ['one occurs', ANY('tea', 'milk'), 'milk', yes],
    ['none occurs', ANY('tea', 'milk'), 'water', no],
  ],
  include_all: [
    ['every one occurs', { ...IN, include_all: ['tea', 'hot'] }, 'hot tea', yes],
    ['one is missing', { ...IN, include_all: ['tea', 'hot'] }, 'tea', no],
  ],
  exclude_terms: [
    ['none occurs', { ...IN, exclude_terms: ['hiring'] }, 'tea', yes],
    ['wins', { ...ANY('tea'), exclude_terms: ['hiring'] }, 'tea, hiring', no],
  ],
  search_in: [
    ['title, body and url by default', ANY('tea'), post({ text: 'tea' }), yes],
    ['title, body and url by default', ANY('tea'), link('https://x.test/tea'), yes],
    ['not author by default', ANY('mia'), post({ author: 'mia' }), no],
    ['author', { ...ANY('mia'), search_in: ['author'] }, post({ author: 'mia' }), yes],
    ['flair', { ...ANY('help'), search_in: ['flair'] }, post({ flair: 'Help' }), yes],
    ['permalink', { ...ANY('zz9'), search_in: 'permalink' }, post({ permalink: '/c/zz9/' }), yes],
    ['title alone', { ...ANY('tea'), search_in: ['title'] }, post({ title: 'x', text: 'tea' }), no],
    [
      'thread_title: on a comment',
      { ...ANY('tea'), kind: 'comment', search_in: ['thread_title'] },
      comment({ body: 'x', link_title: 'tea' }),
      yes,
    ],
    [
      'default: without the thread’s title',
      { ...ANY('tea'), kind: 'comment' },
      comment({ body: 'x', link_title: 'tea' }),
      no,
    ],
    [
      'a link’s target stands under url',
      { ...ANY('tea'), search_in: ['url'] },
      post({ text: '[x](https://a.test/tea)' }),
      yes,
    ],
    [
      'and under url only',
      { ...ANY('tea'), search_in: ['body'] },
      post({ text: '[x](https://a.test/tea)' }),
      no,
    ],
  ],
  match: [
    ['word: not within another', ANY('cat'), 'concatenate', no],
    ['word: a sign ends it', ANY('cat'), '"cat",', yes],
    ['substring', { ...ANY('cat'), match: 'substring' }, 'concatenate', yes],
    ['a side that is a sign needs no boundary', ANY('C++'), 'C++20', yes],
    ['its other side does', ANY('C++'), 'ABC++', no],
    ['the same in front', ANY('.NET'), 'ASP.NET', yes],
    ['and behind', ANY('.NET'), 'a.network', no],
    ['case is folded', ANY('STRASSE'), 'die Straße', yes],
    ['NFKC', ANY('file'), 'ﬁle', yes],
    ['scripts without spaces', ANY('漢字'), 'これは漢字です', yes],
    ['two blanks too', ANY('rate limit'), 'rate  limit', yes],
    [
      'a phrase tolerates any white space',
      ANY('rate limit'),
      post({ text: 'rate\n\n \tlimit' }),
      yes,
    ],
    ['but nothing else', ANY('rate limit'), 'rate-limit', no],
  ],
  fold_accents: [
    ['not folded by default', ANY('cafe'), 'café', no],
    ['folded', { ...ANY('cafe'), fold_accents: true }, 'café', yes],
    ['the other way round', { ...ANY('café'), fold_accents: true }, 'cafe', yes],
  ],
  case_sensitive: [
    ['the same case', { ...ANY('IT'), case_sensitive: true }, 'in IT', yes],
    ['another case', { ...ANY('IT'), case_sensitive: true }, 'it is', no],
  ],
  regex: [
    ['any of them', { ...IN, regex: ['x\\d', 'v\\d+'] }, 'v12', yes],
    ['none of them', { ...IN, regex: ['x\\d', 'v\\d+'] }, 'v-', no],
  ],
  author: [
    ['one of them', { ...IN, author: ['u/Mia', 'tom'] }, post({ author: 'mia' }), yes],
    ['another', { ...IN, author: ['mia'] }, post({ author: 'tom' }), no],
    ['[deleted] never matches', { ...IN, author: 'deleted' }, post({ author: '[deleted]' }), no],
  ],
  exclude_authors: [
    ['another', { ...IN, exclude_authors: ['mia'] }, post({ author: 'tom' }), yes],
    ['one of them', { ...IN, exclude_authors: ['Mia'] }, post({ author: 'mia' }), no],
  ],
  thread: [
    [
      'a comment under it; comment is the default',
      { thread: 't3_abc' },
      comment({ post_id: 'abc' }),
      yes,
    ],
    ['a comment elsewhere', { thread: 't3_abc' }, comment({ post_id: 'abd' }), no],
    ['the post itself', { thread: 't3_abc' }, post({ id: 'abc', name: 't3_abc' }), no],
  ],
  domain: [
    ['the link’s host', { ...IN, domain: 'x.test' }, link('https://x.test/a'), yes],
    ['a host below it', { ...IN, domain: 'x.test' }, link('https://a.b.x.test'), yes],
    ['a host that only ends so', { ...IN, domain: 'x.test' }, link('https://ax.test'), no],
    [
      'a host in the text',
      { ...IN, domain: 'x.test' },
      post({ text: 'see https://x.test/y' }),
      yes,
    ],
    [
      'a crosspost’s origin',
      { ...IN, domain: 'x.test' },
      post({ is_crosspost: true, domain: 'x.test' }),
      yes,
    ],
  ],
  exclude_domains: [
    ['it leads elsewhere', { ...IN, exclude_domains: ['x.test'] }, link('https://y.test'), yes],
    ['it leads there', { ...IN, exclude_domains: ['x.test'] }, link('https://a.x.test'), no],
  ],
  flair: [
    ['whole, case ignored', { ...IN, flair: ['help wanted'] }, post({ flair: 'Help Wanted' }), yes],
    ['a part', { ...IN, flair: ['help'] }, post({ flair: 'Help Wanted' }), no],
  ],
  exclude_flair: [
    ['another or none', { ...IN, exclude_flair: ['meme'] }, post({ flair: null }), yes],
    ['one of them', { ...IN, exclude_flair: ['meme'] }, post({ flair: 'Meme' }), no],
  ],
  has_flair: [
    ['true', { ...IN, has_flair: true }, post({ flair: 'x' }), yes],
    ['true', { ...IN, has_flair: true }, post({ flair: null }), no],
    ['false', { ...IN, has_flair: false }, post({ flair: null }), yes],
  ],
  post_type: [
    ['self', { ...IN, post_type: ['self', 'video'] }, post(), yes],
    ['link', { ...IN, post_type: 'link' }, link('https://x.test'), yes],
    [
      'an image is no link',
      { ...IN, post_type: 'link' },
      link('https://x.test/a.png', { media_kind: 'image' }),
      no,
    ],
    [
      'image',
      { ...IN, post_type: 'image' },
      link('https://x.test/a.png', { media_kind: 'image' }),
      yes,
    ],
    ['video', { ...IN, post_type: 'video' }, post({ is_self: false, is_video: true }), yes],
    [
      'gallery',
      { ...IN, post_type: 'gallery' },
      post({ is_self: false, media_kind: 'gallery' }),
      yes,
    ],
    ['crosspost', { ...IN, post_type: 'crosspost' }, post({ is_crosspost: true }), yes],
  ],
  nsfw: [
    ['false excludes', { ...IN, nsfw: false }, post({ over_18: true }), no],
    ['true asks for it', { ...IN, nsfw: true }, post({ over_18: true }), yes],
    ['true asks for it', { ...IN, nsfw: true }, post({ over_18: false }), no],
    [
      'on a comment as far as the feed tells',
      { ...IN, kind: 'both', nsfw: false },
      comment({ over_18: null }),
      yes,
    ],
  ],
  min_score: [
    ['reached', { ...IN, min_score: 10 }, post({ upvotes: 10 }), yes],
    ['not reached yet: rechecked', { ...IN, min_score: 10 }, post({ upvotes: 9 }), 'not_yet'],
    [
      'a hidden score is unknown',
      { ...IN, min_score: 0 },
      post({ upvotes: 5, score_hidden: true }),
      'not_yet',
    ],
  ],
  min_comments: [
    ['reached', { ...IN, min_comments: 2 }, post({ comments: 2 }), yes],
    ['not reached yet', { ...IN, min_comments: 2 }, post({ comments: 1 }), 'not_yet'],
  ],
  min_relevance: [
    ['half of the keywords', { ...ANY('tea', 'milk'), min_relevance: 50 }, 'tea', yes],
    [
      'below it the row is suppressed',
      { ...ANY('tea', 'milk'), min_relevance: 51 },
      'tea',
      'withheld',
    ],
  ],
  intent: [
    ['its tag', { ...IN, intent: ['question'] }, 'How do I install it on Debian?', yes],
    ['another tag', { ...IN, intent: ['praise'] }, 'How do I install it on Debian?', no],
  ],
  sentiment: [
    ['its label', { ...IN, sentiment: ['positive'] }, 'I love it, it is great', yes],
    ['another label', { ...IN, sentiment: 'negative' }, 'I love it, it is great', no],
  ],
  language: [
    ['detected', { ...IN, language: ['de', 'fr'] }, GERMAN, yes],
    ['another', { ...IN, language: ['en'] }, GERMAN, no],
    [
      'fewer than twenty letters have no known language',
      { ...IN, language: ['en'] },
      'hello world',
      no,
    ],
  ],
}

const CASES = Object.entries(LINES).flatMap(([field, lines]) =>
  lines.map((line) => [field, ...line] as const),
)

test.each(CASES)('%s: %s', (_, __, given, listed, verdict) => {
  const item = typeof listed === 'string' ? post({ title: listed }) : listed
  const spec = parseFilterSpec(given, words)
  const text = encodeFilterSpec(spec)
  const matcher = createMatcher(() => decodeFilterSpec(text))
  matcher.set('mon_1', 1, decodeFilterSpec(text))

  expect(judgeItem(spec, item, words).verdict).toBe(verdict)
  // Thresholds are not evaluated at first sight.
  expect(compileFilter(spec)(item) !== null).toBe(verdict !== no)
  expect(matcher.match({ ...item }).length).toBe(verdict === no ? 0 : 1)
})

test('every field has an item that matches and one that does not', () => {
  // These control delivery, not matching.
  const decided = FILTER_FIELDS.filter((it) => it !== 'group' && it !== 'group_window_s')
  const lacking = decided.filter((field) => {
    const verdicts = (LINES[field] ?? []).map(([, , , it]) => it === yes)
    return !verdicts.includes(true) || !verdicts.includes(false)
  })

  expect(lacking).toEqual([])
})
