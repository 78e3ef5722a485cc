import { Elysia } from 'elysia'
import * as z from 'zod'

import { ApiError, invalid } from '../../core/base/errors.ts'
import { iso } from '../../core/base/time.ts'
import { wireName } from '../../core/filter/fields.ts'
import type { Naming } from '../../core/forum/naming.ts'
import { spanOf, writeInboxCursor } from '../../core/inbox/filter.ts'
import type { Customer } from '../../store/customers/customers.ts'
import type { Db } from '../../store/db/connection.ts'
import {
  changeInbox,
  type InboxAction,
  type InboxActor,
  type InboxMute,
  listInboxActions,
  UNDO_MS,
  undoInbox,
  type UndoRefusal,
} from '../../store/inbox/actions.ts'
import { countFiltered, countInbox, listLabels } from '../../store/inbox/counts.ts'
import { findInbox, listInbox, listInboxIds } from '../../store/inbox/list.ts'
import type { RouteContext } from '../context.ts'
import {
  bodySchema,
  limit,
  optionalText,
  querySchema,
  required,
  type SchemaOutput,
} from '../http/fields.ts'
import { inboxPaths } from '../http/routes.ts'
import type { MonitorDeps } from '../monitors/edit.ts'
import { answers, refuses } from '../openapi/route-docs.ts'
import {
  CHANGED_IDS_MAX,
  changeFields,
  filterBody,
  filterQuery,
  IDS_MAX,
  idsBody,
  idsQuery,
  inboxCursor,
  isEmptyFilter,
  listFilterQuery,
  toFilter,
} from './fields.ts'
import { undoMute } from './mute.ts'
import { actorOf, readItem, readPage, requireItem } from './rows.ts'
import {
  inboxChangedShape,
  inboxCountsShape,
  inboxHistoryShape,
  inboxIdsShape,
  inboxPageShape,
  inboxUndoneShape,
  inboxWholeShape,
} from './shapes.ts'

const PAGE_MAX = 100
const PAGE = 50
const EXAMINED_MAX = 20_000
const SEARCHED_MAX = 400
const LISTED_IDS_MAX = 5000
const LISTED_IDS = 1000

const listQuery = querySchema(() => ({
  ...listFilterQuery(),
  ids: idsQuery(),
  cursor: inboxCursor(),
  limit: limit(PAGE_MAX, PAGE),
}))
const countsQuery = querySchema(filterQuery)
const itemQuery = querySchema(() => ({
  id: required('id', { max: 64 }).describe('Id of an item of the inbox.'),
}))
const listIdsQuery = querySchema(() => ({
  ...filterQuery(),
  cursor: inboxCursor(),
  limit: limit(LISTED_IDS_MAX, LISTED_IDS),
}))
const updateBody = bodySchema(() => ({
  ids: idsBody(),
  filter: filterBody().optional(),
  cursor: inboxCursor(),
  set: changeFields(),
}))
const undoBody = bodySchema(() => ({
  action_id: z
    .string({
      error: ({ input }) =>
        input === undefined ? 'action_id is required' : 'action_id must be text',
    })
    .max(64, 'action_id must be the id of an action of the history'),
}))
const historyQuery = querySchema(() => ({
  key_id: optionalText('key_id', { max: 64 }).describe('Only changes by this key.'),
  cursor: z
    .string({ error: 'cursor must be the next_cursor of an earlier page' })
    .regex(/^\d{1,15}$/, 'cursor must be the next_cursor of an earlier page')
    .transform(Number)
    .optional()
    .meta({ type: 'string' }),
  limit: limit(PAGE_MAX, PAGE),
}))

const tags = ['Inbox']

