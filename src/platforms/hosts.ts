import type { Clock } from '../runtime/runtime.ts'
import { createPace, type HostPace, type PaceStore } from './pace.ts'

export type RobotsRules = {
  /**
   * True if `path` may be requested. `asked`: by the one read that a caller asks for, which is no
   * crawl. Rules that name the agent hold for it, and a host that admits no client at all is left
   * alone; rules for single paths and all agents steer what search engines list.
   */
  allows(path: string, agent: string, asked: boolean): boolean
}

export type Host = HostPace & {
  robots: { rules: RobotsRules; read_at: number } | null
  reading: Promise<unknown> | null
}

/** State that sources at one host share, by host and port. */
export type Hosts = { at(host: string): Host }

/** Creates the register of hosts: several sources may have one host, which has one pace. */
export function createHosts(clock: Clock, storeOf?: (host: string) => PaceStore): Hosts {
  const hosts = new Map<string, Host>()
  return {
    at(host) {
      const known = hosts.get(host) ?? {
        ...createPace(clock, storeOf?.(host)),
        robots: null,
        reading: null,
      }
      hosts.set(host, known)
      return known
    },
  }
}
