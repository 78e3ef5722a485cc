/**
 * Moves the primary between two nodes on purpose while it delivers all the time, or measures what its replication costs.
 * Needs root, iproute2 and nftables; FORUMD_BINARY names the executable.
 *
 *     bun test/world/failover/load.ts [--moves 20] [--items 250] [--webhooks 5] [--system postgres|etcd] [--ttl 8]
 *     bun test/world/failover/load.ts --costs 60 [--items 5] [--webhooks 1]
 *
 * A fifth of the items matches, and goes to the webhooks of two receivers: 250 items and 5 webhooks are 500 deliveries a
 * second. `--costs` measures one node for so many seconds with a replication, then without.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'

import { percentile } from '../../chaos/process-kill.ts'
import { litestreamProgram } from '../../support/litestream.ts'
import { judgeDeliveries, judgeOverlaps, judgeRepeats } from './judge.ts'
import { enterNetwork } from './network.ts'
import { setStage, type StageOptions } from './stage.ts'

const { values } = parseArgs({
  options: {
    moves: { type: 'string', default: '20' },
    costs: { type: 'string', default: '0' },
    items: { type: 'string', default: '250' },
    webhooks: { type: 'string', default: '5' },
    system: { type: 'string', default: 'postgres' },
    ttl: { type: 'string', default: '8' },
    seed: { type: 'string', default: String(Math.floor(Math.random() * 1e9)) },
  },
})
await enterNetwork()
const START_MS = 60_000
const WARM_MS = 5000
const SETTLE_MS = 120_000
/** Clock ticks of /proc a second. */
const TICKS = 100
const ttl_s = Number(values.ttl)

const options = (litestream: string | null): StageOptions => ({
  system: values.system === 'etcd' ? 'etcd' : 'postgres',
  seed: Number(values.seed),
  items_per_s: Number(values.items),
  calls_per_s: 0,
  fake_time: null,
  ttl_s,
  skew_s: ttl_s / 12,
  timeout_s: ttl_s / 4,
  litestream,
  webhooks: Number(values.webhooks),
  is_near: true,
})

async function until(
  within_ms: number,
  is_done: () => boolean | Promise<boolean>,
): Promise<boolean> {
  for (const over = performance.now() + within_ms; !(await is_done()); await Bun.sleep(20))
    if (performance.now() > over) return false
  return true
}

type Stage = Awaited<ReturnType<typeof setStage>>

const deliveriesOf = (stage: Stage) => stage.arrivals.filter(({ epoch }) => epoch !== null)

function stationsOf({ stations: [a, b] }: Stage) {
  if (a === undefined || b === undefined) throw new Error('two nodes are needed')
  return [a, b] as const
}

async function begin(stage: Stage): Promise<void> {
  const [first] = stationsOf(stage)
  first.node.start()
  if ((await first.node.until('serve.listening', 0, START_MS)) === null)
    throw new Error('the first node does not listen')
  await stage.populate(first)
  await Bun.sleep(WARM_MS)
}

/** Waits until every matched item has arrived at both receivers. */
async function settle(stage: Stage): Promise<void> {
  await stage.poster.stop()
  const matching = stage.poster.matching.map(({ name }) => name)
  await until(SETTLE_MS, async () => {
    await Bun.sleep(500)
    return judgeDeliveries(stage.arrivals, matching).lost.length === 0
  })
  await Bun.sleep(2000)
}

