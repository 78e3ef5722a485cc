import type { Pool, Pools } from '../accounts/pool.ts'
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
import type { Config } from '../config/schema.ts'
import type { AccountState } from '../core/accounts/status.ts'
import { HOME } from '../core/forum/items.ts'
import { createOperatorNotifier, createTrustedGuard } from '../delivery/operator.ts'
import { createTransport } from '../net/transport.ts'
import { ANONYMOUS, type Identity } from '../platforms/port.ts'
import type { RequestEvent } from '../platforms/reddit/request.ts'
import type { FileShortage } from '../runtime/file-shortage.ts'
import type { Runtime } from '../runtime/runtime.ts'
import { listAccounts } from '../store/accounts/accounts.ts'
import type { Db } from '../store/db/connection.ts'
import type { Receivers } from './delivery.ts'
import type { ReadySource } from './sources.ts'

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
}

/** Reports the outcome of each request to a source with accounts. */
export const onPlatformRequest =
  ({ metrics, reads_health, files, requests }: Listeners) =>
  (source: string, pool: Pick<Pool, 'onRequest'>, event: RequestEvent, through: Identity): void => {
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
      if (source === HOME) reads_health.record(fault?.kind ?? null)
      requests.count(identity_id, fault?.kind === 'blocked')
    }
    pool.onRequest(event, through)
    const outcome = fault?.kind ?? 'ok'
    metrics.count('upstream_requests_total', { kind: path_kind, identity: owner, outcome })
    metrics.observe('upstream_request_seconds', duration_ms / 1000)
  }

type GaugeDeps = Pick<
  GaugeSources,
  | 'storage'
  | 'bytes_in_flight'
  | 'failing_loops'
  | 'reloads'
  | 'platform_ahead_ms'
  | 'true_ahead_ms'
> & {
  metrics: Metrics
  pools: Pools
  sources: ReadonlyMap<string, ReadySource>
  reads_health: ReadsHealth
  signal: AbortSignal
}

export function connectGauges(
  { config, runtime, db }: Omit<ObserverContext, 'receivers'>,
  { metrics, pools, sources, reads_health, signal, ...others }: GaugeDeps,
): void {
  const home = sources.get(HOME)?.accounts ?? null
  registerGauges(metrics, {
    ...others,
    db,
    clock: runtime.clock,
    fence: runtime.fence,
    accounts: () => {
      // The states in memory are newer than the stored ones.
      const states = new Map(pools.list().map(({ name, state }) => [name, state]))
      const account_rows = listAccounts(db).map(({ id, name, state }) => ({
        name,
        state: states.get(name) ?? state,
        budget: pools.budget(id),
      }))
      const budget = home?.forum.budget(ANONYMOUS) ?? null
      return [...account_rows, { name: '', state: 'anonymous', budget }]
    },
    has_platform: home !== null,
    usable: () => home?.pool.usable() === true,
    unreachable: () => home?.forum.isDown() === true,
    reads: reads_health.state,
    attempts_max: config.delivery.retry_delays_s.length,
    clock_offset_ms: () =>
      home?.forum.isClockKnown() === true ? home.forum.clock_offset_ms() : null,
    read_price: () => config.billing.price_micros.read,
    worst_stall: watchLateness(metrics, runtime, signal),
  })
}

export function accountCounts(pools: Pools) {
  const states = pools.list().map(({ state }) => state)
  const of = (state: AccountState) => states.filter((it) => it === state).length
  return { usable: of('ready'), cooling: of('cooling'), needs_login: of('needs_login') }
}
