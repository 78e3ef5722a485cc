import { createSeededRandom } from '../../sandbox/world/random.ts'
import { type DaemonProcess, startProcess } from '../support/process.ts'
import { type ChaosFixture, startChaosFixture } from './fixture.ts'
import { waitForDeliveries } from './ledger-check.ts'
import { startReading } from './reader.ts'
import { duplicates } from './recording-receiver.ts'
import { inspectLeftovers, type Left } from './run-result.ts'
import { injected, killAt } from './tracer.ts'

export type Killing = {
  kills: number
  /** Kills by a tracer at a system call. */
  syscall_kills: number
  seed: number
  items_per_s: number
  places: number
  cadence_s: number
  /** Time from listening to the kill. */
  life_ms: readonly [number, number]
  /** Number of runs that continue until the first delivery, to measure its delay. */
  measured_lives: number
  report?: (line: string) => void
}

/** The results. */
export type Killed = Left & {
  items_per_s: number
  kills: number
  syscall_kills: number
  /** Share of deliveries accepted more than once, per receiver. Random kills only. */
  duplicates: number[]
  /** Time from process start to the first delivery request in ms, of the measured runs. */
  start_to_attempt_ms: number[]
}

/** System calls that write to the disk or the network. */
const CALLS = ['pwrite64', 'fsync', 'sendto', 'write'] as const
const CALL_MAX = 150
const TRACED_ITEMS_PER_S = 50
const MISSES_MAX = 3
const FIRST_ATTEMPT_MAX_MS = 10_000
/** Time for data sent before the kill to arrive, in ms. */
const STRAGGLERS_MS = 10

/** Kills a working daemon repeatedly and checks its data. */
export async function killAgainAndAgain(plan: Killing): Promise<Killed> {
  const chance = createSeededRandom(plan.seed)
  await using fixture = await startChaosFixture({
    seed: plan.seed + 1,
    places: Array.from({ length: plan.places }, (_, n) => `hay${n}`),
    items_per_s: plan.items_per_s,
    cadence_s: plan.cadence_s,
  })
  const report = plan.report ?? (() => {})
  let daemon = await startProcess(fixture.config)
  await using _ = { [Symbol.asyncDispose]: async () => void (await daemon.end('SIGKILL')) }
  await fixture.setUp(daemon)
  const reading = startReading(fixture.headers, `subforum=hay0&limit=1`)
  const stop = async (it: DaemonProcess) => {
    await it.end('SIGKILL')
    await reading.stopped()
    await Bun.sleep(STRAGGLERS_MS)
  }

  const waits: number[] = []
  for (let kill = 0; kill < plan.kills; kill++) {
    reading.of(daemon)
    await Bun.sleep(chance.whole(...plan.life_ms))
    await stop(daemon)
    const spare =
      plan.measured_lives > 0 && kill % Math.ceil(plan.kills / plan.measured_lives) === 0
    const seen = countSeen(fixture)
    const began = performance.now()
    daemon = await startProcess(fixture.config)
    if (spare) waits.push((await firstSeen(fixture, seen, began)) - began)
    if (kill % 50 === 49)
      report(
        `${kill + 1} kills, ${fixture.poster.matching.length} matches, ${backlog(fixture)} on the way`,
      )
  }
  const doubled = fixture.receivers.map(duplicates)
  const items_per_s = fixture.poster.rate()

  fixture.poster.pace(Math.min(TRACED_ITEMS_PER_S, plan.items_per_s))
  let syscall_kills = 0
  for (let n = 0; syscall_kills < plan.syscall_kills; n++) {
    if (n > plan.syscall_kills * MISSES_MAX) break
    reading.of(daemon)
    await Bun.sleep(chance.whole(...plan.life_ms))
    await stop(daemon)
    const call = CALLS[n % CALLS.length] ?? 'write'
    if (await injected(fixture.config, killAt(call, chance.whole(1, CALL_MAX)))) syscall_kills++
    daemon = await startProcess(fixture.config)
    if (n % 50 === 49) report(`${syscall_kills} killed at a call, ${backlog(fixture)} on the way`)
  }
  await fixture.poster.stop()
  await waitForDeliveries(fixture.data, fixture.poster.matching.length * fixture.receivers.length)
  await stop(daemon)
  return {
    ...inspectLeftovers(fixture, reading),
    items_per_s,
    kills: plan.kills,
    syscall_kills,
    duplicates: doubled,
    start_to_attempt_ms: waits,
  }
}

const countSeen = ({ receivers }: ChaosFixture): number[] =>
  receivers.map(({ seen }) => seen.length)

/** Time of the next new request at any receiver. */
async function firstSeen(
  { receivers }: ChaosFixture,
  before: number[],
  began: number,
): Promise<number> {
  for (;;) {
    const at = receivers.flatMap(({ seen }, n) => seen[before[n] ?? 0]?.at ?? [])
    if (at.length > 0) return Math.min(...at)
    if (performance.now() - began > FIRST_ATTEMPT_MAX_MS) return Infinity
    await Bun.sleep(5)
  }
}

/** Matches that the always accepting receiver has not received yet. */
const backlog = ({ poster, receivers: [good] }: ChaosFixture): number =>
  poster.matching.length - new Set(good.seen.flatMap(({ items }) => items)).size

/** The quantile of the values. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.ceil(sorted.length * share) - 1)] ?? NaN
}
