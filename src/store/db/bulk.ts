import type { Db } from './connection.ts'

type Value = string | number | null | Uint8Array

/** Rows of one statement; few sizes, so that few statements are prepared. */
const SIZES = [64, 16, 4, 1] as const

/** Number of rows before this one, of the same statement, with this key. */
type Nth = (key: string) => number

/**
 * Inserts rows with few statements. `into`: the statement up to VALUES; `values`: SQL of one row, with a `?` for each bound
 * value; `after`: its end, such as RETURNING. A subquery in `values` does not see the other rows of its statement.
 */
export function insertRows<Row, Returned = never>(
  db: Db,
  rows: readonly Row[],
  {
    into,
    values,
    after = '',
    bind,
  }: { into: string; values: string; after?: string; bind: (row: Row, nth: Nth) => Value[] },
): Returned[] {
  const returned: Returned[] = []
  let from = 0
  for (const size of SIZES)
    for (; rows.length - from >= size; from += size) {
      const counts = new Map<string, number>()
      const nth = (key: string): number => {
        const n = counts.get(key) ?? 0
        counts.set(key, n + 1)
        return n
      }
      const bound = rows.slice(from, from + size).flatMap((row) => bind(row, nth))
      const text = `${into} VALUES ${Array.from({ length: size }, () => values).join(', ')} ${after}`
      const statement = db.query<Returned, Value[]>(text)
      if (after.includes('RETURNING')) returned.push(...statement.all(...bound))
      else statement.run(...bound)
    }
  return returned
}

/** Content that one step reads; its last row may exceed it. */
const STEP_BYTES = 1024 * 1024

/** The first rows, up to the content of one step. */
export function firstBytes<T>(rows: Iterable<T>, bytesOf: (row: T) => number): T[] {
  const found: T[] = []
  let bytes = 0
  for (const row of rows) {
    found.push(row)
    bytes += bytesOf(row)
    if (bytes >= STEP_BYTES) break
  }
  return found
}
