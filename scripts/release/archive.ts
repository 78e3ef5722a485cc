import { chmodSync, copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

import { runCommand } from './run-command.ts'

const root = join(import.meta.dir, '../..')

/** Files packed with the executable, by their path in the checkout. */
const BESIDE: readonly string[] = [
  'LICENSE',
  'README.md',
  'CHANGELOG.md',
  'config.example.toml',
  'scripts/install.sh',
]

type Packing = { name: string; executable: string; notices: string; created_at: Date; out: string }

/**
 * Packs an executable with the files that its installation needs: NAME.tar.gz in `out`, with all files in a
 * folder NAME. Owners, times and order are fixed. Returns the path.
 */
export async function pack({
  name,
  executable,
  notices,
  created_at,
  out,
}: Packing): Promise<string> {
  const folder = join(out, name)
  mkdirSync(folder)
  copyFileSync(executable, join(folder, 'forumd'))
  chmodSync(join(folder, 'forumd'), 0o755)
  for (const path of BESIDE) {
    const file = join(folder, path.slice(path.lastIndexOf('/') + 1))
    writeFileSync(file, readFileSync(join(root, path)))
    chmodSync(file, path.endsWith('.sh') ? 0o755 : 0o644)
  }
  writeFileSync(join(folder, 'THIRD-PARTY-NOTICES'), notices, { mode: 0o644 })
  chmodSync(folder, 0o755)
  const tar = join(out, `${name}.tar`)
  const fixed = ['--sort=name', '--owner=0', '--group=0', '--numeric-owner', '--format=gnu']
  await runCommand([
    'tar',
    ...fixed,
    `--mtime=@${created_at.getTime() / 1000}`,
    '-C',
    out,
    '-cf',
    tar,
    name,
  ])
  // Without a name and a timestamp inside.
  await runCommand(['gzip', '-9', '--no-name', '--force', tar])
  return `${tar}.gz`
}
