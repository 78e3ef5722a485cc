import { Elysia } from 'elysia'
import * as z from 'zod'

import { ApiError, invalid } from '../../core/base/errors.ts'
import { once } from '../../core/base/lazy.ts'
import { ok, type Outcome } from '../../core/base/result.ts'
import { iso } from '../../core/base/time.ts'
import { deliveryId, editionName } from '../../core/delivery/envelope.ts'
import { enrich } from '../../core/enrichment/enrich.ts'
import type { FilterSpec } from '../../core/filter/fields.ts'
import { decodeFilterSpec } from '../../core/filter/parse.ts'
import { type Judged, judgeItem } from '../../core/filter/preview.ts'
import { markdownOf } from '../../core/filter/text.ts'
import { type Item, itemKey } from '../../core/forum/items.ts'
import { type Naming, toWire } from '../../core/forum/naming.ts'
import { isAhead } from '../../core/limits/plan.ts'
import { FEED_KINDS } from '../../core/polling/feed.ts'
import type { Db } from '../../store/db/connection.ts'
import { listAttempts } from '../../store/delivery/deliveries.ts'
import {
  type AnyMonitor,
  bundleClosesAt,
  type DeliveryWithReason,
  findAnyMonitor,
  findCandidateTimes,
  findDelivery,
  findMatch,
  type FirstSeen,
  listDeliveriesBetween,
  listFirstSeen,
  listWebhookIds,
} from '../../store/monitoring/why.ts'
import { findJudgement } from '../../store/relevance/judgements.ts'
import type { RouteContext } from '../context.ts'
import { toApiError } from '../http/errors.ts'
import { optionalText, querySchema } from '../http/fields.ts'
import { answers } from '../openapi/route-docs.ts'
import { withPatterns } from './patterns.ts'
import { itemId, itemKeyOf, type PreviewDeps } from './preview.ts'
import { judgementOf } from './relevance.ts'
import { absentMonitor } from './shapes.ts'
import { OUTCOMES, whyShape } from './why-shape.ts'

const payload_shape = once(() =>
  z.looseObject({
    items: z.array(z.looseObject({ name: z.string(), source: z.string().optional() })).default([]),
    suppressed: z.looseObject({ reason: z.string() }).optional(),
  }),
)

const payloadOf = (body: Uint8Array) =>
  payload_shape().parse(JSON.parse(new TextDecoder().decode(body)))

// Longest bundle window, doubled for a daemon that was down when the bundle was due; with attention rules a weekly digest.
const BUNDLED_WITHIN_MS = 2 * 3_600_000
const DIGESTED_WITHIN_MS = 9 * 86_400_000
const BUNDLES_MAX = 2_000

function deliveriesOf(
  db: Db,
  of: {
    instance_id: string
    customer_id: string
    monitor_id: string
    name: string
    has_attention: boolean
  },
): DeliveryWithReason[] {
  const { instance_id, customer_id, monitor_id, name } = of
  const match = findMatch(db, { monitor_id, item_id: name })
  if (match === null) return []
  const named = editionName(name, match.edition)
  const alone = [null, ...listWebhookIds(db, customer_id)].flatMap(
    (webhook_id) =>
      findDelivery(db, customer_id, deliveryId(instance_id, monitor_id, webhook_id, [named])) ?? [],
  )
  if (alone.length > 0) return alone
  // A match that waited for a verdict was bundled after it.
  const routed_at = findJudgement(db, { monitor_id, item_id: name })?.at ?? match.matched_at
  const written = listDeliveriesBetween(db, {
    monitor_id,
    from_at: match.matched_at,
    until_at: routed_at + (of.has_attention ? DIGESTED_WITHIN_MS : BUNDLED_WITHIN_MS),
    limit: BUNDLES_MAX,
  })
  return written.filter(({ body }) => payloadOf(body).items.some((it) => itemKey(it) === name))
}

/**
 * A delivery with the gate's decision and its receiver's answers, as the store has redacted them.
 */
function toAttempts(db: Db, customer_id: string, delivery: DeliveryWithReason) {
  const { id, webhook_id, status, reason, last_error, created_at, delivered_at, body } = delivery
  const { suppressed } = payloadOf(body)
  const attempts = listAttempts(db, customer_id, id) ?? []
  return {
    delivery_id: id,
    webhook_id,
    status,
    gate: {
      verdict: status === 'suppressed' ? ('suppressed' as const) : ('let_through' as const),
      reason,
      // Figures of the decision from the body: age, relevance, or deliveries a day.
      figures: suppressed === undefined ? null : { ...suppressed, reason: undefined },
    },
    last_error,
    created_at: iso(created_at),
    delivered_at: iso(delivered_at),
    attempts: attempts.map(({ started_at, ended_at, http_status, ...attempt }) => ({
      ...attempt,
      started_at: iso(started_at),
      duration_ms: ended_at - started_at,
      status_code: http_status,
    })),
  }
}

