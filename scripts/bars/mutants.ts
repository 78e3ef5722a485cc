import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { builtFrom } from './binary.ts'

/** A fault to plant: one text of a file replaced by another. */
export type Mutant = { name: string; file: string; from: string; to: string }

/** Root of the checkout. */
export const root = join(import.meta.dir, '../..')

/**
 * Runs a script of a tree on that tree's executable, which FORUMD_BINARY names. Returns whether its exit code
 * was 0, and its last line if that is JSON, else null.
 */
export async function runOn(
  tree: string,
  script: string,
  options: Record<string, string>,
): Promise<{ passed: boolean; report: unknown }> {
  const dir = mkdtempSync(join(tmpdir(), 'forumd-bar-'))
  try {
    const program = await builtFrom(tree, join(dir, 'forumd'))
    const flags = Object.entries(options).flatMap(([name, value]) => [`--${name}`, value])
    const child = Bun.spawn([process.execPath, script, ...flags], {
      cwd: tree,
      env: { ...process.env, FORUMD_BINARY: program },
      stdout: 'pipe',
      stderr: 'inherit',
    })
    const last = (await new Response(child.stdout).text()).trim().split('\n').at(-1) ?? ''
    const passed = (await child.exited) === 0
    return { passed, report: last.startsWith('{') ? JSON.parse(last) : null }
  } finally {
    rmSync(dir, { recursive: true, force: true })
  }
}

/** Everything that a build of the executable reads. */
const PARTS = [
  'src',
  'sandbox',
  'test',
  'scripts',
  'docs',
  'config.example.toml',
  'package.json',
  'bunfig.toml',
  'tsconfig.json',
]

/**
 * Calls `use` with a copy of the tree that has the fault.
 *
 * @throws {Error} if the file no longer contains the text
 */
export async function withPlanted<T>(
  { name, file, from, to }: Mutant,
  use: (tree: string) => Promise<T>,
): Promise<T> {
  const tree = mkdtempSync(join(tmpdir(), 'forumd-mutant-'))
  try {
    for (const part of PARTS) cpSync(join(root, part), join(tree, part), { recursive: true })
    symlinkSync(join(root, 'node_modules'), join(tree, 'node_modules'))
    const text = readFileSync(join(tree, file), 'utf8')
    if (!text.includes(from)) throw new Error(`${file} has changed: plant "${name}" again`)
    writeFileSync(join(tree, file), text.replace(from, to))
    return await use(tree)
  } finally {
    rmSync(tree, { recursive: true, force: true })
  }
}
