/**
 * Fails over again and again between two nodes at one lease, each in a network namespace of its own, and reads from the logs
 * of the platform and the receivers if both ever acted. Needs root, iproute2, nftables, strace and faketime.
 *
 *     bun test/world/failover/run.ts [--rounds 20] [--system postgres|etcd] [--seed N] [--faults kill,stop,…] [--ttl 8]
 *       [--replicate true] [--first 0] [--out FILE] [--evidence FOLDER]
 *
 * `--first` starts with a later fault of the list; `--out` gets each round as a line of JSON; `--evidence` gets logs and
 * databases if something was lost. Ends with 0 only if no node acted while the other one did, no item was lost, and each
 * round had a takeover.
 */
import { appendFileSync, cpSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'

import { createSeededRandom } from '../../../sandbox/world/random.ts'
import { percentile } from '../../chaos/process-kill.ts'
import { litestreamProgram } from '../../support/litestream.ts'
import { fakeTimeLibrary } from '../deletion/clock.ts'
import { apply, type Fault, FAULTS } from './faults.ts'
import { judgeDeliveries, judgeEpochs, judgeOverlaps, judgeRepeats, timeTakeover } from './judge.ts'
import { enterNetwork } from './network.ts'
import { setStage } from './stage.ts'

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '20' },
    system: { type: 'string', default: 'postgres' },
    seed: { type: 'string', default: String(Math.floor(Math.random() * 1e9)) },
    faults: { type: 'string', default: FAULTS.join() },
    first: { type: 'string', default: '0' },
    ttl: { type: 'string', default: '8' },
    items: { type: 'string', default: '20' },
    calls: { type: 'string', default: '20' },
    replicate: { type: 'string', default: 'false' },
    out: { type: 'string', default: '' },
    evidence: { type: 'string', default: '' },
  },
})
await enterNetwork()
const seed = Number(values.seed)
const rounds = Number(values.rounds)
const ttl_s = Number(values.ttl)
const system = values.system === 'etcd' ? 'etcd' : 'postgres'
const replicates = values.replicate === 'true'
const chosen = FAULTS.filter((it) => values.faults.split(',').includes(it))
const chance = createSeededRandom(seed)
const fake_time = await fakeTimeLibrary()
if (fake_time === null) throw new Error('faketime is not installed')
const START_MS = 60_000
/** A takeover that has not happened after so many terms does not happen. */
const TERMS = 10
/** The old primary is observed for this long after its fault has ended. */
const AFTER_MS = 1500
/** A kernel that was cut off sends again after as long as it has waited. */
const RETRANSMITS_MS = 3000
/** One node alone acts for this long before a round is over. */
const STEADY_MS = 1000
/** A delivery that has not arrived this long after the last takeover does not arrive. */
const SETTLE_MS = 240_000
const QUIET_MS = 20_000
/** A listing of the platform shows so many rows. */
const VISIBLE_ROWS = 1000
const TICK_MS = 10

type Outcome = {
  fault: Fault
  system: string
  takeover_ms: number | null
  gap_ms: number | null
  resolution_ms: number
  /** Longest time for which the judge itself did not run. */
  stall_ms: number
  overlaps: number
  failed: boolean
}

await using stage = await setStage({
  system,
  seed,
  items_per_s: Number(values.items),
  calls_per_s: Number(values.calls),
  fake_time,
  ttl_s,
  litestream: replicates ? litestreamProgram() : null,
  skew_s: ttl_s / 12,
  timeout_s: ttl_s / 4,
})
const [first, second] = stage.stations
if (first === undefined || second === undefined) throw new Error('two nodes are needed')
let primary = first
let standby = second

let stall_ms = 0
let ticked_at = performance.now()
const ticking = setInterval(() => {
  const now = performance.now()
  stall_ms = Math.max(stall_ms, now - ticked_at - TICK_MS)
  ticked_at = now
}, TICK_MS)

const record = (line: object) => {
  if (values.out !== '') appendFileSync(values.out, `${JSON.stringify(line)}\n`)
}

/** Waits until `is_done`; false after `within_ms`. */
async function until(
  within_ms: number,
  is_done: () => boolean | Promise<boolean>,
): Promise<boolean> {
  for (const over = performance.now() + within_ms; !(await is_done()); await Bun.sleep(5))
    if (performance.now() > over) return false
  return true
}

/** The node that alone has acted for a while; null if there is none. */
function actor(): string | null {
  const now = performance.now()
  const nodes = new Set<string>()
  for (let n = stage.arrivals.length - 1; n >= 0; n--) {
    const it = stage.arrivals[n]
    if (it === undefined || it.at < now - STEADY_MS) break
    nodes.add(it.node)
  }
  return nodes.size === 1 ? ([...nodes][0] ?? null) : null
}

