import type { Clock } from '../runtime/runtime.ts'

/** Requests that may be sent at once after a quiet time, by default. */
const BURST = 10
/** Longest pause that a Retry-After header may request. */
const PAUSE_MAX_S = 3600

/** Pace of one client, which it shares with every other client of the same host. */
type HostPace = {
  /** Milliseconds until a request may be sent. */
  wait_ms(): number
  /** Counts a request that is sent now. */
  take(): void
  /** Holds every request to the host. */
  pause(seconds: number): void
  /** Lowers the pace to `per_minute` requests; the configured pace stays the highest. */
  limit(per_minute: number): void
}

/** Rules of one host for automatic clients. */
export type RobotsRules = {
  /**
   * True if `path` may be requested. `asked`: by the one read that a caller asks for, which is no
   * crawl. Rules that name the agent hold for it, and a host that admits no client at all is left
   * alone; rules for single paths and all agents steer what search engines list.
   */
  allows(path: string, agent: string, asked: boolean): boolean
}

/** State of one host. */
export type Host = {
  /**
   * Adds a client that may send `burst` requests at once after a quiet time. The slowest of a host's clients sets the
   * pace of all.
   */
  join(requests_per_minute: number, burst?: number): HostPace
  /** Its robots.txt, if it was read. */
  robots: { rules: RobotsRules; read_at: number } | null
  /** A request for it in flight. */
  reading: Promise<unknown> | null
}

/** State that sources at one host share, by host and port. */
export type Hosts = { at(host: string): Host }

/** Creates the register of hosts: several sources may have one host, which has one pace. */
export function createHosts(clock: Clock): Hosts {
  const hosts = new Map<string, Host>()
  return {
    at(host) {
      const known = hosts.get(host) ?? createHost(clock)
      hosts.set(host, known)
      return known
    },
  }
}

function createHost(clock: Clock): Host {
  /** Milliseconds between two requests of each client. */
  const intervals: number[] = []
  /** Token bucket as the instant at which the next request is due, monotonic ms. */
  let next_at = -Infinity
  let paused_until = -Infinity
  const every_ms = () => Math.max(...intervals)

  return {
    robots: null,
    reading: null,
    join(requests_per_minute, burst = BURST) {
      const index = intervals.push(60_000 / requests_per_minute) - 1
      return {
        wait_ms() {
          const now = clock.mono()
          return Math.max(0, paused_until - now, next_at - now - (burst - 1) * every_ms())
        },
        take() {
          next_at = Math.max(next_at, clock.mono()) + every_ms()
        },
        pause(seconds) {
          paused_until = Math.max(
            paused_until,
            clock.mono() + Math.min(seconds, PAUSE_MAX_S) * 1000,
          )
        },
        limit(per_minute) {
          intervals[index] = 60_000 / Math.min(requests_per_minute, per_minute)
        },
      }
    },
  }
}
