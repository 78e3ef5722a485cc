import { Elysia } from 'elysia'

import { version } from '../../../package.json'
import { ApiError, invalid } from '../../core/base/errors.ts'
import { iso } from '../../core/base/time.ts'
import { toUsd } from '../../core/limits/price.ts'
import type { Clock } from '../../runtime/runtime.ts'
import { answerFeedback, listFeedback } from '../../store/customers/feedback.ts'
import type { Db } from '../../store/db/connection.ts'
import { countSystem, listCustomerSummaries } from '../../store/maintenance/counts.ts'
import { answerBody, listQuery, toOperator, toPage } from '../account/feedback.ts'
import { operatorPool, type OperatorPoolDeps } from './accounts.ts'
import { type OperatedSource, operatorSources } from './sources.ts'

const DAY_MS = 86_400_000
const CUSTOMERS_MAX = 1000

/** Report of the storage monitoring. */
type StorageReport = () => {
  trouble: string | null
  free_bytes: number
  db_bytes: number
  wal_bytes: number
  /** True if the reserve file exists. */
  ballast: boolean
  audit: {
    at: number | null
    breaches: readonly { invariant: string; subject: string }[]
  }
}

export type OperatorRouteDeps = OperatorPoolDeps & {
  storage: StorageReport
  /** State of reads as in `/health`. */
  reads: () => string
  sources: () => OperatedSource[]
}

/**
 * `/operator/…`, for operators' keys. It is not part of the public document, which describes the
 * customers' interface: a generated client should have no calls that its key can never make.
 */
export const operator = (deps: OperatorRouteDeps) =>
  new Elysia({ name: 'operator' })
    .use(operatorPool(deps))
    .use(operatorSources(deps))
    .use(system(deps))
    .use(customersFeedback(deps))

function system({ db, clock, storage, reads }: OperatorRouteDeps) {
  const started_at = clock.now()
  const started = clock.mono()
  return new Elysia({ name: 'operator house', prefix: '/operator', detail: { hide: true } })
    .get('/customers', () => {
      const rows = listCustomerSummaries(db, clock.now() - DAY_MS, CUSTOMERS_MAX + 1)
      return {
        customers: rows
          .slice(0, CUSTOMERS_MAX)
          .map(({ balance_micros, unlimited, created_at, requests, ...row }) => ({
            ...row,
            credits_remaining: toUsd(balance_micros),
            unlimited: unlimited === 1,
            created_at: iso(created_at),
            requests_24h: requests,
          })),
        truncated: rows.length > CUSTOMERS_MAX,
      }
    })
    .get('/overview', () => {
      const { trouble, audit, ballast, ...disk } = storage()
      const { schema, ...counts } = countSystem(db)
      return {
        version,
        started_at: iso(started_at),
        uptime_s: Math.floor((clock.mono() - started) / 1000),
        reads: reads(),
        counts,
        storage: { trouble, schema, ...disk, ballast },
        auditor: {
          last_run_at: audit.at === null ? null : iso(audit.at),
          findings: audit.breaches,
        },
      }
    })
}

function customersFeedback({
  db,
  clock,
  log,
}: { db: Db; clock: Clock } & Pick<OperatorRouteDeps, 'log'>) {
  return new Elysia({ name: 'operator feedback', prefix: '/operator', detail: { hide: true } })
    .get(
      '/feedback',
      ({ query: { status = null, type = null, cursor = null, limit } }) => {
        const wanted = { customer_id: null, status, type, after_id: cursor }
        return toPage(listFeedback(db, { ...wanted, limit: limit + 1 }), limit, toOperator)
      },
      { query: listQuery },
    )
    .post(
      '/feedback/:id',
      ({ params: { id }, body }) => {
        if (body.status === undefined && body.response === undefined)
          throw invalid('status', 'status or response is required')
        const answered = answerFeedback(db, id, body, clock.now())
        if (answered === null)
          throw new ApiError('NOT_FOUND', { message: 'there is no such feedback' })
        log('info', 'feedback.answered', { id, status: answered.status })
        return toOperator(answered)
      },
      { body: answerBody },
    )
}
