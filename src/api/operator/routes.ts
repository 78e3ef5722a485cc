import { Elysia } from 'elysia'

import { version } from '../../../package.json'
import { iso } from '../../core/base/time.ts'
import { countSystem } from '../../store/maintenance/counts.ts'
import { measureWaiting } from '../../store/relevance/judgements.ts'
import { activityQuery, createActivity } from '../account/activity.ts'
import type { RouteContext } from '../context.ts'
import { toModel } from '../monitors/relevance.ts'
import { type AccountChangeDeps, accountChanges } from './account-changes.ts'
import type { OperatorPoolDeps } from './accounts.ts'
import type { ActionDeps } from './action.ts'
import { auditList, createRecorder } from './actions.ts'
import { operatorActions } from './commands.ts'
import { instanceLists } from './lists.ts'
import { instanceProblems, type ProblemDeps } from './problems.ts'
import { operatorSources, type SourceDeps } from './sources.ts'

export type OperatorRouteDeps = OperatorPoolDeps &
  ProblemDeps &
  ActionDeps &
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
    .use(accountChanges(deps, record))
    .use(operatorActions(deps, record, deps.operatorOf))
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
    .get('/plans', () => {
      const { names, default_plan } = deps.plans()
      return { plans: names, default_plan }
    })
    .get('/problems', () => instanceProblems(deps))
    .get('/activity', ({ query: { period } }) => readActivity(null, period), {
      query: activityQuery,
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
