import { createMatcher, type Matcher } from '../core/filter-matcher.ts'
import type { FilterSpec } from '../core/filter-spec.ts'
import { decodeFilterSpec } from '../core/filter.ts'
import type { Item } from '../core/items.ts'
import type { Log } from '../outside.ts'
import type { Db } from '../store/db.ts'
import { findFilterSpec } from '../store/monitors.ts'

/** A monitor and the version of its filter. */
type Watching = { id: string; updated_at: number }

/** The filters of monitors, read as they are needed, and asked all together by stream. */
export type Filters = {
  /** What a monitor's filter asks for; null when its stored text cannot be read, and nothing matches. */
  (monitor: Watching): FilterSpec | null
  /**
   * The monitors of a stream as one question: which of them an item matches at first sight, and with which keywords.
   * Costs little when few of them have changed since the stream was last asked for.
   */
  among(
    stream_id: number,
    watchers: readonly Watching[],
  ): (item: Item) => { monitor_id: string; terms: string[] }[]
  /** Makes a part of what a stream's first question takes; true while there is more to make. */
  warmUp(stream_id: number, watchers: readonly Watching[]): boolean
  /** Whether a stream has been asked for, and only what has changed since is to be made. */
  isWarm(stream_id: number): boolean
}

/** Specs kept as they were read: those of monitors that match, which soon match again. */
const RECENT_MAX = 500
/** Monitors known to have no filter. */
const LACKING_MAX = 20_000
const STREAMS_MAX = 5_000
/** Filters made in one go, so that nobody else waits for long. */
const AT_ONCE = 50
/** One monitor's patterns on one item; what takes longer is told. */
const PATTERNS_MS = 20

/** Keeps the filters of a stream together, and those of monitors that have just matched. `mono` counts ms. */
export function createFilters(db: Db, log: Log, mono?: () => number): Filters {
  const recent = new Map<string, { updated_at: number; spec: FilterSpec }>()
  const lacking = new Map<string, number>()
  const streams = new Map<number, Matcher>()

  const lacks = ({ id, updated_at }: Watching): boolean => lacking.get(id) === updated_at

  /** A monitor's spec from its stored text; null when it has none that can be read, which is told once. */
  function read(monitor: Watching): FilterSpec | null {
    if (lacks(monitor)) return null
    const { id, updated_at } = monitor
    const text = findFilterSpec(db, id)
    try {
      if (text !== null) return decodeFilterSpec(text)
    } catch (error) {
      log('error', 'filter.unreadable', { monitor: id, error: String(error) })
    }
    if (lacking.size >= LACKING_MAX) lacking.clear()
    lacking.set(id, updated_at)
    return null
  }

  function specOf(monitor: Watching): FilterSpec | null {
    const { id, updated_at } = monitor
    const found = recent.get(id)
    const same = found?.updated_at === updated_at
    const spec = same ? found.spec : read(monitor)
    if (spec === null) return null
    // Whoever was asked for last stands last.
    recent.delete(id)
    recent.set(id, same ? found : { updated_at, spec })
    const [oldest] = recent.keys()
    if (recent.size > RECENT_MAX && oldest !== undefined) recent.delete(oldest)
    return spec
  }

  function around(monitor: string, work: () => void): void {
    const began = mono?.() ?? 0
    work()
    const duration_ms = Math.round((mono?.() ?? 0) - began)
    if (duration_ms > PATTERNS_MS) log('warn', 'filter.slow', { monitor, duration_ms })
  }

  function matcherOf(stream_id: number): Matcher {
    const known = streams.get(stream_id)
    if (known !== undefined) return known
    if (streams.size >= STREAMS_MAX) streams.clear()
    const matcher = createMatcher((id, updated_at) => read({ id, updated_at }), around)
    streams.set(stream_id, matcher)
    return matcher
  }

  function put(matcher: Matcher, it: Watching): void {
    const spec = read(it)
    if (spec === null) matcher.remove(it.id)
    else matcher.set(it.id, it.updated_at, spec)
  }

  function warmUp(stream_id: number, watchers: readonly Watching[]): boolean {
    const matcher = matcherOf(stream_id)
    let made = 0
    for (const it of watchers) {
      if (matcher.has(it.id, it.updated_at) || lacks(it)) continue
      if (made++ === AT_ONCE) return true
      put(matcher, it)
    }
    return false
  }

  function among(stream_id: number, watchers: readonly Watching[]): Matcher['match'] {
    const matcher = matcherOf(stream_id)
    for (const it of watchers) {
      if (!matcher.has(it.id, it.updated_at)) put(matcher, it)
    }
    const here = new Set(watchers.map(({ id }) => id))
    for (const id of matcher.ids()) if (!here.has(id)) matcher.remove(id)
    // The stream's next check finds none, and makes another in small parts.
    if (matcher.isWorn()) streams.delete(stream_id)
    return matcher.match
  }

  return Object.assign(specOf, { among, warmUp, isWarm: (id: number) => streams.has(id) })
}
