import { join } from 'node:path'

import { type Browser, launch } from 'puppeteer-core'

import { apiKey } from '../../src/core/base/ids.ts'
import { findChromium } from '../../src/platforms/reddit/browser/launch.ts'
import { DEFAULT_SCOPES, insertKey, type Scope } from '../../src/store/customers/keys.ts'
import { openInstance } from '../../src/store/maintenance/instance.ts'
import { addAccounts } from '../support/accounts.ts'
import { startDenseSite } from '../support/dense-site.ts'
import { tempFolder } from '../support/folder.ts'
import { startTestDaemon } from '../support/test-daemon.ts'
import { createClients } from './dashboard-client.ts'

/** An address that is not the loopback, under which the browser reaches it. */
export const OTHER_HOST = '203.0.113.7'
export const MINUTE = 60_000
const DAY = 86_400_000
/**
 * A test daemon on a fake clock with accounts, and a browser for its dashboard. `alone`: nothing costs credits, as after
 * `forumd init`.
 */
export async function startDashboard({ alone = false } = {}) {
  await using stack = new AsyncDisposableStack()
  const time = { now: Date.now }
  const site = stack.use(startDenseSite(() => time.now()))
  const daemon = stack.use(
    await startTestDaemon({
      start_at: Date.now(),
      change: (config) => {
        config.billing.enabled = !alone
        config.limits.management_per_minute = 0
        config.limits.account_per_minute = 0
        config.limits.open_per_minute = 0
        config.limits.writes_per_minute = 0
        config.limits.dashboard_per_minute = 0
        config.limits.inbox_per_minute = 0
        config.limits.webhook_test_per_minute = 0
        config.limits.feedback_per_minute = 0
        // A short retry schedule and freshness limit.
        config.delivery.retry_delays_s = [0, 1, 1, 1, 1, 1]
        config.monitor.freshness_s = 120
        config.source.push({
          name: 'hn',
          kind: 'hackernews',
          base_url: site.url,
          user_agent: '',
          requests_per_minute: 6000,
          api_key: '',
          ends_at: new Date(Date.now() + 30 * DAY).toISOString().slice(0, 10),
        })
      },
    }),
  )
  time.now = daemon.clock.now
  const session = daemon.sandbox.session({ username: 'house_one' })
  addAccounts(daemon, [{ name: 'house_one', cookies: session.cookies }, { name: 'house_two' }])
  const operator = mintOperator(daemon)
  const browser = await launchIn(stack)
  const owned = stack.move()
  return {
    daemon,
    /** The further source hn. */
    site,
    operator,
    /** Opens a page without a session; end it with `close`. */
    openClient: createClients(browser, daemon.url()).open,
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}

/** A browser that ends with `stack`. */
export async function launchIn(stack: AsyncDisposableStack): Promise<Browser> {
  const folder = stack.use(tempFolder())
  const browser = await launch({
    executablePath: findChromium('') ?? '',
    headless: true,
    pipe: true,
    userDataDir: join(folder.path, 'chromium'),
    // A killed browser leaves the folder of its socket behind.
    env: { ...process.env, TMPDIR: folder.path },
    args: [
      '--no-sandbox',
      '--disable-dev-shm-usage',
      '--disable-background-networking',
      `--host-resolver-rules=MAP ${OTHER_HOST} 127.0.0.1`,
    ],
  })
  stack.defer(() => browser.close())
  return browser
}

export type Dashboard = Awaited<ReturnType<typeof startDashboard>>
type TestDaemon = Dashboard['daemon']

/** A further key of the customer who owns this one, with a name. */
export async function mintSecondKey(
  { daemon: { call, config, clock } }: Dashboard,
  key: string,
  name: string,
  scopes: readonly Scope[] = DEFAULT_SCOPES,
): Promise<string> {
  const { id } = (await call('/account/me', {}, key)).body
  const random = {
    uuid: () => Bun.randomUUIDv7(),
    bytes: (size: number) => crypto.getRandomValues(new Uint8Array(size)),
  }
  const { db, close } = openInstance({ ...config.storage, clock, random }, { mode: 'beside' })
  const token = apiKey('customer', random.bytes(32))
  insertKey(db, {
    id: `key_${random.uuid()}`,
    customer_id: id,
    token,
    name,
    scopes,
    created_at: clock.now(),
    expires_at: null,
  })
  close()
  return token
}

/** Creates an operator key like the command line. */
function mintOperator({ config, clock }: TestDaemon): string {
  const random = {
    uuid: () => Bun.randomUUIDv7(),
    bytes: (size: number) => crypto.getRandomValues(new Uint8Array(size)),
  }
  const { db, close } = openInstance({ ...config.storage, clock, random }, { mode: 'beside' })
  const token = apiKey('operator', random.bytes(32))
  insertKey(db, {
    id: `key_${random.uuid()}`,
    customer_id: null,
    token,
    name: 'dashboard',
    scopes: [],
    created_at: clock.now(),
    expires_at: null,
  })
  close()
  return token
}
