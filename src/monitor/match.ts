import type { Late } from '../core/filter-late.ts'
import type { FilterSpec } from '../core/filter-spec.ts'
import { isAhead } from '../core/gate.ts'
import type { Item } from '../core/items.ts'
import type { Db } from '../store/db.ts'
import { listWatchers, type Watcher } from '../store/monitors.ts'
import { FIRST_LOOK } from '../store/stream-life.ts'
import type { Stream } from '../store/streams.ts'
import type { Finding } from './check.ts'
import type { Filters } from './filters.ts'

/** What a check has seen of one stream. */
export type Seen = {
  /** Oldest first. */
  ordered: readonly Item[]
  /** What this stream had never shown before. */
  fresh: ReadonlySet<string>
  /** When each item of the check was first seen, platform clock. */
  first_seen: ReadonlyMap<string, number>
  next_seq: number
}

/** An item that satisfies what a monitor's filter asks at first sight. */
export type Hit = {
  watcher: Watcher
  spec: FilterSpec
  item: Item
  stream_id: number
  first_seen_at: number
  now: number
  /** What it had to reach when it was first seen, where it was looked at again since. */
  late?: Late
}

/** Puts what is new to each monitor of a stream through its filter. */
export function matchAll(
  deps: { db: Db; filters: Filters },
  stream: Stream,
  { look, ended_at: now }: Finding,
  { ordered, fresh, first_seen }: Seen,
): Hit[] {
  // A monitor that begins here takes what others have seen before it; the ledger keeps that from counting twice.
  const some_begin = look.floor_at !== null
  const asked = ordered.filter(({ name }) => some_begin || fresh.has(name))
  if (asked.length === 0) return []
  const watchers = new Map(listWatchers(deps.db, stream.id).map((it) => [it.id, it]))
  const ask = deps.filters.among(stream.id, [...watchers.values()])
  // Read once for all items: where more monitors match than specs are kept, each match would be one to read.
  const specs = new Map<string, FilterSpec | null>()
  const specOf = (watcher: Watcher): FilterSpec | null => {
    let spec = specs.get(watcher.id)
    if (spec === undefined) specs.set(watcher.id, (spec = deps.filters(watcher)))
    return spec
  }
  const hits: Hit[] = []
  for (const item of asked)
    for (const { monitor_id } of ask(item)) {
      const watcher = watchers.get(monitor_id)
      if (watcher === undefined) continue
      const begins = watcher.active_from_seq === FIRST_LOOK
      if (!begins && !fresh.has(item.name)) continue
      if (!isAhead({ name: item.name, created_at: item.created_utc * 1000 }, watcher)) continue
      const spec = specOf(watcher)
      if (spec === null) continue
      const first_seen_at = first_seen.get(item.name) ?? item.created_utc * 1000
      hits.push({ watcher, spec, item, stream_id: stream.id, first_seen_at, now })
    }
  return hits
}
