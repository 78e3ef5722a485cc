import { join } from 'node:path'

import { launch } from 'puppeteer-core'

import { apiKey } from '../../src/core/ids.ts'
import { findChromium } from '../../src/platform/browser/launch.ts'
import { openInstance } from '../../src/store/instance.ts'
import { insertKey } from '../../src/store/keys.ts'
import { addAccounts } from '../support/accounts.ts'
import { tempFolder } from '../support/folder.ts'
import { startHouse } from '../support/house.ts'
import { startVisitor } from './dashboard-visitor.ts'

export const MINUTE = 60_000
/** A daemon on a clock in the test's hand, with what a dashboard can show, and one browser that looks at it. */
export async function startDashboard() {
  await using stack = new AsyncDisposableStack()
  const house = stack.use(
    await startHouse({
      start_at: Date.now(),
      change: (config) => {
        config.limits.management_per_minute = 0
        config.limits.account_per_minute = 0
        config.limits.dashboard_per_minute = 0
        config.limits.webhook_test_per_minute = 0
        config.limits.feedback_per_minute = 0
        // A ladder and a freshness that a test need not wait for.
        config.delivery.retry_delays_s = [0, 1, 1, 1, 1, 1]
        config.monitor.freshness_s = 120
      },
    }),
  )
  const session = house.sandbox.session({ username: 'house_one' })
  addAccounts(house, [{ name: 'house_one', cookies: session.cookies }, { name: 'house_two' }])
  const operator = mintOperator(house)
  const folder = stack.use(tempFolder())
  const browser = await launch({
    executablePath: findChromium('') ?? '',
    headless: true,
    pipe: true,
    userDataDir: join(folder.path, 'chromium'),
    // One that is ended in the middle leaves its socket's folder.
    env: { ...process.env, TMPDIR: folder.path },
    args: ['--no-sandbox', '--disable-dev-shm-usage', '--disable-background-networking'],
  })
  stack.defer(() => browser.close())
  const owned = stack.move()
  return {
    house,
    operator,
    /** A window of its own, signed in to nothing; closed with `close`. */
    visitor: () => startVisitor(browser, house.url()),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}

export type Dashboard = Awaited<ReturnType<typeof startDashboard>>
type House = Dashboard['house']

/** An operator's key, written as the command line would. */
function mintOperator({ config, clock }: House): string {
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
