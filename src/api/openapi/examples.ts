import { type Naming, toWire } from '../../core/forum/naming.ts'
import { exampleRows, IDS } from './example-rows.ts'
import { exampleArchive, exampleMonitoring, EXAMPLES_OF_ACCOUNT } from './monitoring-examples.ts'

/** Example answers of reads, by method and path below the API's prefix. */
function exampleReads(words: Naming): Readonly<Record<string, unknown>> {
  const rows = exampleRows(words)
  const { post, comment, user, community, node } = rows
  const posts = { posts: [post], after: 't3_1abcde' }
  const comments = { comments: [comment], after: null, listing_status: 'complete' }
  const tree = {
    post,
    comments: [node],
    after: null,
    meta: { truncated: false, more_count: 0 },
  }
  const communities = [community]
  const directory = { ...toWire(words, { subforums: communities }), after: 't5_2xtnu' }
  const items = { items: [{ kind: 'post', ...post }], after: null, listing_status: 'complete' }
  const media_fields = { media: MEDIA, is_self: false, media_kind: 'image', text: '', ...LINKED }
  return {
    'GET /sources': {
      sources: [
        {
          name: 'hn',
          kind: 'hackernews',
          url: 'https://news.ycombinator.com',
          capabilities: ['posts', 'comments', 'search', 'tree', 'user'],
          place_examples: ['story', 'ask', 'show', 'job'],
          proof: 'dense',
          reachable: true,
          ends_at: null,
        },
      ],
    },
    'GET /posts': posts,
    'GET /sub/:name/top': posts,
    'GET /post/:id': post,
    'GET /post/:id/visibility': {
      id: post.id,
      verdict: 'live',
      reason: null,
      reason_code: null,
      confident: true,
    },
    'GET /by_id/:fullnames': {
      posts: [post],
      meta: {
        listing_status: 'complete',
        truncated: false,
        missing_fullnames: ['t3_2abcde'],
      },
    },
    'GET /search': { ...posts, meta: { scanned: 25, kept: 1 } },
    'GET /search/communities': { communities, after: null, listing_status: 'complete' },
    'GET /search/comments': {
      ...posts,
      meta: { searched: 8, comments_scanned: 120, truncated: true },
    },
    'GET /search/comments/deep': {
      comments: [rows.deep],
      after: 't3_1abcde~5',
      meta: { truncated: true, capped: false, posts_expanded: 5, comments_scanned: 10 },
    },
    'GET /search/media': {
      posts: [{ ...post, ...media_fields }],
      scanned: 25,
      after: 't3_1abcde~25',
    },
    'GET /search/users': { users: [user], after: null, listing_status: 'complete' },
    'GET /comments': tree,
    'GET /post/:id/comments': tree,
    'GET /comments/:postId': tree,
    'GET /comment/:id': { comment: node },
    'POST /comments/verify': {
      comments: [
        { id: 'n3k01ab', name: 't1_n3k01ab', status: 'live' },
        { id: 't1_n3k01ac', name: 't1_n3k01ac', status: 'not_found' },
      ],
    },
    'GET /user/:name': user,
    'GET /user/:name/comments': comments,
    'GET /user/:name/submitted': posts,
    'GET /user/:name/achievements': { achievements: [rows.achievement], count: 1 },
    'GET /sub/:name/about': community,
    'GET /sub/:name/comments': comments,
    'GET /sub/:name/rules': rows.rules,
    'GET /sub/:name/wiki/:page': rows.wiki,
    [`GET /${words.communities}/popular`]: directory,
    [`GET /${words.communities}/new`]: directory,
    [`GET /${words.communities}/default`]: directory,
    'GET /feed': posts,
    'GET /sub/:name/moderators': { moderators: [rows.moderator] },
    'GET /user/:name/upvoted': items,
    'GET /user/:name/saved': items,
    'GET /user/:name/hidden': items,
    'GET /user/:name/gilded': items,
  }
}

const PICTURE = 'https://media.forum.example/grinder.jpg'
const LINKED = { link_url: PICTURE, domain: 'media.forum.example' }
const MEDIA = {
  kind: 'image',
  url: PICTURE,
  width: 1200,
  height: 800,
  items: [],
  duration_s: null,
  thumbnail_url: null,
}

const { monitor: MONITOR, webhook: WEBHOOK } = IDS

/**
 * Example answers by method and path, for the document; those of writes and health are beside their
 * routes.
 */
export const exampleAnswers = (words: Naming): Readonly<Record<string, unknown>> => ({
  ...prefixRoutes(words.api, exampleReads(words)),
  ...prefixRoutes(words.monitor, exampleMonitoring(words)),
  ...prefixRoutes(`/${words.platform}/archive`, exampleArchive(words)),
  ...EXAMPLES_OF_ACCOUNT,
})

const prefixRoutes = (prefix: string, answers: Readonly<Record<string, unknown>>) =>
  Object.fromEntries(
    Object.entries(answers).map(([route, answer]) => [route.replace(' ', ` ${prefix}`), answer]),
  )

/** Example bodies by method and path, for the document; those of writes are beside their fields. */
export function exampleBodies(words: Naming): Readonly<Record<string, object>> {
  const { api, monitor, community } = words
  const filter_spec = { [community]: 'coffee', include_any: ['grinder', 'burr set'] }
  return {
    [`${api}/comments/verify`]: { ids: ['n3k01ab', 't1_n3k01ac'] },
    [`${monitor}/add`]: { filter_spec, webhook_ids: [WEBHOOK], name: 'grinders' },
    [`${monitor}/update`]: { id: MONITOR, active: false },
    [`${monitor}/remove`]: { id: MONITOR },
    [`${monitor}/acknowledge`]: { id: MONITOR },
    [`${monitor}/preview`]: { filter_spec },
    [`${monitor}/feed/rotate`]: { id: MONITOR },
    [`${monitor}/webhook/create`]: { url: 'https://receiver.example.com/hook' },
    [`${monitor}/webhook/update`]: { id: WEBHOOK, max_per_second: 5 },
    [`${monitor}/webhook/rotate`]: { id: WEBHOOK },
    [`${monitor}/webhook/test`]: { id: WEBHOOK },
    [`${monitor}/webhook/delete`]: { id: WEBHOOK },
    [`${monitor}/deliveries/redeliver`]: { webhook_id: WEBHOOK, since: '2026-01-31T12:00:00Z' },
    '/feedback': {
      type: 'idea',
      title: 'Weekly summaries',
      details: 'One mail a week with what a monitor matched.',
    },
    '/drafts': {
      action: 'vote',
      body: { id: 't3_1abcde', direction: 'up' },
    },
  }
}
