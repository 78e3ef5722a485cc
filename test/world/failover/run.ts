/**
 * Fails over again and again between two nodes at one lease, and reads from the logs of the platform and the receivers
 * whether both ever acted. `bun test/world/failover/run.ts [--rounds 20] [--system postgres|etcd] [--seed N]
 * [--faults kill,stop,…] [--ttl 8] [--replicate true]`. Prints a line per fault and ends with 0 only if no request of the old primary arrived
 * after the first one of the new primary, and each round had a takeover.
 */
import { parseArgs } from 'node:util'

import { createSeededRandom } from '../../../sandbox/world/random.ts'
import { percentile } from '../../chaos/process-kill.ts'
import { litestreamProgram } from '../../support/litestream.ts'
import { fakeTimeLibrary } from '../deletion/clock.ts'
import { judgeDeliveries, judgeTakeover } from './judge.ts'
import { setStage } from './stage.ts'

const FAULTS = [
  'kill',
  'stop',
  'partition',
  'partition_and_stop',
  'clock_forward',
  'clock_back_and_stop',
  'standby_clock_forward_and_kill',
  'planned',
] as const
type Fault = (typeof FAULTS)[number]

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '20' },
    system: { type: 'string', default: 'postgres' },
    seed: { type: 'string', default: String(Math.floor(Math.random() * 1e9)) },
    faults: { type: 'string', default: FAULTS.join() },
    ttl: { type: 'string', default: '8' },
    items: { type: 'string', default: '30' },
    replicate: { type: 'string', default: 'false' },
  },
})
const seed = Number(values.seed)
const rounds = Number(values.rounds)
const ttl_s = Number(values.ttl)
const system = values.system === 'etcd' ? 'etcd' : 'postgres'
const chosen = FAULTS.filter((it) => values.faults.split(',').includes(it))
const chance = createSeededRandom(seed)
const library = await fakeTimeLibrary()
const START_MS = 60_000
/** A takeover that has not happened after so many terms does not happen. */
const TERMS = 8
/** The old primary is observed for this long after its fault has ended. */
const AFTER_MS = 1500
/** Without a delivery for this long, none is to come. */
const QUIET_MS = 8000

type Outcome = {
  fault: Fault
  takeover_ms: number | null
  overlaps: number
  epochs_back: number
  /** Deliveries after the fault, by either node. */
  delivered: number
}

await using stage = await setStage({
  system,
  seed,
  items_per_s: Number(values.items),
  library,
  ttl_s,
  litestream: values.replicate === 'true' ? litestreamProgram() : null,
  skew_s: ttl_s / 12,
  timeout_s: ttl_s / 8,
})
const [first, second] = stage.nodes
if (first === undefined || second === undefined) throw new Error('two nodes are needed')
let primary = first
let standby = second

async function round(fault: Fault): Promise<Outcome> {
  standby.node.copyFrom(primary.node)
  standby.node.stepClock(0)
  const began = performance.now()
  standby.node.start()
  if ((await standby.node.until('lease.waiting', began, START_MS)) === null)
    throw new Error(`${standby.node.name} does not wait for the lease`)
  await Bun.sleep(chance.whole(300, 1500))
  const before = stage.arrivals.length
  const fault_at = performance.now()
  faults_at.push(fault_at)
  const stopped = fault.endsWith('stop')
  if (fault === 'standby_clock_forward_and_kill') {
    standby.node.stepClock(3600)
    await Bun.sleep(chance.whole(0, 1000))
  }
  if (fault === 'clock_forward') {
    // Given up at once: the lease may have ended while the machine was suspended.
    primary.node.stepClock(3600)
    primary.link.cut()
  }
  if (fault === 'clock_back_and_stop') primary.node.stepClock(-3600)
  if (fault.startsWith('partition')) primary.link.cut()
  if (fault === 'partition_and_stop') await Bun.sleep(chance.whole(0, ttl_s * 500))
  if (stopped) primary.node.signal('SIGSTOP')
  const ends = fault.endsWith('kill') ? primary.node.end('SIGKILL') : Promise.resolve()
  const planned = fault === 'planned' ? primary.node.end('SIGTERM') : Promise.resolve()

  const { name } = standby.node
  const over = performance.now() + TERMS * ttl_s * 1000
  const since = () => stage.arrivals.slice(before)
  while (!since().some(({ node }) => node === name) && performance.now() < over) await Bun.sleep(5)
  await Bun.sleep(chance.whole(0, 500))
  primary.node.signal('SIGCONT')
  primary.link.heal()
  await Bun.sleep(AFTER_MS)
  await Promise.all([ends, planned])
  const { overlaps, epochs_back, takeover_ms } = judgeTakeover(since(), {
    old: primary.node.name,
    next: name,
    fault_at,
  })
  for (const it of overlaps.slice(0, 3)) console.log('  overlap', JSON.stringify(it))
  const outcome = {
    fault,
    takeover_ms,
    overlaps: overlaps.length,
    epochs_back,
    delivered: new Set(since().flatMap((it) => it.delivery_id ?? [])).size,
  }
  if (takeover_ms === null)
    for (const { node } of stage.nodes)
      console.log(
        node.name,
        node.events.slice(-8).map(({ line, event }) => line || event),
      )
  await primary.node.end()
  primary.node.stepClock(0)
  standby.node.stepClock(0)
  ;[primary, standby] = [standby, primary]
  return outcome
}

