import { Elysia } from 'elysia'
import * as z from 'zod'

import { worded } from '../../core/wire.ts'
import type { Reads } from '../../gateway/read.ts'
import { oneOf, query } from '../fields.ts'
import type { Infra } from '../infra.ts'
import { answers } from '../openapi.ts'
import { createAnswer, createRows } from './answer.ts'
import { idOf, paged, plain, subforumName, timeOf, TIMES } from './params.ts'
import { createShapes } from './shapes.ts'

const SORTS = ['new', 'hot', 'top', 'rising', 'controversial', 'best'] as const

/** Posts of a subforum, its best ones, and one post by its id. */
export function posts({ words, keyed, meter }: Infra, reads: Reads) {
  const answer = createAnswer(meter)
  const rows = createRows(words)
  const shapes = createShapes(words)
  const postsQuery = query(
    worded(words, {
      subforum: subforumName(words.community),
      sort: oneOf('sort', SORTS, 'new'),
      t: oneOf('t', TIMES, 'day'),
      ...paged,
    }),
  )
  return new Elysia({ name: 'reads.posts', prefix: words.api })
    .use(keyed)
    .get(
      '/posts',
      async ({ holder, query: asked, set }) => {
        const { subforum, sort, t, limit, after } = plain(words, asked)
        const wanted = { subforum, sort, t: timeOf(sort, t), limit, after }
        return rows.posts(await answer(holder, set.headers, () => reads.posts(wanted)))
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
      async ({ holder, params: { name }, query: { t, limit, after }, set }) => {
        const wanted = { subforum: name, sort: 'top', t, limit, after }
        return rows.posts(await answer(holder, set.headers, () => reads.posts(wanted)))
      },
      {
        params: z.object({ name: subforumName('name') }),
        query: query({ t: oneOf('t', TIMES, 'week'), ...paged }),
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
        rows.post(await answer(holder, set.headers, () => reads.post({ id }))),
      {
        params: z.object({ id: idOf('t3_', 'id') }),
        detail: {
          summary: 'One post',
          tags: ['Reads'],
          operationId: 'post',
          ...answers(() => shapes().post),
        },
      },
    )
}
