import {
  claimLease,
  type Found,
  judgeLease,
  type LeaseRecord,
  readLease,
  usableMs,
} from '../core/standby/lease.ts'
import { createOutages } from '../runtime/outages.ts'
import type { Clock, Log } from '../runtime/runtime.ts'
import type { Bucket } from './bucket.ts'
import type { Deadline } from './deadline.ts'

/** In one term: renewals, attempts after one that failed, looks of a waiting node. */
const [RENEWALS, RETRIES, LOOKS] = [6, 24, 15]
const SYSTEM = 'lease'

type LeaseDeps = {
  bucket: Bucket
  deadline: Pick<Deadline, 'set'>
  boot: () => number
  clock: Clock
  log: Log
  ttl_ms: number
  holder: string
  token: string
}

/** Creates the lease of one object, held by one process at most. */
export function createLease(deps: LeaseDeps) {
  const { bucket, deadline, boot, clock, log, ttl_ms, holder, token } = deps
  const outages = createOutages(clock)
  let own: { etag: string; record: LeaseRecord } | null = null
  let last: Promise<unknown> = Promise.resolve()

  /** Runs a call to the store; null if it gave no answer. */
  async function attempt<T>(work: () => Promise<T>): Promise<T | null> {
    try {
      const result = await work()
      const over = outages.recovered(SYSTEM)
      if (over !== null) log('info', 'lease.reachable', over)
      return result
    } catch (error) {
      const count = outages.failed(SYSTEM)
      // Errors of a store name neither its address nor its credentials.
      const why = error instanceof Error ? error.message : 'unknown'
      if (count !== null) log('error', 'lease.unreachable', { why, ...(count > 0 && { count }) })
      return null
    }
  }

  async function read(): Promise<{ found: Found; etag: string | null }> {
    const object = await bucket.read()
    return { found: readLease(object?.text ?? null), etag: object?.etag ?? null }
  }

  /** Writes an own record over a version. The term counts from before the request. */
  async function write(record: LeaseRecord, etag: string | null): Promise<boolean> {
    const asked = boot()
    const made = await bucket.write(JSON.stringify(record), etag)
    if (made === null) return false
    own = { etag: made, record }
    if (!record.released) deadline.set(asked + usableMs(ttl_ms))
    return true
  }

  async function renew(change: Partial<LeaseRecord>): Promise<boolean> {
    if (own === null) return false
    // A beat is used once, also where the answer was lost: no two versions are the same.
    own.record.beat += 1
    const next = { ...own.record, ...change }
    if (await write(next, own.etag)) return true
    const { found, etag } = await read()
    if (found === 'absent') return write(next, null)
    if (found === 'foreign' || found.token !== token) return false
    // The answer to an earlier renewal was lost.
    own.record.beat = next.beat += 1
    return write(next, etag)
  }

  /** Renews once, after the renewal before. False: another process has the lease; null: it is not known. */
  function renewing(change: Partial<LeaseRecord> = {}): Promise<boolean | null> {
    const next = last.then(() => attempt(() => renew(change)))
    last = next
    return next
  }

  return {
    /** Waits until this process has it; null once `signal` aborts. `waiting` learns of each look. */
    async take(
      signal: AbortSignal,
      waiting: (holder: string, reason: ReturnType<typeof judgeLease>['reason']) => void,
    ): Promise<LeaseRecord | null> {
      const seen: { etag: string | null; at: number } = { etag: '', at: 0 }
      let is_proven = false
      for (; !signal.aborted; await clock.sleep(ttl_ms / LOOKS, signal)) {
        const is_taken = await attempt(async () => {
          if (!is_proven) await bucket.prove()
          is_proven = true
          const { found, etag } = await read()
          const now = boot()
          if (seen.etag !== etag) Object.assign(seen, { etag, at: now })
          const judged = judgeLease(found, { unchanged_ms: now - seen.at, ttl_ms, token })
          waiting(typeof found === 'string' ? '' : found.holder, judged.reason)
          if (judged.wait_ms > 0 || signal.aborted) return false
          const newest = found === 'absent' ? Math.max(0, ...(await bucket.replicas())) : 0
          return write(claimLease(found, { holder, token, ttl_ms, newest, now: clock.now() }), etag)
        })
        if (is_taken === true && own !== null) return { ...own.record }
      }
      return null
    },
    /** Renews it until `signal` aborts; true: another process has it. */
    async keep(signal: AbortSignal): Promise<boolean> {
      for (let wait_ms = ttl_ms / RENEWALS; ;) {
        await clock.sleep(wait_ms, signal)
        if (signal.aborted) return false
        const is_held = await renewing()
        if (is_held === false) return true
        wait_ms = ttl_ms / (is_held === null ? RETRIES : RENEWALS)
      }
    },
    /** Records the replica that holds the newest data; false: another process has the lease. */
    async setReplica(replica: number): Promise<boolean> {
      for (; ; await clock.sleep(ttl_ms / RETRIES)) {
        const is_set = await renewing({ replica })
        if (is_set !== null) return is_set
      }
    },
    release: () => renewing({ released: true }),
  }
}
