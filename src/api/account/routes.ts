import { Elysia } from 'elysia'
import * as z from 'zod'

import { invalid } from '../../core/base/errors.ts'
import { once } from '../../core/base/lazy.ts'
import { iso } from '../../core/base/time.ts'
import type { Naming } from '../../core/forum/naming.ts'
import { bucketed, toUsd } from '../../core/limits/price.ts'
import type { Clock } from '../../runtime/runtime.ts'
import { findCustomer } from '../../store/customers/customers.ts'
import { listPayments, listUsage, PAYMENT_KINDS, sumUsage } from '../../store/customers/ledger.ts'
import type { Db } from '../../store/db/connection.ts'
import type { Keyed } from '../http/auth.ts'
import { maybeInstant, oneOf, querySchema } from '../http/fields.ts'
import { answers } from '../openapi/route-docs.ts'
import { activityQuery, activityShape, createActivity } from './activity.ts'
import {
  type MonitorView,
  type Problem,
  problemsShape,
  readProblems,
  toProblemReport,
} from './problems.ts'

type Deps = {
  db: Db
  keyed: Keyed
  words: Pick<Naming, 'home'>
  clock: Clock
  /** Absent: nothing is monitored. */
  view?: MonitorView | undefined
  /** Monitors of a customer, including paused ones, the limit of its plan, and the interval of a monitor that names none. */
  monitors: (customer: { id: string; plan: string }) => {
    used: number
    total: number
    cadence_s: number
  }
  /** True while the database cannot be written. */
  storage_failing: () => boolean
  /** Price of a read in micro-dollars; null: calls are not billed. */
  read_price_micros: number | null
  /** Days for which matches are kept; 0: for ever. */
  retention_days: number
}

const PAYMENTS_MAX = 1_000
const DAY_MS = 86_400_000
const USAGE_DAYS = 30
const USAGE_DAYS_MAX = 366

const usageQuery = querySchema(() => ({
  from: maybeInstant('from'),
  to: maybeInstant('to'),
  bucket: oneOf('bucket', ['hour', 'day'], 'day'),
}))

// Used by the OpenAPI document only.
const shapes = once(() => {
  const instant = z.iso.datetime()
  const dollars = z.number().describe('USD, with up to six decimals.')
  const me = z.object({
    id: z.string(),
    name: z.string(),
    plan: z.string(),
    credits_remaining: dollars,
    credits_used: dollars,
    total_requests: z.int(),
    created_at: instant,
    monitors: z.object({
      used: z.int(),
      total: z.int(),
      cadence_s: z
        .int()
        .describe(
          'Shortest poll interval of the plan, in seconds: the one of a monitor that names none.',
        ),
    }),
  })
  const payments = z.object({
    payments: z.array(
      z.object({
        id: z.string(),
        kind: z.enum(PAYMENT_KINDS),
        amount_usd: dollars,
        note: z.string().nullable(),
        created_at: instant,
      }),
    ),
  })
  const counts = z.object({
    calls: z.int(),
    billed_calls: z.int(),
    cost_usd: dollars,
    errors: z.int(),
  })
  const usage = z.object({
    usage: z.array(counts.extend({ start: instant, by_tier: z.record(z.string(), counts) })),
    total: counts,
  })
  return { me, payments, usage }
})

/** Problems of the instance and of the account itself, which no row of a monitor or webhook shows. */
function accountProblems(
  { db, storage_failing, read_price_micros }: Deps,
  customer_id: string,
): Problem[] {
  const customer = findCustomer(db, customer_id)
  const is_poor =
    read_price_micros !== null &&
    customer?.unlimited === false &&
    customer.balance_micros < read_price_micros
  const problem = { subject: null, since: null, severity: 'error' } as const
  return [
    ...(storage_failing()
      ? [
          {
            ...problem,
            kind: 'storage' as const,
            message: 'forumd cannot write to its disk: no new matches are recorded',
            fix: 'No step of yours: the operator has to repair the disk',
          },
        ]
      : []),
    ...(is_poor
      ? [
          {
            ...problem,
            kind: 'credits_used_up' as const,
            message: 'The credits are used up: reads are refused',
            fix: 'Ask the operator for a top-up. Monitors and deliveries continue',
          },
        ]
      : []),
  ]
}

/** Routes for the customer's own account, its state and its billing records; free. */
export function account(deps: Deps) {
  const { db, keyed, clock, monitors, words } = deps
  const readActivity = createActivity(deps)
  return new Elysia({ name: 'account', prefix: '/account' })
    .use(keyed)
    .get(
      '/problems',
      ({ customer: { id } }) =>
        toProblemReport([
          ...accountProblems(deps, id),
          ...readProblems(db, id, { home: words.home, now: clock.now(), view: deps.view }),
        ]),
      {
        detail: {
          summary: 'What does not work, and what waits for you',
          description:
            'Failing and paused webhooks, sources that cannot be read, late feeds, stopped monitors and those whose coverage is not complete, used-up credits and undecided drafts, each with the next step. Cheap enough to repeat every few seconds.',
          tags: ['Account'],
          operationId: 'accountProblems',
          ...answers(problemsShape),
        },
      },
    )
    .get('/activity', ({ customer: { id }, query: { period } }) => readActivity(id, period), {
      query: activityQuery,
      detail: {
        summary: 'Your matches and deliveries by hour or day, and the newest matches',
        description:
          'For an overview. To receive every match, use a webhook or the items of each monitor.',
        tags: ['Account'],
        operationId: 'accountActivity',
        ...answers(activityShape),
      },
    })
    .get(
      '/me',
      ({ customer }) => {
        const { id, name, plan, balance_micros, created_at } =
          findCustomer(db, customer.id) ?? customer
        const { calls, cost_micros } = sumUsage(db, id)
        return {
          id,
          name,
          plan,
          credits_remaining: toUsd(balance_micros),
          credits_used: toUsd(cost_micros),
          total_requests: calls,
          created_at: iso(created_at),
          monitors: monitors({ id, plan }),
        }
      },
      {
        detail: {
          summary: 'Your account: plan, credits, calls',
          tags: ['Account'],
          operationId: 'accountMe',
          ...answers(() => shapes().me),
        },
      },
    )
    .get(
      '/payments',
      ({ customer }) => ({
        payments: listPayments(db, customer.id, PAYMENTS_MAX).map(
          ({ id, kind, amount_micros, note, created_at }) => ({
            id,
            kind,
            amount_usd: toUsd(amount_micros),
            note,
            created_at: iso(created_at),
          }),
        ),
      }),
      {
        detail: {
          summary: 'Your payments, newest first',
          tags: ['Account'],
          operationId: 'accountPayments',
          ...answers(() => shapes().payments),
        },
      },
    )
    .get(
      '/usage',
      ({ customer, query: { from, to, bucket } }) => {
        const until = to ?? clock.now()
        const since = from ?? until - USAGE_DAYS * DAY_MS
        if (since >= until) throw invalid('from', 'from must lie before to')
        if (until - since > USAGE_DAYS_MAX * DAY_MS)
          throw invalid('from', `from must lie at most ${USAGE_DAYS_MAX} days before to`)
        return bucketed(listUsage(db, customer.id, since, until), bucket)
      },
      {
        query: usageQuery,
        detail: {
          summary: 'Your calls and their cost, by hour or day',
          tags: ['Account'],
          operationId: 'accountUsage',
          ...answers(() => shapes().usage),
        },
      },
    )
}
