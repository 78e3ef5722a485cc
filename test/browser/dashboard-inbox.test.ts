import { draftStories } from './dashboard-drafts.ts'
import { inDashboard } from './dashboard-group.ts'
import { inboxStories } from './dashboard-inbox.ts'
import { problemStories } from './dashboard-problems.ts'
import { inboxScrolling } from './inbox-scroll.ts'

inDashboard('the dashboard, inbox', [inboxStories, inboxScrolling, problemStories, draftStories])
