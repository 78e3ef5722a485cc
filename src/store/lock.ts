import { Database, SQLiteError } from 'bun:sqlite'
import { existsSync } from 'node:fs'

import { giveToOwner } from './files.ts'

/** Another process holds the data folder. */
export class InstanceLocked extends Error {
  override name = 'InstanceLocked'
}

/** A folder that is held. */
export type Lock = { release(): void }

/**
 * Takes a folder's lock for as long as this process lives, or throws InstanceLocked at once. The lock is SQLite's own
 * on a file apart: the kernel drops it with the process, so a kill leaves nothing behind to clean up. The file must not
 * be opened anywhere else in this process, for closing any descriptor of it would drop the lock.
 */
export function takeLock(path: string): Lock {
  const is_new = !existsSync(path)
  const held = new Database(path, { create: true, readwrite: true, strict: true })
  try {
    held.run('PRAGMA busy_timeout = 0')
    held.run('BEGIN EXCLUSIVE')
    if (is_new) giveToOwner(path)
  } catch (error) {
    held.close()
    // Whatever else it is, a folder that may not be written to or a full disk, has to be told as what it is.
    if (error instanceof SQLiteError && /^SQLITE_(BUSY|LOCKED)/.test(error.code ?? ''))
      throw new InstanceLocked(
        `another forumd is using this data folder (${path} is locked): stop that one first, or name another [storage].dir`,
      )
    throw error
  }
  return { release: () => held.close() }
}
