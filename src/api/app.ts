import { type AnyElysia, Elysia } from 'elysia'

import type { PriceMicros } from '../core/price.ts'
import type { Words } from '../core/wire.ts'
import type { Clock, Log, Random } from '../outside.ts'
import { type Db, tellStorageError } from '../store/db.ts'
import { createTogether } from '../store/together.ts'
import { account } from './account.ts'
import { createAdmit } from './admit.ts'
import { createAuthenticate, createHolders, createKeyed } from './auth.ts'
import { bodyMax, createReadJson, takesNoBody } from './body.ts'
import { dashboardLive, type LiveDeps } from './dashboard-live.ts'
import { dashboardPage, type PageFiles } from './dashboard-page.ts'
import { createSignedIn, webSession } from './dashboard-session.ts'
import { createSite } from './dashboard-site.ts'
import { countingMeter } from './dashboard-tally.ts'
import { createLent, dashboardApi } from './dashboard.ts'
import { docs } from './docs.ts'
import { errors } from './errors.ts'
import { health } from './health.ts'
import type { Infra } from './infra.ts'
import { createInside } from './inside.ts'
import { createMeter } from './meter.ts'
import { countMoney } from './metrics-heard.ts'
import type { Metrics } from './metrics.ts'
import { inOnePiece } from './one-piece.ts'
import type { RouteLike } from './openapi-document.ts'
import { createPacers, type Limits } from './pace.ts'
import { createPeerOf } from './peer.ts'
import type { Features } from './policy.ts'
import { mendQuery } from './query-text.ts'
import type { ReadsHealth } from './reads-health.ts'
import { createRefusals } from './refusals.ts'
import { scrape } from './scrape.ts'
import { createTable, pathOf, type Table } from './table.ts'

export type AppDeps = {
  db: Db
  clock: Clock
  random: Random
  log: Log
  words: Words
  limits: Limits
  billing: { enabled: boolean; prices: PriceMicros }
  health_cache_s: number
  metrics: Metrics
  /** What `/metrics` asks for; empty: only a caller on this machine is answered. */
  metrics_token: string
  trusted_proxies: readonly string[]
  /** Which writes are switched on; all, unless told. */
  features?: Features
  /** How long a call may take at the platform, its pace aside; a read with the usual deadline, unless told. */
  platform_s?: number
  /** Further names under which browsers may reach the dashboard, without ports. */
  hosts?: readonly string[]
  /** The dashboard's page, made at its first use; without it there is no dashboard. */
  page?: () => Promise<PageFiles>
  /** What the dashboard is told as it happens; without it, it is not told. */
  live?: Pick<LiveDeps, 'tally' | 'accounts' | 'ended'>
  /** The address under which callers know the service; asked for at each use, since a port may be found late. */
  public_url: () => string
  reads_health: ReadsHealth
  /** Why the daemon cannot serve; null when it can. */
  trouble: () => string | null
  /** What is wrong with what is stored; nothing, unless told. */
  storage_trouble?: () => string | null
  /** Monitors of a customer, paused ones too, and how many its plan has room for. */
  monitors: (customer: { id: string; plan: string }) => { used: number; total: number }
  /** Told how many bytes of what came in wait to be freed; left out, the engine does so in its own time. */
  sweep?: (bytes: number) => void
  /** The groups of routes that stand on the infrastructure made here. */
  routes: (infra: Infra) => AnyElysia[]
}

/** Bun's own answer to a large body has none of ours: whoever admits it and the reader of bodies keep the real bounds. */
const BODY_MAX_OF_SERVER = Number.MAX_SAFE_INTEGER
const QUIET_BEFORE_HEADERS_S = 10
/** What a call may take beside: a gate's wait, a name's lookup, a body that comes slowly. */
const AROUND_S = 45

const ALL_ON: Features = { login: true, comment: true, vote: true, dm: true, profile: true }

