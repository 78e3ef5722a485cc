import { customerStories } from './dashboard-customer.ts'
import { inDashboard } from './dashboard-group.ts'
import { hostileStories } from './dashboard-hostile.ts'
import { referenceStories } from './dashboard-reference.ts'
import { pageTests } from './dashboard-rendering.ts'
import { signInStories } from './dashboard-sign-in.ts'

inDashboard('the dashboard', [
  pageTests,
  customerStories,
  hostileStories,
  signInStories,
  referenceStories,
])
