import { type AnyElysia, Elysia } from 'elysia'
import * as z from 'zod'

import { type AppDeps, createApp } from '../../src/api/app.ts'
import type { RouteContext } from '../../src/api/context.ts'
import { bodySchema, limit, oneOf, querySchema, required } from '../../src/api/http/fields.ts'
import { createMetrics } from '../../src/api/metrics/registry.ts'
import { answers } from '../../src/api/openapi/route-docs.ts'
import { createReadsHealth } from '../../src/api/status.ts'
import { apiKey } from '../../src/core/base/ids.ts'
import { type Fault, ok, type Outcome } from '../../src/core/base/result.ts'
import { createNaming } from '../../src/core/forum/naming.ts'
import type { Clock, Log } from '../../src/runtime/runtime.ts'
import { findKey, revokeKey, type Scope } from '../../src/store/customers/keys.ts'
import type { Db } from '../../src/store/db/connection.ts'
import { LIMITS, PRICES } from './app-options.ts'
import { type FakeClock, fakeClock } from './clock.ts'
import { addCustomer, addKey } from './customers.ts'
import { memoryDb } from './memory-db.ts'

/** The next outcome of each read; a function is called, so that it may throw or wait. */
type Script = (() => Promise<Outcome<unknown>>)[]

export type TestApi = AsyncDisposable & {
  url: string
  db: Db
  token: string
  clock: FakeClock
  script: Script
  log: Parameters<Log>[]
  reads_health: ReturnType<typeof createReadsHealth>
  app: ReturnType<typeof createApp>
  /** A call with the customer's key, unless `headers` says otherwise. */
  call(path: string, init?: RequestInit): Promise<Answer>
  newKey(options?: { scopes?: Scope[]; operator?: boolean; expires_at?: number }): string
  revoke(token: string): void
}
type Answer = {
  status: number
  headers: Headers
  body: Record<string, unknown>
  text: string
}

const object = (body: string): Record<string, unknown> => {
  try {
    return z.record(z.string(), z.unknown()).parse(JSON.parse(body))
  } catch {
    return {}
  }
}

export const faulty = (fault: Fault) => () => Promise.resolve({ ok: false as const, fault })

const nextOf = (script: Script) => (script.shift() ?? (() => Promise.resolve(ok({ posts: [] }))))()

/** A few routes as the real ones are built: a read, a read by POST, a management call. */
const routes =
  (script: Script) =>
  ({ words, keyed, meter }: RouteContext): AnyElysia[] => {
    return [
      new Elysia({ name: 'practice' })
        .use(keyed)
        .get(
          `${words.api}/search`,
          ({ holder, set }) => meter('read', holder, set.headers, () => nextOf(script)),
          {
            query: querySchema(() => ({
              q: required('q'),
              sort: oneOf('sort', ['relevance', 'new'], 'relevance'),
              limit: limit(100, 25),
            })),
            detail: {
              summary: 'Search',
              tags: ['Reads'],
              operationId: 'search',
              ...answers(() => z.object({ posts: z.array(z.object({})) })),
            },
          },
        )
        .get(`${words.api}/user/:name`, ({ params }) => params)
        .post(
          `${words.api}/comments/verify`,
          ({ holder, set, body }) =>
            meter('read', holder, set.headers, () => Promise.resolve(ok(body)), {
              flavour: 'verify',
            }),
          {
            body: bodySchema(() => ({ ids: z.array(z.string({ error: 'ids must hold texts' })) })),
          },
        )
        .post(`${words.api}/profile/avatar`, ({ body }) => body, {
          body: bodySchema(() => ({ image_base64: z.string() })),
        })
        .get(`${words.monitor}/list`, ({ customer }) => ({ of: customer.id }))
        .post(`${words.monitor}/webhook/test`, ({ customer }) => ({ of: customer.id })),
    ]
  }

/** An app of those routes on a port of its own, its clock in the test's hand. */
export function startTestApi({
  credits_micros = 500_000,
  clock: given,
  routes: createRoutes,
  ...over
}: Partial<Omit<AppDeps, 'clock' | 'routes'>> & {
  credits_micros?: number
  clock?: Clock
  routes?: (context: RouteContext, db: Db) => AnyElysia[]
} = {}): TestApi {
  const held_clock = fakeClock(() => Bun.sleep(1))
  const clock = given ?? held_clock
  const db = memoryDb()
  const random = {
    uuid: () => Bun.randomUUIDv7(),
    fraction: () => 0.5,
    bytes: (count: number) => crypto.getRandomValues(new Uint8Array(count)),
  }
  addCustomer(db, 'cus_1', { name: 'acme', at: clock.now(), credits_micros })
  const script: Script = []
  const log: Parameters<Log>[] = []
  const reads_health = createReadsHealth(clock)
  const app = createApp({
    db,
    random,
    log: (...line) => void log.push(line),
    words: createNaming({ platform: 'forum', community: 'subforum' }),
    limits: LIMITS,
    billing: { enabled: true, prices: PRICES },
    health_cache_s: 10,
    metrics: createMetrics(),
    metrics_token: '',
    trusted_proxies: [],
    public_url: () => 'https://api.forum.example',
    reads_health,
    trouble: () => null,
    monitors: () => ({ used: 1, total: 10, cadence_s: 60 }),
    routes: (context) => (createRoutes ? createRoutes(context, db) : routes(script)(context)),
    ...over,
    clock,
  })
  app.listen({ port: 0, hostname: '127.0.0.1' })
  const url = `http://127.0.0.1:${app.server?.port}`

  function newKey({
    scopes = ['read', 'write', 'monitor', 'webhook'],
    operator = false,
    expires_at = 0,
  } = {}) {
    const token = apiKey(operator ? 'operator' : 'customer', random.bytes(32))
    addKey(db, operator ? null : 'cus_1', {
      token,
      scopes: scopes as Scope[],
      id: `key_${random.uuid()}`,
      at: clock.now(),
      expires_at: expires_at || null,
    })
    return token
  }
  const token = newKey()

  return {
    url,
    db,
    token,
    clock: held_clock,
    script,
    log,
    reads_health,
    app,
    newKey,
    revoke(key) {
      revokeKey(db, findKey(db, key, clock.now())?.key.id ?? '', clock.now())
    },
    async call(path, init = {}) {
      const headers = new Headers(init.headers)
      if (!headers.has('authorization')) headers.set('authorization', `Bearer ${token}`)
      if (headers.get('authorization') === '') headers.delete('authorization')
      const response = await fetch(url + path, { ...init, headers })
      const text = await response.text()
      return { status: response.status, headers: response.headers, body: object(text), text }
    },
    async [Symbol.asyncDispose]() {
      await app.stop(true)
      db.close()
    },
  }
}

/** A POST of a JSON body. */
export const json = (body: unknown, headers: Record<string, string> = {}): RequestInit => ({
  method: 'POST',
  body: typeof body === 'string' ? body : JSON.stringify(body),
  headers: { 'content-type': 'application/json', ...headers },
})
