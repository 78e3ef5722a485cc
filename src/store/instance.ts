import {
  chmodSync,
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  readSync,
} from 'node:fs'
import { join } from 'node:path'

import { createRing, type Ring } from '../core/seal.ts'
import {
  APPLICATION_ID,
  connect,
  type Db,
  isStorageError,
  migrate,
  schemaVersion,
  transact,
} from './db.ts'
import { publish, readOrMake, syncPath } from './files.ts'
import { removeLeftovers, removeParts } from './leftovers.ts'
import { InstanceLocked, type Lock, takeLock } from './lock.ts'
import { migrations } from './migrations.ts'
import { refuseUnreleased } from './unreleased.ts'
import { isWalBroken } from './wal.ts'

/** The folder has held an instance, and its database is gone. Exit 78: a restart would not help. */
export class DatabaseMissing extends Error {
  override name = 'DatabaseMissing'
}

/** There is a database, but it is broken or somebody else's. Exit 78: a restart would not help. */
export class DatabaseDamaged extends Error {
  override name = 'DatabaseDamaged'
}

/** The key that this instance's secrets were sealed with is not there. Exit 78: a restart would not help. */
export class KeyMissing extends Error {
  override name = 'KeyMissing'
}

export type Instance = {
  db: Db
  /** Where the database lies. */
  path: string
  instance_id: string
  /** This run's own id; leases and holds of other boots are dead. Fresh in both modes. */
  boot: string
  /** Seals and opens the secrets of this instance. */
  ring: Ring
  /** Closes the database and gives the folder free. */
  close(): void
}

type Place = {
  dir: string
  /** Empty: the credential `secrets.key`, else `secrets.key` in the folder. */
  key_file: string
  clock: { now(): number }
  random: { uuid(): string; bytes(count: number): Uint8Array }
  /** Where systemd puts credentials; its own variable says so unless told otherwise. */
  credentials_dir?: string | undefined
}

const KEY_BYTES = 32
const HEADER_BYTES = 72
const MAGIC = 'SQLite format 3\u0000'
const APPLICATION_ID_AT = 68

/**
 * Opens the instance of a data folder, making it when the folder is new. `serve` holds the folder for itself and throws
 * InstanceLocked when another daemon does; `beside` writes next to a running daemon. Throws DatabaseMissing,
 * DatabaseDamaged, KeyMissing, NewerDatabase or UnreleasedDatabase rather than ever beginning anew over something that is lost.
 */
export function openInstance(place: Place, { mode }: { mode: 'serve' | 'beside' }): Instance {
  const { dir, clock, random } = place
  if (!existsSync(dir)) mkdirSync(dir, { recursive: true, mode: 0o700 })
  const lock_path = join(dir, 'lock.db')
  const lock = mode === 'serve' ? takeLock(lock_path) : null
  const undo: Lock[] = lock ? [lock] : []
  try {
    const paths = pathsOf(place)
    if (!existsSync(paths.db)) {
      if (existsSync(paths.marker)) throw missing(paths)
      create(paths, place)
    }
    const ring = openRing(paths, random)
    const db = openSound(paths, mode, lock_path)
    undo.unshift({ release: () => db.close() })
    bringUpToDate(db, mode, lock_path)
    const instance_id = identify(db, paths, ring, random)
    const boot = random.uuid()
    if (mode === 'serve') {
      transact(db, () => {
        db.query('UPDATE instance SET boot_count = boot_count + 1, last_seen_at = ?').run(
          clock.now(),
        )
      })
      // Only now: all of them are there, so what lies beside them is of somebody who died while making them.
      removeLeftovers([paths.db, paths.key, paths.marker])
      removeParts(join(dir, 'snapshots'))
    }
    const close = () => undo.forEach((it) => it.release())
    return { db, path: paths.db, instance_id, boot, ring, close }
  } catch (error) {
    for (const it of undo) it.release()
    throw error
  }
}

export type Paths = { dir: string; db: string; marker: string; key: string }

/** Where the parts of an instance lie. */
export function pathsOf({
  dir,
  key_file,
  credentials_dir = Bun.env['CREDENTIALS_DIRECTORY'],
}: Pick<Place, 'dir' | 'key_file' | 'credentials_dir'>): Paths {
  const credential = credentials_dir ? join(credentials_dir, 'secrets.key') : null
  const own = join(dir, 'secrets.key')
  const key = key_file || (credential && existsSync(credential) ? credential : own)
  return { dir, db: join(dir, 'forumd.sqlite'), marker: join(dir, 'instance.id'), key }
}

