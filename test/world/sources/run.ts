/**
 * The named command: `bun test/world/sources/run.ts [--worlds a,b] [--seeds 3 | --seed N] [--minutes 3]
 * [--cadence 3] [--kills 2] [--parallel 4] [--binary PATH] [--json FILE]`. It prints its seeds, a table and
 * an account of every loss, and ends with 0 only if every bar holds in every world.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'

import type { Loss } from './judge.ts'
import { runSourceWorld } from './live.ts'
import type { SourceJob, SourceResult } from './live.ts'
import { expandNames, worldNames } from './worlds.ts'

type Job = Omit<SourceJob, 'dir'>

const GRACE_MS = 240_000
const CHILD_FLAG = '--one-world'
const LISTED = 3

const isResult = (value: unknown): value is SourceResult =>
  typeof value === 'object' && value !== null && 'failures' in value && 'verdict' in value

const isJob = (value: unknown): value is SourceJob =>
  typeof value === 'object' && value !== null && 'world' in value && 'dir' in value

/** A world in a process of its own, so that no site waits for another. */
const runInChild = async (job: Job): Promise<SourceResult> => {
  const dir = mkdtempSync(join(tmpdir(), 'forumd-source-world-'))
  const whole: SourceJob = { ...job, dir: join(dir, 'forumd') }
  const file = join(dir, 'result.json')
  try {
    const child = Bun.spawn(
      [process.execPath, import.meta.path, CHILD_FLAG, JSON.stringify(whole), file],
      {
        stdin: 'ignore',
        stdout: 'inherit',
        stderr: 'pipe',
        timeout: job.durationMs + GRACE_MS,
      },
    )
    const errors = await new Response(child.stderr).text()
    if ((await child.exited) !== 0) {
      throw new Error(`world ${job.world}, seed ${job.seed}: ${errors.slice(-4000)}`)
    }
    const value: unknown = JSON.parse(readFileSync(file, 'utf8'))
    if (!isResult(value)) throw new Error('a world left no result')
    return value
  } finally {
    rmSync(dir, { recursive: true, force: true })
  }
}

/** All jobs, at most `parallel` at once, in their order. */
const runAll = async (
  jobs: readonly Job[],
  parallel: number,
  onResult: (result: SourceResult) => void,
): Promise<SourceResult[]> => {
  const results: SourceResult[] = []
  const queue = [...jobs]
  const worker = async () => {
    for (let job = queue.shift(); job !== undefined; job = queue.shift()) {
      const result = await runInChild(job)
      results.push(result)
      onResult(result)
    }
  }
  await Promise.all(Array.from({ length: parallel }, worker))
  return results.toSorted((a, b) => a.world.localeCompare(b.world) || a.seed - b.seed)
}

const split = (counts: Readonly<Record<string, number>>): string =>
  `${counts['fresh'] ?? 0}/${counts['late'] ?? 0}/${counts['edited'] ?? 0}`

const COLUMNS: readonly (readonly [string, (one: SourceResult) => string | number])[] = [
  ['world', (one) => one.world],
  ['seed', (one) => one.seed],
  ['kills', (one) => one.kills.length],
  ['pairs f/l/e', (one) => split(one.verdict.pairs)],
  ['delivered', (one) => split(one.verdict.delivered)],
  ['silent', (one) => one.verdict.silent.length],
  ['reported', (one) => one.verdict.reported.length],
  ['vague', (one) => one.verdict.vague.length],
  ['withdrawn', (one) => one.verdict.withdrawn.length],
  ['early claims', (one) => one.verdict.earlyClaims.length + one.verdict.blindClaims.length],
  ['not public', (one) => one.verdict.notPublic.length],
  ['half', (one) => one.verdict.half.length],
  ['changed', (one) => one.verdict.changed.length],
  ['complete', (one) => `${(one.verdict.completeShare * 100).toFixed(1)} %`],
  ['false', (one) => one.verdict.falseDeliveries.length],
  ['dup', (one) => one.verdict.duplicates.length],
  ['requests', (one) => one.requests],
  ['a minute', (one) => Object.values(one.verdict.mostPerMinute).join(' ')],
  ['over', (one) => one.verdict.overLimit],
  ['in pause', (one) => one.verdict.inPause],
  [
    'p50 p99 s',
    (one) =>
      `${(one.verdict.delayP50Ms / 1000).toFixed(1)} ${(one.verdict.delayP99Ms / 1000).toFixed(1)}`,
  ],
  [
    'statuses',
    (one) =>
      Object.entries(one.statuses)
        .map(([name, count]) => `${count} ${name}`)
        .join(', '),
  ],
]

const s = (ms: number | null) => (ms === null ? 'null' : (ms / 1000).toFixed(1))

