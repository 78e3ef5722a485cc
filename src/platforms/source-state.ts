import { type Fault, faultText } from '../core/base/result.ts'
import type { Clock } from '../runtime/runtime.ts'

/** State of a source by its own answers since the start. Times are epoch ms. */
export type SourceState = {
  status: 'never_tried' | 'works' | 'fails'
  /** Why it fails, as `blocked` or `unavailable:503`; null: it does not. */
  fault: string | null
  /** Start of the present status; null: never tried. */
  since: number | null
  last_request_at: number | null
  requests_last_minute: number
}

export type SourceTrace = {
  /** Records a request that is sent now. */
  request(): void
  /**
   * Records the result of a read; null: it succeeded. Without a request since the last one it proves nothing. `is_whole`:
   * the read was of the source as a whole, so that each of its faults is one of the source.
   */
  result(fault: Fault | null, is_whole?: boolean): void
  state(): SourceState
}

/** Faults of the source itself; the others are about what was requested. */
const OWN_FAULTS: ReadonlySet<Fault['kind']> = new Set([
  'throttled',
  'blocked',
  'login_required',
  'timeout',
  'unavailable',
  'unreadable',
])

/** True for a fault of an account, a proxy or this machine. */
const isElsewhere = (fault: Fault): boolean =>
  fault.kind === 'proxy' ||
  fault.kind === 'unsupported' ||
  (fault.kind === 'throttled' && fault.not_requested === true) ||
  (fault.kind === 'unavailable' && (fault.own !== undefined || fault.trouble !== undefined))

const MINUTE_S = 60

export function createSourceTrace(clock: Pick<Clock, 'now' | 'mono'>): SourceTrace {
  /** Requests of a second, by that second of the monotonic clock. */
  const seconds = new Map<number, number>()
  let requests = 0
  let judged_requests = 0
  let last_request_at: number | null = null
  let fault: string | null = null
  let since: number | null = null

  function prune(): number {
    const now = Math.floor(clock.mono() / 1000)
    for (const second of seconds.keys()) if (second <= now - MINUTE_S) seconds.delete(second)
    return now
  }

  return {
    request() {
      const now = prune()
      seconds.set(now, (seconds.get(now) ?? 0) + 1)
      requests += 1
      last_request_at = clock.now()
    },
    result(met, is_whole = false) {
      if (requests === judged_requests || (met !== null && isElsewhere(met))) return
      judged_requests = requests
      const next = met !== null && (is_whole || OWN_FAULTS.has(met.kind)) ? faultText(met) : null
      if (since === null || (next === null) !== (fault === null)) since = clock.now()
      fault = next
    },
    state() {
      prune()
      return {
        status: since === null ? 'never_tried' : fault === null ? 'works' : 'fails',
        fault,
        since,
        last_request_at,
        requests_last_minute: [...seconds.values()].reduce((sum, it) => sum + it, 0),
      }
    },
  }
}