export function inbox(context: RouteContext, deps: MonitorDeps) {
  const { keyed, words, clock } = context
  const { db } = deps
  return new Elysia({ name: 'inbox', prefix: inboxPaths(words)[0] })
    .use(keyed)
    .get('', ({ customer, query }) => list(db, customer.id, query, words), {
      query: listQuery,
      detail: {
        summary: 'Matches of all monitors as an inbox, newest first',
        description:
          'Each item once, with the monitors that matched it. Grouped matches appear when their bundle is sent; withheld ones do not.',
        tags,
        operationId: 'inboxList',
        ...answers(inboxPageShape),
      },
    })
    .get('/ids', ({ customer, query }) => listIds(db, customer.id, query, words), {
      query: listIdsQuery,
      detail: {
        summary:
          'Ids of the matches of a filter, newest first, for a list that shows a part of them',
        tags,
        operationId: 'inboxIds',
        ...answers(inboxIdsShape),
      },
    })
    .get(
      '/item',
      ({ customer, query: { id } }) => readItem(db, requireItem(db, customer.id, id), words),
      {
        query: itemQuery,
        detail: {
          summary: 'An item of the inbox with its whole text, as it was delivered',
          tags,
          operationId: 'inboxItem',
          ...answers(inboxWholeShape),
          ...refuses('NOT_FOUND'),
        },
      },
    )
    .get('/counts', ({ customer, query }) => counts(db, customer.id, query, words), {
      query: countsQuery,
      detail: {
        summary: 'Numbers of items in the inbox by state',
        tags,
        operationId: 'inboxCounts',
        ...answers(inboxCountsShape),
      },
    })
    .post(
      '/update',
      ({ customer, holder: { key }, body }) =>
        update(db, actorOf(context, customer.id, key.id), body, words),
      {
        body: updateBody,
        detail: {
          summary: 'Change state, star or label of items, all or none',
          description: `Up to ${CHANGED_IDS_MAX} items by ids, or those of a filter.`,
          tags,
          operationId: 'inboxUpdate',
          ...answers(inboxChangedShape),
        },
      },
    )
    .post(
      '/undo',
      ({ customer, holder: { key }, body: { action_id } }) =>
        undo(context, deps, { customer, actor: actorOf(context, customer.id, key.id) }, action_id),
      {
        body: undoBody,
        detail: {
          summary: 'Undo a change of the inbox, within a day',
          tags,
          operationId: 'inboxUndo',
          ...answers(inboxUndoneShape),
          ...refuses('NOT_FOUND'),
        },
      },
    )
    .get(
      '/history',
      ({ customer, query: { key_id = null, cursor, limit: rows } }) => {
        const before = cursor ?? Number.MAX_SAFE_INTEGER
        const wanted = { customer_id: customer.id, key_id, before, limit: rows + 1 }
        const found = listInboxActions(db, wanted)
        const page = found.slice(0, rows)
        const last = found.length > rows ? page.at(-1) : undefined
        const now = clock.now()
        return {
          actions: page.map((it) => toAction(it, now, words)),
          next_cursor: last === undefined ? null : String(last.seq),
        }
      },
      {
        query: historyQuery,
        detail: {
          summary: 'Changes of the inbox with the key of each, newest first',
          tags,
          operationId: 'inboxHistory',
          ...answers(inboxHistoryShape),
        },
      },
    )
}

function list(
  db: Db,
  customer_id: string,
  { ids, cursor, limit: rows, ...given }: SchemaOutput<typeof listQuery>,
  words: Naming,
) {
  const filter = toFilter(given, words)
  const after = cursor ?? null
  if (ids !== undefined && !isEmptyFilter(filter))
    throw invalid('ids', 'ids does not go with the fields of a filter')
  const searches = filter.text !== null
  const wanted = searches ? SEARCHED_MAX : rows + 1
  const span = spanOf(filter, after)
  const found =
    ids === undefined
      ? listInbox(db, { customer_id, filter, span, limit: wanted, examined: EXAMINED_MAX })
      : { rows: findInbox(db, customer_id, ids, span.below), examined_to: null }
  const page_rows = ids === undefined ? rows : IDS_MAX
  const read = readPage(db, { items: found.rows, filter, wanted: page_rows, words })
  const last = found.rows.at(-1) ?? null
  const is_all_read = read.stopped_at === null || read.stopped_at.row === last?.row
  const rest = found.rows.length === wanted && ids === undefined ? last : found.examined_to
  const next = is_all_read ? rest : read.stopped_at
  return {
    items: read.rows,
    next_cursor: next === null ? null : writeInboxCursor(next),
    examined_until: next === null || read.rows.length === rows ? null : iso(next.matched_at),
  }
}

