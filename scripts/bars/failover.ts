/**
 * Checks that two nodes never act at the same time, that nothing is lost between them, and that the check would detect it.
 * Fails over again and again at a PostgreSQL and at an etcd of this machine, with Litestream as the replication, then with
 * an executable that does not check before it writes, whose late requests must be detected.
 *
 *     bun run bar:failover [--rounds 1000] [--mutant-rounds 12] [--ttl 4] [--pairs 2] [--seed N] [--out FILE] [--binary PATH]
 *
 * Needs root, iproute2, nftables, strace, faketime, etcd and PostgreSQL. With `--out` the figures of each round are lines of
 * that file, and a further call with it continues after them. `--mutant-rounds 0` leaves the mutant out.
 */
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'

import * as z from 'zod'

import { percentile } from '../../test/chaos/process-kill.ts'
import { builtFrom } from './binary.ts'
import { root, runOn, withPlanted } from './mutants.ts'
import { FAILOVER_MUTANT } from './planted.ts'
import { SEED } from './seed.ts'

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '1000' },
    'mutant-rounds': { type: 'string', default: '12' },
    ttl: { type: 'string', default: '4' },
    pairs: { type: 'string', default: '2' },
    seed: SEED,
    out: { type: 'string', default: '' },
    binary: { type: 'string', default: '' },
  },
})

const SCRIPT = 'test/world/failover/run.ts'
/** Rounds of one pair of nodes, one of each fault; loss is judged at its end. */
const SEGMENT = 17
/** Segments that end without a verdict, one after the other, after which the check gives up. */
const BROKEN_MAX = 5

const round = z.looseObject({
  kind: z.literal('round'),
  seed: z.number(),
  fault: z.string(),
  system: z.string(),
  takeover_ms: z.number().nullable(),
  gap_ms: z.number().nullable(),
  resolution_ms: z.number(),
  stall_ms: z.number(),
  overlaps: z.number(),
  failed: z.boolean(),
})
const ledger = z.looseObject({
  kind: z.literal('ledger'),
  seed: z.number(),
  system: z.string(),
  epochs: z.object({ back: z.number(), shared: z.number() }),
  lost: z.number(),
  passed_unseen: z.number(),
  two_ids: z.number(),
  repeated: z.number(),
  deliveries: z.number(),
  repeats: z.record(z.string(), z.object({ count: z.number(), unknown_ms: z.number() })),
})
const figures = z.looseObject({ overlaps: z.number(), rounds: z.number() })

const scratch = mkdtempSync(join(tmpdir(), 'forumd-failover-bar-'))
const out = values.out === '' ? join(scratch, 'rounds.jsonl') : values.out

function readOut() {
  const text = existsSync(out) ? readFileSync(out, 'utf8').trim() : ''
  const lines = text === '' ? [] : text.split('\n').map((it): unknown => JSON.parse(it))
  return {
    rounds: lines.flatMap((it) => round.safeParse(it).data ?? []),
    ledgers: lines.flatMap((it) => ledger.safeParse(it).data ?? []),
  }
}

const whole = (list: readonly number[], share: number) => Math.round(percentile(list, share))

