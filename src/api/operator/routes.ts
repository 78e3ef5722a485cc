import { Elysia } from 'elysia'

import { version } from '../../../package.json'
import { ApiError } from '../../core/base/errors.ts'
import { iso } from '../../core/base/time.ts'
import { bucketed, toUsd } from '../../core/limits/price.ts'
import { findCustomer } from '../../store/customers/customers.ts'
import { listKeys } from '../../store/customers/keys.ts'
import { listUsage, sumUsage } from '../../store/customers/ledger.ts'
import { listWebhooks } from '../../store/delivery/webhooks.ts'
import { countPending, countSystem, listCustomerSummaries } from '../../store/maintenance/counts.ts'
import { listMonitors } from '../../store/monitoring/monitors.ts'
import { measureWaiting } from '../../store/relevance/judgements.ts'
import { activityQuery, createActivity } from '../account/activity.ts'
import { hostOf, readProblems, toProblemReport } from '../account/problems.ts'
import type { RouteContext } from '../context.ts'
import { toModel } from '../monitors/relevance.ts'
import { type AccountChangeDeps, accountChanges } from './account-changes.ts'
import { operatorPool, type OperatorPoolDeps } from './accounts.ts'
import { auditList, createRecorder } from './actions.ts'
import { type CustomerActionDeps, customerActions } from './customers.ts'
import { instanceLists } from './lists.ts'
import { instanceProblems, type ProblemDeps } from './problems.ts'
import { operatorSources, type SourceDeps } from './sources.ts'

const DAY_MS = 86_400_000
const CUSTOMERS_MAX = 1000
const PENDING_MAX = 10_000
const USAGE_DAYS = 30

export type OperatorRouteDeps = OperatorPoolDeps &
  ProblemDeps &
  CustomerActionDeps &
  AccountChangeDeps &
  SourceDeps &
  Pick<RouteContext, 'operatorOf'> & {
    /** Days for which matches are kept; 0: for ever. */
    retention_days: number
    /** The nodes of the lease; null: this is a single node. */
  }

/**
 * `/operator/…`, for operators' keys. It is not part of the public document, which describes the
 * customers' interface: a generated client should have no calls that its key can never make.
 */
export function operator(deps: OperatorRouteDeps) {
  const record = createRecorder(deps)
  return new Elysia({ name: 'operator' })
    .use(operatorPool(deps, record))
    .use(accountChanges(deps, record))
    .use(customerActions(deps, record, deps.operatorOf))
    .use(auditList(deps.db))
    .use(instanceLists(deps.db))
    .use(operatorSources(deps, record))
    .use(system(deps))
}

function system(deps: OperatorRouteDeps) {
  const { db, clock, storage, reads } = deps
  const readActivity = createActivity(deps)
  const started_at = clock.now()
  const started = clock.mono()
  return new Elysia({ name: 'operator house', prefix: '/operator', detail: { hide: true } })
    .get('/problems', () => instanceProblems(deps))
    .get('/activity', ({ query: { period } }) => readActivity(null, period), {
      query: activityQuery,
    })
    .get('/customers/:id', ({ params: { id } }) => oneCustomer(deps, id, clock.now()))
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
      const { trouble, erasure_late: _, ballast, ...disk } = storage()
      const { schema, ...counts } = countSystem(db)
      return {
        version,
        started_at: iso(started_at),
        uptime_s: Math.floor((clock.mono() - started) / 1000),
        reads: reads(),
        counts,
        storage: { trouble, schema, ...disk, ballast },
        relevance: { waiting: measureWaiting(db).waiting, model: toModel(deps.model()) },
      }
    })
}

/** A customer with everything that is its own, without secrets: of an address the host, of a key the prefix. */
function oneCustomer({ db, words }: OperatorRouteDeps, id: string, now: number) {
  const customer = findCustomer(db, id)
  if (customer === null) throw new ApiError('NOT_FOUND', { message: 'there is no such customer' })
  const used = sumUsage(db, id)
  return {
    id,
    name: customer.name,
    plan: customer.plan,
    created_at: iso(customer.created_at),
    unlimited: customer.unlimited,
    credits_remaining: toUsd(customer.balance_micros),
    credits_used: toUsd(used.cost_micros),
    total_requests: used.calls,
    deliveries: countPending(db, id, PENDING_MAX),
    report: toProblemReport(readProblems(db, id, { home: words.home, now })),
    usage: bucketed(listUsage(db, id, now - USAGE_DAYS * DAY_MS, now), 'day').usage,
    keys: listKeys(db, id)
      .filter(({ revoked_at }) => revoked_at === null)
      .map((key) => ({
        id: key.id,
        name: key.name,
        prefix: key.prefix,
        scopes: key.scopes,
        created_at: iso(key.created_at),
        expires_at: iso(key.expires_at),
        last_used_at: iso(key.last_used_at),
      })),
    monitors: listMonitors(db, id).map((monitor) => ({
      id: monitor.id,
      name: monitor.name,
      active: monitor.active,
      pause_reason: monitor.pause_reason,
      cadence_s: monitor.cadence_s,
      created_at: iso(monitor.created_at),
      last_match_at: iso(monitor.last_match_at),
    })),
    webhooks: listWebhooks(db, id).map((webhook) => ({
      id: webhook.id,
      name: webhook.name,
      kind: webhook.kind,
      host: hostOf(webhook.url),
      active: webhook.active,
      paused_at: iso(webhook.paused_at),
      pause_reason: webhook.pause_reason,
      created_at: iso(webhook.created_at),
    })),
  }
}
