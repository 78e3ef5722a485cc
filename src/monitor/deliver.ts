import { iso } from '../core/base/time.ts'
import { digestPeriod, readAttention } from '../core/delivery/attention.ts'
import {
  deliveryId,
  type DigestInfo,
  editionName,
  envelope,
  type Suppressed,
} from '../core/delivery/envelope.ts'
import { countsOf, meetsThresholds, thresholdsOf } from '../core/filter/spec.ts'
import { type Item, itemKey, MORE_PLACES } from '../core/forum/items.ts'
import type { Naming } from '../core/forum/naming.ts'
import { type Plan, utcDay } from '../core/limits/plan.ts'
import { aheadOf, type Watches } from '../gateway/watch.ts'
import { type Archiving, monitorScope, queueItems } from '../store/archive/queue.ts'
import { afterCommit, type Db, transact } from '../store/db/connection.ts'
import {
  createDeliveryTimes,
  insertDeliveries,
  type NewDelivery,
} from '../store/delivery/deliveries.ts'
import { deliveryRow, insertMessages, reserveMessages } from '../store/delivery/messages.ts'
import type { Written } from '../store/delivery/outbox.ts'
import {
  createTargetLists,
  deletedTarget,
  type DeliveryTarget,
  listTargets,
} from '../store/delivery/targets.ts'
import { listErased, withoutErased } from '../store/erasure/erase.ts'
import { keepItems } from '../store/erasure/kept-items.ts'
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
  type Editions,
  findEditions,
  forgetMessages,
  insertMatches,
  matchKey,
  reserveDeliveries,
} from '../store/monitoring/matches.ts'
import { recordMatchAt, type Watcher } from '../store/monitoring/monitors.ts'
import { insertWaiting } from '../store/relevance/judgements.ts'
import {
  type Collected,
  decide,
  type Decision,
  type Message,
  type Ready,
  route,
  staleness,
  withhold,
} from './decide.ts'
import type { Filters, Hit } from './match.ts'

export type RouteDeps = {
  db: Db
  instance_id: string
  words: Naming
  watches: Watches
  plan_of: (name: string) => Plan
  /** Items to archive; absent: none. */
  archive?: Archiving | undefined
  on_written?: (status: 'pending' | 'suppressed' | 'failed', kind: DeliveryTarget['kind']) => void
  /** Claims deliveries to be sent, within the transaction that has written them. Returns their number. */
  claim?: (written: Written) => number
  /** Called after each commit that has left deliveries to be claimed. */
  on_pending: () => void
  /** Called after each commit with messages, which the projections have yet to read. */
  on_messages?: () => void
}

export type DeliverDeps = RouteDeps & {
  filters: Filters
  freshness_ms: number
  /** Called when a match is kept until there is a verdict on it. */
  on_waiting?: () => void
}

/**
 * Processes hits inside the transaction that found them. A hit below its threshold becomes a candidate. Otherwise it
 * is a match, once per monitor, which is withheld, sent alone or added to a bundle.
 */
export function deliver(
  deps: DeliverDeps,
  hits: readonly Hit[],
): { matched: number; pending: number } {
  const [first] = hits
  if (first === undefined) return { matched: 0, pending: 0 }
  const { db, words, freshness_ms } = deps
  const { now } = first
  const shown = showHits(db, hits)
  const { reached = [], below = [] } = Object.groupBy(shown, (hit) =>
    isReached(hit) ? 'reached' : 'below',
  )
  const first_row = reserveMessages(db, reached.length)
  const own = new Map(reached.map((hit, at) => [keyOf(hit), first_row + at]))
  const { found, again } = matchNew(deps, reached, own, now)
  const candidates = keepCandidates(deps, below, now)
  const queued = queueAgain(deps, again, now)
  if (found.length === 0) {
    keepItems(db, [...queued, ...candidates], now)
    return { matched: 0, pending: 0 }
  }
  const lists = createTargetLists(db)
  const decision = decide(found, {
    words,
    freshness_ms,
    targetsOf: ({ id, customer_id, webhook_ids }) => lists(customer_id, webhook_ids, id),
  })
  const editions: Editions = new Map(
    found.flatMap(({ watcher, item, edition }) =>
      edition === undefined ? [] : [[matchKey(watcher.id, itemKey(item)), edition]],
    ),
  )
  const pending = write(deps, decision, now, { own, editions })
  const stored = decision.messages.filter(isStored)
  const alone = new Set(stored.flatMap((it) => (it.names.length === 1 ? keysOf(it) : [])))
  forgetMessages(
    db,
    found.flatMap((hit) =>
      alone.has(keyOf(hit)) ? [] : [{ monitor_id: hit.watcher.id, item_id: itemKey(hit.item) }],
    ),
  )
  // What is in no message yet is kept now; the rest follows the messages, which lack the places beside that of an item.
  const in_message = new Set(stored.flatMap(keysOf))
  const lacking = found.filter((hit) => !in_message.has(keyOf(hit)))
  keepItems(db, [...lacking.map(({ item }) => item), ...queued, ...candidates], now)
  const apart = found.filter(
    (hit) => !in_message.has(keyOf(hit)) || (hit.item[MORE_PLACES] ?? []).length > 0,
  )
  queueHits(deps, apart, now)
  for (const { watcher, match } of decision.unjudged) awaitVerdict(deps, watcher, match, now)
  recordMatchAt(db, [...new Set(found.map(({ watcher }) => watcher.id))], now)
  return { matched: found.length, pending }
}

