/** The command of all worlds: each in a process of its own, so that no site waits for another, and a table of the results. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'

type Job = {
  readonly world: string
  readonly seed: number
  readonly durationMs: number
  readonly cadenceS: number
  readonly binary: string
  readonly dir: string
}

type Result = {
  readonly world: string
  readonly seed: number
  readonly failures: readonly string[]
}

type Runner<J extends Job, R extends Result> = {
  /** The script with `main`, which a child runs again. */
  readonly script: string
  readonly worlds: readonly string[]
  readonly expand: (names: string) => readonly string[]
  readonly minutes: string
  /** A further option, its default, and its place in a job. */
  readonly option: readonly [name: string, value: string]
  readonly jobOf: (job: Job, option: string) => J
  readonly run: (job: J) => Promise<R>
  readonly columns: readonly (readonly [name: string, of: (one: R) => string | number])[]
  /** Failures, and what is to be known of them; none: the world holds. */
  readonly accountOf: (one: R) => string[]
}

const GRACE_MS = 240_000
const CHILD_FLAG = '--one-world'

export const wholeNumber = (text: string, name: string, least = 1): number => {
  const value = Number(text)
  if (!Number.isInteger(value) || value < least) throw new Error(`--${name} wants a whole number`)
  return value
}

export const createRunner = <J extends Job, R extends Result>(runner: Runner<J, R>) => {
  const runInChild = async (job: Omit<J, 'dir'> & Omit<Job, 'dir'>): Promise<R> => {
    const dir = mkdtempSync(join(tmpdir(), 'forumd-world-'))
    const file = join(dir, 'result.json')
    const text = JSON.stringify({ ...job, dir: join(dir, 'forumd') })
    try {
      const child = Bun.spawn([process.execPath, runner.script, CHILD_FLAG, text, file], {
        stdin: 'ignore',
        stdout: 'inherit',
        stderr: 'pipe',
        timeout: job.durationMs + GRACE_MS,
      })
      const errors = await new Response(child.stderr).text()
      if ((await child.exited) !== 0)
        throw new Error(`world ${job.world}, seed ${job.seed}: ${errors.slice(-4000)}`)
      const result: R = JSON.parse(readFileSync(file, 'utf8'))
      return result
    } finally {
      rmSync(dir, { recursive: true, force: true })
    }
  }

  /** All jobs, at most `parallel` at once; the results are in their order. */
  const runAll = async (
    jobs: readonly (Omit<J, 'dir'> & Omit<Job, 'dir'>)[],
    parallel: number,
    onResult: (result: R) => void = () => {},
  ): Promise<R[]> => {
    const results: (R | undefined)[] = jobs.map(() => undefined)
    const queue = [...jobs.entries()]
    const worker = async () => {
      for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
        const result = await runInChild(next[1])
        results[next[0]] = result
        onResult(result)
      }
    }
    await Promise.all(Array.from({ length: parallel }, worker))
    return results.filter((result) => result !== undefined)
  }

  /** A row for each result, and under them what is to be known of those that failed. */
  const tableOf = (results: readonly R[]): string => {
    const { columns, accountOf } = runner
    const rows = [
      columns.map(([name]) => name),
      ...results.map((one) => columns.map(([, of]) => String(of(one)))),
    ]
    const widths = columns.map((_, at) => Math.max(...rows.map((row) => (row[at] ?? '').length)))
    const lines = rows.map((row) =>
      row
        .map((cell, at) => cell.padEnd(widths[at] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    return [...lines, ...results.flatMap(accountOf)].join('\n')
  }

  const runCommand = async () => {
    const [name, value] = runner.option
    const { values } = parseArgs({
      options: {
        worlds: { type: 'string', default: runner.worlds.join(',') },
        seeds: { type: 'string', default: '1' },
        seed: { type: 'string' },
        minutes: { type: 'string', default: runner.minutes },
        cadence: { type: 'string', default: '3' },
        parallel: { type: 'string', default: '4' },
        binary: { type: 'string' },
        json: { type: 'string' },
        [name]: { type: 'string', default: value },
      },
    })
    const binary = values.binary ?? process.env['FORUMD_BINARY']
    if (binary === undefined) throw new Error('--binary PATH or FORUMD_BINARY names the executable')
    const fresh = [...crypto.getRandomValues(new Uint32Array(12))].map((one) => (one % 900_000) + 1)
    const seeds =
      values.seed?.split(',').map((one) => wholeNumber(one, 'seed')) ??
      fresh.slice(0, wholeNumber(values.seeds, 'seeds'))
    const jobs = runner.expand(values.worlds).flatMap((world) =>
      seeds.map((seed) => {
        const durationMs = Math.round(Number(values.minutes) * 60_000)
        const cadenceS = wholeNumber(values.cadence, 'cadence')
        const job = { world, seed, durationMs, cadenceS, binary, dir: '' }
        return runner.jobOf(job, String(Reflect.get(values, name)))
      }),
    )
    console.log(`seeds ${seeds.join(',')}; ${jobs.length} worlds of ${values.minutes} minutes`)
    const done: R[] = []
    const results = await runAll(jobs, wholeNumber(values.parallel, 'parallel'), (one) => {
      done.push(one)
      const account = runner.accountOf(one)
      const holds = one.failures.length === 0
      console.log([...(holds ? [`${one.world} ${one.seed}: holds`] : []), ...account].join('\n'))
      if (values.json !== undefined) writeFileSync(values.json, JSON.stringify(done))
    })
    console.log(`\n${tableOf(results)}`)
    process.exitCode = results.every((one) => one.failures.length === 0) ? 0 : 1
  }

  /** The command, or in a child one world. */
  const main = async () => {
    const at = Bun.argv.indexOf(CHILD_FLAG)
    if (at < 0) return runCommand()
    const job: J = JSON.parse(Bun.argv[at + 1] ?? '')
    writeFileSync(Bun.argv[at + 2] ?? '', JSON.stringify(await runner.run(job)))
    process.exit(0)
  }

  return { runAll, tableOf, main }
}
