import { chmodSync, existsSync, mkdirSync, readFileSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'

import { createRing, type Ring } from '../core/seal.ts'
import { connect, type Db, migrate, schemaVersion, transact } from './db.ts'
import { publish, readOrMake, syncPath } from './files.ts'
import { removeLeftovers, removeParts } from './leftovers.ts'
import { type Lock, takeLock } from './lock.ts'
import { migrations } from './migrations.ts'
import { damaged, KeyMissing, missing, type Paths, pathsOf, type Place } from './place.ts'
import { openSound } from './sound.ts'

/** An open data folder. */
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

const KEY_BYTES = 32
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
    requireKeyPlace(paths)
    if (!existsSync(paths.db)) {
      if (existsSync(paths.marker)) throw missing(paths)
      create(paths, place)
    }
    const ring = openRing(paths, random)
    const db = openSound(paths, { mode, lock_path, now: clock.now() })
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

/** A folder that is not mounted, or a path that is one, would be told in the words of the system alone. */
function requireKeyPlace({ key }: Paths) {
  const folder = dirname(key)
  if (!existsSync(folder))
    throw new KeyMissing(
      `the folder of the key file ${key} is not there: make or mount it, or change [storage].key_file`,
    )
  if (existsSync(key) && statSync(key).isDirectory())
    throw new KeyMissing(`the key file ${key} is a folder: name a file in [storage].key_file`)
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
