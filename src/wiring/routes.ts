import type { AnyElysia } from 'elysia'

import type { Pools } from '../accounts/pool.ts'
import { createProbe } from '../accounts/probe.ts'
import { feedback } from '../api/account/feedback.ts'
import type { MonitorView } from '../api/account/problems.ts'
import { archiveRoutes } from '../api/archive/routes.ts'
import type { RouteContext } from '../api/context.ts'
import { createDraftExecutor } from '../api/drafts/executor.ts'
import { drafts } from '../api/drafts/routes.ts'
import { sourcePath } from '../api/http/routes.ts'
import { inboxContext } from '../api/inbox/context.ts'
import { inboxMute } from '../api/inbox/mute.ts'
import { inbox } from '../api/inbox/routes.ts'
import { atomFeed, atomFeedUrl } from '../api/matches/atom.ts'
import { deliveries } from '../api/matches/deliveries.ts'
import { items } from '../api/matches/pull.ts'
import { deliveryRequest } from '../api/matches/request.ts'
import { sse } from '../api/matches/sse.ts'
import { mcpRoute } from '../api/mcp.ts'
import type { MonitorDeps } from '../api/monitors/edit.ts'
import { createPreviewPace, preview } from '../api/monitors/preview.ts'
import { monitors } from '../api/monitors/routes.ts'
import { why } from '../api/monitors/why.ts'
import { operator as operatorRoutes, type OperatorRouteDeps } from '../api/operator/routes.ts'
import { commentReads } from '../api/reads/comments.ts'
import { communityReads, directoryReads } from '../api/reads/communities.ts'
import { createReadContext, type ReadsOptions } from '../api/reads/context.ts'
import { ownReads } from '../api/reads/own.ts'
import { postReads } from '../api/reads/posts.ts'
import { searchReads } from '../api/reads/search.ts'
import { sourceReads } from '../api/reads/sources.ts'
import { userReads } from '../api/reads/users.ts'
import type { ReadsHealth } from '../api/status.ts'
import { confirmPage, unsubscribePage } from '../api/webhooks/mail-consent.ts'
import { type WebhookDeps, webhooks } from '../api/webhooks/routes.ts'
import { commentWrites } from '../api/writes/comments.ts'
import { type Connectable, connectPage } from '../api/writes/connect.ts'
import { createWriteContext, type WritesOptions } from '../api/writes/context.ts'
import { loginWrite } from '../api/writes/login.ts'
import { messageWrites } from '../api/writes/messages.ts'
import { type LoadPicture, profileWrites } from '../api/writes/profile.ts'
import { voteWrites } from '../api/writes/votes.ts'
import type { Archive } from '../archive/archive.ts'
import { apiKeyOf, type Config, homeOf, sourceKey } from '../config/schema.ts'
import { HOME } from '../core/forum/items.ts'
import type { Links } from '../core/forum/links.ts'
import { IMAGE_BYTES_MAX } from '../core/forum/writes.ts'
import type { ByteBudget } from '../core/limits/byte-budget.ts'
import type { Plan } from '../core/limits/plan.ts'
import type { ModelReport } from '../core/relevance/judgement.ts'
import type { Reads } from '../gateway/reads.ts'
import { createPreviewSource } from '../gateway/sampling.ts'
import { aheadOf, type Watches } from '../gateway/watch.ts'
import { createDownload } from '../net/download.ts'
import type { Egress } from '../net/egress.ts'
import { createCheck, createProxyGuard, type Guard } from '../net/guard.ts'
import type { PatternJudge } from '../patterns/judge.ts'
import { BROWSER_SCHEMES } from '../platforms/reddit/browser/browser.ts'
import type { Clock, Random, Runtime } from '../runtime/runtime.ts'
import { openSourceAccount } from '../store/accounts/sources.ts'
import { changeInbox } from '../store/inbox/actions.ts'
import type { Instance } from '../store/maintenance/instance.ts'
import { endOf, sourceEnds } from './source-ends.ts'
import {
  createSourceDesk,
  listSources,
  operatedSources,
  type ReadySource,
  type SourceChange,
} from './sources.ts'

/** The routes of the reads. */
export function reads(
  route_context: RouteContext,
  gateway: Reads,
  options: ReadsOptions,
): AnyElysia[] {
  const context = createReadContext(route_context, options)
  return [
    postReads,
    searchReads,
    commentReads,
    userReads,
    communityReads,
    directoryReads,
    ownReads,
  ].map((group) => group(context, gateway))
}

const apiOf = (words: RouteContext['words'], { key, name }: Served): string =>
  key === HOME ? words.api : sourcePath(words, name)

type WriteActions = ReadySource['writes'] & {
  /** Fetches a picture by the URL that a caller named, through the guard. */
  loadPicture: LoadPicture
}

