import { createApp } from './api/app.ts'
import { hearDeliveries } from './api/dashboard-tally.ts'
import { countAttempt } from './api/metrics-heard.ts'
import { createReadsHealth } from './api/reads-health.ts'
import { createCarrying, receiversOf } from './assembly/carrying.ts'
import { answerScrapes, createEars, hearRequests } from './assembly/heard.ts'
import { createRoutes } from './assembly/routes.ts'
import { createTurns } from './assembly/turns.ts'
import type { Config } from './config/schema.ts'
import { createAllowed } from './core/address.ts'
import type { Plan } from './core/gate.ts'
import { createLinks } from './core/links.ts'
import { linkHosts } from './core/permalink.ts'
import type { AccountState } from './core/pool.ts'
import { createWords } from './core/wire.ts'
import { createDeeds, longestAtPlatform } from './deeds.ts'
import { createSender } from './delivery/sender.ts'
import { createTester } from './delivery/tester.ts'
import { createReads } from './gateway/read.ts'
import { createWatch } from './gateway/watch.ts'
import { createMonitoring } from './monitor/due.ts'
import { createFilters } from './monitor/filters.ts'
import { createSchedule } from './monitor/schedule.ts'
import { createStorage } from './monitor/storage.ts'
import { createGuard } from './net/guard.ts'
import { createSweep } from './net/sweep.ts'
import type { Outside } from './outside.ts'
import { createPool, type Pool } from './pool/pool.ts'
import { recordConfig } from './store/audit-config.ts'
import { hasBallast } from './store/ballast.ts'
import { readDisk } from './store/disk.ts'
import type { Instance } from './store/instance.ts'
import { countSlots } from './store/monitors.ts'
import { customerOfDelivery } from './store/overview.ts'
import { createUpstream } from './upstream.ts'

/** A plan that the configuration no longer has gets nothing new, and keeps what it has at an honest pace. */
const NO_PLAN: Plan = { slots: 0, sitewide_slots: 0, cadence_s: 3600, daily_deliveries: 10_000 }

/** A mail has so many steps that may each take the time-out; a page may be read through another pair of eyes. */
const SEND_STEPS = 4
const LOOK_STEPS = 2

/** What surrounds the parts of one daemon. */
type Around = {
  config: Config
  outside: Outside
  instance: Pick<Instance, 'db' | 'path' | 'boot' | 'instance_id' | 'ring'>
  /** Aborts when the daemon stops. */
  signal: AbortSignal
  /** Wakes a loop. */
  wake: (loop: 'sender' | 'monitor' | 'pool' | 'operator') => void
  /** Notes work of a loop that keeps to `limit_ms` by itself, so that it shows when it does not. */
  expect: <T>(loop: 'sender' | 'monitor', limit_ms: number, work: Promise<T>) => Promise<T>
  /** Where the daemon listens; empty until it does. */
  url: () => string
  /** Told when the daemon cannot go on and must be started again. */
  lost: (reason: 'storage' | 'database_replaced') => void
}

