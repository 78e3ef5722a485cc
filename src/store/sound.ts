import { accessSync, closeSync, constants, existsSync, openSync, readSync, statSync } from 'node:fs'

import { APPLICATION_ID, connect, type Db, isStorageError } from './db.ts'
import { InstanceLocked, type Lock, takeLock } from './lock.ts'
import { damaged, type Paths } from './place.ts'
import { failedLately } from './storage-errors.ts'
import { refuseUnreleased } from './unreleased.ts'
import { isWalBroken } from './wal.ts'

/**
 * A database of more than this is not looked through before it is used: that takes 2 to 3 s for 800 MB, and a quarter of a
 * minute where none of it is in memory. It is after the storage has failed, every snapshot reads all of it, and so does doctor.
 */
const LOOKED_THROUGH_MAX_BYTES = 64 * 1024 * 1024
const HEADER_BYTES = 72
const MAGIC = 'SQLite format 3\u0000'
const APPLICATION_ID_AT = 68

function openExisting(paths: Paths, { check }: { check: boolean }): Db {
  const header = Buffer.alloc(HEADER_BYTES)
  const handle = openSync(paths.db, 'r')
  try {
    readSync(handle, header)
  } finally {
    closeSync(handle)
  }
  if (header.toString('latin1', 0, MAGIC.length) !== MAGIC)
    throw damaged(paths, 'it is empty or no database')
  const application_id = header.readUInt32BE(APPLICATION_ID_AT)
  refuseUnreleased(application_id, paths.db)
  if (application_id !== APPLICATION_ID)
    throw damaged(paths, 'it is the database of another program')
  try {
    const db = connect(paths.db)
    if (!check) return db
    const found = db.query<{ quick_check: string }, []>('PRAGMA quick_check(1)').get()?.quick_check
    if (found === 'ok') return db
    db.close()
    throw damaged(paths, found ?? 'it cannot be checked')
  } catch (error) {
    // A disk that fails to read may read the next time; a file that ends too soon will not grow.
    const code = isStorageError(error) ? (error.code ?? '') : ''
    if (/^SQLITE_(CANTOPEN|READONLY)/.test(code)) requireWritable(paths)
    if (/^SQLITE_(CORRUPT|NOTADB|CANTOPEN|READONLY|IOERR_SHORT_READ)/.test(code))
      throw damaged(paths, 'it cannot be read')
    throw error
  }
}

/** A folder or a file that we may not write to has nothing to do with what is in it. Throws what the system says. */
function requireWritable({ dir, db }: Paths) {
  accessSync(dir, constants.W_OK | constants.X_OK)
  for (const path of [db, `${db}-wal`, `${db}-shm`])
    if (existsSync(path)) accessSync(path, constants.R_OK | constants.W_OK)
}

/**
 * Looks at a database before anything is written: at all of it where it is small, or the storage has failed lately. While a
 * daemon runs it has been looked at, and is being written.
 */
export function openSound(
  paths: Paths,
  { mode, lock_path, now }: { mode: 'serve' | 'beside'; lock_path: string; now: number },
): Db {
  const held = mode === 'serve' ? null : takeIfFree(lock_path)
  const alone = mode === 'serve' || held !== null
  try {
    if (alone) checkLog(paths)
    return openExisting(paths, { check: alone && (isSmall(paths) || failedLately(paths.dir, now)) })
  } finally {
    held?.release()
  }
}

const isSmall = ({ db }: Paths): boolean => statSync(db).size <= LOOKED_THROUGH_MAX_BYTES

/** Opening would cut a damaged log off where the damage is. */
function checkLog(paths: Paths) {
  const log = `${paths.db}-wal`
  if (existsSync(log) && isWalBroken(log))
    throw damaged(paths, `what was written last, in ${log}, is damaged in the middle`)
}

function takeIfFree(lock_path: string): Lock | null {
  try {
    return takeLock(lock_path)
  } catch (error) {
    if (error instanceof InstanceLocked) return null
    throw error
  }
}
