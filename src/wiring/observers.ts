import type { Pool } from '../accounts/pool.ts'
import { createTally } from '../api/dashboard/counters.ts'
import {
  countEnded,
  onLog,
  startSeries,
  timeCommits,
  watchLateness,
} from '../api/metrics/counters.ts'
import { type GaugeSources, registerGauges } from '../api/metrics/gauges.ts'
import { createMetrics, type Metrics } from '../api/metrics/registry.ts'
import { createRequestCounts, type RequestCounts } from '../api/operator/accounts.ts'
import type { ReadsHealth } from '../api/status.ts'
import { type Config, homeOf } from '../config/schema.ts'
import type { AccountState } from '../core/accounts/status.ts'
import { createOperatorNotifier, createTrustedGuard } from '../delivery/operator.ts'
import { createTransport } from '../net/transport.ts'
import { ANONYMOUS, type Identity } from '../platforms/port.ts'
import type { Forum } from '../platforms/reddit/adapter.ts'
import type { RequestEvent } from '../platforms/reddit/request.ts'
import type { FileShortage } from '../runtime/file-shortage.ts'
import type { Runtime } from '../runtime/runtime.ts'
import { listAccounts } from '../store/accounts/accounts.ts'
import type { Db } from '../store/db/connection.ts'
import type { Receivers } from './delivery.ts'

type ObserverContext = { config: Config; runtime: Runtime; db: Db; receivers: Receivers }

export function createObservers(
  { config, runtime, db, receivers }: ObserverContext,
  { wakeOperator }: { wakeOperator: () => void },
) {
  const { clock } = runtime
  const { timeout_ms } = receivers
  const operator = createOperatorNotifier({
    ...runtime,
    ...config.operator,
    db,
    transport: createTransport({
      ...runtime,
      ...receivers,
      guard: createTrustedGuard({ ...runtime, timeout_ms }),
    }),
    user_agent: config.requests.user_agent,
    public_url: config.server.public_url,
    nudge: wakeOperator,
  })
  const metrics = createMetrics()
  startSeries(metrics)
  timeCommits(metrics, db, clock)
  countEnded(metrics, db)
  return {
    operator,
    metrics,
    log: onLog(operator.log, metrics),
    tally: createTally(clock),
    requests: createRequestCounts(clock),
  }
}

type Listeners = {
  metrics: Metrics
  reads_health: ReadsHealth
  files: FileShortage
  requests: RequestCounts
  pool: () => Pick<Pool, 'onRequest'>
}

/** Reports the outcome of each request to the platform. */
export const onPlatformRequest =
  ({ metrics, reads_health, files, requests, pool }: Listeners) =>
  (event: RequestEvent, through: Identity): void => {
    const { identity: identity_id, path_kind, fault, duration_ms } = event
    const owner = identity_id.startsWith('caller:') ? 'caller' : 'pool'
    // No request was made: neither the platform nor the account is to blame.
    if (fault?.kind === 'unavailable' && fault.own !== undefined) {
      files.lacking()
      return metrics.count('upstream_requests_total', {
        kind: path_kind,
        identity: owner,
        outcome: fault.own,
      })
    }
    if (event.status !== null) files.enough()
    // A caller's own session proves nothing about the pool.
    if (owner === 'pool') {
      reads_health.record(fault?.kind ?? null)
      requests.count(identity_id, fault?.kind === 'blocked')
    }
    pool().onRequest(event, through)
    const outcome = fault?.kind ?? 'ok'
    metrics.count('upstream_requests_total', { kind: path_kind, identity: owner, outcome })
    metrics.observe('upstream_request_seconds', duration_ms / 1000)
  }

type GaugeDeps = Pick<
  GaugeSources,
  'storage' | 'bytes_in_flight' | 'failing_loops' | 'reloads' | 'platform_ahead_ms'
> & {
  metrics: Metrics
  pool: Pool
  platform: Pick<
    Forum,
    'budget' | 'clock_offset_ms' | 'clock_measured_ms' | 'isClockKnown' | 'isDown'
  >
  reads_health: ReadsHealth
  signal: AbortSignal
}

export function connectGauges(
  { config, runtime, db }: Omit<ObserverContext, 'receivers'>,
  { metrics, pool, platform, reads_health, signal, ...sources }: GaugeDeps,
): void {
  registerGauges(metrics, {
    ...sources,
    db,
    clock: runtime.clock,
    fence: runtime.fence,
    accounts: () => {
      // The states in memory are newer than the stored ones.
      const states = new Map(pool.list().map(({ name, state }) => [name, state]))
      const account_rows = listAccounts(db).map(({ id, name, state }) => ({
        name,
        state: states.get(name) ?? state,
        budget: pool.budget(id),
      }))
      return [...account_rows, { name: '', state: 'anonymous', budget: platform.budget(ANONYMOUS) }]
    },
    has_platform: homeOf(config) !== null,
    usable: pool.usable,
    unreachable: platform.isDown,
    reads: reads_health.state,
    true_ahead_ms: platform.clock_offset_ms,
    attempts_max: config.delivery.retry_delays_s.length,
    clock_offset_ms: () => (platform.isClockKnown() ? platform.clock_measured_ms() : null),
    read_price: () => config.billing.price_micros.read,
    worst_stall: watchLateness(metrics, runtime, signal),
  })
}

export function accountCounts(pool: Pool) {
  const states = pool.list().map(({ state }) => state)
  const of = (state: AccountState) => states.filter((it) => it === state).length
  return { usable: of('ready'), cooling: of('cooling'), needs_login: of('needs_login') }
}
