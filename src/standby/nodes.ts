import {
  announcementOf,
  mergeNodes,
  type NodeState,
  type PrimaryState,
  readNodes,
  type StandbyState,
} from '../core/standby/nodes.ts'
import type { Clock } from '../runtime/runtime.ts'
import type { Register } from './register.ts'

/** Announcements in one term of the lease. */
const ANNOUNCEMENTS = 3
const EVERY_MIN_MS = 500
/** A node that has been silent for this long is no longer listed. */
const GONE_MS = 3_600_000
/** Attempts at a swap: another node may announce itself at the same time. */
const SWAPS_MAX = 5

/** State that a node announces. */
type Announced = { primary: PrimaryState | null; standby: StandbyState | null }

/** The states of all nodes, in a register beside that of the lease. */
export type Nodes = {
  /** Announces the own state once. False: others were faster again and again. @throws {LeaseUnreachable} */
  announce(state: Announced): Promise<boolean>
  /** Announces it at intervals until `signal` aborts, and at once when `nudge` is called. Failures are passed over. */
  keepAnnouncing(state: () => Announced, signal: AbortSignal): Promise<void>
  nudge(): void
  /** All nodes as of the last announcement, the own one included. */
  seen(): readonly NodeState[]
  close(): Promise<void>
}

type NodesDeps = {
  register: Register
  clock: Pick<Clock, 'now' | 'mono' | 'sleep'>
  /** Name of this node. */
  node: string
  /** Random id of this process. */
  token: string
  ttl_ms: number
}

/** Creates the announcements of one node. */
export function createNodes({ register, clock, node, token, ttl_ms }: NodesDeps): Nodes {
  const every_ms = Math.max(EVERY_MIN_MS, ttl_ms / ANNOUNCEMENTS)
  /** Monotonic ms at which the present announcement of each node was first seen. */
  const sightings = new Map<string, { announcement: string; since: number }>()
  let beat = 0
  let seen: readonly NodeState[] = []
  let idle = new AbortController()

  function isGone(it: NodeState): boolean {
    const announcement = announcementOf(it)
    const before = sightings.get(it.node)
    if (before?.announcement === announcement) return clock.mono() - before.since > GONE_MS
    sightings.set(it.node, { announcement, since: clock.mono() })
    return false
  }

  async function announce(state: Announced): Promise<boolean> {
    const own = { node, token, beat: ++beat, every_ms, at: clock.now(), ...state }
    for (let swaps = 0; swaps < SWAPS_MAX; swaps++) {
      const found = await register.read()
      // A text that cannot be read is of another version: it is replaced, and nothing is lost by that.
      const text = mergeNodes(readNodes(found?.text ?? '') ?? [], own, isGone)
      if ((await register.swap(found?.version ?? null, text)) === null) continue
      seen = readNodes(text) ?? []
      for (const name of sightings.keys())
        if (!seen.some((it) => it.node === name)) sightings.delete(name)
      return true
    }
    return false
  }

  return {
    announce,
    async keepAnnouncing(state, signal) {
      signal.addEventListener('abort', () => idle.abort(), { once: true })
      while (!signal.aborted) {
        idle = new AbortController()
        // The keeper of the lease reports that the system cannot be reached.
        await announce(state()).catch(() => false)
        if (!signal.aborted) await clock.sleep(every_ms, idle.signal)
      }
    },
    nudge: () => idle.abort(),
    seen: () => seen,
    close: () => register.close(),
  }
}
