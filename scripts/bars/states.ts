/**
 * Checks that a delivery is always in the state of a simple model: the test of states, over many sequences.
 *
 *     bun scripts/bars/states.ts [--runs 20000] [--seed N]
 */
import { join } from 'node:path'
import { parseArgs } from 'node:util'

import { SEED } from './seed.ts'

const { values } = parseArgs({
  options: {
    runs: { type: 'string', default: '20000' },
    seed: SEED,
  },
})
console.log(`${values.runs} sequences, seed ${values.seed}`)
const run = Bun.spawn([process.execPath, 'test', 'test/unit/delivery/states.test.ts'], {
  cwd: join(import.meta.dir, '../..'),
  env: { ...process.env, FORUMD_RUNS: values.runs, FORUMD_SEED: values.seed },
  stdout: 'inherit',
  stderr: 'inherit',
})
process.exit(await run.exited)
