import { compileFilter } from '../core/filter-compile.ts'
import { createMatcher, type Matcher } from '../core/filter-matcher.ts'
import type { FilterSpec } from '../core/filter-spec.ts'
import { decodeFilterSpec } from '../core/filter.ts'
import type { Item } from '../core/items.ts'
import type { Log } from '../outside.ts'
import type { Db } from '../store/db.ts'
import { findFilterSpec } from '../store/monitors.ts'

/** A monitor's filter, ready to be asked. Null spec: its stored text cannot be read, and nothing matches. */
type Filter = { spec: FilterSpec; matches: (item: Item) => boolean }

/** A monitor and the version of its filter. */
type Watching = { id: string; updated_at: number }

/** The filters of monitors, made once each, and asked all together by stream. */
export type Filters = {
  (monitor: Watching): Filter | null
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

const KEPT_MAX = 20_000
const STREAMS_MAX = 5_000
/** Filters made in one go, so that nobody else waits for long. */
const AT_ONCE = 50
/** One monitor's patterns on one item; what takes longer is told. */
const PATTERNS_MS = 20

/** Compiles each version of a monitor's filter once, and keeps those of a stream together. `mono` counts ms. */
export function createFilters(db: Db, log: Log, mono?: () => number): Filters {
  const kept = new Map<string, { updated_at: number; filter: Filter | null }>()
  const streams = new Map<number, Matcher>()

  function compile(id: string): Filter | null {
    const text = findFilterSpec(db, id)
    if (text === null) return null
    try {
      const spec = decodeFilterSpec(text)
      let ask: ReturnType<typeof compileFilter> | null = null
      return { spec, matches: (item) => (ask ??= compileFilter(spec))(item) !== null }
    } catch (error) {
      log('error', 'filter.unreadable', { monitor: id, error: String(error) })
      return null
    }
  }

  function filterOf({ id, updated_at }: Watching): Filter | null {
    const found = kept.get(id)
    if (found?.updated_at === updated_at) return found.filter
    if (kept.size >= KEPT_MAX) kept.clear()
    const filter = compile(id)
    kept.set(id, { updated_at, filter })
    return filter
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
    const matcher = createMatcher(around)
    streams.set(stream_id, matcher)
    return matcher
  }

  function put(matcher: Matcher, it: Watching): void {
    const filter = filterOf(it)
    if (filter === null) matcher.remove(it.id)
    else matcher.set(it.id, it.updated_at, filter.spec)
  }

  function warmUp(stream_id: number, watchers: readonly Watching[]): boolean {
    const matcher = matcherOf(stream_id)
    let made = 0
    for (const it of watchers) {
      if (matcher.has(it.id, it.updated_at)) continue
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
    return matcher.match
  }

  return Object.assign(filterOf, { among, warmUp, isWarm: (id: number) => streams.has(id) })
}
