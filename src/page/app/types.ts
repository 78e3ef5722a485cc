// What the API answers with, as far as this page reads it. Instants are ISO 8601, money is USD.

export type Who = {
  role: 'customer' | 'operator'
  customer: { id: string; name: string } | null
  key: { id: string; name: string | null; prefix: string; scopes: string[] }
  insecure: boolean
  version: string
  words: { platform: string; community: string; communities: string }
  base_path: string
  monitor_path: string
}

export type Stream = { id: string; kind: string; interval_s: number; [place: string]: unknown }

export type FilterSpec = { [field: string]: unknown }

export type Monitor = {
  id: string
  name: string | null
  filter_spec: FilterSpec
  cadence_s: number
  webhook_ids: string[] | null
  active: boolean
  created_at: string
  updated_at: string
  last_match_at: string | null
  feed_url: string
  streams: Stream[]
  warnings?: string[]
}

type Slots = {
  used: number
  total: number
  tier: string
  sitewide_used: number
  sitewide_total: number
}

export type MonitorList = { monitors: Monitor[]; slots: Slots }

export type Gap = {
  stream: string
  reason: string
  at: string
  from: string | null
  until: string | null
  missed_estimate: number | null
  healed_at: string | null
}

export type PollEvent = { kind: string; at: string; until: string | null; stream: string | null }

export type Coverage = {
  status: 'complete' | 'degraded' | 'partial' | 'unknown'
  reason: string | null
  since: string
  gaps: Gap[]
  gaps_truncated: boolean
  gap_events_24h: number | null
  posts_in_window_at_least: number | null
  posts_missed_estimate: number | null
  observed_events: PollEvent[]
  unobserved_events: PollEvent[]
}

export type Health = {
  id: string
  active: boolean
  daily_delivery_ceiling: number
  delivered_24h: number
  failed_24h: number
  rejected_24h: number
  suppressed_24h: number
  suppressed_breakdown: {
    ceiling: number
    stale: number
    low_relevance: number
    unknown: number
    resolved: boolean
    unresolved_reason: string | null
  }
  ceiling_reached: boolean
  last_match_at: string | null
  coverage_24h: Coverage
  stream_liveness: {
    status: 'live' | 'degraded' | 'unknown'
    reason: string | null
    streams: { id: string; reason: string }[]
  }
  cadence: {
    promised_cadence_s: number
    requested_cadence_s: number | null
    meets_entitlement: boolean | null
    last_checked_s_ago: number | null
    unknown_reason: string | null
  }
}

type DeliveryStatus = 'pending' | 'delivered' | 'failed' | 'dead' | 'suppressed'

type Enrichment = {
  relevance: { score: number; matched_terms: string[]; considered_terms: number; method: string }
  sentiment: { polarity: number; label: string }
  intent: { tag: string }
}

/** A post or a comment as a delivery carries it. */
export type Item = {
  id: string
  title?: string | null
  body?: string | null
  text?: string | null
  author?: string | null
  url?: string | null
  link_title?: string | null
  created?: string | null
  kind?: string
  enrichment?: Enrichment
  [field: string]: unknown
}

type Payload = {
  count: number
  grouped: boolean
  items: Item[]
  suppressed?: { reason: string; [figure: string]: string | number }
}

export type Delivery = {
  delivery_id: string
  monitor_id: string
  webhook_id: string | null
  status: DeliveryStatus
  attempts: number
  last_error: string | null
  created_at: string
  delivered_at: string | null
  payload: Payload
}

export type Webhook = {
  id: string
  kind: 'webhook' | 'slack' | 'discord' | 'email'
  url: string
  created_at: string
  active: boolean
  paused_at: string | null
  pause_reason: string | null
  name: string | null
  max_per_second: number | null
  ordered: boolean
}

export type TestReport = {
  ok: boolean
  status_code: number | null
  delivery_id: string
  duration_ms: number
  reason: string | null
  hint: string | null
  detail: string
}

export type Me = {
  plan: string
  credits_remaining: number
  credits_used: number
  total_requests: number
  created_at: string
  monitors: { used: number; total: number }
}