async function hasCopy({ url }: { url: string }): Promise<boolean> {
  const health = await fetch(`${url}/health`).then(
    (it) => it.text(),
    () => '',
  )
  return /"replica_age_s":\d/.test(health)
}

let judged = 0
async function round(fault: Fault): Promise<Outcome> {
  standby.node.becomeStandbyOf(primary.node, chance.odds(0.5))
  standby.node.stepClock(0)
  stall_ms = 0
  const began = performance.now()
  standby.node.start()
  if ((await standby.node.until('lease.waiting', began, START_MS)) === null)
    throw new Error(`${standby.node.name} does not wait for the lease`)
  // A primary that ends before its first replication leaves nothing to take over.
  if (replicates) await until(START_MS, () => hasCopy(standby.node))
  await Bun.sleep(chance.whole(300, 1500))
  const fault_at = performance.now()
  faults_at.push({ fault, at: fault_at })
  const { name } = standby.node
  const old = primary.node.name
  const running = await apply(fault, { primary, standby, links: stage.links, chance, ttl_s })
  const terms_ms = TERMS * ttl_s * 1000
  const hasTakenOver = () =>
    stage.arrivals.slice(judged).some((it) => it.node === name && it.at >= fault_at)
  if (!running.is_optional) await until(terms_ms, hasTakenOver)
  await Bun.sleep(chance.whole(0, 500))
  await running.end()
  const took_ms = performance.now() - fault_at
  await Bun.sleep(fault === 'isolated' ? took_ms + RETRANSMITS_MS : AFTER_MS)
  const steady = await until(terms_ms, () => actor() !== null)
  const acting = actor() ?? (hasTakenOver() ? name : old)

  const arrivals = stage.arrivals.slice(judged)
  const since = arrivals[0]?.at ?? 0
  judged = stage.arrivals.length
  const times = timeTakeover(arrivals, { old, next: name, fault_at })
  const overlaps = judgeOverlaps(stage.arrivals).filter((it) => it.at >= since)
  for (const it of overlaps.slice(0, 3))
    console.log('  overlap', JSON.stringify({ ...it, after_fault_ms: it.at - fault_at }))
  const failed = !steady || (!running.is_optional && times.takeover_ms === null)
  if (failed || overlaps.length > 0)
    for (const { node } of stage.stations)
      console.log(
        node.name,
        node.events
          .slice(-12)
          .map(({ line, event, at }) => `${Math.round(at - fault_at)} ${line || event}`),
      )
  const [stays, goes] = acting === name ? [standby, primary] : [primary, standby]
  await goes.node.end()
  for (const { node } of [stays, goes]) node.stepClock(0)
  ;[primary, standby] = [stays, goes]
  return { fault, system, ...times, stall_ms, overlaps: overlaps.length, failed }
}

console.log(`seed ${seed}, ${system}, ttl ${ttl_s} s, ${rounds} rounds of ${chosen.join(', ')}`)
const began = performance.now()
primary.node.start()
if ((await primary.node.until('serve.listening', began, START_MS)) === null)
  throw new Error(`the first node does not listen: ${JSON.stringify(primary.node.events)}`)
await stage.populate(primary)
await Bun.sleep(3000)

const outcomes: Outcome[] = []
const faults_at: { fault: Fault; at: number }[] = []
for (let n = 0; n < rounds; n++) {
  const fault = chosen[(n + Number(values.first)) % chosen.length]
  if (fault === undefined) break
  const outcome = await round(fault)
  outcomes.push(outcome)
  record({ kind: 'round', seed, ...outcome })
  console.log(n + 1, JSON.stringify(outcome))
  if (outcome.failed && !(await until(START_MS, () => actor() === primary.node.name))) break
}
stage.caller.stop()
await stage.poster.stop()
const matching = stage.poster.matching.map(({ name }) => name)
const settling = performance.now()
let last = { count: 0, at: settling }
// Retries, and the polls after the last takeover.
await until(SETTLE_MS, async () => {
  await Bun.sleep(250)
  const count = stage.arrivals.filter(({ epoch }) => epoch !== null).length
  if (count !== last.count) last = { count, at: performance.now() }
  if (performance.now() - last.at > QUIET_MS) return true
  return judgeDeliveries(stage.arrivals, matching).lost.length === 0
})
clearInterval(ticking)
const { lost: missing, repeats, ...ledger } = judgeDeliveries(stage.arrivals, matching)
const epochs = judgeEpochs(stage.arrivals)

