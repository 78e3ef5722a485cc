import { join } from 'node:path'

import { joinPools } from '../accounts/pool.ts'
import { createApp } from '../api/app.ts'
import { onDeliveries } from '../api/dashboard/counters.ts'
import { failInterrupted } from '../api/drafts/executor.ts'
import { countAttempt } from '../api/metrics/counters.ts'
import { coverageOf } from '../api/monitors/health.ts'
import { createReadsHealth } from '../api/status.ts'
import { createArchive } from '../archive/archive.ts'
import { type Config, homeOf, sourceWords } from '../config/schema.ts'
import { createAllowed } from '../core/base/address.ts'
import type { ErasureReason } from '../core/delivery/envelope.ts'
import { HOME } from '../core/forum/items.ts'
import { createLinks } from '../core/forum/links.ts'
import { createNaming } from '../core/forum/naming.ts'
import { createByteBudget } from '../core/limits/byte-budget.ts'
import { effectiveCadence, type Plan } from '../core/limits/plan.ts'
import { createSender } from '../delivery/sender.ts'
import { createTester } from '../delivery/test-delivery.ts'
import { aheadOf, coverageContext, earliestOf, type Watch } from '../gateway/watch.ts'
import { createAlarms } from '../monitor/maintenance.ts'
import { createFilters } from '../monitor/match.ts'
import { createProjector } from '../monitor/projections.ts'
import { createMonitoring, createSchedule } from '../monitor/scheduler.ts'
import { createStorage } from '../monitor/storage.ts'
import { createEgress } from '../net/egress.ts'
import { createGuard } from '../net/guard.ts'
import { createPatternJudge } from '../patterns/judge.ts'
import { createPatternThread } from '../patterns/thread.ts'
import { createAccessEnds } from '../runtime/access-ends.ts'
import { createFileShortage } from '../runtime/file-shortage.ts'
import type { LoopFailure } from '../runtime/loop.ts'
import type { Runtime } from '../runtime/runtime.ts'
import { recordConfig } from '../store/maintenance/audit.ts'
import { customerOfDelivery } from '../store/maintenance/counts.ts'
import { hasReserveFile, readDisk } from '../store/maintenance/disk.ts'
import type { Instance } from '../store/maintenance/instance.ts'
import { lastSnapshotAt } from '../store/maintenance/snapshots.ts'
import { countSlots } from '../store/monitoring/monitors.ts'
import { createDelivery, receiversOf } from './delivery.ts'
import { createLoops } from './loops.ts'
import { accountCounts, connectGauges, createObservers, onPlatformRequest } from './observers.ts'
import { authority, longestAtPlatform } from './platform.ts'
import { createRelevance } from './relevance.ts'
import { createRoutes } from './routes.ts'
import { endingSoon, sourceEnds } from './source-ends.ts'
import {
  createConnect,
  hostPaceStore,
  type ReadySource,
  refusingSource,
  type SourceChange,
} from './sources.ts'

/**
 * Stands for a plan that was removed from the configuration: no new monitors, and the slowest cadence for existing
 * ones.
 */
const NO_PLAN: Plan = { slots: 0, sitewide_slots: 0, cadence_s: 3600, daily_deliveries: 10_000 }

/** A mail has this many steps, each with its own time-out; a page may be read again through another identity. */
const SEND_STEPS = 4
const MIB = 1024 * 1024

type AssemblyInput = {
  config: Config
  runtime: Runtime
  instance: Pick<Instance, 'db' | 'path' | 'run_id' | 'instance_id' | 'ring'>
  signal: AbortSignal
  wake: (
    loop:
      | 'sender'
      | 'monitor'
      | 'pool'
      | 'operator'
      | 'projections'
      | 'archive'
      | 'relevance'
      | 'storage',
  ) => void
  /** Registers work of a loop that should end within `limit_ms`, so that an overrun is visible. */
  expect: <T>(loop: 'sender' | 'monitor', limit_ms: number, work: Promise<T>) => Promise<T>
  /** The URL on which the daemon listens; empty before that. */
  url: () => string
  /** Called when the daemon cannot go on and must be restarted. */
  lost: (reason: 'storage' | 'database_replaced') => void
  failing_loops: () => LoopFailure[]
}

const isUsable = ({ source, accounts }: ReadySource): boolean =>
  accounts?.pool.usable() !== false && !source.isDown()

