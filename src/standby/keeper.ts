import { type Instant, mayAct, type Release, remainingMs } from '../core/standby/lease.ts'
import { createOutages } from '../runtime/outages.ts'
import type { Clock, Fence, Log } from '../runtime/runtime.ts'
import type { Lease, TakenTerm } from './lease.ts'

/** Renewals in one term: several may fail before the holder has to stop. */
const RENEWALS = 6
const RETRIES = 20
const RETRY_MIN_MS = 250
const SYSTEM = 'lease'

type KeeperDeps = {
  lease: Lease
  clock: Pick<Clock, 'mono' | 'sleep'>
  instant: () => Instant
  log: Log
  ttl_ms: number
  skew_ms: number
  /** Longest time from a write to a socket until its request is over, ms. */
  longest_ms: number
}

/** Why a lease has ended: it was taken by another process, or could not be renewed in time. */
type LeaseEnd = 'taken' | 'not_renewed'

/** A lease that is renewed until it is released or lost. */
export type Keeper = {
  readonly fence: Fence
  /** Settles once the lease must be taken for lost. */
  readonly ended: Promise<LeaseEnd>
  /** Records in the lease that the database has entered the epoch: acts may follow. False: the lease is lost. */
  enter(): Promise<boolean>
  /** Stops renewing and gives the lease up. The caller has ended every act. */
  release(how?: Release): Promise<void>
}

/** Delay between two attempts of a waiting process, ms. */
const retryDelay = (ttl_ms: number): number => Math.max(RETRY_MIN_MS, ttl_ms / RETRIES)

/** Waits for the lease; null once `signal` aborts. `waiting` learns who holds it. */
export async function takeLease(
  { lease, clock, log, ttl_ms }: KeeperDeps,
  {
    signal,
    waiting,
  }: { signal: AbortSignal; waiting: (of: { holder: string; data_holder: string }) => void },
): Promise<TakenTerm | null> {
  const outages = createOutages(clock)
  while (!signal.aborted) {
    let wait_ms = retryDelay(ttl_ms)
    try {
      const found = await lease.acquire()
      const ended = outages.recovered(SYSTEM)
      if (ended !== null) log('info', 'lease.reachable', ended)
      if (found.held) {
        // A stop during the attempt: the next node need not wait for its end.
        if (!signal.aborted) return found
        await lease.release()
        return null
      }
      waiting(found)
      wait_ms = Math.min(wait_ms, Math.max(RETRY_MIN_MS, found.wait_ms))
    } catch (error) {
      noteFailure(outages.failed(SYSTEM), error, log)
    }
    await clock.sleep(wait_ms, signal)
  }
  return null
}

/** Keeps a lease that was taken. */
export function keepLease(deps: KeeperDeps, { epoch }: { epoch: number }): Keeper {
  const { lease, clock, instant, log, ttl_ms, skew_ms, longest_ms } = deps
  const outages = createOutages(clock)
  const ended = Promise.withResolvers<LeaseEnd>()
  const lost = new AbortController()
  const stopping = new AbortController()
  const signal = AbortSignal.any([lost.signal, stopping.signal])

  function remaining(): number {
    const term = lease.term()
    return lost.signal.aborted || term === null ? 0 : remainingMs(term, instant(), skew_ms)
  }

  function lose(why: LeaseEnd): void {
    if (lost.signal.aborted || stopping.signal.aborted) return
    log('error', 'lease.lost', { epoch, reason: why })
    lost.abort()
    ended.resolve(why)
  }

  /** Renews once; false if it is not known whether the lease was extended. */
  async function renew(acting: boolean): Promise<boolean> {
    try {
      const is_held = await lease.renew(acting)
      const over = outages.recovered(SYSTEM)
      if (over !== null) log('info', 'lease.reachable', over)
      if (!is_held) lose('taken')
      return true
    } catch (error) {
      noteFailure(outages.failed(SYSTEM), error, log)
      return false
    }
  }

  async function keep(): Promise<void> {
    let wait_ms = ttl_ms / RENEWALS
    while (!signal.aborted) {
      await clock.sleep(wait_ms, signal)
      if (!signal.aborted)
        wait_ms = (await renewing(false)) ? ttl_ms / RENEWALS : retryDelay(ttl_ms)
    }
  }

  /**
   * Ends a lease that has run out. It is renewed once more first: after a frozen process or a step of the clock, a swap that
   * succeeds proves that no other process had it meanwhile, and nothing was permitted until then.
   */
  async function watch(): Promise<void> {
    while (!signal.aborted) {
      const left = remaining()
      if (left > 0) await clock.sleep(left, signal)
      else if (!(await renewing(false)) || remaining() <= 0) lose('not_renewed')
    }
  }

  // One after the other: each names the version that the one before has made.
  let last: Promise<unknown> = Promise.resolve()
  function renewing(acting: boolean): Promise<boolean> {
    const next = last.then(() => (signal.aborted ? false : renew(acting)))
    last = next
    return next
  }

  const kept = keep()
  void watch()
  return {
    fence: {
      epoch,
      mayAct() {
        const term = lost.signal.aborted ? null : lease.term()
        return term !== null && mayAct(term, instant(), { longest_ms, skew_ms })
      },
      mayCommit: () => remaining() > 0,
      remainingMs: remaining,
      lost: lost.signal,
    },
    ended: ended.promise,
    async enter() {
      while (!(await renewing(true))) {
        if (signal.aborted) return false
        await clock.sleep(retryDelay(ttl_ms), signal)
      }
      return !lost.signal.aborted
    },
    async release(how) {
      stopping.abort()
      await Promise.all([kept, last])
      try {
        await lease.release(how)
        log('info', 'lease.released', { epoch, ...(how && how.to !== '' && { holder: how.to }) })
      } catch (error) {
        noteFailure(0, error, log)
      }
      await lease.close()
    },
  }
}

function noteFailure(count: number | null, error: unknown, log: Log): void {
  if (count === null) return
  // Errors of a register name neither its address nor its credentials.
  const why = error instanceof Error ? error.message : 'unknown'
  log('error', 'lease.unreachable', { why, ...(count > 0 && { count }) })
}
