import { accessSync, constants, existsSync, lstatSync, readFileSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'

import type { Config } from '../../config/schema.ts'
import { errorCode } from '../../core/error-code.ts'
import type { Outside } from '../../outside.ts'
import { schemaVersion } from '../../store/db.ts'
import { judgeDisk, readDisk } from '../../store/disk.ts'
import { openInstance } from '../../store/instance.ts'
import { migrations } from '../../store/migrations.ts'
import { type Paths, pathsOf } from '../../store/place.ts'
import { openSound } from '../../store/sound.ts'
import { explain } from '../failures.ts'
import { bad, type Check, doubtful, type Finding, fine } from './finding.ts'

const GIB = 1024 ** 3
const REMOUNT = 'see why: dmesg; then mount it for writing again'
const AS_OWNER = 'run this as the user that the daemon runs as: sudo -u forumd forumd doctor'

/** The data folder, the database and its key, the room on the disk, and whether a daemon runs. Nothing is changed. */
export function storageChecks(config: Config, outside: Outside): Check[] {
  const paths = pathsOf(config.storage)
  return [
    { title: 'looking at the data folder', look: () => lookAtFolder(paths) },
    { title: 'reading the whole database', look: () => lookAtDatabase(paths, config, outside) },
    { title: 'asking the daemon', look: () => lookForDaemon(paths, outside) },
  ]
}

function lookAtFolder({ dir, db }: Paths): Finding[] {
  if (!existsSync(dir)) {
    if (lstatSync(dir, { throwIfNoEntry: false })?.isSymbolicLink())
      return [
        bad('storage', `${dir} is a link that leads nowhere`, 'mount or make what it leads to'),
      ]
    const mend = 'nothing to do: forumd serve makes it, if it may write to the folder around it'
    return refusalOf(dirname(dir)) === null
      ? [doubtful('storage', `${dir} is not there yet`, mend)]
      : [bad('storage', `${dir} is not there, and cannot be made`, `make it: mkdir -p ${dir}`)]
  }
  if (!statSync(dir).isDirectory())
    return [bad('storage', `${dir} is no folder`, 'set [storage].dir to a folder')]
  const refused = refusalOf(dir)
  if (refused === 'EROFS')
    return [bad('storage', `${dir} lies on a file system that can only be read`, REMOUNT)]
  if (refused !== null) return [bad('storage', `${dir} may not be written to`, AS_OWNER)]
  const disk = readDisk(dir, db)
  const left = `${(disk.free_bytes / GIB).toFixed(1)} GiB free`
  const short = judgeDisk(disk, { db_bytes: disk.db_bytes, elapsed_ms: 0 })
  return short === null
    ? [fine('storage', `${dir} may be written to, ${left}`)]
    : [
        doubtful(
          'storage',
          short === 'files' ? `${dir}: hardly a file is free` : `${dir}: only ${left}`,
          'make room: a full disk stops monitors, and nothing else',
        ),
      ]
}

function lookAtDatabase(paths: Paths, config: Config, { clock, random }: Outside): Finding[] {
  // Nobody can tell whether there is one in a folder that this user may not look into; the folder's own line says so.
  if (existsSync(paths.dir) && refusalOf(paths.dir) === 'EACCES') return []
  if (!existsSync(paths.db)) {
    if (!existsSync(paths.marker))
      return [
        doubtful('database', 'there is none yet', 'nothing to do: forumd serve makes it at start'),
      ]
    return [
      bad(
        'database',
        `${paths.db} is missing, and the folder held one`,
        `put the newest backup back: forumd restore FILE; to begin with nothing, move ${paths.marker} away`,
      ),
    ]
  }
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
    openInstance({ ...config.storage, clock, random }, { mode: 'beside' }).close()
    return [
      fine('database', `every page is sound, schema ${version}, and the key file is its own`),
      ...lookAtKey(paths),
    ]
  } catch (error) {
    const { code, message } = explain(error)
    const denied = /EACCES|READONLY|CANTOPEN/.test(errorCode(error))
    const ending = `forumd serve would end with ${code} by this`
    const owner = denied ? AS_OWNER : ending
    return [bad('database', message, refusalOf(paths.dir) === 'EROFS' ? REMOUNT : owner)]
  }
}

const OTHERS_READ = 0o004

/** With the key, a copy of the database opens every account. */
const lookAtKey = ({ key }: Paths): Finding[] =>
  (statSync(key).mode & OTHERS_READ) === 0
    ? []
    : [doubtful('key', `${key} may be read by every user of this machine`, `chmod 600 ${key}`)]

/** The schema of a database that is sound. Throws what openInstance would. */
function versionOf(paths: Paths, now: number): number {
  const { db: path, dir } = paths
  // Not merely opened: that cuts off what comes after a damage in the log, which may still be saved.
  const db = openSound(paths, { mode: 'beside', lock_path: join(dir, 'lock.db'), now })
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

async function lookForDaemon({ dir }: Paths, { fetch }: Outside): Promise<Finding[]> {
  const url = addressIn(dir)
  if (url === null) return [doubtful('daemon', 'it does not run', STOPPED)]
  try {
    const answer = await fetch(`${url}/health`, {
      proxy: false,
      signal: AbortSignal.timeout(HEALTH_MS),
    })
    const body = await answer.text()
    const health = /"ok":\s*true/.test(body)
    const storage = /"storage":\s*"(\w+)"/.exec(body)?.[1]
    if (health && storage === undefined) return [fine('daemon', `it serves at ${url}`)]
    const what = storage ?? 'not well'
    return [bad('daemon', `it runs at ${url} and says: ${what}`, 'look at its log')]
  } catch {
    return [bad('daemon', `${url} does not answer, where it said it listens`, STOPPED)]
  }
}

function addressIn(dir: string): string | null {
  const path = join(dir, 'forumd.address')
  return existsSync(path) ? readFileSync(path, 'utf8').trim() : null
}

/** What keeps us from writing into a folder, as the system calls it; null when nothing does. */
function refusalOf(path: string): string | null {
  try {
    accessSync(path, constants.W_OK | constants.X_OK)
    return null
  } catch (error) {
    return errorCode(error)
  }
}
