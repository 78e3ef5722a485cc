import { Elysia } from 'elysia'
import * as z from 'zod'

import { once } from '../../core/once.ts'
import type { Reads, TreeRead } from '../../gateway/reads.ts'
import { closed, flag, maybeWhole, oneOf, query, required } from '../fields.ts'
import { dressOnce } from '../one-piece.ts'
import { answers } from '../openapi.ts'
import type { Rows } from './answer.ts'
import type { Desk } from './desk.ts'
import { idOf, ofPost, TREE_SORTS } from './params.ts'

const PERMALINK_MAX = 2048
const IDS_MAX = 100
const ID_LENGTH_MAX = 64
const DEPTH = { min: 1, max: 10 }
const LIMIT = { min: 1, max: 500 }

const treeFields = once(() => ({
  sort: oneOf('sort', TREE_SORTS, 'confidence'),
  depth: maybeWhole('depth', DEPTH),
  limit: maybeWhole('limit', LIMIT),
}))
type Wish = { sort: string; depth?: number | undefined; limit?: number | undefined }

const IDS_SENTENCE = `ids must be a list of 1 to ${IDS_MAX} comment ids, each a text of at most ${ID_LENGTH_MAX} characters`
const verifyBody = closed(() => ({
  ids: z
    .array(z.string({ error: IDS_SENTENCE }).max(ID_LENGTH_MAX, IDS_SENTENCE), {
      error: ({ input }) => (input === undefined ? 'ids is required' : IDS_SENTENCE),
    })
    .min(1, IDS_SENTENCE)
    .max(IDS_MAX, IDS_SENTENCE),
}))

const treeOf = (post_id: string, { sort, depth, limit }: Wish): TreeRead => ({
  post_id,
  comment_id: null,
  sort,
  depth: depth ?? null,
  limit: limit ?? null,
  full: false,
})

/** The post in the words of the wire; the nodes stay as the platform gave them. */
const dressTree = <T extends { post: Parameters<Rows['post']>[0] }>(rows: Rows, body: T): T =>
  dressOnce(body, (it) => ({ ...it, post: rows.post(it.post) }))

/** Comment trees, single comments, and whether comments are still there. */
export function comments(desk: Desk, reads: Reads) {
  const { words, keyed, visiting, answer, answerShared, rows, shapes } = desk
  const permalink = () =>
    required('permalink', { max: PERMALINK_MAX }).transform((text, context) => {
      const place = text === '' ? null : reads.place(text)
      if (place !== null) return place
      context.addIssue(
        "permalink must be a post's path such as /r/name/comments/abc123/title/, or its address on the platform",
      )
      return z.NEVER
    })
  const tree = {
    tags: ['Comments'],
    description:
      'Nodes are as the platform gives them. meta.more_count is the number of more nodes left in the tree; depth and limit are upper bounds.',
    ...answers(() => shapes().tree),
  }
  return new Elysia({ name: 'reads.comments', prefix: words.api })
    .use(keyed)
    .use(visiting)
    .get(
      '/comments',
      async ({ holder, session, query: { permalink: place, ...wish }, set }) => {
        // Who asks for a certain depth or number does not want the rest fetched.
        const full = wish.depth === undefined && wish.limit === undefined
        const wanted = { ...treeOf(place.post_id, wish), comment_id: place.comment_id, full }
        return dressTree(
          rows,
          await answerShared(holder, set.headers, reads.tree, wanted, { session }),
        )
      },
      {
        query: query(() => ({ permalink: permalink(), ...treeFields() })),
        detail: {
          ...tree,
          summary: 'The full comment tree of a post',
          operationId: 'comments',
        },
      },
    )
    .get(
      '/post/:id/comments',
      async ({ holder, session, params: { id }, query: wish, set }) => {
        return dressTree(
          rows,
          await answerShared(holder, set.headers, reads.tree, treeOf(id, wish), { session }),
        )
      },
      {
        params: ofPost,
        query: query(treeFields),
        detail: {
          ...tree,
          summary: 'A post and its comments',
          operationId: 'postComments',
        },
      },
    )
    .get(
      '/comments/:postId',
      async ({ holder, session, params: { postId }, query: wish, set }) => {
        return dressTree(
          rows,
          await answerShared(holder, set.headers, reads.tree, treeOf(postId, wish), { session }),
        )
      },
      {
        params: query(() => ({ postId: idOf('t3_', 'postId') })),
        query: query(treeFields),
        detail: {
          ...tree,
          summary: 'A post and its comments, by another path',
          operationId: 'commentsOfPost',
        },
      },
    )
    .get(
      '/comment/:id',
      async ({ holder, params: { id }, query: { replies }, set }) =>
        answerShared(holder, set.headers, reads.comment, { id, replies }),
      {
        params: query(() => ({ id: idOf('t1_', 'id') })),
        query: query(() => ({ replies: flag('replies', false) })),
        detail: {
          summary: 'One comment, as the platform gives it',
          description: 'replies=true fills data.replies from the tree.',
          tags: ['Comments'],
          operationId: 'commentById',
          ...answers(() => shapes().comment),
        },
      },
    )
    .post(
      '/comments/verify',
      async ({ holder, body: { ids }, set }) =>
        answer(holder, set.headers, () => reads.verify(ids), { flavour: 'verify' }),
      {
        body: verifyBody,
        detail: {
          summary: 'Which comments are still there',
          description: 'An entry for each id, in the order asked, repeats included.',
          tags: ['Comments'],
          operationId: 'verifyComments',
          ...answers(() => shapes().verified),
        },
      },
    )
}
