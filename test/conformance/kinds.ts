import * as z from 'zod'

import { ANONYMOUS, type Eyes } from '../../src/platform/platform.ts'
import { type Recording, said } from '../support/replay.ts'
import { listing, post } from '../unit/platform/stage.ts'
import { changes, differences } from './differences.ts'
import type { Stage, Told } from './stage.ts'
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
} from './ways.ts'

/** Gives a recording to the daemon wherever it reads such an answer, and tells every difference from what is due. */
type Check = (stage: Stage, recording: Recording, told: Told) => Promise<string[]>

const GONE = said({ message: 'Not Found', error: 404 }, 404)
const NOTHING_MORE = said({ json: { errors: [], data: { things: [] } } })

/** By the kind of a recording. */
/** Moderators are shown to those who are signed in. */
const SOMEBODY: Eyes = { ...ANONYMOUS, id: 'caller:ann', whose: 'caller', cookie: 'session=ann' }

export const CHECKS: Readonly<Record<string, Check>> = {
  async 'listing-posts'(stage, recording, told) {
    const { posts, after } = z.object({ posts: Rows, after: After }).parse(told)
    const due = { rows: { posts }, after, counted: childrenIn(recording).length }
    const decent = posts.filter((it) => it['over_18'] !== true)
    const decently = { ...due, rows: { posts: decent } }
    return [
      ...(await page(stage, recording, '/posts?subforum=cats', due)),
      ...(await page(stage, recording, '/sub/cats/top', due)),
      ...(await page(stage, recording, '/user/ann/submitted', due)),
      ...(await page(stage, recording, '/search?q=cat&nsfw=true', due)),
      ...(await page(stage, recording, '/search/comments?q=cat&nsfw=true', due)),
      ...(await page(stage, recording, '/search?q=cat', decently)),
      ...(await mediaPage(stage, recording, due)),
    ]
  },
  async 'comments-listing'(stage, recording, told) {
    const { comments, after } = z.object({ comments: Rows, after: After }).parse(told)
    const due = { rows: { comments }, after, counted: childrenIn(recording).length }
    return [
      ...(await page(stage, recording, '/sub/cats/comments', due)),
      ...(await page(stage, recording, '/user/ann/comments', due)),
    ]
  },
  'listing-mixed': items,
  'user-listing': items,
  async 'user-search'(stage, recording, told) {
    const { users, after } = z.object({ users: Rows, after: After }).parse(told)
    const due = { rows: { users }, after, counted: users.length }
    return page(stage, recording, '/search/users?q=ann&nsfw=true', due)
  },
  async 'subreddit-search'(stage, recording, told) {
    const { communities, after } = z.object({ communities: Rows, after: After }).parse(told)
    const due = { rows: { communities }, after, counted: communities.length }
    return page(stage, recording, '/search/communities?q=cat&nsfw=true', due)
  },
  'user-about': (stage, recording, told) => one(stage, recording, '/user/ann', told['user']),
  'subreddit-about': (stage, recording, told) =>
    one(stage, recording, '/sub/cats/about', told['community']),
  async moderators(stage, recording, told) {
    stage.replay.play(recording)
    const found = await stage.forum.moderators('cats', stage.call(SOMEBODY))
    return differences({ ok: true, value: told['moderators'] }, found)
  },

  async 'comment-tree'(stage, recording, told) {
    const { comments, ...due } = z
      .object({
        post: Named.extend({ permalink: z.string() }),
        nodes: z.array(Node),
        comments: Rows,
        truncated: z.boolean(),
      })
      .transform(({ truncated, ...rest }) => ({ ...rest, meta: { truncated } }))
      .parse(told)
    const { id, permalink } = due.post
    // Recorders wrote <NAMES> over what was theirs; nobody could ask for such a path.
    const path = `/comments?permalink=${encodeURIComponent(permalink.replaceAll(/<\w+>/g, 'Name'))}`
    const rows = everyComment(due.nodes).map(stage.forum.commentOf)
    return [
      ...(await tree(stage, [recording], `/post/${id}/comments`, due)),
      ...(await tree(stage, [recording], `/comments/${id}`, due)),
      // What cannot be fetched any more leaves the rest as it was.
      ...(await tree(stage, [recording, GONE], path, due)),
      ...differences(comments, rows, 'comments'),
    ]
  },
  async 'more-children'(stage, recording, told) {
    const { nodes, comments } = z.object({ nodes: z.array(Node), comments: Rows }).parse(told)
    stage.replay.play(recording)
    const query = { post_id: 'ab12', ids: ['cd34'], sort: 'confidence' }
    const found = await stage.forum.more(query, stage.call())
    const rows = nodes.filter(({ kind }) => kind === 't1').map(stage.forum.commentOf)
    return [
      ...changes({ ok: true, value: nodes }, found, 'more'),
      ...differences(comments, rows, 'comments'),
      ...(await grown(stage, recording, nodes)),
    ]
  },

  // Asked for by its id, the platform gives a thing within a listing.
  async post(stage, recording, told) {
    const due = Named.parse(told['post'])
    return one(stage, wrapped(recording), `/post/${due.id}`, due)
  },
  comment: (stage, recording, told) =>
    oneComment(stage, wrapped(recording), Node.parse(told['node']), told['comment']),
  async 'info-batch'(stage, recording, told) {
    const { posts, comments, nodes, communities, liveness } = z
      .object({
        posts: z.array(Named),
        comments: Rows,
        nodes: z.array(Node),
        communities: Rows,
        liveness: z.record(z.string(), z.string()),
      })
      .parse(told)
    const found = nodes.length > 0 ? await verify(stage, recording, liveness) : []
    for (const it of posts) found.push(...(await one(stage, recording, `/post/${it.id}`, it)))
    for (const [index, node] of nodes.entries())
      found.push(...(await oneComment(stage, recording, node, comments[index])))
    const places = childrenIn(recording).filter(({ kind }) => kind === 't5')
    for (const [index, it] of communities.entries())
      found.push(...(await one(stage, said(places[index]), '/sub/cats/about', it)))
    return found
  },
}