type Served = Pick<ReadySource, 'key' | 'name' | 'source' | 'reads' | 'writes' | 'accounts'>

export function writes(
  route_context: RouteContext,
  write_actions: WriteActions,
  options: WritesOptions,
): AnyElysia[] {
  const context = createWriteContext(route_context, options)
  return [
    loginWrite(context, write_actions.signIn),
    commentWrites(context, write_actions.acting),
    voteWrites(context, write_actions.acting),
    messageWrites(context, write_actions.acting),
    profileWrites(context, write_actions.acting, write_actions.loadPicture),
  ]
}

type RoutesInput = {
  config: Config
  clock: Clock
  instance: Pick<Instance, 'db' | 'instance_id' | 'ring'>
}

/** Dependencies of the routes that the API cannot import, and its callbacks. */
type Parts = Pick<WebhookDeps, 'sealSecret' | 'openSecret' | 'sealCredentials' | 'testTarget'> &
  Pick<OperatorRouteDeps, 'storage' | 'requests' | 'failing_loops'> & {
    /** Counts what is held in memory for calls. */
    budget: ByteBudget
    random: Pick<Random, 'uuid'>
    runtime: Runtime
    guard: Guard
    pools: Pools
    patterns: PatternJudge
    archive: Archive
    sources: ReadonlyMap<string, ReadySource>
    change_sources: SourceChange
    egress: Egress
    watches: Watches
    view: MonitorView
    /** Stand-in where there is no source with accounts. */
    refusing: Pick<ReadySource, 'source' | 'reads' | 'writes'>
    links: Links
    public_url: () => string
    reads_health: ReadsHealth
    plan_of: (name: string) => Plan
    mails: boolean
    notifyOperator: (event: string, fields: Readonly<Record<string, unknown>>) => void
    nudgeMonitors: () => void
    nudgeRelevance: () => void
    model: () => ModelReport | null
    nudgeSender: () => void
    /** Aborts when event streams have to end. */
    ended: AbortSignal
  }