/** The hits with their items as they may be stored. */
function showHits(db: Db, hits: readonly Hit[]): Hit[] {
  const items = new Map<Item, Item>()
  const without = withoutErased(
    db,
    hits.map(({ item }) => item),
  )
  for (const { item } of hits) if (!items.has(item)) items.set(item, without(item))
  return hits.map((hit) => ({ ...hit, item: items.get(hit.item) ?? hit.item }))
}

function isReached({ thresholds, spec, item }: Hit): boolean {
  const least = thresholds ?? thresholdsOf(spec)
  return least === null || meetsThresholds(least, countsOf(item))
}

/** Records candidates for which a threshold is not reached yet. Returns their items. */
function keepCandidates({ db, freshness_ms }: DeliverDeps, hits: readonly Hit[], now: number) {
  return hits.flatMap((hit) => {
    const { watcher, item, feed_id, first_seen_at } = hit
    const thresholds = thresholdsOf(hit.spec)
    // A rechecked candidate is recorded already.
    if (hit.thresholds !== undefined || thresholds === null) return []
    if (staleness(hit, freshness_ms) !== null) return []
    const until_at = item.created_utc * 1000 + freshness_ms
    insertCandidate(db, { watcher, item, feed_id, thresholds, first_seen_at, until_at }, now)
    return [item]
  })
}

const keysOf = ({ monitor_id, names }: Message): string[] =>
  names.map((name) => matchKey(monitor_id, name))

const keyOf = ({ watcher, item }: Hit): string => matchKey(watcher.id, itemKey(item))

/** Records matches. Returns those of items that are new to their monitors, and the others. */
function matchNew(
  { db, watches }: DeliverDeps,
  hits: readonly Hit[],
  rows: ReadonlyMap<string, number>,
  now: number,
): { found: Hit[]; again: Hit[] } {
  if (hits.length === 0) return { found: [], again: [] }
  // True time, like the deliveries' own instants.
  const matched_at = now + aheadOf(watches)
  const inserted = insertMatches(
    db,
    hits.map((hit) => ({
      monitor_id: hit.watcher.id,
      item_id: itemKey(hit.item),
      message: rows.get(keyOf(hit)) ?? null,
      feed_id: hit.feed_id,
      matched_at,
      edition: hit.edition,
    })),
  )
  const fresh = new Set(inserted.map((it) => matchKey(it.monitor_id, it.item_id)))
  const found: Hit[] = []
  const again: Hit[] = []
  // One that several feeds show is new once.
  for (const hit of hits) (fresh.delete(keyOf(hit)) ? found : again).push(hit)
  return { found, again }
}

/**
 * Queues known matches for the archive, which are read again because their text was edited; erased ones stay out. Returns
 * their items.
 */
function queueAgain(deps: DeliverDeps, again: readonly Hit[], now: number): Item[] {
  if (deps.archive === undefined || again.length === 0) return []
  const erased = listErased(
    deps.db,
    again.map(({ item }) => itemKey(item)),
  )
  const queued = again.filter(({ item }) => !erased.has(itemKey(item)))
  queueHits(deps, queued, now)
  return queued.map(({ item }) => item)
}

const queueHits = ({ db, archive }: DeliverDeps, hits: readonly Hit[], now: number): void =>
  queueItems(
    db,
    archive,
    hits.map(({ item, watcher }) => ({ item, scopes: [monitorScope(watcher.id)] })),
    now,
  )

