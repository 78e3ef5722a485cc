import * as z from 'zod'

import { once } from '../base/lazy.ts'

// A register in another system holds one record; its holder is the primary. Nothing here trusts a clock of another
// machine: the holder counts from before its request left, a waiting process from after it read the record, and both
// count elapsed time only. The rate of two monotonic clocks is all that has to agree, within the skew.

/** One instant by every clock of this machine, in ms. */
export type Instant = {
  /** CLOCK_MONOTONIC: stands still while the machine is suspended. */
  mono: number
  /** CLOCK_BOOTTIME: counts suspension too. */
  boot: number
  /** CLOCK_REALTIME: may be set. */
  wall: number
}

/**
 * The longest of the times that the clocks saw pass. The holder of a lease takes it: a paused virtual machine may show
 * only in the wall clock, and a lease that is given up too early costs a pause, one that is kept too long two senders.
 */
export const elapsedAtMost = (from: Instant, to: Instant): number =>
  Math.max(to.mono - from.mono, to.boot - from.boot, to.wall - from.wall)

/** The stored record. */
const record_shape = once(() =>
  z.strictObject({
    /** Name of the node that holds it, or held it last. */
    holder: z.string().min(1).max(100),
    /** True: given up, so the next process need not wait. */
    released: z.boolean(),
    /** Random id of the process that holds it: two processes may have one name. */
    token: z.string().min(1).max(100),
    epoch: z.int().min(1),
    /** The newest epoch whose holder has written it into its database, and may therefore have acted. */
    data_epoch: z.int().min(0),
    /** Name of that holder: the newest data are its; empty: none yet. */
    data_holder: z.string().max(100),
    /** The last mark of that holder if it stopped in order: a copy with it is complete. Null: it may still write. */
    data_mark: z.int().nullable().default(null),
    /** Name of the node for which a released lease is kept for one term; empty: for any. */
    to: z.string().max(100).default(''),
    /** Counts the renewals of this epoch. */
    beat: z.int().min(0),
    ttl_ms: z.int().min(1),
  }),
)

export type LeaseRecord = z.infer<ReturnType<typeof record_shape>>

/** The record is not one of forumd: the register is used by something else. */
export class ForeignRecord extends Error {
  override name = 'ForeignRecord'
}

/**
 * Parses a stored record.
 * @throws {ForeignRecord} it is not one
 */
export function readRecord(text: string): LeaseRecord {
  const parsed = record_shape().safeParse(jsonOf(text))
  if (!parsed.success)
    throw new ForeignRecord('the lease holds something that forumd did not write: name another one')
  return parsed.data
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}

/** A version of the record as a waiting process first saw it; `since`: its monotonic ms after the answer. */
export type Sighting = { version: string; since: number }

/** Milliseconds until `node` may take the record over; 0: now. */
export function claimWait(
  record: LeaseRecord,
  sighting: Sighting,
  { node, mono, skew_ms }: { node: string; mono: number; skew_ms: number },
): number {
  if (record.released && (record.to === '' || record.to === node)) return 0
  return Math.max(0, sighting.since + record.ttl_ms + skew_ms - mono)
}

/** The record with which a process takes the lease; `before` null: there is none yet. */
export const claimed = (
  before: LeaseRecord | null,
  by: { holder: string; token: string; ttl_ms: number },
): LeaseRecord => ({
  ...by,
  released: false,
  epoch: (before?.epoch ?? 0) + 1,
  data_epoch: before?.data_epoch ?? 0,
  data_holder: before?.data_holder ?? '',
  data_mark: before?.data_mark ?? null,
  to: '',
  beat: 0,
})

/** A release: `to` as in the record; `data_mark`: that of the holder, if it has acted. */
export type Release = { to: string; data_mark: number | null }

/**
 * Decides for whom a primary that stops keeps its lease. A planned move to `move_to` is called off by keeping it for the
 * primary itself if the replica may lack something.
 */
export const releaseOf = (stop: {
  own: string
  /** Empty: none is planned. */
  move_to: string
  data_mark: number | null
  is_replicated: boolean
}): Release => {
  const { own, move_to, data_mark, is_replicated } = stop
  const may_move = is_replicated && data_mark !== null
  return { to: move_to === '' || may_move ? move_to : own, data_mark }
}

/** True if a copy holds everything that the node before wrote, because that node stopped in order. */
export const isComplete = (
  copy: { epoch: number; mark: number },
  term: { data_epoch: number; data_mark: number | null },
): boolean =>
  copy.epoch === term.data_epoch && term.data_mark !== null && copy.mark >= term.data_mark

/** A lease in hand. */
export type LeaseTerm = {
  epoch: number
  /** Before the request that confirmed it was sent; null: it has no end. */
  asked: Instant | null
  ttl_ms: number
}

/** Milliseconds of the lease that remain, less the skew; negative once it must be taken for lost. */
export const remainingMs = ({ asked, ttl_ms }: LeaseTerm, now: Instant, skew_ms: number): number =>
  asked === null ? Infinity : ttl_ms - skew_ms - elapsedAtMost(asked, now)

/** True if an act that takes at most `longest_ms` ends before the lease does. */
export const mayAct = (
  term: LeaseTerm,
  now: Instant,
  { longest_ms, skew_ms }: { longest_ms: number; skew_ms: number },
): boolean => remainingMs(term, now, skew_ms) > longest_ms

/** Relation of a database to the lease that was taken for it. */
export type EpochVerdict = 'current' | 'outdated' | 'foreign'

/**
 * Judges the epoch in a database. `outdated`: another process has been primary since, and this copy lacks its
 * bookkeeping. `foreign`: the database was primary under a later epoch, so the lease is not the one that it knows.
 */
export function judgeEpoch(
  db_epoch: number,
  { epoch, data_epoch }: { epoch: number; data_epoch: number },
): EpochVerdict {
  if (db_epoch >= epoch) return 'foreign'
  return db_epoch < data_epoch ? 'outdated' : 'current'
}
