import { iso, parseInstant } from '../core/instant.ts'
import { DELIVERY_STATUSES, listAllDeliveries } from '../store/deliveries.ts'
import { redeliver, REDELIVERED_STATUSES, type Which } from '../store/redeliver.ts'
import { command, EXIT, JSON_OPTION, Refusal, UsageError } from './command.ts'
import { customerNamed } from './customers.ts'
import { LIMIT_OPTION, parseChoice, parseLimit } from './inputs.ts'
import { withInstance } from './instance.ts'
import { openBar } from './progress.ts'
import { table } from './table.ts'

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
  summary: 'shows what became of matches, the newest first, of every customer',
  options: {
    customer: { type: 'string', value: 'NAME', help: 'only those of this customer' },
    status: { type: 'string', value: 'STATUS', help: `one of ${DELIVERY_STATUSES.join(', ')}` },
    limit: LIMIT_OPTION,
    json: JSON_OPTION,
  },
  examples: ['forumd deliveries list --status dead', 'forumd deliveries list --json --limit 1000'],
  async run({ values, ...around }) {
    const { customer, status, limit } = values
    const rows_max = parseLimit(limit)
    const of_status = parseChoice('status', status, DELIVERY_STATUSES)
    const rows = await withInstance(values.config, around, ({ db }) =>
      listAllDeliveries(db, {
        customer_id: customer === undefined ? null : customerNamed(db, customer).id,
        status: of_status,
        limit: rows_max,
      }),
    )
    const shown = rows.map(({ created_at, delivered_at, ...row }) => ({
      ...row,
      created_at: iso(created_at),
      delivered_at: iso(delivered_at),
    }))
    around.stdout.write(
      values.json
        ? `${JSON.stringify({ deliveries: shown })}\n`
        : table(
            shown.map(({ id, customer: of, status: became, attempts, last_error, created_at }) => ({
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

const WHY_SKIPPED =
  ': on their way already, without a target that takes them, or without content any more'

export const deliveriesRedrive = command({
  name: 'deliveries redrive',
  summary: 'sends again what has ended: one delivery, or those of a span of time',
  operands: ['[DELIVERY_ID]'],
  options: {
    since: { type: 'string', value: 'ISO', help: 'created since then' },
    until: { type: 'string', value: 'ISO', help: 'and until then; all since unless told' },
    status: {
      type: 'string',
      value: 'STATUS',
      help: `one of ${REDELIVERED_STATUSES.join(', ')}; dead unless told`,
    },
    customer: { type: 'string', value: 'NAME', help: 'only those of this customer' },
    'dry-run': { type: 'boolean', help: 'only count' },
    json: JSON_OPTION,
  },
  examples: [
    'forumd deliveries redrive --since 2027-01-31T12:00:00Z --dry-run',
    'forumd deliveries redrive dlv_5RkVx1u8mWb0YcJ2nLq7Zg',
  ],
  notes:
    'Same delivery id and same body, with all its attempts again; receivers know a repeat by the id. Skipped is what is still on its way, has no target that takes it, or has no content any more (retention_days).',
  async run({ values, operands: [id], ...around }) {
    const { since, until, status, customer } = values
    const which = (): Which => {
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
    using bar = openBar(around.screen)
    bar.show('looking for deliveries', null)
    const answer = await withInstance(values.config, around, ({ db, now }) =>
      redeliver(db, {
        customer_id: customer === undefined ? null : customerNamed(db, customer).id,
        which: which(),
        dry_run,
        rows_max: REDRIVE_MAX,
        now,
      }),
    )
    bar[Symbol.dispose]()
    if (answer === null) throw new Refusal(`there is no delivery "${id}"`)
    if ('too_many' in answer)
      throw new Refusal(
        `that is more than ${REDRIVE_MAX} deliveries, which is what is taken at once: narrow the span`,
      )
    const { queued, skipped } = answer
    around.stdout.write(
      values.json
        ? `${JSON.stringify({ ...answer, dry_run })}\n`
        : `${queued} ${dry_run ? 'would go' : 'go'} out again, ${skipped} skipped${skipped > 0 ? WHY_SKIPPED : ''}\n`,
    )
    return EXIT.done
  },
})
