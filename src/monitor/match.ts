import { createLru } from '../core/base/lru.ts'
import type { FilterSpec } from '../core/filter/fields.ts'
import { createMatcher, type Matcher } from '../core/filter/index.ts'
import { decodeFilterSpec } from '../core/filter/parse.ts'
import type { Thresholds } from '../core/filter/spec.ts'
import { type Item, itemKey } from '../core/forum/items.ts'
import { isAhead } from '../core/limits/plan.ts'
import { DIRECT_VERDICTS, type Verdicts } from '../core/pattern/verdicts.ts'
import type { Feed } from '../core/polling/step.ts'
import type { Log } from '../runtime/runtime.ts'
import { type Archiving, feedScope, queueItems } from '../store/archive/queue.ts'
import type { Db } from '../store/db/connection.ts'
import { listErased, withoutErased } from '../store/erasure/erase.ts'
import { keepItems } from '../store/erasure/kept-items.ts'
import { FIRST_POLL_SEQ } from '../store/monitoring/feeds.ts'
import { findFilterSpec, listWatchers, type Watcher } from '../store/monitoring/monitors.ts'

export type Seen = {
  /** Oldest first. */
  ordered: readonly Item[]
  /** Keys of items that are new to the feed. */
  fresh: ReadonlySet<string>
  /** Items under ids that others had before: their creation, epoch s, by key. Absent: none. */
  editions?: ReadonlyMap<string, number>
  /** Instant at which each item was first seen, by the platform's clock. */
  first_seen: ReadonlyMap<string, number>
  next_seq: number
}

/** An item that satisfies a monitor's filter when first seen. */
export type Hit = {
  watcher: Watcher
  spec: FilterSpec
  item: Item
  feed_id: number
  first_seen_at: number
  /** Creation, epoch s, of an item under an id that another one had; absent: of the first. */
  edition?: number | undefined
  now: number
  /** For an item found by a recheck: the thresholds that it had to reach. */
  thresholds?: Thresholds
}

/** A check whose items are matched. */
export type Round = {
  now: number
  /** True when it reads back to the start of new monitors, which also take items that others have seen before them. */
  begins: boolean
  /** True for a known item that may match now. The match ledger prevents counting an item twice. */
  isAgain: (item: Item) => boolean
  /** True for an item that came after the start of every monitor that does not begin: its time does not count. */
  hasArrived?: (item: Item) => boolean
  /** Milliseconds by which the clock that dates the items is behind that of the monitors' starts. */
  behind_ms?: number
}

/** True for an item with an edited text: read by an audit it may match now. */
export const isEdited = ({ edited }: Item): boolean => edited !== false

/** One item has one time of creation, epoch ms, which the measured clocks may move a little. */
const SAME_MS = 5000
export const isSameTime = (one: number, other: number, behind_ms = 0): boolean =>
  Math.abs(one - other) <= SAME_MS + behind_ms

/** Runs the filters of all monitors of a feed on the items that are new to them. */
export function matchAll(
  deps: { db: Db; filters: Filters; archive?: Archiving | undefined },
  feed: Feed,
  { now, begins: some_begin, isAgain, hasArrived = () => false, behind_ms = 0 }: Round,
  { ordered, fresh, first_seen, editions }: Seen,
): Hit[] {
  const isNew = (item: Item): boolean => fresh.has(itemKey(item)) || isAgain(item)
  const eligible = ordered.filter((it) => some_begin || isNew(it))
  if (eligible.length === 0) return []
  if (deps.archive?.keep === 'feeds')
    archiveShown(deps.db, deps.archive, feed, { now, shown: eligible.filter(isNew), fresh })
  const watchers = new Map(listWatchers(deps.db, feed.id).map((it) => [it.id, it]))
  const matchItem = deps.filters.among(feed.id, [...watchers.values()])
  // Read once for all items: when more monitors match than specs are cached, each match would be a read.
  const specs = new Map<string, FilterSpec | null>()
  const specOf = (watcher: Watcher): FilterSpec | null => {
    let spec = specs.get(watcher.id)
    if (spec === undefined) specs.set(watcher.id, (spec = deps.filters(watcher)))
    return spec
  }
  const hits: Hit[] = []
  for (const item of eligible)
    for (const { monitor_id } of matchItem(item)) {
      const watcher = watchers.get(monitor_id)
      if (watcher === undefined) continue
      const begins = watcher.active_from_seq === FIRST_POLL_SEQ
      if (!begins && !isNew(item)) continue
      const created_at = item.created_utc * 1000 + behind_ms
      if ((begins || !hasArrived(item)) && !isAhead({ name: item.name, created_at }, watcher))
        continue
      const spec = specOf(watcher)
      if (spec === null) continue
      const first_seen_at = first_seen.get(itemKey(item)) ?? item.created_utc * 1000
      const edition = editions?.get(itemKey(item))
      hits.push({ watcher, spec, item, feed_id: feed.id, first_seen_at, edition, now })
    }
  return hits
}

