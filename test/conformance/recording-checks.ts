import * as z from 'zod'

import { ANONYMOUS, type Identity } from '../../src/platforms/port.ts'
import { played, type Recording } from '../support/replay.ts'
import { listing, post } from '../unit/platforms/reddit/fixture.ts'
import { changes, differences } from './differences.ts'
import type { ConformanceFixture, MappedRecording } from './fixture.ts'
import {
  After,
  childrenIn,
  everyComment,
  mediaPage,
  Named,
  Node,
  one,
  oneComment,
  page,
  Rows,
  tree,
  verify,
  wrapped,
} from './response-shapes.ts'

/** Serves a recording to the daemon for every read of its kind and returns the differences from the expected rows. */
type Check = (
  fixture: ConformanceFixture,
  recording: Recording,
  expected: MappedRecording,
) => Promise<string[]>

const GONE = played({ message: 'Not Found', error: 404 }, 404)
const NOTHING_MORE = played({ json: { errors: [], data: { things: [] } } })

/** Checks by the kind of a recording. */
/** A signed-in identity: moderators need a session. */
const SIGNED_IN: Identity = {
  ...ANONYMOUS,
  id: 'caller:ann',
  whose: 'caller',
  cookie: 'session=ann',
}

export const CHECKS: Readonly<Record<string, Check>> = {
  async 'listing-posts'(fixture, recording, expected) {
    const { posts, after } = z.object({ posts: Rows, after: After }).parse(expected)
    const due = { rows: { posts }, after, counted: childrenIn(recording).length }
    const decent = posts.filter((it) => it['over_18'] !== true)
    const decently = { ...due, rows: { posts: decent } }
    return [
      ...(await page(fixture, recording, '/posts?subforum=cats', due)),
      ...(await page(fixture, recording, '/sub/cats/top', due)),
      ...(await page(fixture, recording, '/user/ann/submitted', due)),
      ...(await page(fixture, recording, '/search?q=cat&nsfw=true', due)),
      ...(await page(fixture, recording, '/search?q=cat', decently)),
      ...(await mediaPage(fixture, recording, due)),
    ]
  },
  async 'comments-listing'(fixture, recording, expected) {
    const { comments, after } = z.object({ comments: Rows, after: After }).parse(expected)
    const due = { rows: { comments }, after, counted: childrenIn(recording).length }
    return [
      ...(await page(fixture, recording, '/sub/cats/comments', due)),
      ...(await page(fixture, recording, '/user/ann/comments', due)),
    ]
  },
  'listing-mixed': items,
  'user-listing': items,
  async 'user-search'(fixture, recording, expected) {
    const { users, after } = z.object({ users: Rows, after: After }).parse(expected)
    const due = { rows: { users }, after, counted: users.length }
    return page(fixture, recording, '/search/users?q=ann&nsfw=true', due)
  },
  async 'subreddit-search'(fixture, recording, expected) {
    const { communities, after } = z.object({ communities: Rows, after: After }).parse(expected)
    const due = { rows: { communities }, after, counted: communities.length }
    return page(fixture, recording, '/search/communities?q=cat&nsfw=true', due)
  },
  'user-about': (fixture, recording, expected) =>
    one(fixture, recording, '/user/ann', expected['user']),
  'subreddit-about': (fixture, recording, expected) =>
    one(fixture, recording, '/sub/cats/about', expected['community']),
  async moderators(fixture, recording, expected) {
    fixture.replay.play(recording)
    const found = await fixture.forum.moderators('cats', fixture.call(SIGNED_IN))
    return differences({ ok: true, value: expected['moderators'] }, found)
  },

  async 'comment-tree'(fixture, recording, expected) {
    const { comments, ...due } = z
      .object({
        post: Named.extend({ permalink: z.string() }),
        nodes: z.array(Node),
        comments: Rows,
        truncated: z.boolean(),
      })
      .transform(({ truncated, ...rest }) => ({ ...rest, meta: { truncated } }))
      .parse(expected)
    const { id, permalink } = due.post
    // The recordings replace private names by <NAMES>, which is not a valid path.
    const path = `/comments?permalink=${encodeURIComponent(permalink.replaceAll(/<\w+>/g, 'Name'))}`
    const rows = everyComment(due.nodes).map(fixture.forum.commentOf)
    return [
      ...(await tree(fixture, [recording], `/post/${id}/comments`, due)),
      ...(await tree(fixture, [recording], `/comments/${id}`, due)),
      // Nodes that can no longer be fetched leave the rest unchanged.
      ...(await tree(fixture, [recording, GONE], path, due)),
      ...differences(comments, rows, 'comments'),
    ]
  },
  async 'more-children'(fixture, recording, expected) {
    const { nodes, comments } = z.object({ nodes: z.array(Node), comments: Rows }).parse(expected)
    fixture.replay.play(recording)
    const query = { post_id: 'ab12', ids: ['cd34'], sort: 'confidence' }
    const found = await fixture.forum.more(query, fixture.call())
    const rows = nodes.filter(({ kind }) => kind === 't1').map(fixture.forum.commentOf)
    return [
      ...changes({ ok: true, value: nodes }, found, 'more'),
      ...differences(comments, rows, 'comments'),
      ...(await grown(fixture, recording, nodes)),
    ]
  },

  // A lookup by id returns the item within a listing.
  async post(fixture, recording, expected) {
    const due = Named.parse(expected['post'])
    return one(fixture, wrapped(recording), `/post/${due.id}`, due)
  },
  comment: (fixture, recording, expected) =>
    oneComment(fixture, wrapped(recording), Node.parse(expected['node']), expected['comment']),
  async 'info-batch'(fixture, recording, expected) {
    const { posts, comments, nodes, communities, liveness } = z
      .object({
        posts: z.array(Named),
        comments: Rows,
        nodes: z.array(Node),
        communities: Rows,
        liveness: z.record(z.string(), z.string()),
      })
      .parse(expected)
    const found = nodes.length > 0 ? await verify(fixture, recording, liveness) : []
    for (const it of posts) found.push(...(await one(fixture, recording, `/post/${it.id}`, it)))
    for (const [index, node] of nodes.entries())
      found.push(...(await oneComment(fixture, recording, node, comments[index])))
    const places = childrenIn(recording).filter(({ kind }) => kind === 't5')
    for (const [index, it] of communities.entries())
      found.push(...(await one(fixture, played(places[index]), '/sub/cats/about', it)))
    return found
  },
}

