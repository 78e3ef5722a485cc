import { Elysia } from 'elysia'

import { parseSearch, SORT_TYPES } from '../../core/filter/search-query.ts'
import { MEDIA_KINDS } from '../../core/forum/items.ts'
import { toWire } from '../../core/forum/naming.ts'
import type { DeepComment } from '../../gateway/deep-search.ts'
import type { Reads } from '../../gateway/reads.ts'
import {
  maybeFlag,
  maybeInteger,
  maybeOneOf,
  oneOf,
  queryFlag,
  queryInteger,
  querySchema,
  required,
} from '../http/fields.ts'
import { answers, refuses } from '../openapi/route-docs.ts'
import type { ReadContext } from './context.ts'
import { fromWire, listingCursor, paged, SEARCH_SORTS, TALK_SORTS, TIMES } from './params.ts'

const COUNT = { min: -1_000_000_000, max: 1_000_000_000 }
const DEEP_POSTS_MAX = 10
const DEEP_POSTS = 5
const DEEP_COMMENTS_MAX = 500
const DEEP_COMMENTS = 100
const DEEP_AUTHORS_MAX = 200
const DEEP_AUTHORS = 25

const q = () => required('q')
const nsfw = () => queryFlag('nsfw', false)
const t = () => oneOf('t', TIMES, 'all')

const pageFilter = () => ({
  min_score: maybeInteger('min_score', COUNT),
  max_score: maybeInteger('max_score', COUNT),
  min_comments: maybeInteger('min_comments', COUNT),
  max_comments: maybeInteger('max_comments', COUNT),
  is_video: maybeFlag('is_video'),
  is_self: maybeFlag('is_self'),
  over_18: maybeFlag('over_18'),
  locked: maybeFlag('locked'),
  stickied: maybeFlag('stickied'),
  spoiler: maybeFlag('spoiler'),
  contest_mode: maybeFlag('contest_mode'),
  sort_type: maybeOneOf('sort_type', SORT_TYPES),
})

// Without its field:value parts, a search needs at least one term.
const commentTerms = () =>
  q().refine((text) => parseSearch(text) !== null, {
    error: 'q must contain a word to look for in comments',
    // "q is required" is the clearer message for an empty query.
    when: ({ issues }) => issues.length === 0,
  })

const DISCUSSIONS =
  'Posts with a comment in which the words of q occur. The platform has no search of comments: its search finds posts by their own text, and the comments of those are read, one tree each, of no more than limit posts and [limits] tree_fetches of the service (8) a call. A page may therefore be short or empty while after leads to the next posts. meta.searched counts the posts read, meta.comments_scanned their comments; meta.truncated is true where a tree was cut or failed, more posts follow, or the search named no post at all.'

export function searchReads(context: ReadContext, reads: Reads) {
  const { names, words, keyed, optional_session, answerShared, rows, shapes, deepSearchBulkhead } =
    context
  const comment = (it: DeepComment) => rows.row({ ...it, post: rows.post(it.post) })
  const searchQuery = querySchema(() =>
    toWire(words, {
      q: q(),
      subforum: names.subforum(words.community).optional(),
      sort: oneOf('sort', SEARCH_SORTS, 'relevance'),
      t: t(),
      nsfw: nsfw(),
      ...paged('t3'),
      ...pageFilter(),
    }),
  )
  return new Elysia({ name: `reads.search ${words.api}`, prefix: words.api })
    .use(keyed)
    .use(optional_session)
    .get(
      '/search',
      async ({ holder, session, query: input, set }) => {
        const { q: text, subforum = null, sort, t: time, ...rest } = fromWire(words, input)
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
        query: querySchema(() => ({ q: q(), nsfw: nsfw(), ...paged() })),
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
      async ({ holder, query: wanted, set }) =>
        rows.posts(await answerShared(holder, set.headers, reads.discussions, wanted)),
      {
        query: querySchema(() => ({
          q: commentTerms(),
          sort: oneOf('sort', TALK_SORTS, 'relevance'),
          t: t(),
          nsfw: nsfw(),
          ...paged('t3'),
        })),
        detail: {
          summary: 'Search posts by their comments',
          description: DISCUSSIONS,
          tags: ['Search'],
          operationId: 'searchComments',
          ...answers(() => shapes().discussions),
        },
      },
    )
    .get(
      '/search/comments/deep',
      async ({ holder, query: { group_by, max_comments, max_authors, ...input }, set }) => {
        const deep = <T>(work: () => Promise<T>) => deepSearchBulkhead(holder.customer.id, work)
        const tier = 'deep_search'
        if (group_by === undefined) {
          const wanted = { ...input, max_comments }
          const body = await deep(() =>
            answerShared(holder, set.headers, reads.deepSearch, wanted, { tier }),
          )
          return { ...body, comments: body.comments.map(comment) }
        }
        const wanted = { ...input, max_authors }
        const body = await deep(() =>
          answerShared(holder, set.headers, reads.deepAuthors, wanted, { tier }),
        )
        const authors = body.authors.map((it) =>
          rows.row({ ...it, top_comment: comment(it.top_comment) }),
        )
        return { ...body, authors }
      },
      {
        query: querySchema(() => ({
          q: commentTerms(),
          sort: oneOf('sort', TALK_SORTS, 'relevance'),
          t: t(),
          nsfw: nsfw(),
          limit: queryInteger('limit', { min: 1, max: DEEP_POSTS_MAX, fallback: DEEP_POSTS }).meta({
            type: 'string',
            pattern: '^(10|[1-9])$',
            default: String(DEEP_POSTS),
          }),
          max_comments: queryInteger('max_comments', {
            min: 1,
            max: DEEP_COMMENTS_MAX,
            fallback: DEEP_COMMENTS,
          }),
          group_by: maybeOneOf('group_by', ['author']),
          max_authors: queryInteger('max_authors', {
            min: 1,
            max: DEEP_AUTHORS_MAX,
            fallback: DEEP_AUTHORS,
          }),
          after: listingCursor('t3'),
        })),
        detail: {
          summary: 'Search comments',
          description:
            'Expands up to limit posts that the search finds, one tree each, and answers with the comments in which the words occur. after leads to the next posts. With group_by=author the answer holds authors instead of comments. Best effort: the platform searches posts by their own text only, so comments under other posts are not found, and deleted comments and those deep in a tree may be missed. meta.posts_expanded and meta.comments_scanned say what was read; meta.truncated is true where a tree was cut or failed, more posts follow, or the search named no post at all.',
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
        query: querySchema(() => ({
          q: q(),
          kind: oneOf('kind', ['all', ...MEDIA_KINDS], 'all'),
          sort: oneOf('sort', SEARCH_SORTS, 'relevance'),
          t: t(),
          nsfw: nsfw(),
          ...paged('t3'),
        })),
        detail: {
          summary: 'Search posts with pictures or video',
          description: 'limit bounds the posts searched; scanned is their actual number.',
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
        query: querySchema(() => ({ q: q(), nsfw: nsfw(), ...paged() })),
        detail: {
          summary: 'Search users by a part of their name',
          tags: ['Search'],
          operationId: 'searchUsers',
          ...answers(() => shapes().users),
        },
      },
    )
}
