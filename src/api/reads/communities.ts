import { Elysia } from 'elysia'

import type { Reads } from '../../gateway/reads.ts'
import { query } from '../fields.ts'
import { answers } from '../openapi.ts'
import type { Desk } from './desk.ts'
import { ofSubforum, paged, subforumName, wikiPage } from './params.ts'

/** Subforums: what they are, and what is being said in them. */
export function communities(desk: Desk, reads: Reads) {
  const { words, keyed, visiting, answerShared, rows, shapes } = desk
  return new Elysia({ name: 'reads.communities', prefix: `${words.api}/sub` })
    .use(keyed)
    .use(visiting)
    .get(
      '/:name/about',
      async ({ holder, params: { name }, set }) =>
        answerShared(holder, set.headers, reads.subforum, { name }),
      {
        params: ofSubforum,
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
      async ({ holder, session, params: { name: subforum }, query: { limit, after }, set }) => {
        return rows.comments(
          await answerShared(
            holder,
            set.headers,
            reads.subforumComments,
            { subforum, limit, after },
            { session },
          ),
        )
      },
      {
        params: ofSubforum,
        query: query(() => paged('t1')),
        detail: {
          summary: `The newest comments of a ${words.community}`,
          tags: ['Communities'],
          operationId: 'subComments',
          ...answers(() => shapes().comments),
        },
      },
    )
    .get(
      '/:name/rules',
      async ({ holder, params: { name }, set }) =>
        answerShared(holder, set.headers, reads.rules, { name }),
      {
        params: ofSubforum,
        detail: {
          summary: `The rules of a ${words.community}`,
          tags: ['Communities'],
          operationId: 'subRules',
          ...answers(() => shapes().rules),
        },
      },
    )
    .get(
      '/:name/wiki/:page',
      async ({ holder, params: { name: subforum, page }, set }) =>
        answerShared(holder, set.headers, reads.wiki, { subforum, page }),
      {
        params: query(() => ({ name: subforumName('name'), page: wikiPage() })),
        detail: {
          summary: `A wiki page of a ${words.community}`,
          description: 'A page of a page is named with %2F between them.',
          tags: ['Communities'],
          operationId: 'subWiki',
          ...answers(() => shapes().wiki),
        },
      },
    )
}

const WHICH = ['popular', 'new', 'default'] as const

/** The platform's own lists of subforums. */
export function directories(desk: Desk, reads: Reads) {
  const { words, keyed, visiting, answerShared, rows, shapes } = desk
  const app = new Elysia({ name: 'reads.directories', prefix: words.api }).use(keyed).use(visiting)
  // A route each: a list of another name is no route at all.
  for (const which of WHICH)
    app.get(
      `/${words.communities}/${which}`,
      async ({ holder, query: { limit, after }, set }) => {
        return rows.row(
          await answerShared(holder, set.headers, reads.subforums, { which, limit, after }),
        )
      },
      {
        query: query(() => paged()),
        detail: {
          summary: `The platform's list of ${which} ${words.communities}`,
          tags: ['Communities'],
          operationId: `${which}Directory`,
          ...answers(() => shapes().directory),
        },
      },
    )
  return app
}
