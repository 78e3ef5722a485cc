import * as z from 'zod'

import { createApp } from '../../src/api/app.ts'
import { deliveries } from '../../src/api/matches/deliveries.ts'
import { monitors } from '../../src/api/monitors/routes.ts'
import { createNaming } from '../../src/core/forum/naming.ts'
import { withoutReferences } from '../../src/mcp/tools.ts'
import { CUSTOMER, PLAN, startMonitorFixture } from '../unit/monitor/fixture.ts'
import { NO_LIMITS, quietApp } from './app-options.ts'
import { addCustomer, addKey } from './customers.ts'
import { realPatterns } from './patterns.ts'

export type Answer = { status: number; text: string; body: any }

/** Monitoring with its interface: two customers, a scripted platform, and a clock that is held. */
export function startMonitors({
  plan = PLAN,
  community = 'subforum',
  platform = 'forum',
  audit_interval_s = 86_400,
} = {}) {
  const fixture = startMonitorFixture({ plan, community, audit_interval_s })
  const { db, clock } = fixture
  const random = {
    uuid: () => Bun.randomUUIDv7(),
    fraction: () => 0.5,
    bytes: (count: number) => new Uint8Array(count),
  }
  addCustomer(db, 'cus_2', { name: 'bob', at: clock.now() })
  for (const customer_id of [CUSTOMER, 'cus_2'])
    addKey(db, customer_id, {
      token: `fk_${customer_id}`,
      scopes: ['monitor', 'webhook'],
      id: `key_${customer_id}`,
      at: clock.now(),
    })
  let nudges = 0
  const app = createApp({
    db,
    // The stage's own sleepers wake at once: time would pass while a body is read.
    ...quietApp({ ...clock, sleep: () => new Promise(() => {}) }),
    random,
    words: createNaming({ platform, community }),
    limits: NO_LIMITS,
    routes: (context) => [
      monitors(context, {
        db,
        patterns: realPatterns(),
        watches: fixture.watches,
        plan_of: () => plan,
        model: () => null,
        feed_url: (id) => `https://api.forum.example/feed/${id}`,
        nudge: () => void (nudges += 1),
      }),
      ...deliveries(context, db),
    ],
  })
  app.listen({ port: 0, hostname: '127.0.0.1' })

  async function call(path: string, body?: object, customer = CUSTOMER): Promise<Answer> {
    const response = await fetch(`http://127.0.0.1:${app.server?.port}${path}`, {
      method: body ? 'POST' : 'GET',
      headers: { authorization: `Bearer fk_${customer}`, 'content-type': 'application/json' },
      ...(body && { body: JSON.stringify(body) }),
    })
    const text = await response.text()
    return { status: response.status, text, body: JSON.parse(text) }
  }
  return {
    fixture,
    call,
    nudges: () => nudges,
    document: async () => ({
      body: z.any().parse(withoutReferences((await call('/openapi.json')).body)),
    }),
    add: (body: object, customer?: string) => call('/forum/monitor/add', body, customer),
    update: (body: object, customer?: string) => call('/forum/monitor/update', body, customer),
    remove: (body: object, customer?: string) => call('/forum/monitor/remove', body, customer),
    list: async (customer?: string) =>
      (await call('/forum/monitor/list', undefined, customer)).body,
    health: async (id: string) => (await call(`/forum/monitor/health?id=${id}`)).body,
    async [Symbol.asyncDispose]() {
      await app.stop(true)
      await fixture[Symbol.asyncDispose]()
    },
  }
}
