import * as z from 'zod'

import { ApiError, invalid } from '../../../core/base/errors.ts'
import { iso } from '../../../core/base/time.ts'
import { type Db, transact } from '../../../store/db/connection.ts'
import {
  LINE_STATUSES,
  type LinePosition,
  lineState,
  listInstanceDeliveries,
} from '../../../store/delivery/instance-list.ts'
import {
  redeliver,
  REDELIVERED_STATUSES,
  type RedeliverySelection,
} from '../../../store/delivery/redeliver.ts'
import { hostOf } from '../../account/problems.ts'
import {
  limit,
  maybeInstant,
  maybeOneOf,
  optionalText,
  PAGE,
  patternText,
} from '../../http/fields.ts'
import { action } from '../action.ts'
import { customerOf } from './customers.ts'

const PAGE_MAX = 100
const REDRIVE_MAX = 100_000
export const CURSOR_FORM = 'the next_cursor of an earlier page'

/** Query of a list of all customers. */
export const listQuery = () => ({
  customer: optionalText('customer', { max: 64 }).describe(
    'only those that belong to this customer',
  ),
  since: maybeInstant('since').describe('created at or after this time'),
  until: maybeInstant('until').describe('created before this time'),
  limit: limit(PAGE_MAX, PAGE).describe(`maximum number of rows (default: ${PAGE})`),
})

/** The id of the customer with this name or id; null: all customers. */
export const customerIdOf = (db: Db, named: string | undefined): string | null =>
  named === undefined || named === '' ? null : customerOf(db, named).id

type ListInput = {
  customer?: string
  status?: (typeof LINE_STATUSES)[number]
  since?: number
  until?: number
  cursor?: string
  limit: number
}

export const deliveryList = action<ListInput>({
  command: 'deliveries list',
  summary: 'lists deliveries of all customers, newest first',
  route: 'GET /deliveries',
  operands: [],
  fields: () => ({
    ...listQuery(),
    status: maybeOneOf('status', LINE_STATUSES).describe(`one of ${LINE_STATUSES.join(', ')}`),
    cursor: patternText('cursor', /^\d{1,15}\.\d{1,15}$/, CURSOR_FORM)
      .optional()
      .describe(CURSOR_FORM),
  }),
  examples: ['forumd deliveries list --status dead', 'forumd deliveries list --json --limit 100'],
  run: ({ db, input }) => deliveriesPage(db, input),
  print: ({ deliveries }: ReturnType<typeof deliveriesPage>) => ({
    rows: deliveries.map((it) => ({
      id: it.delivery_id,
      customer: it.customer.name,
      status: it.status,
      attempts: it.attempts,
      reason: it.reason,
      created_at: it.created_at,
    })),
    none: 'There is no such delivery.',
  }),
})

function deliveriesPage(db: Db, input: ListInput) {
  const { customer, status = null, since = null, until = null, cursor, limit: max } = input
  const { lines, next } = listInstanceDeliveries(db, {
    customer_id: customerIdOf(db, customer),
    status,
    since,
    until,
    after: cursor === undefined ? null : positionOf(cursor),
    limit: max,
  })
  return {
    deliveries: lines.map((it) => ({
      delivery_id: it.id,
      customer: { id: it.customer_id, name: it.customer_name },
      monitor: { id: it.monitor_id, name: it.monitor_name },
      webhook:
        it.webhook_id === null
          ? null
          : {
              id: it.webhook_id,
              name: it.webhook_name,
              kind: it.webhook_kind,
              host: hostOf(it.webhook_url ?? ''),
            },
      status: lineState(it),
      attempts: it.attempts,
      reason: it.reason ?? it.last_error,
      next_attempt_at: iso(it.next_attempt_at),
      delivered_at: iso(it.delivered_at),
      created_at: iso(it.created_at),
    })),
    count: lines.length,
    limit: max,
    // A page may be short, or empty, before the end: it examines a bounded number of deliveries.
    searched_to: next === null ? null : iso(next.created_at),
    next_cursor: next === null ? null : `${next.row}.${next.created_at}`,
  }
}

function positionOf(cursor: string): LinePosition {
  const [row = 0, created_at = 0] = cursor.split('.').map(Number)
  return { row, created_at }
}

type RedriveInput = {
  delivery_id?: string
  since?: number
  until?: number
  status?: (typeof REDELIVERED_STATUSES)[number]
  customer?: string
  dry_run: boolean
}

function selectionOf({ delivery_id, since, until, status }: RedriveInput): RedeliverySelection {
  if (delivery_id !== undefined) {
    for (const [field, value] of Object.entries({ since, until, status }))
      if (value !== undefined)
        throw invalid(field, `${field} does not go with delivery_id, which names one delivery`)
    return { delivery_id }
  }
  if (since === undefined) throw invalid('since', 'since is required, or delivery_id')
  return { since, until: until ?? Infinity, statuses: [status ?? 'dead'], webhook_id: null }
}

const WHY_SKIPPED = ': already pending, without an active target, or with expired content'

export const redrive = action<RedriveInput>({
  command: 'deliveries redrive',
  summary: 'sends finished deliveries again',
  route: 'POST /deliveries/redrive',
  operands: ['delivery_id'],
  fields: () => ({
    delivery_id: z.string('delivery_id must be text').optional(),
    since: listQuery().since,
    customer: listQuery().customer,
    until: maybeInstant('until').describe('created at or before this time (default: now)'),
    status: maybeOneOf('status', REDELIVERED_STATUSES).describe(
      `one of ${REDELIVERED_STATUSES.join(', ')} (default: dead)`,
    ),
    dry_run: z
      .boolean('dry_run must be true or false')
      .default(false)
      .describe('count without sending'),
  }),
  examples: [
    'forumd deliveries redrive --since 2027-01-31T12:00:00Z --dry-run',
    'forumd deliveries redrive dlv_5RkVx1u8mWb0YcJ2nLq7Zg',
  ],
  notes:
    'Sends the same delivery id and body with a new retry schedule; receivers recognise a repeat by the id. Skipped are deliveries that are pending, have no active target, or whose content has expired or was erased.',
  run({ db, clock, input, nudgeSender, record }) {
    const { delivery_id, dry_run } = input
    const customer_id = customerIdOf(db, input.customer)
    const which = selectionOf(input)
    const answer = transact(db, () => {
      const found = redeliver(db, {
        customer_id,
        which,
        dry_run,
        rows_max: REDRIVE_MAX,
        now: clock.now(),
      })
      if (found === null)
        throw new ApiError('NOT_FOUND', { message: `there is no delivery "${delivery_id}"` })
      if ('too_many' in found)
        throw invalid(
          'since',
          `more than ${REDRIVE_MAX} deliveries match, the limit of one call: narrow the period`,
        )
      if (!dry_run)
        record({
          action: 'deliveries.redriven',
          subject: delivery_id ?? customer_id ?? 'all customers',
          subject_name: input.customer ?? null,
          detail: found,
        })
      return found
    })
    if (!dry_run) nudgeSender()
    return { ...answer, dry_run }
  },
  print: ({ queued, skipped }: { queued: number; skipped: number }, { dry_run }) =>
    `${queued} ${dry_run ? 'would be sent' : 'queued to be sent'} again, ${skipped} skipped${skipped > 0 ? WHY_SKIPPED : ''}`,
})
