/** What has a place in time. `serial` breaks ties: a later arrival of the same second stands above. */
export type Dated = { readonly created_s: number; readonly serial: number }

const compare = (one: Dated, other: Dated) =>
  one.created_s - other.created_s || one.serial - other.serial

/** Where `row` is, or would be, in rows ordered oldest first. */
function place(rows: readonly Dated[], row: Dated): number {
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

/** Puts a row where its time says; nearly always that is the end. */
export function insert<T extends Dated>(rows: T[], row: T): void {
  const last = rows.at(-1)
  if (last === undefined || compare(last, row) < 0) rows.push(row)
  else rows.splice(place(rows, row), 0, row)
}

/** A listing before it is cut into pages, first row first. */
export type Source<T> = {
  readonly length: number
  at(index: number): T | undefined
  /** -1 when the row is not there. */
  indexOf(row: T): number
}

/** Rows ordered oldest first, seen newest first, without copying them. */
export function newestFirst<T extends Dated>(rows: readonly T[]): Source<T> {
  return {
    length: rows.length,
    at: (index) => rows[rows.length - 1 - index],
    indexOf(row) {
      const index = place(rows, row)
      return rows[index] === row ? rows.length - 1 - index : -1
    },
  }
}

/** Rows in the order given. */
export function inOrder<T>(rows: readonly T[]): Source<T> {
  return { length: rows.length, at: (index) => rows[index], indexOf: (row) => rows.indexOf(row) }
}

/** The newest `most` rows of several timelines, newest first. */
export function merge<T extends Dated>(timelines: readonly (readonly T[])[], most: number): T[] {
  const heads = timelines.map((rows) => rows.length - 1)
  const merged: T[] = []
  while (merged.length < most) {
    let newest: T | undefined
    let from = -1
    for (const [index, rows] of timelines.entries()) {
      const head = rows[heads[index] ?? -1]
      if (head !== undefined && (newest === undefined || compare(head, newest) > 0)) {
        newest = head
        from = index
      }
    }
    if (newest === undefined) break
    merged.push(newest)
    heads[from] = (heads[from] ?? 0) - 1
  }
  return merged
}
