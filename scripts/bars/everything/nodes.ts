import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import * as z from 'zod'

import { certificate } from '../../../test/support/certificate.ts'
import { startPostgres } from '../../../test/support/lease-servers.ts'
import { litestreamCommands, litestreamProgram } from '../../../test/support/litestream.ts'
import { Node } from '../../../test/world/failover/node.ts'

/** Faults of the primary, in turn. */
export const FAULTS = ['kill', 'planned', 'stop'] as const
export type Fault = (typeof FAULTS)[number]

const NAMES = ['a', 'b'] as const
const TTL_S = 12
const TIMEOUT_S = 2
const SKEW_S = 1
const START_MAX_MS = 120_000
/** A takeover that has not happened after this time does not happen. */
const TAKEOVER_MAX_MS = 120_000
/** A node that was killed is started again after this time. */
const REPAIR_MS = 5000
const ASK_EVERY_MS = 100
const ASK_MAX_MS = 2000
const EVENTS = ['error', 'fatal']

const health = z.looseObject({ role: z.string().optional(), epoch: z.number().optional() })

/** Addresses that the configuration names. */
export type Around = {
  urls: Record<'main' | 'forum' | 'hn', string>
  model: string
  /** Command that runs the nodes. */
  under: readonly string[]
}

/** Two nodes at a lease in PostgreSQL, with Litestream between them. */
export async function startNodes({ urls, model, under }: Around) {
  await using stack = new AsyncDisposableStack()
  const dir = mkdtempSync(join(tmpdir(), 'forumd-everything-'))
  stack.defer(() => rmSync(dir, { recursive: true, force: true }))
  const litestream = litestreamProgram()
  if (litestream === null) throw new Error('Litestream is missing: bun install, on Linux x64')
  const lease = stack.use(await startPostgres())
  writeFileSync(join(dir, 'ca.pem'), (await certificate()).cert)
  const stallsOf = (name: string) => join(dir, `stalls-${name}.json`)
  const nodes = NAMES.map((name) => {
    const database = join(dir, name, 'data/forumd.sqlite')
    const replicas = join(dir, 'replicas')
    const commands = litestreamCommands(litestream, { dir, database, name, replicas })
    const node = new Node(name, {
      dir,
      config: configText({
        name,
        urls,
        model,
        under,
        lease: lease.url,
        ca: join(dir, 'ca.pem'),
        ...commands,
      }),
      fake_time: null,
      under,
      env: {
        BUN_OPTIONS: `--preload=${join(import.meta.dir, '../abuse/probe.ts')}`,
        FORUMD_STALLS: stallsOf(name),
      },
    })
    stack.defer(() => node.end())
    return node
  })
  const [first, second] = nodes
  if (first === undefined || second === undefined) throw new Error('two nodes are needed')
  let [primary, standby] = [first, second]
  let epoch = 0

  first.start()
  const begun = await untilPrimary(first, START_MAX_MS)
  if (begun === null) throw new Error('the first node does not become the primary')
  epoch = begun
  second.copyFrom(first)
  second.start()

  const owned = stack.move()
  return {
    primary: () => primary,
    standby: () => standby,
    epoch: () => epoch,
    /** File of the event loop's delays of a node (scripts/bars/abuse/probe.ts). */
    stallsOf,
    /** Strikes the primary, waits for the takeover and repairs the old one; ms from the fault to the takeover. */
    async strike(fault: Fault): Promise<number> {
      const [old, next] = [primary, standby]
      const at = performance.now()
      if (fault === 'stop') old.signal('SIGSTOP')
      const ended = fault === 'stop' ? null : old.end(fault === 'kill' ? 'SIGKILL' : 'SIGTERM')
      const reached = await untilPrimary(next, TAKEOVER_MAX_MS)
      if (reached === null) {
        const log = [old, next].map((it) => it.events.slice(-5).map(({ line }) => line))
        throw new Error(`no takeover after ${fault}: ${JSON.stringify(log)}`)
      }
      const took_ms = performance.now() - at
      ;[primary, standby, epoch] = [next, old, reached]
      await ended
      await Bun.sleep(REPAIR_MS)
      if (fault === 'stop') old.signal('SIGCONT')
      else old.start()
      return took_ms
    },
    /** Errors that both nodes have logged since an instant of `performance.now()`. */
    errorsSince: (since: number) =>
      nodes
        .flatMap(({ events }) => events)
        .filter(
          ({ at, line }) => at > since && EVENTS.some((it) => line.includes(`"level":"${it}"`)),
        )
        .map(({ event, line }) => ({ event, line })),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}

/** Waits until a node is the primary; null after `within_ms`. Returns its epoch. */
async function untilPrimary(node: Node, within_ms: number): Promise<number | null> {
  for (const over = performance.now() + within_ms; performance.now() < over;) {
    const answer = node.url === '' ? null : await healthOf(node.url)
    if (answer?.role === 'primary' && answer.epoch !== undefined) return answer.epoch
    await Bun.sleep(ASK_EVERY_MS)
  }
  return null
}

const healthOf = async (url: string) =>
  fetch(`${url}/health`, { signal: AbortSignal.timeout(ASK_MAX_MS) })
    .then(async (it) => health.parse(await it.json()))
    .catch(() => null)

const configText = (
  it: Around & { name: string; lease: string; ca: string; replicate: string[]; restore: string[] },
) => `
[server]
port = 0
[storage]
dir = "{data}"
[platform]
base_url = "${it.urls.main}"
session_cookie = "session"
user_agent = "forumd-${it.name}"
timeout_s = ${TIMEOUT_S}
[[source]]
name = "forum"
kind = "discourse"
base_url = "${it.urls.forum}"
requests_per_minute = 60
[[source]]
name = "hn"
kind = "hackernews"
base_url = "${it.urls.hn}"
requests_per_minute = 120
[pool]
session_requests_per_minute = 60000
[plans.entry]
slots = 10000
cadence_s = 5
daily_deliveries = 10000000
[archive]
keep = "feeds"
[guard]
allow_targets = ["127.0.0.1"]
[delivery]
retry_delays_s = [0, 1, 2, 5, 10, 20, 30, 60, 60, 60, 60, 60, 60, 60, 60, 60]
timeout_s = ${TIMEOUT_S}
per_target_concurrency = 16
ca_file = "${it.ca}"
[relevance]
base_url = "${it.model}"
model = "stub"
concurrency = 4
max_calls_per_day = 0
[limits]
key_rate = 0
management_per_minute = 0
inbox_per_minute = 0
health_per_minute = 0
read_cache_s = 0
[maintenance]
snapshots = "*/30 * * * *"
keep_hourly = 2
keep_daily = 0
[log]
json = true
[standby]
lease = "${it.lease}"
name = "${it.name}"
ttl_s = ${TTL_S}
skew_s = ${SKEW_S}
replicate = ${JSON.stringify(it.replicate)}
restore = ${JSON.stringify(it.restore)}
restore_every_s = 30
`
