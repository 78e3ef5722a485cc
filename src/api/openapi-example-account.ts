import { IDS } from './openapi-example-rows.ts'
import { PAGE } from './pages.ts'

const MADE = '2026-01-31T11:55:00.000Z'
const SAID = '2026-01-31T12:01:00.000Z'

const counts = (calls: number, cost_usd: number) => ({
  calls,
  billed_calls: calls,
  cost_usd,
  errors: 0,
})

const WAITING = {
  id: IDS.draft,
  action: 'vote',
  body: { id: 't3_1abcde', direction: 'up' },
  status: 'waiting',
  created_at: SAID,
  expires_at: '2026-02-01T12:01:00.000Z',
  decided_at: null,
  customer: { id: IDS.customer, name: 'acme' },
  answer: null,
}
const DECIDED = { ...WAITING, decided_at: '2026-01-31T12:05:00.000Z' }

const FEEDBACK = {
  id: IDS.feedback,
  type: 'idea',
  title: 'Weekly summaries',
  details: 'One mail a week with what a monitor matched.',
  area: null,
  evidence: null,
  status: 'triaged',
  response: 'On our list.',
  created_at: SAID,
  updated_at: '2026-02-01T09:30:00.000Z',
}
const BESIDE = { count: 1, limit: PAGE, next_cursor: null }

/** An answer of each route of the account, drafts and feedback, by its method and path. */
export const EXAMPLES_OF_ACCOUNT: Readonly<Record<string, unknown>> = {
  'GET /account/me': {
    id: IDS.customer,
    name: 'acme',
    plan: 'entry',
    credits_remaining: 0.422,
    credits_used: 0.078,
    total_requests: 21,
    created_at: MADE,
    monitors: { used: 1, total: 10 },
  },
  'GET /account/payments': {
    payments: [
      { id: IDS.payment, kind: 'signup_credit', amount_usd: 0.5, note: null, created_at: MADE },
    ],
  },
  'GET /account/usage': {
    usage: [
      {
        start: '2026-01-31T00:00:00.000Z',
        ...counts(21, 0.078),
        by_tier: { deep_search: counts(2, 0.04), read: counts(19, 0.038) },
      },
    ],
    total: counts(21, 0.078),
  },
  'POST /drafts': WAITING,
  'GET /drafts': { drafts: [WAITING], ...BESIDE },
  'GET /drafts/:id': WAITING,
  'POST /drafts/:id/approve': {
    ...DECIDED,
    status: 'approved',
    answer: { success: true, id: 't3_1abcde', direction: 'up' },
  },
  'POST /drafts/:id/decline': { ...DECIDED, status: 'declined' },
  'POST /feedback': { id: IDS.feedback, status: 'new', created_at: SAID },
  'GET /feedback': { feedback: [FEEDBACK], ...BESIDE },
  'GET /feedback/:id': FEEDBACK,
}
