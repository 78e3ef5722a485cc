import { Elysia } from 'elysia'
import * as z from 'zod'

import { ApiError, invalid } from '../../core/base/errors.ts'
import { iso } from '../../core/base/time.ts'
import { type FilterSpec, wireName } from '../../core/filter/fields.ts'
import { decodeFilterSpec, parseFilterSpec, renderFilterSpec } from '../../core/filter/parse.ts'
import { TERM_LENGTH_MAX } from '../../core/filter/readers.ts'
import type { Naming } from '../../core/forum/naming.ts'
import { type InboxPosition, NO_FILTER, spanOf } from '../../core/inbox/filter.ts'
import {
  applyEdit,
  itemOfRow,
  type Mute,
  mutedBy,
  type MuteEdit,
  type MuteRefusal,
  MUTES,
  proposeMute,
} from '../../core/inbox/mute.ts'
import { rowsOfBody, type StoredRow, toInboxText } from '../../core/inbox/row.ts'
import type { Customer } from '../../store/customers/customers.ts'
import type { Db } from '../../store/db/connection.ts'
import { readMessage } from '../../store/delivery/messages.ts'
import { type InboxActor, type InboxMute, recordMute, UNDO_MS } from '../../store/inbox/actions.ts'
import { listInboxMatches, listMonitorMatches, type MonitorMatch } from '../../store/inbox/list.ts'
import { findMonitor, type Monitor } from '../../store/monitoring/monitors.ts'
import type { RouteContext } from '../context.ts'
import { bodySchema, type SchemaOutput } from '../http/fields.ts'
import { inboxPaths } from '../http/routes.ts'
import { editMonitor, type MonitorDeps } from '../monitors/edit.ts'
import { answers, refuses } from '../openapi/route-docs.ts'
import { itemIdBody } from './fields.ts'
import { actorOf, createBodies, requireItem } from './rows.ts'
import { inboxMuteShape } from './shapes.ts'

const DAY_MS = 86_400_000
const DAYS = 30
/** Matches of a monitor that are evaluated. */
const EXAMINED_MAX = 5000
const BYTES_MAX = 32_000_000
/** Matches that are evaluated before other work runs, which takes milliseconds. */
const SLICE = 50
const SLICE_BYTES = 500_000
const SAMPLES = 5

const phraseSentence = `phrase must be text of 1 to ${TERM_LENGTH_MAX} characters`
const muteBody = bodySchema(() => ({
  id: itemIdBody(),
  mute: z.enum(MUTES, { error: `mute must be one of ${MUTES.join(', ')}` }),
  phrase: z
    .string({ error: phraseSentence })
    .trim()
    .min(1, phraseSentence)
    .max(TERM_LENGTH_MAX, phraseSentence)
    .optional()
    .describe('Words to exclude, with mute phrase only.'),
  monitor_id: z
    .string({ error: 'monitor_id must be text' })
    .max(64, 'monitor_id must be the id of a monitor')
    .optional()
    .describe('Monitor to edit; required if several matched the item.'),
  apply: z
    .boolean({ error: 'apply must be true or false' })
    .default(false)
    .describe('true: change the filter; false: only show the edit and its effect.'),
}))

export const inboxMute = (context: RouteContext, deps: MonitorDeps) =>
  new Elysia({ name: 'inbox mute', prefix: inboxPaths(context.words)[0] })
    .use(context.keyed)
    .post(
      '/mute',
      ({ customer, holder: { key }, body }) =>
        muteMatch(context, deps, { customer, actor: actorOf(context, customer.id, key.id) }, body),
      {
        body: muteBody,
        detail: {
          summary: 'Mute an author, a place or a phrase by an edit of a monitor',
          description: `Without apply nothing changes: the answer shows the edit and its effect. effect counts the matches of the last ${DAYS} days that the edited filter would not have matched, among the newest ${EXAMINED_MAX}.`,
          tags: ['Inbox'],
          operationId: 'inboxMute',
          ...answers(inboxMuteShape),
          ...refuses('NOT_FOUND'),
        },
      },
    )

type Acting = { customer: Customer; actor: InboxActor }

async function muteMatch(
  context: RouteContext,
  deps: MonitorDeps,
  { customer, actor }: Acting,
  { id, mute, phrase, monitor_id, apply }: SchemaOutput<typeof muteBody>,
) {
  const { words, clock } = context
  const { db } = deps
  if ((mute === 'phrase') !== (phrase !== undefined))
    throw invalid(
      'phrase',
      mute === 'phrase'
        ? 'phrase is required with mute phrase'
        : 'phrase goes with mute phrase only',
    )
  const { row, monitor } = matchOf(db, customer.id, id, monitor_id)
  const item = itemOfRow(row, words.community)
  if (item === null) throw invalid('id', 'id: the content of the item is erased')
  const value = { author: item.author, place: item.subforum, phrase: phrase ?? '' }[mute]
  if (value === '') throw invalid('mute', `mute: the item has no ${mute}`)
  const edit = proposeMute(decodeFilterSpec(monitor.filter_spec), mute, value)
  if (typeof edit === 'string') throw notProposed(edit, mute)
  checkEdit(edit.spec, words)
  const effect = await effectOf(db, {
    customer_id: customer.id,
    monitor_id: monitor.id,
    edit,
    since_at: clock.now() - DAYS * DAY_MS,
    community: words.community,
  })
  const { field, added, removed, before, after } = edit
  const made = { monitor_id: monitor.id, field, added, removed }
  if (apply)
    await changeFilter(context, deps, { customer, monitor, spec: edit.spec }, () =>
      recordMute(db, actor, made, null),
    )
  return {
    monitor_id: monitor.id,
    monitor_name: monitor.name,
    applied: apply,
    action_id: apply ? actor.id : null,
    undo_until: apply ? iso(actor.now + UNDO_MS) : null,
    edit: { field: wireName(field, words), added, removed, before, after },
    effect,
  }
}

