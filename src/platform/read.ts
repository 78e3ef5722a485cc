import { isObject } from '../core/object.ts'
import type { Outcome } from '../core/outcome.ts'
import { fail } from '../core/outcome.ts'

/** A JSON object whose fields nobody has looked at yet. */
export type Row = Record<string, unknown>

/** The object under a field, or null. */
export function rowAt(row: Row, field: string): Row | null {
  const value = row[field]
  return isObject(value) ? value : null
}

/** The list under a field; empty when it is anything else. */
export function listAt(row: Row, field: string): readonly unknown[] {
  const value = row[field]
  return Array.isArray(value) ? value : []
}

/** A string as it stands, or null. */
export function textAt(row: Row, field: string): string | null {
  const value = row[field]
  return typeof value === 'string' ? value : null
}

/** A string that says something, or null. */
export const wordAt = (row: Row, field: string): string | null => textAt(row, field) || null

/** A finite number, or null. */
export function numberAt(row: Row, field: string): number | null {
  const value = row[field]
  return typeof value === 'number' && Number.isFinite(value) ? value : null
}

/** A whole number, or null; the platform writes some of them as 3.0. */
export function wholeAt(row: Row, field: string): number | null {
  const value = numberAt(row, field)
  return value === null ? null : Math.trunc(value)
}

/** True or false as told, null when it is not. */
export function flagAt(row: Row, field: string): boolean | null {
  const value = row[field]
  return typeof value === 'boolean' ? value : null
}

// The range of Date; outside it toISOString throws.
const LAST_S = 8.64e12

/** Whole epoch seconds, or null when no calendar holds them. Some tokens tell a fraction, and no instant of ours has one. */
export function secondsAt(row: Row, field: string): number | null {
  const value = wholeAt(row, field)
  return value !== null && Math.abs(value) <= LAST_S ? value : null
}

/** Whole epoch milliseconds, or null when no calendar holds them. */
export function instantAt(row: Row, field: string): number | null {
  const value = wholeAt(row, field)
  return value !== null && Math.abs(value) <= LAST_S * 1000 ? value : null
}

/** Epoch seconds as ISO 8601 in UTC. */
export const isoOfSeconds = (seconds: number): string => new Date(seconds * 1000).toISOString()

/** An absolute http(s) address, or null. Some of them come entity-escaped even when raw text was asked for. */
export function addressAt(row: Row, field: string): string | null {
  const value = textAt(row, field)
  return value !== null && /^https?:\/\//i.test(value) ? value.replaceAll('&amp;', '&') : null
}

type Kind = 'string' | 'number' | 'seconds'

/** The first field that is not there as it has to be, or null. */
export function lacking(row: Row, needs: Readonly<Record<string, Kind>>): string | null {
  for (const field in needs) {
    const kind = needs[field]
    const there = kind === 'seconds' ? secondsAt(row, field) !== null : typeof row[field] === kind
    if (!there) return field
  }
  return null
}

/** It answered, but the part named by `path` did not fit. */
export const unreadable = (path: string): Outcome<never> => fail({ kind: 'unreadable', path })
