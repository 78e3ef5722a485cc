import { readFileSync } from 'node:fs'
import { join } from 'node:path'

import { runCommand } from '../release/run-command.ts'

/** Root of the checkout. */
export const ROOT = join(import.meta.dir, '../..')

/** Runs a command in the checkout. */
export const runHere = (...command: string[]) => runCommand(command, { cwd: ROOT })

/** Options of every package. */
export const PACKAGE_OPTIONS = {
  binary: { type: 'string' },
  arch: { type: 'string' },
  notices: { type: 'string' },
  out: { type: 'string', default: join(ROOT, 'dist') },
} as const

type PackageChoice = { binary?: string | undefined; arch?: string | undefined }

/** The executable that a package holds, built unless it is given; its architecture, and that of this machine. */
export async function packaged({ binary, arch }: PackageChoice) {
  if (binary === undefined) await runHere(process.execPath, join(ROOT, 'scripts/build/build.ts'))
  const own = (await runHere('dpkg', '--print-architecture')).trim()
  const chosen = arch ?? own
  if (chosen !== 'amd64' && chosen !== 'arm64')
    throw new Error(`--arch must be amd64 or arm64, not ${chosen}`)
  return { binary: binary ?? join(ROOT, 'dist/forumd'), arch: chosen, own } as const
}

/** SHA-256 of a file, in hexadecimal. */
export const sha256Of = (file: string): string =>
  new Bun.CryptoHasher('sha256').update(readFileSync(file)).digest('hex')
