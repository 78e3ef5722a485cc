import { Database } from 'bun:sqlite'
import {
  closeSync,
  constants,
  existsSync,
  fstatSync,
  mkdirSync,
  openSync,
  readFileSync,
} from 'node:fs'
import { basename, join } from 'node:path'

import { createRing, type Ring } from '../../core/base/secrets.ts'
import { newTargetSecret } from '../../core/delivery/signature.ts'
import {
  APPLICATION_ID,
  connect,
  type Db,
  isStorageError,
  migrate,
  transact,
} from '../db/connection.ts'
import { rotateSecret, updateWebhook } from '../delivery/webhooks.ts'
import { noteRestored } from '../startup/copies.ts'
import { writeRecord } from '../startup/record.ts'
import { requireOwnSchema } from '../startup/schema.ts'
import { type NewFile, type OpenFolder, openFolder } from './folder.ts'
import { isWalBroken, readApplicationId } from './integrity.ts'
import {
  DatabaseDamaged,
  type InstanceFiles,
  KeyMissing,
  readKey,
  readOrCreate,
  takeLock,
} from './paths.ts'

/** The folder belongs to another instance than the backup. */
class WrongFolder extends Error {
  override name = 'WrongFolder'
}

type World = {
  clock: { now(): number }
  random: { uuid(): string; bytes(count: number): Uint8Array }
}

type RestoreOptions = { without_secrets: boolean }

/** The result of a restore. `moved_to`: new path of the previous database; null when there was none. */
export type Restored = {
  instance_id: string
  moved_to: string | null
  lost: LostSecrets
  /** Reason for which the record outside of the folder could not be written; null when it exists, or none is kept. */
  unrecorded: string | null
}

/**
 * Secrets to be entered again, by name or id; empty when they were restored. `links`: URLs signed with the old key
 * (feeds, and confirmation and unsubscribe links in mails) no longer work.
 */
export type LostSecrets = {
  webhooks: string[]
  /** Webhooks without the credentials that they had. */
  credentials: string[]
  accounts: string[]
  proxies: string[]
  links: boolean
}

type Prepared = Omit<Restored, 'moved_to' | 'unrecorded'> & { fingerprint: string }

type BackupInfo = { id: string; key_fingerprint: string | null }

const KEY_BYTES = 32

/** A backup opened for reading, with the write-ahead log beside it. */
export type BackupFile = Disposable & { path: string; handle: number; log: number | null }

/**
 * Opens a backup. Other files are refused, because the owner of the data folder could read them there.
 * @throws {DatabaseDamaged} when it is not a backup of forumd
 */
export function openBackup(path: string): BackupFile {
  const handle = openSync(path, 'r')
  const close = () => closeSync(handle)
  try {
    if (readApplicationId(handle) !== APPLICATION_ID) throw notABackup(path)
    const log = existsSync(`${path}-wal`) ? openLog(path, fstatSync(handle).uid) : null
    const closeBoth = () => {
      close()
      if (log !== null) closeSync(log)
    }
    return { path, handle, log, [Symbol.dispose]: closeBoth }
  } catch (error) {
    close()
    throw error
  }
}

/**
 * In a folder like /tmp, another user may have put the log beside the backup, as a link to a file that only the caller
 * can read.
 */
function openLog(path: string, owner: number): number {
  const log = openSync(`${path}-wal`, constants.O_RDONLY | constants.O_NOFOLLOW)
  const stat = fstatSync(log)
  if (stat.isFile() && stat.uid === owner) return log
  closeSync(log)
  throw new DatabaseDamaged(
    `${path}-wal is not a file of the user that ${path} belongs to: move it away, or give both the same owner`,
  )
}

const notABackup = (path: string) => new DatabaseDamaged(`${path} is not a backup of forumd`)

/**
 * Replaces the database by a backup that is valid, complete, and of this folder and its key file. The previous
 * database is moved aside.
 * @throws {InstanceLocked} while a daemon runs
 * @throws {DatabaseDamaged | NewerDatabase | WrongFolder | KeyMissing} without any change
 */
