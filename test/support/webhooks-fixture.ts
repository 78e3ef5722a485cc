import { createApp } from '../../src/api/app.ts'
import { deliveries } from '../../src/api/matches/deliveries.ts'
import { webhooks } from '../../src/api/webhooks/routes.ts'
import { createAllowed } from '../../src/core/base/address.ts'
import { apiKey } from '../../src/core/base/ids.ts'
import { createRing } from '../../src/core/base/secrets.ts'
import { openCredentials, sealCredentials } from '../../src/core/delivery/credentials.ts'
import { createNaming } from '../../src/core/forum/naming.ts'
import { createSend } from '../../src/delivery/send.ts'
import { createTester } from '../../src/delivery/test-delivery.ts'
import { createCheck, createGuard } from '../../src/net/guard.ts'
import { createMqttPublisher } from '../../src/net/mqtt.ts'
import { createTransport } from '../../src/net/transport.ts'
import type { Fetch } from '../../src/runtime/runtime.ts'
import { LIMITS, quietApp } from './app-options.ts'
import { fakeClock } from './clock.ts'
import { addCustomer, addKey } from './customers.ts'
import { memoryDb } from './memory-db.ts'
import { startReceiver } from './receiver.ts'

/** No test may leave the machine. */
const nearby: Fetch = (url, init) => {
  if (new URL(url).hostname !== '127.0.0.1') throw new Error(`a test dialled ${url}`)
  return fetch(url, init)
}

/** The part of the daemon that keeps targets, over HTTP, with two customers and a real receiver. */
export async function startTargets({
  hosts = {},
  community = 'subforum',
}: {
  /** Addresses of further host names; a missing name does not resolve. */
  hosts?: Record<string, string[]>
  community?: string
} = {}) {
  await using stack = new AsyncDisposableStack()
  const receiver = stack.use(await startReceiver())
  const clock = fakeClock(() => Bun.sleep(1))
  const db = stack.use(memoryDb())
  const random = {
    uuid: () => Bun.randomUUIDv7(),
    fraction: () => 0.5,
    bytes: (count: number) => crypto.getRandomValues(new Uint8Array(count)),
  }
  const ring = createRing(random.bytes(32), random.bytes)
  const words = createNaming({ platform: 'forum', community })
  const guard = createGuard({
    resolve: async (host) =>
      hosts[host] ??
      (host === 'receiver.test' ? ['127.0.0.1'] : Promise.reject(new Error('ENOTFOUND'))),
    clock,
    allowed: createAllowed({ allow_targets: ['127.0.0.0/8'], allow_http: false }),
    timeout_ms: 10_000,
  })
  const send = createSend({
    transport: createTransport({
      fetch: nearby,
      clock,
      guard,
      timeout_ms: 10_000,
      ca: receiver.ca,
    }),
    clock,
    clock_offset_ms: () => 0,
    openSecret: (id, sealed) => ring.unseal(`webhooks.secret:${id}`, sealed),
    openCredentials: (id, sealed) => openCredentials(ring, id, sealed),
    publish: createMqttPublisher({ clock, guard, timeout_ms: 10_000, ca: receiver.ca }),
    display: { community, media_hosts: [] },
    user_agent: 'forumd/test',
  })
  let nudges = 0

  const app = createApp({
    db,
    ...quietApp(clock),
    random,
    words,
    limits: LIMITS,
    routes: (context) => [
      webhooks(context, {
        db,
        sealSecret: (id, secret) => ring.seal(`webhooks.secret:${id}`, secret),
        openSecret: (id, sealed) => ring.unseal(`webhooks.secret:${id}`, sealed),
        sealCredentials: (id, credentials) => sealCredentials(ring, id, credentials),
        checkTarget: createCheck(guard),
        testTarget: createTester({ db, send, clock, random, words }),
        nudge: () => void (nudges += 1),
      }),
      ...deliveries(context, db, () => void (nudges += 1)),
    ],
  })
  app.listen({ port: 0, hostname: '127.0.0.1' })
  stack.defer(async () => void (await app.stop(true)))

  const tokens: Record<string, string> = {}
  for (const id of ['cus_1', 'cus_2']) {
    addCustomer(db, id, { at: clock.now() })
    const token = apiKey('customer', random.bytes(32))
    addKey(db, id, { token, scopes: ['monitor', 'webhook'], id: `key_${id}`, at: clock.now() })
    tokens[id] = token
  }

  const owned = stack.move()
  async function call(path: string, body?: object, customer = 'cus_1') {
    const response = await fetch(`http://127.0.0.1:${app.server?.port}${path}`, {
      method: body ? 'POST' : 'GET',
      headers: {
        authorization: `Bearer ${tokens[customer]}`,
        ...(body && { 'content-type': 'application/json' }),
      },
      ...(body && { body: JSON.stringify(body) }),
    })
    const text = await response.text()
    return { status: response.status, text, body: JSON.parse(text) }
  }
  return {
    db,
    clock,
    receiver,
    call,
    nudges: () => nudges,
    /** Registers a target and gives its answer. */
    create: async (body: object = { url: receiver.url }, customer = 'cus_1') =>
      (await call('/forum/monitor/webhook/create', body, customer)).body,
    addMonitor(id: string, customer = 'cus_1', webhook_ids: string[] | null = null) {
      db.query(
        `INSERT INTO monitors (id, customer_id, filter_spec, cadence_s, webhook_ids, active_since, created_at, updated_at)
         VALUES (?, ?, '{}', 60, ?, 0, 0, 0)`,
      ).run(id, customer, webhook_ids && JSON.stringify(webhook_ids))
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}
