import { ok, type Outcome } from '../../src/core/base/result.ts'
import type { Comment, Node, Post } from '../../src/core/forum/items.ts'
import { parsePermalink } from '../../src/core/forum/permalink.ts'
import type { Identities } from '../../src/gateway/identity.ts'
import { createReads, type Reads } from '../../src/gateway/reads.ts'
import { ANONYMOUS, type Listing, type SourceReads, type Tree } from '../../src/platforms/port.ts'
import type { Clock } from '../../src/runtime/runtime.ts'
import { commentOf, postOf } from './items.ts'

/** An invented post. */
export function aPost(id: string, changes: Partial<Post> = {}): Post {
  const { kind: _, ...post } = postOf({
    id,
    name: `t3_${id}`,
    title: `Post ${id}`,
    author: 'ada',
    permalink: `/r/cats/comments/${id}/post/`,
    url: `https://forum.test/r/cats/comments/${id}/post/`,
    ...changes,
  })
  return post
}

/** An invented comment. */
export function aComment(id: string, changes: Partial<Comment> = {}): Comment {
  const { kind: _, ...comment } = commentOf({
    id,
    name: `t1_${id}`,
    author: 'ada',
    body: `Comment ${id}`,
    permalink: `/r/cats/comments/p/post/${id}/`,
    url: `https://forum.test/r/cats/comments/p/post/${id}/`,
    post_id: 'p',
    link_title: null,
    link_url: null,
    parent_id: 't3_p',
    depth: 0,
    over_18: null,
    ...changes,
  })
  return comment
}

/** A native comment node; `replies` in the platform's own dress. */
export const aNode = (id: string, parent_id: string, replies: Node[] = [], body = id): Node => ({
  kind: 't1',
  data: {
    id,
    name: `t1_${id}`,
    parent_id,
    body,
    author: 'ada',
    score: 1,
    replies:
      replies.length === 0
        ? ''
        : { kind: 'Listing', data: { after: null, children: replies, before: null } },
  },
})

/** A native `more` node. Without ids it is "continue this thread". */
export const more = (parent_id: string, ids: string[], count = ids.length): Node => ({
  kind: 'more',
  data: { count, id: ids[0] ?? '_', name: `t1_${ids[0] ?? '_'}`, parent_id, children: ids },
})

export const page = <T>(rows: T[], after: string | null = null): Outcome<Listing<T>> =>
  ok({ rows, after, logged_in: null })

export const tree = (comments: Node[], post = aPost('p')): Outcome<Tree> => ok({ post, comments })

const not_requested = () => Promise.reject(new Error('unexpected request to the platform'))

/** A platform of which only these questions are expected. */
const scripted = (answers: Partial<SourceReads>): SourceReads => ({
  posts: not_requested,
  comments: not_requested,
  search: not_requested,
  searchMedia: not_requested,
  searchCommunities: not_requested,
  searchUsers: not_requested,
  userComments: not_requested,
  userItems: not_requested,
  tree: not_requested,
  more: not_requested,
  postsById: not_requested,
  nodesById: not_requested,
  liveness: not_requested,
  user: not_requested,
  community: not_requested,
  moderators: not_requested,
  feed: not_requested,
  me: not_requested,
  rules: not_requested,
  wiki: not_requested,
  communities: not_requested,
  achievements: not_requested,
  visibility: not_requested,
  commentOf: ({ data }) =>
    aComment(String(data['id']), { body: String(data['body']), upvotes: Number(data['score']) }),
  ...answers,
})

/** A pool without accounts. */
export const ANONYMOUS_IDENTITIES: Identities = { lease: () => ANONYMOUS, report: () => {} }

/** The reads over a scripted platform. */
export const readsOver = (
  answers: Partial<SourceReads>,
  clock: Clock,
  limits: { tree_fetches?: number; read_cache_ms?: number; identities?: Identities } = {},
): Reads =>
  createReads({
    platform: scripted(answers),
    identities: ANONYMOUS_IDENTITIES,
    clock,
    read_deadline_ms: 30_000,
    read_wait_ms: () => 8_000,
    tree_fetches: 8,
    read_cache_ms: 5_000,
    placeOf: (link) =>
      parsePermalink(link, { link: ['www.forum.test', 'old.forum.test'], short: ['fo.test'] }),
    ...limits,
  })
