import { Elysia } from 'elysia'
import * as z from 'zod'

import { ApiError } from '../../core/base/errors.ts'
import { spanOf, writeInboxCursor } from '../../core/inbox/filter.ts'
import type { Db } from '../../store/db/connection.ts'
import { findInbox, listInboxIds } from '../../store/inbox/list.ts'
import type { RouteContext } from '../context.ts'
import { limit, querySchema } from '../http/fields.ts'
import { inboxPaths } from '../http/routes.ts'
import { answers, refuses } from '../openapi/route-docs.ts'
import { INBOX_EXAMPLES } from './examples.ts'
import { filterQuery, inboxCursor, toFilter } from './fields.ts'
import { readItem } from './rows.ts'
import { inboxIdsShape, inboxWholeShape } from './shapes.ts'

const idSentence = 'id must be the id of an item of the inbox, 1 to 64 characters'

const itemQuery = querySchema(() => ({
  id: z
    .string({ error: ({ input }) => (input === undefined ? 'id is required' : idSentence) })
    .min(1, idSentence)
    .max(64, idSentence)
    .meta({ description: 'Id of an item of the inbox.' }),
}))

const IDS_MAX = 5000
const IDS = 1000
/** Rows of an index that one page of ids examines for rare conditions. */
const EXAMINED_MAX = 20_000

const idsQuery = querySchema(() => ({
  ...filterQuery(),
  cursor: inboxCursor(),
  limit: limit(IDS_MAX, IDS),
}))

/** One item of the inbox with its whole text, and the ids of a list. */
export const inboxItem = (context: RouteContext, db: Db) =>
  group(inboxPaths(context.words)[0], context, db)

/** A position after every row. */
const START = { matched_at: Number.MAX_SAFE_INTEGER, row: Number.MAX_SAFE_INTEGER }

const group = (prefix: string, { keyed, words }: RouteContext, db: Db) =>
  new Elysia({ name: `inbox item ${prefix}`, prefix })
    .use(keyed)
    .get(
      '/ids',
      ({ customer, query: { cursor, limit: rows, ...given } }) => {
        const filter = toFilter(given)
        const span = spanOf(filter, cursor ?? null)
        const query = {
          customer_id: customer.id,
          filter,
          span,
          limit: rows,
          examined: EXAMINED_MAX,
        }
        const found = listInboxIds(db, query)
        const last = found.rows.length === rows ? found.rows.at(-1) : undefined
        const next = last ?? found.examined_to
        return {
          ids: found.rows.map(({ item_id }) => item_id),
          next_cursor: next === null ? null : writeInboxCursor(next),
        }
      },
      {
        query: idsQuery,
        detail: {
          summary:
            'Ids of the matches of a filter, newest first, for a list that shows a part of them',
          tags: ['Inbox'],
          operationId: 'inboxIds',
          ...answers(inboxIdsShape, INBOX_EXAMPLES.ids),
        },
      },
    )
    .get(
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
