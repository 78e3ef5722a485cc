import type { Clock, Log } from '../runtime/runtime.ts'

/**
 * Circuit breaker for requests that meet no platform: refused or reset connections, names that do not resolve.
 * While a route is down, one request at a growing interval goes out as a probe, and all others fail at once without one.
 * It is in the client and not in the monitor, because reads, polls and account checks share the routes.
 */
export type Reachability = {
  /** Starts one request by a route; null while the platform is unreachable by it and no probe is due. */
  start(route: Route): Trial | null
  /** True while the platform is unreachable by a route that was requested lately. */
  isDown(): boolean
}

/** Host and port of the platform, and the proxy in front of it; null: direct. */
type Route = { host: string; proxy: string | null }

/**
 * One request in flight. `end` must be called once; null: its end proves nothing, for example after
 * an abort by its caller.
 */
type Trial = { end(answered: boolean | null): void }

type Outage = {
  host: string
  /** Monotonic ms: start of the first failed request, end of the last counted one, last request. */
  since: number
  failed_at: number
  requested_at: number
  failures: number
  /** Null until the route counts as down. */
  probe: { wait_ms: number; due_at: number; running: boolean } | null
}

/** Failures in a row, or milliseconds without an answer, after which a route counts as down. */
const FAILURES_MAX = 3
const SILENCE_MAX_MS = 10_000
const PROBE_FIRST_MS = 1_000
const PROBE_MAX_MS = 30_000
/**
 * A route that is no longer used proves nothing. Longer than the slowest poll interval of a feed.
 */
const FORGET_MS = 2 * 3_600_000
const ROUTES_MAX = 1_000

/** Creates the breaker of a platform's routes, all of them up. */
export function createReachability({
  clock,
  log,
  onRecovered,
}: {
  clock: Pick<Clock, 'mono'>
  log: Log
  /** Called after the first answer of a platform that was unreachable. */
  onRecovered: () => void
}): Reachability {
  const outages = new Map<string, Outage>()

  function forgetOld(): void {
    const before = clock.mono() - FORGET_MS
    for (const [key, { requested_at }] of outages) if (requested_at < before) outages.delete(key)
  }

  function recover(key: string): void {
    const outage = outages.get(key)
    if (outage === undefined) return
    outages.delete(key)
    if (outage.probe === null) return
    const { host, since } = outage
    log('info', 'platform.recovered', { host, duration_ms: clock.mono() - since })
    onRecovered()
  }

  function countFailure(key: string, host: string, started_at: number): void {
    const now = clock.mono()
    const outage = outages.get(key)
    if (outage === undefined) {
      forgetOld()
      if (outages.size >= ROUTES_MAX) return
      const first = { host, since: started_at, failed_at: now, requested_at: now }
      outages.set(key, { ...first, failures: 1, probe: null })
      return
    }
    // Concurrent requests fail together, and count once.
    if (outage.probe !== null || started_at < outage.failed_at) return
    outage.failures += 1
    outage.failed_at = now
    if (outage.failures < FAILURES_MAX && now - outage.since < SILENCE_MAX_MS) return
    outage.probe = { wait_ms: PROBE_FIRST_MS, due_at: now + PROBE_FIRST_MS, running: false }
    log('warn', 'platform.unreachable', { host, count: outage.failures })
  }

  const probeOf = (key: string, probe: NonNullable<Outage['probe']>): Trial => ({
    end(answered) {
      probe.running = false
      if (answered === true) return recover(key)
      if (answered === false) probe.wait_ms = Math.min(PROBE_MAX_MS, 2 * probe.wait_ms)
      probe.due_at = clock.mono() + probe.wait_ms
    },
  })

  return {
    start({ host, proxy }) {
      const key = `${host} ${proxy ?? ''}`
      const started_at = clock.mono()
      const outage = outages.get(key)
      if (outage) outage.requested_at = started_at
      const probe = outage?.probe ?? null
      if (probe !== null) {
        if (probe.running || started_at < probe.due_at) return null
        probe.running = true
        return probeOf(key, probe)
      }
      return {
        end(answered) {
          if (answered === true) recover(key)
          if (answered === false) countFailure(key, host, started_at)
        },
      }
    },
    isDown() {
      forgetOld()
      return [...outages.values()].some(({ probe }) => probe !== null)
    },
  }
}