/** Creates every part of the daemon from its dependencies. Nothing runs or listens yet. */
export function assemble({
  config,
  runtime,
  instance,
  signal,
  wake,
  expect,
  url,
  lost,
  failing_loops,
}: AssemblyInput) {
  const { clock, random, fence } = runtime
  const { db, run_id, instance_id, ring } = instance
  const receivers = receiversOf(config)
  const { timeout_ms } = receivers
  const shared = { config, runtime, db, receivers }
  const { operator, metrics, log, tally, requests } = createObservers(shared, {
    wakeOperator: () => wake('operator'),
  })
  const words = createNaming(config.wire, sourceWords(config))
  const home = homeOf(config)
  const reads_health = createReadsHealth(clock, () => usable(), log)

  const files = createFileShortage({ clock, log })

  const guard = createGuard({ ...runtime, allowed: createAllowed(config.guard), timeout_ms })
  const ends = createAccessEnds({ clock, log })
  const budget = createByteBudget(() => config.limits.in_flight_mib * MIB)
  const egress = createEgress({ ...runtime, guard, ca: authority(config.requests.ca_file) })
  const source_deps = {
    runtime,
    db,
    ring,
    clock,
    random,
    log,
    guard,
    egress,
    budget,
    signal,
    ends,
    on_request: onPlatformRequest({ metrics, reads_health, files, requests }),
    on_read: (state) => metrics.count('reads_cache_total', { state }),
    on_recovered: () => monitoring.resume(),
    on_row: (source) => metrics.count('source_rows_left_out_total', { source }),
    paceOf: (host) => hostPaceStore({ db, log }, host),
    wakePool: () => wake('pool'),
    expect: (limit_ms, work) => expect('monitor', limit_ms, work),
  } satisfies Parameters<typeof createConnect>[1]
  const connect = createConnect(config, source_deps)
  const sources = new Map<string, ReadySource>()
  const watches = new Map<string, Watch>()
  function hold(it: ReadySource): void {
    sources.set(it.key, it)
    if (it.watch !== null) watches.set(it.key, it.watch)
  }
  for (const it of config.source) hold(connect(it))
  const change_sources: SourceChange = {
    connect,
    start(it) {
      config.source = [...config.source, it.config]
      hold(it)
      for (const group of routesOf(it)) app.use(group)
      app.compile()
      monitoring.followSources()
      wake('monitor')
      wake('pool')
    },
    end(name) {
      if (sources.get(name)?.config.is_added !== true) return
      config.source = config.source.filter((it) => it.name !== name)
      void sources.get(name)?.accounts?.close()
      sources.delete(name)
      watches.delete(name)
      monitoring.followSources()
    },
  }
  const pools = joinPools(
    () =>
      new Map(
        [...sources].flatMap(([key, { accounts }]) =>
          accounts === null ? [] : [[key, accounts.pool] as const],
        ),
      ),
  )
  const first = sources.get(HOME)
  const usable = () => (first === undefined ? [...sources.values()] : [first]).some(isUsable)
  const clock_offset_ms = () => aheadOf(watches)

  const public_url = () => config.server.public_url || url()
  const links = createLinks({ ring, words, public_url })
  const { email, send, sealSecret, openSecret, sealCredentials } = createDelivery(
    { ...shared, ring, words },
    { guard, links, public_url, clock_offset_ms },
  )
  const nudgeSender = () => wake('sender')
  const sender = createSender({
    db,
    run_id,
    send: (...one) => expect('sender', timeout_ms * SEND_STEPS, send(...one)),
    clock,
    random,
    log: onDeliveries(log, tally, (id) => customerOfDelivery(db, id)),
    retry_schedule: config.delivery,
    concurrency: config.delivery.concurrency,
    per_target_concurrency: config.delivery.per_target_concurrency,
    pause_after_ms: config.delivery.pause_after_h * 3_600_000,
    nudge: nudgeSender,
    on_attempt: (event) => countAttempt(metrics, event),
    files,
    fence,
  })

  const storage = createStorage({
    db,
    path: instance.path,
    dir: config.storage.dir,
    instance_id,
    words,
    clock,
    log,
    snapshots: {
      ...config.maintenance,
      snapshots_days: config.retention.snapshots_days,
      schedule: createSchedule(config.maintenance.snapshots, config.maintenance.time_zone),
    },
    nudge: () => wake('storage'),
    noteConfig: () => recordConfig(db, { config, ring, now: clock.now() }),
    lost,
    signal,
  })

  const source_ends = sourceEnds(config)
  const last_reload = { ok: true, at: clock.now() }
  const storageReport = () => ({
    trouble: storage.trouble(),
    erasure_late: storage.erasureLate(),
    ...readDisk(config.storage.dir, instance.path),
    ballast: hasReserveFile(config.storage.dir),
    snapshot_at: lastSnapshotAt(join(config.storage.dir, 'snapshots')),
  })

  const patterns = createPatternJudge(clock, createPatternThread(clock))
  signal.addEventListener('abort', patterns.stop, { once: true })

  const archive = createArchive({
    db,
    dir: config.storage.dir,
    clock,
    log,
    words: { ...config.wire, ...sourceWords(config) },
    settings: config.archive,
    clock_offset_ms,
    signal,
  })
  const { keep } = config.archive

  const plan_of = (name: string): Plan => config.plans[name] ?? NO_PLAN
  const noteErased = (reasons: readonly ErasureReason[]): void => {
    for (const reason of reasons) metrics.count('items_erased_total', { reason })
    // An answer in the cache may hold an erased item, and which one does is not known.
    for (const { reads } of sources.values()) reads.forget()
  }
  const monitoring = createMonitoring({
    db,
    instance_id,
    words,
    watches,
    ends,
    clock,
    log,
    signal,
    schedule: createSchedule(config.monitor.schedule, config.monitor.time_zone),
    filters: createFilters(db, log, patterns.verdicts),
    patterns,
    plan_of,
    freshness_ms: config.monitor.freshness_s * 1000,
    audit_interval_s: config.monitor.audit_interval_s,
    source_bytes_per_day: () => config.limits.source_mib_per_day * MIB,
    wake: () => wake('monitor'),
    archive: keep === 'nothing' ? undefined : { keep, on_queued: () => wake('archive') },
    recheck_share: config.retention.recheck_share,
    on_erased: noteErased,
    on_pending: nudgeSender,
    // A daemon that ends begins no further attempt.
    claim: (written) => (signal.aborted ? 0 : sender.claimWithin(written)),
    on_messages: () => wake('projections'),
    on_waiting: () => wake('relevance'),
    on_written: (status, kind) => metrics.count('deliveries_written_total', { status, kind }),
  })

  const judging = createRelevance(
    { config, runtime, words, guard, metrics },
    {
      db,
      instance_id,
      watches,
      plan_of,
      log,
      signal,
      on_pending: nudgeSender,
      wake: () => wake('relevance'),
    },
  )

  connectGauges(shared, {
    metrics,
    pools,
    sources,
    true_ahead_ms: clock_offset_ms,
    platform_ahead_ms: () => earliestOf(watches),
    reads_health,
    storage: storageReport,
    bytes_in_flight: budget.used,
    failing_loops,
    reloads: () => last_reload,
    signal,
  })

  const view = {
    ahead_ms: () => earliestOf(watches),
    partialFor: (source: string, places: readonly string[]) =>
      watches.get(source)?.partialFor(places) ?? null,
  }
  const failing = () => failing_loops().map(({ loop }) => loop)
  const readers = new AbortController()
  const endStreams = () => readers.abort()
  const { routes, routesOf } = createRoutes(
    { config, clock, instance },
    {
      budget,
      random,
      runtime: { ...runtime, log },
      guard,
      pools,
      patterns,
      archive,
      egress,
      sources,
      change_sources,
      watches,
      view,
      refusing: refusingSource(config, source_deps),
      links,
      public_url,
      reads_health,
      requests,
      plan_of,
      sealSecret,
      openSecret,
      sealCredentials,
      testTarget: createTester({ db, send, clock, random, words, email }),
      mails: email !== undefined,
      storage: storageReport,
      failing_loops: failing,
      notifyOperator: operator.notify,
      nudgeMonitors: monitoring.nudge,
      nudgeSender,
      nudgeRelevance: () => wake('relevance'),
      model: judging.report,
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
    sources: () => config.source.map(({ name }) => name),
    platform_s: longestAtPlatform(config.requests),
    hosts: config.server.hosts,
    has_accounts: home !== null,
    page: async () => (await import('../page/assets.ts')).pageFiles(),
    live: { tally, accounts: () => accountCounts(pools), ended: readers.signal },
    public_url,
    reads_health,
    access_log: () => config.log.access,
    trouble() {
      if (signal.aborted) return 'stopping'
      return files.isLacking() ? 'out_of_files' : null
    },
    failing_loops: failing,
    storage_failing: storage.trouble,
    retention_days: config.retention.days,
    ends: () => endingSoon(source_ends, clock.now()),
    is_primary: fence !== undefined,
    monitors: ({ id, plan }) => ({
      used: countSlots(db, id).used,
      total: plan_of(plan).slots,
      cadence_s: effectiveCadence(plan_of(plan), null),
    }),
    view,
    budget,
    routes,
  })
  const { checkDue, ...turns } = createLoops(
    {
      db,
      clock,
      log,
      signal,
      clock_offset_ms,
      retention_days: config.retention.days,
      archive_days: keep === 'nothing' ? 0 : config.archive.days,
      feedback_days: () => config.limits.feedback_days,
      ends: source_ends,
      coverage: () => coverageContext(watches),
    },
    {
      monitoring,
      checkAlarms: createAlarms({
        db,
        instance_id,
        clock,
        log,
        clock_offset_ms,
        isDegraded: (monitor) =>
          coverageOf({ db, log, watches }, monitor, clock.now()).coverage.status === 'degraded',
        on_pending: nudgeSender,
      }),
      pools,
      operator,
      storage,
      nudgeSender,
    },
  )
  const projections = createProjector({
    db,
    clock,
    words,
    clock_offset_ms,
    on_read: () => wake('archive'),
  })
  return {
    app,
    sender,
    projections,
    monitoring: { ...monitoring, checkDue },
    pools,
    storage,
    archive,
    judging,
    ...turns,
    async close() {
      egress.close()
      for (const { accounts } of sources.values()) await accounts?.close()
    },
    endStreams,
    failInterrupted: () => failInterrupted(db, words, log),
    noteReload: (ok: boolean) => void Object.assign(last_reload, { ok }, ok && { at: clock.now() }),
    /** The log, as metrics and operator events observe it. */
    log,
  }
}