/** Writes a match that is not sent. */
export function withholdMatch(
  deps: RouteDeps,
  watcher: Watcher,
  match: Ready,
  { suppressed, now }: { suppressed: Suppressed; now: number },
): void {
  const targets = listTargets(deps.db, watcher.customer_id, watcher.webhook_ids, watcher.id)
  writeMessages(deps, [withhold(watcher, match, suppressed, targets)], now)
}

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
  const targets = listTargets(deps.db, watcher.customer_id, watcher.webhook_ids, watcher.id)
  return write(deps, route(watcher, matches, { group, now, targets }), now)
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

function write(
  deps: RouteDeps,
  { messages, collected }: Pick<Decision, 'messages' | 'collected'>,
  now: number,
  known?: Known,
): number {
  for (const it of collected) collect(deps.db, it, now)
  return writeMessages(deps, messages, now, known)
}

/** `own`: rows of messages that the ledger names, by their only match. */
type Known = { own: ReadonlyMap<string, number>; editions: Editions }

/** False for a message that is listed nowhere: it is not sent, and its monitor has no targets. */
const isStored = ({ is_pulled, targets }: Message): boolean => is_pulled || targets.length > 0

/**
 * Writes messages, and a delivery for each of their targets. Runs inside the transaction that advances the feed. `known` absent:
 * the ledger names none of them. Returns the number of deliveries to be sent.
 */
export function writeMessages(
  route_deps: RouteDeps,
  messages: readonly Message[],
  now: number,
  known?: Known,
): number {
  const stored = messages.filter(isStored)
  if (stored.length === 0) return 0
  const { db } = route_deps
  const deps = { ...route_deps, editions: known?.editions ?? listEditions(db, stored) }
  const rows = rowsOf(db, stored, known?.own)
  insertMessages(
    db,
    stored.map((it, at) => ({
      row: rows[at]?.row ?? 0,
      monitor_id: it.monitor_id,
      is_pulled: it.is_pulled,
      body: bodyOf(deps, it),
      matched_at: now,
      item_ids: rows[at]?.is_named === true ? [] : it.names,
    })),
  )
  const numbered = stored.map((it, at) => ({ ...it, row: rows[at]?.row ?? 0 }))
  if (deps.on_messages !== undefined) afterCommit(db, deps.on_messages)
  const planned = planDeliveries(deps, numbered, now)
  const inserted = insertDeliveries(
    db,
    planned.map(({ row }) => row),
  )
  const written = planned.filter(({ row }) => inserted.has(row.id))
  for (const { row, kind } of written) deps.on_written?.(row.status, kind)
  const pending = written.flatMap(({ row }) =>
    row.status === 'pending' ? [{ row: row.row, webhook_id: row.webhook_id }] : [],
  )
  if (pending.length === 0) return 0
  const claimed =
    deps.claim?.({
      rows: new Set(pending.map(({ row }) => row)),
      webhook_ids: [...new Set(pending.map(({ webhook_id }) => webhook_id))],
    }) ?? 0
  if (claimed < pending.length) afterCommit(db, deps.on_pending)
  return pending.length
}

/** Rows of messages, in their order; `is_named`: by the ledger. */
function rowsOf(db: Db, messages: readonly Message[], own: Known['own'] = new Map()) {
  const named = messages.map(({ monitor_id, names: [name = '', ...rest] }) =>
    rest.length === 0 ? own.get(matchKey(monitor_id, name)) : undefined,
  )
  const further = named.filter((row) => row === undefined).length
  let next = further === 0 ? 0 : reserveMessages(db, further)
  return named.map((row) => ({ row: row ?? next++, is_named: row !== undefined }))
}

const listEditions = (db: Db, messages: readonly Message[]): Editions =>
  findEditions(
    db,
    messages.flatMap(({ monitor_id, names }) => names.map((item_id) => ({ monitor_id, item_id }))),
  )

type ContentDeps = RouteDeps & { editions: Editions }

/** Id of the delivery of a message to one target, or to the pull API (null). */
function idOf(
  { instance_id, editions }: ContentDeps,
  { monitor_id, names }: Message,
  webhook_id: string | null,
): string {
  const named = names.map((it) => editionName(it, editions.get(matchKey(monitor_id, it))))
  return deliveryId(instance_id, monitor_id, webhook_id, named)
}

/** The body of a message, as the pull API has it. */
function bodyOf(deps: ContentDeps, message: Message): Uint8Array {
  const { monitor_id, rows, digest } = message
  return envelope({
    delivery_id: idOf(deps, message, null),
    monitor_id,
    items: rows,
    grouped: rows.length > 1,
    ...(digest && { digest }),
  })
}

type Numbered = Message & { row: number }

const dayOf = (created_at: number, { monitor_id }: Message): string =>
  `${monitor_id} ${utcDay(created_at)}`

