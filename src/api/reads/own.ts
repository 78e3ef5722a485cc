import { Elysia } from 'elysia'

import { OWN_TABS, type OwnTab } from '../../core/forum/listing.ts'
import type { Reads } from '../../gateway/reads.ts'
import { oneOf, querySchema } from '../http/fields.ts'
import { answers } from '../openapi/route-docs.ts'
import type { ReadContext } from './context.ts'
import { paged, timeOf, TIMES } from './params.ts'

const FEED_SORTS = ['best', 'hot', 'new', 'top', 'rising', 'controversial'] as const
const OWN_SORTS = ['new', 'top', 'hot', 'controversial'] as const

const SUMMARIES: Record<OwnTab, string> = {
  upvoted: 'What your own account has voted up',
  saved: 'What your own account has saved',
  hidden: 'What your own account has hidden',
  gilded: 'What of your own account was gilded',
}

const MODERATORS = '/sub/:name/moderators'

export function ownReads(context: ReadContext, reads: Reads) {
  const {
    of_subforum,
    of_user,
    words,
    keyed,
    required_session: owning,
    answer,
    rows,
    shapes,
    source,
  } = context
  const moderators = {
    params: of_subforum,
    detail: {
      summary: `Moderators of a ${words.community}`,
      tags: ['Own account'],
      operationId: 'subModerators',
      ...answers(() => shapes().moderators),
    },
  }
  const app = new Elysia({ name: `reads.own ${words.api}`, prefix: words.api })
    .use(keyed)
    .use(owning)
    .get(
      '/feed',
      async ({ holder, session, query: { sort, t, limit, after }, set }) => {
        const work = () => reads.home({ sort, t: timeOf(sort, t), limit, after }, session)
        return rows.posts(await answer(holder, set.headers, work, { session }))
      },
      {
        query: querySchema(() => ({
          sort: oneOf('sort', FEED_SORTS, 'best'),
          t: oneOf('t', TIMES, 'day'),
          ...paged('t3'),
        })),
        detail: {
          summary: 'Front page of your own account',
          tags: ['Own account'],
          operationId: 'feed',
          ...answers(() => shapes().posts),
        },
      },
    )
  if (source === null)
    app.get(
      MODERATORS,
      async ({ holder, session, params, set }) =>
        answer(holder, set.headers, () => reads.moderators(params, session), { session }),
      moderators,
    )
  for (const tab of OWN_TABS)
    app.get(
      `/user/:name/${tab}`,
      async ({ holder, session, params: { name }, query: { sort, t, limit, after }, set }) => {
        const wanted = { name, tab, sort, t: timeOf(sort, t), limit, after }
        const work = () => reads.ownItems(wanted, session)
        return rows.items(await answer(holder, set.headers, work, { session, flavour: 'own' }))
      },
      {
        params: of_user,
        query: querySchema(() => ({
          sort: oneOf('sort', OWN_SORTS, 'new'),
          t: oneOf('t', TIMES, 'day'),
          ...paged(),
        })),
        detail: {
          summary: SUMMARIES[tab],
          description:
            'name must be the account of the session. Posts and comments in the order of the platform, each with its kind. Query fields that are not listed here are sent to the platform as cookies.',
          tags: ['Own account'],
          operationId: `user${tab.slice(0, 1).toUpperCase()}${tab.slice(1)}`,
          ...answers(() => shapes().items),
        },
      },
    )
  if (source === null) return app
  // A source shows them to every reader.
  const open = new Elysia({ name: `reads.moderators ${words.api}`, prefix: words.api })
    .use(keyed)
    .get(
      MODERATORS,
      async ({ holder, params, set }) =>
        answer(holder, set.headers, () => reads.moderators(params, null)),
      moderators,
    )
  return open.use(app)
}
