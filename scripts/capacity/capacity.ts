/**
 * The capacity model: `bun run capacity` writes its tables into docs/capacity.md. The model is scripts/capacity/model.ts, its
 * figures are those of docs/benchmarks.md and docs/benchmarks.json (scripts/capacity/figures.ts) and a few points of its own.
 *
 *     bun run capacity              writes the tables
 *     bun run capacity --check      short measurements beside the predictions; exit code 1 if one is too far off
 *     bun run capacity --measure    measures the model's own points again, into scripts/capacity/points.json
 *
 * Both measure the executable that FORUMD_BINARY names, or build it, and take ten minutes. `--most N` is the largest number of
 * monitors to measure the memory of (a million: 10 GB).
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'

import { builtFrom } from '../bars/binary.ts'
import { machine, revision } from '../bench/figures/save-results.ts'
import { check, isWithin } from './check.ts'
import { measureForums, measureMemory } from './measure.ts'
import { withSection } from './tables.ts'

const { values } = parseArgs({
  options: {
    check: { type: 'boolean', default: false },
    measure: { type: 'boolean', default: false },
    most: { type: 'string', default: '100000' },
  },
})
const root = join(import.meta.dir, '../..')
const PAGE = join(root, 'docs/capacity.md')
const POINTS = join(root, 'scripts/capacity/points.json')
const MONITORS = [1, 1000, 10_000, 100_000, 1_000_000].filter((it) => it <= Number(values.most))
const FORUMS = [1, 20, 80]
const FORUM_MINUTES = 2

/** Runs with an executable in FORUMD_BINARY, which the processes that are started read. */
async function withExecutable(run: () => Promise<void>): Promise<void> {
  if (process.env['FORUMD_BINARY'] !== undefined) return run()
  const dir = mkdtempSync(join(tmpdir(), 'forumd-capacity-'))
  try {
    const FORUMD_BINARY = await builtFrom(root, join(dir, 'forumd'))
    const child = Bun.spawn([process.execPath, import.meta.path, ...process.argv.slice(2)], {
      env: { ...process.env, FORUMD_BINARY },
      stdio: ['ignore', 'inherit', 'inherit'],
    })
    process.exitCode = await child.exited
  } finally {
    rmSync(dir, { recursive: true, force: true })
  }
}

async function checkModel(): Promise<void> {
  console.log(`load ${loadavg()[0]?.toFixed(1)}; predicted, measured, measured of predicted`)
  for await (const it of check()) {
    const [predicted, measured] = [it.predicted, it.measured].map((value) => value.toPrecision(4))
    const ratio = (it.measured / it.predicted).toFixed(2)
    if (!isWithin(it)) process.exitCode = 1
    const verdict = isWithin(it) ? 'ok  ' : 'OVER'
    console.log(`${verdict} ${it.name}: ${predicted}, ${measured}, ${ratio} (within ${it.within})`)
  }
  console.log(`load ${loadavg()[0]?.toFixed(1)}`)
}

const rounded = (_: string, value: unknown) =>
  typeof value === 'number' ? Number(value.toPrecision(4)) : value

async function measurePoints(): Promise<void> {
  const load = loadavg()[0] ?? NaN
  const memory = []
  for (const monitors of MONITORS) memory.push(await measureMemory(monitors))
  const forums = []
  for (const it of FORUMS) forums.push(await measureForums(it, FORUM_MINUTES))
  const at = new Date().toLocaleDateString('en-GB', { dateStyle: 'long' })
  const points = { at, machine: machine(), revision: revision(), load, memory, forums }
  await Bun.write(POINTS, `${JSON.stringify(points, rounded, 2)}\n`)
}

if (values.check) await withExecutable(checkModel)
else if (values.measure) await withExecutable(measurePoints)
else {
  await Bun.write(PAGE, withSection(await Bun.file(PAGE).text()))
  Bun.spawnSync([process.execPath, 'fmt', PAGE])
}
