import { expect, test } from 'bun:test'
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'

import { noticeFor } from '../../../src/delivery/operator-notices.ts'
import { createStorage } from '../../../src/monitor/storage.ts'
import { connect, reportStorageError, transact } from '../../../src/store/db/connection.ts'
import { requestScrub } from '../../../src/store/erasure/scrub.ts'
import {
  type DiskState,
  failedRecently,
  recordStorageError,
  restartsUseless,
} from '../../../src/store/maintenance/disk.ts'
import { openInstance } from '../../../src/store/maintenance/instance.ts'
import { tempFolder } from '../../support/folder.ts'

const MINUTE_MS = 60_000

type Change = {
  readDisk?: () => DiskState
  snapshots?: Parameters<typeof createStorage>[0]['snapshots']
}

function watched(change: Change = {}) {
  const folder = tempFolder()
  let now = Date.UTC(2026, 0, 1)
  const began = now
  const clock = { now: () => now, mono: () => now - began, sleep: () => Promise.resolve() }
  const random = {
    uuid: () => Bun.randomUUIDv7(),
    bytes: (count: number) => crypto.getRandomValues(new Uint8Array(count)),
  }
  const instance = openInstance(
    { dir: folder.path, key_file: '', clock, random },
    { mode: 'serve' },
  )
  const events: { event: string; fields: Record<string, unknown> }[] = []
  const lost: string[] = []
  const storage = createStorage({
    ...instance,
    dir: folder.path,
    words: { community: 'subforum', home: 'forum' },
    signal: new AbortController().signal,
    clock,
    log: (_, event, fields = {}) => void events.push({ event, fields }),
    snapshots: { schedule: () => Infinity, keep_hourly: 0, keep_daily: 0, snapshots_days: 0 },
    noteConfig: () => {},
    nudge: () => {},
    readDisk: () => ({ free_bytes: 2 ** 40, free_files: null, db_bytes: 0, wal_bytes: 0 }),
    lost: (reason) => void lost.push(reason),
    ...change,
  })
  return {
    ...instance,
    storage,
    events,
    lost,
    folder,
    now: () => now,
    /** Advances time and runs the watch. */
    async turn(ms = 0) {
      now += ms
      await storage.turn()
    },
    [Symbol.dispose]() {
      instance.close()
      folder[Symbol.dispose]()
    },
  }
}

/** Writes until the disk, or its stand-in, is full; returns the error. */
function fillUp(it: ReturnType<typeof watched>) {
  const { page_count } = it.db.query<{ page_count: number }, []>('PRAGMA page_count').get() ?? {
    page_count: 0,
  }
  it.db.run(`PRAGMA max_page_count = ${page_count + 2}`)
  const write = it.db.query('INSERT INTO observation_events (kind, at) VALUES ($kind, 0)')
  try {
    transact(it.db, () => void write.run({ kind: 'x'.repeat(100_000) }))
  } catch (error) {
    expect(String(error)).toContain('full')
    return error
  }
  throw new Error('the disk did not become full')
}

test('the first write on a full disk releases the reserve file, which is refilled when there is space', async () => {
  using it = watched()
  await it.turn()
  await it.turn(MINUTE_MS)
  const reserve_path = it.folder.file('ballast')
  expect([existsSync(reserve_path), it.storage.trouble()]).toEqual([true, null])

  fillUp(it)
  expect([existsSync(reserve_path), it.storage.trouble()]).toEqual([false, 'storage_full'])
  expect(it.lost).toEqual([])

  await it.turn(5000)
  expect([existsSync(reserve_path), it.storage.full()]).toEqual([true, false])
  expect(it.events.map(({ event }) => event)).toEqual(['storage.full', 'storage.recovered'])
})

test('waiting work gets space as soon as there is some, even in the first minute of a run', async () => {
  using it = watched()
  await it.turn()
  fillUp(it)
  expect(it.storage.trouble()).toBe('storage_full')

  it.storage.full()
  await it.storage.idle()
  expect(it.storage.full()).toBe(false)
  expect(it.storage.trouble()).toBeNull()
  expect(it.events.map(({ event }) => event)).toEqual(['storage.full', 'storage.recovered'])
})

test('a disk that fills up while space is being reserved gets that space, and stays full', async () => {
  using it = watched()
  await it.turn()
  const taking = it.turn(MINUTE_MS)
  while (!existsSync(it.folder.file('ballast.part'))) await new Promise(setImmediate)

  fillUp(it)
  await taking
  expect(readdirSync(it.folder.path).filter((name) => name.startsWith('ballast'))).toEqual([])
  expect(it.storage.trouble()).toBe('storage_full')
  expect(it.events).toMatchObject([{ event: 'storage.full', fields: { freed: true } }])
})

test('an error thrown again when the disk has space does not mark it full again', async () => {
  using it = watched()
  await it.turn()
  const error = fillUp(it)
  await it.turn(5000)
  expect(it.storage.trouble()).toBeNull()

  reportStorageError(it.db, error)
  expect(it.storage.trouble()).toBeNull()
})

