import type { FilterSpec } from '../core/filter.ts'
import { compileFilter, decodeFilterSpec } from '../core/filter.ts'
import type { Item } from '../core/items.ts'
import type { Log } from '../outside.ts'
import type { Db } from '../store/db.ts'
import { findFilterSpec } from '../store/monitors.ts'

/** A monitor's filter, ready to be asked. Null spec: its stored text cannot be read, and nothing matches. */
type Filter = { spec: FilterSpec; matches: (item: Item) => boolean }

export type Filters = (monitor: { id: string; updated_at: number }) => Filter | null

const KEPT_MAX = 20_000

/** Compiles each version of a monitor's filter once. */
export function createFilters(db: Db, log: Log): Filters {
  const kept = new Map<string, { updated_at: number; filter: Filter | null }>()

  function compile(id: string): Filter | null {
    const text = findFilterSpec(db, id)
    if (text === null) return null
    try {
      const spec = decodeFilterSpec(text)
      const ask = compileFilter(spec)
      return { spec, matches: (item) => ask(item) !== null }
    } catch (error) {
      log('error', 'filter.unreadable', { monitor: id, error: String(error) })
      return null
    }
  }

  return ({ id, updated_at }) => {
    const found = kept.get(id)
    if (found?.updated_at === updated_at) return found.filter
    if (kept.size >= KEPT_MAX) kept.clear()
    const filter = compile(id)
    kept.set(id, { updated_at, filter })
    return filter
  }
}
