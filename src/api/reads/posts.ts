import { Elysia } from 'elysia'

import { worded } from '../../core/wire.ts'
import type { Reads } from '../../gateway/reads.ts'
import { oneOf, query } from '../fields.ts'
import { answers } from '../openapi.ts'
import type { Desk } from './desk.ts'
import {
  fullnames,
  ofPost,
  ofSubforum,
  paged,
  plain,
  subforumName,
  timeOf,
  TIMES,
} from './params.ts'

const SORTS = ['new', 'hot', 'top', 'rising', 'controversial', 'best'] as const

/** Posts of a subforum, its best ones, and one post by its id. */
export function posts(desk: Desk, reads: Reads) {
  const { words, keyed, visiting, answer, answerShared, rows, shapes } = desk
  const postsQuery = query(() =>
    worded(words, {
      subforum: subforumName(words.community),
      sort: oneOf('sort', SORTS, 'new'),
      t: oneOf('t', TIMES, 'day'),
      ...paged('t3'),
    }),
  )
  return new Elysia({ name: 'reads.posts', prefix: words.api })
    .use(keyed)
    .use(visiting)
    .get(
      '/posts',
      async ({ holder, session, query: asked, set }) => {
        const { subforum, sort, t, limit, after } = plain(words, asked)
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
        params: ofSubforum,
        query: query(() => ({ t: oneOf('t', TIMES, 'week'), ...paged('t3') })),
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
        rows.post(await answerShared(holder, set.headers, reads.post, { id })),
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
      async ({ holder, params: { id }, set }) =>
        answer(holder, set.headers, () => reads.visibility(id)),
      {
        params: ofPost,
        detail: {
          summary: 'Whether others see a post',
          description: 'confident is false where the platform leaves room for doubt.',
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
        params: query(() => ({ fullnames: fullnames() })),
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