console.log(`seed ${seed}, ${system}, ttl ${ttl_s} s, ${rounds} rounds of ${chosen.join(', ')}`)
const began = performance.now()
primary.node.start()
if ((await primary.node.until('serve.listening', began, START_MS)) === null)
  throw new Error('the first node does not listen')
await stage.populate(primary.node)
await Bun.sleep(3000)

const outcomes: Outcome[] = []
const faults_at: number[] = []
for (let n = 0; n < rounds; n++) {
  const fault = chosen[n % chosen.length]
  if (fault === undefined) break
  const outcome = await round(fault)
  outcomes.push(outcome)
  console.log(n + 1, JSON.stringify(outcome))
  if (outcome.takeover_ms === null) break
}
const rows = chosen.map((fault) => {
  const of = outcomes.filter((it) => it.fault === fault)
  const took = of.flatMap(({ takeover_ms }) => takeover_ms ?? [])
  const sum = (field: 'overlaps' | 'epochs_back' | 'delivered') =>
    of.reduce((total, it) => total + it[field], 0)
  return {
    fault,
    rounds: of.length,
    overlaps: sum('overlaps'),
    epochs_back: sum('epochs_back'),
    delivered: sum('delivered'),
    p50_ms: Math.round(percentile(took, 0.5)),
    p99_ms: Math.round(percentile(took, 0.99)),
  }
})
console.table(rows)
const timesOf = (is_planned: boolean) => {
  const took = outcomes.flatMap(({ fault, takeover_ms }) =>
    (fault === 'planned') === is_planned ? (takeover_ms ?? []) : [],
  )
  return { p50: Math.round(percentile(took, 0.5)), p99: Math.round(percentile(took, 0.99)) }
}
const takeover_ms = { faults: timesOf(false), planned: timesOf(true) }
const overlaps = outcomes.filter((it) => it.overlaps > 0 || it.epochs_back > 0).length
const without = outcomes.filter((it) => it.takeover_ms === null).length
// Retries and the polls after the last takeover.
await stage.poster.stop()
const countDeliveries = () => stage.arrivals.filter(({ epoch }) => epoch !== null).length
for (let last = -1; last !== countDeliveries();) {
  last = countDeliveries()
  await Bun.sleep(QUIET_MS)
}
const { lost, ...ledger } = judgeDeliveries(
  stage.arrivals,
  stage.poster.matching.map((it) => it.name),
)
if (lost > 0 && values.replicate === 'true') {
  const got = new Set(stage.arrivals.flatMap(({ items }) => items))
  const missing = stage.poster.matching.filter((it) => !got.has(it.name))
  const end = Date.now()
  console.log(
    `never delivered: ${missing.length}, posted seconds before the end:`,
    missing.map(({ posted_at }) => ((end - posted_at) / 1000).toFixed(1)).join(' '),
  )
  console.log(
    'faults, seconds before the end:',
    faults_at.map((at) => ((performance.now() - at) / 1000).toFixed(1)).join(' '),
  )
}
const passed =
  overlaps === 0 &&
  without === 0 &&
  outcomes.length === rounds &&
  // Without a replica the state of the standby is that of its copy.
  (values.replicate !== 'true' || lost === 0)
await stage[Symbol.asyncDispose]()
console.log(
  JSON.stringify({
    seed,
    takeover_ms,
    rounds: outcomes.length,
    overlaps,
    without,
    lost,
    ...ledger,
    passed,
  }),
)
process.exit(passed ? 0 : 1)
