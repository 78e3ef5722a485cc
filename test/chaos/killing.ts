import { createChance } from '../../src/sandbox/chance.ts'
import { type DaemonProcess, startProcess } from '../support/process.ts'
import { settled } from './books.ts'
import { countBroken, type Left, lookAtWhatIsLeft } from './left.ts'
import { startReading } from './reading.ts'
import { type Stage, startStage } from './stage.ts'
import { injected, killAt } from './tracer.ts'
import { duplicates } from './witness.ts'

export type Killing = {
  kills: number
  /** Kills that a tracer makes at a call. */
  syscall_kills: number
  seed: number
  items_per_s: number
  places: number
  cadence_s: number
  /** From listening to the kill. */
  life_ms: readonly [number, number]
  /** So many lives are spared until something was sent, to tell how long that takes. */
  measured_lives: number
  told?: (line: string) => void
}

/** What came of it. */
export type Killed = Left & {
  items_per_s: number
  kills: number
  syscall_kills: number
  /** Of each receiver, deliveries accepted more than once, as a share. Only of the random kills. */
  duplicates: number[]
  /** From starting the program to the first request at a receiver, ms, in lives that were spared for it. */
  boot_to_attempt_ms: number[]
}

/** What puts a byte on the disk or on its way. */
const CALLS = ['pwrite64', 'fsync', 'sendto', 'write'] as const
const CALL_MAX = 150
const TRACED_ITEMS_PER_S = 50
const MISSES_MAX = 3
const FIRST_ATTEMPT_MAX_MS = 10_000
/** What a process wrote before it died may still be on its way. */
const STRAGGLERS_MS = 10

/** Kills a daemon again and again while it reads, matches, delivers and bills, and looks what is left. */
export async function killAgainAndAgain(plan: Killing): Promise<Killed> {
  const chance = createChance(plan.seed)
  await using stage = await startStage({
    seed: plan.seed + 1,
    places: Array.from({ length: plan.places }, (_, n) => `hay${n}`),
    items_per_s: plan.items_per_s,
    cadence_s: plan.cadence_s,
  })
  const tell = plan.told ?? (() => {})
  let daemon = await startProcess(stage.config)
  await using _ = { [Symbol.asyncDispose]: async () => void (await daemon.end('SIGKILL')) }
  await stage.begin(daemon)
  const reading = startReading(stage.headers, `subforum=hay0&limit=1`)
  let broken = 0
  const bury = async (it: DaemonProcess) => {
    await it.end('SIGKILL')
    broken += countBroken(it.lines)
    await reading.stopped()
    await Bun.sleep(STRAGGLERS_MS)
  }

  const waits: number[] = []
  for (let kill = 0; kill < plan.kills; kill++) {
    reading.of(daemon)
    await Bun.sleep(chance.whole(...plan.life_ms))
    await bury(daemon)
    const spare =
      plan.measured_lives > 0 && kill % Math.ceil(plan.kills / plan.measured_lives) === 0
    const seen = countSeen(stage)
    const began = performance.now()
    daemon = await startProcess(stage.config)
    if (spare) waits.push((await firstSeen(stage, seen, began)) - began)
    if (kill % 50 === 49)
      tell(`${kill + 1} kills, ${stage.poster.wanted.length} matches, ${backlog(stage)} on the way`)
  }
  const doubled = stage.witnesses.map(duplicates)
  const items_per_s = stage.poster.rate()

  stage.poster.pace(Math.min(TRACED_ITEMS_PER_S, plan.items_per_s))
  let syscall_kills = 0
  for (let n = 0; syscall_kills < plan.syscall_kills; n++) {
    if (n > plan.syscall_kills * MISSES_MAX) break
    reading.of(daemon)
    await Bun.sleep(chance.whole(...plan.life_ms))
    await bury(daemon)
    const call = CALLS[n % CALLS.length] ?? 'write'
    if (await injected(stage.config, killAt(call, chance.whole(1, CALL_MAX)))) syscall_kills++
    daemon = await startProcess(stage.config)
    if (n % 50 === 49) tell(`${syscall_kills} killed at a call, ${backlog(stage)} on the way`)
  }
  await stage.poster.stop()
  await settled(stage.data, stage.poster.wanted.length * stage.witnesses.length)
  await bury(daemon)
  return {
    ...lookAtWhatIsLeft(stage, reading, broken),
    items_per_s,
    kills: plan.kills,
    syscall_kills,
    duplicates: doubled,
    boot_to_attempt_ms: waits,
  }
}

const countSeen = ({ witnesses }: Stage): number[] => witnesses.map(({ seen }) => seen.length)

/** When something came to any receiver beyond what it had seen. */
async function firstSeen({ witnesses }: Stage, before: number[], began: number): Promise<number> {
  for (;;) {
    const at = witnesses.flatMap(({ seen }, n) => seen[before[n] ?? 0]?.at ?? [])
    if (at.length > 0) return Math.min(...at)
    if (performance.now() - began > FIRST_ATTEMPT_MAX_MS) return Infinity
    await Bun.sleep(5)
  }
}

/** Matches that the receiver which takes all has not accepted yet. */
const backlog = ({ poster, witnesses: [good] }: Stage): number =>
  poster.wanted.length - new Set(good.seen.flatMap(({ items }) => items)).size

/** The value that a share of all does not pass. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.ceil(sorted.length * share) - 1)] ?? NaN
}