type Planned = { row: NewDelivery; kind: DeliveryTarget['kind'] }

/** The deliveries of messages, in their order, within the ceilings of their monitors. */
function planDeliveries(deps: ContentDeps, messages: readonly Numbered[], now: number): Planned[] {
  const { db } = deps
  // A delivery counts for the day on which its row was written, by true time: a wrong clock makes no day longer.
  const nextAt = createDeliveryTimes(db, now + aheadOf(deps.watches))
  const wanted = messages.flatMap((message) =>
    message.targets.map((target, nth) => ({
      message,
      target,
      row: deliveryRow(message.row, nth),
      created_at: nextAt(message.customer_id),
    })),
  )
  const counted = Map.groupBy(
    wanted.filter(({ message }) => message.suppressed === null),
    ({ created_at, message }) => dayOf(created_at, message),
  )
  const allowed = reserveDeliveries(
    db,
    [...counted.values()].map((mine) => ({
      monitor_id: mine[0]?.message.monitor_id ?? '',
      day: utcDay(mine[0]?.created_at ?? 0),
      n: mine.length,
      ceiling: deps.plan_of(mine[0]?.message.plan ?? '').daily_deliveries,
    })),
  )
  const left = new Map([...counted.keys()].map((key, at) => [key, allowed[at] ?? 0]))
  return wanted.flatMap(({ message, target, row, created_at }): Planned[] => {
    const { monitor_id, customer_id, suppressed } = message
    const { id: webhook_id, kind } = target
    const base = {
      row,
      id: idOf(deps, message, webhook_id),
      customer_id,
      monitor_id,
      webhook_id,
      created_at,
      due_at: now,
      in_order: target.ordered,
    }
    const withheld = (why: Suppressed): Planned[] => [
      {
        row: {
          ...base,
          status: 'suppressed',
          reason: why.reason,
          suppressed: JSON.stringify(why),
        },
        kind,
      },
    ]
    if (suppressed !== null) return withheld(suppressed)
    const key = dayOf(created_at, message)
    const rest = left.get(key) ?? 0
    if (rest === 0) {
      const ceiling = deps.plan_of(message.plan).daily_deliveries
      return countCeiling(db, { monitor_id, day: utcDay(created_at) })
        ? withheld({ reason: 'delivery_ceiling', daily_delivery_ceiling: ceiling })
        : []
    }
    left.set(key, rest - 1)
    const last_error = target.refused ?? (target.paused ? 'webhook_paused' : null)
    return last_error === null
      ? [{ row: { ...base, status: 'pending' }, kind }]
      : [{ row: { ...base, status: 'failed', last_error }, kind }]
  })
}

/** Adds matches to the bundles of targets and of the pull API. */
function collect(
  db: Db,
  { watcher: { id: monitor_id, customer_id }, matches, webhook_ids, close_at, digest }: Collected,
  now: number,
): void {
  for (const { name, created_at, row } of matches) {
    const item = { item_id: name, created_at, body: JSON.stringify(row) }
    for (const webhook_id of webhook_ids)
      putIntoBundle(db, { customer_id, monitor_id, webhook_id }, item, { now, close_at, digest })
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
    pending += transact(deps.db, () => closeOne(deps, bundle, now))
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

function closeOne(deps: RouteDeps, bundle: Bundle, now: number): number {
  const { db } = deps
  const { id, customer_id, monitor_id, webhook_id, plan } = bundle
  const items = listBundled(db, id)
  deleteBundle(db, id)
  if (plan === null || items.length === 0) return 0
  const message: Message = {
    monitor_id,
    customer_id,
    plan,
    names: items.map(({ item_id }) => item_id),
    rows: items.map(({ body }): object => Object(JSON.parse(body))),
    suppressed: null,
    ...(bundle.digest === 1 && { digest: digestInfo(bundle) }),
    is_pulled: webhook_id === null,
    targets: webhook_id === null ? [] : [targetOf(db, { customer_id, monitor_id, webhook_id })],
  }
  return writeMessages(deps, [message], now)
}

/** The target of a bundle. If it was deleted meanwhile, the row fails as pending rows did at that time. */
function targetOf(
  db: Db,
  {
    customer_id,
    monitor_id,
    webhook_id,
  }: { customer_id: string; monitor_id: string; webhook_id: string },
): Message['targets'][number] {
  const [target] = listTargets(db, customer_id, [webhook_id], monitor_id)
  return target ?? { ...deletedTarget(db, webhook_id), refused: 'webhook_deleted' }
}