async function move(): Promise<void> {
  await using stage = await setStage(options(litestreamProgram()))
  let [primary, standby] = stationsOf(stage)
  await begin(stage)
  const from = { at: performance.now(), count: deliveriesOf(stage).length }
  const pauses: number[] = []
  const moves: { fault: string; at: number }[] = []
  let failed = 0
  for (let n = 0; n < Number(values.moves); n++) {
    standby.node.becomeStandbyOf(primary.node, true)
    standby.node.start()
    const { name, url } = standby.node
    await until(START_MS, async () => {
      const health = await fetch(`${url || standby.node.url}/health`).then(
        (it) => it.text(),
        () => '',
      )
      return /"replica_age_s":\d/.test(health)
    })
    await Bun.sleep(2000)
    const at = performance.now()
    moves.push({ fault: 'move', at })
    const ends = primary.node.end('SIGTERM')
    const here = () => deliveriesOf(stage).filter((it) => it.at >= at && it.node === name)
    const moved = await until(START_MS, () => here().length > 0)
    await ends
    if (!moved) {
      failed += 1
      break
    }
    const last = deliveriesOf(stage).findLast((it) => it.node !== name)
    pauses.push((here()[0]?.at ?? 0) - (last?.at ?? at))
    ;[primary, standby] = [standby, primary]
  }
  const per_s = ((deliveriesOf(stage).length - from.count) * 1000) / (performance.now() - from.at)
  await settle(stage)
  const matching = stage.poster.matching.map((it) => it.name)
  const { lost, repeats, deliveries } = judgeDeliveries(stage.arrivals, matching)
  const report = {
    moves: pauses.length,
    failed,
    deliveries,
    per_s: Math.round(per_s),
    lost: lost.length,
    repeated: repeats.length,
    /** With the age that the oldest first arrival had at its move. */
    repeats: judgeRepeats(repeats, moves),
    overlaps: judgeOverlaps(stage.arrivals).length,
    pause_ms: {
      p50: Math.round(percentile(pauses, 0.5)),
      p99: Math.round(percentile(pauses, 0.99)),
    },
  }
  console.log(JSON.stringify(report))
  process.exitCode = failed + report.lost + report.repeated + report.overlaps === 0 ? 0 : 1
}

/** Processor seconds of a process so far; 0 if it has ended. */
function cpuOf(pid: number): number {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? []
    return (Number(fields[11]) + Number(fields[12])) / TICKS
  } catch {
    return 0
  }
}

/** Processes whose command has all these texts. */
const pidsOf = (...texts: readonly string[]): number[] =>
  readdirSync('/proc')
    .map(Number)
    .filter((pid) => {
      try {
        const command = readFileSync(`/proc/${pid}/cmdline`, 'utf8')
        return pid > 0 && texts.every((it) => command.includes(it))
      } catch {
        return false
      }
    })

async function measureCosts(litestream: string | null, seconds: number) {
  await using stage = await setStage(options(litestream))
  await begin(stage)
  const cpu = (...texts: readonly string[]) =>
    pidsOf(stage.dir, ...texts).reduce((total, pid) => total + cpuOf(pid), 0)
  const now = () => ({
    at: performance.now(),
    daemon: cpu('serve', '--config'),
    replication: cpu('replicate', '-config'),
    bytes: stage.replicaBytes(),
    deliveries: deliveriesOf(stage).length,
    polls: stage.arrivals.filter(({ where }) => where === 'platform').length,
  })
  const from = now()
  await Bun.sleep(seconds * 1000)
  const to = now()
  const took_s = (to.at - from.at) / 1000
  const percent = (field: 'daemon' | 'replication') =>
    Number((((to[field] - from[field]) / took_s) * 100).toFixed(1))
  return {
    replicates: litestream !== null,
    polls_per_minute: Math.round(((to.polls - from.polls) / took_s) * 60),
    deliveries_per_s: Number(((to.deliveries - from.deliveries) / took_s).toFixed(1)),
    daemon_percent: percent('daemon'),
    replication_percent: percent('replication'),
    replica_kb_per_s: Number(((to.bytes - from.bytes) / took_s / 1000).toFixed(1)),
  }
}

const seconds = Number(values.costs)
if (seconds === 0) await move()
else
  for (const litestream of [litestreamProgram(), null])
    console.log(JSON.stringify(await measureCosts(litestream, seconds)))
process.exit()
