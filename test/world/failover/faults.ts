import type { SeededRandom } from '../../../sandbox/world/random.ts'
import type { Link } from './links.ts'
import type { Station } from './stage.ts'

/** All faults of a round. */
export const FAULTS = [
  'kill',
  'kill_and_restart',
  'stop',
  'stop_in_handshake',
  'lease_cut',
  'lease_cut_and_stop',
  'lease_gone',
  'isolated',
  'replica_cut_and_kill',
  'replica_cut_from_standby_and_kill',
  'clock_forward',
  'clock_back_and_stop',
  'standby_clock_forward_and_kill',
  'standby_clock_back_and_kill',
  'slow_disk',
  'slow_disk_of_standby_and_kill',
  'planned',
] as const
export type Fault = (typeof FAULTS)[number]

type Scene = {
  primary: Station
  standby: Station
  links: readonly Link[]
  chance: SeededRandom
  ttl_s: number
}

/** A fault in progress. */
export type Running = {
  /** The standby need not take over before the fault has ended. */
  is_optional?: boolean
  /** Ends what can end: continues, heals. Called after the takeover. */
  end(): Promise<void> | void
}

const HOUR_S = 3600
/** Deliveries begin in bursts after each poll. */
const BURST_MS = 3000

/** Applies a fault to the primary or the standby. */
export async function apply(fault: Fault, scene: Scene): Promise<Running> {
  const { primary, standby, chance, ttl_s } = scene
  const { node, network, ports } = primary
  const heal = () => network.heal()
  const resume = () => node.signal('SIGCONT')
  switch (fault) {
    case 'kill':
      void node.end()
      return { end() {} }
    case 'kill_and_restart':
      node.signal('SIGKILL')
      return { end() {} }
    case 'stop':
      node.signal('SIGSTOP')
      return { end: resume }
    case 'stop_in_handshake':
      return stopInHandshake(scene)
    case 'lease_cut':
      network.cut([ports.lease])
      return { end: heal }
    case 'lease_cut_and_stop':
      network.cut([ports.lease])
      await Bun.sleep(chance.whole(0, ttl_s * 500))
      node.signal('SIGSTOP')
      return {
        end() {
          resume()
          heal()
        },
      }
    case 'lease_gone':
      for (const it of [primary, standby]) it.network.cut([ports.lease])
      await Bun.sleep(chance.whole(ttl_s * 300, ttl_s * 3000))
      for (const it of [primary, standby]) it.network.heal()
      return { is_optional: true, end() {} }
    case 'isolated':
      network.cut(ports.all)
      return { end: heal }
    case 'replica_cut_and_kill':
      network.cut([ports.replica])
      await Bun.sleep(chance.whole(1000, 6000))
      void node.end()
      return { end: heal }
    case 'replica_cut_from_standby_and_kill':
      standby.network.cut([ports.replica])
      await Bun.sleep(chance.whole(0, 2000))
      void node.end()
      return { end: () => standby.network.heal() }
    case 'clock_forward':
      // Given up at once: the lease may have ended while the machine was suspended.
      node.stepClock(HOUR_S)
      network.cut([ports.lease])
      return { end: heal }
    case 'clock_back_and_stop':
      node.stepClock(-HOUR_S)
      await Bun.sleep(chance.whole(0, 1000))
      node.signal('SIGSTOP')
      return { end: resume }
    case 'standby_clock_forward_and_kill':
    case 'standby_clock_back_and_kill':
      standby.node.stepClock(fault === 'standby_clock_back_and_kill' ? -HOUR_S : HOUR_S)
      await Bun.sleep(chance.whole(0, 1000))
      void node.end()
      return { end() {} }
    case 'slow_disk':
      await node.slowDisk(chance.whole(50, ttl_s * 1500))
      await Bun.sleep(ttl_s * 2000)
      return { is_optional: true, end: () => node.slowDisk(null) }
    case 'slow_disk_of_standby_and_kill':
      await standby.node.slowDisk(chance.whole(20, ttl_s * 100))
      void node.end()
      return { end: () => standby.node.slowDisk(null) }
    case 'planned':
      void node.end('SIGTERM')
      return { end() {} }
  }
}

/**
 * Stops the primary between its check and its write: its connections to the receivers get no answer to the first line of their
 * handshakes, which arrives when it wakes, after the takeover. A request that is not checked again is written then.
 */
async function stopInHandshake({ primary: { node }, links }: Scene): Promise<Running> {
  const held = links.map((it) => it.hold())
  const over = performance.now() + BURST_MS
  while (performance.now() < over && !held.some((it) => it.begun() > 0)) await Bun.sleep(1)
  node.signal('SIGSTOP')
  for (const it of held) it.passNew()
  return {
    async end() {
      for (const it of held) it.release()
      // Until the kernel of the node has them.
      await Bun.sleep(100)
      node.signal('SIGCONT')
    },
  }
}
