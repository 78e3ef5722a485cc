import { type Naming, toWire } from '../../core/forum/naming.ts'
import { PAGE } from '../http/fields.ts'
import { exampleRows, IDS } from './example-rows.ts'

const CREATED_AT = '2026-01-31T11:56:00.000Z'
const MATCHED_AT = '2026-01-31T11:58:38.000Z'
const DELIVERED_AT = '2026-01-31T11:58:43.000Z'
const HOST = 'https://api.example.com'
/** Example secret: its decoded text says that it is one. */
const SECRET = 'whsec_ZXhhbXBsZS1leGFtcGxlLWV4YW1wbGUtZXhhbXBsZSE='

/** Example answers of monitoring, by method and path below the monitors' prefix. */
export function exampleMonitoring(words: Naming): Readonly<Record<string, unknown>> {
  const { match, enrichment } = exampleRows(words)
  const feed_url = `${HOST}${words.monitor}/feed/${IDS.monitor}~1~wTcG9f0mSnNhaROSN4gIICXvtvsCIX4OVga5ABPFuHM`
  const filter_spec = toWire(words, {
    subforum: ['coffee'],
    kind: 'post',
    include_any: ['grinder', 'burr set'],
  })
  const added = {
    id: IDS.monitor,
    name: 'grinders',
    filter_spec,
    cadence_s: 60,
    requested_cadence_s: null,
    raised: false,
    webhook_ids: [IDS.webhook],
    targets: 'listed',
    active: true,
    pause_reason: null,
    created_at: CREATED_AT,
    updated_at: CREATED_AT,
    last_match_at: null,
    attention: null,
    relevance: null,
    feed_url,
    streams: [toWire(words, { ...STREAM, subforum: 'coffee', interval_s: 60 })],
  }
  const feed = { kind: 'posts', subforums: ['coffee'], query: null, place: null }
  return {
    'POST /add': added,
    'GET /list': {
      monitors: [{ ...added, last_match_at: MATCHED_AT }],
      slots: { used: 1, total: 10, tier: 'entry', sitewide_used: 0, sitewide_total: 2 },
    },
    'POST /update': { ...added, active: false, updated_at: DELIVERED_AT },
    'POST /remove': { removed: true, id: IDS.monitor },
    'POST /acknowledge': { id: IDS.monitor, acknowledged: 1 },
    'GET /health': HEALTH,
    'GET /coverage': COVERAGE,
    'POST /webhook/create': { ...WEBHOOK, secret: SECRET, kind_inferred_from: null },
    'GET /webhook/list': { webhooks: [{ ...WEBHOOK, health: WEBHOOK_HEALTH }] },
    'POST /webhook/update': { ...WEBHOOK, max_per_second: 5 },
    'POST /webhook/rotate': {
      id: IDS.webhook,
      secret: SECRET,
      old_secret_until: '2026-01-31T13:01:00.000Z',
    },
    'POST /webhook/test': {
      ok: true,
      status_code: 200,
      status: 200,
      delivery_id: 'dlv_FhYWFhYWFhYWFhYWFhYWFg',
      duration_ms: 87,
      reason: null,
      hint: null,
      detail: 'the receiver answered 200',
      body_start: 'ok',
    },
    'POST /webhook/delete': { deleted: true, id: IDS.webhook },
    'GET /items': { items: [match], after: '1', has_more: false },
    'POST /feed/rotate': { id: IDS.monitor, feed_url },
    'GET /deliveries': {
      deliveries: [
        {
          ...DELIVERY,
          held_until: null,
          monitor_id: IDS.monitor,
          attempts: 2,
          retrying: false,
          next_attempt_at: null,
          redeliver_refusal: null,
          payload: {
            delivery_id: IDS.delivery,
            monitor_id: IDS.monitor,
            count: 1,
            grouped: false,
            items: [match],
          },
        },
      ],
      next_before: null,
    },
    'GET /deliveries/request': {
      delivery_id: IDS.delivery,
      method: 'POST',
      url: 'https://example.com/hook',
      headers: {
        'content-type': 'application/json',
        'x-service-signature':
          't=1769850720,v1=5257a869e7ecebeda32affa62cdca3fa51cad7e77a0e56ff536d0ce8e108d8bd',
      },
      signed_at: '2026-01-31T09:12:00.000Z',
      body: '{"count":1}',
      attempts: [{ n: 1, headers: { 'x-service-signature': null } }],
    },
    'POST /deliveries/redeliver': { queued: 3, skipped: 0, dry_run: false },
    'POST /preview': {
      filter_spec,
      matches: [match],
      matched: 1,
      low_relevance: 0,
      not_yet: 0,
      scanned: 95,
      truncated: false,
      terms: [
        { term: 'grinder', role: 'wanted', items: 1 },
        { term: 'burr set', role: 'wanted', items: 0 },
      ],
      criteria: [
        { criterion: 'kind', left: 95 },
        { criterion: words.community, left: 95 },
        { criterion: 'include_any', left: 1 },
      ],
      estimate_per_day: 0.6,
      feeds: [
        {
          ...toWire(words, feed),
          scanned: 95,
          matched: 1,
          oldest: '2026-01-29T18:56:40.000Z',
          error: null,
        },
      ],
      feeds_left_out: 0,
      item: null,
    },
    'GET /why': {
      monitor_id: IDS.monitor,
      items: [
        {
          item_id: match.name,
          outcome: 'matched',
          means: 'it matched; see its deliveries',
          created_at: match.created,
          matched_at: MATCHED_AT,
          collected_until: null,
          waiting_until: null,
          first_seen: {
            at: MATCHED_AT,
            age_s: 38,
            fresh: true,
            freshness_s: 900,
            streams: [toWire(words, { ...STREAM, subforum: 'coffee', first_seen_at: MATCHED_AT })],
          },
          filter_edited_since: false,
          as_of: 'match',
          criteria: [
            { criterion: 'kind', verdict: 'met', detail: 'post' },
            { criterion: words.community, verdict: 'met', detail: 'coffee' },
            { criterion: 'include_any', verdict: 'met', detail: 'grinder' },
          ],
          enrichment,
          judgement: null,
        },
      ],
      deliveries: [
        {
          ...DELIVERY,
          gate: { verdict: 'let_through', reason: null, figures: null },
          attempts: [
            { ...ATTEMPT, n: 1, started_at: MATCHED_AT, error: 'http_503', status_code: 503 },
            { ...ATTEMPT, n: 2, started_at: DELIVERED_AT, error: null, status_code: 200 },
          ],
        },
      ],
    },
  }
}

