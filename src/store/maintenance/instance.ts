import { existsSync, mkdirSync, rmSync, statSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'

import { createRing, type Ring } from '../../core/base/secrets.ts'
import { connect, type Db, migrate, schemaVersion } from '../db/connection.ts'
import { migrations } from '../db/migrations.ts'
import { noteCopy } from '../startup/copies.ts'
import { keepRecord, requireDatabase, requireRecorded } from '../startup/record.ts'
import { removePartialSnapshots, removeTempFiles } from './disk.ts'
import { openFolder } from './folder.ts'
import { openChecked, requireKnown } from './integrity.ts'
import {
  databaseDamaged,
  type InstanceFiles,
  type InstancePaths,
  KeyMissing,
  type Lock,
  pathsOf,
  publishFile,
  readKey,
  readOrCreate,
  syncPath,
  takeLock,
} from './paths.ts'

export type Instance = {
  db: Db
  path: string
  instance_id: string
  /** Id of this run, new in both modes; leases and holds of other runs are dead. */
  run_id: string
  ring: Ring
  /** Reason for which the record outside of the folder could not be written; null when it exists, or none is kept. */
  unrecorded: string | null
  /** True if the files are a copy of those of the last start. */
  is_copy: boolean
  /** Closes the database and releases the folder. */
  close(): void
}

const KEY_BYTES = 32
/**
 * Opens the instance of a data folder, creating it when the folder is new. `serve` locks the folder; `beside` writes
 * next to a running daemon. Never replaces a lost file.
 * @throws {InstanceLocked} in mode `serve`, when another daemon holds the folder
 * @throws {DatabaseMissing | DatabaseDamaged | WrongInstance | KeyMissing | NewerDatabase | OtherSchema}
 * when the files of the folder cannot be used
 */
export function openInstance(
  location: InstancePaths,
  { mode }: { mode: 'serve' | 'beside' },
): Instance {
  const { dir, clock, random } = location
  const paths = pathsOf(location)
  // Before anything is written: the volume may not be mounted on the folder.
  requireDatabase(paths)
  if (existsSync(paths.db)) requireKnown(paths)
  if (!existsSync(dir)) mkdirSync(dir, { recursive: true, mode: 0o700 })
  const lock_path = join(dir, 'lock.db')
  const lock = mode === 'serve' ? takeLock(lock_path) : null
  const undo: Lock[] = lock ? [lock] : []
  try {
    requireKeyPlace(paths)
    if (!existsSync(paths.db)) create(paths, location)
    const ring = openRing(paths, random)
    const db = openChecked(paths, { mode, lock_path, now: clock.now() })
    undo.unshift({ release: () => db.close() })
    const own = instanceOf(db, paths)
    requireRecorded(paths, own.id)
    bringUpToDate(db, mode, lock_path)
    identify(db, own, paths, ring, random)
    const instance_id = own.id
    const unrecorded = keepRecord(paths, instance_id)
    const run_id = random.uuid()
    let is_copy = false
    if (mode === 'serve') {
      is_copy = noteCopy(db, paths, clock.now())
      // Safe only now, when all files exist: temporary files beside them were left by a process that died while
      // creating them.
      removeTempFiles([paths.db, paths.key, paths.marker])
      removePartialSnapshots(join(dir, 'snapshots'))
    }
    const close = () => undo.forEach((it) => it.release())
    return { db, path: paths.db, instance_id, run_id, ring, unrecorded, is_copy, close }
  } catch (error) {
    for (const it of undo) it.release()
    throw error
  }
}

/** Without this check, a missing folder or a folder as path would give only the system's error. */
function requireKeyPlace({ key, key_bytes }: InstanceFiles) {
  if (key_bytes !== null) return
  const folder = dirname(key)
  if (!existsSync(folder))
    throw new KeyMissing(
      `the folder of the key file ${key} is not there: make or mount it, or change [storage].key_file`,
    )
  if (existsSync(key) && statSync(key).isDirectory())
    throw new KeyMissing(`the key file ${key} is a folder: name a file in [storage].key_file`)
}

/**
 * Creates key and database under temporary names first: a crash, or another process doing the same, leaves all or
 * nothing.
 */
function create(paths: InstanceFiles, { random }: InstancePaths) {
  if (paths.key_bytes === null)
    readOrCreate(paths.key, `${paths.key}.${random.uuid()}`, () => random.bytes(KEY_BYTES))
  const temporary = `${paths.db}.${random.uuid()}`
  try {
    begin(temporary, random.uuid())
    publishFile(temporary, paths.db)
  } catch (error) {
    // Another process was quicker, and removed our files as leftovers.
    if (!existsSync(paths.db)) throw error
  } finally {
    // A start on a full disk is tried again and again: leftovers would take the room that it waits for.
    for (const suffix of ['', '-wal', '-shm']) rmSync(`${temporary}${suffix}`, { force: true })
  }
}

function begin(path: string, id: string) {
  using folder = openFolder(dirname(path))
  using file = folder.create(basename(path))
  const db = connect(path)
  try {
    migrate(db)
    db.query('UPDATE instance SET id = ?').run(id)
    // Only the file itself is published, and a close on a full disk keeps the pages in the log without an error.
    const { busy } = db.query<{ busy: number }, []>('PRAGMA wal_checkpoint(TRUNCATE)').get() ?? {
      busy: 1,
    }
    if (busy !== 0) throw new Error(`the write-ahead log of ${path} could not be checkpointed`)
  } finally {
    db.close()
  }
  file.sync()
}

function openRing(paths: InstanceFiles, random: InstancePaths['random']): Ring {
  const { key } = paths
  const bytes = readKey(paths)
  if (bytes === null)
    throw new KeyMissing(
      `the key file ${key} is missing, and the secrets in the database were sealed with it: restore it from your copy, or name it in [storage].key_file`,
    )
  if (bytes.length === 0 || bytes.length % KEY_BYTES !== 0)
    throw new KeyMissing(
      `the key file ${key} holds ${bytes.length} bytes; it must hold ${KEY_BYTES} for each key: restore it from your copy`,
    )
  return createRing(bytes, (count) => random.bytes(count))
}

/** The schema is changed only while no daemon runs. */
function bringUpToDate(db: Db, mode: 'serve' | 'beside', lock_path: string) {
  if (mode === 'serve' || schemaVersion(db) >= migrations.length) return migrate(db)
  const lock = takeLock(lock_path)
  try {
    migrate(db)
  } finally {
    lock.release()
  }
}

type InstanceRow = { id: string; key_fingerprint: string | null }

function instanceOf(db: Db, paths: InstanceFiles): InstanceRow {
  const row = db.query<InstanceRow, []>('SELECT id, key_fingerprint FROM instance').get()
  if (!row) throw databaseDamaged(paths, 'it has lost the row that names its instance')
  return row
}

/** Checks that marker file and key belong to the instance; the first start writes the marker. */
function identify(
  db: Db,
  row: InstanceRow,
  paths: InstanceFiles,
  ring: Ring,
  random: InstancePaths['random'],
): void {
  const expected = `${row.id}\n${ring.fingerprint}\n`
  const found = readOrCreate(paths.marker, `${paths.marker}.${random.uuid()}`, () =>
    Buffer.from(expected),
  ).toString()
  const [id, fingerprint] = found.split('\n')
  if (id !== row.id) throw databaseDamaged(paths, `it is instance ${row.id}, this folder is ${id}`)
  if (fingerprint !== ring.fingerprint)
    throw new KeyMissing(
      `the key file ${paths.key} does not belong to this instance: restore the original one, or name it in [storage].key_file`,
    )
  // Shows for a copy of the database which key its secrets need.
  if (row.key_fingerprint !== fingerprint)
    db.query('UPDATE instance SET key_fingerprint = ?').run(fingerprint)
  syncPath(paths.dir)
}
