/**
 * One part of the disk test, on the executable that FORUMD_BINARY names; run by `disk.ts`. Prints its figures.
 */
import { parseArgs } from 'node:util'

import { damageFile } from '../../../test/chaos/corruption.ts'
import { fillDisk } from '../../../test/chaos/disk-full.ts'
import { failDisk, type Fault } from '../../../test/chaos/io-errors.ts'
import { MountRefused } from '../../../test/chaos/mounts.ts'
import { cutPower } from '../../../test/chaos/power-cut.ts'
import { DISK_SIZES } from './options.ts'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { ...DISK_SIZES, seed: { type: 'string', default: '1' } },
})
const seed = Number(values.seed)
const report = (line: string) => console.error(line)

/** Long enough for the daemon to write its reserve file. */
const BEFORE_MS = 70_000
/** Item rate of five subforums within ten minutes, plus a margin. */
const FULL_ITEMS_PER_S = 4
const GETS_OK_MIN = 0.999
const RECOVERY_MAX_MS = 10_000
/** Minimum share of the cases that reach the failing system call. */
const STRUCK_MIN = 0.95

/** Names of the figures that should be zero and are not. */
const nonZero = (figures: Record<string, number>): string[] =>
  Object.entries(figures).flatMap(([name, count]) => (count === 0 ? [] : `${name}: ${count}`))

const ofBooks = (books: {
  integrity: string
  other: number
  holds: number
  unbalanced: number
}): string[] => [
  ...(books.integrity === 'ok' ? [] : [`integrity: ${books.integrity}`]),
  ...nonZero({ other: books.other, holds: books.holds, unbalanced: books.unbalanced }),
]

async function errors(): Promise<string[]> {
  const faults: Fault[] = []
  for (let n = Number(values.from); n <= Number(values.to); n += Number(values.step))
    for (const call of ['pwrite64', 'fsync'] as const)
      for (const error of ['EIO', 'ENOSPC'] as const) faults.push({ call, error, n })
  const lanes = Number(values.lanes)
  const results = await Promise.all(
    Array.from({ length: lanes }, (_, lane) =>
      failDisk({
        faults: faults.filter((_fault, index) => index % lanes === lane),
        seed: seed + lane,
        items_per_s: 10,
        report,
      }),
    ),
  )
  const figures: Record<string, number> = {}
  for (const { books: _, longest_end_ms, ...counts } of results) {
    for (const [name, count] of Object.entries(counts)) figures[name] = (figures[name] ?? 0) + count
    figures['longest_end_ms'] = Math.max(figures['longest_end_ms'] ?? 0, longest_end_ms)
  }
  console.table(figures)
  const { hung = 0, writes_lost = 0, lost = 0, under_two_ids = 0, unstable_bodies = 0 } = figures
  const { reads_unbilled = 0, struck = 0, acknowledged = 0 } = figures
  return [
    ...nonZero({ hung, writes_lost, lost, under_two_ids, unstable_bodies, reads_unbilled }),
    ...results.flatMap(({ books }) => ofBooks(books)),
    ...(struck >= faults.length * STRUCK_MIN ? [] : [`struck: ${struck} of ${faults.length}`]),
    ...(acknowledged > 0 ? [] : ['acknowledged: 0']),
  ]
}

async function full(): Promise<string[]> {
  const plan = { items_per_s: FULL_ITEMS_PER_S, before_ms: BEFORE_MS, report }
  const full_ms = Number(values['full-s']) * 1000
  // In parallel, because both mostly wait: one process that takes all free space, one that has just filled the
  // disk.
  const [greedy, once] = await Promise.all([
    fillDisk({ ...plan, seed, full_ms, greedy: true }),
    fillDisk({ ...plan, seed: seed + 1, full_ms, greedy: false }),
  ])
  console.log(JSON.stringify({ greedy, once }, null, 2))
  const faults = [greedy, once].flatMap((it) => [
    ...nonZero({
      lost: it.lost,
      under_two_ids: it.under_two_ids,
      unstable_bodies: it.unstable_bodies,
      writes_lost: it.writes_lost,
      reads_other: it.reads.other,
      writes_other: it.writes.other,
    }),
    ...ofBooks(it.books),
    ...(it.gets_failed <= it.gets * (1 - GETS_OK_MIN) ? [] : [`gets failed: ${it.gets_failed}`]),
    ...Object.entries(it.recovery_ms).flatMap(([what, ms]) =>
      ms <= RECOVERY_MAX_MS ? [] : `recovery of ${what}, ms: ${ms}`,
    ),
    ...(it.noticed.full && it.noticed.recovered ? [] : ['not noticed']),
  ])
  // The reserve file is large enough for metered reads.
  const { ok, unavailable } = once.reads
  return unavailable <= (ok + unavailable) * (1 - GETS_OK_MIN)
    ? faults
    : [...faults, `metered reads refused despite the reserve file: ${unavailable}`]
}

async function damage(): Promise<string[]> {
  const results = await damageFile(seed)
  console.table(results)
  return results.flatMap(({ harm, refused, refused_beside, untouched }) =>
    refused && refused_beside && untouched ? [] : harm,
  )
}

async function power(): Promise<string[]> {
  const it = await cutPower({
    cuts: Number(values.cuts),
    seed,
    items_per_s: 30,
    life_ms: [60, 900],
    report,
  })
  console.log(JSON.stringify(it, null, 2))
  const { lost, under_two_ids, unstable_bodies, refused_or_broken } = it
  return [
    ...nonZero({ ...it.lost_writes, lost, under_two_ids, unstable_bodies, refused_or_broken }),
    ...ofBooks(it.books),
  ]
}

const PARTS: Record<string, () => Promise<string[]>> = { errors, full, damage, power }
try {
  const faults = (await PARTS[positionals[0] ?? '']?.()) ?? ['no such part']
  for (const fault of faults) console.log(`NOT AS IT MUST BE: ${fault}`)
  process.exit(faults.length > 0 ? 1 : 0)
} catch (error) {
  if (!(error instanceof MountRefused)) throw error
  console.log(`could not be run here: ${error.message}`)
  process.exit(1)
}