const STREAM = { id: 'posts:coffee', kind: 'posts' }

const WEBHOOK = {
  id: IDS.webhook,
  kind: 'webhook',
  url: 'https://receiver.example.com/hook',
  created_at: CREATED_AT,
  active: true,
  paused_at: null,
  pause_reason: null,
  name: null,
  max_per_second: null,
  ordered: false,
  events: ['match', 'item.deleted'],
}

const COVERAGE = {
  id: IDS.monitor,
  from: '2026-10-31',
  to: '2026-10-31',
  days: [
    {
      day: '2026-10-31',
      complete_s: 85_500,
      not_verified_s: 900,
      unwatched_s: 0,
      gaps: [
        {
          from: '2026-10-31T09:15:00.000Z',
          until: '2026-10-31T09:30:00.000Z',
          status: 'degraded',
          reason: 'poll_overflow',
        },
      ],
    },
  ],
}

const WEBHOOK_HEALTH = {
  state: 'good',
  failing_since: null,
  success_rate_24h: 0.5,
  succeeded_24h: 1,
  failed_24h: 1,
  last_success_at: DELIVERED_AT,
  last_failure: {
    at: MATCHED_AT,
    delivery_id: IDS.delivery,
    reason: 'http_503',
    status_code: 503,
    body_start: 'out of workers',
  },
  waiting: 0,
  retrying: 0,
  next_attempt_at: null,
  hours: {
    succeeded: [...Array.from({ length: 23 }, () => 0), 1],
    failed: [...Array.from({ length: 23 }, () => 0), 1],
  },
}

const DELIVERY = {
  delivery_id: IDS.delivery,
  webhook_id: IDS.webhook,
  status: 'delivered',
  last_error: 'http_503',
  created_at: MATCHED_AT,
  delivered_at: DELIVERED_AT,
}
const ATTEMPT = { round: 1, duration_ms: 42, headers: { 'content-length': '0' }, body_start: '' }

