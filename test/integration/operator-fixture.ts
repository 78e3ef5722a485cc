import { homeOf } from '../../src/config/schema.ts'
import type { Config } from '../../src/config/schema.ts'
import { apiKey } from '../../src/core/base/ids.ts'
import type { Proxy } from '../../src/core/forum/proxy.ts'
import { insertProxy } from '../../src/store/accounts/proxies.ts'
import { insertKey } from '../../src/store/customers/keys.ts'
import type { Db } from '../../src/store/db/connection.ts'
import { type Instance, openInstance } from '../../src/store/maintenance/instance.ts'
import { SESSION_COOKIE } from '../support/accounts.ts'
import { startTestDaemon } from '../support/test-daemon.ts'
import { cookieOf } from './dashboard-fixture.ts'

export type OperatorDaemon = Awaited<ReturnType<typeof startTestDaemon>>

/** A daemon with an active platform, without low rate limits. */
export const startOperated = (more: (config: Config) => void = () => {}): Promise<OperatorDaemon> =>
  startTestDaemon({
    world: 'seeded',
    change(config) {
      homeOf(config)!.session_cookie = SESSION_COOKIE
      config.limits.read_cache_s = 0
      config.limits.management_per_minute = 0
      config.limits.failed_auth_per_minute = 0
      config.limits.feedback_per_minute = 0
      more(config)
    },
  })

/** Changes the data folder like the command line, beside the daemon. */
export function beside<T>(
  daemon: OperatorDaemon,
  work: (opened: Pick<Instance, 'db' | 'ring'>) => T,
): T {
  const { config, clock } = daemon
  const random = { uuid: () => Bun.randomUUIDv7(), bytes: randomBytes }
  const instance = openInstance({ ...config.storage, clock, random }, { mode: 'beside' })
  try {
    return work(instance)
  } finally {
    instance.close()
  }
}

const randomBytes = (size: number) => crypto.getRandomValues(new Uint8Array(size))

/** An operator's key, created as by the command line. */
export function operatorKey(daemon: OperatorDaemon): string {
  const token = apiKey('operator', randomBytes(32))
  const row = { id: 'key_operator', customer_id: null, token, name: 'ops', scopes: [] }
  beside(daemon, ({ db }: { db: Db }) =>
    insertKey(db, { ...row, created_at: daemon.clock.now(), expires_at: null }),
  )
  return token
}

/** Adds an egress proxy of the operator. */
export const addProxy = (daemon: OperatorDaemon, name: string, proxy: Proxy): void =>
  beside(daemon, ({ db, ring }) =>
    insertProxy(db, ring, { id: `prx_${name}`, name, proxy, created_at: daemon.clock.now() }),
  )

/** Signs a key in at the dashboard, and returns the headers of its page's requests. */
export async function pageOf(daemon: OperatorDaemon, key: string): Promise<Record<string, string>> {
  const own = { 'sec-fetch-site': 'same-origin', 'content-type': 'application/json' }
  const answer = await fetch(`${daemon.url()}/dashboard/session`, {
    method: 'POST',
    headers: own,
    body: JSON.stringify({ key }),
  })
  if (!answer.ok) throw new Error(`signing in ended with ${answer.status}`)
  return { ...own, cookie: cookieOf(answer) }
}
