import { accessSync, constants, existsSync, lstatSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'

import type { Config } from '../../config/schema.ts'
import { errorCode } from '../../core/base/errors.ts'
import type { Runtime } from '../../runtime/runtime.ts'
import { schemaVersion } from '../../store/db/connection.ts'
import { migrations } from '../../store/db/migrations.ts'
import { judgeDisk, readDisk } from '../../store/maintenance/disk.ts'
import { openInstance } from '../../store/maintenance/instance.ts'
import { openChecked, requireKnown } from '../../store/maintenance/integrity.ts'
import { type InstanceFiles, type InstancePaths, pathsOf } from '../../store/maintenance/paths.ts'
import { requireDatabase } from '../../store/startup/record.ts'
import type { OpenConfig } from '../command.ts'
import { explainError } from '../failures.ts'
import { folderRefusal } from '../setup-checks.ts'
import { bad, type Check, type CheckResult, doubtful, fine } from './check.ts'

const GIB = 1024 ** 3
const REMOUNT = 'see why: dmesg; then mount it for writing again'
const AS_OWNER = 'run this as the user that the daemon runs as: sudo -u forumd forumd doctor'

type Storage = Pick<InstancePaths, 'dir' | 'key_file' | 'key_bytes' | 'instance_file'>

export function storageChecks(
  { storage, config }: Pick<OpenConfig, 'storage' | 'config'>,
  runtime: Runtime,
): Check[] {
  const paths = pathsOf(storage)
  return [
    { title: 'checking the data folder', run: () => checkFolder(paths) },
    { title: 'reading the whole database', run: () => checkDatabase(paths, storage, runtime) },
    { title: 'checking the daemon', run: () => checkDaemon(paths, config, runtime) },
  ]
}

function checkFolder({ dir, db }: InstanceFiles): CheckResult[] {
  if (!existsSync(dir)) {
    if (lstatSync(dir, { throwIfNoEntry: false })?.isSymbolicLink())
      return [
        bad('storage', `${dir} is a link that leads nowhere`, 'mount or make what it leads to'),
      ]
    const refused = folderRefusal(dir)
    return refused === null
      ? [fine('storage', `${dir} is not there yet; forumd serve makes it at its first start`)]
      : [
          bad(
            'storage',
            `${dir} is not there, and cannot be made (${refused})`,
            `make it for the user of the daemon: install -d -m 700 -o forumd ${dir}`,
          ),
        ]
  }
  if (!statSync(dir).isDirectory())
    return [bad('storage', `${dir} is no folder`, 'set [storage].dir to a folder')]
  const disk = readDisk(dir, db)
  const left = `${(disk.free_bytes / GIB).toFixed(1)} GiB free`
  const refused = folderRefusal(dir)
  if (refused === 'EROFS')
    return [bad('storage', `${dir} lies on a file system that can only be read`, REMOUNT)]
  if (refused === 'ENOSPC' && disk.free_files === 0)
    return [bad('storage', `${dir}: not one inode is free, although ${left}`, FREE_FILES)]
  if (refused === 'ENOSPC' || refused === 'EDQUOT')
    return [bad('storage', `${dir}: no file can be written (${refused})`, MAKE_ROOM)]
  if (refused !== null)
    return [bad('storage', `${dir} may not be written to (${refused})`, AS_OWNER)]
  const short = judgeDisk(disk, { db_bytes: disk.db_bytes, elapsed_ms: 0 })
  if (short === null) return [fine('storage', `${dir} may be written to, ${left}`)]
  return short === 'files'
    ? [doubtful('storage', `${dir}: only ${disk.free_files} inodes are free`, FREE_FILES)]
    : [doubtful('storage', `${dir}: only ${left}`, MAKE_ROOM)]
}

const MAKE_ROOM =
  'free disk space: on a full disk monitors stop and writes are refused; deliveries continue with a small reserve'
const FREE_FILES = 'remove files on that disk; df -i shows how many inodes are left'

function checkDatabase(
  paths: InstanceFiles,
  storage: Storage,
  { clock, random }: Runtime,
): CheckResult[] {
  // The database is unknown in an unreadable folder, which the check of the folder reports.
  if (existsSync(paths.dir) && refusalOf(paths.dir) === 'EACCES') return []
  if (!existsSync(paths.db)) {
    try {
      requireDatabase(paths)
    } catch (error) {
      const fix = 'mount the volume of the data, or put the newest backup back: forumd restore FILE'
      return [bad('database', explainError(error).message, fix)]
    }
    return [fine('database', 'there is none yet; forumd serve makes it at its first start')]
  }
  const unopened = deniedFiles(paths)
  if (unopened.length > 0) return unopened
  try {
    const version = versionOf(paths, clock.now())
    if (version < migrations.length)
      return [
        doubtful(
          'database',
          `it is at schema ${version}, this forumd brings it to ${migrations.length}`,
          'forumd backup FILE first; the next forumd serve does the rest',
        ),
      ]
    const instance = openInstance({ ...storage, clock, random }, { mode: 'beside' })
    instance.close()
    return [
      fine('database', `every page is sound, schema ${version}, and the key file is its own`),
      ...(instance.unrecorded === null
        ? []
        : [
            doubtful(
              'database',
              `${paths.record} cannot be written: ${instance.unrecorded}`,
              'set [storage].instance_file to a file outside of the data folder that the daemon may write',
            ),
          ]),
      ...checkKeyFile(paths),
    ]
  } catch (error) {
    const { code, message } = explainError(error)
    const denied = /EACCES|READONLY|CANTOPEN/.test(errorCode(error))
    const ending = `forumd serve would end with ${code} by this`
    const owner = denied ? AS_OWNER : ending
    return [bad('database', message, refusalOf(paths.dir) === 'EROFS' ? REMOUNT : owner)]
  }
}

/** The files that `serve` opens and this user may not: SQLite opens such a database for reading, and fails at the first write. */
function deniedFiles({ dir, db, key, key_bytes, marker }: InstanceFiles): CheckResult[] {
  const written = [db, `${db}-wal`, `${db}-shm`]
  const read = key_bytes === null ? [key, marker] : [marker]
  return [...written, ...read].flatMap((file) => {
    const mode = written.includes(file) ? constants.R_OK | constants.W_OK : constants.R_OK
    const refused = existsSync(file) ? refusalOf(file, mode) : null
    if (refused === null || refused === 'EROFS') return []
    const act = written.includes(file) ? 'written to' : 'read'
    return [
      bad(
        'database',
        `${file} may not be ${act} by this user (${refused})`,
        `chown it to the user of the daemon, the owner of ${dir}; then ${AS_OWNER}`,
      ),
    ]
  })
}

const OTHERS_READ = 0o004

/** With the key, a copy of the database opens every account. */
const checkKeyFile = ({ key, key_bytes }: InstanceFiles): CheckResult[] =>
  // key_bytes: read as root, whose key file no other user can read or change.
  key_bytes !== null || (statSync(key).mode & OTHERS_READ) === 0
    ? []
    : [doubtful('key', `${key} may be read by every user of this machine`, `chmod 600 ${key}`)]

/** The schema of a database that is sound. Throws what openInstance would. */
function versionOf(paths: InstanceFiles, now: number): number {
  const { db: path, dir } = paths
  requireKnown(paths)
  // Not merely opened: that cuts off what comes after a damage in the log, which may still be saved.
  const db = openChecked(paths, { mode: 'beside', lock_path: join(dir, 'lock.db'), now })
  try {
    const found = db.query<{ quick_check: string }, []>('PRAGMA quick_check(1)').get()?.quick_check
    if (found !== 'ok')
      throw new Error(
        `${path} is damaged: ${found ?? 'it cannot be checked'}. Put the newest backup in its place: forumd restore FILE`,
      )
    return schemaVersion(db)
  } finally {
    db.close()
  }
}

const STOPPED = 'forumd serve, or systemctl start forumd'
const HEALTH_MS = 5000
/** A program that speaks another protocol waits for its client's first words for ever. */
const PORT_MS = 1000

async function checkDaemon(
  { dir, db }: InstanceFiles,
  { server }: Config,
  { fetch }: Runtime,
): Promise<CheckResult[]> {
  const url = addressIn(dir)
  if (url === null) {
    const holder = await portHolder(server, fetch)
    if (holder !== null) return [holder]
    return existsSync(db)
      ? [doubtful('daemon', 'it does not run', STOPPED)]
      : [fine('daemon', 'it has not been started yet')]
  }
  const ready = await fetchStatus(`${url}/health/ready`, fetch, HEALTH_MS)
  const health = 'text' in ready ? await fetchStatus(`${url}/health`, fetch, HEALTH_MS) : ready
  if (!('text' in ready) || !('text' in health)) {
    const { port } = new URL(url)
    return [
      'free' in health
        ? bad('daemon', `${url} does not answer, where it said it listens`, STOPPED)
        : bad(
            'daemon',
            `port ${port} is in use, and nothing there answers as HTTP: another program, or a daemon that hangs`,
            nameHolder(port),
          ),
    ]
  }
  const loops = /"loops":\s*\[([^\]]*)\]/.exec(ready.text)?.[1]?.replaceAll('"', '')
  if (loops !== undefined)
    return [
      bad(
        'daemon',
        `it runs at ${url}, and every iteration of these loops fails: ${loops}`,
        "journalctl --unit forumd --grep 'iteration_failed|loop.failing' names the error",
      ),
    ]
  const storage = /"storage":\s*"(\w+)"/.exec(health.text)?.[1]
  if (/"ok":\s*true/.test(health.text) && storage === undefined)
    return [fine('daemon', `it serves at ${url}`)]
  return [
    bad(
      'daemon',
      `it runs at ${url} and says: ${storage ?? 'not well'}`,
      'read its log: journalctl --unit forumd',
    ),
  ]
}

