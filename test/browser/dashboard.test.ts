import { afterAll, beforeAll } from 'bun:test'

import { customerStories } from './dashboard-customer.ts'
import { fillWorld } from './dashboard-data.ts'
import { draftStories } from './dashboard-drafts.ts'
import { type Dashboard, startDashboard } from './dashboard-fixture.ts'
import { formStories } from './dashboard-forms.ts'
import { hostileStories } from './dashboard-hostile.ts'
import { inboxStories } from './dashboard-inbox.ts'
import { monitorStories } from './dashboard-monitors.ts'
import { operatorActionStories } from './dashboard-operator-actions.ts'
import { operatorStories } from './dashboard-operator.ts'
import { problemStories } from './dashboard-problems.ts'
import { referenceStories } from './dashboard-reference.ts'
import { pageTests } from './dashboard-rendering.ts'
import { signInStories } from './dashboard-sign-in.ts'
import { inBrowser, TEST_MS } from './fixture.ts'
import { inboxScrolling } from './inbox-scroll.ts'

// One shared daemon and browser: their start dominates the time of a scenario.
inBrowser('the dashboard', () => {
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

  pageTests(fixture)
  customerStories(fixture)
  inboxStories(fixture)
  inboxScrolling(fixture)
  formStories(fixture)
  problemStories(fixture)
  monitorStories(fixture)
  operatorStories(fixture)
  operatorActionStories(fixture)
  draftStories(fixture)
  hostileStories(fixture)
  signInStories(fixture)
  referenceStories(fixture)
})