const HEALTH = {
  id: IDS.monitor,
  active: true,
  pause_reason: null,
  alarms: [],
  daily_delivery_ceiling: 10_000,
  delivered_24h: 1,
  failed_24h: 0,
  rejected_24h: 0,
  suppressed_24h: 0,
  suppressed_breakdown: {
    ceiling: 0,
    stale: 0,
    low_relevance: 0,
    unknown: 0,
    sampled: 0,
    sample_truncated: false,
    resolved: true,
    unresolved_reason: null,
  },
  ceiling_reached: false,
  last_match_at: MATCHED_AT,
  coverage_24h: {
    status: 'complete',
    reason: null,
    proof: ['time_listing'],
    since: CREATED_AT,
    audited_until: CREATED_AT,
    audit_interval_s: 600,
    gaps: [],
    gaps_returned: 0,
    gaps_truncated: false,
    gap_events_24h: 0,
    gaps_open: 0,
    posts_in_window_at_least: 2,
    posts_missed_estimate: 0,
    observed_events: [],
    unobserved_events: [],
  },
  stream_liveness: { status: 'live', reason: null, streams: [] },
  cadence: {
    promised_cadence_s: 60,
    requested_cadence_s: null,
    meets_entitlement: true,
    last_checked_s_ago: 22,
    freshness_ratio: 0.37,
    within_margin: true,
    slowest_stream: STREAM.id,
    unknown_reason: null,
  },
  clock_skew_s: 0,
}

const ACCOUNT_CREATED_AT = '2026-01-31T11:55:00.000Z'
const SUBMITTED_AT = '2026-01-31T12:01:00.000Z'

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
  source: null,
  status: 'waiting',
  created_at: SUBMITTED_AT,
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
  created_at: SUBMITTED_AT,
  updated_at: '2026-02-01T09:30:00.000Z',
}
const PAGING = { count: 1, limit: PAGE, next_cursor: null }

/** Example answers of account, drafts and feedback, by method and path. */
export const EXAMPLES_OF_ACCOUNT: Readonly<Record<string, unknown>> = {
  'GET /account/me': {
    id: IDS.customer,
    name: 'acme',
    plan: 'entry',
    credits_remaining: 0.422,
    credits_used: 0.078,
    total_requests: 21,
    created_at: ACCOUNT_CREATED_AT,
    monitors: { used: 1, total: 10, cadence_s: 60 },
  },
  'GET /account/problems': {
    status: 'warning',
    problems: [
      {
        kind: 'webhook_retrying',
        severity: 'warning',
        subject: { id: IDS.webhook, name: 'crm' },
        since: SUBMITTED_AT,
        message: 'Webhook crm is failing: 3 deliveries are tried again (http_503)',
        fix: 'Repair the receiver and test the webhook',
      },
    ],
    truncated: false,
  },
  'GET /account/activity': {
    bucket: 'hour',
    buckets: [{ start: '2026-01-31T09:00:00.000Z', matches: 4, delivered: 3, failed: 0 }],
    newest: [
      {
        matched_at: '2026-01-31T09:12:00.000Z',
        monitors: [{ id: IDS.monitor, name: 'espresso' }],
        item: { kind: 'post', id: '1abcde', title: 'Which grinder for espresso?' },
      },
    ],
  },
  'GET /account/payments': {
    payments: [
      {
        id: IDS.payment,
        kind: 'signup_credit',
        amount_usd: 0.5,
        note: null,
        created_at: ACCOUNT_CREATED_AT,
      },
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
  'GET /drafts': { drafts: [WAITING], ...PAGING },
  'GET /drafts/:id': WAITING,
  'POST /drafts/:id/approve': {
    ...DECIDED,
    status: 'approved',
    answer: { success: true, id: 't3_1abcde', direction: 'up' },
  },
  'POST /drafts/:id/decline': { ...DECIDED, status: 'declined' },
  'POST /feedback': { id: IDS.feedback, status: 'new', created_at: SUBMITTED_AT },
  'GET /feedback/:id': FEEDBACK,
}

/** Example answers of the archive, by method and path below its prefix. */
export function exampleArchive(words: Naming): Readonly<Record<string, unknown>> {
  const { match } = exampleRows(words)
  const archived = {
    first_seen: MATCHED_AT,
    last_seen: DELIVERED_AT,
    versions: 0,
    monitor_ids: [IDS.monitor],
  }
  return {
    'GET /search': {
      items: [{ ...match, archived }],
      after: '7258118400',
      scanned: 3,
      scanned_until: null,
    },
    'GET ': {
      keep: 'matches',
      days: 90,
      max_size_mb: 2048,
      items: 18_240,
      bytes: 36_700_160,
      oldest: '2025-11-02T11:56:00.000Z',
      newest: CREATED_AT,
      queued: 0,
    },
  }
}
