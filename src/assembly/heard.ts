import { createTally } from '../api/dashboard-tally.ts'
import { askAround, type Asked } from '../api/metrics-asked.ts'
import {
  countEnded,
  hearLog,
  startSeries,
  timeCommits,
  watchLateness,
} from '../api/metrics-heard.ts'
import { createMetrics, type Metrics } from '../api/metrics.ts'
import { createRequestCounts, type RequestCounts } from '../api/operator-requests.ts'
import type { ReadsHealth } from '../api/reads-health.ts'
import type { Config } from '../config/schema.ts'
import { ACCOUNT_STATES } from '../core/pool.ts'
import { STREAM_KINDS } from '../core/stream.ts'
import { createTrusted } from '../delivery/operator-address.ts'
import { createOperator } from '../delivery/operator.ts'
import type { Watch } from '../gateway/watch.ts'
import { createTransport } from '../net/transport.ts'
import type { Outside } from '../outside.ts'
import type { RequestEvent } from '../platform/client.ts'
import type { Forum } from '../platform/forum.ts'
import { ANONYMOUS, type Eyes } from '../platform/platform.ts'
import type { Pool } from '../pool/pool.ts'
import { listAccounts } from '../store/accounts.ts'
import type { Db } from '../store/db.ts'
import type { Receivers } from './carrying.ts'

type Around = { config: Config; outside: Outside; db: Db; receivers: Receivers }

/** Those who hear what happens: the log, through it the operator and the numbers; the dashboard; who counts requests. */
export function createEars(
  { config, outside, db, receivers }: Around,
  { wakeOperator }: { wakeOperator: () => void },
) {
  const { clock } = outside
  const { timeout_ms } = receivers
  const operator = createOperator({
    ...outside,
    ...config.operator,
    db,
    transport: createTransport({
      ...outside,
      ...receivers,
      guard: createTrusted({ ...outside, timeout_ms }),
    }),
    user_agent: config.platform.user_agent,
    nudge: wakeOperator,
  })
  const metrics = createMetrics()
  startSeries(metrics)
  timeCommits(metrics, db, clock)
  countEnded(metrics, db)
  return {
    operator,
    metrics,
    log: hearLog(operator.log, metrics),
    tally: createTally(clock),
    requests: createRequestCounts(clock),
  }
}

type Listeners = {
  metrics: Metrics
  reads_health: ReadsHealth
  requests: RequestCounts
  pool: () => Pick<Pool, 'heard'>
}

/** Passes on how each request to the platform went. */
export const hearRequests =
  ({ metrics, reads_health, requests, pool }: Listeners) =>
  (event: RequestEvent, through: Eyes): void => {
    const { eyes, path_kind, fault, duration_ms } = event
    const whose = eyes.startsWith('caller:') ? 'caller' : 'pool'
    // How a caller's own session fares says nothing of the pool.
    if (whose === 'pool') {
      reads_health.record(fault?.kind ?? null)
      requests.count(eyes, fault?.kind === 'blocked')
    }
    pool().heard(event, through)
    const outcome = fault?.kind ?? 'ok'
    metrics.count('upstream_requests_total', { kind: path_kind, whose, outcome })
    metrics.observe('upstream_request_seconds', duration_ms / 1000)
  }

type Answering = {
  metrics: Metrics
  pool: Pool
  platform: Pick<Forum, 'budget' | 'clock_offset_ms'>
  watch: Pick<Watch, 'clock_measured_ms'>
  reads_health: ReadsHealth
  storage: Asked['storage']
  /** Aborts when the daemon stops. */
  signal: AbortSignal
}

/** Lets a scrape ask for what is not counted as it happens. */
export function answerScrapes(
  { config, outside, db }: Omit<Around, 'receivers'>,
  { metrics, pool, platform, watch, reads_health, storage, signal }: Answering,
): void {
  askAround(metrics, {
    db,
    clock: outside.clock,
    accounts: () => {
      // How they stand is known here before it is written.
      const states = new Map(pool.list().map(({ name, state }) => [name, state]))
      const known = listAccounts(db).map(({ id, name, state }) => ({
        name,
        state: states.get(name) ?? state,
        budget: platform.budget(id),
      }))
      return [...known, { name: '', state: 'anonymous', budget: platform.budget(ANONYMOUS.id) }]
    },
    account_states: ACCOUNT_STATES,
    usable: pool.usable,
    reads: reads_health.state,
    stream_kinds: STREAM_KINDS,
    true_ahead_ms: platform.clock_offset_ms,
    platform_ahead_ms: watch.clock_measured_ms,
    attempts_max: config.delivery.retry_delays_s.length,
    storage,
    read_price: () => config.billing.price_micros.read,
    worst_stall: watchLateness(metrics, outside, signal),
  })
}