export function restoreInstance(
  backup: BackupFile,
  paths: InstanceFiles,
  { clock, random, without_secrets }: World & RestoreOptions,
): Restored {
  mkdirSync(paths.dir, { recursive: true, mode: 0o700 })
  const lock = takeLock(join(paths.dir, 'lock.db'))
  const id = random.uuid()
  const database = basename(paths.db)
  const temporary = `${database}.${id}`
  const marker = `${basename(paths.marker)}.${id}`
  using folder = openFolder(paths.dir)
  try {
    // All checks run on a copy: the backup stays unchanged.
    using copy = copyWhole(backup, folder, temporary)
    const db = connectTo(`${paths.db}.${id}`, backup.path)
    let restored: Prepared
    try {
      restored = prepare(db, backup.path, paths, { clock, random, without_secrets })
    } finally {
      db.close()
    }
    const { fingerprint, ...done } = restored
    using identity = folder.create(marker)
    identity.write(Buffer.from(`${done.instance_id}\n${fingerprint}\n`))
    identity.sync()
    copy.sync()
    if (!copy.isAt(temporary)) throw new DatabaseDamaged(`${temporary} was exchanged: try again`)
    const moved_to = moveAside(folder, database, clock.now())
    folder.rename(temporary, database)
    folder.rename(marker, basename(paths.marker))
    folder.sync()
    return {
      ...done,
      moved_to: moved_to === null ? null : join(paths.dir, moved_to),
      unrecorded: writeRecord(paths, done.instance_id),
    }
  } finally {
    for (const name of [temporary, `${temporary}-wal`, `${temporary}-shm`, marker])
      folder.remove(name)
    lock.release()
  }
}

/** After a move or a kill, the last commits may be in the log beside the database only. */
function copyWhole({ path, handle, log }: BackupFile, folder: OpenFolder, name: string): NewFile {
  if (log !== null) {
    using copied = folder.create(`${name}-wal`)
    copied.copyFrom(log)
    if (isWalBroken(folder.at(`${name}-wal`)))
      throw new DatabaseDamaged(
        `the write-ahead log ${path}-wal is damaged in the middle: take another backup or a snapshot, or move that log away to do without it`,
      )
  }
  const copy = folder.create(name)
  copy.copyFrom(handle)
  return copy
}

function connectTo(copy: string, file: string): Db {
  try {
    const db = connect(copy)
    const found = db.query<{ application_id: number }, []>('PRAGMA application_id').get()
    if (found?.application_id === APPLICATION_ID) return db
    db.close()
  } catch (error) {
    if (!isStorageError(error)) throw error
  }
  throw notABackup(file)
}

/** The instance id of a backup; null when the file is not a backup of forumd. */
export function readInstanceId(file: string): string | null {
  try {
    const db = new Database(file, { readonly: true })
    try {
      const found = db.query<{ application_id: number }, []>('PRAGMA application_id').get()
      if (found?.application_id !== APPLICATION_ID) return null
      return db.query<{ id: string }, []>('SELECT id FROM instance').get()?.id ?? null
    } finally {
      db.close()
    }
  } catch {
    return null
  }
}

function prepare(
  db: Db,
  file: string,
  paths: InstanceFiles,
  world: World & RestoreOptions,
): Prepared {
  const { clock, random, without_secrets } = world
  const info = readBackupInfo(db, file)
  // The key first: without the right key a check of the pages is no use.
  const ring = without_secrets ? currentOrNewRing(paths, random) : ringOf(info, paths, random)
  const sealed_here = ring.fingerprint === info.key_fingerprint
  if (existsSync(paths.marker)) {
    const [owner] = readFileSync(paths.marker, 'utf8').split('\n')
    if (owner !== info.id)
      throw new WrongFolder(
        `${file} is of instance ${info.id}, and ${paths.dir} is the folder of ${owner}: restore it into a folder of its own, or move that one away`,
      )
  }
  const check = db
    .query<{ integrity_check: string }, []>('PRAGMA integrity_check(1)')
    .get()?.integrity_check
  if (check !== 'ok')
    throw new DatabaseDamaged(`${file} is damaged (${check}): take another backup or a snapshot`)
  requireOwnSchema(db, file)
  migrate(db)
  const lost =
    without_secrets && !sealed_here
      ? forgetSecrets(db, ring, { random, now: clock.now() })
      : { webhooks: [], credentials: [], accounts: [], proxies: [], links: false }
  const now = clock.now()
  transact(db, () => {
    // The next start is of a new file, which this command itself has noted.
    db.query('UPDATE instance SET key_fingerprint = ?, inodes = NULL').run(ring.fingerprint)
    noteRestored(db, now)
  })
  return { instance_id: info.id, fingerprint: ring.fingerprint, lost }
}

