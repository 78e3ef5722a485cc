import type { paths } from '../../../examples/client/schema.d.ts'

// What the API answers with, read from its own OpenAPI document (`bun scripts/client.ts`). Instants are ISO 8601, money is
// USD. What the document leaves open, an item of a feed above all, is told here as far as this page reads it.

type Method = 'get' | 'post'

/** What a path answers with when all is well. */
type Answer<P extends keyof paths, M extends Method = 'get'> = paths[P][M] extends {
  responses: { 200: { content: { 'application/json': infer A } } }
}
  ? A
  : never

/** An operator is told whose it is. */
type Owned = { customer?: { id: string; name: string } | null }

export type MonitorList = Answer<'/forum/monitor/list'>
export type Monitor = MonitorList['monitors'][number] & { warnings?: string[] }
export type Stream = Monitor['streams'][number]
export type FilterSpec = Monitor['filter_spec']

export type Health = Answer<'/forum/monitor/health'>
export type Coverage = Health['coverage_24h']
export type Gap = Coverage['gaps'][number]
export type PollEvent = Coverage['observed_events'][number]

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

/** A delivery, its payload as this page reads it. */
export type Delivery = Omit<
  Answer<'/forum/monitor/deliveries'>['deliveries'][number],
  'payload'
> & {
  payload: Payload
}

export type Webhook = Answer<'/forum/monitor/webhook/list'>['webhooks'][number]
export type WebhookCreated = Answer<'/forum/monitor/webhook/create', 'post'>
export type SecretRotated = Answer<'/forum/monitor/webhook/rotate', 'post'>
export type TestReport = Answer<'/forum/monitor/webhook/test', 'post'>

export type Me = Answer<'/account/me'>
export type Payment = Answer<'/account/payments'>['payments'][number]
export type Usage = Answer<'/account/usage'>

type AnyFeedback = Answer<'/feedback'>
export type Feedback = AnyFeedback['feedback'][number] & Owned
export type FeedbackList = Pick<AnyFeedback, 'next_cursor'> & { feedback: Feedback[] }

type AnyDrafts = Answer<'/drafts'>
export type Draft = Omit<AnyDrafts['drafts'][number], 'customer'> & Owned
export type DraftList = Pick<AnyDrafts, 'next_cursor'> & { drafts: Draft[] }

export type Preview = Omit<Answer<'/forum/monitor/preview', 'post'>, 'matches'> & {
  matches: Item[]
}
export type Criterion = NonNullable<Preview['item']>['criteria'][number]

type AnyWhy = Answer<'/forum/monitor/why'>
export type Why = Omit<AnyWhy, 'items'> & {
  items: (Omit<AnyWhy['items'][number], 'enrichment'> & { enrichment: Enrichment | null })[]
}
export type Attempt = Why['deliveries'][number]['attempts'][number]
