import { existsSync, readdirSync, rmSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/
/** What SQLite keeps beside a database. */
const BESIDE = /-(wal|shm|journal)$/
const SNAPSHOT_PART = /^forumd-\d{8}T\d{6}Z\.sqlite\.part$/

/**
 * Removes what a process that died while it made these files has left of them: copies under the same name and a random
 * id, which nobody else writes. A file must be there itself, so that no such copy is the only one.
 */
export function removeLeftovers(finished: readonly string[]): void {
  for (const path of finished) {
    const before = `${basename(path)}.`
    if (existsSync(path))
      removeFrom(
        dirname(path),
        (name) => name.startsWith(before) && UUID.test(name.slice(before.length)),
      )
  }
}

/** Removes the beginnings of snapshots that were never finished. */
export const removeParts = (folder: string): void =>
  removeFrom(folder, (name) => SNAPSHOT_PART.test(name))

function removeFrom(folder: string, isOurs: (name: string) => boolean): void {
  try {
    for (const name of readdirSync(folder))
      if (isOurs(name.replace(BESIDE, ''))) rmSync(join(folder, name), { force: true })
  } catch {
    // A folder that is not there, or that we may not look into: what lies about takes room, and keeps nobody from work.
  }
}
