import { Elysia } from 'elysia'

import type { Reads } from '../../gateway/reads.ts'
import { querySchema } from '../http/fields.ts'
import { answers } from '../openapi/route-docs.ts'
import type { ReadContext } from './context.ts'
import { paged, wikiPage } from './params.ts'

/** Subforums: their description, rules, wiki and newest comments. */
export function communityReads(context: ReadContext, reads: Reads) {
  const { names, of_subforum, words, keyed, optional_session, answerShared, rows, shapes } = context
  return new Elysia({ name: `reads.communities ${words.api}`, prefix: `${words.api}/sub` })
    .use(keyed)
    .use(optional_session)
    .get(
      '/:name/about',
      async ({ holder, params: { name }, set }) =>
        answerShared(holder, set.headers, reads.subforum, { name }),
      {
        params: of_subforum,
        detail: {
          summary: `Description of a ${words.community}`,
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
        params: of_subforum,
        query: querySchema(() => paged('t1')),
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
        params: of_subforum,
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
        params: querySchema(() => ({ name: names.subforum('name'), page: wikiPage() })),
        detail: {
          summary: `A wiki page of a ${words.community}`,
          description: 'The name of a subpage contains %2F.',
          tags: ['Communities'],
          operationId: 'subWiki',
          ...answers(() => shapes().wiki),
        },
      },
    )
}

const WHICH = ['popular', 'new', 'default'] as const

export function directoryReads(context: ReadContext, reads: Reads) {
  const { words, keyed, optional_session, answerShared, rows, shapes } = context
  const app = new Elysia({ name: `reads.directories ${words.api}`, prefix: words.api })
    .use(keyed)
    .use(optional_session)
  // One route each, so that an unknown name is a 404.
  for (const which of WHICH)
    app.get(
      `/${words.communities}/${which}`,
      async ({ holder, query: { limit, after }, set }) => {
        return rows.row(
          await answerShared(holder, set.headers, reads.subforums, { which, limit, after }),
        )
      },
      {
        query: querySchema(() => paged()),
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
