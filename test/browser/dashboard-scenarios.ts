import { expect, test } from 'bun:test'

import { insertSignInLink } from '../../src/store/customers/web-sessions.ts'
import { openInstance } from '../../src/store/maintenance/instance.ts'
import type { DashboardClient } from './dashboard-client.ts'
import type { Dashboard } from './dashboard-fixture.ts'
import { TEST_MS } from './fixture.ts'

/** Timeout; some scenarios visit every page in several renderings. */
const SCENARIO_MS = 3 * TEST_MS

/** Registers scenarios against the shared daemon; `asCustomer` signs in as the established customer. */
export function createScenarios(fixture: () => Dashboard) {
  const scenario = (title: string, run: (it: Dashboard) => Promise<void>) =>
    test(title, () => run(fixture()), SCENARIO_MS)
  const asCustomer = (
    title: string,
    run: (client: DashboardClient, it: Dashboard) => Promise<void>,
  ) =>
    scenario(title, async (it) => {
      await using client = await it.openClient()
      await client.setViewport('wide', 'light')
      await client.enter(it.daemon.key)
      await run(client, it)
      expect(client.strange).toEqual([])
    })
  return { scenario, asCustomer }
}

const bytes = (size: number) => crypto.getRandomValues(new Uint8Array(size))

/** The part of a sign-in link after `/dashboard`, made as the command line does. */
export function linkOf({ daemon: { config, clock } }: Dashboard, key: string): string {
  const random = { uuid: () => Bun.randomUUIDv7(), bytes }
  const { db, close } = openInstance({ ...config.storage, clock, random }, { mode: 'beside' })
  const token = Buffer.from(bytes(16)).toString('base64url')
  const key_id = db
    .query<{ id: string }, [string]>('SELECT id FROM api_keys WHERE prefix = ?')
    .get(key.slice(0, 8))?.id
  insertSignInLink(db, { token, key_id: key_id ?? '' }, clock.now())
  close()
  return `/sign-in#${token}`
}

/** A new customer with the name, signed in. */
export async function newcomer(it: Dashboard, name: string, options: { own?: boolean } = {}) {
  const key = it.daemon.mint(name)
  const client = await it.openClient(options)
  await client.enter(key)
  return client
}

/** Creates a webhook for the receiver on the page and returns the displayed secret. */
export async function register(client: DashboardClient, url: string) {
  await client.open('/webhooks')
  await client.press('New webhook')
  await client.type('URL', url)
  await client.press('Create', 'The signing secret')
  const secret = await client.value('Secret')
  await client.press('I have stored it')
  return secret
}
