import { closeSync, openSync, rmSync, statfsSync, statSync, writeSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'

import { errorCode } from '../../core/base/errors.ts'

/** Trouble of a disk that ends without a change to forumd or to what it has stored. */
export type DiskTrouble = {
  reason: 'disk_full' | 'no_inodes' | 'quota_exceeded' | 'read_only' | 'io_error'
  sentence: string
}

const SENTENCES: Readonly<Record<DiskTrouble['reason'], string>> = {
  disk_full: 'the disk is full: make room on it (df -h shows how much there is)',
  no_inodes:
    'the disk has room but no inodes left, so that no file can be made: remove files from it (df -i shows how many there are)',
  quota_exceeded: 'the disk quota of this user is used up: raise it, or remove files',
  read_only:
    'the file system is mounted read-only: see why (dmesg), then mount it for writing again (mount -o remount,rw)',
  io_error:
    'the disk returns I/O errors: see which (dmesg), check its cables and the volume, and if it is failing put the newest backup on another disk',
}

const troubleFor = (reason: DiskTrouble['reason'], folder: string): DiskTrouble => ({
  reason,
  sentence: `at ${folder} ${SENTENCES[reason]}`,
})

/** What SQLite writes at a start, and some. */
const PROBE_BYTES = 128 * 1024
/** What SQLite opens for a database: itself, its log, what is shared between processes, and one for the folder. */
const DESCRIPTORS = 4

/**
 * The trouble of the disk behind an error, which was met at `path` where it names no file itself; null where the disk is not to blame. SQLite says of a
 * disk without room that a file cannot be opened or shared: then a file is written beside it, to hear it from the system.
 */
export function diskTroubleOf(error: unknown, path: string): DiskTrouble | null {
  const code = errorCode(error)
  const named = error instanceof Error && 'path' in error ? error.path : undefined
  const folder = nearestFolder(typeof named === 'string' ? named : path)
  if (code.startsWith('SQLITE_FULL')) return troubleFor('disk_full', folder)
  if (/^SQLITE_(IOERR|CANTOPEN|READONLY)/.test(code)) return troubleByCode(probe(folder), folder)
  return troubleByCode(code, folder)
}

/**
 * True where the failed statement was rolled back and the next one succeeds once there is room, or the disk is mounted for
 * writing. After a failed fsync it is unknown what the disk holds: only the next start can read it.
 */
export function passesWithDisk(error: unknown, path: string): boolean {
  const code = errorCode(error)
  if (code.startsWith('SQLITE_FULL')) return true
  if (/FSYNC|^SQLITE_(CORRUPT|NOTADB)/.test(code)) return false
  const reason = diskTroubleOf(error, path)?.reason ?? 'io_error'
  return reason !== 'io_error'
}

function troubleByCode(code: string, folder: string): DiskTrouble | null {
  if (code === 'EROFS') return troubleFor('read_only', folder)
  if (code === 'EIO') return troubleFor('io_error', folder)
  if (code === 'EDQUOT') return troubleFor('quota_exceeded', folder)
  if (code !== 'ENOSPC') return null
  const { files, ffree } = statfsSync(folder)
  return troubleFor(files > 0 && ffree === 0 ? 'no_inodes' : 'disk_full', folder)
}

function nearestFolder(path: string): string {
  let folder = resolve(path)
  while (!isFolder(folder) && dirname(folder) !== folder) folder = dirname(folder)
  return folder
}

const isFolder = (path: string): boolean => {
  try {
    return statSync(path).isDirectory()
  } catch {
    return false
  }
}

/** The code with which the system refuses a new file in this folder; empty when it takes one. */
function probe(folder: string): string {
  const file = join(folder, `.forumd-probe-${process.pid}`)
  const handles: number[] = []
  try {
    const handle = openSync(file, 'wx', 0o600)
    handles.push(handle)
    const bytes = new Uint8Array(PROBE_BYTES)
    // A write to a disk that is nearly full takes a part, and only the next one fails.
    for (let done = 0; done < bytes.length;) done += writeSync(handle, bytes, done)
    while (handles.length < DESCRIPTORS) handles.push(openSync(file, 'r'))
    return ''
  } catch (error) {
    return errorCode(error)
  } finally {
    for (const handle of handles) closeSync(handle)
    try {
      rmSync(file, { force: true })
    } catch {
      // On a file system that may only be read it was never made.
    }
  }
}

/** Throws what the system says to a new file in this folder. SQLite has one word for all that keeps it from making one. */
export function requireNewFile(folder: string): void {
  const code = probe(folder)
  if (code === '') return
  const message = `${code}: a file cannot be made in ${folder}`
  throw Object.assign(new Error(message), { code, path: folder })
}
