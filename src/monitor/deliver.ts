import { iso } from '../core/base/time.ts'
import { digestAt, digestPeriod, readAttention } from '../core/delivery/attention.ts'
import {
  cutBundles,
  deliveryId,
  type DigestInfo,
  envelope,
  type Suppressed,
} from '../core/delivery/envelope.ts'
import { type Enrichment, rowOf } from '../core/enrichment/enrich.ts'
import {
  countsOf,
  groupOf,
  meetsThresholds,
  minRelevanceOf,
  thresholdsOf,
} from '../core/filter/spec.ts'
import { itemKey } from '../core/forum/items.ts'
import type { Naming } from '../core/forum/naming.ts'
import { arrivalOf } from '../core/inbox/arrival.ts'
import { judgeFreshness, type Plan } from '../core/limits/plan.ts'
import type { Watch } from '../gateway/watch.ts'
import { type Archiving, monitorScope, queueItem } from '../store/archive/queue.ts'
import { type Db, transact } from '../store/db/connection.ts'
import { insertDelivery, nextDeliveryAt } from '../store/delivery/deliveries.ts'
import { deletedTarget, type DeliveryTarget, listTargets } from '../store/delivery/targets.ts'
import { isErased, withoutErased } from '../store/erasure/erase.ts'
import { keepItem } from '../store/erasure/kept-items.ts'
import { insertInbox } from '../store/inbox/items.ts'
import {
  type Bundle,
  deleteBundle,
  listBundled,
  listClosed,
  putIntoBundle,
} from '../store/monitoring/bundles.ts'
import { insertCandidate } from '../store/monitoring/candidates.ts'
import {
  countCeiling,
  insertMatch,
  insertMatchBody,
  reserveDelivery,
} from '../store/monitoring/matches.ts'
import { recordMatchAt, type Watcher } from '../store/monitoring/monitors.ts'
import { insertWaiting } from '../store/relevance/judgements.ts'
import type { Filters, Hit } from './match.ts'

export type InsertDeps = {
  db: Db
  instance_id: string
  words: Naming
  watch: Pick<Watch, 'clock_offset_ms'>
  /** Items to archive; absent: none. */
  archive?: Archiving | undefined
  on_written?: (status: 'pending' | 'suppressed' | 'failed', kind: DeliveryTarget['kind']) => void
}

/** Matches of one monitor for one delivery: a single match or a bundle. */
export type DeliveryBatch = {
  monitor_id: string
  customer_id: string
  /** Keys of the items, in the order of the rows. */
  names: readonly string[]
  /** Items in the form in which they are delivered. */
  rows: readonly object[]
  /** Reason for which it is not sent; null when it is sent. */
  suppressed: Suppressed | null
  /** Facts of a digest; absent for other deliveries. */
  digest?: DigestInfo
  /** Delivery ceiling, deliveries a UTC day. */
  ceiling: number
  now: number
}

/**
 * Writes the delivery rows of a batch, one for each target, with their bodies. Runs inside the transaction that
 * advances the feed. Returns the number of deliveries to be sent.
 */
export function insertDeliveries(
  deps: InsertDeps,
  batch: DeliveryBatch,
  targets: readonly DeliveryTarget[],
): number {
  const content = contentOf(deps, batch)
  // Also stores the match for the pull API; no webhook is required.
  if (batch.suppressed === null) insertPullMatch(deps, batch, content)
  return targets.filter((target) => insertTargetDelivery(deps, batch, target, { content })).length
}

/** Stores a batch for the pull API, and puts its items into the customer's inbox. */
function insertPullMatch(deps: InsertDeps, batch: DeliveryBatch, content: ContentOf): void {
  const { monitor_id, customer_id, names, rows, now } = batch
  const { body } = content(null)
  const match_row = insertMatchBody(deps.db, {
    monitor_id,
    body: body(),
    matched_at: now,
    item_ids: names,
  })
  insertInbox(deps.db, {
    customer_id,
    monitor_id,
    match_row,
    found_at: now + deps.watch.clock_offset_ms(),
    items: names.map((item_id, at) => arrivalOf(item_id, rows[at] ?? {}, deps.words.community)),
  })
}

