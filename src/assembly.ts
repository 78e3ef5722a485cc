import { createApp, type Infra } from './api/app.ts'
import { deliveries } from './api/deliveries.ts'
import { createMetrics, type Metrics } from './api/metrics.ts'
import { monitors } from './api/monitors.ts'
import { createReadsHealth } from './api/reads-health.ts'
import { reads } from './api/reads/reads.ts'
import { webhooks } from './api/webhooks.ts'
import { writes } from './api/writes/writes.ts'
import type { Config } from './config.ts'
import { createAllowed } from './core/address.ts'
import type { Plan } from './core/gate.ts'
import { IMAGE_BYTES_MAX } from './core/image-kind.ts'
import { ACCOUNT_STATES } from './core/pool.ts'
import { createWords } from './core/wire.ts'
import { createTrusted } from './delivery/operator-address.ts'
import { createOperator } from './delivery/operator.ts'
import { createSend } from './delivery/send.ts'
import { createSender } from './delivery/sender.ts'
import { createTester } from './delivery/tester.ts'
import { createSignIn } from './gateway/act-login.ts'
import { createActing } from './gateway/act.ts'
import { createReads } from './gateway/read.ts'
import { createWatch } from './gateway/watch.ts'
import { createMonitoring } from './monitor/due.ts'
import { createFilters } from './monitor/filters.ts'
import { createSchedule } from './monitor/schedule.ts'
import { createStallWatch } from './monitor/stalls.ts'
import { createUpkeep } from './monitor/upkeep.ts'
import { createDownload } from './net/download.ts'
import { createGuard } from './net/guard.ts'
import { createProxyGuard } from './net/proxy-guard.ts'
import { createTransport } from './net/transport.ts'
import type { Outside } from './outside.ts'
import { BROWSER_SCHEMES } from './platform/browser/browser.ts'
import { createPool, type Pool } from './pool/pool.ts'
import type { Instance } from './store/instance.ts'
import { countSlots } from './store/monitors.ts'
import { authority, createUpstream } from './upstream.ts'

/** What each number of `/metrics` means. */
const METRICS_HELP = {
  http_requests_total: 'Calls answered, by route and status.',
  http_request_seconds: 'From the arrival of a call to its answer.',
  reads_cache_total: 'Reads of what everybody sees, by where the answer came from.',
  upstream_requests_total: 'Requests to the platform, by kind and how they ended.',
  upstream_request_seconds: 'Requests to the platform, from asking to the last byte.',
}

/** A plan that the configuration no longer has gets nothing new, and keeps what it has at an honest pace. */
const NO_PLAN: Plan = { slots: 0, sitewide_slots: 0, cadence_s: 3600, daily_deliveries: 10_000 }

/** A caller waits while a place is looked up for its monitor. */
const LOOKUP_DEADLINE_MS = 10_000
/** A page takes longer than a request: a browser has to start, to open it, and to type. */
const BROWSER_DEADLINE_MS = 60_000

/** What a target's sealed secret is bound to. */
const secretPlace = (webhook_id: string) => `webhooks.secret:${webhook_id}`

/** What surrounds the parts of one daemon. */
type Around = {
  config: Config
  outside: Outside
  instance: Pick<Instance, 'db' | 'boot' | 'instance_id' | 'ring'>
  /** Aborts when the daemon stops. */
  signal: AbortSignal
  /** Wakes a loop. */
  wake: (loop: 'sender' | 'monitor' | 'pool' | 'operator') => void
  /** Where the daemon listens; empty until it does. */
  url: () => string
}