type ItemQuery = {
  customer_id: string
  monitor: AnyMonitor
  spec: FilterSpec
  /** Key of the item. */
  name: string
  /** The item as delivered; null if it was not, or its body is no longer stored. */
  row: object | null
}

/** An item that was not delivered is fetched in its current state. */
async function whyItem({ words }: RouteContext, deps: WhyDeps, item_query: ItemQuery) {
  const { db, freshness_ms } = deps
  const { monitor, spec, name } = item_query
  const at = { monitor_id: monitor.id, item_id: name }
  const match = findMatch(db, at)
  const waiting = match === null ? findCandidateTimes(db, at) : null
  const collected_until = match === null ? null : bundleClosesAt(db, at)
  const judgement = match === null ? null : judgementOf(db, at)
  const sightings = listFirstSeen(db, { ...at, feed_id: match?.feed_id ?? null })
  const delivered_item = item_query.row === null ? null : itemOf(words, item_query.row)
  const item = delivered_item ?? (await fetchItem(deps, item_query))
  const judged =
    item === null
      ? null
      : await withPatterns(deps.patterns, item_query.customer_id, (evaluatePatterns) =>
          judgeItem(spec, item, words, evaluatePatterns),
        )
  const outcome =
    match !== null
      ? judgement?.outcome === 'waiting'
        ? 'judging'
        : collected_until === null
          ? 'matched'
          : 'collecting'
      : waiting !== null
        ? 'waiting'
        : unmatchedOutcome(monitor, item, judged, sightings)
  return {
    item_id: name,
    outcome,
    means: OUTCOMES[outcome],
    created_at: item === null ? null : iso(item.created_utc * 1000),
    matched_at: iso(match?.matched_at ?? null),
    collected_until: iso(collected_until),
    waiting_until: iso(waiting?.until_at ?? null),
    first_seen: firstSeen(words, sightings, item, freshness_ms),
    filter_edited_since: match !== null && monitor.updated_at > match.matched_at,
    as_of: item === null ? null : delivered_item === null ? ('now' as const) : ('match' as const),
    criteria: judged?.criteria ?? null,
    enrichment: item === null ? null : enrich(spec, item),
    judgement,
  }
}

function unmatchedOutcome(
  monitor: AnyMonitor,
  item: Item | null,
  judged: Judged | null,
  sightings: readonly FirstSeen[],
): keyof typeof OUTCOMES {
  if (item !== null) {
    const created_at = item.created_utc * 1000
    if (!isAhead({ name: item.name, created_at }, monitor)) return 'before_start'
  }
  if (judged?.verdict === 'does_not_match') return 'does_not_match'
  if (sightings.length === 0) return 'not_seen'
  return judged === null ? 'gone' : 'matches_now'
}

async function fetchItem(
  { sampling, pace }: WhyDeps,
  { customer_id, name }: ItemQuery,
): Promise<Item | null> {
  pace.before(customer_id)
  const found: Outcome<Item | null> = await sampling.item(name)
  pace.after(customer_id, 1)
  const gone = !found.ok && (found.fault.kind === 'forbidden' || found.fault.kind === 'not_found')
  const outcome = gone ? ok(null) : found
  if (!outcome.ok) throw toApiError(outcome.fault, { flavour: 'read', with_session: false })
  return outcome.value === null || isMasked(outcome.value) ? null : outcome.value
}

/**
 * True if the platform shows the item without its text, so that a match is not visible any more.
 */
const isMasked = (item: Item): boolean =>
  /^\[ ?(?:removed|deleted)(?: by [^\]]{1,40})?\]$/i.test(markdownOf(item).trim())

// Stored bodies hold an item and its match details; another shape is of another configuration.
const item_shape = once(() =>
  z.custom<Item>(
    (it) =>
      z
        .looseObject({
          kind: z.enum(['post', 'comment']),
          name: z.string(),
          subforum: z.string(),
          created_utc: z.number(),
        })
        .safeParse(it).success,
  ),
)

function itemOf({ community }: Naming, row: object): Item | null {
  const inner = (it: object): object =>
    Object.fromEntries(
      Object.entries(it).map(([name, value]) => [name === community ? 'subforum' : name, value]),
    )
  const { crosspost_origin: origin = null, ...rest } = z
    .looseObject({ crosspost_origin: z.looseObject({}).nullish() })
    .parse(inner(row))
  const found = item_shape().safeParse({
    ...rest,
    crosspost_origin: origin === null ? null : inner(origin),
  })
  return found.success ? found.data : null
}

