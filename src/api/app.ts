import { type AnyElysia, Elysia } from 'elysia'

import type { Naming } from '../core/forum/naming.ts'
import { type ByteBudget, createByteBudget } from '../core/limits/byte-budget.ts'
import type { SourceEnd } from '../core/limits/ends-at.ts'
import type { PriceMicros } from '../core/limits/price.ts'
import type { Clock, Log, Random } from '../runtime/runtime.ts'
import { type Db, reportStorageError } from '../store/db/connection.ts'
import { createGroupCommit } from '../store/db/group-commit.ts'
import type { MonitorView } from './account/problems.ts'
import { account } from './account/routes.ts'
import { createMeter } from './billing.ts'
import type { RouteContext } from './context.ts'
import { dashboardApi } from './dashboard/api.ts'
import { countingMeter } from './dashboard/counters.ts'
import { dashboardLive, type LiveDeps } from './dashboard/live.ts'
import { dashboardPage, type PageFiles } from './dashboard/page.ts'
import { createDashboardSession, webSession } from './dashboard/session.ts'
import { webSessions } from './dashboard/sessions.ts'
import { createAdmit } from './http/admission.ts'
import {
  createAuthenticate,
  createDelegation,
  createFailedAuth,
  createHolders,
  createKeyed,
  createOperators,
} from './http/auth.ts'
import { bodyMax, createDrain, createReadJson, takesNoBody } from './http/body.ts'
import { errors } from './http/errors.ts'
import { createInternalClient } from './http/internal.ts'
import { createPacers, type Limits } from './http/pacers.ts'
import { createPeerOf, createSite } from './http/request-origin.ts'
import { jsonResponse } from './http/response.ts'
import {
  createRouteTable,
  type Features,
  firstPath,
  type Policy,
  policyOf,
  requestPath,
  restoreQuery,
  type RouteTable,
  secondPath,
} from './http/routes.ts'
import { createInFlight } from './in-flight.ts'
import { countMoney } from './metrics/counters.ts'
import type { Metrics } from './metrics/registry.ts'
import type { RouteLike } from './openapi/document.ts'
import { docs } from './openapi/reference-page.ts'
import { createPlatformFaults } from './platform-faults.ts'
import { forSource, refuseRemoved } from './reads/sources.ts'
import { health, type ReadsHealth, scrape } from './status.ts'

export type AppDeps = {
  db: Db
  clock: Clock
  random: Random
  log: Log
  words: Naming
  limits: Limits
  billing: { enabled: boolean; prices: PriceMicros }
  health_cache_s: number
  metrics: Metrics
  /** Bearer token of `/metrics`; empty: only callers on this machine are answered. */
  metrics_token: string
  trusted_proxies: readonly string[]
  /** Enabled writes; absent: all. */
  features?: Features
  /** Names of the sources; absent: none. */
  sources?: () => readonly string[]
  /**
   * Seconds that a call may spend at the platform, without its rate limit wait; absent: there is no
   * platform.
   */
  platform_s?: number
  /** True if a source is read through accounts of the operator. */
  has_accounts?: boolean
  /** Additional host names of the dashboard, without ports. */
  hosts?: readonly string[]
  /** Files of the dashboard, created at first use; absent: no dashboard. */
  page?: () => Promise<PageFiles>
  /** Sources of the dashboard's live view; absent: no live view. */
  live?: Pick<LiveDeps, 'tally' | 'accounts' | 'ended'>
  /** Public address of the service; read at each use, since the port may be bound later. */
  public_url: () => string
  reads_health: ReadsHealth
  /** True while each request is logged, read at each; absent: never. */
  access_log?: () => boolean
  /** Reason why the daemon cannot serve; null: it serves. */
  trouble: () => string | null
  /** Names of the loops that fail repeatedly; absent: no loops. */
  failing_loops?: () => string[]
  /** Description of the storage failure; null: none. */
  storage_failing?: () => string | null
  /** Days for which matches are kept; 0 or absent: for ever. */
  retention_days?: number
  /** Sources whose way in ends soon or has ended. */
  ends?: () => SourceEnd[]
  /** True: this node has the lease of a pair. */
  is_primary?: boolean
  /** Monitors of a customer, including paused ones, and the limit of its plan. */
  monitors: (customer: { id: string; plan: string }) => {
    used: number
    total: number
    cadence_s: number
  }
  /** Absent: nothing is monitored. */
  view?: MonitorView
  /** Budget for the bytes of calls and answers; absent: no limit. */
  budget?: ByteBudget
  /** Route groups that use the context created here. */
  routes: (context: RouteContext) => AnyElysia[]
}

/**
 * Disables Bun's own body limit, whose answer is not an API error; admission and the body reader
 * enforce the real bounds.
 */
const BODY_MAX_OF_SERVER = Number.MAX_SAFE_INTEGER
const QUIET_BEFORE_HEADERS_S = 10
/** Further seconds of a call: rate limit wait, name lookup, slow body. */
const OVERHEAD_S = 45

const ALL_ON: Features = { login: true, comment: true, vote: true, dm: true, profile: true }

