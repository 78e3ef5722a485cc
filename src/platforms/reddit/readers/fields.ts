import { isObject } from '../../../core/base/object.ts'
import { fail, ok, type Outcome } from '../../../core/base/result.ts'
import { numberAt, textAt } from '../../values.ts'

export type NativeRow = Record<string, unknown>

/** The object under a field, or null. */
export function rowAt(row: NativeRow, field: string): NativeRow | null {
  const value = row[field]
  return isObject(value) ? value : null
}

/** The list under a field; empty for any other value. */
export function listAt(row: NativeRow, field: string): readonly unknown[] {
  const value = row[field]
  return Array.isArray(value) ? value : []
}

/** A non-empty string, or null. */
export const wordAt = (row: NativeRow, field: string): string | null => textAt(row, field) || null

/** A whole number, or null; the platform writes some of them as 3.0. */
export function wholeAt(row: NativeRow, field: string): number | null {
  const value = numberAt(row, field)
  return value === null ? null : Math.trunc(value)
}

/** A boolean, or null for any other value. */
export function flagAt(row: NativeRow, field: string): boolean | null {
  const value = row[field]
  return typeof value === 'boolean' ? value : null
}

// The range of Date; outside it toISOString throws.
const LAST_S = 8.64e12

/**
 * Whole epoch seconds, or null outside the range of Date. Some tokens contain a fraction, which is
 * cut.
 */
export function secondsAt(row: NativeRow, field: string): number | null {
  const value = wholeAt(row, field)
  return value !== null && Math.abs(value) <= LAST_S ? value : null
}

/** Whole epoch milliseconds, or null outside the range of Date. */
export function instantAt(row: NativeRow, field: string): number | null {
  const value = wholeAt(row, field)
  return value !== null && Math.abs(value) <= LAST_S * 1000 ? value : null
}

/** Epoch seconds as ISO 8601 in UTC. */
export const isoOfSeconds = (seconds: number): string => new Date(seconds * 1000).toISOString()

/** An absolute http(s) address, or null. Some are entity-escaped even in raw text. */
export function addressAt(row: NativeRow, field: string): string | null {
  const value = textAt(row, field)
  return value !== null && /^https?:\/\//i.test(value) ? value.replaceAll('&amp;', '&') : null
}

type Kind = 'string' | 'number' | 'seconds'

/** The first field that is absent or of another kind; null if there is none. */
export function lacking(row: NativeRow, needs: Readonly<Record<string, Kind>>): string | null {
  for (const field in needs) {
    const kind = needs[field]
    const there = kind === 'seconds' ? secondsAt(row, field) !== null : typeof row[field] === kind
    if (!there) return field
  }
  return null
}

/** Rows without those that cannot be read; a list of nothing else is unreadable. `read` gives null for a row to skip. */
export function soundRows<T>(
  values: readonly unknown[],
  path: string,
  read: (value: unknown) => { value: T } | string | null,
): Outcome<T[]> {
  const rows: T[] = []
  let first: string | null = null
  for (const [index, value] of values.entries()) {
    const row = read(value)
    if (typeof row === 'string') first ??= `${path}[${index}].${row}`
    else if (row !== null) rows.push(row.value)
  }
  return rows.length === 0 && first !== null ? unreadable(first) : ok(rows)
}

/** A fault for an answer whose part at `path` does not fit. */
export const unreadable = (path: string): Outcome<never> => fail({ kind: 'unreadable', path })
