import type { paths } from '../../../examples/client/schema.d.ts'

// Response types of the API, derived from its OpenAPI document (`bun scripts/docs/client.ts`). Instants are ISO 8601, money
// is USD. Objects that the document leaves open, such as feed items, are typed here as far as the page reads them.

type Method = 'get' | 'post'

/** The body of a 200 response. */
export type ResponseBody<P extends keyof paths, M extends Method = 'get'> = paths[P][M] extends {
  responses: { 200: { content: { 'application/json': infer A } } }
}
  ? A
  : never

/** The owning customer, which only operators see. */
type Owned = { customer?: { id: string; name: string } | null }

export type MonitorList = ResponseBody<'/forum/monitor/list'>
export type Monitor = MonitorList['monitors'][number] & { warnings?: string[] }
export type Stream = Monitor['streams'][number]
/** Fields that this page does not know are kept. */
export type FilterSpec = Record<string, unknown>

export type Health = ResponseBody<'/forum/monitor/health'>
export type Coverage = Health['coverage_24h']
export type CoverageDays = ResponseBody<'/forum/monitor/coverage'>
export type CoverageDay = CoverageDays['days'][number]
export type Gap = Coverage['gaps'][number]
export type PollEvent = Coverage['observed_events'][number]

type Enrichment = {
  relevance: { score: number; matched_terms: string[]; considered_terms: number; method: string }
  sentiment: { polarity: number; label: string }
  intent: { tag: string }
}

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
  alarm?: { title: string; message: string }
}

export type Delivery = Omit<
  ResponseBody<'/forum/monitor/deliveries'>['deliveries'][number],
  'payload'
> & {
  payload: Payload
}

export type Webhook = ResponseBody<'/forum/monitor/webhook/list'>['webhooks'][number]
export type WebhookCreated = ResponseBody<'/forum/monitor/webhook/create', 'post'>
export type SecretRotated = ResponseBody<'/forum/monitor/webhook/rotate', 'post'>
export type TestReport = ResponseBody<'/forum/monitor/webhook/test', 'post'>

export type Me = ResponseBody<'/account/me'>
export type Payment = ResponseBody<'/account/payments'>['payments'][number]
export type Usage = ResponseBody<'/account/usage'>

type AnyReport = ResponseBody<'/account/problems'>
export type Problem = AnyReport['problems'][number] & {
  /** The customer that it concerns, which only operators see. */
  customer?: { id: string; name: string }
}
export type ProblemReport = Omit<AnyReport, 'problems'> & { problems: Problem[] }

type AnyActivity = ResponseBody<'/account/activity'>
export type Activity = Omit<AnyActivity, 'newest'> & {
  newest: (Omit<AnyActivity['newest'][number], 'item'> & { item: Item })[]
}

type AnyDrafts = ResponseBody<'/drafts'>
export type DraftView = Omit<AnyDrafts['drafts'][number], 'customer'> & Owned
export type DraftList = Pick<AnyDrafts, 'next_cursor'> & { drafts: DraftView[] }

export type Preview = Omit<ResponseBody<'/forum/monitor/preview', 'post'>, 'matches'> & {
  matches: Item[]
}
export type Criterion = NonNullable<Preview['item']>['criteria'][number]

export type Source = ResponseBody<'/api/forum/sources'>['sources'][number]

export type DeliveryRequest = ResponseBody<'/forum/monitor/deliveries/request'>

type AnyWhy = ResponseBody<'/forum/monitor/why'>
export type Why = Omit<AnyWhy, 'items'> & {
  items: (Omit<AnyWhy['items'][number], 'enrichment'> & { enrichment: Enrichment | null })[]
}
export type Attempt = Why['deliveries'][number]['attempts'][number]

// Responses that are not part of the public OpenAPI document. Instants are ISO 8601, money is USD.

export type UserSession = {
  /** `owner`: a customer who is the operator too. */
  role: 'customer' | 'operator' | 'owner'
  /** Calls cost credits. */
  is_billing: boolean
  /** There is one customer, and nothing costs credits. */
  is_alone: boolean
  /** A source is read through accounts of the operator. */
  has_accounts: boolean
  customer: { id: string; name: string } | null
  key: { id: string; name: string | null; prefix: string; scopes: string[] }
  insecure: boolean
  version: string
  words: { platform: string; community: string; communities: string }
  base_path: string
  monitor_path: string
  filter_form: FormPart[]
  /** Fields of the other forms, by the name of the form. */
  forms: { [form: string]: FormField[] }
  webhook_kinds: KindForm[]
  /** Actions of an operator on a customer; `path` has `:customer` for its id. */
  customer_actions: CustomerAction[]
}

export type CustomerAction = { name: string; summary: string; path: string; fields: FormField[] }