/** The body of a batch, and its delivery id, for one target or for the pull API (null). */
type ContentOf = (webhook_id: string | null) => {
  id: string
  body(suppressed?: Suppressed): Uint8Array
}

function contentOf({ instance_id }: InsertDeps, batch: DeliveryBatch): ContentOf {
  const { monitor_id, names, rows, digest } = batch
  const grouped = rows.length > 1
  return (webhook_id) => {
    const id = deliveryId(instance_id, monitor_id, webhook_id, names)
    const content = { delivery_id: id, monitor_id, items: rows, grouped, ...(digest && { digest }) }
    const body = (suppressed?: Suppressed) =>
      envelope(suppressed === undefined ? content : { ...content, suppressed })
    return { id, body }
  }
}

/**
 * Writes the row of a batch for one target; true when it is pending. `refused`: reason why nothing can be sent there.
 */
function insertTargetDelivery(
  deps: InsertDeps,
  batch: DeliveryBatch,
  target: DeliveryTarget,
  {
    content = contentOf(deps, batch),
    refused = target.paused ? 'webhook_paused' : null,
  }: { content?: ContentOf; refused?: 'webhook_paused' | 'webhook_deleted' | null } = {},
): boolean {
  const { db } = deps
  const { monitor_id, customer_id, names: item_ids, suppressed, ceiling } = batch
  const { id, body } = content(target.id)
  // A delivery counts for the day on which its row was written, by true time: a wrong clock makes no day longer.
  const now = batch.now + deps.watch.clock_offset_ms()
  const created_at = nextDeliveryAt(db, customer_id, now)
  const base = {
    id,
    customer_id,
    monitor_id,
    webhook_id: target.id,
    item_ids,
    now,
    created_at,
    due_at: batch.now,
  }
  const withhold = (why: Suppressed) => {
    const row = { ...base, status: 'suppressed' as const, reason: why.reason, body: body(why) }
    if (insertDelivery(db, row)) deps.on_written?.('suppressed', target.kind)
  }

  if (suppressed !== null) {
    withhold(suppressed)
    return false
  }
  if (!reserveDelivery(db, { monitor_id, ceiling, now: created_at })) {
    if (countCeiling(db, { monitor_id, now: created_at }))
      withhold({ reason: 'delivery_ceiling', daily_delivery_ceiling: ceiling })
    return false
  }
  if (refused !== null) {
    const row = { ...base, status: 'failed' as const, last_error: refused }
    if (insertDelivery(db, { ...row, body: body() })) deps.on_written?.('failed', target.kind)
    return false
  }
  const is_new = insertDelivery(db, { ...base, status: 'pending', body: body() })
  if (is_new) deps.on_written?.('pending', target.kind)
  return is_new
}

export type RouteDeps = InsertDeps & { plan_of: (name: string) => Plan }

export type DeliverDeps = RouteDeps & {
  filters: Filters
  freshness_ms: number
  /** Called when a match is kept until there is a verdict on it. */
  on_waiting?: () => void
}

/** A match with its row, ready to be sent. */
export type Ready = { name: string; created_at: number; row: object }

/**
 * Processes hits inside the transaction that found them. A hit below its threshold becomes a candidate. Otherwise it
 * is a match, once per monitor, which is withheld, sent alone or added to a bundle.
 */
export function deliver(
  deps: DeliverDeps,
  hits: readonly Hit[],
): { matched: number; pending: number } {
  const total = { matched: 0, pending: 0 }
  const shown = hits.map((hit) => ({ ...hit, item: withoutErased(deps.db, hit.item) }))
  const by_monitor = Map.groupBy(shown, ({ watcher }) => watcher.id)
  for (const mine of by_monitor.values()) {
    const found = mine.filter((hit) => isMatch(deps, hit))
    const [first] = found
    if (first === undefined) continue
    total.matched += found.length
    total.pending += send(deps, first, found)
    recordMatchAt(deps.db, first.watcher.id, first.now)
  }
  return total
}

/**
 * True for a match that is the first of its monitor and item. Records a candidate where a threshold is not reached
 * yet.
 */
