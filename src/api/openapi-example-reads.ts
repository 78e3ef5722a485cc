import { worded, type Words } from '../core/wire.ts'
import { exampleRows } from './openapi-example-rows.ts'

/** An answer of each read, by its method and path below the API's. */
export function exampleReads(words: Words): Readonly<Record<string, unknown>> {
  const rows = exampleRows(words)
  const { post, comment, user, community, node } = rows
  const posts = { posts: [post], after: 't3_1abcde~1' }
  const comments = { comments: [comment], after: null, listing_status: 'complete' }
  const tree = {
    post,
    comments: [node],
    after: null,
    meta: { truncated: false, more_count: 0 },
  }
  const communities = [community]
  const directory = { ...worded(words, { subforums: communities }), after: 't5_2xtnu~1' }
  const items = { items: [{ kind: 'post', ...post }], after: null, listing_status: 'complete' }
  const shown = { media: MEDIA, is_self: false, media_kind: 'image', text: '', ...LINKED }
  return {
    'GET /posts': posts,
    'GET /sub/:name/top': posts,
    'GET /post/:id': post,
    'GET /post/:id/visibility': { id: post.id, verdict: 'live', reason: null, confident: true },
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
    'GET /search/comments': posts,
    'GET /search/comments/deep': {
      comments: [rows.deep],
      after: 't3_1abcde~5',
      meta: { truncated: false, capped: false, posts_expanded: 5, comments_scanned: 10 },
    },
    'GET /search/media': { posts: [{ ...post, ...shown }], scanned: 25, after: 't3_1abcde~25' },
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
