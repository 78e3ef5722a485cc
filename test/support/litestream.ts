import { join } from 'node:path'

import { Glob } from 'bun'

/** The Litestream of this machine: that of npm, which is there on Linux x64 alone. Null: none. */
export function litestreamProgram(): string | null {
  const folder = join(import.meta.dir, '../../node_modules/@flydotio/litestream-linux-x64')
  try {
    const [found] = [...new Glob('litestream').scanSync(folder)]
    return found === undefined ? null : join(folder, found)
  } catch {
    return null
  }
}
