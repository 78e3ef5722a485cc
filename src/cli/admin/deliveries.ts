import { iso, parseInstant } from '../../core/base/time.ts'
import { DELIVERY_STATUSES, listAllDeliveries } from '../../store/delivery/deliveries.ts'
import {
  redeliver,
  REDELIVERED_STATUSES,
  type RedeliverySelection,
} from '../../store/delivery/redeliver.ts'
import { command, CommandRefusal, EXIT, JSON_OPTION, UsageError } from '../command.ts'
import { withInstance } from '../configuration.ts'
import { LIMIT_OPTION, parseChoice, parseLimit } from '../inputs.ts'
import { table } from '../output.ts'
import { openBar } from '../progress.ts'
import { customerNamed } from './customer.ts'

const REDRIVE_MAX = 100_000

function instantOf(name: string, text: string): number {
  const at = parseInstant(text)
  if (at !== null) return at
  throw new UsageError(
    `--${name} is "${text}": allowed is ISO 8601 with its zone, such as 2027-01-31T12:00:00Z, or a day`,
  )
}

export const deliveriesList = command({
  name: 'deliveries list',
  summary: 'lists deliveries of all customers, newest first',
  options: {
    customer: { type: 'string', value: 'NAME', help: 'only those of this customer' },
    status: { type: 'string', value: 'STATUS', help: `one of ${DELIVERY_STATUSES.join(', ')}` },
    limit: LIMIT_OPTION,
    json: JSON_OPTION,
  },
  examples: ['forumd deliveries list --status dead', 'forumd deliveries list --json --limit 1000'],
  async run({ values, ...context }) {
    const { customer, status, limit } = values
    const rows_max = parseLimit(limit)
    const of_status = parseChoice('status', status, DELIVERY_STATUSES)
    const rows = await withInstance(context, ({ db }) =>
      listAllDeliveries(db, {
        customer_id: customer === undefined ? null : customerNamed(db, customer).id,
        status: of_status,
        limit: rows_max,
      }),
    )
    const views = rows.map(({ created_at, delivered_at, ...row }) => ({
      ...row,
      created_at: iso(created_at),
      delivered_at: iso(delivered_at),
    }))
    context.stdout.write(
      values.json
        ? `${JSON.stringify({ deliveries: views })}\n`
        : table(
            views.map(({ id, customer: of, status: became, attempts, last_error, created_at }) => ({
              id,
              customer: of,
              status: became,
              attempts,
              last_error,
              created_at,
            })),
            'There is no such delivery.',
          ),
    )
    return EXIT.done
  },
})

const WHY_SKIPPED = ': already pending, without an active target, or with expired content'

export const deliveriesRedrive = command({
  name: 'deliveries redrive',
  summary: 'sends finished deliveries again',
  operands: ['[DELIVERY_ID]'],
  options: {
    since: { type: 'string', value: 'ISO', help: 'created at or after this time' },
    until: { type: 'string', value: 'ISO', help: 'created at or before this time (default: now)' },
    status: {
      type: 'string',
      value: 'STATUS',
      help: `one of ${REDELIVERED_STATUSES.join(', ')} (default: dead)`,
    },
    customer: { type: 'string', value: 'NAME', help: 'only those of this customer' },
    'dry-run': { type: 'boolean', help: 'count without sending' },
    json: JSON_OPTION,
  },
  examples: [
    'forumd deliveries redrive --since 2027-01-31T12:00:00Z --dry-run',
    'forumd deliveries redrive dlv_5RkVx1u8mWb0YcJ2nLq7Zg',
  ],
  notes:
    'Sends the same delivery id and body with a new retry schedule; receivers recognise a repeat by the id. Skipped are deliveries that are pending, have no active target, or whose content has expired or was erased.',
  async run({ values, operands: [id], ...context }) {
    const { since, until, status, customer } = values
    const which = (): RedeliverySelection => {
      if (id !== undefined) {
        if (since !== undefined || until !== undefined || status !== undefined)
          throw new UsageError(
            'a delivery id names one delivery: leave out --since, --until, --status',
          )
        return { delivery_id: id }
      }
      if (since === undefined) throw new UsageError('--since ISO is needed, or a delivery id')
      return {
        since: instantOf('since', since),
        until: until === undefined ? Infinity : instantOf('until', until),
        statuses: [parseChoice('status', status, REDELIVERED_STATUSES) ?? 'dead'],
        webhook_id: null,
      }
    }
    const dry_run = values['dry-run']
    using bar = openBar(context.screen)
    bar.update('looking for deliveries', null)
    const answer = await withInstance(context, ({ db, now }) =>
      redeliver(db, {
        customer_id: customer === undefined ? null : customerNamed(db, customer).id,
        which: which(),
        dry_run,
        rows_max: REDRIVE_MAX,
        now,
      }),
    )
    bar[Symbol.dispose]()
    if (answer === null) throw new CommandRefusal(`there is no delivery "${id}"`)
    if ('too_many' in answer)
      throw new CommandRefusal(
        `more than ${REDRIVE_MAX} deliveries match, the limit of one redrive: narrow the period`,
      )
    const { queued, skipped } = answer
    context.stdout.write(
      values.json
        ? `${JSON.stringify({ ...answer, dry_run })}\n`
        : `${queued} ${dry_run ? 'would be sent' : 'queued to be sent'} again, ${skipped} skipped${skipped > 0 ? WHY_SKIPPED : ''}\n`,
    )
    return EXIT.done
  },
})
