import { afterAll, beforeAll } from 'bun:test'

import { customerStories } from './dashboard-customer.ts'
import { draftStories } from './dashboard-drafts.ts'
import { hostileStories } from './dashboard-hostile.ts'
import { lookStories } from './dashboard-looks.ts'
import { monitorStories } from './dashboard-monitors.ts'
import { operatorStories } from './dashboard-operator.ts'
import { type Dashboard, startDashboard } from './dashboard-stage.ts'
import { fillWorld } from './dashboard-world.ts'
import { inBrowser, TEST_MS } from './stage.ts'

// One daemon, one browser: starting them is most of what a story costs.
inBrowser('the dashboard', () => {
  let it: Dashboard | undefined
  const stage = () => {
    if (it === undefined) throw new Error('the stage is not up')
    return it
  }
  beforeAll(async () => {
    it = await startDashboard()
    await fillWorld(it)
  }, TEST_MS)
  afterAll(() => it?.[Symbol.asyncDispose](), TEST_MS)

  lookStories(stage)
  customerStories(stage)
  monitorStories(stage)
  operatorStories(stage)
  draftStories(stage)
  hostileStories(stage)
})