export type Payment = {
  id: string
  kind: string
  amount_usd: number
  note: string | null
  created_at: string
}

type Counts = { calls: number; billed_calls: number; cost_usd: number; errors: number }

export type Usage = {
  usage: (Counts & { start: string; by_tier: { [tier: string]: Counts } })[]
  total: Counts
}

export type Snapshot = {
  at: string
  last_minute: {
    checks: number
    items_seen: number
    matches: number
    delivered: number
    failed: number
    reads: number
    spent_usd: number
  }
  pending: number
  recent: Recent[]
  accounts?: { usable: number; cooling: number; needs_login: number }
}

export type Recent = {
  at: string
  what: string
  monitor_id: string | null
  monitor_name: string | null
  delivery_id: string | null
  title: string | null
  status: string | null
}

export type Feedback = {
  id: string
  type: string
  title: string
  details: string
  area?: string | null
  status: string
  created_at: string
  updated_at?: string | null
  response?: string | null
  customer?: { id: string; name: string } | null
}

export type FeedbackList = { feedback: Feedback[]; next_cursor: string | null }

export type Account = {
  id: string
  name: string
  kind: string
  status: string
  paused: boolean
  needs_login: boolean
  proxy: string | null
  budget: { limit_per_minute: number; remaining: number; resets_at: string | null } | null
  cooling_until: string | null
  last_used_at: string | null
  last_error: string | null
  requests_24h: number | null
  blocked_24h: number | null
}

export type Pool = {
  accounts: Account[]
  proxies: {
    id: string
    name: string
    scheme: string | null
    host: string | null
    status: string
    last_tested_at: string | null
    last_error: string | null
  }[]
  anonymous: { allowed: boolean }
}

export type Customer = {
  id: string
  name: string
  plan: string
  credits_remaining: number
  unlimited: boolean
  created_at: string
  monitors: number
  requests_24h: number
}

/** What the house tells of itself. */
export type House = {
  version: string
  started_at: string
  reads: string
  counts: { [name: string]: number }
  storage: {
    trouble: string | null
    schema: number
    free_bytes: number
    db_bytes: number
    wal_bytes: number
    ballast: boolean
  }
  auditor: { last_run_at: string | null; findings: { invariant: string; subject: string }[] }
}

export type Draft = {
  id: string
  action: string
  body: { [field: string]: unknown }
  status: string
  created_at: string
  expires_at: string
  customer?: { id: string; name: string } | null
  answer: { [field: string]: unknown } | null
}

export type DraftList = { drafts: Draft[]; next_cursor: string | null }

export type Criterion = {
  criterion: string
  verdict: 'met' | 'not_met' | 'later' | 'withheld'
  detail: string
}

export type Preview = {
  matches: Item[]
  matched: number
  low_relevance: number
  not_yet: number
  scanned: number
  truncated: boolean
  terms: { term: string; role: 'wanted' | 'excluded'; items: number }[]
  criteria: { criterion: string; left: number }[]
  estimate_per_day: number | null
  feeds: { kind: string; query: string | null; scanned: number | null; error: string | null }[]
  feeds_left_out: number
}

export type Attempt = {
  n: number
  round: number
  started_at: string
  duration_ms: number
  status_code: number | null
  error: string | null
  headers: { [name: string]: string }
  body_start: string | null
}

export type Why = {
  monitor_id: string
  items: {
    item_id: string
    outcome: string
    means: string
    created_at: string | null
    matched_at: string | null
    first_seen: {
      at: string
      age_s: number | null
      fresh: boolean | null
      freshness_s: number
    } | null
    filter_edited_since: boolean
    criteria: Criterion[] | null
    enrichment: Enrichment | null
  }[]
  deliveries: {
    delivery_id: string
    webhook_id: string | null
    status: DeliveryStatus
    gate: {
      verdict: 'let_through' | 'suppressed'
      reason: string | null
      figures: { [figure: string]: unknown } | null
    }
    last_error: string | null
    created_at: string
    delivered_at: string | null
    attempts: Attempt[]
  }[]
}