function isMatch({ db, freshness_ms, watch, archive }: DeliverDeps, hit: Hit): boolean {
  const { watcher, spec, item, feed_id, first_seen_at, now } = hit
  const thresholds = hit.thresholds ?? thresholdsOf(spec)
  if (thresholds !== null && !meetsThresholds(thresholds, countsOf(item))) {
    // A rechecked candidate is recorded already.
    if (hit.thresholds === undefined && staleness(hit, freshness_ms) === null) {
      const until_at = item.created_utc * 1000 + freshness_ms
      insertCandidate(db, { watcher, item, feed_id, thresholds, first_seen_at, until_at }, now)
      keepItem(db, item, now)
    }
    return false
  }
  const item_id = itemKey(item)
  const is_new = insertMatch(db, {
    monitor_id: watcher.id,
    item_id,
    feed_id,
    // True time, like the deliveries' own instants.
    matched_at: now + watch.clock_offset_ms(),
  })
  if (is_new) keepItem(db, item, now)
  // A known match is read again because its text was edited. An erased one stays out of the archive.
  if (is_new || !isErased(db, item_id))
    queueItem(db, archive, { item, scopes: [monitorScope(watcher.id)], now })
  return is_new
}

const staleness = ({ item, first_seen_at }: Hit, freshness_ms: number): Suppressed | null =>
  judgeFreshness({ created_at: item.created_utc * 1000, first_seen_at }, freshness_ms)

/** Sends the matches of one monitor. Returns the number of deliveries to be sent. */
function send(deps: DeliverDeps, first: Hit, found: readonly Hit[]): number {
  const { watcher, spec, now } = first
  const passed: Ready[] = []
  let pending = 0
  for (const hit of found) {
    const { item } = hit
    const { row, enrichment } = rowOf(deps.words, spec, item)
    const withheld = staleness(hit, deps.freshness_ms) ?? irrelevance(spec, enrichment)
    const ready = { name: itemKey(item), created_at: item.created_utc * 1000, row }
    if (withheld !== null)
      pending += withholdMatch(deps, watcher, ready, { suppressed: withheld, now })
    else if (watcher.relevance === null) passed.push(ready)
    else awaitVerdict(deps, watcher, ready, now)
  }
  return pending + routeMatches(deps, watcher, passed, { group: groupOf(spec), now })
}

/** Writes a match that is not sent. Returns the number of deliveries to be sent: none. */
export function withholdMatch(
  deps: RouteDeps,
  watcher: Watcher,
  match: Ready,
  { suppressed, now }: { suppressed: Suppressed; now: number },
): number {
  const targets = listTargets(deps.db, watcher.customer_id, watcher.webhook_ids, watcher.id)
  return insertDeliveries(deps, toBatch(deps, watcher, [match], { suppressed, now }), targets)
}

/** Keeps a match until there is a verdict of the operator's model. */
function awaitVerdict(
  { db, on_waiting }: DeliverDeps,
  { id: monitor_id, customer_id }: Watcher,
  { name: item_id, created_at, row }: Ready,
  now: number,
): void {
  const body = JSON.stringify(row)
  insertWaiting(db, { monitor_id, item_id, customer_id, created_at, body }, now)
  on_waiting?.()
}

const toBatch = (
  { plan_of }: RouteDeps,
  watcher: Watcher,
  matches: readonly Ready[],
  { suppressed, now }: { suppressed: Suppressed | null; now: number },
): DeliveryBatch => ({
  monitor_id: watcher.id,
  customer_id: watcher.customer_id,
  names: matches.map(({ name }) => name),
  rows: matches.map(({ row }) => row),
  suppressed,
  ceiling: plan_of(watcher.plan).daily_deliveries,
  now,
})

/**
 * Sends matches of one monitor, each alone, in a bundle or in the digest of its target. Runs inside a transaction.
 * Returns the number of deliveries to be sent.
 */
