import { Elysia } from 'elysia'

import type { VisibilityReason } from '../../core/forum/items.ts'
import { toWire } from '../../core/forum/naming.ts'
import type { Reads } from '../../gateway/reads.ts'
import { oneOf, querySchema } from '../http/fields.ts'
import { answers } from '../openapi/route-docs.ts'
import type { ReadContext } from './context.ts'
import { fromWire, fullnames, ofPost, paged, timeOf, TIMES } from './params.ts'

const SORTS = ['new', 'hot', 'top', 'rising', 'controversial', 'best'] as const

/** Reasons why a post is invisible to others, or why that is undecidable. */
const VISIBILITY: Record<VisibilityReason, string> = {
  absent:
    'the platform does not show the post: it does not exist, or the pool has no access to its place',
  deleted: 'its author deleted the post',
  removed: 'moderators or the platform removed the post',
  seen_by_moderator:
    'the account that read the post is a moderator of its place, and sees removed posts',
}

export function postReads(context: ReadContext, reads: Reads) {
  const { names, of_subforum, words, keyed, optional_session, answer, answerShared, rows, shapes } =
    context
  const postsQuery = querySchema(() =>
    toWire(words, {
      subforum: names.subforum(words.community),
      sort: oneOf('sort', SORTS, 'new'),
      t: oneOf('t', TIMES, 'day'),
      ...paged('t3'),
    }),
  )
  return new Elysia({ name: `reads.posts ${words.api}`, prefix: words.api })
    .use(keyed)
    .use(optional_session)
    .get(
      '/posts',
      async ({ holder, session, query: input, set }) => {
        const { subforum, sort, t, limit, after } = fromWire(words, input)
        const wanted = { subforum, sort, t: timeOf(sort, t), limit, after }
        return rows.posts(await answerShared(holder, set.headers, reads.posts, wanted, { session }))
      },
      {
        query: postsQuery,
        detail: {
          summary: `Posts of a ${words.community}`,
          tags: ['Reads'],
          operationId: 'posts',
          ...answers(() => shapes().posts),
        },
      },
    )
    .get(
      '/sub/:name/top',
      async ({ holder, session, params: { name }, query: { t, limit, after }, set }) => {
        const wanted = { subforum: name, sort: 'top', t, limit, after }
        return rows.posts(await answerShared(holder, set.headers, reads.posts, wanted, { session }))
      },
      {
        params: of_subforum,
        query: querySchema(() => ({ t: oneOf('t', TIMES, 'week'), ...paged('t3') })),
        detail: {
          summary: `The best posts of a ${words.community}`,
          tags: ['Reads'],
          operationId: 'subTop',
          ...answers(() => shapes().posts),
        },
      },
    )
    .get(
      '/post/:id',
      async ({ holder, params: { id }, set }) =>
        rows.post(await answerShared(holder, set.headers, reads.post, { id }, { thing: 'post' })),
      {
        params: ofPost,
        detail: {
          summary: 'One post',
          tags: ['Reads'],
          operationId: 'post',
          ...answers(() => shapes().post),
        },
      },
    )
    .get(
      '/post/:id/visibility',
      async ({ holder, params: { id }, set }) => {
        const work = () => reads.visibility(id)
        const { reason, ...rest } = await answer(holder, set.headers, work, { thing: 'post' })
        return { ...rest, reason: reason === null ? null : VISIBILITY[reason], reason_code: reason }
      },
      {
        params: ofPost,
        detail: {
          summary: 'Visibility of a post to others',
          description: 'confident is false if the platform gives no definite answer.',
          tags: ['Reads'],
          operationId: 'postVisibility',
          ...answers(() => shapes().visibility),
        },
      },
    )
    .get(
      '/by_id/:fullnames',
      async ({ holder, params: { fullnames: ids }, set }) =>
        rows.posts(await answerShared(holder, set.headers, reads.byId, { ids })),
      {
        params: querySchema(() => ({ fullnames: fullnames() })),
        detail: {
          summary: 'Posts by their ids',
          description:
            'In the order asked, each once; those the platform does not show are listed as missing.',
          tags: ['Reads'],
          operationId: 'byId',
          ...answers(() => shapes().byId),
        },
      },
    )
}
