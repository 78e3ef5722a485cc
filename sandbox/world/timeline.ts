import type { Thing, World } from './model.ts'

/**
 * Row with a time. `serial` breaks ties: of rows with the same second, the later one precedes in
 * listings.
 */
export type TimelineRow = { readonly created_s: number; readonly serial: number }

const compare = (one: TimelineRow, other: TimelineRow) =>
  one.created_s - other.created_s || one.serial - other.serial

/** Position of `row`, or its insertion point, in rows ordered oldest first. */
function positionOf(rows: readonly TimelineRow[], row: TimelineRow): number {
  let low = 0
  let high = rows.length
  while (low < high) {
    const middle = (low + high) >>> 1
    const seen = rows[middle]
    if (seen !== undefined && compare(seen, row) < 0) low = middle + 1
    else high = middle
  }
  return low
}

/** Inserts a row by its time, which is nearly always the end. */
export function insert<T extends TimelineRow>(rows: T[], row: T): void {
  const last = rows.at(-1)
  if (last === undefined || compare(last, row) < 0) rows.push(row)
  else rows.splice(positionOf(rows, row), 0, row)
}

/** Listing before paging, first row first. */
export type RowSource<T> = {
  readonly length: number
  at(index: number): T | undefined
  /** -1 if the row is absent. */
  indexOf(row: T): number
}

/** Newest-first view of rows ordered oldest first, without a copy. */
export function newestFirst<T extends TimelineRow>(rows: readonly T[]): RowSource<T> {
  return {
    length: rows.length,
    at: (index) => rows[rows.length - 1 - index],
    indexOf(row) {
      const index = positionOf(rows, row)
      return rows[index] === row ? rows.length - 1 - index : -1
    },
  }
}

/** Rows in the given order. */
export function inOrder<T>(rows: readonly T[]): RowSource<T> {
  return { length: rows.length, at: (index) => rows[index], indexOf: (row) => rows.indexOf(row) }
}

/** Newest `most` rows of several timelines, newest first. */
export function merge<T extends TimelineRow>(
  timelines: readonly (readonly T[])[],
  most: number,
): T[] {
  const positions = timelines.map((rows) => rows.length - 1)
  const merged: T[] = []
  while (merged.length < most) {
    let newest: T | undefined
    let from = -1
    for (const [index, rows] of timelines.entries()) {
      const head = rows[positions[index] ?? -1]
      if (head !== undefined && (newest === undefined || compare(head, newest) > 0)) {
        newest = head
        from = index
      }
    }
    if (newest === undefined) break
    merged.push(newest)
    positions[from] = (positions[from] ?? 0) - 1
  }
  return merged
}

/** Returns the cached result of `compute` for this key until the world changes. */
export type ListingCache = (key: string, compute: () => RowSource<Thing>) => RowSource<Thing>

const MAX_CACHED_LISTINGS = 200

/** Caches listings of a world until it changes. */
export function createListingCache(world: World): ListingCache {
  let version = world.version
  const cache = new Map<string, RowSource<Thing>>()
  return (key, compute) => {
    if (version !== world.version || cache.size >= MAX_CACHED_LISTINGS) cache.clear()
    version = world.version
    const source = cache.get(key) ?? compute()
    cache.set(key, source)
    return source
  }
}
