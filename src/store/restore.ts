import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'

import { createRing, type Ring } from '../core/seal.ts'
import { toSecret } from '../core/signature.ts'
import { APPLICATION_ID, connect, type Db, isStorageError, migrate, transact } from './db.ts'
import { insertEvent } from './events.ts'
import { giveToOwner, readOrMake, syncPath } from './files.ts'
import { takeLock } from './lock.ts'
import { skipAhead } from './match-bodies.ts'
import { DatabaseDamaged, KeyMissing, type Paths } from './place.ts'
import { refuseUnreleased } from './unreleased.ts'
import { isWalBroken } from './wal.ts'
import { removeWebSessions } from './web-sessions.ts'
import { rotateSecret, updateWebhook } from './webhooks.ts'

/** The folder belongs to another instance than the backup. */
class WrongFolder extends Error {
  override name = 'WrongFolder'
}

type World = {
  clock: { now(): number }
  random: { uuid(): string; bytes(count: number): Uint8Array }
}

/** What was restored. `moved_to` is where the database lies that was there before; null when none was. */
export type Restored = { instance_id: string; moved_to: string | null; lost: LostSecrets }

/**
 * What has to be entered again, by name or id; nothing when the secrets came along. `links`: those that were made with
 * the old key (feeds, and what mail holds to confirm and to unsubscribe) lead nowhere any more.
 */
export type LostSecrets = {
  webhooks: string[]
  accounts: string[]
  proxies: string[]
  links: boolean
}

type About = { id: string; key_fingerprint: string | null }

const KEY_BYTES = 32

/**
 * Puts a backup in the place of the database, once it has been found to be one, to be whole, and to be of this folder
 * and its key file. Nothing is lost: what was there is moved aside. Throws InstanceLocked while a daemon runs,
 * DatabaseDamaged, NewerDatabase, UnreleasedDatabase, WrongFolder or KeyMissing, and then has changed nothing.
 */
export function restoreInstance(
  file: string,
  paths: Paths,
  { clock, random, without_secrets }: World & { without_secrets: boolean },
): Restored {
  mkdirSync(paths.dir, { recursive: true, mode: 0o700 })
  const lock = takeLock(join(paths.dir, 'lock.db'))
  const id = random.uuid()
  const temporary = `${paths.db}.${id}`
  const marker = `${paths.marker}.${id}`
  try {
    // Everything is tried on a copy: the backup stays as it is, whatever comes.
    copyWhole(file, temporary)
    const db = openBackup(file, temporary)
    let restored: Omit<Restored, 'moved_to'> & { fingerprint: string }
    try {
      restored = prepare(db, file, paths, { clock, random, without_secrets })
    } finally {
      db.close()
    }
    const { fingerprint, ...done } = restored
    writeFileSync(marker, `${done.instance_id}\n${fingerprint}\n`, { mode: 0o600 })
    for (const path of [temporary, marker]) giveToOwner(path)
    syncPath(temporary)
    const moved_to = moveAside(paths, clock.now())
    renameSync(temporary, paths.db)
    renameSync(marker, paths.marker)
    syncPath(paths.dir)
    return { ...done, moved_to }
  } finally {
    for (const path of [temporary, `${temporary}-wal`, `${temporary}-shm`, marker])
      rmSync(path, { force: true })
    lock.release()
  }
}

/** A database that was moved aside, or copied after a kill, may hold what came last in the log beside it alone. */
function copyWhole(file: string, copy: string) {
  const log = `${file}-wal`
  if (existsSync(log)) {
    if (isWalBroken(log))
      throw new DatabaseDamaged(
        `what was written last, in ${log}, is damaged in the middle: take another backup or a snapshot, or move that log away to do without it`,
      )
    copyFileSync(log, `${copy}-wal`)
    chmodSync(`${copy}-wal`, 0o600)
  }
  copyFileSync(file, copy)
  chmodSync(copy, 0o600)
}

function openBackup(file: string, copy: string): Db {
  try {
    const db = connect(copy)
    const found = db.query<{ application_id: number }, []>('PRAGMA application_id').get()
    if (found?.application_id === APPLICATION_ID) return db
    db.close()
    refuseUnreleased(found?.application_id, file)
  } catch (error) {
    if (!isStorageError(error)) throw error
  }
  throw new DatabaseDamaged(`${file} is no backup of forumd`)
}