/** Posts and comments of a user: the mixed listing with kinds, and each of the separate listings. */
async function items(
  fixture: ConformanceFixture,
  recording: Recording,
  expected: MappedRecording,
): Promise<string[]> {
  const due = z.object({ items: Rows, after: After }).parse(expected)
  fixture.replay.play(recording)
  const query = {
    name: 'ann',
    tab: 'overview',
    sort: 'new',
    t: null,
    limit: 100,
    after: null,
  } as const
  const found = await fixture.forum.userItems(query, fixture.call())
  const differ = differences({ ok: true, value: { rows: due.items, after: due.after } }, found)

  const bare = (wanted: string) =>
    due.items.flatMap(({ kind, ...row }) => (kind === wanted ? [row] : []))
  const [posts, comments] = [bare('post'), bare('comment')]
  const rest = { after: due.after, counted: due.items.length }
  const submitted = { rows: { posts }, ...rest }
  differ.push(...(await page(fixture, recording, '/user/ann/submitted', submitted)))
  if (posts.length > 0) return differ
  const commented = { rows: { comments }, ...rest }
  return [...differ, ...(await page(fixture, recording, '/user/ann/comments', commented))]
}

/** Comments without their replies, which expanding changes. */
const byName = (comments: Node[]) =>
  Object.fromEntries(
    comments.map(({ data }) => [
      String(data['name']),
      Object.fromEntries(Object.entries(data).filter(([field]) => field !== 'replies')),
    ]),
  )

/** A tree of one `more` node, expanded with a recording: every comment occurs once. */
async function grown(
  fixture: ConformanceFixture,
  recording: Recording,
  nodes: Node[],
): Promise<string[]> {
  const comments = nodes.filter(({ kind }) => kind === 't1')
  const children = comments.map(({ data }) => data['id'])
  if (children.length === 0) return []
  const name = String(comments[0]?.data['link_id'])
  const id = name.replace('t3_', '')
  const placeholder = {
    kind: 'more',
    data: { count: 1, id: children[0], parent_id: name, depth: 0, children },
  }
  const start = played([listing([post({ id, name })]), listing([placeholder])])

  const path = `/api/forum/comments?permalink=/r/cats/comments/${id}/`
  const { body } = await fixture.read([start, recording, NOTHING_MORE], path)
  const whole = z.looseObject({ comments: z.array(Node) }).parse(body)
  const mapped_comments = everyComment(whole.comments)
  return [
    ...differences(comments.length, mapped_comments.length, 'grown.length'),
    ...differences(byName(comments), byName(mapped_comments), 'grown'),
  ]
}