test('a snapshot of a damaged database ends the daemon, and the next start reports the damage', async () => {
  using it = watched({
    snapshots: { schedule: () => 0, keep_hourly: 1, keep_daily: 0, snapshots_days: 0 },
  })
  it.db.run(
    "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2000) INSERT INTO audit (at, kind, subject, detail) SELECT 0, 'k', 's', json_array(hex(zeroblob(500))) FROM n",
  )
  it.db.run('PRAGMA wal_checkpoint(TRUNCATE)')
  const bytes = readFileSync(it.path)
  const at = bytes.length - 4096 * 100
  bytes.fill(0xff, at, at + 4096)
  writeFileSync(it.path, bytes)
  await it.turn()
  await it.storage.idle()

  expect(it.lost).toEqual(['storage'])
  expect(it.events.map(({ event }) => event)).toEqual([
    'storage.snapshot_failed',
    'storage.unusable',
  ])
  expect(failedRecently(it.folder.path, it.now())).toBe(true)
})

test('a snapshot that cannot be read is reported, and tried again with the next one', async () => {
  using it = watched({
    snapshots: { schedule: () => 0, keep_hourly: 5, keep_daily: 0, snapshots_days: 0 },
  })
  mkdirSync(it.folder.file('snapshots'))
  writeFileSync(it.folder.file('snapshots/forumd-20251201T000000Z.sqlite'), 'x'.repeat(8192))
  const failures = () => it.events.filter(({ event }) => event === 'erasure.snapshots_failed')
  await it.turn()
  await it.storage.idle()
  await it.turn(MINUTE_MS)
  await it.storage.idle()

  expect(failures()).toHaveLength(2)
  expect(noticeFor('erasure.snapshots_failed', failures()[0]?.fields ?? {})?.kind).toBe(
    'snapshot_failed',
  )
  expect(it.lost).toEqual([])

  rmSync(it.folder.file('snapshots/forumd-20251201T000000Z.sqlite'))
  await it.turn(MINUTE_MS)
  await it.storage.idle()
  expect(failures()).toHaveLength(2)
})

test('an erasure is late a day after another connection got in its way', async () => {
  using it = watched()
  requestScrub(it.db)
  const reader = connect(it.path)
  reader.run('BEGIN')
  reader.query('SELECT * FROM instance').all()
  it.db.run("INSERT INTO observation_events (kind, at) VALUES ('x', 0)")
  await it.turn()
  await it.turn(24 * 60 * MINUTE_MS)
  expect(it.storage.erasureLate()).toBe(false)
  await it.turn(MINUTE_MS)
  expect(it.storage.erasureLate()).toBe(true)

  reader.close()
  await it.turn(MINUTE_MS)
  expect(it.storage.erasureLate()).toBe(false)
})

test('after five storage errors in ten minutes no restart is requested for ten minutes', () => {
  using folder = tempFolder()
  for (let n = 0; n < 5; n++) {
    expect(restartsUseless(folder.path, n * MINUTE_MS)).toBe(false)
    recordStorageError(folder.path, n * MINUTE_MS)
  }
  expect(restartsUseless(folder.path, 4 * MINUTE_MS)).toBe(true)
  expect(restartsUseless(folder.path, 10 * MINUTE_MS)).toBe(false)
  writeFileSync(folder.file('storage-errors.json'), '[1, "')
  expect(restartsUseless(folder.path, 0)).toBe(false)
})

test('a write of another process is noticed once', () => {
  using it = watched()
  expect(it.storage.changedBeside()).toBe(false)
  it.db.run("INSERT INTO observation_events (kind, at) VALUES ('x', 0)")
  expect(it.storage.changedBeside()).toBe(false)
  const beside = connect(it.path)
  beside.run("INSERT INTO observation_events (kind, at) VALUES ('x', 0)")
  beside.close()
  expect([it.storage.changedBeside(), it.storage.changedBeside()]).toEqual([true, false])
})

test('low disk space is reported once, and again after there was space in between', async () => {
  const disk = { free_bytes: 2 ** 30, free_files: 5000, db_bytes: 0, wal_bytes: 0 }
  using it = watched({ readDisk: () => disk })
  await it.turn(MINUTE_MS)
  const lowStorageEvents = () => it.events.filter(({ event }) => event === 'storage.low')
  expect(lowStorageEvents()).toEqual([])

  disk.free_bytes -= 1
  await it.turn(MINUTE_MS)
  await it.turn(MINUTE_MS)
  expect(lowStorageEvents()).toEqual([
    { event: 'storage.low', fields: { kind: 'bytes', bytes: 2 ** 30 - 1 } },
  ])

  disk.free_bytes += 1
  await it.turn(MINUTE_MS)
  disk.free_files = 999
  await it.turn(MINUTE_MS)
  expect(lowStorageEvents().map(({ fields }) => fields['kind'])).toEqual(['bytes', 'files'])
  expect(noticeFor('storage.low', lowStorageEvents()[0]?.fields ?? {})?.kind).toBe('disk_low')
})
