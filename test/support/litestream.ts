import { writeFileSync } from 'node:fs'
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

/** The commands of `[standby]` for a node, with a replica in a folder of files, as docs/high-availability.md has them. */
export function litestreamCommands(
  program: string,
  { dir, database, name, replicas }: Record<'dir' | 'database' | 'name' | 'replicas', string>,
): { replicate: string[]; restore: string[] } {
  const config = join(dir, `litestream-${name}.yml`)
  writeFileSync(
    config,
    `logging:
  level: warn
  stderr: true
dbs:
  - path: ${database}
    replicas:
      - type: file
        path: ${replicas}/${name}
        sync-interval: 250ms
`,
  )
  return {
    replicate: [program, 'replicate', '-config', config],
    // A word that begins with `file:` would name a file with the value.
    restore: [
      'sh',
      '-c',
      `exec ${program} restore -o "$1" "file://${replicas}/$2"`,
      'sh',
      '{target}',
      '{primary}',
    ],
  }
}