/**
 * Takes back the edit of a filter, or makes it again if that edit was itself an undoing.
 * @throws {ApiError} INVALID_REQUEST if the monitor or the entry is gone
 */
export async function undoMute(
  context: RouteContext,
  deps: MonitorDeps,
  { customer, actor }: Acting,
  { monitor_id, field, added, removed }: InboxMute,
  action_id: string,
): Promise<void> {
  const monitor = findMonitor(deps.db, customer.id, monitor_id)
  if (monitor === null)
    throw invalid('action_id', 'action_id: the monitor of this mute was removed')
  const reverse = { field, added: removed, removed: added }
  const spec = applyEdit(decodeFilterSpec(monitor.filter_spec), reverse)
  if (spec === null)
    throw invalid(
      'action_id',
      `action_id: ${wireName(field, context.words)} of the monitor was changed since, so there is nothing to undo`,
    )
  await changeFilter(context, deps, { customer, monitor, spec }, () =>
    recordMute(deps.db, actor, { monitor_id, ...reverse }, action_id),
  )
}

/** Stores an edited filter, and what `record` writes, in one transaction. */
async function changeFilter(
  context: RouteContext,
  deps: MonitorDeps,
  { customer, monitor, spec }: { customer: Customer; monitor: Monitor; spec: FilterSpec },
  record: () => void,
): Promise<void> {
  const filter_spec = renderFilterSpec(spec, context.words)
  await editMonitor(context, deps, customer, monitor.id, { filter_spec }, (before) => {
    if (before.filter_spec !== monitor.filter_spec)
      throw invalid('monitor_id', 'monitor_id: the filter was changed meanwhile; repeat the call')
    record()
  })
}

/**
 * The stored row of an item, and the monitor to edit.
 * @throws {ApiError} NOT_FOUND, or INVALID_REQUEST naming the monitors to choose from
 */
function matchOf(db: Db, customer_id: string, id: string, monitor_id: string | undefined) {
  const matches = listInboxMatches(db, [requireItem(db, customer_id, id).row])
  const current = matches.filter(({ removed }) => removed === 0)
  const ids = current.map((it) => it.monitor_id)
  const [only] = current
  const match = current.find((it) => it.monitor_id === monitor_id)
  if (monitor_id === undefined ? current.length > 1 : match === undefined)
    throw invalid('monitor_id', `monitor_id must be one of ${ids.join(', ')}`)
  const chosen = match ?? only
  const monitor = chosen === undefined ? null : findMonitor(db, customer_id, chosen.monitor_id)
  const body = chosen === undefined ? null : readMessage(db, chosen.message)
  const row: StoredRow | undefined = body === null ? undefined : rowsOfBody(body).get(id)
  if (monitor === null) throw invalid('id', 'id: its monitors were removed, so none can be edited')
  if (row === undefined) throw invalid('id', 'id: the content of the item is erased')
  return { row, monitor }
}

function notProposed(refusal: MuteRefusal, mute: Mute): ApiError {
  return invalid(
    'mute',
    refusal === 'muted'
      ? `mute: the monitor excludes this ${mute} already`
      : `mute: the monitor watches this ${mute} only; pause or remove the monitor instead`,
  )
}

/** @throws {ApiError} INVALID_REQUEST if the filter has no room for the edit */
function checkEdit(spec: FilterSpec, words: Naming): void {
  try {
    parseFilterSpec(renderFilterSpec(spec, words), words)
  } catch (error) {
    if (error instanceof ApiError) throw invalid('mute', `mute: ${error.message}`)
    throw error
  }
}

const pause = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve))

type Effect = {
  customer_id: string
  monitor_id: string
  edit: MuteEdit
  since_at: number
  community: string
}

/** Evaluates an edit on the stored matches of its monitor, in slices between which other work runs. */
async function effectOf(db: Db, { customer_id, monitor_id, edit, since_at, community }: Effect) {
  const isMuted = mutedBy(edit)
  const bodies = createBodies(db)
  const samples: object[] = []
  let cursor: InboxPosition | null = null
  let [examined, removed, paused_at, rows] = [0, 0, 0, 0]
  do {
    const filter = { ...NO_FILTER, monitor: monitor_id, from: since_at }
    const query = { customer_id, filter, span: spanOf(filter, cursor), limit: SLICE }
    const slice: MonitorMatch[] = listMonitorMatches(db, { ...query, examined: EXAMINED_MAX }).rows
    for (const { item_id, matched_at, message } of slice) {
      if (bodies.bytes() - paused_at > SLICE_BYTES) {
        paused_at = bodies.bytes()
        await pause()
      }
      const row = bodies.rowOf(message, item_id)
      const item = row === null ? null : itemOfRow(row, community)
      if (row === null || item === null) continue
      examined += 1
      if (!isMuted(item)) continue
      removed += 1
      if (samples.length < SAMPLES) samples.push(sampleOf(item_id, matched_at, row, community))
    }
    rows = slice.length
    cursor = slice.at(-1) ?? cursor
    await pause()
  } while (rows === SLICE && examined < EXAMINED_MAX && bodies.bytes() < BYTES_MAX)
  const complete = rows < SLICE
  return { days: DAYS, examined, complete, removed, kept: examined - removed, samples }
}

function sampleOf(id: string, matched_at: number, row: StoredRow, community: string) {
  const { title, excerpt, place, author } = toInboxText(row, [], community)
  return { id, title, excerpt, place, author, matched_at: iso(matched_at) }
}
