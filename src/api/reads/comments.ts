import { Elysia } from 'elysia'
import * as z from 'zod'

import { once } from '../../core/base/lazy.ts'
import type { Reads, TreeRead } from '../../gateway/reads.ts'
import {
  bodySchema,
  maybeInteger,
  oneOf,
  queryFlag,
  querySchema,
  required,
} from '../http/fields.ts'
import { mapOnce } from '../http/response.ts'
import { answers } from '../openapi/route-docs.ts'
import type { ReadContext, RowMapper } from './context.ts'
import { idOf, ofPost, TREE_SORTS } from './params.ts'

const PERMALINK_MAX = 2048
const IDS_MAX = 100
const ID_LENGTH_MAX = 64
const DEPTH = { min: 1, max: 10 }
const LIMIT = { min: 1, max: 500 }

const treeFields = once(() => ({
  sort: oneOf('sort', TREE_SORTS, 'confidence'),
  depth: maybeInteger('depth', DEPTH),
  limit: maybeInteger('limit', LIMIT),
}))
type TreeQuery = { sort: string; depth?: number | undefined; limit?: number | undefined }

const IDS_SENTENCE = `ids must be a list of 1 to ${IDS_MAX} comment ids, each a text of at most ${ID_LENGTH_MAX} characters`
const verifyBody = bodySchema(() => ({
  ids: z
    .array(z.string({ error: IDS_SENTENCE }).max(ID_LENGTH_MAX, IDS_SENTENCE), {
      error: ({ input }) => (input === undefined ? 'ids is required' : IDS_SENTENCE),
    })
    .min(1, IDS_SENTENCE)
    .max(IDS_MAX, IDS_SENTENCE),
}))

const treeOf = (post_id: string, { sort, depth, limit }: TreeQuery): TreeRead => ({
  post_id,
  comment_id: null,
  sort,
  depth: depth ?? null,
  limit: limit ?? null,
  full: false,
})

/** Post in the wire's words; the nodes stay as the platform sent them. */
const mapTree = <T extends { post: Parameters<RowMapper['post']>[0] }>(
  rows: RowMapper,
  body: T,
): T => mapOnce(body, (it) => ({ ...it, post: rows.post(it.post) }))

export function commentReads(context: ReadContext, reads: Reads) {
  const { words, keyed, optional_session, answer, answerShared, rows, shapes } = context
  const permalink = () =>
    required('permalink', { max: PERMALINK_MAX }).transform((text, refinement) => {
      const place = text === '' ? null : reads.place(text)
      if (place !== null) return place
      refinement.addIssue(
        "permalink must be a post's path such as /r/name/comments/abc123/title/, or its address on the platform",
      )
      return z.NEVER
    })
  const tree = {
    tags: ['Comments'],
    description:
      'Nodes are as the platform gives them. meta.more_count is the number of comments behind the more nodes left in the tree, at least one each; depth and limit are upper bounds.',
    ...answers(() => shapes().tree),
  }
  return new Elysia({ name: `reads.comments ${words.api}`, prefix: words.api })
    .use(keyed)
    .use(optional_session)
    .get(
      '/comments',
      async ({ holder, session, query: { permalink: place, ...tree_query }, set }) => {
        // A requested depth or limit means that the rest is not wanted.
        const full = tree_query.depth === undefined && tree_query.limit === undefined
        const wanted = { ...treeOf(place.post_id, tree_query), comment_id: place.comment_id, full }
        return mapTree(
          rows,
          await answerShared(holder, set.headers, reads.tree, wanted, { session, thing: 'post' }),
        )
      },
      {
        query: querySchema(() => ({ permalink: permalink(), ...treeFields() })),
        detail: {
          ...tree,
          summary: 'The full comment tree of a post',
          operationId: 'comments',
        },
      },
    )
    .get(
      '/post/:id/comments',
      async ({ holder, session, params: { id }, query: tree_query, set }) => {
        return mapTree(
          rows,
          await answerShared(holder, set.headers, reads.tree, treeOf(id, tree_query), {
            session,
            thing: 'post',
          }),
        )
      },
      {
        params: ofPost,
        query: querySchema(treeFields),
        detail: {
          ...tree,
          summary: 'A post and its comments',
          operationId: 'postComments',
        },
      },
    )
    .get(
      '/comments/:postId',
      async ({ holder, session, params: { postId }, query: tree_query, set }) => {
        return mapTree(
          rows,
          await answerShared(holder, set.headers, reads.tree, treeOf(postId, tree_query), {
            session,
            thing: 'post',
          }),
        )
      },
      {
        params: querySchema(() => ({ postId: idOf('t3_', 'postId') })),
        query: querySchema(treeFields),
        detail: {
          ...tree,
          summary: 'A post and its comments, by an alternative path',
          operationId: 'commentsOfPost',
        },
      },
    )
    .get(
      '/comment/:id',
      async ({ holder, params: { id }, query: { replies }, set }) =>
        answerShared(holder, set.headers, reads.comment, { id, replies }, { thing: 'comment' }),
      {
        params: querySchema(() => ({ id: idOf('t1_', 'id') })),
        query: querySchema(() => ({ replies: queryFlag('replies', words.renamed) })),
        detail: {
          summary: 'One comment, as sent by the platform',
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
          summary: 'Check if comments still exist',
          description: 'One entry per id, in the order of the request, including repeats.',
          tags: ['Comments'],
          operationId: 'verifyComments',
          ...answers(() => shapes().verified),
        },
      },
    )
}
