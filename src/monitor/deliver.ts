import { cutBundles } from '../core/bundle.ts'
import type { Enrichment } from '../core/enrich.ts'
import type { Suppressed } from '../core/envelope.ts'
import { countsOf, groupOf, hasReached, lateOf, relevanceFloorOf } from '../core/filter-late.ts'
import { judgeFreshness, type Plan } from '../core/gate.ts'
import { rowOf } from '../core/row.ts'
import { putIntoBundle } from '../store/bundles.ts'
import { insertCandidate } from '../store/candidates.ts'
import { insertMatch } from '../store/matches.ts'
import { recordMatchAt } from '../store/monitors.ts'
import { listTargets } from '../store/targets.ts'
import { emit, type EmitDeps, type Parcel } from './emit.ts'
import type { Filters } from './filters.ts'
import type { Hit } from './match.ts'

export type DeliverDeps = EmitDeps & {
  filters: Filters
  plan_of: (name: string) => Plan
  freshness_ms: number
}

/** A match with its row, ready to travel. */
type Ready = { hit: Hit; name: string; created_at: number; row: object; bytes: number }

/**
 * What becomes of what was found: a candidate while it has yet to reach a score, else a match, once for each monitor,
 * which is withheld, sent alone, or put into a bundle. Inside the transaction that found it.
 */
export function deliver(
  deps: DeliverDeps,
  hits: readonly Hit[],
): { matched: number; pending: number } {
  const total = { matched: 0, pending: 0 }
  const by_monitor = Map.groupBy(hits, ({ watcher }) => watcher.id)
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

/** Whether this is a match, and the first of its monitor and item. What may yet become one is noted. */
function isMatch({ db, freshness_ms, watch }: DeliverDeps, hit: Hit): boolean {
  const { watcher, spec, item, stream_id, first_seen_at, now } = hit
  const late = hit.late ?? lateOf(spec)
  if (late !== null && !hasReached(late, countsOf(item))) {
    // A candidate that was asked about again is noted already.
    if (hit.late === undefined && staleness(hit, freshness_ms) === null) {
      const until_at = item.created_utc * 1000 + freshness_ms
      insertCandidate(db, { watcher, item, stream_id, late, first_seen_at, until_at }, now)
    }
    return false
  }
  return insertMatch(db, {
    monitor_id: watcher.id,
    item_id: item.name,
    stream_id,
    // True time, as its deliveries tell it.
    matched_at: now + watch.clock_offset_ms(),
  })
}

const staleness = ({ item, first_seen_at }: Hit, freshness_ms: number): Suppressed | null =>
  judgeFreshness({ created_at: item.created_utc * 1000, first_seen_at }, freshness_ms)

/** Sends what one monitor has found. Returns how many deliveries are to be sent. */
function send(deps: DeliverDeps, first: Hit, found: readonly Hit[]): number {
  const { watcher, spec, now } = first
  const targets = listTargets(deps.db, watcher.customer_id, watcher.webhook_ids, watcher.id)
  const group = groupOf(spec)
  const parcel = (ready: readonly Ready[], suppressed: Suppressed | null): Parcel => ({
    monitor_id: watcher.id,
    customer_id: watcher.customer_id,
    names: ready.map(({ name }) => name),
    rows: ready.map(({ row }) => row),
    suppressed,
    ceiling: deps.plan_of(watcher.plan).daily_deliveries,
    now,
  })
  let pending = 0
  const together: Ready[] = []
  for (const hit of found) {
    const { item } = hit
    const { row, enrichment } = rowOf(deps.words, spec, item)
    const withheld = staleness(hit, deps.freshness_ms) ?? irrelevance(spec, enrichment)
    const created_at = item.created_utc * 1000
    const ready = { hit, name: item.name, created_at, row, bytes: 0 }
    if (withheld !== null || group === null)
      pending += emit(deps, parcel([ready], withheld), targets)
    else together.push({ ...ready, bytes: Buffer.byteLength(JSON.stringify(row)) })
  }
  if (group === null) return pending
  if (group.window_s === 0)
    for (const bundle of cutBundles(together)) pending += emit(deps, parcel(bundle, null), targets)
  else collect(deps, together, [null, ...targets.map(({ id }) => id)], group.window_s * 1000)
  return pending
}

/** Below its monitor's floor a match is shown, and not sent. */
function irrelevance(spec: Hit['spec'], { relevance }: Enrichment): Suppressed | null {
  const floor = relevanceFloorOf(spec)
  if (floor === null || relevance.score >= floor) return null
  return { reason: 'low_relevance', relevance: relevance.score, min_relevance: floor }
}

/** Puts matches into the bundles of each target that there is now, and of who fetches them. */
function collect(
  { db }: DeliverDeps,
  matches: readonly Ready[],
  webhook_ids: readonly (string | null)[],
  window_ms: number,
): void {
  for (const { hit, name, created_at, row } of matches) {
    const { id: monitor_id, customer_id } = hit.watcher
    const item = { item_id: name, created_at, body: JSON.stringify(row) }
    for (const webhook_id of webhook_ids)
      putIntoBundle(db, { customer_id, monitor_id, webhook_id }, item, { now: hit.now, window_ms })
  }
}