/** Prints the figures so far; true if no limit is broken. */
function report(): boolean {
  const { rounds, ledgers } = readOut()
  const sum = (of: (it: (typeof ledgers)[number]) => number) =>
    ledgers.reduce((total, it) => total + of(it), 0)
  console.table(
    [...new Set(rounds.map(({ fault }) => fault))].map((fault) => {
      const of = rounds.filter((it) => it.fault === fault)
      const took = of.flatMap(({ takeover_ms }) => takeover_ms ?? [])
      const repeats = ledgers.flatMap((it) => it.repeats[fault] ?? [])
      return {
        fault,
        rounds: of.length,
        takeovers: took.length,
        failed: of.filter((it) => it.failed).length,
        overlaps: of.filter((it) => it.overlaps > 0).length,
        least_gap_ms: Math.round(Math.min(...of.flatMap(({ gap_ms }) => gap_ms ?? []))),
        p50_ms: whole(took, 0.5),
        p99_ms: whole(took, 0.99),
        repeated: repeats.reduce((total, it) => total + it.count, 0),
        unknown_ms: Math.max(0, ...repeats.map(({ unknown_ms }) => unknown_ms)),
      }
    }),
  )
  const took = (is_planned: boolean) =>
    rounds.flatMap((it) => ((it.fault === 'planned') === is_planned ? (it.takeover_ms ?? []) : []))
  const resolution = rounds.map(({ resolution_ms }) => resolution_ms)
  const total = {
    rounds: rounds.length,
    of_postgres: rounds.filter(({ system }) => system === 'postgres').length,
    takeovers: rounds.filter(({ takeover_ms }) => takeover_ms !== null).length,
    failed: rounds.filter((it) => it.failed).length,
    overlaps: rounds.filter((it) => it.overlaps > 0).length,
    /** The judge did not run for longer than the gap between both nodes: their order is not known. */
    undecided: rounds.filter((it) => it.gap_ms !== null && it.gap_ms < it.stall_ms).length,
    resolution_ms: { p50: whole(resolution, 0.5), p99: whole(resolution, 0.99) },
    takeover_ms: { p50: whole(took(false), 0.5), p99: whole(took(false), 0.99) },
    planned_ms: { p50: whole(took(true), 0.5), p99: whole(took(true), 0.99) },
    runs_judged_for_loss: ledgers.length,
    epochs_back: sum((it) => it.epochs.back),
    epochs_shared: sum((it) => it.epochs.shared),
    deliveries: sum((it) => it.deliveries),
    lost: sum((it) => it.lost),
    passed_unseen: sum((it) => it.passed_unseen),
    two_ids: sum((it) => it.two_ids),
    repeated: sum((it) => it.repeated),
  }
  console.log(JSON.stringify(total))
  const { failed, overlaps, epochs_back, epochs_shared, lost, two_ids } = total
  return failed + overlaps + epochs_back + epochs_shared + lost + two_ids === 0
}

/** Runs segments of one pair of nodes after another until there are enough rounds. */
async function runPair(program: string, next: () => number | null): Promise<void> {
  let broken = 0
  for (let n = next(); n !== null && broken < BROKEN_MAX; n = next()) {
    const before = readOut().ledgers.length
    const options = {
      rounds: String(SEGMENT),
      system: n % 2 === 0 ? 'postgres' : 'etcd',
      seed: String(Number(values.seed) + n),
      ttl: values.ttl,
      replicate: 'true',
      out,
      evidence: `${out}.evidence`,
    }
    const flags = Object.entries(options).flatMap(([name, value]) => [`--${name}`, value])
    const log = Bun.file(`${out}.${n}.log`)
    const child = Bun.spawn([process.execPath, SCRIPT, ...flags], {
      cwd: root,
      env: { ...process.env, FORUMD_BINARY: program },
      stdout: log,
      stderr: log,
    })
    await child.exited
    broken = readOut().ledgers.length > before ? 0 : broken + 1
    report()
  }
}

async function checkMutant(): Promise<boolean> {
  const rounds = values['mutant-rounds']
  if (rounds === '0') return true
  const { report: found } = await withPlanted(FAILOVER_MUTANT, (tree) =>
    runOn(tree, SCRIPT, {
      system: 'etcd',
      rounds,
      seed: values.seed,
      faults: 'stop_in_handshake',
      ttl: values.ttl,
    }),
  )
  const { overlaps, rounds: made } = figures.parse(found ?? { overlaps: 0, rounds: 0 })
  const noticed = overlaps > 0
  console.log(
    `mutant, ${FAILOVER_MUTANT.name}: ${noticed ? `detected in ${overlaps} of ${made} rounds` : 'NOT DETECTED'}`,
  )
  return noticed
}

try {
  const program =
    values.binary === '' ? await builtFrom(root, join(scratch, 'forumd')) : values.binary
  let segment = readOut().rounds.length
  /** Number of the next segment; seeds are those of the rounds before it, so that a continued check has others. */
  const next = (): number | null => {
    const done = readOut().rounds.length
    segment += 1
    return done >= Number(values.rounds) ? null : segment
  }
  await Promise.all(Array.from({ length: Number(values.pairs) }, () => runPair(program, next)))
  const good = report()
  process.exitCode = (await checkMutant()) && good ? 0 : 1
} finally {
  rmSync(scratch, { recursive: true, force: true })
}
