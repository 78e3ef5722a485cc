import { worded, type Words } from '../core/wire.ts'
import { exampleRows, IDS } from './openapi-example-rows.ts'

const MADE = '2026-01-31T11:56:00.000Z'
const MATCHED = '2026-01-31T11:58:38.000Z'
const DELIVERED = '2026-01-31T11:58:43.000Z'
const HOST = 'https://api.example.com'
/** Nobody's: it says so itself when it is decoded. */
const SECRET = 'whsec_ZXhhbXBsZS1leGFtcGxlLWV4YW1wbGUtZXhhbXBsZSE='

/** An answer of each route of monitoring, by its method and path below the monitors'. */
export function exampleMonitoring(words: Words): Readonly<Record<string, unknown>> {
  const { match, enrichment } = exampleRows(words)
  const feed_url = `${HOST}${words.monitor}/feed/${IDS.monitor}~1~wTcG9f0mSnNhaROSN4gIICXvtvsCIX4OVga5ABPFuHM`
  const filter_spec = worded(words, {
    subforum: ['coffee'],
    kind: 'post',
    include_any: ['grinder', 'burr set'],
  })
  const added = {
    id: IDS.monitor,
    name: 'grinders',
    filter_spec,
    cadence_s: 60,
    webhook_ids: [IDS.webhook],
    active: true,
    created_at: MADE,
    updated_at: MADE,
    last_match_at: null,
    feed_url,
    streams: [worded(words, { ...STREAM, subforum: 'coffee', interval_s: 60 })],
  }
  const feed = { kind: 'posts', subforums: ['coffee'], query: null, place: null }
  return {
    'POST /add': added,
    'GET /list': {
      monitors: [{ ...added, last_match_at: MATCHED }],
      slots: { used: 1, total: 10, tier: 'entry', sitewide_used: 0, sitewide_total: 2 },
    },
    'POST /update': { ...added, active: false, updated_at: DELIVERED },
    'POST /remove': { removed: true, id: IDS.monitor },
    'GET /health': HEALTH,
    'POST /webhook/create': { ...WEBHOOK, secret: SECRET, kind_inferred_from: null },
    'GET /webhook/list': { webhooks: [WEBHOOK] },
    'POST /webhook/update': { ...WEBHOOK, max_per_second: 5 },
    'POST /webhook/rotate': {
      id: IDS.webhook,
      secret: SECRET,
      old_secret_until: '2026-01-31T13:01:00.000Z',
    },
    'POST /webhook/test': {
      ok: true,
      status_code: 200,
      delivery_id: 'dlv_FhYWFhYWFhYWFhYWFhYWFg',
      duration_ms: 87,
      reason: null,
      hint: null,
      detail: 'the receiver answered 200',
    },
    'POST /webhook/delete': { deleted: true, id: IDS.webhook },
    'GET /items': { items: [match], after: '1', has_more: false },
    'POST /feed/rotate': { id: IDS.monitor, feed_url },
    'GET /deliveries': {
      deliveries: [
        {
          ...DELIVERY,
          monitor_id: IDS.monitor,
          attempts: 2,
          payload: {
            delivery_id: IDS.delivery,
            monitor_id: IDS.monitor,
            count: 1,
            grouped: false,
            items: [match],
          },
        },
      ],
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
          ...worded(words, feed),
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
          means: 'it matched; the deliveries tell what became of it',
          created_at: match.created,
          matched_at: MATCHED,
          collected_until: null,
          waiting_until: null,
          first_seen: {
            at: MATCHED,
            age_s: 38,
            fresh: true,
            freshness_s: 900,
            streams: [worded(words, { ...STREAM, subforum: 'coffee', first_seen_at: MATCHED })],
          },
          filter_edited_since: false,
          as_of: 'match',
          criteria: [
            { criterion: 'kind', verdict: 'met', detail: 'post' },
            { criterion: words.community, verdict: 'met', detail: 'coffee' },
            { criterion: 'include_any', verdict: 'met', detail: 'grinder' },
          ],
          enrichment,
        },
      ],
      deliveries: [
        {
          ...DELIVERY,
          gate: { verdict: 'let_through', reason: null, figures: null },
          attempts: [
            { ...ATTEMPT, n: 1, started_at: MATCHED, error: 'http_503', status_code: 503 },
            { ...ATTEMPT, n: 2, started_at: DELIVERED, error: null, status_code: 200 },
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
  created_at: MADE,
  active: true,
  paused_at: null,
  pause_reason: null,
  name: null,
  max_per_second: null,
  ordered: false,
}

const DELIVERY = {
  delivery_id: IDS.delivery,
  webhook_id: IDS.webhook,
  status: 'delivered',
  last_error: 'http_503',
  created_at: MATCHED,
  delivered_at: DELIVERED,
}
const ATTEMPT = { round: 1, duration_ms: 42, headers: { 'content-length': '0' }, body_start: '' }

const HEALTH = {
  id: IDS.monitor,
  active: true,
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
  last_match_at: MATCHED,
  coverage_24h: {
    status: 'complete',
    reason: null,
    since: MADE,
    gaps: [],
    gaps_returned: 0,
    gaps_truncated: false,
    gap_events_24h: 0,
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
