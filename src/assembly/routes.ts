import { confirm } from '../api/confirm.ts'
import { deliveries } from '../api/deliveries.ts'
import { createDraftDesk, type DraftDesk } from '../api/drafts-desk.ts'
import { drafts, operatorDrafts } from '../api/drafts.ts'
import { feed, feedUrl } from '../api/feed.ts'
import { feedback } from '../api/feedback.ts'
import type { Infra } from '../api/infra.ts'
import { items } from '../api/items.ts'
import { mcp } from '../api/mcp.ts'
import { monitors } from '../api/monitors.ts'
import { operator as operatorRoutes, type OperatorDeps } from '../api/operator.ts'
import { preview } from '../api/preview.ts'
import type { ReadsHealth } from '../api/reads-health.ts'
import { reads } from '../api/reads/reads.ts'
import { createSamplePace } from '../api/sample-pace.ts'
import { stream } from '../api/stream.ts'
import { unsubscribe } from '../api/unsubscribe.ts'
import { type WebhookDeps, webhooks } from '../api/webhooks.ts'
import { why } from '../api/why.ts'
import { type Deeds, writes } from '../api/writes/writes.ts'
import type { Config } from '../config/schema.ts'
import type { Plan } from '../core/gate.ts'
import type { Links } from '../core/links.ts'
import type { Reads } from '../gateway/reads.ts'
import { createSampling } from '../gateway/sampling.ts'
import { createWatch } from '../gateway/watch.ts'
import { createCheck, type Guard } from '../net/guard.ts'
import { createProxyGuard } from '../net/proxy-guard.ts'
import type { Clock } from '../outside.ts'
import { BROWSER_SCHEMES } from '../platform/browser/browser.ts'
import type { Forum } from '../platform/forum.ts'
import type { Pool } from '../pool/pool.ts'
import type { Instance } from '../store/instance.ts'

/** A caller waits while a place is looked up for its monitor. */
const LOOKUP_DEADLINE_MS = 10_000

type Around = {
  config: Config
  clock: Clock
  instance: Pick<Instance, 'db' | 'instance_id' | 'ring'>
}

/** What the routes reach of the rooms that the API may not see, and what it is to be told. */
type Parts = Pick<WebhookDeps, 'sealSecret' | 'testTarget'> &
  Pick<OperatorDeps, 'storage' | 'requests'> & {
    guard: Guard
    platform: Forum
    pool: Pool
    gateway: Reads
    deeds: Deeds
    links: Links
    reads_health: ReadsHealth
    plan_of: (name: string) => Plan
    /** Whether a mail server is named. */
    mails: boolean
    nudgeMonitors: () => void
    nudgeSender: () => void
    /** Aborts when those who listen have to go. */
    ended: AbortSignal
  }

/** The groups of routes that a daemon answers with, and the desk of drafts behind some of them once they are made. */
export function createRoutes({ config, clock, instance }: Around, parts: Parts) {
  const { db, instance_id, ring } = instance
  const { guard, platform, pool, links, reads_health } = parts
  const sessions = {
    session_cookie: config.platform.session_cookie,
    guardProxy: createProxyGuard(guard),
  }
  const lookup = createWatch({ platform, eyes_of: pool, clock, deadline_ms: LOOKUP_DEADLINE_MS })
  const looking = {
    sampling: createSampling({ watch: lookup, clock }),
    pace: createSamplePace(clock),
    ahead_ms: () => lookup.clock_offset_ms(),
  }
  const freshness_ms = config.monitor.freshness_s * 1000
  let desk: DraftDesk | null = null
  const draftRoutes = (infra: Infra) => {
    const made = (desk = createDraftDesk(infra, { db, lend: pool.lend }))
    return [drafts(infra, { db, desk: made }), operatorDrafts(infra, { db, desk: made })]
  }
  const routes = (infra: Infra) => [
    ...draftRoutes(infra),
    mcp(infra, {
      open: async (document) => (await import('../mcp/http.ts')).createMcpHttp(document),
    }),
    ...writes(infra, parts.deeds, { ...sessions, db, ring, browser_schemes: BROWSER_SCHEMES }),
    ...reads(infra, parts.gateway, {
      ...sessions,
      limits: config.limits,
      degraded: () => reads_health.state() === 'degraded',
    }),
    ...monitors(infra, {
      db,
      watch: lookup,
      plan_of: parts.plan_of,
      nudge: parts.nudgeMonitors,
      feed_url: (id) => feedUrl({ db, links }, id),
    }),
    ...webhooks(infra, {
      db,
      sealSecret: parts.sealSecret,
      checkTarget: createCheck(guard),
      testTarget: parts.testTarget,
      mails: parts.mails,
      nudge: parts.nudgeSender,
    }),
    ...items(infra, db),
    ...stream(infra, { db, ended: parts.ended }),
    ...feed(infra, { db, links }),
    confirm({ db, links }),
    unsubscribe({ db, links, clock }),
    ...deliveries(infra, db, parts.nudgeSender),
    feedback(infra, db),
    operatorRoutes({
      db,
      ring,
      clock,
      log: infra.log,
      pool,
      budget_of: platform.budget,
      requests: parts.requests,
      allow_anonymous: config.pool.allow_anonymous,
      storage: parts.storage,
      reads: reads_health.state,
    }),
    ...preview(infra, looking),
    ...why(infra, { ...looking, db, instance_id, freshness_ms }),
  ]
  return { routes, drafting: () => desk }
}