/** Queues what a feed shows for the archive: new items, and known ones that are read again, unless they were erased. */
function archiveShown(
  db: Db,
  archive: Archiving,
  feed: Feed,
  { now, shown, fresh }: { now: number; shown: readonly Item[]; fresh: ReadonlySet<string> },
): void {
  const known = shown.map(itemKey).filter((key) => !fresh.has(key))
  const erased = listErased(db, known)
  const without = withoutErased(db, shown)
  const kept = shown.filter((item) => !erased.has(itemKey(item))).map(without)
  keepItems(db, kept, now)
  const scopes = [feedScope(feed.key)]
  queueItems(
    db,
    archive,
    kept.map((item) => ({ item, scopes })),
    now,
  )
}

type Watching = { id: string; updated_at: number }

/** The filters of monitors, read on demand and evaluated together by feed. */
export type Filters = {
  /** A monitor's filter; null when its stored text cannot be read, and nothing matches. */
  (monitor: Watching): FilterSpec | null
  /**
   * The monitors of a feed as one matcher: those that an item matches when first seen, with the keywords that matched.
   * Cheap while few of them have changed since the last call for the feed.
   */
  among(
    feed_id: number,
    watchers: readonly Watching[],
  ): (item: Item) => { monitor_id: string; terms: string[] }[]
  /** Compiles a part of a feed's filters before its first poll; true while there are more. */
  warmUp(feed_id: number, watchers: readonly Watching[]): boolean
  /** True when the filters of a feed are compiled, except those that changed since. */
  isWarm(feed_id: number): boolean
}

/** Most cached specs: those of monitors that match, which soon match again. */
const RECENT_MAX = 500
const LACKING_MAX = 20_000
const MATCHERS_MAX = 5_000
/** Filters compiled in one step, so that other work does not wait for long. */
const AT_ONCE = 50

/**
 * Caches the matcher of each feed, and the specs of monitors that have just matched. Patterns are looked up in
 * `verdicts`.
 */
export function createFilters(db: Db, log: Log, verdicts: Verdicts = DIRECT_VERDICTS): Filters {
  const recent = createLru<string, { updated_at: number; spec: FilterSpec }>(RECENT_MAX)
  const lacking = createLru<string, number>(LACKING_MAX)
  const matchers = createLru<number, Matcher>(MATCHERS_MAX)

  const lacks = ({ id, updated_at }: Watching): boolean => lacking.get(id) === updated_at

  /** Parses a monitor's spec from its stored text; null when it cannot be read, which is logged once. */
  function read(monitor: Watching): FilterSpec | null {
    if (lacks(monitor)) return null
    const { id, updated_at } = monitor
    const text = findFilterSpec(db, id)
    try {
      if (text !== null) return decodeFilterSpec(text)
    } catch (error) {
      log('error', 'filter.unreadable', { monitor: id, error: String(error) })
    }
    lacking.set(id, updated_at)
    return null
  }

  function specOf(monitor: Watching): FilterSpec | null {
    const { id, updated_at } = monitor
    const found = recent.get(id)
    if (found?.updated_at === updated_at) return found.spec
    const spec = read(monitor)
    if (spec !== null) recent.set(id, { updated_at, spec })
    return spec
  }

  function matcherOf(feed_id: number): Matcher {
    const cached = matchers.get(feed_id)
    if (cached !== undefined) return cached
    const matcher = createMatcher((id, updated_at) => read({ id, updated_at }), verdicts)
    matchers.set(feed_id, matcher)
    return matcher
  }

  function put(matcher: Matcher, it: Watching): void {
    const spec = read(it)
    if (spec === null) matcher.remove(it.id)
    else matcher.set(it.id, it.updated_at, spec)
  }

  function warmUp(feed_id: number, watchers: readonly Watching[]): boolean {
    const matcher = matcherOf(feed_id)
    let added = 0
    for (const it of watchers) {
      if (matcher.has(it.id, it.updated_at) || lacks(it)) continue
      if (added++ === AT_ONCE) return true
      put(matcher, it)
    }
    return false
  }

  function among(feed_id: number, watchers: readonly Watching[]): Matcher['match'] {
    const matcher = matcherOf(feed_id)
    for (const it of watchers) {
      if (!matcher.has(it.id, it.updated_at)) put(matcher, it)
    }
    const here = new Set(watchers.map(({ id }) => id))
    for (const id of matcher.ids()) if (!here.has(id)) matcher.remove(id)
    // The feed's next check finds no matcher and compiles another in small steps.
    if (matcher.isWorn()) matchers.delete(feed_id)
    return matcher.match
  }

  return Object.assign(specOf, { among, warmUp, isWarm: (id: number) => matchers.has(id) })
}
