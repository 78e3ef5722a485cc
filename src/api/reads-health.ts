import type { Fault } from '../core/outcome.ts'
import { type Judgement, judgeReads, type ReadsState, WINDOW_S } from '../core/reads-health.ts'
import type { Clock } from '../outside.ts'

/** Hears how requests to the platform end, and says how reads go. */
export type ReadsHealth = {
  /** One finished request of the pool, with the fault it ended in, if any. */
  record(fault: Fault['kind'] | null): void
  state(): ReadsState
}

/** Faults of the platform or of the way to it; the others are answers. */
const COUNTED: readonly Fault['kind'][] = ['throttled', 'blocked', 'unavailable', 'timeout']

type Second = { at: number; requests: number; faults: number }

/** Watches the last 60 s of pool requests. `usable` tells whether any account, or nobody's eyes, can be used at all. */
export function createReadsHealth(clock: Clock, usable: () => boolean = () => true): ReadsHealth {
  const seconds: Second[] = []
  let judgement: Judgement = { state: 'unknown', calm_since: null }

  function judge(now: number) {
    while (seconds[0] && seconds[0].at <= now - WINDOW_S * 1000) seconds.shift()
    const requests = seconds.reduce((sum, second) => sum + second.requests, 0)
    const faults = seconds.reduce((sum, second) => sum + second.faults, 0)
    judgement = judgeReads(judgement, { requests, faults }, now)
  }

  return {
    record: (fault) => {
      const now = clock.mono()
      const at = Math.floor(now / 1000) * 1000
      const last = seconds.at(-1)
      const second = last?.at === at ? last : { at, requests: 0, faults: 0 }
      if (second !== last) {
        seconds.push(second)
        // Judged as seconds go by, so that a calm minute is seen although nobody asks.
        judge(now)
      }
      second.requests += 1
      if (fault !== null && COUNTED.includes(fault)) second.faults += 1
    },
    state: () => {
      judge(clock.mono())
      return usable() ? judgement.state : 'degraded'
    },
  }
}
