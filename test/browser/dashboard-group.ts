import { afterAll, beforeAll } from 'bun:test'

import { fillWorld } from './dashboard-data.ts'
import { type Dashboard, startDashboard } from './dashboard-fixture.ts'
import { inBrowser, TEST_MS } from './fixture.ts'

/**
 * A group of stories with one filled daemon and one browser: their start dominates the time of a story. A file holds one
 * group, so that files run at the same time.
 */
export function inDashboard(
  name: string,
  stories: readonly ((fixture: () => Dashboard) => void)[],
): void {
  inBrowser(name, () => {
    let it: Dashboard | undefined
    const fixture = () => {
      if (it === undefined) throw new Error('the dashboard is not started')
      return it
    }
    beforeAll(async () => {
      it = await startDashboard()
      await fillWorld(it)
    }, TEST_MS)
    afterAll(() => it?.[Symbol.asyncDispose](), TEST_MS)

    for (const add of stories) add(fixture)
  })
}
