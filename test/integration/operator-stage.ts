import { apiKey } from '../../src/core/ids.ts'
import type { Proxy } from '../../src/core/proxy.ts'
import type { Db } from '../../src/store/db.ts'
import { type Instance, openInstance } from '../../src/store/instance.ts'
import { insertKey } from '../../src/store/keys.ts'
import { insertProxy } from '../../src/store/proxies.ts'
import { SESSION_COOKIE } from '../support/accounts.ts'
import { startHouse } from '../support/house.ts'
import { cookieOf } from './dashboard-stage.ts'

export type House = Awaited<ReturnType<typeof startHouse>>

/** A daemon with a lively platform, whose limits are out of the way. */
export const startOperated = (): Promise<House> =>
  startHouse({
    world: 'seeded',
    change(config) {
      config.platform.session_cookie = SESSION_COOKIE
      config.limits.read_cache_s = 0
      config.limits.management_per_minute = 0
      config.limits.feedback_per_minute = 0
    },
  })

/** Does something in the data folder as the command line would, beside the daemon. */
export function beside<T>(house: House, work: (opened: Pick<Instance, 'db' | 'ring'>) => T): T {
  const { config, clock } = house
  const random = { uuid: () => Bun.randomUUIDv7(), bytes: randomBytes }
  const instance = openInstance({ ...config.storage, clock, random }, { mode: 'beside' })
  try {
    return work(instance)
  } finally {
    instance.close()
  }
}

const randomBytes = (size: number) => crypto.getRandomValues(new Uint8Array(size))

/** An operator's key, written as the command line would. */
export function operatorKey(house: House): string {
  const token = apiKey('operator', randomBytes(32))
  const row = { id: 'key_operator', customer_id: null, token, name: 'ops', scopes: [] }
  beside(house, ({ db }: { db: Db }) =>
    insertKey(db, { ...row, created_at: house.clock.now(), expires_at: null }),
  )
  return token
}

/** Adds a way out of the operator's. */
export const addProxy = (house: House, name: string, way: Proxy): void =>
  beside(house, ({ db, ring }) =>
    insertProxy(db, ring, { id: `prx_${name}`, name, way, created_at: house.clock.now() }),
  )

/** Signs a key in at the dashboard, and answers the headers of what its page sends. */
export async function pageOf(house: House, key: string): Promise<Record<string, string>> {
  const own = { 'sec-fetch-site': 'same-origin', 'content-type': 'application/json' }
  const answer = await fetch(`${house.url()}/dashboard/session`, {
    method: 'POST',
    headers: own,
    body: JSON.stringify({ key }),
  })
  if (!answer.ok) throw new Error(`signing in ended with ${answer.status}`)
  return { ...own, cookie: cookieOf(answer) }
}
