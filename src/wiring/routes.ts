import type { AnyElysia } from 'elysia'

import type { Pool } from '../accounts/pool.ts'
import { feedback } from '../api/account/feedback.ts'
import type { MonitorView } from '../api/account/problems.ts'
import { archiveRoutes } from '../api/archive/routes.ts'
import type { RouteContext } from '../api/context.ts'
import { createDraftExecutor, type DraftExecutor } from '../api/drafts/executor.ts'
import { drafts, operatorDrafts } from '../api/drafts/routes.ts'
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
import { apiKeyOf, type Config, homeOf } from '../config/schema.ts'
import type { Links } from '../core/forum/links.ts'
import type { ByteBudget } from '../core/limits/byte-budget.ts'
import type { Plan } from '../core/limits/plan.ts'
import type { ModelReport } from '../core/relevance/judgement.ts'
import type { LoginSuccess, SignInRequest } from '../gateway/login.ts'
import type { Reads } from '../gateway/reads.ts'
import { createPreviewSource } from '../gateway/sampling.ts'
import { createWatch } from '../gateway/watch.ts'
import type { Watches } from '../gateway/watches.ts'
import { type AccountWrites, createSourceSignIn, createSourceWrites } from '../gateway/writes.ts'
import { createCheck, createProxyGuard, type Guard } from '../net/guard.ts'
import type { PatternJudge } from '../patterns/judge.ts'
import type { Forum } from '../platforms/reddit/adapter.ts'
import { BROWSER_SCHEMES } from '../platforms/reddit/browser/browser.ts'
import type { Clock, Random } from '../runtime/runtime.ts'
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

export type WriteActions = {
  acting: AccountWrites
  signIn: (request: SignInRequest) => Promise<LoginSuccess>
  /** Fetches a picture by the URL that a caller named, through the guard. */
  loadPicture: LoadPicture
}

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

/** The caller waits while a place is looked up for its monitor. */
const LOOKUP_DEADLINE_MS = 10_000

type RoutesInput = {
  config: Config
  clock: Clock
  instance: Pick<Instance, 'db' | 'instance_id' | 'ring'>
}

/** Dependencies of the routes that the API cannot import, and its callbacks. */
type Parts = Pick<WebhookDeps, 'sealSecret' | 'openSecret' | 'sealCredentials' | 'testTarget'> &
  Pick<OperatorRouteDeps, 'storage' | 'requests' | 'failing_loops' | 'session_check'> & {
    /** Counts what is held in memory for calls. */
    budget: ByteBudget
    random: Pick<Random, 'uuid'>
    guard: Guard
    platform: Forum
    pool: Pool
    patterns: PatternJudge
    archive: Archive
    gateway: Reads
    sources: ReadonlyMap<string, ReadySource>
    change_sources: SourceChange
    watches: Watches
    view: MonitorView
    write_actions: WriteActions
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
  const { guard, platform, pool, links, reads_health } = parts
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
  const lookup = createWatch({
    platform,
    identities: pool,
    clock,
    deadline_ms: LOOKUP_DEADLINE_MS,
  })
  const preview_deps = {
    patterns: parts.patterns,
    sampling: createPreviewSource({
      watch: lookup,
      watches: parts.watches,
      clock,
      budget: parts.budget,
    }),
    watches: parts.watches,
    pace: createPreviewPace(clock),
    ahead_ms: () => lookup.clock_offset_ms(),
    backtest: {
      db,
      archive: parts.archive,
      plan_of: parts.plan_of,
      sources: () => [...parts.watches.keys()],
    },
  }
  const monitor_deps: MonitorDeps = {
    db,
    patterns: parts.patterns,
    watch: lookup,
    watches: parts.watches,
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
  let draft_executor: DraftExecutor | null = null
  let context_of_routes: RouteContext | null = null
  const ends = sourceEnds(config)
  const endedOn = (source: string) => endOf(ends, source, clock.now())
  const connectables = new Map<string, Connectable>()
  const credentials = new Map<string, () => string | null>()
  /** The routes of a source. */
  function routesOf(route_context: RouteContext, ready: ReadySource): AnyElysia[] {
    const { name, source } = ready
    const words = { ...route_context.words, api: sourcePath(route_context.words, name) }
    const context = { ...route_context, words }
    const deps = { source, clock, deadline_ms: config.requests.read_deadline_s * 1000 }
    const actions: WriteActions = {
      acting: createSourceWrites(deps),
      signIn: createSourceSignIn(deps, write_options.session_cookie),
      loadPicture: parts.write_actions.loadPicture,
    }
    credentials.set(
      name,
      () => openSourceAccount(db, ring, name) ?? (apiKeyOf(ready.config) || null),
    )
    const { comment, vote, dm } = config.features
    if (source.authorization !== null && (comment || vote || dm))
      connectables.set(name, { url: source.url, ...source.authorization })
    return [
      ...writes(context, actions, {
        ...write_options,
        source: { name, capabilities: source.capabilities },
      }),
      ...reads(context, ready.reads, {
        ...sessions,
        limits: config.limits,
        endedOn,
        degraded: () => false,
        source: name,
        has_names_of_home: source.has_names_of_home,
      }),
    ]
  }
  const draftRoutes = (route_context: RouteContext) => {
    const executor = (draft_executor = createDraftExecutor(route_context, {
      db,
      delegate: pool.delegate,
      sources: credentials,
    }))
    return [
      drafts(route_context, { db, executor: executor }),
      operatorDrafts(route_context, { db, executor: executor }),
    ]
  }
  const home_state = { ...platform, requestsPerMinute: pool.requestsPerMinute }
  function routesOfAll(route_context: RouteContext) {
    context_of_routes = route_context
    return [...parts.sources.values()].flatMap((it) => routesOf(route_context, it))
  }
  const routes = (route_context: RouteContext) => [
    ...routesOfAll(route_context),
    ...draftRoutes(route_context),
    mcpRoute(route_context, {
      open: async (document) => (await import('../mcp/server.ts')).createMcpHttp(document),
    }),
    ...writes(route_context, parts.write_actions, { ...write_options, source: null }),
    ...reads(route_context, parts.gateway, {
      ...sessions,
      limits: config.limits,
      degraded: () => reads_health.state() === 'degraded',
      source: null,
      endedOn,
    }),
    sourceReads(route_context, () => listSources(config, home_state, parts.sources)),
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
      clock_offset_ms: platform.clock_offset_ms,
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
      session_check: parts.session_check,
      oauth: home !== null && home.token_url !== '' && home.api_url !== '',
      plans: () => ({
        names: Object.keys(config.plans),
        default_plan: config.billing.default_plan,
      }),
      starting_credit_micros: config.billing.starting_credit_micros,
      public_url: parts.public_url,
      pool,
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
      sources: () => operatedSources(config, home_state, parts.sources),
      source_desk: createSourceDesk(config, {
        clock,
        random: route_context.random,
        guard,
        sources: parts.sources,
        change: parts.change_sources,
      }),
    }),
    archiveRoutes(route_context, { db, archive: parts.archive, patterns: parts.patterns }),
    preview(route_context, preview_deps),
    why(route_context, { ...preview_deps, db, instance_id, freshness_ms }),
  ]
  return {
    routes,
    routesOf: (ready: ReadySource) =>
      context_of_routes === null ? [] : routesOf(context_of_routes, ready),
    drafting: () => draft_executor,
  }
}
