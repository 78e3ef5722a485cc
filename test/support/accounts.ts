import { SESSION_COOKIE } from '../../sandbox/server/sessions.ts'
import { type AccountStatus, newStatus, unsigned } from '../../src/core/accounts/status.ts'
import { createJars } from '../../src/platforms/reddit/login/cookie-jar.ts'
import { type AccountSecrets, insertAccount } from '../../src/store/accounts/accounts.ts'
import { openInstance } from '../../src/store/maintenance/instance.ts'
import type { startTestDaemon } from './test-daemon.ts'

type TestDaemon = Awaited<ReturnType<typeof startTestDaemon>>

/** Name of the session cookie of the sandbox, for the configuration of a daemon. */
export { SESSION_COOKIE }

export const headerOf = (cookies: Readonly<Record<string, string>>): string =>
  Object.entries(cookies)
    .map(([name, value]) => `${name}=${value}`)
    .join('; ')

/** A stored jar with these cookies for the platform at `base_url`. */
export function jarText(base_url: string, cookies: Readonly<Record<string, string>>): string {
  const jars = createJars({ base_url, session_cookie: SESSION_COOKIE, clock: STILL })
  const read = jars.import(headerOf(cookies))
  if (!read.ok) throw new Error(read.problems.join('; '))
  return read.jar.text()
}

const STILL = { now: () => 0, mono: () => 0, sleep: () => Promise.resolve() }

export type NewAccount = {
  name: string
  /** A further source, with its own sandbox; none: the first. */
  at?: { source: string; base_url: string }
  username?: string
  /** None: it has to be signed in. */
  cookies?: Readonly<Record<string, string>>
  secrets?: AccountSecrets
  status?: AccountStatus
}

/** Adds accounts to a house's pool as the command line would, beside the running daemon. */
export function addAccounts(daemon: TestDaemon, accounts: readonly NewAccount[]): void {
  const { config, clock, sandbox } = daemon
  let count = 0
  const random = {
    uuid: () => `0199b000-0000-7000-8000-${String(++count).padStart(12, '0')}`,
    bytes: (size: number) => crypto.getRandomValues(new Uint8Array(size)),
  }
  const { db, ring, close } = openInstance({ ...config.storage, clock, random }, { mode: 'beside' })
  const now = clock.now()
  for (const { name, at, username = name, cookies, secrets, status } of accounts)
    insertAccount(db, ring, {
      id: `acc_${name}`,
      name,
      source: at?.source,
      username,
      secrets: secrets ?? { kind: 'session', password: null, totp_secret: null },
      jar: cookies
        ? { text: jarText(at?.base_url ?? sandbox.url, cookies), expires_at: null }
        : null,
      proxy_id: null,
      status: status ?? (cookies ? newStatus(now) : unsigned(now)),
      created_at: now,
    })
  close()
}