/** A kind of target, as the daemon publishes it. */
export type KindForm = {
  name: string
  label: string
  /** Form of its address, with an example. */
  address: string
  /** Expression for addresses of this kind alone; null: there are none. */
  infers: string | null
  takes_events: boolean
  credential: { label: string; hint: string; with_username: boolean } | null
}

/** A field of the form of a filter, as the daemon publishes it. */
export type FormField = {
  name: string
  label: string
  hint?: string
  /** The default, as the empty field shows it. */
  fallback?: string
  /** `names`: separated by commas or spaces. `lines`: one per line. `flag`: default, yes or no. `label`: text or yes. `area`: text of several lines. */
  kind:
    | 'names'
    | 'lines'
    | 'text'
    | 'number'
    | 'flag'
    | 'label'
    | 'one'
    | 'some'
    | 'secret'
    | 'area'
    | 'check'
  options?: readonly (readonly [string, string])[]
  /** Capabilities that a source must have. */
  needs: readonly string[]
}

export type FormPart = { title: string; folded: boolean; fields: FormField[] }

export type BrowserSession = {
  id: string
  current: boolean
  /** Browser and system; null: not known. */
  browser: string | null
  address: string
  created_at: string
  last_used_at: string
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
  waiting: number
  retrying: number
  recent: Recent[]
  /** Unread items of the inbox, counted up to 1000; absent for operators. */
  unread?: number
  /** Changes with arrivals in the inbox and with actions on it; absent for operators. */
  inbox?: { item: number | null; action: number | null }
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

export type AccountChecked = { id: string; name: string; status: string; reason: string | null }

/** The accounts and proxies of the pool, and whether anonymous reads are allowed. */
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

export type OperatedSource = Source & {
  requests_per_minute: number | null
  origin: 'file' | 'added'
  account_by: 'password' | 'permission' | null
  account_at: string | null
  feeds: number
  last_check_at: string | null
  standing: {
    state: 'fails' | 'untried' | 'late' | 'incomplete' | 'works'
    text: string | null
    fix: string | null
  }
}

/** The sources; `waiting`: those that the next start of the daemon reads. */
/** A kind that an operator may add; `address`: an example, null where it has a fixed one. */
export type SourceKind = { kind: string; title: string; address: string | null }

export type OperatedSources = {
  sources: OperatedSource[]
  kinds: SourceKind[]
  waiting: { name: string; kind: string; base_url: string; created_at: string }[]
}

export type SourceTested = {
  ok: boolean
  text: string | null
  title: string | null
  version: string | null
  notes: string[]
}

type Named = { id: string; name: string | null }

export type InstanceMonitors = {
  monitors: {
    id: string
    name: string | null
    customer: Named
    status: string
    pause_reason: string | null
    cadence_s: number
    feeds: number
    last_match_at: string | null
    created_at: string
  }[]
  next_cursor: string | null
}

/** Deliveries of all customers, without their content. */
export type InstanceDeliveries = {
  deliveries: {
    delivery_id: string
    customer: Named
    monitor: Named
    webhook: (Named & { kind: string; host: string }) | null
    status: string
    attempts: number
    reason: string | null
    next_attempt_at: string | null
    delivered_at: string | null
    created_at: string
  }[]
  searched_to: string | null
  next_cursor: string | null
}

export type Customer = {
  id: string
  name: string
  plan: string
  credits_remaining: number
  unlimited: boolean
  created_at: string
  keys: number
  monitors: number
  monitors_paused: number
  webhooks: number
  webhooks_paused: number
  waiting: number
  retrying: number
  requests_24h: number
}

export type CustomerInFull = Pick<
  Customer,
  'id' | 'name' | 'plan' | 'created_at' | 'unlimited' | 'credits_remaining'
> & {
  credits_used: number
  total_requests: number
  deliveries: { waiting: number; retrying: number }
  report: ProblemReport
  usage: Usage['usage']
  keys: {
    id: string
    name: string | null
    prefix: string
    scopes: string[]
    created_at: string
    expires_at: string | null
    last_used_at: string | null
  }[]
  monitors: {
    id: string
    name: string | null
    active: boolean
    pause_reason: string | null
    cadence_s: number
    created_at: string
    last_match_at: string | null
  }[]
  webhooks: {
    id: string
    name: string | null
    kind: string
    host: string
    active: boolean
    paused_at: string | null
    pause_reason: string | null
    created_at: string
  }[]
}

/** A new key; `key` is shown once. */
export type KeyIssued = { key: string; key_id: string }

export type Plans = { plans: string[]; default_plan: string }

export type AuditList = {
  actions: {
    id: number
    at: string
    action: string
    subject: { id: string; name: string | null }
    key: { id: string; name: string | null; prefix: string }
    address: string
    detail: { [name: string]: string | number | boolean | null }
  }[]
  next_cursor: string | null
}

export type SystemInfo = {
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
}
