import { readFileSync } from 'node:fs'
import { join } from 'node:path'

import * as z from 'zod'

import { devDependencies } from '../../package.json'
import locked from './package-lock.json'
import { runCommand } from './run-command.ts'

/** Version of Bun that forumd is developed, built and released with. */
export const BUN = devDependencies['bun-types']

const packages = z
  .record(
    z.string(),
    z.object({ version: z.string().optional(), integrity: z.string().optional() }),
  )
  .parse(locked.packages)

/**
 * SHA-512, in hex, of the npm package of a runtime.
 *
 * @throws {Error} if package-lock.json pins another version
 */
export function runtimeSha512(name: string, wanted = BUN): string {
  const { version, integrity } = packages[`node_modules/${name}`] ?? {}
  if (version !== wanted || integrity === undefined)
    throw new Error(
      `scripts/release has ${name} ${version ?? 'not at all'}, but forumd needs Bun ${wanted}: change scripts/release/package.json, then: npm install --force --package-lock-only --prefix scripts/release`,
    )
  return Buffer.from(integrity.replace('sha512-', ''), 'base64').toString('hex')
}

/** Downloads the missing runtimes from the npm registry; npm verifies them against package-lock.json. */
export async function fetchRuntimes(): Promise<void> {
  const wanted = readFileSync(join(import.meta.dir, 'package-lock.json'), 'utf8')
  const stamp = Bun.file(join(import.meta.dir, 'node_modules/.forumd-lock'))
  if ((await stamp.exists()) && (await stamp.text()) === wanted) return
  // Forced, because most of them are for other machines. Their install scripts are not run.
  const quiet = ['--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error']
  await runCommand(['npm', 'ci', '--force', ...quiet], { cwd: import.meta.dir })
  await stamp.write(wanted)
}

/** Path of the Bun executable for another machine. */
export const executableOf = (name: string): string =>
  join(import.meta.dir, 'node_modules', name, 'bin/bun')
