import { Elysia } from 'elysia'

import { MEDIA_KINDS } from '../../core/items.ts'
import { SORT_TYPES } from '../../core/page-filter.ts'
import { parseSearch } from '../../core/text.ts'
import { worded } from '../../core/wire.ts'
import type { DeepComment } from '../../gateway/deep-search.ts'
import type { Reads } from '../../gateway/reads.ts'
import {
  flag,
  maybeFlag,
  maybeOneOf,
  maybeWhole,
  oneOf,
  query,
  required,
  whole,
} from '../fields.ts'
import { answers, refuses } from '../openapi.ts'
import type { Desk } from './desk.ts'
import { after, paged, plain, SEARCH_SORTS, subforumName, TALK_SORTS, TIMES } from './params.ts'

const COUNT = { min: -1_000_000_000, max: 1_000_000_000 }
const DEEP_POSTS_MAX = 10
const DEEP_POSTS = 5
const DEEP_COMMENTS_MAX = 500
const DEEP_COMMENTS = 100
const DEEP_AUTHORS_MAX = 200
const DEEP_AUTHORS = 25

const q = () => required('q')
const nsfw = () => flag('nsfw', false)
const t = () => oneOf('t', TIMES, 'all')

const pageFilter = () => ({
  min_score: maybeWhole('min_score', COUNT),
  max_score: maybeWhole('max_score', COUNT),
  min_comments: maybeWhole('min_comments', COUNT),
  max_comments: maybeWhole('max_comments', COUNT),
  is_video: maybeFlag('is_video'),
  is_self: maybeFlag('is_self'),
  over_18: maybeFlag('over_18'),
  locked: maybeFlag('locked'),
  stickied: maybeFlag('stickied'),
  spoiler: maybeFlag('spoiler'),
  contest_mode: maybeFlag('contest_mode'),
  sort_type: maybeOneOf('sort_type', SORT_TYPES),
})

// What is left of a search when its field:value parts are gone has to hold a word to look for.
const talked = () =>
  q().refine((text) => parseSearch(text) !== null, {
    error: 'q must contain a word to look for in comments',
    // "q is required" says it better for an empty one.
    when: ({ issues }) => issues.length === 0,
  })