export function createApp(deps: AppDeps) {
  const { db, clock, random, log, words, billing, metrics } = deps
  const holders = createHolders()
  const operators = createOperators()
  const keyed = createKeyed(holders)
  const groupCommit = createGroupCommit(db)
  const faults = createPlatformFaults({ clock, log })
  const metered = createMeter({
    db,
    groupCommit,
    clock,
    random,
    faults,
    billing,
    on_money: (event) => countMoney(metrics, event),
    on_call: (tier, billed) =>
      metrics.count('billing_calls_total', { tier, billed: String(billed) }),
  })
  const meter = deps.live ? countingMeter(metered, deps.live.tally, billing.prices) : metered
  const peerOf = createPeerOf(deps.trusted_proxies, (fault, address) =>
    fault === 'untrusted'
      ? log('warn', 'http.proxy_not_trusted', { address })
      : log('warn', 'http.hop_unreadable', { address }),
  )
  const networkOf = (request: Request): string =>
    peerOf(request, app.server?.requestIP(request)?.address).network
  const site = createSite({ public_url: deps.public_url, hosts: deps.hosts ?? [], peerOf })
  const delegation = createDelegation()
  const { limits } = deps
  const failed_auth = createFailedAuth({ clock, random, limits, log, metrics })
  const authenticate = createAuthenticate(db, clock, failed_auth)
  const pacers = createPacers(clock, limits)
  const in_flight = createInFlight({
    budget: deps.budget ?? createByteBudget(() => Infinity),
    clock,
    ownerOf(request) {
      const holder = delegation.find(request) ?? holders.find(request)
      if (holder) return holder.key.id
      return `address ${networkOf(request)}`
    },
    on_refused: (held_for, limit) => metrics.count('overloaded_total', { held_for, limit }),
    on_stalled: () => metrics.count('write_timeouts_total'),
  })
  const readJson = createReadJson({ clock, hold: in_flight.holdForRequest })
  const drain = createDrain(clock)
  const admit = createAdmit({
    words,
    drain,
    clock,
    random,
    authenticate,
    delegation,
    site,
    holders,
    operators,
    in_flight,
    pacers,
    failed_auth,
    peerOf,
    features: deps.features ?? ALL_ON,
    identified,
    longest_s: () => (deps.platform_s ?? 0) + limits.key_max_wait_s + OVERHEAD_S,
    table: () => table(),
  })

  const started = new WeakMap<Request, number>()
  const logsAccess = deps.access_log ?? (() => false)
  const callers = new WeakMap<Request, string>()
  function identified(request: Request, key_id: string) {
    if (logsAccess()) callers.set(request, key_id)
  }

  const app = new Elysia({
    normalize: false,
    // Otherwise Elysia searches for the path after the eleventh character, which fails for a short
    // or absent host.
    handler: { standardHostname: false },
    serve: {
      maxRequestBodySize: BODY_MAX_OF_SERVER,
      idleTimeout: QUIET_BEFORE_HEADERS_S,
      // In development mode Bun answers an uncaught error with a page that shows the stack and the
      // source.
      development: false,
      // Elysia would share the port with another process that listens there, and each would get
      // some of the calls.
      reusePort: false,
    },
  })
    .onRequest(async ({ request, set, server }) => {
      // Admitted as the request that named the source.
      if (holders.find(request)) return undefined
      started.set(request, clock.mono())
      const answer = await admit({ request, headers: set.headers, server })
      return answer ?? answerForSource(request)
    })
    .onParse({ as: 'global' }, ({ request }) => {
      const path = requestPath(request.url)
      return takesNoBody(path) || request.method === 'DELETE'
        ? null
        : readJson(request, bodyMax(words, path))
    })
    .onTransform({ as: 'global' }, ({ query, request }) => restoreQuery(query, request.url))
    .onAfterResponse({ as: 'global' }, ({ request, route, set }) => {
      in_flight.end(request)
      const status = set.status ?? 200
      // An internal request is part of an external request, which is counted.
      if (delegation.find(request)) return
      const called = route ? calledRoute(route, request) : 'none'
      const labels = { method: request.method, route: called }
      metrics.count('http_requests_total', { ...labels, status: String(status) })
      const began = started.get(request)
      const ms = began === undefined ? undefined : clock.mono() - began
      if (ms !== undefined) metrics.observe('http_request_seconds', ms / 1000, labels)
      if (logsAccess())
        log('info', 'http.request', {
          ...labels,
          // A refused request has not reached its route.
          route: route ? called : (table().find(requestPath(request.url))?.path ?? 'none'),
          status: Number(status),
          duration_ms: ms === undefined ? undefined : Math.round(ms),
          key_id: callers.get(request),
        })
    })
    .mapResponse({ as: 'global' }, ({ responseValue, request, set }) =>
      jsonResponse(responseValue, set.headers, (bytes) => in_flight.send(request, bytes)),
    )
    .use(errors(words, log, { onError: (error) => reportStorageError(db, error), drain }))
    .use(health(deps))
    .use(scrape({ metrics, token: deps.metrics_token, peerOf, failed_auth }))
    .use(docs(document))
    .use(
      account({
        db,
        keyed,
        words,
        clock,
        view: deps.view,
        monitors: deps.monitors,
        storage_failing: () => (deps.storage_failing?.() ?? null) !== null,
        read_price_micros: billing.enabled ? billing.prices.read : null,
        retention_days: deps.retention_days ?? 0,
      }),
    )
  if (deps.page) {
    const session_deps = {
      db,
      clock,
      random,
      log,
      words,
      site,
      peerOf,
      failed_auth,
      authenticate,
      is_billing: billing.enabled,
      has_accounts: deps.has_accounts ?? false,
    }
    const signed_in = createDashboardSession(session_deps)
    app
      .use(webSession(session_deps, signed_in))
      .use(webSessions({ db, clock, log, signed_in }))
      .use(
        dashboardApi({
          signed_in,
          delegation,
          peerOf,
          identified,
          handle: (request) => app.handle(request),
        }),
      )
      .use(dashboardPage(deps.page))
    if (deps.live) app.use(dashboardLive({ ...deps.live, db, clock, signed_in, in_flight }))
  }
  const sources = deps.sources ?? (() => [])
  const serves = (method: string, path: string) => table().find(path)?.methods.has(method) === true

  /** Answers a call of another source than `home` through that source's own routes. */
  async function answerForSource(request: Request): Promise<Response | undefined> {
    refuseRemoved(words, sources(), request)
    if (words.default_source === words.home && !request.url.includes('source=')) return undefined
    const named = forSource(words, sources(), request, serves)
    const holder = holders.find(request)
    if (named === null || holder === undefined) return undefined
    holders.put(named, { ...holder, request: named })
    started.set(named, started.get(request) ?? clock.mono())
    try {
      return await app.handle(named)
    } finally {
      // The request itself ends here, without a route of its own.
      in_flight.end(request)
    }
  }

  const internal = createInternalClient(delegation, (request) => app.handle(request))
  const context = {
    words,
    keyed,
    operatorOf: operators.of,
    meter,
    faults,
    internal,
    document,
    paceMessages: pacers.mcp,
    readJson,
    in_flight,
    networkOf,
    groupCommit,
    clock,
    random,
    log,
  }
  for (const group of deps.routes(context)) app.use(group)
  serveSecondPaths(app, words)

  function calledRoute(route: string, request: Request): string {
    if (firstPath(words, requestPath(request.url)) === null) return route
    return secondPath(words, route) ?? route
  }

  const routes = (): readonly RouteLike[] => app.routes
  async function document() {
    const { openApiDocument } = await import('./openapi/document.ts')
    return openApiDocument({ routes: routes(), words, public_url: deps.public_url() })
  }
  const cached_table: RouteTable<Policy> = createRouteTable()
  let in_table = 0
  /** The routes, of which there are more when a source was added. */
  function table(): RouteTable<Policy> {
    const all = routes()
    if (all.length === in_table) return cached_table
    const added = all.slice(in_table)
    in_table = all.length
    for (const { method, path } of added) {
      const policy = policyOf(words, method, path)
      cached_table.add(method, path, policy)
      const second = secondPath(words, path)
      if (second !== null) cached_table.add(method, second, policy)
    }
    return cached_table
  }
  return app
}

