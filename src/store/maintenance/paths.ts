import { Database, SQLiteError } from 'bun:sqlite'
import {
  accessSync,
  closeSync,
  constants,
  existsSync,
  fsyncSync,
  openSync,
  readFileSync,
} from 'node:fs'
import { basename, dirname, join } from 'node:path'

import { openFolder } from './folder.ts'

/** The database is broken or not one of forumd. Exit 78: a restart would not help. */
export class DatabaseDamaged extends Error {
  override name = 'DatabaseDamaged'
}

/** The key that sealed this instance's secrets is missing. Exit 78: a restart would not help. */
export class KeyMissing extends Error {
  override name = 'KeyMissing'
}

export type InstancePaths = {
  dir: string
  /** Empty: the credential `secrets.key`, else `secrets.key` in the folder. */
  key_file: string
  /** Content of the key file, where this process cannot read it itself. */
  key_bytes?: Uint8Array | null
  /** The record outside of `dir` that names its instance; empty or absent: none is kept. */
  instance_file?: string
  clock: { now(): number }
  random: { uuid(): string; bytes(count: number): Uint8Array }
  /** systemd's credentials folder; default: its environment variable. */
  credentials_dir?: string | undefined
}

/** The files of an instance: its database, the marker of its existence, the key of its secrets, and the record. */
export type InstanceFiles = {
  dir: string
  db: string
  marker: string
  key: string
  /** Content of the key file, where this process cannot read it itself; else null. */
  key_bytes: Uint8Array | null
  /** Outside of `dir`, so that it is still there when the volume of `dir` is not; empty: none is kept. */
  record: string
}

export function pathsOf({
  dir,
  key_file,
  key_bytes = null,
  instance_file = '',
  credentials_dir = Bun.env['CREDENTIALS_DIRECTORY'],
}: Pick<
  InstancePaths,
  'dir' | 'key_file' | 'key_bytes' | 'instance_file' | 'credentials_dir'
>): InstanceFiles {
  const credential = credentials_dir ? join(credentials_dir, 'secrets.key') : null
  const own = join(dir, 'secrets.key')
  const key = key_file || (credential && existsSync(credential) ? credential : own)
  const [db, marker] = [join(dir, 'forumd.sqlite'), join(dir, 'instance.id')]
  return { dir, db, marker, key, key_bytes, record: instance_file }
}

export const databaseDamaged = ({ db }: InstanceFiles, what: string) =>
  new DatabaseDamaged(
    `${db} cannot be used: ${what}. Put the newest backup in its place, or recover the readable data with: sqlite3 ${db} .recover; to start with an empty database, move it away and run forumd serve --new`,
  )

/** Content of the key file; null when it is missing. */
export function readKey({
  key,
  key_bytes,
}: Pick<InstanceFiles, 'key' | 'key_bytes'>): Uint8Array | null {
  return key_bytes ?? (existsSync(key) ? readFileSync(key) : null)
}

/** Makes the content of a file, or the entries of a folder, survive a power cut. */
export function syncPath(path: string): void {
  const handle = openSync(path, 'r')
  try {
    fsyncSync(handle)
  } finally {
    closeSync(handle)
  }
}

/** Renames a finished file to its final name. False when the name was taken meanwhile. */
export function publishFile(temporary: string, path: string): boolean {
  using folder = openFolder(dirname(path))
  try {
    folder.link(basename(temporary), basename(path))
  } catch (error) {
    if (existsSync(path)) return false
    throw error
  } finally {
    folder.remove(basename(temporary))
  }
  folder.sync()
  return true
}

/** The bytes of a file that only its owner may read; created from `fresh` if it does not exist. */
export function readOrCreate(path: string, temporary: string, fresh: () => Uint8Array): Uint8Array {
  if (!existsSync(path)) {
    using folder = openFolder(dirname(path))
    using file = folder.create(basename(temporary))
    try {
      file.write(fresh())
      file.sync()
      publishFile(temporary, path)
    } finally {
      folder.remove(basename(temporary))
    }
  }
  return readFileSync(path)
}

/** Another process holds the data folder. */
export class InstanceLocked extends Error {
  override name = 'InstanceLocked'
}

export type Lock = { release(): void }

/**
 * Takes a folder's lock for the lifetime of this process. The lock is SQLite's own on a separate file: the kernel
 * releases it with the process, so a kill leaves nothing to clean up. The file must not be opened elsewhere in this
 * process, because closing any descriptor of it would release the lock.
 * @throws {InstanceLocked} at once, when another process holds it
 */
export function takeLock(path: string): Lock {
  // Of a file of another user SQLite says that no file can be opened, and which one it does not say.
  if (existsSync(path)) accessSync(path, constants.R_OK | constants.W_OK)
  const lock_db = new Database(path, { create: true, readwrite: true, strict: true })
  try {
    lock_db.run('PRAGMA busy_timeout = 0')
    lock_db.run('BEGIN EXCLUSIVE')
  } catch (error) {
    lock_db.close()
    // Any other failure, such as missing permission or a full disk, is reported as itself.
    if (error instanceof SQLiteError && /^SQLITE_(BUSY|LOCKED)/.test(error.code ?? ''))
      throw new InstanceLocked(
        `another forumd is using this data folder (${path} is locked): stop that one first, or name another [storage].dir`,
      )
    throw error
  }
  return { release: () => lock_db.close() }
}

/** True while a process holds a folder's lock. Changes nothing, not even the journal that a killed process has left. */
export function isLocked(path: string): boolean {
  if (!existsSync(path)) return false
  accessSync(path, constants.R_OK)
  const lock_db = new Database(path, { readonly: true, strict: true })
  try {
    lock_db.run('PRAGMA busy_timeout = 0')
    lock_db.query('SELECT 1 FROM sqlite_schema').get()
    return false
  } catch (error) {
    return error instanceof SQLiteError && /^SQLITE_(BUSY|LOCKED)/.test(error.code ?? '')
  } finally {
    lock_db.close()
  }
}
