/**
 * Checks that no data is lost when the process dies, and that the check would detect a loss. Kills the
 * executable a thousand times at random and two hundred times at a system call, then less often two executables
 * with a planted fault, whose losses must be detected.
 *
 *     bun run bar:kill [--kills 1000] [--syscalls 200] [--mutant-kills 60] [--items 105] [--places 20] [--seed N]
 */
import { loadavg } from 'node:os'
import { parseArgs } from 'node:util'

import * as z from 'zod'

import { type Mutant, root, runOn, withPlanted } from '../mutants.ts'
import { KILL_MUTANTS } from '../planted.ts'
import { SEED } from '../seed.ts'
import { KILL_SIZES } from './options.ts'

const { values } = parseArgs({
  options: {
    ...KILL_SIZES,
    'mutant-kills': { type: 'string', default: '60' },
    seed: SEED,
  },
})

const figures = z.looseObject({ lost: z.number(), faults: z.array(z.string()) })

/** One run on the executable of a tree: its figures (null if it was aborted), and whether it passed. */
async function run(tree: string, kills: string, syscalls: string) {
  const { items, places, seed } = values
  const options = { kills, syscalls, items, places, seed }
  const { passed, report } = await runOn(tree, 'scripts/bars/kill/run.ts', options)
  return { passed, report: report === null ? null : figures.parse(report) }
}

async function isNoticed(mutant: Mutant): Promise<boolean> {
  const { passed, report } = await withPlanted(mutant, (it) => run(it, values['mutant-kills'], '0'))
  // Only a loss counts as detection.
  const noticed = !passed && report !== null && report.lost > 0
  console.log(
    `mutant, ${mutant.name}: ${noticed ? `detected, ${report.lost} lost` : 'NOT DETECTED'}`,
  )
  return noticed
}

const load = () => loadavg()[0]?.toFixed(1)
console.log(`seed ${values.seed}, load ${load()}`)
const { passed, report } = await run(root, values.kills, values.syscalls)
console.log(JSON.stringify(report, null, 2))
console.log(`${passed ? 'passed' : 'FAILED'}, load ${load()}`)
const noticed: boolean[] = []
for (const mutant of KILL_MUTANTS) noticed.push(await isNoticed(mutant))
process.exit(passed && noticed.every(Boolean) ? 0 : 1)
