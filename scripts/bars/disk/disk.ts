/**
 * Checks that a failing disk loses no acknowledged data. Four parts, all by default: `errors` fails the nth
 * write or sync, `full` fills the disk for a while, `damage` starts on a damaged database, `power` cuts the
 * power below the file system. Exit code 0 only if every part passes.
 *
 *     bun run bar:disk [errors] [full] [damage] [power] [--seed N]
 *                      [--from 1] [--to 300] [--step 1] [--lanes 2] [--full-s 600] [--cuts 200]
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'

import { builtFrom } from '../binary.ts'
import { SEED } from '../seed.ts'
import { DISK_SIZES } from './options.ts'

const root = join(import.meta.dir, '../../..')
const PARTS = ['errors', 'full', 'damage', 'power']
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { ...DISK_SIZES, seed: SEED },
})
const unknown = positionals.find((it) => !PARTS.includes(it))
if (unknown !== undefined) {
  console.error(`there is no part ${unknown}; there are ${PARTS.join(', ')}`)
  process.exit(64)
}

const dir = mkdtempSync(join(tmpdir(), 'forumd-bar-'))
try {
  const program = process.env['FORUMD_BINARY'] ?? (await builtFrom(root, join(dir, 'forumd')))
  console.log(`seed ${values.seed}, load ${loadavg()[0]?.toFixed(1)}`)
  const verdicts: boolean[] = []
  for (const part of positionals.length > 0 ? positionals : PARTS) {
    const options = Object.entries(values).flatMap(([name, value]) => [`--${name}`, value])
    const run = Bun.spawn([process.execPath, 'scripts/bars/disk/run.ts', part, ...options], {
      cwd: root,
      env: { ...process.env, FORUMD_BINARY: program },
      stdout: 'inherit',
      stderr: 'inherit',
    })
    verdicts.push((await run.exited) === 0)
    console.log(
      `${part}: ${verdicts.at(-1) ? 'passed' : 'FAILED'}, load ${loadavg()[0]?.toFixed(1)}`,
    )
  }
  process.exitCode = verdicts.every(Boolean) ? 0 : 1
} finally {
  rmSync(dir, { recursive: true, force: true })
}
