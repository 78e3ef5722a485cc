import { countsOf, meetsThresholds } from '../core/filter/spec.ts'
import { type Item, itemKey, ofItemKey } from '../core/forum/items.ts'
import { isAhead } from '../core/limits/plan.ts'
import { aheadOf } from '../gateway/watch.ts'
import type { Clock } from '../runtime/runtime.ts'
import { type Db, transact } from '../store/db/connection.ts'
import {
  deleteCandidate,
  listCandidates,
  listDueCandidates,
  type MatchCandidate,
  oldestRecheckAt,
  pruneCandidates,
  touchCandidates,
} from '../store/monitoring/candidates.ts'
import { deliver, type DeliverDeps } from './deliver.ts'
import type { Hit } from './match.ts'

// Every item starts with a score of one. So items that match but for their score or comment count wait here, in rows, and
// are read again by id, many in one request, until they are stale.

export type RecheckDeps = DeliverDeps & {
  clock: Clock
  signal: AbortSignal
}

const RECHECK_EVERY_MS = 120_000
const RECHECK_MAX = 100
/** A candidate that its source had no request left for is due again after this time. */
const PUT_OFF_MS = 30_000

/** Due time of the next recheck; Infinity: no candidates. */
export const nextRecheckAt = (db: Db): number => oldestRecheckAt(db) + RECHECK_EVERY_MS

type Found = { matched: number; pending: number }
const NONE: Found = { matched: 0, pending: 0 }

export async function recheckCandidates(deps: RecheckDeps): Promise<Found> {
  const { db, clock, signal } = deps
  const began_at = clock.now()
  transact(db, () => pruneCandidates(db, began_at + aheadOf(deps.watches)))
  const names = listDueCandidates(db, began_at - RECHECK_EVERY_MS, RECHECK_MAX)
  if (names.length === 0) return NONE
  const { tried, found } = await refetch(deps, names)
  if (signal.aborted) return NONE
  const now = clock.now()
  return transact(db, () => {
    const untried = names.filter((it) => !tried.has(it))
    touchCandidates(db, untried, now - RECHECK_EVERY_MS + PUT_OFF_MS)
    // Candidates that could not be read are due again like the others.
    touchCandidates(db, [...tried], now)
    const items = new Map(found.map((item) => [itemKey(item), item]))
    const hits = listCandidates(db, names).flatMap((it) => hitOf(deps, it, items, now) ?? [])
    for (const { watcher, item } of hits) deleteCandidate(db, watcher.id, itemKey(item))
    return deliver(deps, hits)
  })
}

/** Reads items by their keys, each from its source. `tried`: the keys that were requested. */
async function refetch(
  { watches, signal }: RecheckDeps,
  keys: readonly string[],
): Promise<{ tried: ReadonlySet<string>; found: Item[] }> {
  const by_source = Map.groupBy(keys.map(ofItemKey), ({ source }) => source)
  const parts = await Promise.all(
    [...by_source].map(async ([source, mine]) => {
      const names = mine.map(({ name }) => name)
      const read = await watches.get(source)?.refetch(names, signal)
      return { source, ...(read ?? { tried: names, found: [] }) }
    }),
  )
  return {
    tried: new Set(
      parts.flatMap(({ source, tried }) => tried.map((name) => itemKey({ name, source }))),
    ),
    found: parts.flatMap(({ found }) => found),
  }
}

/** The match of a candidate that reached its thresholds; null: not yet. */
function hitOf(
  { filters }: RecheckDeps,
  { watcher, item: before, feed_id, thresholds, first_seen_at }: MatchCandidate,
  items: ReadonlyMap<string, Item>,
  now: number,
): Hit | null {
  const item = items.get(itemKey(before))
  if (item === undefined || !meetsThresholds(thresholds, countsOf(item))) return null
  // It may have waited since before its monitor was paused, and resuming begins afresh.
  if (!isAhead({ name: item.name, created_at: item.created_utc * 1000 }, watcher)) return null
  const spec = filters(watcher)
  if (spec === null) return null
  return { watcher, spec, item: asBefore(item, before), feed_id, first_seen_at, now, thresholds }
}

/** Lookups by id return comments without the title of their post. */
const asBefore = (item: Item, before: Item): Item =>
  item.kind === 'comment' && before.kind === 'comment'
    ? {
        ...item,
        link_title: item.link_title ?? before.link_title,
        link_url: item.link_url ?? before.link_url,
      }
    : item