/** False for an item that left the listing before the next request to the platform. */
function wasVisible(item: string): boolean {
  const post = stage.poster.matching.find((it) => it.name === item)
  if (post === undefined) return true
  const after = (stage.poster.written.get(post.place) ?? []).filter((at) => at > post.posted_at)
  const until_ms = (after[VISIBLE_ROWS - 1] ?? Infinity) - performance.timeOrigin
  const from_ms = post.posted_at - performance.timeOrigin
  return stage.arrivals.some(
    ({ at, where }) => where === 'platform' && at > from_ms && at < until_ms,
  )
}
const lost = missing.filter(({ item }) => wasVisible(item))
if (lost.length > 0) describeLoss()
if (values.evidence !== '' && (lost.length > 0 || outcomes.some((it) => it.failed)))
  keepEvidence(values.evidence)

function describeLoss(): void {
  const rows = lost.map(({ item, receiver }) => {
    const post = stage.poster.matching.find((it) => it.name === item)
    const at = (post?.posted_at ?? 0) - performance.timeOrigin
    const n = faults_at.findLastIndex((it) => it.at <= at)
    const next = faults_at[n + 1]
    return {
      item,
      receiver,
      place: post?.place,
      ms_after: `${faults_at[n]?.fault} ${Math.round(at - (faults_at[n]?.at ?? 0))}`,
      ms_before: `${next?.fault} ${Math.round((next?.at ?? 0) - at)}`,
    }
  })
  console.log('lost', JSON.stringify(rows))
}

/** Copies logs, databases and replicas. */
function keepEvidence(to: string): void {
  const dir = join(to, `${system}-${seed}`)
  mkdirSync(dir, { recursive: true })
  const write = (name: string, lines: readonly string[]) =>
    writeFileSync(join(dir, name), lines.join('\n'))
  write(
    'faults.jsonl',
    faults_at.map((it) => JSON.stringify(it)),
  )
  write(
    'lost.jsonl',
    lost.map((it) => JSON.stringify(it)),
  )
  write(
    'arrivals.jsonl',
    stage.arrivals.map((it) => JSON.stringify(it)),
  )
  for (const { node } of stage.stations)
    write(
      `${node.name}.log`,
      node.events.map(({ at, event, line }) => `${at.toFixed(0)} ${line || event}`),
    )
  cpSync(stage.dir, join(dir, 'world'), {
    recursive: true,
    filter: (path) => !path.endsWith('.socket'),
  })
}

const timesOf = (fits: (fault: Fault) => boolean, field: 'takeover_ms' | 'gap_ms') =>
  outcomes.flatMap((it) => (fits(it.fault) ? (it[field] ?? []) : []))
console.table(
  chosen.map((fault) => {
    const of = outcomes.filter((it) => it.fault === fault)
    const took = timesOf((it) => it === fault, 'takeover_ms')
    return {
      fault,
      rounds: of.length,
      overlaps: of.filter((it) => it.overlaps > 0).length,
      least_gap_ms: Math.round(Math.min(...timesOf((it) => it === fault, 'gap_ms'))),
      p50_ms: Math.round(percentile(took, 0.5)),
      p99_ms: Math.round(percentile(took, 0.99)),
    }
  }),
)
const summary = (took: readonly number[]) => ({
  p50: Math.round(percentile(took, 0.5)),
  p99: Math.round(percentile(took, 0.99)),
})
const report = {
  seed,
  takeover_ms: {
    faults: summary(timesOf((it) => it !== 'planned', 'takeover_ms')),
    planned: summary(timesOf((it) => it === 'planned', 'takeover_ms')),
  },
  rounds: outcomes.length,
  overlaps: outcomes.filter((it) => it.overlaps > 0).length,
  epochs,
  without: outcomes.filter((it) => it.failed).length,
  lost: lost.length,
  passed_unseen: missing.length - lost.length,
  ...ledger,
  repeated: repeats.length,
  repeats: judgeRepeats(repeats, faults_at),
  matching: matching.length,
  settled_ms: Math.round(last.at - settling),
  calls: stage.caller.counts,
}
const passed =
  report.overlaps === 0 &&
  epochs.back === 0 &&
  epochs.shared === 0 &&
  report.without === 0 &&
  outcomes.length === rounds &&
  // Without a replica the state of the standby is that of its copy.
  (!replicates || (report.lost === 0 && report.two_ids === 0))
record({ kind: 'ledger', system, passed, ...report })
await stage[Symbol.asyncDispose]()
console.log(JSON.stringify({ ...report, passed }))
process.exit(passed ? 0 : 1)
