import { chmodSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'

import { errorCode } from '../../core/base/errors.ts'
import { type InstanceFiles, syncPath } from '../maintenance/paths.ts'

// An unmounted volume leaves an empty folder, which looks like that of a first start. Only what is kept outside of the
// folder can tell the two apart.

/** The folder has held an instance, and its database is gone. Exit 78: a restart would not help. */
export class DatabaseMissing extends Error {
  override name = 'DatabaseMissing'
}

/** The database is sound, and not the one that belongs here. Exit 78: a restart would not help. */
class WrongInstance extends Error {
  override name = 'WrongInstance'
}

/** `serve --new` met a database. */
class DatabaseExists extends Error {
  override name = 'DatabaseExists'
}

const INSTANCE_ID = /^[\w-]{8,64}$/

/** The instance that belongs in the folder; null where none is recorded. Throws WrongInstance where the record is no record. */
function readRecord({ record }: InstanceFiles): string | null {
  if (record === '') return null
  let text: string
  try {
    text = readFileSync(record, 'utf8')
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes(errorCode(error))) return null
    throw error
  }
  const id = text.split('\n')[0] ?? ''
  if (INSTANCE_ID.test(id)) return id
  throw new WrongInstance(
    `${record} names no instance: put it back, or remove it once ${dirname(record)} and the data folder are the right ones; the next start writes it again`,
  )
}

/** True where there is no such file. Throws the error of the system where this cannot be known. */
function isAbsent(path: string): boolean {
  try {
    statSync(path)
    return false
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes(errorCode(error))) return true
    throw error
  }
}

/** Throws DatabaseMissing where the database is absent although there was one. Writes nothing. */
export function requireDatabase(paths: InstanceFiles): void {
  const { dir, db, marker, record } = paths
  if (!isAbsent(db)) return
  const restore = 'put the newest backup back: forumd restore FILE'
  const begin = 'only forumd serve --new begins with an empty database'
  const id = readRecord(paths)
  if (id !== null)
    throw new DatabaseMissing(
      `${db} is missing, and ${record} says that ${dir} holds instance ${id}: mount the volume that belongs at ${dir} (findmnt --target ${dir} shows what is there now), or ${restore}; ${begin}`,
    )
  if (!isAbsent(marker))
    throw new DatabaseMissing(
      `${db} is missing although ${marker} says that this folder held one: ${restore}; ${begin}`,
    )
}

/** Throws WrongInstance where the record names another instance than the one in the folder. Writes nothing. */
export function requireRecorded(paths: InstanceFiles, instance_id: string): void {
  const { dir, record } = paths
  const recorded = readRecord(paths)
  if (recorded !== null && recorded !== instance_id)
    throw new WrongInstance(
      `${dir} holds instance ${instance_id}, and ${record} says that instance ${recorded} belongs there: mount the right volume at ${dir}, or correct [storage].dir; if this folder is meant, remove ${record}`,
    )
}

/** Records the instance of the folder where none is recorded. Answers why it could not be written; null when it stands. */
export const keepRecord = (paths: InstanceFiles, instance_id: string): string | null =>
  readRecord(paths) === null ? writeRecord(paths, instance_id) : null

/** Records which instance the folder holds, in place of any earlier record. Answers why that could not be done; null when it was. */
export function writeRecord({ dir, record }: InstanceFiles, instance_id: string): string | null {
  if (record === '') return null
  const temporary = `${record}.new`
  try {
    writeFileSync(
      temporary,
      `${instance_id}\n# The instance in ${dir}. Where that folder holds no or another database, forumd refuses to start.\n`,
    )
    // It is no secret, and commands of other users have to find it.
    chmodSync(temporary, 0o644)
    syncPath(temporary)
    renameSync(temporary, record)
    syncPath(dirname(record))
    return null
  } catch (error) {
    try {
      rmSync(temporary, { force: true })
    } catch {
      // Where nothing can be written, as below a read-only /etc, nothing was.
    }
    return error instanceof Error ? error.message : String(error)
  }
}

/**
 * Forgets which instance belongs in a folder that holds none, so that the next start makes a new one. Throws
 * DatabaseExists where there is one, and then has changed nothing.
 */
export function forgetInstance({ db, marker, record }: InstanceFiles): void {
  if (!isAbsent(db))
    throw new DatabaseExists(
      `--new makes a database where there is none, and ${db} is one: leave --new out, or move that file away first`,
    )
  for (const file of [record, marker]) if (file !== '') rmSync(file, { force: true })
}