const describeLoss = (kind: string, loss: Loss): string => {
  const served = loss.servedAtMs.length === 0 ? 'never' : loss.servedAtMs.map(s).join(' ')
  return (
    `    ${kind} ${loss.category}: ${loss.label} ${loss.name} (id ${loss.gapId}) ${loss.note}; created ${s(loss.createdMs)} s, ` +
    `shown and matching ${s(loss.shownMs[0])} to ${s(loss.shownMs[1])} s, in answers at ${served}; ` +
    `health ${loss.status} ${loss.reason ?? ''} audited_until ${s(loss.auditedUntilMs)}`
  )
}

/** The bars that a world fails, with the first losses of each sort. */
const accountOf = (one: SourceResult): string[] => {
  const lines = one.failures.map((failure) => `! ${one.world} ${one.seed}: ${failure}`)
  for (const kind of ['silent', 'vague', 'reported', 'withdrawn'] as const) {
    const groups = Map.groupBy(one.verdict[kind], (loss) => `${loss.label} ${loss.category}`)
    for (const [group, losses] of groups) {
      lines.push(`  ${kind}, ${group}: ${losses.length}`)
      for (const loss of losses.slice(0, LISTED)) lines.push(describeLoss(kind, loss))
    }
  }
  for (const kind of [
    'earlyClaims',
    'blindClaims',
    'notPublic',
    'half',
    'changed',
    'falseDeliveries',
    'duplicates',
    'unstable',
    'early',
  ] as const) {
    for (const text of one.verdict[kind].slice(0, LISTED)) lines.push(`    ${kind}: ${text}`)
  }
  return lines
}

/** The table of results, and under it the bars that each one fails, with the first losses of each sort. */
const tableOf = (results: readonly SourceResult[]): string => {
  const rows = [
    COLUMNS.map(([name]) => name),
    ...results.map((one) => COLUMNS.map(([, of]) => String(of(one)))),
  ]
  const widths = COLUMNS.map((_, column) =>
    Math.max(...rows.map((row) => (row[column] ?? '').length)),
  )
  const lines = rows.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  )
  for (const one of results) lines.push(...accountOf(one))
  return lines.join('\n')
}

const wholeNumber = (text: string, name: string, least: number): number => {
  const value = Number(text)
  if (!Number.isInteger(value) || value < least) throw new Error(`--${name} wants a whole number`)
  return value
}

const main = async () => {
  const { values } = parseArgs({
    options: {
      worlds: { type: 'string', default: worldNames().join(',') },
      seeds: { type: 'string', default: '1' },
      seed: { type: 'string' },
      minutes: { type: 'string', default: '3' },
      cadence: { type: 'string', default: '3' },
      kills: { type: 'string', default: '2' },
      parallel: { type: 'string', default: '4' },
      binary: { type: 'string' },
      json: { type: 'string' },
    },
  })
  const binary = values.binary ?? process.env['FORUMD_BINARY']
  if (binary === undefined) throw new Error('--binary PATH or FORUMD_BINARY names the executable')
  const fresh = crypto.getRandomValues(new Uint32Array(12))
  const seeds =
    values.seed === undefined
      ? [...fresh].map((one) => (one % 900_000) + 1).slice(0, wholeNumber(values.seeds, 'seeds', 1))
      : values.seed.split(',').map((one) => wholeNumber(one, 'seed', 1))
  const jobs = expandNames(values.worlds).flatMap((world) =>
    seeds.map((seed) => ({
      world,
      seed,
      durationMs: Math.round(Number(values.minutes) * 60_000),
      cadenceS: wholeNumber(values.cadence, 'cadence', 1),
      kills: wholeNumber(values.kills, 'kills', 0),
      binary,
    })),
  )
  console.log(`seeds ${seeds.join(',')}; ${jobs.length} worlds of ${values.minutes} minutes`)
  const done: SourceResult[] = []
  const results = await runAll(jobs, wholeNumber(values.parallel, 'parallel', 1), (one) => {
    done.push(one)
    const account = accountOf(one)
    console.log(account.length === 0 ? `${one.world} ${one.seed}: holds` : account.join('\n'))
    if (values.json !== undefined) writeFileSync(values.json, JSON.stringify(done))
  })
  console.log(`\n${tableOf(results)}`)
  process.exitCode = results.every((one) => one.failures.length === 0) ? 0 : 1
}

const oneWorld = async (text: string, file: string) => {
  const job: unknown = JSON.parse(text)
  if (!isJob(job)) throw new Error('no options of a world')
  writeFileSync(file, JSON.stringify(await runSourceWorld(job)))
  process.exit(0)
}

if (import.meta.main) {
  const at = Bun.argv.indexOf(CHILD_FLAG)
  if (at < 0) await main()
  else await oneWorld(Bun.argv[at + 1] ?? '', Bun.argv[at + 2] ?? '')
}