/**
 * Routes calls under a second prefix to the route under the first: registering it twice would cost each start as much
 * again. The request keeps its address.
 */
function serveSecondPaths({ router }: AnyElysia, words: Naming): void {
  const { http } = router
  type Find = typeof http.find
  let { find } = http
  const lookUp: Find = (method, path) => {
    const found = find.call(http, method, path)
    const is_encoded = found === null || !Object.values(found.params).includes(null)
    // A percent sign that encodes nothing stands for itself, as in Bun's own router.
    return is_encoded ? found : find.call(http, method, path.replaceAll('%', '%25'))
  }
  const findBoth: Find = (method, path) => {
    const found = lookUp(method, path)
    const first = found === null ? firstPath(words, path) : null
    if (first === null) return found
    // Elysia has a table of its own for paths without parameters.
    const index = router.static[first.replace(/\/$/, '')]?.[method]
    if (index === undefined) return lookUp(method, first)
    const handler = router.history[index]?.composed
    return typeof handler === 'function'
      ? { store: { handler, compile: () => handler }, params: {} }
      : null
  }
  // The router replaces its own lookup when it is built.
  Object.defineProperty(http, 'find', {
    get: () => findBoth,
    set(next: Find) {
      find = next
    },
  })
}

/**
 * Listens for the app. Once lazy modules are loaded, Elysia composes the app again, passes Bun its
 * routes a second time and requests a GC.
 * All routes are present by then, so this work at every start is skipped.
 */
export function listen(app: AnyElysia, at: { hostname: string; port: number }): void {
  // Elysia waits for this promise. If Elysia renames the property, the routes are only composed
  // twice again.
  Reflect.defineProperty(app, 'promisedModules', { value: new Promise(() => {}) })
  app.listen(at)
}
