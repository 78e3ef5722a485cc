import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export type Folder = Disposable & { path: string; file(name: string): string }

/** A folder of one test's own, gone when the test is. */
export function tempFolder(parent = tmpdir()): Folder {
  const path = mkdtempSync(join(parent, 'forumd-test-'))
  return {
    path,
    file: (name) => join(path, name),
    [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }),
  }
}
