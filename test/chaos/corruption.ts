import { cpSync, existsSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

import Database from 'better-sqlite3'

import { runForumd, startProcess } from '../support/process.ts'
import { startChaosFixture } from './fixture.ts'

/** The result of a start with a damaged database. */
export type Damaged = {
  harm: string
  /** The daemon exited with the code for an error that a restart cannot fix. */
  refused: boolean
  /** A writing command exited with the same code. */
  refused_beside: boolean
  /** The damaged files were neither changed nor replaced. */
  untouched: boolean
}

const LEAF = 0x0d
const PAGE = 4096
const WORK_MS = 1500

const flip = (path: string, at: number) => {
  const bytes = readFileSync(path)
  bytes[at] = (bytes[at] ?? 0) ^ 0xff
  writeFileSync(path, bytes)
}

type Harm = { harm: string; keeps_log?: boolean; does: (db: string) => void }

const HARMS: Harm[] = [
  {
    harm: 'missing',
    does: (db) => ['', '-wal', '-shm'].forEach((end) => rmSync(db + end, { force: true })),
  },
  { harm: 'zero-length', does: (db) => truncateSync(db, 0) },
  { harm: 'truncated', does: (db) => truncateSync(db, Math.floor(readFileSync(db).length / 2)) },
  { harm: 'header flipped', does: (db) => flip(db, 5) },
  { harm: 'page flipped', does: (db) => flip(db, leafIn(readFileSync(db))) },
  {
    harm: 'log flipped',
    keeps_log: true,
    does: (db) => flip(`${db}-wal`, Math.floor(readFileSync(`${db}-wal`).length / 2)),
  },
]

/** Offset of the middle page that contains rows. */
function leafIn(bytes: Buffer): number {
  const leaves: number[] = []
  for (let at = PAGE; at < bytes.length; at += PAGE) if (bytes[at] === LEAF) leaves.push(at)
  return leaves[Math.floor(leaves.length / 2)] ?? PAGE
}

/** Damages the database of a killed daemon in six ways and starts the daemon on each copy. */
export async function damageFile(seed: number): Promise<Damaged[]> {
  await using fixture = await startChaosFixture({ seed, places: ['hay0'], items_per_s: 20 })
  const daemon = await startProcess(fixture.config)
  await fixture.setUp(daemon)
  await Bun.sleep(WORK_MS)
  await daemon.end('SIGKILL')
  await fixture.poster.stop()
  const text = await Bun.file(fixture.config).text()
  const results: Damaged[] = []
  for (const { harm, keeps_log = false, does } of HARMS) {
    const data = join(fixture.dir, harm.replaceAll(' ', '-'))
    cpSync(fixture.data, data, { recursive: true })
    const db = join(data, 'forumd.sqlite')
    // After a checkpoint all data is in the main file, so the WAL cannot repair the damage.
    if (!keeps_log) foldLog(db)
    does(db)
    const before = digests(db)
    const config = `${data}.toml`
    await Bun.write(config, text.replace(`"${fixture.data}"`, `"${data}"`))
    results.push({
      harm,
      refused: await isRefused(async () => {
        const started = await startProcess(config)
        await started.end('SIGKILL')
      }),
      refused_beside: await isRefused(() =>
        runForumd(`key create --config ${config} --customer bob`.split(' ')),
      ),
      untouched: digests(db) === before,
    })
  }
  return results
}

function foldLog(path: string): void {
  const db = new Database(path)
  db.pragma('wal_checkpoint(TRUNCATE)')
  db.close()
}

async function isRefused(start: () => Promise<unknown>): Promise<boolean> {
  const error = await start().catch((it: unknown) => it)
  return error instanceof Error && /ended with 78/.test(error.message)
}

const digests = (db: string): string =>
  ['', '-wal']
    // An empty WAL equals a missing one.
    .map((end) => (existsSync(db + end) ? Bun.hash(readFileSync(db + end)) : Bun.hash('')))
    .join(' ')
