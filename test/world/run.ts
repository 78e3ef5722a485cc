/**
 * The named command: `bun test/world/run.ts [--worlds a,b] [--seeds 3 | --seed N] [--minutes 5]
 * [--parallel 4] [--binary PATH] [--audit-interval S] [--cadence S] [--json FILE]`. It prints its
 * seeds and a table, and ends with 0 only if every bar holds in every world.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'

import type { LiveOptions, WorldResult } from './assess.ts'
import { runWorld } from './live.ts'
import { SCENARIO_NAMES } from './scenarios.ts'

type Job = Omit<LiveOptions, 'dir'>

const GRACE_MS = 240_000
const MAX_PARALLEL = 12
const CHILD_FLAG = '--one-world'
const LISTED = 3

/** A world in a process of its own, so that the platform of none waits for another. */
const runInChild = async (job: Job): Promise<WorldResult> => {
  const dir = mkdtempSync(join(tmpdir(), 'forumd-world-'))
  const options: LiveOptions = { ...job, dir: join(dir, 'forumd') }
  const file = join(dir, 'result.json')
  try {
    const child = Bun.spawn(
      [process.execPath, import.meta.path, CHILD_FLAG, JSON.stringify(options), file],
      { stdin: 'ignore', stdout: 'inherit', stderr: 'pipe', timeout: job.durationMs + GRACE_MS },
    )
    const errors = await new Response(child.stderr).text()
    if ((await child.exited) !== 0) {
      throw new Error(`world ${job.world}, seed ${job.seed}: ${errors.slice(-4000)}`)
    }
    return parseResult(readFileSync(file, 'utf8'))
  } finally {
    rmSync(dir, { recursive: true, force: true })
  }
}

const isResult = (value: unknown): value is WorldResult =>
  typeof value === 'object' && value !== null && 'failures' in value && 'verdict' in value

const parseResult = (text: string): WorldResult => {
  const value: unknown = JSON.parse(text)
  if (!isResult(value)) throw new Error('a world left no result')
  return value
}

const isOptions = (value: unknown): value is LiveOptions =>
  typeof value === 'object' && value !== null && 'world' in value && 'dir' in value

/** All jobs, at most `parallel` at once, in their order. */
export const runAll = async (
  jobs: readonly Job[],
  parallel: number,
  onResult: (result: WorldResult) => void,
): Promise<WorldResult[]> => {
  const results: (WorldResult | undefined)[] = jobs.map(() => undefined)
  let next = 0
  const worker = async () => {
    for (;;) {
      const index = next
      next += 1
      const job = jobs[index]
      if (job === undefined) return
      const result = await runInChild(job)
      results[index] = result
      onResult(result)
    }
  }
  await Promise.all(Array.from({ length: Math.min(parallel, MAX_PARALLEL) }, worker))
  return results.filter((result) => result !== undefined)
}

const COLUMNS: readonly (readonly [string, (one: WorldResult) => string])[] = [
  ['world', (one) => one.world],
  ['seed', (one) => String(one.seed)],
  ['kills', (one) => String(one.kills.length)],
  ['pairs', (one) => String(one.verdict.pairs)],
  ['delivered', (one) => String(one.verdict.delivered)],
  ['reported', (one) => String(one.verdict.reported)],
  ['silent', (one) => String(one.silent.length)],
  ['beyond', (one) => String(one.beyondSilent.length)],
  ['withdrawn', (one) => String(one.verdict.withdrawn)],
  ['vague', (one) => String(one.verdict.vague)],
  ['share', (one) => `${(one.deliveredShare * 100).toFixed(1)}%`],
  ['false', (one) => String(one.verdict.falseMatches.length)],
  ['early claims', (one) => String(one.earlyClaims.length)],
  ['not public', (one) => String(one.notPublic.length)],
  ['changed', (one) => String(one.changed.length)],
  ['early', (one) => String(one.verdict.early.length)],
  ['dup', (one) => String(one.verdict.duplicates.length)],
  ['unstable', (one) => String(one.verdict.unstable.length)],
  ['over', (one) => String(one.overRate)],
  ['requests', (one) => `${one.requests}/${one.naiveRequests}`],
  ['ratio', (one) => one.ratio.toFixed(2)],
  ['naive missed', (one) => String(one.naiveMissed)],
  ['statuses', (one) => statusText(one)],
  ['audit lag', (one) => (one.auditLagS === null ? '-' : `${one.auditLagS.toFixed(0)}s`)],
]