function counts(
  db: Db,
  customer_id: string,
  given: SchemaOutput<typeof countsQuery>,
  words: Naming,
) {
  const filter = toFilter(given, words)
  const { complete, starred, ...states } = isEmptyFilter(filter)
    ? countInbox(db, customer_id)
    : countFiltered(db, customer_id, filter)
  const total = states.unread + states.read + states.answered + states.dismissed
  return { ...states, starred, total, complete, labels: listLabels(db, customer_id) }
}

function listIds(
  db: Db,
  customer_id: string,
  { cursor, limit: rows, ...given }: SchemaOutput<typeof listIdsQuery>,
  words: Naming,
) {
  const filter = toFilter(given, words)
  const span = spanOf(filter, cursor ?? null)
  const query = { customer_id, filter, span, limit: rows, examined: EXAMINED_MAX }
  const found = listInboxIds(db, query)
  const next = (found.rows.length === rows ? found.rows.at(-1) : undefined) ?? found.examined_to
  return {
    ids: found.rows.map(({ item_id }) => item_id),
    next_cursor: next === null ? null : writeInboxCursor(next),
  }
}

function update(
  db: Db,
  actor: InboxActor,
  { ids, filter, cursor, set }: SchemaOutput<typeof updateBody>,
  words: Naming,
) {
  if ((ids === undefined) === (filter === undefined))
    throw invalid('ids', 'exactly one of ids and filter is required')
  if (ids !== undefined && cursor !== undefined)
    throw invalid('cursor', 'cursor goes with filter only')
  const which =
    ids === undefined ? { filter: toFilter(filter ?? {}, words), after: cursor ?? null } : { ids }
  const { rows, unchanged, unknown_ids, next } = changeInbox(db, actor, which, set)
  const changed = rows.length
  return {
    action_id: changed === 0 ? null : actor.id,
    changed,
    unchanged,
    unknown_ids,
    has_more: next !== null,
    next_cursor: next === null ? null : writeInboxCursor(next),
    undo_until: changed === 0 ? null : iso(actor.now + UNDO_MS),
  }
}

async function undo(
  context: RouteContext,
  deps: MonitorDeps,
  acting: { customer: Customer; actor: InboxActor },
  action_id: string,
) {
  const answer = { action_id: acting.actor.id, undone: action_id }
  const undone = undoInbox(deps.db, acting.actor, action_id)
  if (typeof undone === 'string') throw undoRefused(undone)
  if (!('mute' in undone)) return { ...answer, ...undone }
  await undoMute(context, deps, acting, undone.mute, action_id)
  return { ...answer, restored: 1, skipped: 0 }
}

function undoRefused(refusal: UndoRefusal): ApiError {
  if (refusal === 'unknown')
    return new ApiError('NOT_FOUND', { message: 'there is no such action in the history' })
  return invalid(
    'action_id',
    refusal === 'undone'
      ? 'action_id: the action was undone already; undo that undoing to repeat it'
      : 'action_id: the action is more than a day old, and cannot be undone any more',
  )
}

function toAction(action: InboxAction, now: number, words: Naming) {
  const { id, at, key_id, key_name, kind, change, items, sample, undoes, undone_by } = action
  const { mute, ...set }: { mute?: InboxMute } = JSON.parse(change)
  return {
    action_id: id,
    at: iso(at),
    by: { key_id, name: key_name },
    kind,
    set: kind === 'undo' || mute !== undefined ? null : set,
    mute: mute === undefined ? null : { ...mute, field: wireName(mute.field, words) },
    items,
    ids: z.array(z.string()).parse(JSON.parse(sample)),
    undoes,
    undone_by,
    can_undo: action.undoable === 1 && now - at <= UNDO_MS,
  }
}