function prepare(
  db: Db,
  file: string,
  paths: Paths,
  world: World & { without_secrets: boolean },
): Omit<Restored, 'moved_to'> & { fingerprint: string } {
  const { clock, random, without_secrets } = world
  const about = readAbout(db, file)
  // The key first: no check of pages helps against a key that is somewhere else.
  const ring = without_secrets ? ringToBe(paths, random) : ringOf(about, paths, random)
  const sealed_here = ring.fingerprint === about.key_fingerprint
  if (existsSync(paths.marker)) {
    const [owner] = readFileSync(paths.marker, 'utf8').split('\n')
    if (owner !== about.id)
      throw new WrongFolder(
        `${file} is of instance ${about.id}, and ${paths.dir} is the folder of ${owner}: restore it into a folder of its own, or move that one away`,
      )
  }
  const check = db
    .query<{ integrity_check: string }, []>('PRAGMA integrity_check(1)')
    .get()?.integrity_check
  if (check !== 'ok')
    throw new DatabaseDamaged(`${file} is damaged (${check}): take another backup or a snapshot`)
  migrate(db)
  const lost =
    without_secrets && !sealed_here
      ? forgetSecrets(db, ring, random)
      : { webhooks: [], accounts: [], proxies: [], links: false }
  const now = clock.now()
  transact(db, () => {
    db.query('UPDATE instance SET key_fingerprint = ?').run(ring.fingerprint)
    // What was matched since the backup is not known any more; health has to say so.
    insertEvent(db, { kind: 'restore_detected', stream_id: null, at: now, until_at: null })
    skipAhead(db, now)
    // Who has signed out since the backup must not be signed in again by it.
    removeWebSessions(db)
  })
  return { instance_id: about.id, fingerprint: ring.fingerprint, lost }
}

function readAbout(db: Db, file: string): About {
  try {
    const row = db.query<About, []>('SELECT id, key_fingerprint FROM instance').get()
    if (row) return row
  } catch (error) {
    if (!(error instanceof Error)) throw error
  }
  throw new DatabaseDamaged(`${file} does not say whose it is: it is no backup of this version`)
}

function ringOf({ key_fingerprint }: About, { key }: Paths, random: World['random']): Ring {
  const remedy =
    'put the key file there that was kept apart from the backup, or restore with --without-secrets and enter the secrets again'
  if (!existsSync(key))
    throw new KeyMissing(
      `the key file ${key} is missing, and the backup is sealed with it: ${remedy}`,
    )
  const ring = readRing(key, random)
  if (ring.fingerprint !== key_fingerprint)
    throw new KeyMissing(
      `the key file ${key} is not the one that the backup is sealed with (${ring.fingerprint}, not ${key_fingerprint}): ${remedy}`,
    )
  return ring
}

/** The key that is here, or a new one: what is entered again will be sealed with it. */
function ringToBe({ key }: Paths, random: World['random']): Ring {
  readOrMake(key, `${key}.${random.uuid()}`, () => random.bytes(KEY_BYTES))
  return readRing(key, random)
}

function readRing(key: string, random: World['random']): Ring {
  const bytes = readFileSync(key)
  if (bytes.length === 0 || bytes.length % KEY_BYTES !== 0)
    throw new KeyMissing(
      `the key file ${key} holds ${bytes.length} bytes; it must hold ${KEY_BYTES} for each key`,
    )
  return createRing(bytes, (count) => random.bytes(count))
}

/** Takes out what no key here opens, and names it. Targets stop until their customers have rotated their secrets. */
function forgetSecrets(db: Db, ring: Ring, random: World['random']): LostSecrets {
  return transact(db, () => {
    const names = (table: 'accounts' | 'proxies') =>
      db
        .query<{ name: string }, []>(`SELECT name FROM ${table} ORDER BY name`)
        .all()
        .map(({ name }) => name)
    const targets = db
      .query<{ id: string; customer_id: string; kind: string }, []>(
        'SELECT id, customer_id, kind FROM webhooks WHERE deleted_at IS NULL ORDER BY id',
      )
      .all()
    for (const { id, customer_id, kind } of targets) {
      const secret = ring.seal(`webhooks.secret:${id}`, toSecret(random.bytes(KEY_BYTES)))
      rotateSecret(db, customer_id, { id, secret, until: null })
      // Chats and mail are not signed.
      if (kind === 'webhook') updateWebhook(db, customer_id, id, { active: false })
    }
    const lost = {
      webhooks: targets.filter(({ kind }) => kind === 'webhook').map(({ id }) => id),
      accounts: names('accounts'),
      proxies: names('proxies'),
      links: true,
    }
    for (const table of ['accounts', 'proxies', 'named_writes']) db.run(`DELETE FROM ${table}`)
    return lost
  })
}

/** The database that was there, and its log with it: the three belong together. */
function moveAside({ db }: Paths, now: number): string | null {
  const stamp = `${db}.before-${new Date(now).toISOString().replace(/[-:]|\.\d+/g, '')}`
  let aside = stamp
  for (let nth = 2; existsSync(aside) || existsSync(`${aside}-wal`); nth++)
    aside = `${stamp}-${nth}`
  const ends = ['', '-wal', '-shm'].filter((end) => existsSync(db + end))
  for (const end of ends) renameSync(db + end, aside + end)
  return ends.length === 0 ? null : aside
}