/** Makes every part of the daemon, each from what it needs. Nothing runs yet, and nothing listens. */
export function assemble({ config, outside, instance, signal, wake, expect, url, lost }: Around) {
  const { clock, random } = outside
  const { db, boot, instance_id, ring } = instance
  const receivers = receiversOf(config)
  const { timeout_ms } = receivers
  const around = { config, outside, db, receivers }
  const { operator, metrics, log, tally, requests } = createEars(around, {
    wakeOperator: () => wake('operator'),
  })
  const words = createWords(config.wire)
  const reads_health = createReadsHealth(clock, () => pool.usable())

  const guard = createGuard({ ...outside, allowed: createAllowed(config.guard), timeout_ms })
  // One for what comes in from either side: to free is to free all of it.
  const sweep = createSweep(outside)
  const upstream = createUpstream(
    config,
    { ...outside, log },
    {
      guard,
      signal,
      sweep,
      on_request: hearRequests({ metrics, reads_health, requests, pool: () => pool }),
    },
  )
  const { platform, craft, close } = upstream
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
  const deadline_ms = config.platform.read_deadline_s * 1000
  const gateway = createReads({
    platform,
    eyes_of: pool,
    clock,
    read_deadline_ms: deadline_ms,
    tree_fetches: config.limits.tree_fetches,
    read_cache_ms: config.limits.read_cache_s * 1000,
    on_read: (state) => metrics.count('reads_cache_total', { state }),
    hosts: linkHosts(config.platform),
  })
  const deeds = createDeeds(config, { ...outside, log }, { guard, upstream, eyes_of: pool })

  const public_url = () => config.server.public_url || url()
  const links = createLinks({ ring, words, public_url })
  const { email, send, sealSecret } = createCarrying(
    { ...around, ring, words },
    { guard, links, public_url, clock_offset_ms: platform.clock_offset_ms },
  )
  const nudgeSender = () => wake('sender')
  const watch = createWatch({ platform, eyes_of: pool, clock, deadline_ms })
  const sender = createSender({
    db,
    boot,
    send: (...one) => expect('sender', timeout_ms * SEND_STEPS, send(...one)),
    clock,
    random,
    log: hearDeliveries(log, tally, (id) => customerOfDelivery(db, id)),
    ladder: config.delivery,
    concurrency: config.delivery.concurrency,
    per_target_concurrency: config.delivery.per_target_concurrency,
    pause_after_ms: config.delivery.pause_after_h * 3_600_000,
    nudge: nudgeSender,
    on_attempt: (event) => countAttempt(metrics, event),
  })

  const storage = createStorage({
    db,
    path: instance.path,
    dir: config.storage.dir,
    boot,
    instance_id,
    clock,
    log,
    attempts_max: config.delivery.retry_delays_s.length,
    longest_wait_ms: Math.max(...config.delivery.retry_delays_s) * 1000,
    in_flight: sender.carries,
    snapshots: {
      ...config.upkeep,
      schedule: createSchedule(config.upkeep.snapshots, config.upkeep.time_zone),
    },
    noteConfig: () => recordConfig(db, { config, ring, now: clock.now() }),
    lost,
    signal,
  })

  const storageReport = () => ({
    trouble: storage.trouble(),
    ...readDisk(config.storage.dir, instance.path),
    ballast: hasBallast(config.storage.dir),
    audit: storage.findings(),
  })

  const plan_of = (name: string): Plan => config.plans[name] ?? NO_PLAN
  const monitoring = createMonitoring({
    db,
    boot,
    instance_id,
    words,
    watch: {
      ...watch,
      page: (...one) => expect('monitor', deadline_ms * LOOK_STEPS, watch.page(...one)),
      again: (...one) => expect('monitor', deadline_ms * LOOK_STEPS, watch.again(...one)),
    },
    clock,
    log,
    signal,
    schedule: createSchedule(config.monitor.schedule, config.monitor.time_zone),
    filters: createFilters(db, log, () => clock.mono()),
    plan_of,
    freshness_ms: config.monitor.freshness_s * 1000,
    wake: () => wake('monitor'),
    on_pending: nudgeSender,
    on_written: (status, kind) => metrics.count('deliveries_written_total', { status, kind }),
  })

  const scraped = { metrics, pool, platform, watch, reads_health, storage: storageReport, signal }
  answerScrapes(around, scraped)

  const readers = new AbortController()
  const endStreams = () => readers.abort()
  const { routes, drafting } = createRoutes(
    { config, clock, instance },
    {
      guard,
      platform,
      pool,
      gateway,
      deeds,
      links,
      reads_health,
      requests,
      plan_of,
      sealSecret,
      testTarget: createTester({ db, send, clock, random, words, email }),
      mails: email !== undefined,
      storage: storageReport,
      nudgeMonitors: monitoring.nudge,
      nudgeSender,
      ended: readers.signal,
    },
  )
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
    platform_s: longestAtPlatform(config.platform),
    hosts: config.server.hosts,
    page: async () => (await import('./page/assets.ts')).pageFiles(),
    live: { tally, accounts: () => standing(pool), ended: readers.signal },
    public_url,
    reads_health,
    trouble: () => (signal.aborted ? 'stopping' : null),
    storage_trouble: storage.trouble,
    sweep,
    monitors: ({ id, plan }) => ({ used: countSlots(db, id).used, total: plan_of(plan).slots }),
    routes,
  })
  const { retention_days } = config.storage
  const { checkDue, ...turns } = createTurns(
    {
      db,
      clock,
      log,
      own: outside.own,
      signal,
      sweep,
      clock_offset_ms: watch.clock_offset_ms,
      retention_days,
    },
    { monitoring, pool, operator, storage, nudgeSender, drafting },
  )
  return {
    app,
    sender,
    monitoring: { ...monitoring, checkDue },
    pool,
    storage,
    ...turns,
    close,
    endStreams,
    draftsIdle: async () => drafting()?.idle(),
    /** The log as the numbers and the operator hear it. */
    log,
  }
}

/** How the pool stands, for the operator's page. */
function standing(pool: Pool) {
  const states = pool.list().map(({ state }) => state)
  const of = (state: AccountState) => states.filter((it) => it === state).length
  return { usable: of('ready'), cooling: of('cooling'), needs_login: of('needs_login') }
}