const kind_shape = once(() => z.enum(FEED_KINDS))

function firstSeen(
  words: Naming,
  sightings: readonly FirstSeen[],
  item: Item | null,
  freshness_ms: number,
) {
  const [first] = sightings
  if (first === undefined) return null
  const age_s =
    item === null ? null : Math.max(0, Math.floor(first.first_seen_at / 1000 - item.created_utc))
  return {
    at: iso(first.first_seen_at),
    age_s,
    fresh: age_s === null ? null : age_s * 1000 <= freshness_ms,
    freshness_s: Math.floor(freshness_ms / 1000),
    streams: sightings.map(({ key, kind, place, first_seen_at }) => {
      const is_subforum = kind === 'posts' || kind === 'comments'
      return toWire(words, {
        id: key,
        kind: kind_shape().parse(kind),
        subforum: is_subforum ? place : null,
        first_seen_at: iso(first_seen_at),
      })
    }),
  }
}

/** `freshness_ms`: items older than this when first observed are withheld. */
export type WhyDeps = PreviewDeps & { db: Db; instance_id: string; freshness_ms: number }

export const why = (context: RouteContext, deps: WhyDeps) =>
  group(context.words.monitor, context, deps)

const whyQuery = querySchema(() => ({
  delivery_id: optionalText('delivery_id', { max: 64 }),
  id: optionalText('id', { max: 64 }),
  item_id: itemId(),
}))

const group = (prefix: string, context: RouteContext, deps: WhyDeps) =>
  new Elysia({ name: `why ${prefix}`, prefix })
    .use(context.keyed)
    .get('/why', ({ customer, query: input }) => explain(context, deps, customer.id, input), {
      query: whyQuery,
      detail: {
        summary: 'Explain why an item was delivered, withheld or not matched',
        description:
          'By delivery_id, or by id (of a monitor) and item_id. Where and when the item was first observed, the verdict of each condition of the filter, its enrichment, the delivery decision, and each attempt with the answer of the receiver.',
        tags: ['Monitoring'],
        ...answers(() => whyShape(context.words)),
      },
    })

type WhyQuery = {
  delivery_id?: string | undefined
  id?: string | undefined
  item_id?: string | undefined
}

async function explain(context: RouteContext, deps: WhyDeps, customer_id: string, input: WhyQuery) {
  const { db } = deps
  const customer = { customer_id, words: context.words }
  const { monitor, spec, names, deliveries } = subject(deps, customer, input)
  const rows = new Map(
    deliveries.flatMap(({ body }) => payloadOf(body).items).map((row) => [itemKey(row), row]),
  )
  const items = []
  for (const name of names)
    items.push(
      await whyItem(context, deps, {
        customer_id,
        monitor,
        spec,
        name,
        row: rows.get(name) ?? null,
      }),
    )
  return {
    monitor_id: monitor.id,
    items,
    deliveries: deliveries.map((it) => toAttempts(db, customer_id, it)),
  }
}

/** @throws {ApiError} NOT_FOUND, INVALID_REQUEST */
function subject(
  { db, instance_id }: WhyDeps,
  { customer_id, words }: { customer_id: string; words: Naming },
  input: WhyQuery,
) {
  const { delivery_id, id, item_id } = input
  if (delivery_id) {
    if (id || item_id)
      throw invalid('delivery_id', 'delivery_id stands alone; leave out id and item_id')
    const delivery = findDelivery(db, customer_id, delivery_id)
    if (delivery === null) throw new ApiError('NOT_FOUND', { message: 'there is no such delivery' })
    const { monitor, spec } = findMonitorSpec(db, customer_id, delivery.monitor_id)
    const names = payloadOf(delivery.body).items.map(itemKey)
    return { monitor, spec, names, deliveries: [delivery] satisfies DeliveryWithReason[] }
  }
  if (!id) throw invalid('id', 'id is required, or delivery_id')
  const { monitor, spec } = findMonitorSpec(db, customer_id, id)
  if (!item_id) throw invalid('item_id', 'item_id is required beside id')
  const name = itemKeyOf(spec, item_id, words)
  const has_attention = monitor.attention !== null
  const deliveries = deliveriesOf(db, {
    instance_id,
    customer_id,
    monitor_id: id,
    name,
    has_attention,
  })
  return { monitor, spec, names: [name], deliveries }
}

// Deliveries of a removed monitor stay readable, and so do their outcomes.
function findMonitorSpec(db: Db, customer_id: string, id: string) {
  const monitor = findAnyMonitor(db, { customer_id, id })
  if (monitor === null) throw absentMonitor()
  const spec: FilterSpec = decodeFilterSpec(monitor.filter_spec)
  return { monitor, spec }
}
