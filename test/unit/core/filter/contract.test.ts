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
type Line = [field: string, rule: string, spec: object, item: Item | string, verdict: ItemVerdict]

const hn = (item: Item): Item => ({ ...item, source: 'hn' })

const LINES: Line[] = [
  ['source', 'absent: main', IN, post(), yes],
  ['source', 'one of them', { ...IN, source: ['forum', 'hn'] }, hn(post()), yes],
  ['source', 'one of them is the platform', { ...IN, source: ['forum', 'hn'] }, post(), yes],
  ['source', 'another', { ...IN, source: 'hn' }, post(), no],
  ['source', 'all', { ...IN, source: 'all' }, hn(post()), yes],
  ['source', 'alone it is a place', { source: 'hn' }, hn(post()), yes],
  ['source', 'its comments without a keyword', { source: 'hn', kind: 'both' }, hn(comment()), yes],
  ['source', 'its places', { source: 'hn', subforum: 'a/b' }, hn(post({ subforum: 'A/B' })), yes],
  ['source', 'another place', { source: 'hn', subforum: 'a/b' }, hn(post()), no],
  ['source', 'its users', { source: 'hn', author: 'a.b' }, hn(post({ author: 'a.b' })), yes],
  ['source', 'another user', { source: 'hn', author: 'a.b' }, hn(post()), no],
  ['source', 'excluded places', { source: 'hn', exclude_subforums: 'cats' }, hn(post()), no],
  [
    'source',
    'comments of a thread',
    { source: 'hn', thread: '7' },
    hn(comment({ post_id: '7' })),
    yes,
  ],
  ['source', 'another thread', { source: 'hn', thread: '7' }, hn(comment({ post_id: '8' })), no],
  ['subforum', 'in one of them', { subforum: ['dogs', 'cats'] }, post(), yes],
  ['subforum', 'in none of them', { subforum: ['dogs'] }, post(), no],
  ['subforum', 'prefix and case ignored', { subforum: '/r/CATS/' }, post(), yes],
  ['subforum', 'the whole name', { subforum: 'cat' }, post(), no],
  [
    'subforum',
    'absent: the whole platform',
    { q: 'tea' },
    post({ title: 'tea', subforum: 'x' }),
    yes,
  ],
  ['subforum', 'absent: posts only', { q: 'tea' }, comment({ body: 'tea' }), no],
  ['exclude_subforums', 'outside them', { q: 'tea', exclude_subforums: ['dogs'] }, 'tea', yes],
  ['exclude_subforums', 'inside one', { q: 'tea', exclude_subforums: ['r/Cats'] }, 'tea', no],
  ['kind', 'post is the default', IN, post(), yes],
  ['kind', 'post is the default', IN, comment(), no],
  ['kind', 'comment', { ...IN, kind: 'comment' }, comment(), yes],
  ['kind', 'comment', { ...IN, kind: 'comment' }, post(), no],
  ['kind', 'both', { ...IN, kind: 'both' }, comment(), yes],
  ['q', 'without signs the whole is one phrase', { ...IN, q: 'rate limit' }, 'a rate limit', yes],
  ['q', 'without signs the whole is one phrase', { ...IN, q: 'rate limit' }, 'limit the rate', no],
  ['q', 'lower-case words are no operators', { ...IN, q: 'this or that' }, 'this or that?', yes],
  ['q', 'adjacent terms AND', { ...IN, q: 'limit "rate"' }, 'rate, then limit', yes],
  ['q', 'adjacent terms AND', { ...IN, q: 'limit "rate"' }, 'rate', no],
  ['q', 'OR and groups', { ...IN, q: '(tea OR coffee) AND hot' }, 'hot coffee', yes],
  ['q', 'OR and groups', { ...IN, q: '(tea OR coffee) AND hot' }, 'hot milk', no],
  ['q', 'AND binds tighter than OR', { ...IN, q: 'tea OR coffee hot' }, 'tea', yes],
  ['q', 'NOT', { ...IN, q: 'tea NOT hot' }, 'cold tea', yes],
  ['q', 'NOT', { ...IN, q: 'tea NOT hot' }, 'hot tea', no],
  ['q', 'a minus', { ...IN, q: 'tea -hiring' }, 'tea, hiring', no],
  ['q', 'a minus within a word is none', { ...IN, q: 'e-mail' }, 'an e-mail', yes],
  ['q', 'a trailing *', { ...IN, q: 'throttl*' }, 'throttled', yes],
  ['q', 'a trailing *', { ...IN, q: 'throttl*' }, 'unthrottled', no],
  ['q', 'field:', { ...IN, q: 'title:bun' }, post({ title: 'bun' }), yes],
  ['q', 'field:', { ...IN, q: 'title:bun' }, post({ title: 'x', text: 'bun' }), no],
  ['q', 'field: of one of several', { ...IN, q: 'title:tea OR bun' }, post({ text: 'tea' }), no],
  ['include_any', 'one occurs', ANY('tea', 'milk'), 'milk', yes],
  ['include_any', 'none occurs', ANY('tea', 'milk'), 'water', no],
  ['include_all', 'every one occurs', { ...IN, include_all: ['tea', 'hot'] }, 'hot tea', yes],
  ['include_all', 'one is missing', { ...IN, include_all: ['tea', 'hot'] }, 'tea', no],
  ['exclude_terms', 'none occurs', { ...IN, exclude_terms: ['hiring'] }, 'tea', yes],
  ['exclude_terms', 'wins', { ...ANY('tea'), exclude_terms: ['hiring'] }, 'tea, hiring', no],
  ['search_in', 'title, body and url by default', ANY('tea'), post({ text: 'tea' }), yes],
  ['search_in', 'title, body and url by default', ANY('tea'), link('https://x.test/tea'), yes],
  ['search_in', 'not author by default', ANY('mia'), post({ author: 'mia' }), no],
  ['search_in', 'author', { ...ANY('mia'), search_in: ['author'] }, post({ author: 'mia' }), yes],
  ['search_in', 'flair', { ...ANY('help'), search_in: ['flair'] }, post({ flair: 'Help' }), yes],
  [
    'search_in',
    'permalink',
    { ...ANY('zz9'), search_in: 'permalink' },
    post({ permalink: '/c/zz9/' }),
    yes,
  ],
  [
    'search_in',
    'title alone',
    { ...ANY('tea'), search_in: ['title'] },
    post({ title: 'x', text: 'tea' }),
    no,
  ],
  [
    'search_in',
    'thread_title: on a comment',
    { ...ANY('tea'), kind: 'comment', search_in: ['thread_title'] },
    comment({ body: 'x', link_title: 'tea' }),
    yes,
  ],
  [
    'search_in',
    'default: without the thread’s title',
    { ...ANY('tea'), kind: 'comment' },
    comment({ body: 'x', link_title: 'tea' }),
    no,
  ],
  [
    'search_in',
    'a link’s target stands under url',
    { ...ANY('tea'), search_in: ['url'] },
    post({ text: '[x](https://a.test/tea)' }),
    yes,
  ],
  [
    'search_in',
    'and under url only',
    { ...ANY('tea'), search_in: ['body'] },
    post({ text: '[x](https://a.test/tea)' }),
    no,
  ],
  ['match', 'word: not within another', ANY('cat'), 'concatenate', no],
  ['match', 'word: a sign ends it', ANY('cat'), '"cat",', yes],
  ['match', 'substring', { ...ANY('cat'), match: 'substring' }, 'concatenate', yes],
  ['match', 'a side that is a sign needs no boundary', ANY('C++'), 'C++20', yes],
  ['match', 'its other side does', ANY('C++'), 'ABC++', no],
  ['match', 'the same in front', ANY('.NET'), 'ASP.NET', yes],
  ['match', 'and behind', ANY('.NET'), 'a.network', no],
  ['match', 'case is folded', ANY('STRASSE'), 'die Straße', yes],
  ['match', 'NFKC', ANY('file'), 'ﬁle', yes],
  ['match', 'scripts without spaces', ANY('漢字'), 'これは漢字です', yes],
  ['match', 'two blanks too', ANY('rate limit'), 'rate  limit', yes],
  [
    'match',
    'a phrase tolerates any white space',
    ANY('rate limit'),
    post({ text: 'rate\n\n \tlimit' }),
    yes,
  ],
  ['match', 'but nothing else', ANY('rate limit'), 'rate-limit', no],
  ['fold_accents', 'not folded by default', ANY('cafe'), 'café', no],
  ['fold_accents', 'folded', { ...ANY('cafe'), fold_accents: true }, 'café', yes],
  ['fold_accents', 'the other way round', { ...ANY('café'), fold_accents: true }, 'cafe', yes],
  ['case_sensitive', 'the same case', { ...ANY('IT'), case_sensitive: true }, 'in IT', yes],
  ['case_sensitive', 'another case', { ...ANY('IT'), case_sensitive: true }, 'it is', no],
  ['regex', 'any of them', { ...IN, regex: ['x\\d', 'v\\d+'] }, 'v12', yes],
  ['regex', 'none of them', { ...IN, regex: ['x\\d', 'v\\d+'] }, 'v-', no],
  ['author', 'one of them', { ...IN, author: ['u/Mia', 'tom'] }, post({ author: 'mia' }), yes],
  ['author', 'another', { ...IN, author: ['mia'] }, post({ author: 'tom' }), no],
  [
    'author',
    '[deleted] never matches',
    { ...IN, author: 'deleted' },
    post({ author: '[deleted]' }),
    no,
  ],
  ['exclude_authors', 'another', { ...IN, exclude_authors: ['mia'] }, post({ author: 'tom' }), yes],
  [
    'exclude_authors',
    'one of them',
    { ...IN, exclude_authors: ['Mia'] },
    post({ author: 'mia' }),
    no,
  ],
  [
    'thread',
    'a comment under it; comment is the default',
    { thread: 't3_abc' },
    comment({ post_id: 'abc' }),
    yes,
  ],
  ['thread', 'a comment elsewhere', { thread: 't3_abc' }, comment({ post_id: 'abd' }), no],
  ['thread', 'the post itself', { thread: 't3_abc' }, post({ id: 'abc', name: 't3_abc' }), no],
  ['domain', 'the link’s host', { ...IN, domain: 'x.test' }, link('https://x.test/a'), yes],
  ['domain', 'a host below it', { ...IN, domain: 'x.test' }, link('https://a.b.x.test'), yes],
  ['domain', 'a host that only ends so', { ...IN, domain: 'x.test' }, link('https://ax.test'), no],
  [
    'domain',
    'a host in the text',
    { ...IN, domain: 'x.test' },
    post({ text: 'see https://x.test/y' }),
    yes,
  ],
  [
    'domain',
    'a crosspost’s origin',
    { ...IN, domain: 'x.test' },
    post({ is_crosspost: true, domain: 'x.test' }),
    yes,
  ],
  [
    'exclude_domains',
    'it leads elsewhere',
    { ...IN, exclude_domains: ['x.test'] },
    link('https://y.test'),
    yes,
  ],
  [
    'exclude_domains',
    'it leads there',
    { ...IN, exclude_domains: ['x.test'] },
    link('https://a.x.test'),
    no,
  ],
  [
    'flair',
    'whole, case ignored',
    { ...IN, flair: ['help wanted'] },
    post({ flair: 'Help Wanted' }),
    yes,
  ],
  ['flair', 'a part', { ...IN, flair: ['help'] }, post({ flair: 'Help Wanted' }), no],
  [
    'exclude_flair',
    'another or none',
    { ...IN, exclude_flair: ['meme'] },
    post({ flair: null }),
    yes,
  ],
  ['exclude_flair', 'one of them', { ...IN, exclude_flair: ['meme'] }, post({ flair: 'Meme' }), no],
  ['has_flair', 'true', { ...IN, has_flair: true }, post({ flair: 'x' }), yes],
  ['has_flair', 'true', { ...IN, has_flair: true }, post({ flair: null }), no],
  ['has_flair', 'false', { ...IN, has_flair: false }, post({ flair: null }), yes],
  ['post_type', 'self', { ...IN, post_type: ['self', 'video'] }, post(), yes],
  ['post_type', 'link', { ...IN, post_type: 'link' }, link('https://x.test'), yes],
  [
    'post_type',
    'an image is no link',
    { ...IN, post_type: 'link' },
    link('https://x.test/a.png', { media_kind: 'image' }),
    no,
  ],
  [
    'post_type',
    'image',
    { ...IN, post_type: 'image' },
    link('https://x.test/a.png', { media_kind: 'image' }),
    yes,
  ],
  [
    'post_type',
    'video',
    { ...IN, post_type: 'video' },
    post({ is_self: false, is_video: true }),
    yes,
  ],
  [
    'post_type',
    'gallery',
    { ...IN, post_type: 'gallery' },
    post({ is_self: false, media_kind: 'gallery' }),
    yes,
  ],
  ['post_type', 'crosspost', { ...IN, post_type: 'crosspost' }, post({ is_crosspost: true }), yes],
  ['nsfw', 'false excludes', { ...IN, nsfw: false }, post({ over_18: true }), no],
  ['nsfw', 'true asks for it', { ...IN, nsfw: true }, post({ over_18: true }), yes],
  ['nsfw', 'true asks for it', { ...IN, nsfw: true }, post({ over_18: false }), no],
  [
    'nsfw',
    'on a comment as far as the feed tells',
    { ...IN, kind: 'both', nsfw: false },
    comment({ over_18: null }),
    yes,
  ],
  ['min_score', 'reached', { ...IN, min_score: 10 }, post({ upvotes: 10 }), yes],
  [
    'min_score',
    'not reached yet: rechecked',
    { ...IN, min_score: 10 },
    post({ upvotes: 9 }),
    'not_yet',
  ],
  [
    'min_score',
    'a hidden score is unknown',
    { ...IN, min_score: 0 },
    post({ upvotes: 5, score_hidden: true }),
    'not_yet',
  ],
  ['min_comments', 'reached', { ...IN, min_comments: 2 }, post({ comments: 2 }), yes],
  ['min_comments', 'not reached yet', { ...IN, min_comments: 2 }, post({ comments: 1 }), 'not_yet'],
  [
    'min_relevance',
    'half of the keywords',
    { ...ANY('tea', 'milk'), min_relevance: 50 },
    'tea',
    yes,
  ],
  [
    'min_relevance',
    'below it the row is suppressed',
    { ...ANY('tea', 'milk'), min_relevance: 51 },
    'tea',
    'withheld',
  ],
  ['intent', 'its tag', { ...IN, intent: ['question'] }, 'How do I install it on Debian?', yes],
  ['intent', 'another tag', { ...IN, intent: ['praise'] }, 'How do I install it on Debian?', no],
  ['sentiment', 'its label', { ...IN, sentiment: ['positive'] }, 'I love it, it is great', yes],
  ['sentiment', 'another label', { ...IN, sentiment: 'negative' }, 'I love it, it is great', no],
  ['language', 'detected', { ...IN, language: ['de', 'fr'] }, GERMAN, yes],
  ['language', 'another', { ...IN, language: ['en'] }, GERMAN, no],
  [
    'language',
    'fewer than twenty letters have no known language',
    { ...IN, language: ['en'] },
    'hello world',
    no,
  ],
]

test.each(LINES)('%s: %s', (_, __, given, listed, verdict) => {
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
    const lines = LINES.filter(([of]) => of === field)
    return !lines.some(([, , , , it]) => it === yes) || lines.every(([, , , , it]) => it === yes)
  })

  expect(lacking).toEqual([])
})
