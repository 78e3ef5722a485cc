import { Elysia } from 'elysia'
import * as z from 'zod'

import type { Reads } from '../../gateway/read.ts'
import { query } from '../fields.ts'
import type { Infra } from '../infra.ts'
import { answers } from '../openapi.ts'
import { createAnswer, createRows } from './answer.ts'
import { paged, subforumName } from './params.ts'
import { createShapes } from './shapes.ts'

const params = z.object({ name: subforumName('name') })

/** Subforums: what they are, and what is being said in them. */
export function communities({ words, keyed, meter }: Infra, reads: Reads) {
  const answer = createAnswer(meter)
  const rows = createRows(words)
  const shapes = createShapes(words)
  return new Elysia({ name: 'reads.communities', prefix: `${words.api}/sub` })
    .use(keyed)
    .get(
      '/:name/about',
      async ({ holder, params: { name }, set }) =>
        answer(holder, set.headers, () => reads.subforum({ name })),
      {
        params,
        detail: {
          summary: `What a ${words.community} says of itself`,
          tags: ['Communities'],
          operationId: 'subAbout',
          ...answers(() => shapes().community),
        },
      },
    )
    .get(
      '/:name/comments',
      async ({ holder, params: { name: subforum }, query: { limit, after }, set }) => {
        const wanted = { subforum, limit, after }
        return rows.comments(
          await answer(holder, set.headers, () => reads.subforumComments(wanted)),
        )
      },
      {
        params,
        query: query(paged),
        detail: {
          summary: `The newest comments of a ${words.community}`,
          tags: ['Communities'],
          operationId: 'subComments',
          ...answers(() => shapes().comments),
        },
      },
    )
}
