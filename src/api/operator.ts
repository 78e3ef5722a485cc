import { Elysia } from 'elysia'

import { version } from '../../package.json'
import { ApiError, invalid } from '../core/errors.ts'
import { iso } from '../core/instant.ts'
import { toUsd } from '../core/price.ts'
import type { Clock } from '../outside.ts'
import type { Db } from '../store/db.ts'
import { answerFeedback, listFeedback } from '../store/feedback.ts'
import { countHouse, listCustomerSums } from '../store/overview-house.ts'
import { answerBody, listQuery, toOperator, toPage } from './feedback-shape.ts'
import { operatorPool, type OperatorPoolDeps } from './operator-pool.ts'

const DAY_MS = 86_400_000
const CUSTOMERS_MAX = 1000

/** What only the parts that watch over the storage know. */
type StorageReport = () => {
  trouble: string | null
  free_bytes: number
  db_bytes: number
  wal_bytes: number
  /** Whether the space that is held back for a full disk is there. */
  ballast: boolean
  audit: {
    at: number | null
    breaches: readonly { invariant: string; subject: string }[]
    audit_edited: boolean
  }
}

export type OperatorDeps = OperatorPoolDeps & {
  storage: StorageReport
  /** How reads go, as `/health` says it. */
  reads: () => string
}

/**
 * `/operator/…`, for operators' keys. It stays out of the public document: that is the customers' interface, and a client
 * made from it should have no calls that its key can never make.
 */
export const operator = (deps: OperatorDeps) =>
  new Elysia({ name: 'operator' })
    .use(operatorPool(deps))
    .use(house(deps))
    .use(customersFeedback(deps))

function house({ db, clock, storage, reads }: OperatorDeps) {
  const started_at = clock.now()
  const started = clock.mono()
  return new Elysia({ name: 'operator house', prefix: '/operator', detail: { hide: true } })
    .get('/customers', () => {
      const rows = listCustomerSums(db, clock.now() - DAY_MS, CUSTOMERS_MAX + 1)
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
      const { schema, ...counts } = countHouse(db)
      return {
        version,
        started_at: iso(started_at),
        uptime_s: Math.floor((clock.mono() - started) / 1000),
        reads: reads(),
        counts,
        storage: { trouble, schema, ...disk, ballast },
        auditor: {
          last_run_at: audit.at === null ? null : iso(audit.at),
          findings: [
            ...audit.breaches,
            ...(audit.audit_edited ? [{ invariant: 'audit_chain', subject: 'audit' }] : []),
          ],
        },
      }
    })
}

function customersFeedback({
  db,
  clock,
  log,
}: { db: Db; clock: Clock } & Pick<OperatorDeps, 'log'>) {
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
