import {
  closeSync,
  existsSync,
  fsyncSync,
  lchownSync,
  linkSync,
  openSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { dirname } from 'node:path'

/** Makes what was written to a file, or which files a folder has, survive a power cut. */
export function syncPath(path: string): void {
  const handle = openSync(path, 'r')
  try {
    fsyncSync(handle)
  } finally {
    closeSync(handle)
  }
}

/** What root has just made is whose the folder is, as SQLite has it with what lies beside a database: the daemon is not root. */
export function giveToOwner(path: string): void {
  if (process.getuid?.() !== 0) return
  const { uid, gid } = statSync(dirname(path))
  // Of the folder's owner nobody knows what a name leads to.
  lchownSync(path, uid, gid)
}

/** Gives a finished file its name, all or nothing. False when the name was taken in the meantime. */
export function publish(temporary: string, path: string): boolean {
  try {
    giveToOwner(temporary)
    syncPath(temporary)
    linkSync(temporary, path)
  } catch (error) {
    if (existsSync(path)) return false
    throw error
  } finally {
    rmSync(temporary, { force: true })
  }
  syncPath(dirname(path))
  return true
}

/** The bytes of a file that only its owner may read, made of `fresh` bytes when it is not there yet. */
export function readOrMake(path: string, temporary: string, fresh: () => Uint8Array): Uint8Array {
  if (!existsSync(path)) {
    writeFileSync(temporary, fresh(), { mode: 0o600, flag: 'wx' })
    publish(temporary, path)
  }
  return readFileSync(path)
}