export function routeMatches(
  deps: RouteDeps,
  watcher: Watcher,
  matches: readonly Ready[],
  { group, now }: { group: { window_s: number } | null; now: number },
): number {
  if (matches.length === 0) return 0
  const targets = listTargets(deps.db, watcher.customer_id, watcher.webhook_ids, watcher.id)
  const attention = readAttention(watcher.attention)
  const digest_times = new Map<string, number>()
  for (const { id } of targets) {
    const at = digestAt(attention, id, now)
    if (at !== null) digest_times.set(id, at)
  }
  const at_once = targets.filter(({ id }) => !digest_times.has(id))
  const deliverNow = (some: readonly Ready[]) =>
    insertDeliveries(deps, toBatch(deps, watcher, some, { suppressed: null, now }), at_once)
  const sum = (bundles: readonly Ready[][]) =>
    bundles.reduce((total, bundle) => total + deliverNow(bundle), 0)
  for (const [id, close_at] of digest_times)
    collect(deps, watcher, matches, { webhook_ids: [id], now, close_at, digest: true })
  if (group === null) return sum(matches.map((it) => [it]))
  if (group.window_s === 0) {
    const sized = matches.map((it) => ({
      ...it,
      bytes: Buffer.byteLength(JSON.stringify(it.row)),
    }))
    return sum(cutBundles(sized))
  }
  collect(deps, watcher, matches, {
    webhook_ids: [null, ...at_once.map(({ id }) => id)],
    now,
    close_at: now + group.window_s * 1000,
    digest: false,
  })
  return 0
}

/** The suppression of a match below its monitor's min_relevance, which is listed but not sent; null: it is sent. */
function irrelevance(spec: Hit['spec'], { relevance }: Enrichment): Suppressed | null {
  const minimum = minRelevanceOf(spec)
  if (minimum === null || relevance.score >= minimum) return null
  return { reason: 'low_relevance', relevance: relevance.score, min_relevance: minimum }
}

/** Adds matches to the bundles of each current target and of the pull API. */
function collect(
  { db }: RouteDeps,
  { id: monitor_id, customer_id }: Watcher,
  matches: readonly Ready[],
  {
    webhook_ids,
    ...until
  }: {
    webhook_ids: readonly (string | null)[]
    now: number
    close_at: number
    digest: boolean
  },
): void {
  for (const { name, created_at, row } of matches) {
    const item = { item_id: name, created_at, body: JSON.stringify(row) }
    for (const webhook_id of webhook_ids)
      putIntoBundle(db, { customer_id, monitor_id, webhook_id }, item, until)
  }
}

const AT_ONCE = 100

/**
 * Delivers the bundles that are due, each in a transaction of its own. Their items were written in the transaction
 * that matched them, so a waiting bundle is as safe as a delivery. Returns the number of deliveries to be sent.
 */
export function closeBundles(deps: RouteDeps, now: number): number {
  let pending = 0
  for (const bundle of listClosed(deps.db, now, AT_ONCE))
    pending += transact(deps.db, () => closeOne(deps, bundle, now)) ? 1 : 0
  return pending
}

/** The period of a digest begins at the digest before, or at its first match if the rules changed meanwhile. */
function digestInfo({
  webhook_id,
  monitor_name,
  attention,
  opened_at,
  close_at,
}: Bundle): DigestInfo {
  const period = digestPeriod(readAttention(attention), webhook_id ?? '', close_at)
  const from = Math.min(period?.from ?? opened_at, opened_at)
  return { monitor_name, from: iso(from), to: iso(close_at), time_zone: period?.time_zone ?? 'UTC' }
}

function closeOne(deps: RouteDeps, bundle: Bundle, now: number): boolean {
  const { db } = deps
  const { id, customer_id, monitor_id, webhook_id, plan } = bundle
  const items = listBundled(db, id)
  deleteBundle(db, id)
  if (plan === null || items.length === 0) return false
  const batch: DeliveryBatch = {
    monitor_id,
    customer_id,
    names: items.map(({ item_id }) => item_id),
    rows: items.map(({ body }): object => Object(JSON.parse(body))),
    suppressed: null,
    ...(bundle.digest === 1 && { digest: digestInfo(bundle) }),
    ceiling: deps.plan_of(plan).daily_deliveries,
    now,
  }
  if (webhook_id === null) {
    insertPullMatch(deps, batch, contentOf(deps, batch))
    return false
  }
  const [target] = listTargets(db, customer_id, [webhook_id], monitor_id)
  if (target !== undefined) return insertTargetDelivery(deps, batch, target)
  // The target was deleted meanwhile: the row fails as pending rows did at that time.
  return insertTargetDelivery(deps, batch, deletedTarget(db, webhook_id), {
    refused: 'webhook_deleted',
  })
}
