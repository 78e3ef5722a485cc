import * as z from 'zod'

import { startSandbox } from '../../sandbox/server/sandbox.ts'
import { createApp } from '../../src/api/app.ts'
import { createNaming } from '../../src/core/forum/naming.ts'
import { parsePermalink } from '../../src/core/forum/permalink.ts'
import { createReads } from '../../src/gateway/reads.ts'
import { withoutReferences } from '../../src/mcp/tools.ts'
import { createForum } from '../../src/platforms/reddit/adapter.ts'
import { createRuntime } from '../../src/runtime/runtime.ts'
import { reads as readRoutes } from '../../src/wiring/routes.ts'
import { NO_LIMITS, quietApp } from './app-options.ts'
import { addCustomer, addKey } from './customers.ts'
import { memoryDb } from './memory-db.ts'
import { ANONYMOUS_IDENTITIES } from './reads.ts'

const TOKEN = 'fk_test'
export type Answered = { status: number; headers: Headers; body: any }

/**
 * The reads from socket to socket: HTTP in, the gateway, the platform client, and the sandbox as the
 * platform. The clock is the real one, and no request is tried twice, so nothing is waited for.
 */
export async function startReading({
  wire = { platform: 'forum', community: 'subforum' },
  read_cache_ms = 0,
  tree_fetches = 8,
  timeout_ms = 5_000,
  credits_micros = 500_000,
  degraded = false,
  identities = ANONYMOUS_IDENTITIES,
} = {}) {
  const { clock, random, fetch: out } = createRuntime(() => {})
  const sandbox = await startSandbox({
    port: 0,
    seed: 1,
    speed: 0,
    world: 'empty',
    now: clock.now,
    allowance: 100_000,
    session_allowance: 100_000,
  })
  const db = memoryDb()
  addCustomer(db, 'cus_1', { name: 'ada', at: 1, credits_micros })
  addKey(db, 'cus_1', { token: TOKEN, scopes: ['read'], id: 'key_1', at: 1 })
  const reads = createReads({
    platform: createForum({
      name: 'forum',
      fetch: out,
      clock,
      random,
      log: () => {},
      base_url: sandbox.url,
      user_agent: 'forumd/test',
      timeout_ms,
      retries: 0,
      requests_per_minute: 100_000,
    }),
    identities,
    clock,
    read_deadline_ms: 20_000,
    read_wait_ms: () => 8_000,
    tree_fetches,
    read_cache_ms,
    placeOf: (link) =>
      parsePermalink(link, {
        link: [new URL(sandbox.url).host, 'www.forum.test'],
        short: ['fo.test'],
      }),
  })
  const words = createNaming(wire)
  const app = createApp({
    db,
    ...quietApp(clock),
    random,
    words,
    limits: NO_LIMITS,
    health_cache_s: 0,
    public_url: () => 'http://127.0.0.1',
    routes: (context) =>
      readRoutes(context, reads, {
        session_cookie: sandbox.session_cookie,
        guardProxy: (proxy) => Promise.resolve(proxy.host.endsWith('.test') ? proxy : null),
        limits: {
          deep_search_concurrency: 2,
          degraded_reads_per_key: 4,
          degraded_waiting_per_key: 8,
        },
        source: null,
        degraded: () => degraded,
      }),
  }).listen({ hostname: '127.0.0.1', port: 0 })
  const url = `http://127.0.0.1:${app.server?.port}`

  async function call(path: string, init: RequestInit = {}): Promise<Answered> {
    const headers = new Headers(init.headers)
    headers.set('authorization', `Bearer ${TOKEN}`)
    headers.set('content-type', 'application/json')
    const response = await fetch(url + path, { ...init, headers })
    return { status: response.status, headers: response.headers, body: await response.json() }
  }

  return {
    sandbox,
    get: (path: string, headers: Record<string, string> = {}, signal?: AbortSignal) =>
      call(`${words.api}${path}`, { headers, ...(signal && { signal }) }),
    post: (path: string, body: unknown, headers: Record<string, string> = {}) =>
      call(`${words.api}${path}`, { method: 'POST', body: JSON.stringify(body), headers }),
    account: () => call('/account/me'),
    document: async () => ({
      body: z.any().parse(withoutReferences((await call('/openapi.json')).body)),
    }),
    /** Paths requested from the platform. */
    requestedPaths: () => sandbox.requests.map(({ path }) => path),
    async [Symbol.asyncDispose]() {
      await app.stop(true)
      await sandbox.stop()
      db.close()
    },
  }
}