/** Makes every part of the daemon, each from what it needs. Nothing runs yet, and nothing listens. */
export function assemble({ config, outside, instance, signal, wake, url }: Around) {
  const { clock, random } = outside
  const { db, boot, instance_id, ring } = instance
  const timeout_ms = config.delivery.timeout_s * 1000
  const ca = authority(config.delivery.ca_file)
  const receivers = { timeout_ms, ...(ca !== undefined && { ca }) }
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
    nudge: () => wake('operator'),
  })
  const { log } = operator
  const words = createWords(config.wire)
  const metrics = createMetrics(METRICS_HELP)
  const reads_health = createReadsHealth(clock, () => pool.usable())

  const guard = createGuard({ ...outside, allowed: createAllowed(config.guard), timeout_ms })
  const { platform, craft, login, browser_login, browser_comment, close } = createUpstream(
    config,
    { ...outside, log },
    {
      guard,
      signal,
      on_request: (event) => {
        const { eyes, path_kind, fault, duration_ms } = event
        // How a caller's own session fares says nothing of the pool.
        if (!eyes.startsWith('caller:')) reads_health.record(fault?.kind ?? null)
        pool.heard(event)
        metrics.count('upstream_requests_total', { kind: path_kind, outcome: fault?.kind ?? 'ok' })
        metrics.observe('upstream_request_seconds', duration_ms / 1000)
      },
    },
  )
  const pool: Pool = createPool({
    db,
    ring,
    clock,
    log,
    craft,
    allow_anonymous: config.pool.allow_anonymous,
    signal,
    nudge: () => wake('pool'),
  })
  measure(metrics, pool)
  const deadline_ms = config.platform.read_deadline_s * 1000
  const gateway = createReads({
    platform,
    eyes_of: pool,
    clock,
    read_deadline_ms: deadline_ms,
    tree_fetches: config.limits.tree_fetches,
    read_cache_ms: config.limits.read_cache_s * 1000,
    on_read: (state) => metrics.count('reads_cache_total', { state }),
    base_url: config.platform.base_url,
    link_hosts: config.platform.link_hosts,
    short_link_hosts: config.platform.short_link_hosts,
  })
  const acting_by = {
    eyes_of: pool,
    clock,
    deadline_ms,
    browser_deadline_ms: Math.max(deadline_ms, BROWSER_DEADLINE_MS),
  }
  const deeds = {
    acting: createActing({
      ...acting_by,
      acts: platform.acts,
      browser_comment,
      hosts: {
        link: [new URL(config.platform.base_url).host, ...config.platform.link_hosts],
        short: config.platform.short_link_hosts,
      },
    }),
    signIn: createSignIn({ ...acting_by, login, browser_login, browser_schemes: BROWSER_SCHEMES }),
    loadPicture: createDownload({
      ...outside,
      guard,
      user_agent: config.platform.user_agent,
      timeout_ms: config.platform.timeout_s * 1000,
      bytes_max: IMAGE_BYTES_MAX,
    }),
  }

  const send = createSend({
    transport: createTransport({ ...outside, ...receivers, guard }),
    clock,
    clock_offset_ms: platform.clock_offset_ms,
    openSecret: (id, sealed) => ring.unseal(secretPlace(id), sealed),
    showing: { community: words.community, media_hosts: config.platform.media_hosts },
    user_agent: config.platform.user_agent,
  })
  const nudgeSender = () => wake('sender')
  const sender = createSender({
    db,
    boot,
    send,
    clock,
    random,
    log,
    ladder: config.delivery,
    concurrency: config.delivery.concurrency,
    per_target_concurrency: config.delivery.per_target_concurrency,
    pause_after_ms: config.delivery.pause_after_h * 3_600_000,
    nudge: nudgeSender,
  })

  const plan_of = (name: string): Plan => config.plans[name] ?? NO_PLAN
  const monitoring = createMonitoring({
    db,
    boot,
    instance_id,
    words,
    watch: createWatch({ platform, eyes_of: pool, clock, deadline_ms }),
    clock,
    log,
    signal,
    schedule: createSchedule(config.monitor.schedule, config.monitor.time_zone),
    filters: createFilters(db, log),
    plan_of,
    freshness_ms: config.monitor.freshness_s * 1000,
    wake: () => wake('monitor'),
    on_pending: nudgeSender,
  })

  const sessions = {
    session_cookie: config.platform.session_cookie,
    guardProxy: createProxyGuard(guard),
  }
  const routes = (infra: Infra) => [
    ...writes(infra, deeds, { ...sessions, db, ring, browser_schemes: BROWSER_SCHEMES }),
    ...reads(infra, gateway, {
      ...config.limits,
      ...sessions,
      degraded: () => reads_health.state() === 'degraded',
    }),
    monitors(infra, {
      db,
      watch: createWatch({ platform, eyes_of: pool, clock, deadline_ms: LOOKUP_DEADLINE_MS }),
      plan_of,
      nudge: monitoring.nudge,
    }),
    webhooks(infra, {
      db,
      sealSecret: (id, secret) => ring.seal(secretPlace(id), secret),
      checkTarget: async (target) => {
        const guarded = await guard(target)
        return guarded.ok ? null : guarded.refusal
      },
      testTarget: createTester({ db, send, clock, random, words }),
      nudge: nudgeSender,
    }),
    deliveries(infra, db, nudgeSender),
  ]
  const app = createApp({
    db,
    clock,
    random,
    log,
    words,
    limits: config.limits,
    billing: { enabled: config.billing.enabled, prices: config.billing.price_micros },
    health_cache_s: config.limits.health_cache_s,
    metrics,
    metrics_token: config.metrics.token,
    trusted_proxies: config.server.trusted_proxies,
    features: config.features,
    public_url: () => config.server.public_url || url(),
    reads_health,
    trouble: () => (signal.aborted ? 'stopping' : null),
    monitors: ({ id, plan }) => ({ used: countSlots(db, id).used, total: plan_of(plan).slots }),
    routes,
  })
  const stalls = createStallWatch({ db, clock, log })
  const tellOperator = () => {
    stalls()
    return operator.turn()
  }
  const upkeep = createUpkeep({ db, clock })
  return { app, sender, monitoring, pool, tellOperator, upkeep, close }
}

/** How the pool stands, for the operator's graphs. */
function measure(metrics: Metrics, pool: Pool) {
  metrics.gauge('pool_accounts', 'Accounts of the pool, by state.', () => {
    const accounts = pool.list()
    return ACCOUNT_STATES.map((state) => [
      { state },
      accounts.filter((it) => it.state === state).length,
    ])
  })
  metrics.gauge('pool_headroom', 'Requests that may leave through the pool at once.', () =>
    pool.list().reduce((sum, { requests }) => sum + requests, 0),
  )
}
