import * as z from 'zod'

import { once } from '../base/lazy.ts'

// One object in the object store names the node that may act. No clock is compared with that of another machine: the
// holder counts from before its request was sent, a waiting node from after it first read a version of the object, and the
// content of no two versions is the same.

const record_shape = once(() =>
  z.object({
    /** Host name, for people. */
    holder: z.string().min(1).max(255),
    /** Random id of the process: two may have one host name. */
    token: z.string().min(1).max(100),
    term: z.int().min(1),
    /** Counts the writes of a holder, so that each version differs. */
    beat: z.int().min(0),
    ttl_ms: z.int().min(1),
    released: z.boolean(),
    /** Number of the replica with the newest data; 0: there is none yet. */
    replica: z.int().min(0),
  }),
)

export type LeaseRecord = z.infer<ReturnType<typeof record_shape>>
/** The object as a node read it; foreign: forumd did not write it. */
export type Found = LeaseRecord | 'absent' | 'foreign'

/** Parses the object; null: there is none. */
export function readLease(text: string | null): Found {
  if (text === null) return 'absent'
  try {
    return record_shape().parse(JSON.parse(text))
  } catch {
    return 'foreign'
  }
}

/** A longer term than so many times the own one is not believed. */
const TTL_TIMES_MAX = 3
/** Part of a term that the holder leaves unused: the clocks of two machines differ in rate, and a timer may be late. */
const MARGIN = 0.2

/** Time for which a holder may act after it began the request that renewed its lease. */
export const usableMs = (ttl_ms: number): number => ttl_ms * (1 - MARGIN)

/**
 * Time until a node may take an object that has not changed for `unchanged_ms`; 0: now. One that is absent counts as any
 * other: its holder, which acts until its term ends, creates it again.
 */
export function judgeLease(
  found: Found,
  { unchanged_ms, ttl_ms, token }: { unchanged_ms: number; ttl_ms: number; token: string },
): {
  wait_ms: number
  reason: 'absent' | 'foreign' | 'held' | 'released' | 'own' | 'ttl_too_long'
} {
  const rest = (of_ms: number) => Math.max(0, of_ms - unchanged_ms)
  if (found === 'foreign') return { wait_ms: Infinity, reason: 'foreign' }
  if (found === 'absent') return { wait_ms: rest(ttl_ms), reason: 'absent' }
  if (found.token === token) return { wait_ms: 0, reason: 'own' }
  if (found.released) return { wait_ms: 0, reason: 'released' }
  if (found.ttl_ms > ttl_ms * TTL_TIMES_MAX)
    return { wait_ms: rest(ttl_ms), reason: 'ttl_too_long' }
  return { wait_ms: rest(Math.max(ttl_ms, found.ttl_ms)), reason: 'held' }
}

type ClaimedBy = Pick<LeaseRecord, 'holder' | 'token' | 'ttl_ms'> & { newest: number; now: number }

/** The record of a node that takes the lease. Where there is none, the time sees to it that no number comes again. */
export const claimLease = (found: Found, { newest, now, ...own }: ClaimedBy): LeaseRecord => {
  const none = { term: Math.max(newest, Math.floor(now / 1000)), replica: newest }
  const { term, replica } = typeof found === 'string' ? none : found
  return { ...own, term: term + 1, beat: 0, released: false, replica }
}

/**
 * Numbers of the replica to restore, null for none, and of the one to write. A node whose database belongs to the newest
 * replica goes on with both; any other begins a replica to which no earlier holder writes.
 */
export function planReplica(
  { term, replica }: Pick<LeaseRecord, 'term' | 'replica'>,
  local: number | null,
): { restore: number | null; write: number } {
  if (local === replica) return { restore: null, write: replica }
  return { restore: replica === 0 ? null : replica, write: term }
}