const statusText = (one: WorldResult): string =>
  Object.entries(one.statuses)
    .map(([status, count]) => `${count} ${status}`)
    .join(', ')

/** The table of results, a row for each, and under it the bars that each one fails. */
export const tableOf = (results: readonly WorldResult[]): string => {
  const rows = [
    COLUMNS.map(([name]) => name),
    ...results.map((one) => COLUMNS.map(([, of]) => of(one))),
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
  for (const one of results) {
    for (const [name, value] of Object.entries(one.measures)) {
      lines.push(`  ${one.world} ${one.seed}: ${name} ${value}`)
    }
    for (const failure of one.failures) lines.push(`! ${one.world} ${one.seed}: ${failure}`)
    for (const kind of ['notPublic', 'changed', 'earlyClaims'] as const)
      for (const text of one[kind].slice(0, LISTED)) lines.push(`    ${kind}: ${text}`)
  }
  return lines.join('\n')
}

const wholeNumber = (text: string, name: string): number => {
  const value = Number(text)
  if (!Number.isInteger(value) || value < 1) throw new Error(`--${name} wants a whole number`)
  return value
}

const main = async () => {
  const { values } = parseArgs({
    options: {
      worlds: { type: 'string', default: SCENARIO_NAMES.join(',') },
      seeds: { type: 'string', default: '1' },
      seed: { type: 'string' },
      minutes: { type: 'string', default: '5' },
      cadence: { type: 'string', default: '3' },
      parallel: { type: 'string', default: '4' },
      binary: { type: 'string' },
      'audit-interval': { type: 'string' },
      json: { type: 'string' },
    },
  })
  const binary = values.binary ?? process.env['FORUMD_BINARY']
  if (binary === undefined) throw new Error('--binary PATH or FORUMD_BINARY names the executable')
  const fresh = crypto.getRandomValues(new Uint32Array(8))
  const seeds =
    values.seed === undefined
      ? [...fresh].map((one) => (one % 900_000) + 1).slice(0, wholeNumber(values.seeds, 'seeds'))
      : values.seed.split(',').map((one) => wholeNumber(one, 'seed'))
  const interval = values['audit-interval']
  const jobs = values.worlds.split(',').flatMap((world) =>
    seeds.map((seed) => ({
      world,
      seed,
      durationMs: Math.round(Number(values.minutes) * 60_000),
      cadenceS: wholeNumber(values.cadence, 'cadence'),
      auditIntervalS: interval === undefined ? null : wholeNumber(interval, 'audit-interval'),
      binary,
    })),
  )
  console.log(`seeds ${seeds.join(',')}; ${jobs.length} worlds of ${values.minutes} minutes`)
  const results = await runAll(jobs, wholeNumber(values.parallel, 'parallel'), (one) => {
    const outcome = one.failures.length === 0 ? 'holds' : one.failures.join('; ')
    console.log(`${one.world} ${one.seed}: ${outcome}`)
  })
  console.log(`\n${tableOf(results)}`)
  if (values.json !== undefined) writeFileSync(values.json, JSON.stringify(results, null, 1))
  process.exitCode = results.every((one) => one.failures.length === 0) ? 0 : 1
}

const oneWorld = async (text: string, file: string) => {
  const options: unknown = JSON.parse(text)
  if (!isOptions(options)) throw new Error('no options of a world')
  writeFileSync(file, JSON.stringify(await runWorld(options)))
  process.exit(0)
}

if (import.meta.main) {
  const at = Bun.argv.indexOf(CHILD_FLAG)
  if (at < 0) await main()
  else await oneWorld(Bun.argv[at + 1] ?? '', Bun.argv[at + 2] ?? '')
}