/** Searches: posts, what they show, what is said under them, communities and people. */
export function search(desk: Desk, reads: Reads) {
  const { words, keyed, visiting, answerShared, rows, shapes, deepGate } = desk
  const comment = (it: DeepComment) => rows.row({ ...it, post: rows.post(it.post) })
  const searchQuery = query(() =>
    worded(words, {
      q: q(),
      subforum: subforumName(words.community).optional(),
      sort: oneOf('sort', SEARCH_SORTS, 'relevance'),
      t: t(),
      nsfw: nsfw(),
      ...paged('t3'),
      ...pageFilter(),
    }),
  )
  return new Elysia({ name: 'reads.search', prefix: words.api })
    .use(keyed)
    .use(visiting)
    .get(
      '/search',
      async ({ holder, session, query: asked, set }) => {
        const { q: text, subforum = null, sort, t: time, ...rest } = plain(words, asked)
        const { nsfw: adult, limit, after: from, ...filter } = rest
        const wanted = { q: text, subforum, sort, t: time, nsfw: adult, limit, after: from, filter }
        return rows.posts(
          await answerShared(holder, set.headers, reads.search, wanted, { session }),
        )
      },
      {
        query: searchQuery,
        detail: {
          summary: 'Search posts',
          description:
            'The filters and sort_type work on the page that was read; with any of them the answer carries meta.',
          tags: ['Search'],
          operationId: 'search',
          ...answers(() => shapes().search),
        },
      },
    )
    .get(
      '/search/communities',
      async ({ holder, query: wanted, set }) =>
        answerShared(holder, set.headers, reads.searchCommunities, wanted),
      {
        query: query(() => ({ q: q(), nsfw: nsfw(), ...paged() })),
        detail: {
          summary: 'Search communities',
          tags: ['Search'],
          operationId: 'searchCommunities',
          ...answers(() => shapes().communities),
        },
      },
    )
    .get(
      '/search/comments',
      async ({ holder, query: asked, set }) => {
        const wanted = { ...asked, subforum: null, filter: {} }
        return rows.posts(await answerShared(holder, set.headers, reads.search, wanted))
      },
      {
        query: query(() => ({
          q: q(),
          sort: oneOf('sort', TALK_SORTS, 'relevance'),
          t: t(),
          nsfw: nsfw(),
          ...paged('t3'),
        })),
        detail: {
          summary: 'Search posts by what is said under them',
          tags: ['Search'],
          operationId: 'searchComments',
          ...answers(() => shapes().posts),
        },
      },
    )
    .get(
      '/search/comments/deep',
      async ({ holder, query: { group_by, max_comments, max_authors, ...asked }, set }) => {
        const deep = <T>(work: () => Promise<T>) => deepGate(holder.customer.id, work)
        const tier = 'deep_search'
        if (group_by === undefined) {
          const wanted = { ...asked, max_comments }
          const body = await deep(() =>
            answerShared(holder, set.headers, reads.deepSearch, wanted, { tier }),
          )
          return { ...body, comments: body.comments.map(comment) }
        }
        const wanted = { ...asked, max_authors }
        const body = await deep(() =>
          answerShared(holder, set.headers, reads.deepAuthors, wanted, { tier }),
        )
        const authors = body.authors.map((it) =>
          rows.row({ ...it, top_comment: comment(it.top_comment) }),
        )
        return { ...body, authors }
      },
      {
        query: query(() => ({
          q: talked(),
          sort: oneOf('sort', TALK_SORTS, 'relevance'),
          t: t(),
          nsfw: nsfw(),
          limit: whole('limit', { min: 1, max: DEEP_POSTS_MAX, fallback: DEEP_POSTS }).meta({
            type: 'string',
            pattern: '^(10|[1-9])$',
            default: String(DEEP_POSTS),
          }),
          max_comments: whole('max_comments', {
            min: 1,
            max: DEEP_COMMENTS_MAX,
            fallback: DEEP_COMMENTS,
          }),
          group_by: maybeOneOf('group_by', ['author']),
          max_authors: whole('max_authors', {
            min: 1,
            max: DEEP_AUTHORS_MAX,
            fallback: DEEP_AUTHORS,
          }),
          after: after('t3'),
        })),
        detail: {
          summary: 'Search comments',
          description:
            'Expands up to limit posts that the search finds, one tree each, and answers with the comments in which the words occur. after leads to the next posts. With group_by=author the answer holds authors instead of comments. Best effort: deleted comments and those deep in a tree may be missed.',
          tags: ['Search'],
          operationId: 'searchCommentsDeep',
          ...refuses('DEEP_SEARCH_CONCURRENCY'),
          ...answers(() => shapes().deep),
        },
      },
    )
    .get(
      '/search/media',
      async ({ holder, query: wanted, set }) =>
        rows.posts(await answerShared(holder, set.headers, reads.searchMedia, wanted)),
      {
        query: query(() => ({
          q: q(),
          kind: oneOf('kind', ['all', ...MEDIA_KINDS], 'all'),
          sort: oneOf('sort', SEARCH_SORTS, 'relevance'),
          t: t(),
          nsfw: nsfw(),
          ...paged('t3'),
        })),
        detail: {
          summary: 'Search posts with pictures or video',
          description: 'limit counts the posts looked through, scanned says how many there were.',
          tags: ['Search'],
          operationId: 'searchMedia',
          ...answers(() => shapes().media),
        },
      },
    )
    .get(
      '/search/users',
      async ({ holder, query: wanted, set }) =>
        answerShared(holder, set.headers, reads.searchUsers, wanted),
      {
        query: query(() => ({ q: q(), nsfw: nsfw(), ...paged() })),
        detail: {
          summary: 'Search users by a part of their name',
          tags: ['Search'],
          operationId: 'searchUsers',
          ...answers(() => shapes().users),
        },
      },
    )
}