/** Makes key and database under other names first: a crash, or another process doing the same, leaves all or nothing. */
function create(paths: Paths, { clock, random }: Place) {
  readOrMake(paths.key, `${paths.key}.${random.uuid()}`, () => random.bytes(KEY_BYTES))
  const temporary = `${paths.db}.${random.uuid()}`
  try {
    begin(temporary, random.uuid(), clock.now())
    publish(temporary, paths.db)
  } catch (error) {
    // Another process was quicker, and took ours for a leftover.
    if (!existsSync(paths.db)) throw error
  }
}

function begin(path: string, id: string, now: number) {
  const db = connect(path, { create: true })
  try {
    migrate(db)
    db.query('INSERT INTO instance (one, id, created_at, last_seen_at) VALUES (1, ?, ?, ?)').run(
      id,
      now,
      now,
    )
  } finally {
    db.close()
  }
  chmodSync(path, 0o600)
}

function openRing({ key }: Paths, random: Place['random']): Ring {
  if (!existsSync(key))
    throw new KeyMissing(
      `the key file ${key} is missing, and the secrets in the database were sealed with it: put it back from where you keep it, or name it in [storage].key_file`,
    )
  const bytes = readFileSync(key)
  if (bytes.length === 0 || bytes.length % KEY_BYTES !== 0)
    throw new KeyMissing(
      `the key file ${key} holds ${bytes.length} bytes; it must hold ${KEY_BYTES} for each key: put it back from where you keep it`,
    )
  return createRing(bytes, (count) => random.bytes(count))
}

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
    if (/^SQLITE_(CORRUPT|NOTADB|CANTOPEN|READONLY|IOERR_SHORT_READ)/.test(code))
      throw damaged(paths, 'it cannot be read')
    throw error
  }
}

/** Looks at all of it before anything is written. While a daemon runs it has been looked at, and is being written. */
function openSound(paths: Paths, mode: 'serve' | 'beside', lock_path: string): Db {
  const held = mode === 'serve' ? null : takeIfFree(lock_path)
  const alone = mode === 'serve' || held !== null
  try {
    if (alone) checkLog(paths)
    return openExisting(paths, { check: alone })
  } finally {
    held?.release()
  }
}

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

/** A schema is changed only while no daemon runs. */
function bringUpToDate(db: Db, mode: 'serve' | 'beside', lock_path: string) {
  if (mode === 'serve' || schemaVersion(db) >= migrations.length) return migrate(db)
  const lock = takeLock(lock_path)
  try {
    migrate(db)
  } finally {
    lock.release()
  }
}

/** The instance's id, which the marker file has to agree with, as it has to with the key. */
function identify(db: Db, paths: Paths, ring: Ring, random: Place['random']): string {
  const row = db
    .query<{ id: string; key_fingerprint: string | null }, []>(
      'SELECT id, key_fingerprint FROM instance',
    )
    .get()
  if (!row) throw damaged(paths, 'it has lost the row that says whose it is')
  const expected = `${row.id}\n${ring.fingerprint}\n`
  const found = readOrMake(paths.marker, `${paths.marker}.${random.uuid()}`, () =>
    Buffer.from(expected),
  ).toString()
  const [id, fingerprint] = found.split('\n')
  if (id !== row.id) throw damaged(paths, `it is instance ${row.id}, this folder is ${id}`)
  if (fingerprint !== ring.fingerprint)
    throw new KeyMissing(
      `the key file ${paths.key} is not the one this instance began with: put that one back, or name it in [storage].key_file`,
    )
  // So that a copy of the database can tell which key its secrets want.
  if (row.key_fingerprint !== fingerprint)
    db.query('UPDATE instance SET key_fingerprint = ?').run(fingerprint)
  syncPath(paths.dir)
  return row.id
}

const missing = ({ db, marker }: Paths) =>
  new DatabaseMissing(
    `${db} is missing although ${marker} says that this folder held one: put the newest backup back in its place; to begin with nothing, move ${marker} away`,
  )

const damaged = ({ db, marker }: Paths, what: string) =>
  new DatabaseDamaged(
    `${db} cannot be used: ${what}. Put the newest backup in its place, or save what can be saved with: sqlite3 ${db} .recover; to begin with nothing, move it and ${marker} away`,
  )