/** The daemon's groups of routes, and the executor of drafts behind some of them once they are created. */
export function createRoutes({ config, clock, instance }: RoutesInput, parts: Parts) {
  const { db, instance_id, ring } = instance
  const { guard, pools, links, reads_health, sources, watches } = parts
  const home = homeOf(config)
  const sessions = {
    session_cookie: home?.session_cookie ?? '',
    guardProxy: createProxyGuard(guard),
  }
  const write_options = {
    ...sessions,
    db,
    ring,
    browser_schemes: BROWSER_SCHEMES,
    commented: (by: { customer_id: string; key_id: string }, item_id: string) =>
      void changeInbox(
        db,
        { ...by, id: `act_${parts.random.uuid()}`, now: clock.now() },
        { ids: [item_id] },
        { state: 'answered' },
        'answered',
      ),
  }
  const loadPicture = createDownload({
    ...parts.runtime,
    guard,
    user_agent: config.requests.user_agent,
    timeout_ms: config.requests.timeout_s * 1000,
    bytes_max: IMAGE_BYTES_MAX,
  })
  const preview_deps = {
    patterns: parts.patterns,
    sampling: createPreviewSource({ watches, clock, budget: parts.budget }),
    watches,
    pace: createPreviewPace(clock),
    ahead_ms: () => aheadOf(watches),
    backtest: {
      db,
      archive: parts.archive,
      plan_of: parts.plan_of,
      watches,
    },
  }
  const monitor_deps: MonitorDeps = {
    db,
    patterns: parts.patterns,
    watches,
    plan_of: parts.plan_of,
    model: parts.model,
    nudge() {
      parts.nudgeMonitors()
      // Changed quiet hours may release deliveries, and changed relevance rules matches.
      parts.nudgeSender()
      parts.nudgeRelevance()
    },
    feed_url: (id) => atomFeedUrl({ db, links }, id),
  }
  const freshness_ms = config.monitor.freshness_s * 1000
  let context_of_routes: RouteContext | null = null
  const ends = sourceEnds(config)
  const endedOn = (source: string) => endOf(ends, source, clock.now())
  const connectables = new Map<string, Connectable>()
  const credentials = new Map<string, (() => string | null) | null>()
  /** The routes of a source below its own path; {@link HOME} has no such path. */
  function routesOf(route_context: RouteContext, it: Served): AnyElysia[] {
    const { key, name, source, accounts } = it
    const is_home = key === HOME
    const words = { ...route_context.words, api: apiOf(route_context.words, it) }
    const context = { ...route_context, words }
    const key_of_file = () => {
      const own = sources.get(key)?.config
      return own === undefined ? null : apiKeyOf(own) || null
    }
    if (!is_home)
      credentials.set(
        name,
        accounts === null ? () => openSourceAccount(db, ring, name) ?? key_of_file() : null,
      )
    const { comment, vote, dm } = config.features
    if (source.authorization !== null && (comment || vote || dm))
      connectables.set(name, { url: source.url, ...source.authorization })
    const { capabilities } = source
    const acted = { name, capabilities, has_sessions: accounts !== null }
    return [
      ...writes(
        context,
        { ...it.writes, loadPicture },
        { ...write_options, source: is_home && accounts !== null ? null : acted },
      ),
      ...reads(context, it.reads, {
        ...sessions,
        limits: config.limits,
        endedOn,
        degraded: () => is_home && reads_health.state() === 'degraded',
        source: is_home ? null : name,
        has_names_of_home: source.has_names_of_home,
      }),
    ]
  }
  const executorOf = (route_context: RouteContext) =>
    createDraftExecutor(route_context, {
      db,
      delegate: (source, name) => pools.delegate(sourceKey(config, source ?? HOME), name),
      sources: credentials,
    })
  function routesOfAll(route_context: RouteContext) {
    context_of_routes = route_context
    const served: Served[] = [...sources.values()]
    if (home === null) served.push({ key: HOME, name: HOME, accounts: null, ...parts.refusing })
    return served.flatMap((it) => routesOf(route_context, it))
  }
  const routes = (route_context: RouteContext) => [
    ...routesOfAll(route_context),
    drafts(route_context, { db, executor: executorOf(route_context) }),
    mcpRoute(route_context, {
      open: async (document) => (await import('../mcp/server.ts')).createMcpHttp(document),
    }),
    sourceReads(route_context, () => listSources(config, sources)),
    monitors(route_context, monitor_deps),
    webhooks(route_context, {
      db,
      sealSecret: parts.sealSecret,
      openSecret: parts.openSecret,
      sealCredentials: parts.sealCredentials,
      checkTarget: createCheck(guard),
      testTarget: parts.testTarget,
      mails: parts.mails,
      nudge: parts.nudgeSender,
    }),
    items(route_context, db),
    inbox(route_context, monitor_deps),
    inboxMute(route_context, monitor_deps),
    inboxContext(route_context, db),
    sse(route_context, { db, ended: parts.ended }),
    atomFeed(route_context, { db, links, budget: parts.budget }),
    confirmPage({ db, links }),
    connectPage({
      words: route_context.words,
      clock,
      random: route_context.random,
      public_url: parts.public_url,
      networkOf: route_context.networkOf,
      sources: connectables,
    }),
    unsubscribePage({ db, links }),
    ...deliveries(route_context, db, parts.nudgeSender),
    deliveryRequest(route_context, {
      db,
      openSecret: parts.openSecret,
      user_agent: config.requests.user_agent,
      clock_offset_ms: () => aheadOf(watches),
    }),
    feedback(route_context, { db, limits: config.limits, notify: parts.notifyOperator }),
    operatorRoutes({
      db,
      words: route_context.words,
      ring,
      clock,
      log: route_context.log,
      random: route_context.random,
      operatorOf: route_context.operatorOf,
      checkOf(name) {
        const key = sourceKey(config, name ?? HOME)
        const found = sources.get(key)
        if (found?.accounts == null || found.config.kind !== 'reddit') return null
        const { token_url, api_url } = found.config
        return {
          key,
          name: found.name,
          oauth: token_url !== '' && api_url !== '',
          ...createProbe({ ...found.accounts, clock }),
        }
      },
      plans: () => ({
        names: Object.keys(config.plans),
        default_plan: config.billing.default_plan,
      }),
      starting_credit_micros: config.billing.starting_credit_micros,
      drafts: executorOf(route_context),
      tryProxy(proxy) {
        const accounts = sources.get(sourceKey(config, HOME))?.accounts ?? null
        return accounts && createProbe({ ...accounts, clock }).tryProxy(proxy)
      },
      public_url: parts.public_url,
      pool: pools,
      requests: parts.requests,
      allow_anonymous: home?.accounts.allow_anonymous ?? false,
      nudgeSender: parts.nudgeSender,
      view: parts.view,
      storage: parts.storage,
      reads: reads_health.state,
      model: parts.model,
      failing_loops: parts.failing_loops,
      read_price_micros: config.billing.enabled ? config.billing.price_micros.read : null,
      retention_days: config.retention.days,
      sources: () => operatedSources(config, sources),
      source_desk: createSourceDesk(config, {
        clock,
        random: route_context.random,
        guard,
        sources,
        egress: parts.egress,
        change: parts.change_sources,
      }),
    }),
    archiveRoutes(route_context, { db, archive: parts.archive, patterns: parts.patterns }),
    preview(route_context, preview_deps),
    why(route_context, { ...preview_deps, db, instance_id, freshness_ms }),
  ]
  return {
    routes,
    routesOf: (ready: Served) =>
      context_of_routes === null ? [] : routesOf(context_of_routes, ready),
  }
}