/** Posts and comments of a person: both with their kind, and each of them where only they are asked for. */
async function items(stage: Stage, recording: Recording, told: Told): Promise<string[]> {
  const due = z.object({ items: Rows, after: After }).parse(told)
  stage.replay.play(recording)
  const query = {
    name: 'ann',
    tab: 'overview',
    sort: 'new',
    t: null,
    limit: 100,
    after: null,
  } as const
  const found = await stage.forum.userItems(query, stage.call())
  const differ = differences({ ok: true, value: { rows: due.items, after: due.after } }, found)

  const bare = (wanted: string) =>
    due.items.flatMap(({ kind, ...row }) => (kind === wanted ? [row] : []))
  const [posts, comments] = [bare('post'), bare('comment')]
  const rest = { after: due.after, counted: due.items.length }
  const submitted = { rows: { posts }, ...rest }
  differ.push(...(await page(stage, recording, '/user/ann/submitted', submitted)))
  if (posts.length > 0) return differ
  const commented = { rows: { comments }, ...rest }
  return [...differ, ...(await page(stage, recording, '/user/ann/comments', commented))]
}

/** Comments without what hangs on them, which is what growing changes. */
const byName = (comments: Node[]) =>
  Object.fromEntries(
    comments.map(({ data }) => [
      String(data['name']),
      Object.fromEntries(Object.entries(data).filter(([field]) => field !== 'replies')),
    ]),
  )

/** A tree that begins with one `more` node and grows by what was recorded: every comment is in it once. */
async function grown(stage: Stage, recording: Recording, nodes: Node[]): Promise<string[]> {
  const comments = nodes.filter(({ kind }) => kind === 't1')
  const children = comments.map(({ data }) => data['id'])
  if (children.length === 0) return []
  const name = String(comments[0]?.data['link_id'])
  const id = name.replace('t3_', '')
  const bud = {
    kind: 'more',
    data: { count: 1, id: children[0], parent_id: name, depth: 0, children },
  }
  const start = said([listing([post({ id, name })]), listing([bud])])

  const path = `/api/forum/comments?permalink=/r/cats/comments/${id}/`
  const { body } = await stage.read([start, recording, NOTHING_MORE], path)
  const whole = z.looseObject({ comments: z.array(Node) }).parse(body)
  const shown = everyComment(whole.comments)
  return [
    ...differences(comments.length, shown.length, 'grown.length'),
    ...differences(byName(comments), byName(shown), 'grown'),
  ]
}