const INSTANCE_ID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

function readBackupInfo(db: Db, file: string): BackupInfo {
  try {
    const row = db.query<BackupInfo, []>('SELECT id, key_fingerprint FROM instance').get()
    if (row && INSTANCE_ID.test(row.id)) return row
  } catch (error) {
    if (!(error instanceof Error)) throw error
  }
  throw new DatabaseDamaged(`${file} names no instance: it is not a backup of this version`)
}

function ringOf(
  { key_fingerprint }: BackupInfo,
  paths: InstanceFiles,
  random: World['random'],
): Ring {
  const { key } = paths
  const remedy =
    'restore the key file that belongs to the backup, or restore with --without-secrets and enter the secrets again'
  const bytes = readKey(paths)
  if (bytes === null)
    throw new KeyMissing(
      `the key file ${key} is missing, and the backup is sealed with it: ${remedy}`,
    )
  const ring = toRing(bytes, key, random)
  if (ring.fingerprint !== key_fingerprint)
    throw new KeyMissing(
      `the key file ${key} is not the one that the backup is sealed with (${ring.fingerprint}, not ${key_fingerprint}): ${remedy}`,
    )
  return ring
}

/** The existing key, or a new one, which will seal the secrets entered again. */
function currentOrNewRing({ key, key_bytes }: InstanceFiles, random: World['random']): Ring {
  const fresh = () => random.bytes(KEY_BYTES)
  const bytes = key_bytes ?? readOrCreate(key, `${key}.${random.uuid()}`, fresh)
  return toRing(bytes, key, random)
}

function toRing(bytes: Uint8Array, key: string, random: World['random']): Ring {
  if (bytes.length === 0 || bytes.length % KEY_BYTES !== 0)
    throw new KeyMissing(
      `the key file ${key} holds ${bytes.length} bytes; it must hold ${KEY_BYTES} for each key`,
    )
  return createRing(bytes, (count) => random.bytes(count))
}

/**
 * Removes all secrets that the present key cannot open, and lists them. Targets stop until their customers have
 * rotated their secrets.
 */
function forgetSecrets(
  db: Db,
  ring: Ring,
  { random, now }: { random: World['random']; now: number },
): LostSecrets {
  return transact(db, () => {
    const names = (table: 'accounts' | 'proxies') =>
      db
        .query<{ name: string }, []>(`SELECT name FROM ${table} ORDER BY name`)
        .all()
        .map(({ name }) => name)
    const targets = db
      .query<
        { id: string; customer_id: string; kind: string; sealed: number; asymmetric: number },
        []
      >(
        `SELECT id, customer_id, kind, credentials IS NOT NULL AS sealed, public_key IS NOT NULL AS asymmetric
           FROM webhooks WHERE deleted_at IS NULL ORDER BY id`,
      )
      .all()
    for (const { id, customer_id, kind, sealed, asymmetric } of targets) {
      const { stored, public_key } = newTargetSecret(random, asymmetric === 1)
      const secret = ring.seal(`webhooks.secret:${id}`, stored)
      rotateSecret(db, customer_id, { id, secret, public_key, until: null, now })
      // Chats and mail are not signed, and have no credentials.
      if (kind === 'webhook' || sealed === 1)
        updateWebhook(db, customer_id, id, { active: false, credentials: null })
    }
    const lost = {
      webhooks: targets.filter(({ kind }) => kind === 'webhook').map(({ id }) => id),
      credentials: targets.filter(({ sealed }) => sealed === 1).map(({ id }) => id),
      accounts: names('accounts'),
      proxies: names('proxies'),
      links: true,
    }
    for (const table of ['accounts', 'proxies', 'idempotent_writes']) db.run(`DELETE FROM ${table}`)
    return lost
  })
}

/** Moves the previous database aside together with its log, because they belong together. Returns its new name. */
function moveAside(folder: OpenFolder, database: string, now: number): string | null {
  const stamp = `${database}.before-${new Date(now).toISOString().replace(/[-:]|\.\d+/g, '')}`
  let aside = stamp
  for (let nth = 2; folder.has(aside) || folder.has(`${aside}-wal`); nth++)
    aside = `${stamp}-${nth}`
  const ends = ['', '-wal', '-shm'].filter((end) => folder.has(database + end))
  for (const end of ends) folder.rename(database + end, aside + end)
  return ends.length === 0 ? null : aside
}
