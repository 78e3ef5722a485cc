import { chmodSync, copyFileSync } from 'node:fs'
import { join } from 'node:path'

/** Builds the executable of a source tree and moves it to a path that later builds do not overwrite. */
export async function builtFrom(tree: string, path: string): Promise<string> {
  const build = Bun.spawn([process.execPath, 'scripts/build/build.ts'], {
    cwd: tree,
    stdout: 'ignore',
    stderr: 'inherit',
  })
  if ((await build.exited) !== 0) throw new Error(`the executable of ${tree} could not be built`)
  copyFileSync(join(tree, 'dist/forumd'), path)
  chmodSync(path, 0o755)
  return path
}
