import { createChance } from '../../src/sandbox/chance.ts'
import { type DaemonProcess, startProcess } from '../support/process.ts'
import { type Books, readBooks, readPollLog, settled } from './books.ts'
import { startReading } from './reading.ts'
import { type Stage, startStage } from './stage.ts'
import { injected, killAt } from './tracer.ts'
import { type Unseen, unseen } from './unseen.ts'
import { duplicates, judge } from './witness.ts'

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
export type Killed = {
  matches: number
  items_per_s: number
  kills: number
  syscall_kills: number
  /** Over all receivers. */
  lost: number
  invented: number
  under_two_ids: number
  unstable_bodies: number
  badly_signed: number
  books: Books
  /** Of the items that were lost: whether they could be seen, and whether that was told. */
  unseen: Unseen
  /** Answers to reads that were given, and reads that were asked for. */
  answered: number
  asked: number
  /** Of each receiver, deliveries accepted more than once, as a share. Only of the random kills. */
  duplicates: number[]
  /** From starting the program to the first request at a receiver, ms, in lives that were spared for it. */
  boot_to_attempt_ms: number[]
  /** Log lines that say that an invariant is broken. */
  broken: number
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
    broken += it.lines.filter((line) => line.includes('storage.invariant_broken')).length
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
  const { wanted, written } = stage.poster
  await settled(stage.data, wanted.length * stage.witnesses.length)
  await bury(daemon)

  const truth = wanted.map(({ name }) => name)
  const verdicts = stage.witnesses.map((it) => judge(it, truth))
  const sum = (key: keyof (typeof verdicts)[number]) =>
    verdicts.reduce((total, it) => total + it[key], 0)
  return {
    matches: truth.length,
    items_per_s,
    kills: plan.kills,
    syscall_kills,
    lost: sum('lost'),
    invented: sum('invented'),
    under_two_ids: sum('under_two_ids'),
    unstable_bodies: sum('unstable_bodies'),
    badly_signed: sum('badly_signed'),
    books: readBooks(stage.data),
    unseen: unseen(wanted, written, stage.witnesses[0], readPollLog(stage.data)),
    answered: reading.answered(),
    asked: reading.asked(),
    duplicates: doubled,
    boot_to_attempt_ms: waits,
    broken,
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