/** Answer of a server; without one, `free` where nothing listens and `silent` where something else does. */
type Probed = { text: string } | { free: true } | { silent: true }

async function fetchStatus(
  url: string,
  fetch: Runtime['fetch'],
  within_ms: number,
): Promise<Probed> {
  try {
    const answer = await fetch(url, { proxy: false, signal: AbortSignal.timeout(within_ms) })
    return { text: await answer.text() }
  } catch (error) {
    return NOT_LISTENING.test(errorCode(error)) ? { free: true } : { silent: true }
  }
}

/** No connection was made: nothing listens, or the address is not of this machine. */
const NOT_LISTENING =
  /^(ECONNREFUSED|ConnectionRefused|FailedToOpenSocket|EADDRNOTAVAIL|EHOSTUNREACH|ENETUNREACH|ENOTFOUND|EAI_\w+|DNS\w*)$/

const nameHolder = (port: number | string): string =>
  `ss -ltnp 'sport = :${port}' names it; end it, or set [server].port`

/** Detects another program at the address of this configuration, while no daemon runs in its folder. */
async function portHolder(
  { host, port }: Config['server'],
  fetch: Runtime['fetch'],
): Promise<CheckResult | null> {
  if (port === 0) return null
  const reached = ANY_ADDRESS[host] ?? host
  const url = `http://${reached.includes(':') ? `[${reached}]` : reached}:${port}`
  const probed = await fetchStatus(`${url}/health`, fetch, PORT_MS)
  if ('free' in probed) return null
  const what =
    'text' in probed && /"reads":/.test(probed.text)
      ? 'another forumd, with another data folder'
      : 'another program'
  return bad(
    'daemon',
    `port ${port} is in use by ${what}, so that it cannot start there`,
    nameHolder(port),
  )
}

const ANY_ADDRESS: Readonly<Record<string, string>> = { '0.0.0.0': '127.0.0.1', '::': '::1' }

function addressIn(dir: string): string | null {
  const path = join(dir, 'forumd.address')
  return existsSync(path) ? readFileSync(path, 'utf8').trim() : null
}

/** The system's code for denied access, by default writing to a folder; null when it is allowed. */
function refusalOf(path: string, mode = constants.W_OK | constants.X_OK): string | null {
  try {
    accessSync(path, mode)
    return null
  } catch (error) {
    return errorCode(error)
  }
}
