import { existsSync, mkdirSync, readdirSync, rmSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'

import * as z from 'zod'

import { errorCode } from '../../core/base/errors.ts'
import { once } from '../../core/base/lazy.ts'
import { APPLICATION_ID } from '../db/connection.ts'
import { openFolder } from './folder.ts'

/** A copy of a database could not be made, or is unusable. Its message gives the reason. */
export class CopyFailed extends Error {
  override name = 'CopyFailed'
}

export class SourceDamaged extends CopyFailed {}

// A separate worker, because both the copy and its check block a thread for as long as the disk takes.
const WORKER = `
import { Database } from 'bun:sqlite'
import { statfsSync } from 'node:fs'
import { parentPort, workerData } from 'node:worker_threads'
try {
  const db = new Database(workerData.from, { readwrite: true, create: false })
  db.run('PRAGMA busy_timeout = 5000')
  const count = (name) => db.query('PRAGMA ' + name).get()[name]
  const { blocks, bavail, bsize } = statfsSync(workerData.to)
  // A copy without enough space would fill the disk before it failed, and leave the daemon none.
  if (blocks > 0 && bavail * bsize < (count('page_count') - count('freelist_count')) * count('page_size'))
    throw { code: 'SQLITE_FULL' }
  db.query('VACUUM INTO ?').run(workerData.to)
  db.close()
  const copy = new Database(workerData.to, { readonly: true })
  const one = (sql) => Object.values(copy.query(sql).get() ?? {})[0]
  const found = {
    integrity: one('PRAGMA integrity_check(1)'),
    application_id: one('PRAGMA application_id'),
    instance_id: one('SELECT id FROM instance'),
  }
  copy.close()
  parentPort.postMessage(found)
} catch (error) {
  parentPort.postMessage({ error: String(error?.code ?? error?.message ?? error) })
}
`

const copyResult = once(() =>
  z.union([
    z.object({ error: z.string() }),
    z.object({ integrity: z.string(), application_id: z.number(), instance_id: z.string() }),
  ]),
)
type CopyResult = z.infer<ReturnType<typeof copyResult>>

/**
 * Copies a database that may be in use to a file: consistent, compact, checked in every page, readable by its owner
 * alone, and synced to the disk. With `replace` the checked copy atomically replaces a file of that name; otherwise
 * there must be none.
 * @throws {CopyFailed} leaving existing files unchanged
 */
export async function copyDatabase(
  from: string,
  to: string,
  { instance_id, replace = false }: { instance_id: string; replace?: boolean },
): Promise<void> {
  const part = `${basename(to)}.part`
  using folder = attempt(() => openFolder(dirname(to)))
  folder.remove(part)
  try {
    // SQLite would create it world-readable, but fills an existing empty file.
    using file = attempt(() => folder.create(part))
    const copy = await inWorker({ from, to: `${to}.part` })
    if ('error' in copy) throw copyFailed(copy.error)
    if (copy.integrity !== 'ok') throw new CopyFailed(`the copy is damaged: ${copy.integrity}`)
    if (copy.application_id !== APPLICATION_ID || copy.instance_id !== instance_id)
      throw new CopyFailed('the copy is not of this instance')
    file.sync()
    if (!file.isAt(part)) throw new CopyFailed(`${to}.part was exchanged while it was written`)
    if (!replace && folder.has(basename(to))) throw new CopyFailed(`${to} exists already`)
    folder.rename(part, basename(to))
    folder.sync()
  } finally {
    folder.remove(part)
  }
}

function attempt<T>(make: () => T): T {
  try {
    return make()
  } catch (error) {
    throw copyFailed(errorCode(error) || String(error))
  }
}

const copyFailed = (code: string) =>
  new (DAMAGED.test(code) ? SourceDamaged : CopyFailed)(
    `the copy could not be made: ${describeCode(code)}`,
  )

const DAMAGED = /^SQLITE_(CORRUPT|NOTADB)/
const NO_SPACE = 'its disk has not enough space'
const WORDS: Readonly<Record<string, string>> = {
  SQLITE_FULL: NO_SPACE,
  ENOSPC: NO_SPACE,
  ENOENT: 'its folder does not exist',
  EACCES: 'this user cannot write to its folder',
  EROFS: 'its disk is read-only',
}
const describeCode = (code: string) => (code in WORDS ? `${WORDS[code]} (${code})` : code)

async function inWorker(job: { from: string; to: string }): Promise<CopyResult> {
  // Loaded with the first copy: a start does not need it.
  const { Worker } = await import('node:worker_threads')
  const worker = new Worker(WORKER, { eval: true, workerData: job })
  const { promise, resolve } = Promise.withResolvers<CopyResult>()
  worker.once('message', (message) => resolve(copyResult().parse(message)))
  worker.once('error', ({ message }) => resolve({ error: message }))
  try {
    return await promise
  } finally {
    await worker.terminate()
  }
}

const DAY_MS = 86_400_000
const NAME = /^forumd-(\d{8})T\d{6}Z\.sqlite$/

const stampAt = (at: number) => new Date(at).toISOString().replace(/[-:]|\.\d+/g, '')
const nameAt = (at: number) => `forumd-${stampAt(at)}.sqlite`

/** The snapshots in a folder, newest first. */
export function listSnapshots(folder: string): string[] {
  if (!existsSync(folder)) return []
  return readdirSync(folder)
    .filter((name) => NAME.test(name))
    .toSorted((a, b) => (a < b ? 1 : -1))
}

export type Keep = {
  keep_hourly: number
  keep_daily: number
  /** Days; older snapshots contain content that the database has deleted. 0: no limit. */
  snapshots_days: number
}

/** Time of the newest snapshot in a folder, in ms; null when there is none. */
export function lastSnapshotAt(folder: string): number | null {
  const at = Date.parse(
    (listSnapshots(folder)[0] ?? '').replace(
      /^forumd-(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z\.sqlite$/,
      '$1-$2-$3T$4:$5:$6Z',
    ),
  )
  return Number.isNaN(at) ? null : at
}

/** The snapshots to keep: the newest `keep_hourly`, and the last one of each of the newest `keep_daily` days. */
export function snapshotsToKeep(
  names: readonly string[],
  { keep_hourly, keep_daily }: Omit<Keep, 'snapshots_days'>,
): string[] {
  const newest = names.toSorted((a, b) => (a < b ? 1 : -1))
  const by_day = Map.groupBy(newest, (name) => NAME.exec(name)?.[1] ?? '')
  const daily = [...by_day.values()].slice(0, keep_daily).flatMap(([last]) => last ?? [])
  const retained = new Set([...newest.slice(0, keep_hourly), ...daily])
  return newest.filter((name) => retained.has(name))
}

/** Creates a verified snapshot in the folder and removes expired ones; returns its path. */
export async function takeSnapshot(
  database: string,
  folder: string,
  { instance_id, now, ...keep }: Keep & { instance_id: string; now: number },
): Promise<string> {
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const path = join(folder, nameAt(now))
  // Before the copy too: a smaller keep_hourly or keep_daily makes space for it.
  removeExcess(folder, keep)
  if (!existsSync(path)) await copyDatabase(database, path, { instance_id })
  removeExcess(folder, keep)
  // Only now: without a new snapshot an old one is better than none.
  removeExpired(folder, now, keep)
  return path
}

function removeExcess(folder: string, keep: Keep): void {
  const names = listSnapshots(folder)
  const retained = new Set(snapshotsToKeep(names, keep))
  for (const name of names) if (!retained.has(name)) rmSync(join(folder, name), { force: true })
}

/**
 * Removes databases that restores have moved aside, with their logs, once they are older than the retention of snapshots:
 * they contain content that was erased since.
 */
export function removeMovedAside(
  database: string,
  now: number,
  { snapshots_days }: Pick<Keep, 'snapshots_days'>,
): void {
  if (snapshots_days === 0) return
  const oldest = stampAt(now - snapshots_days * DAY_MS)
  const folder = dirname(database)
  for (const name of readdirSync(folder)) {
    const stamp = name.startsWith(`${basename(database)}.before-`)
      ? /\.before-(\d{8}T\d{6}Z)(?:-\d+)?(?:-wal|-shm)?$/.exec(name)?.[1]
      : undefined
    if (stamp !== undefined && stamp < oldest) rmSync(join(folder, name), { force: true })
  }
}

export function removeExpired(
  folder: string,
  now: number,
  { snapshots_days }: Pick<Keep, 'snapshots_days'>,
): void {
  if (snapshots_days === 0) return
  const oldest = nameAt(now - snapshots_days * DAY_MS)
  for (const name of listSnapshots(folder))
    if (name < oldest) rmSync(join(folder, name), { force: true })
}
