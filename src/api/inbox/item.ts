import { Elysia } from 'elysia'
import * as z from 'zod'

import { ApiError } from '../../core/base/errors.ts'
import type { Db } from '../../store/db/connection.ts'
import { findInbox } from '../../store/inbox/list.ts'
import type { RouteContext } from '../context.ts'
import { querySchema } from '../http/fields.ts'
import { atInboxPaths } from '../http/routes.ts'
import { answers, refuses } from '../openapi/route-docs.ts'
import { INBOX_EXAMPLES } from './examples.ts'
import { readItem } from './rows.ts'
import { inboxWholeShape } from './shapes.ts'

const idSentence = 'id must be the id of an item of the inbox, 1 to 64 characters'

const itemQuery = querySchema(() => ({
  id: z
    .string({ error: ({ input }) => (input === undefined ? 'id is required' : idSentence) })
    .min(1, idSentence)
    .max(64, idSentence)
    .meta({ description: 'Id of an item of the inbox.' }),
}))

/** One item of the inbox with its whole text, under both of its paths. */
export const inboxItem = (context: RouteContext, db: Db) =>
  atInboxPaths(context.words, (place) => group(place, context, db))

/** A position after every row. */
const START = { matched_at: Number.MAX_SAFE_INTEGER, row: Number.MAX_SAFE_INTEGER }

const group = (prefix: string, { keyed, words }: RouteContext, db: Db) =>
  new Elysia({ name: `inbox item ${prefix}`, prefix }).use(keyed).get(
    '/item',
    ({ customer, query: { id } }) => {
      const [entry] = findInbox(db, customer.id, [id], START)
      if (entry === undefined)
        throw new ApiError('NOT_FOUND', { message: 'the inbox has no such item' })
      return readItem(db, entry, words.community)
    },
    {
      query: itemQuery,
      detail: {
        summary: 'An item of the inbox with its whole text, as it was delivered',
        tags: ['Inbox'],
        operationId: 'inboxItem',
        ...answers(inboxWholeShape, INBOX_EXAMPLES.item),
        ...refuses('NOT_FOUND'),
      },
    },
  )