/** The whole HTTP side, ready to listen. */
export function createApp(deps: AppDeps) {
  const { db, clock, random, log, words, billing, metrics } = deps
  const holders = createHolders()
  const keyed = createKeyed(holders)
  const together = createTogether(db)
  const metered = createMeter({
    db,
    together,
    clock,
    random,
    log,
    billing,
    on_money: (event) => countMoney(metrics, event),
    on_call: (tier, billed) =>
      metrics.count('billing_calls_total', { tier, billed: String(billed) }),
  })
  const meter = deps.live ? countingMeter(metered, deps.live.tally, billing.prices) : metered
  const sweep = deps.sweep ?? (() => {})
  const readJson = createReadJson({ clock, sweep })
  const heardStatus = createRefusals(sweep)
  const peerOf = createPeerOf(deps.trusted_proxies)
  const site = createSite({ public_url: deps.public_url, hosts: deps.hosts ?? [], peerOf })
  const lent = createLent()
  const authenticate = createAuthenticate(db, clock)
  const admit = createAdmit({
    words,
    clock,
    random,
    authenticate,
    lent,
    site,
    holders,
    pacers: createPacers(clock, deps.limits),
    peerOf,
    features: deps.features ?? ALL_ON,
    longest_s: () => (deps.platform_s ?? 0) + deps.limits.key_max_wait_s + AROUND_S,
    table: () => table(),
  })

  const started = new WeakMap<Request, number>()

  const app = new Elysia({
    normalize: false,
    // Otherwise Elysia looks for the path after the eleventh character, and misreads a short host or none.
    handler: { standardHostname: false },
    serve: {
      maxRequestBodySize: BODY_MAX_OF_SERVER,
      idleTimeout: QUIET_BEFORE_HEADERS_S,
      // In development Bun answers what nobody has caught with a page that shows the stack and the source.
      development: false,
      // Elysia would share the port with whoever listens there already, and each would get some of the calls.
      reusePort: false,
    },
  })
    .onRequest(({ request, set, server }) => {
      started.set(request, clock.mono())
      return admit({ request, headers: set.headers, server })
    })
    .onParse({ as: 'global' }, ({ request }) => {
      const path = pathOf(request.url)
      return takesNoBody(path) || request.method === 'DELETE'
        ? null
        : readJson(request, bodyMax(words, path))
    })
    .onTransform({ as: 'global' }, ({ query, request }) => mendQuery(query, request.url))
    .onAfterResponse({ as: 'global' }, ({ request, route, set }) => {
      const status = set.status ?? 200
      heardStatus(Number(status))
      // What the house asks of itself is part of a call from outside, which is counted.
      if (lent.of(request)) return
      const labels = { method: request.method, route: route || 'none' }
      metrics.count('http_requests_total', { ...labels, status: String(status) })
      const began = started.get(request)
      if (began !== undefined)
        metrics.observe('http_request_seconds', (clock.mono() - began) / 1000, labels)
    })
    .mapResponse({ as: 'global' }, ({ responseValue, set }) =>
      inOnePiece(responseValue, set.headers),
    )
    .use(errors(words, log, (error) => tellStorageError(db, error)))
    .use(health(deps))
    .use(scrape({ metrics, token: deps.metrics_token, peerOf }))
    .use(docs(document))
    .use(account({ db, keyed, clock, monitors: deps.monitors }))
  if (deps.page) {
    const signed_in = createSignedIn({ db, clock, site })
    app
      .use(webSession({ db, clock, random, log, words, site, authenticate }, signed_in))
      .use(dashboardApi({ signed_in, lent, handle: (request) => app.handle(request) }))
      .use(dashboardPage(deps.page))
    if (deps.live) app.use(dashboardLive({ ...deps.live, db, clock, signed_in }))
  }
  const inside = createInside(lent, (request) => app.handle(request))
  const infra = { words, keyed, meter, inside, readJson, together, clock, random, log }
  for (const group of deps.routes(infra)) app.use(group)

  const routes = (): readonly RouteLike[] => app.routes
  async function document() {
    const { openApiDocument } = await import('./openapi-document.ts')
    return openApiDocument({ routes: routes(), words, public_url: deps.public_url() })
  }
  let known: Table<true> | null = null
  function table(): Table<true> {
    if (known) return known
    known = createTable()
    for (const { method, path } of routes()) known.add(method, path, true)
    return known
  }
  return app
}
