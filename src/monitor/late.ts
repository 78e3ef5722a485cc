import { countsOf, hasReached } from '../core/filter-late.ts'
import { isAhead } from '../core/gate.ts'
import type { Item } from '../core/items.ts'
import type { Watch } from '../gateway/watch.ts'
import type { Clock } from '../outside.ts'
import {
  type Candidate,
  deleteCandidate,
  listCandidates,
  listDueCandidates,
  oldestAskedAt,
  pruneCandidates,
  touchCandidates,
} from '../store/candidates.ts'
import { type Db, transact } from '../store/db.ts'
import { deliver, type DeliverDeps } from './deliver.ts'
import type { Hit } from './match.ts'

// What a score is at first sight says nothing: everything begins with one. So what matches but for that waits here,
// in rows, and is asked about again by its id, many in one request, for as long as it is fresh.

export type LateDeps = DeliverDeps & { watch: Watch; clock: Clock; signal: AbortSignal }

const ASK_EVERY_MS = 120_000
const ASK_MAX = 100

/** When candidates are to be asked about next; Infinity when there are none. */
export const nextAskAt = (db: Db): number => oldestAskedAt(db) + ASK_EVERY_MS

type Found = { matched: number; pending: number }
const NONE: Found = { matched: 0, pending: 0 }

/** Asks about the candidates whose turn it is, and delivers those that have reached what they had to. */
export async function askAgain(deps: LateDeps): Promise<Found> {
  const { db, clock, watch, signal } = deps
  const began_at = clock.now()
  transact(db, () => pruneCandidates(db, began_at + watch.clock_offset_ms()))
  const names = listDueCandidates(db, began_at - ASK_EVERY_MS, ASK_MAX)
  if (names.length === 0) return NONE
  const found = await watch.again(names, signal)
  if (signal.aborted) return NONE
  const now = clock.now()
  return transact(db, () => {
    touchCandidates(db, names, now)
    // Who could not be asked is asked about again when it is its turn.
    if (!found.ok) return NONE
    const items = new Map(found.value.map((item) => [item.name, item]))
    const hits = listCandidates(db, names).flatMap((it) => hitOf(deps, it, items, now) ?? [])
    for (const { watcher, item } of hits) deleteCandidate(db, watcher.id, item.name)
    return deliver(deps, hits)
  })
}

/** A candidate that has reached what it had to, as a match; null while it has not. */
function hitOf(
  { filters }: LateDeps,
  { watcher, item: before, stream_id, late, first_seen_at }: Candidate,
  items: ReadonlyMap<string, Item>,
  now: number,
): Hit | null {
  const item = items.get(before.name)
  if (item === undefined || !hasReached(late, countsOf(item))) return null
  // It may have waited since before its monitor was paused, and resuming begins afresh.
  if (!isAhead({ name: item.name, created_at: item.created_utc * 1000 }, watcher)) return null
  const spec = filters(watcher)
  if (spec === null) return null
  return { watcher, spec, item: asBefore(item, before), stream_id, first_seen_at, now, late }
}

/** Asked for by its id, a comment does not say what stands above it. */
const asBefore = (item: Item, before: Item): Item =>
  item.kind === 'comment' && before.kind === 'comment'
    ? {
        ...item,
        link_title: item.link_title ?? before.link_title,
        link_url: item.link_url ?? before.link_url,
      }
    : item
