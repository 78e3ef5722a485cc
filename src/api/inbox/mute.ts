import { Elysia } from 'elysia'
import * as z from 'zod'

import { ApiError, invalid } from '../../core/base/errors.ts'
import { iso } from '../../core/base/time.ts'
import { TERM_LENGTH_MAX } from '../../core/filter/fields.ts'
import { decodeFilterSpec, parseFilterSpec, renderFilterSpec } from '../../core/filter/parse.ts'
import { type FilterSpec, wireName } from '../../core/filter/spec.ts'
import type { Naming } from '../../core/forum/naming.ts'
import { type InboxPosition, NO_FILTER, spanOf } from '../../core/inbox/filter.ts'
import {
  itemOfRow,
  type Mute,
  mutedBy,
  type MuteEdit,
  type MuteRefusal,
  MUTES,
  proposeMute,
} from '../../core/inbox/mute.ts'
import { rowsOfBody, type StoredRow, toInboxText } from '../../core/inbox/row.ts'
import type { Db } from '../../store/db/connection.ts'
import { findInbox, listInboxMatches, readMatchBody } from '../../store/inbox/list.ts'
import { listMonitorMatches } from '../../store/inbox/stats.ts'
import { findMonitor } from '../../store/monitoring/monitors.ts'
import type { RouteContext } from '../context.ts'
import { bodySchema, type SchemaOutput } from '../http/fields.ts'
import { inboxPaths } from '../http/routes.ts'
import { answers, refuses } from '../openapi/route-docs.ts'
import { INBOX_BODIES, muteExample } from './examples.ts'
import { itemIdBody } from './fields.ts'
import { createBodies } from './rows.ts'
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
const muteBody = bodySchema(
  () => ({
    id: itemIdBody(),
    mute: z.enum(MUTES, { error: `mute must be one of ${MUTES.join(', ')}` }),
    phrase: z
      .string({ error: phraseSentence })
      .trim()
      .min(1, phraseSentence)
      .max(TERM_LENGTH_MAX, phraseSentence)
      .optional()
      .meta({ description: 'Words to exclude, with mute phrase only.' }),
    monitor_id: z
      .string({ error: 'monitor_id must be text' })
      .max(64, 'monitor_id must be the id of a monitor')
      .optional()
      .meta({ description: 'Monitor to edit; required if several matched the item.' }),
  }),
  INBOX_BODIES.mute,
)

/** Proposals of mutes. */
export const inboxMute = (context: RouteContext, db: Db) =>
  new Elysia({ name: `inbox mute `, prefix: inboxPaths(context.words)[0] })
    .use(context.keyed)
    .post('/mute', ({ customer, body }) => proposal(context, db, customer.id, body), {
      body: muteBody,
      detail: {
        summary: 'Propose the edit of a monitor that mutes an author, a place or a phrase',
        description: `Changes nothing: send apply.body to apply.path. effect counts the matches of the last ${DAYS} days that the edited filter would not have matched, among the newest ${EXAMINED_MAX}.`,
        tags: ['Inbox'],
        operationId: 'inboxMute',
        ...answers(inboxMuteShape, muteExample(context.words)),
        ...refuses('NOT_FOUND'),
      },
    })

async function proposal(
  { words, clock }: RouteContext,
  db: Db,
  customer_id: string,
  { id, mute, phrase, monitor_id }: SchemaOutput<typeof muteBody>,
) {
  if ((mute === 'phrase') !== (phrase !== undefined))
    throw invalid(
      'phrase',
      mute === 'phrase'
        ? 'phrase is required with mute phrase'
        : 'phrase goes with mute phrase only',
    )
  const { row, monitor } = matchOf(db, customer_id, id, monitor_id)
  const item = itemOfRow(row, words.community)
  if (item === null) throw invalid('id', 'id: the content of the item is erased')
  const value = { author: item.author, place: item.subforum, phrase: phrase ?? '' }[mute]
  if (value === '') throw invalid('mute', `mute: the item has no ${mute}`)
  const edit = proposeMute(decodeFilterSpec(monitor.filter_spec), mute, value)
  if (typeof edit === 'string') throw notProposed(edit, mute)
  const filter_spec = renderFilterSpec(edit.spec, words)
  checkEdit(filter_spec, words)
  return {
    monitor_id: monitor.id,
    monitor_name: monitor.name,
    edit: {
      field: wireName(edit.field, words),
      added: edit.added,
      removed: edit.removed,
      before: edit.before,
      after: edit.after,
    },
    filter_spec,
    apply: { path: `${words.monitor}/update`, body: { id: monitor.id, filter_spec } },
    effect: await effectOf(db, {
      customer_id,
      monitor_id: monitor.id,
      edit,
      since_at: clock.now() - DAYS * DAY_MS,
      community: words.community,
    }),
  }
}

/**
 * The stored row of an item, and the monitor to edit.
 * @throws {ApiError} NOT_FOUND, or INVALID_REQUEST naming the monitors to choose from
 */
function matchOf(db: Db, customer_id: string, id: string, monitor_id: string | undefined) {
  const [found] = findInbox(db, customer_id, [id], spanOf(NO_FILTER, null).below)
  if (found === undefined)
    throw new ApiError('NOT_FOUND', { message: 'there is no such item in the inbox' })
  const matches = listInboxMatches(db, [found.row])
  const current = matches.filter(({ removed }) => removed === 0)
  const ids = current.map((it) => it.monitor_id)
  const [only] = current
  const match = current.find((it) => it.monitor_id === monitor_id)
  if (monitor_id === undefined ? current.length > 1 : match === undefined)
    throw invalid('monitor_id', `monitor_id must be one of ${ids.join(', ')}`)
  const chosen = match ?? only
  const monitor = chosen === undefined ? null : findMonitor(db, customer_id, chosen.monitor_id)
  const body = chosen === undefined ? null : readMatchBody(db, chosen.match_row)
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
function checkEdit(filter_spec: Record<string, unknown>, words: Naming): FilterSpec {
  try {
    return parseFilterSpec(filter_spec, words)
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
    const span = spanOf({ ...NO_FILTER, from: since_at }, cursor)
    const slice = listMonitorMatches(db, { customer_id, monitor_id, span, limit: SLICE })
    for (const { item_id, matched_at, match_row } of slice) {
      if (bodies.bytes() - paused_at > SLICE_BYTES) {
        paused_at = bodies.bytes()
        await pause()
      }
      const row = bodies.rowOf(match_row, item_id)
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
