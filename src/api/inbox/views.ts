import { Elysia } from 'elysia'
import * as z from 'zod'

import { ApiError, invalid } from '../../core/base/errors.ts'
import { iso } from '../../core/base/time.ts'
import type { Db } from '../../store/db/connection.ts'
import {
  deleteInboxView,
  type InboxView,
  listInboxViews,
  saveInboxView,
  type ViewRefusal,
  VIEWS_MAX,
} from '../../store/inbox/views.ts'
import type { RouteContext } from '../context.ts'
import { bodySchema } from '../http/fields.ts'
import { inboxPaths } from '../http/routes.ts'
import { answers, refuses } from '../openapi/route-docs.ts'
import { INBOX_BODIES, INBOX_EXAMPLES } from './examples.ts'
import { filterBody, toFilter } from './fields.ts'
import { inboxViewShape, inboxViewsShape } from './shapes.ts'

const NAME_MAX = 64
const nameSentence = `name must be text of 1 to ${NAME_MAX} characters`
const idSentence = 'id must be the id of a saved view'

const viewId = () =>
  z
    .string({ error: ({ input }) => (input === undefined ? 'id is required' : idSentence) })
    .max(64, idSentence)

const saveBody = bodySchema(
  () => ({
    id: viewId().optional().meta({ description: 'View to change; absent: a new one.' }),
    name: z
      .string({ error: nameSentence })
      .trim()
      .min(1, nameSentence)
      .max(NAME_MAX, nameSentence)
      .optional(),
    filter: filterBody(true).optional(),
  }),
  INBOX_BODIES.view_save,
)
const deleteBody = bodySchema(() => ({ id: viewId() }), INBOX_BODIES.view_delete)

/** Saved views of the inbox. */
export const inboxViews = (context: RouteContext, db: Db) =>
  group(inboxPaths(context.words)[0], context, db)

const tags = ['Inbox']

const group = (prefix: string, { keyed, clock, random }: RouteContext, db: Db) =>
  new Elysia({ name: `inbox views ${prefix}`, prefix })
    .use(keyed)
    .get(
      '/views',
      ({ customer }) => ({
        views: listInboxViews(db, customer.id).map(toView),
        limit: VIEWS_MAX,
      }),
      {
        detail: {
          summary: 'Saved views of the inbox, by name',
          tags,
          operationId: 'inboxViews',
          ...answers(inboxViewsShape, INBOX_EXAMPLES.views),
        },
      },
    )
    .post(
      '/views/save',
      ({ customer, holder: { key }, body: { id, name, filter } }) => {
        if (id === undefined && name === undefined) throw invalid('name', 'name is required')
        if (id === undefined && filter === undefined) throw invalid('filter', 'filter is required')
        // Its times are checked as the list checks them.
        if (filter !== undefined) toFilter(filter)
        const saved = saveInboxView(
          db,
          { customer_id: customer.id, key_id: key.id, now: clock.now() },
          {
            id: id ?? `inv_${random.uuid()}`,
            is_new: id === undefined,
            name: name ?? null,
            filter: filter === undefined ? null : JSON.stringify(filter),
          },
        )
        if (typeof saved === 'string') throw notSaved(saved)
        return toView(saved)
      },
      {
        body: saveBody,
        detail: {
          summary: 'Create, rename or change a saved view of the inbox',
          description: `At most ${VIEWS_MAX} a customer; names are unique, in any case.`,
          tags,
          operationId: 'inboxViewSave',
          ...answers(inboxViewShape, INBOX_EXAMPLES.view),
          ...refuses('NOT_FOUND'),
        },
      },
    )
    .post(
      '/views/delete',
      ({ customer, body: { id } }) => {
        if (!deleteInboxView(db, customer.id, id)) throw notSaved('unknown')
        return { deleted: true, id }
      },
      {
        body: deleteBody,
        detail: {
          summary: 'Delete a saved view of the inbox',
          tags,
          operationId: 'inboxViewDelete',
          ...answers(
            () => z.object({ deleted: z.boolean(), id: z.string() }),
            INBOX_EXAMPLES.view_deleted,
          ),
          ...refuses('NOT_FOUND'),
        },
      },
    )

function notSaved(refusal: ViewRefusal): ApiError {
  if (refusal === 'unknown')
    return new ApiError('NOT_FOUND', { message: 'there is no such saved view' })
  return invalid(
    'name',
    refusal === 'name_taken'
      ? 'name: another saved view has this name'
      : `name: there are ${VIEWS_MAX} saved views, which is the limit; delete one first`,
  )
}

const filterShape = z.looseObject({})

const toView = ({ id, name, filter, key_id, key_name, ...times }: InboxView) => ({
  id,
  name,
  filter: filterShape.parse(JSON.parse(filter)),
  created_at: iso(times.created_at),
  updated_at: iso(times.updated_at),
  by: { key_id, name: key_name },
})
