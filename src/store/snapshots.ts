import { existsSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'

import * as z from 'zod'

import { once } from '../core/once.ts'
import { APPLICATION_ID } from './db.ts'
import { syncPath } from './files.ts'

/** A copy of a database could not be made, or is no good. Its message says why. */
export class CopyFailed extends Error {
  override name = 'CopyFailed'
}

/** What was to be copied is damaged. */
export class SourceDamaged extends CopyFailed {}

// A worker of its own, because both the copy and its check keep a thread busy for as long as the disk takes.
const WORKER = `
import { Database } from 'bun:sqlite'
import { statfsSync, writeFileSync } from 'node:fs'
import { parentPort, workerData } from 'node:worker_threads'
try {
  const db = new Database(workerData.from, { readwrite: true, create: false })
  db.run('PRAGMA busy_timeout = 5000')
  // SQLite would make it everybody's to read; a file that is empty it fills.
  writeFileSync(workerData.to, '', { mode: 0o600, flag: 'wx' })
  const count = (name) => db.query('PRAGMA ' + name).get()[name]
  const { blocks, bavail, bsize } = statfsSync(workerData.to)
  // Tried, it would take all there is before it failed, and leave the daemon beside it none.
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

const found = once(() =>
  z.union([
    z.object({ error: z.string() }),
    z.object({ integrity: z.string(), application_id: z.number(), instance_id: z.string() }),
  ]),
)
type Found = z.infer<ReturnType<typeof found>>

/**
 * Copies a database that may be in use to a file that is not there yet: consistent, compact, checked in every page, its
 * owner's alone to read, and safe on the disk. Throws CopyFailed, and then leaves no file.
 */
export async function copyDatabase(
  from: string,
  to: string,
  { instance_id }: { instance_id: string },
): Promise<void> {
  const part = `${to}.part`
  rmSync(part, { force: true })
  try {
    const copy = await inWorker({ from, to: part })
    if ('error' in copy) {
      const Failed = DAMAGED.test(copy.error) ? SourceDamaged : CopyFailed
      throw new Failed(`the copy could not be made: ${inWords(copy.error)}`)
    }
    if (copy.integrity !== 'ok') throw new CopyFailed(`the copy is damaged: ${copy.integrity}`)
    if (copy.application_id !== APPLICATION_ID || copy.instance_id !== instance_id)
      throw new CopyFailed('the copy is not of this instance')
    syncPath(part)
    if (existsSync(to)) throw new CopyFailed(`${to} is there already`)
    renameSync(part, to)
    syncPath(join(to, '..'))
  } finally {
    rmSync(part, { force: true })
  }
}

const DAMAGED = /^SQLITE_(CORRUPT|NOTADB)/
const NO_ROOM = 'the disk it goes to has no room for it'
const WORDS: Readonly<Record<string, string>> = {
  SQLITE_FULL: NO_ROOM,
  ENOSPC: NO_ROOM,
  ENOENT: 'the folder it goes to is not there',
  EACCES: 'this user may not write into its folder',
  EROFS: 'the disk it goes to may only be read',
}
const inWords = (code: string) => (code in WORDS ? `${WORDS[code]} (${code})` : code)

async function inWorker(job: { from: string; to: string }): Promise<Found> {
  // With the first copy: a start does not need it.
  const { Worker } = await import('node:worker_threads')
  const worker = new Worker(WORKER, { eval: true, workerData: job })
  const { promise, resolve } = Promise.withResolvers<Found>()
  worker.once('message', (message) => resolve(found().parse(message)))
  worker.once('error', ({ message }) => resolve({ error: message }))
  try {
    return await promise
  } finally {
    await worker.terminate()
  }
}

const NAME = /^forumd-(\d{8})T\d{6}Z\.sqlite$/

const nameAt = (at: number) =>
  `forumd-${new Date(at).toISOString().replace(/[-:]|\.\d+/g, '')}.sqlite`

/** The snapshots in a folder, newest first. */
export function listSnapshots(folder: string): string[] {
  if (!existsSync(folder)) return []
  return readdirSync(folder)
    .filter((name) => NAME.test(name))
    .toSorted((a, b) => (a < b ? 1 : -1))
}

/** How many snapshots are kept. */
export type Keep = { keep_hourly: number; keep_daily: number }

/** Which snapshots stay: the newest so many, and of each of the newest so many days its last one. */
export function keptSnapshots(
  names: readonly string[],
  { keep_hourly, keep_daily }: Keep,
): string[] {
  const newest = names.toSorted((a, b) => (a < b ? 1 : -1))
  const by_day = Map.groupBy(newest, (name) => NAME.exec(name)?.[1] ?? '')
  const daily = [...by_day.values()].slice(0, keep_daily).flatMap(([last]) => last ?? [])
  const kept = new Set([...newest.slice(0, keep_hourly), ...daily])
  return newest.filter((name) => kept.has(name))
}

/** Takes a verified snapshot into the folder and removes those whose time is over; returns its path. */
export async function takeSnapshot(
  database: string,
  folder: string,
  { instance_id, now, ...keep }: Keep & { instance_id: string; now: number },
): Promise<string> {
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const path = join(folder, nameAt(now))
  // Before it too: who was told to keep fewer makes room by that.
  removeOld(folder, keep)
  if (!existsSync(path)) await copyDatabase(database, path, { instance_id })
  removeOld(folder, keep)
  return path
}

function removeOld(folder: string, keep: Keep): void {
  const names = listSnapshots(folder)
  const kept = new Set(keptSnapshots(names, keep))
  for (const name of names) if (!kept.has(name)) rmSync(join(folder, name), { force: true })
}
