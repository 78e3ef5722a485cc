import { Elysia } from 'elysia'

import type { Reads } from '../../gateway/reads.ts'
import { maybeOneOf, oneOf, querySchema } from '../http/fields.ts'
import { answers } from '../openapi/route-docs.ts'
import type { ReadContext } from './context.ts'
import { paged, timeOf, TIMES } from './params.ts'

const COMMENT_SORTS = ['new', 'top', 'controversial'] as const
const POST_SORTS = ['new', 'hot', 'top', 'controversial'] as const

export function userReads(context: ReadContext, reads: Reads) {
  const { of_user, words, keyed, optional_session, answerShared, rows, shapes } = context
  return new Elysia({ name: `reads.users ${words.api}`, prefix: `${words.api}/user` })
    .use(keyed)
    .use(optional_session)
    .get(
      '/:name',
      async ({ holder, params: { name }, set }) =>
        answerShared(holder, set.headers, reads.user, { name }, { thing: 'user' }),
      {
        params: of_user,
        detail: {
          summary: 'Public profile of a user',
          tags: ['Users'],
          operationId: 'user',
          ...answers(() => shapes().user),
        },
      },
    )
    .get(
      '/:name/comments',
      async ({ holder, params: { name }, query: { sort, t = 'all', limit, after }, set }) => {
        const wanted = { name, sort, t: timeOf(sort, t), limit, after }
        return rows.comments(
          await answerShared(holder, set.headers, reads.userComments, wanted, { thing: 'user' }),
        )
      },
      {
        params: of_user,
        query: querySchema(() => ({
          sort: oneOf('sort', COMMENT_SORTS, 'new'),
          t: maybeOneOf('t', TIMES),
          ...paged('t1'),
        })),
        detail: {
          summary: 'Comments of a user',
          tags: ['Users'],
          operationId: 'userComments',
          ...answers(() => shapes().comments),
        },
      },
    )
    .get(
      '/:name/submitted',
      async ({ holder, params: { name }, query: { sort, t, limit, after }, set }) => {
        const wanted = { name, sort, t: timeOf(sort, t), limit, after }
        return rows.posts(
          await answerShared(holder, set.headers, reads.userPosts, wanted, { thing: 'user' }),
        )
      },
      {
        params: of_user,
        query: querySchema(() => ({
          sort: oneOf('sort', POST_SORTS, 'new'),
          t: oneOf('t', TIMES, 'day'),
          ...paged('t3'),
        })),
        detail: {
          summary: 'Posts of a user',
          tags: ['Users'],
          operationId: 'userSubmitted',
          ...answers(() => shapes().posts),
        },
      },
    )
    .get(
      '/:name/achievements',
      async ({ holder, params: { name }, set }) =>
        answerShared(holder, set.headers, reads.achievements, { name }, { thing: 'user' }),
      {
        params: of_user,
        detail: {
          summary: 'Achievements of a user',
          tags: ['Users'],
          operationId: 'userAchievements',
          ...answers(() => shapes().achievements),
        },
      },
    )
}
