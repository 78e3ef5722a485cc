import { hostname } from 'node:os'
import { join } from 'node:path'

import { longestActS } from '../config/load.ts'
import type { Config } from '../config/schema.ts'
import type { Instant, Release } from '../core/standby/lease.ts'
import { createFencedFetch } from '../net/fenced-fetch.ts'
import { type Clock, realClock, type Runtime } from '../runtime/runtime.ts'
import { type Keeper, keepLease, takeLease } from '../standby/keeper.ts'
import { createLease, type TakenTerm } from '../standby/lease.ts'
import { createNodes, type Nodes } from '../standby/nodes.ts'
import { addressOfNodes, openRegister } from '../standby/open.ts'
import { LeaseUnreachable } from '../standby/register.ts'
import { createReplicator, type Replicator } from '../standby/replicator.ts'
import type { StartTerm } from '../store/startup/epoch.ts'
import { serveOutage } from './outage.ts'
import { createFollower, type TookOver } from './replica.ts'

/** Calls to the system of the lease in one term. */
const CALLS = 6
const RETRY_AFTER_S = 5

/** The lease of a daemon that starts. */
export type HeldLease = Pick<Keeper, 'ended' | 'enter' | 'release'> & {
  term: StartTerm
  replicator: Replicator
  /** Name of this node. */
  node: string
  /** The other nodes; null: no system knows of them. */
  nodes: Nodes | null
  /** Absent unless the database was replaced by a copy of another node. */
  took_over?: TookOver
}

type Start<D> = (runtime: Runtime, lease: HeldLease) => Promise<D>

/** A node that serves health alone. `recovered` settles when it has the lease; `proceed` starts the daemon that acts. */
type Standby<D> = ReturnType<typeof serveOutage> & {
  recovered: Promise<void>
  proceed(): Promise<D>
}

const MANUAL = {
  term: 'manual' as const,
  ended: new Promise<never>(() => {}),
  enter: () => Promise.resolve(true),
  release: () => Promise.resolve(),
  nodes: null,
}

/** State of a standby without a command that makes copies. */
const NO_COPIES = { copy: null, error: '', copy_every_ms: null }

/** Instants by every clock of the machine. Only the real one can tell suspension apart. */
async function createInstant(clock: Clock): Promise<() => Instant> {
  const libc = clock === realClock ? (await import('../runtime/libc.ts')).openLibc() : null
  const boot = libc === null ? clock.mono : () => Number(libc.bootMicros()) / 1000
  return () => ({ mono: clock.mono(), boot: boot(), wall: clock.now() })
}

async function openLease({ standby, delivery, platform }: Config, runtime: Runtime) {
  const { clock, log, random } = runtime
  const ttl_ms = standby.ttl_s * 1000
  const skew_ms = standby.skew_s * 1000
  const instant = await createInstant(clock)
  const timeout_ms = ttl_ms / CALLS
  const open = (address: string) =>
    openRegister(address, {
      timeout_ms,
      env: process.env,
      fetch: runtime.fetch,
      sleep: clock.sleep,
    })
  const register = await open(standby.lease)
  const node = standby.name || hostname()
  const token = random.uuid()
  const lease = createLease({ register, node, token, ttl_ms, skew_ms, instant })
  const longest_ms = longestActS(delivery.timeout_s, platform.timeout_s) * 1000
  const nodes = createNodes({
    register: await open(addressOfNodes(standby.lease)),
    clock,
    node,
    token,
    ttl_ms,
  })
  return { lease, node, nodes, clock, instant, log, ttl_ms, skew_ms, longest_ms }
}

/**
 * Starts the daemon once this node has the lease. While another node has it, the returned daemon serves health alone; its
 * `recovered` settles when the lease was taken, and `proceed` starts the one that acts.
 *
 * @throws {ForeignRecord} the register holds something else
 */
export async function startUnderLease<D>(
  config: Config,
  runtime: Runtime,
  start: Start<D>,
): Promise<D | Standby<D>> {
  const { clock, log } = runtime
  const replicator = createReplicator(config.standby.replicate, {
    clock,
    pid_file: join(config.storage.dir, 'replicate.pid'),
  })
  if (config.standby.lease === 'manual')
    return start(runtime, { ...MANUAL, node: config.standby.name, replicator })
  const deps = await openLease(config, runtime)
  const { node, nodes } = deps

  const follower = createFollower(config, runtime, nodes.nudge)
  const standbyState = () => ({ primary: null, standby: follower?.state() ?? NO_COPIES })

  function held(term: TakenTerm): { begin(): Promise<D> } & Keeper {
    log('info', 'lease.acquired', { epoch: term.epoch })
    const keeper = keepLease(deps, term)
    const { fence } = keeper
    const fenced = { ...runtime, fence, fetch: createFencedFetch(fence) }
    async function release(how?: Release): Promise<void> {
      await keeper.release(how)
      await nodes.close()
    }
    return {
      ...keeper,
      release,
      async begin() {
        let took_over: TookOver | null = null
        try {
          took_over = (await follower?.takeOver(term)) ?? null
        } catch (error) {
          // For the other nodes: why this one is not the primary.
          await nodes.announce(standbyState()).catch(() => false)
          await release(term.is_move ? { to: term.data_holder, data_mark: null } : undefined)
          throw error
        }
        return start(fenced, {
          ...keeper,
          release,
          node,
          nodes,
          term,
          replicator,
          ...(took_over !== null && { took_over }),
        })
      },
    }
  }

  const first = await deps.lease.acquire().catch((error: unknown) => {
    if (error instanceof LeaseUnreachable) return null
    throw error
  })
  if (first?.held === true) return held(first).begin()

  const ending = new AbortController()
  const following = new AbortController()
  let primary = first?.holder ?? ''
  let data_holder = first?.data_holder ?? ''
  log('info', 'lease.waiting', { holder: primary })
  const serving = serveOutage(config, {
    outage: () => ({
      reason: 'standby',
      retry_after_s: RETRY_AFTER_S,
      primary,
      ...(follower !== null && { replica_age_s: follower.age_s() }),
    }),
    status: 'standby',
  })
  const taken = takeLease(deps, {
    signal: ending.signal,
    waiting(found) {
      const { holder } = found
      if (holder === '') return
      if (holder !== primary) log('info', 'lease.waiting', { holder })
      primary = holder
      data_holder = found.data_holder
    },
  }).then((term) => {
    following.abort()
    return term === null ? null : held(term)
  })
  const followed = Promise.all([
    follower?.follow(() => data_holder, following.signal),
    nodes.keepAnnouncing(standbyState, following.signal),
  ])
  let is_handed_on = false
  return {
    ...serving,
    recovered: taken.then(() => {}),
    statusLine: () => `standby; the primary is ${primary === '' ? 'not known' : primary}`,
    async proceed() {
      const it = await taken
      if (it === null) throw new Error('the standby was stopped')
      is_handed_on = true
      await serving[Symbol.asyncDispose]()
      await followed
      return it.begin()
    },
    async [Symbol.asyncDispose]() {
      ending.abort()
      await serving[Symbol.asyncDispose]()
      const it = await taken
      await followed
      if (!is_handed_on && it !== null) await it.release()
      else if (it === null) {
        await deps.lease.close()
        await nodes.close()
      }
    },
  }
}
