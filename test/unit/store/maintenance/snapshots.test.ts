import { expect, setDefaultTimeout, test } from 'bun:test'
import { existsSync, readdirSync, statSync, truncateSync, writeFileSync } from 'node:fs'

import { connect } from '../../../../src/store/db/connection.ts'
import { openInstance } from '../../../../src/store/maintenance/instance.ts'
import {
  copyDatabase,
  CopyFailed,
  listSnapshots,
  removeMovedAside,
  snapshotsToKeep,
  takeSnapshot,
} from '../../../../src/store/maintenance/snapshots.ts'
import { mountMemory, unavailableReason } from '../../../chaos/mounts.ts'
import { tempFolder } from '../../../support/folder.ts'

// Every copy is safe on the disk before it counts, and the disk may be busy.
setDefaultTimeout(60_000)

const clock = { now: () => 1_767_225_600_000 }
const random = {
  uuid: () => Bun.randomUUIDv7(),
  bytes: (count: number) => crypto.getRandomValues(new Uint8Array(count)),
}
const opened = (dir: string) =>
  openInstance({ dir, key_file: '', clock, random }, { mode: 'serve' })

/** The reason with which a promise was rejected; null when it was not. */
const failure = (promise: Promise<unknown>) =>
  promise.then(() => null).catch((error: unknown) => error)

test('a copy of a database in use is complete, and a failed copy leaves nothing', async () => {
  using folder = tempFolder()
  const instance = opened(folder.file('data'))
  instance.db.run("INSERT INTO customers VALUES ('cus_1', 'ann', 'entry', 0, 0, 0, NULL)")
  const to = folder.file('copy.sqlite')
  await copyDatabase(instance.path, to, instance)

  const copy = connect(to)
  expect(copy.query('SELECT name FROM customers').get()).toEqual({ name: 'ann' })
  copy.close()
  // It contains customers' data, and not every folder is closed to other users.
  expect(statSync(to).mode & 0o777).toBe(0o600)
  expect(await failure(copyDatabase(instance.path, to, instance))).toBeInstanceOf(CopyFailed)
  const another = copyDatabase(instance.path, folder.file('b'), { instance_id: 'another' })
  expect(await failure(another)).toHaveProperty('message', 'the copy is not of this instance')
  instance.close()
})

test('a copy to a missing folder reports it', async () => {
  using folder = tempFolder()
  const instance = opened(folder.file('data'))

  const ended = await failure(copyDatabase(instance.path, folder.file('gone/copy'), instance))
  instance.close()

  expect(ended).toHaveProperty('message', expect.stringContaining('its folder does not exist'))
})

test('a damaged database is not copied', async () => {
  using folder = tempFolder()
  const instance = opened(folder.file('data'))
  const { path, instance_id } = instance
  instance.close()
  truncateSync(path, 8192)
  const copied = copyDatabase(path, folder.file('copy'), { instance_id })
  expect(await failure(copied)).toBeInstanceOf(CopyFailed)
  expect(readdirSync(folder.path)).toEqual(['data'])
})

test('a snapshot is named by its time and verified, and old ones are removed', async () => {
  using folder = tempFolder()
  const instance = opened(folder.file('data'))
  const snapshots = folder.file('snapshots')
  for (let hour = 0; hour < 4; hour++)
    await takeSnapshot(instance.path, snapshots, {
      instance_id: instance.instance_id,
      now: clock.now() + hour * 3_600_000,
      keep_hourly: 2,
      keep_daily: 1,
      snapshots_days: 0,
    })
  writeFileSync(`${snapshots}/notes.txt`, 'mine')
  instance.close()

  expect(listSnapshots(snapshots)).toEqual([
    'forumd-20260101T030000Z.sqlite',
    'forumd-20260101T020000Z.sqlite',
  ])
  expect(existsSync(`${snapshots}/notes.txt`)).toBe(true)
})

test('a smaller limit frees the space of excess snapshots even if no copy can be made', async () => {
  using folder = tempFolder()
  const instance = opened(folder.file('data'))
  const snapshots = folder.file('snapshots')
  const take = (hour: number, keep_hourly: number, instance_id: string) =>
    takeSnapshot(instance.path, snapshots, {
      instance_id,
      now: clock.now() + hour * 3_600_000,
      keep_hourly,
      keep_daily: 0,
      snapshots_days: 0,
    })
  for (let hour = 0; hour < 3; hour++) await take(hour, 3, instance.instance_id)

  expect(await failure(take(3, 1, 'another'))).toBeInstanceOf(CopyFailed)
  instance.close()

  expect(listSnapshots(snapshots)).toEqual(['forumd-20260101T020000Z.sqlite'])
})

test('a snapshot is kept no longer than content is, and old ones stay until there is a new one', async () => {
  using folder = tempFolder()
  const instance = opened(folder.file('data'))
  const snapshots = folder.file('snapshots')
  const take = (day: number, instance_id: string) =>
    takeSnapshot(instance.path, snapshots, {
      instance_id,
      now: clock.now() + day * 86_400_000,
      keep_hourly: 9,
      keep_daily: 9,
      snapshots_days: 30,
    })
  for (const day of [0, 1, 30]) await take(day, instance.instance_id)
  const at_30 = listSnapshots(snapshots).length
  await failure(take(40, 'another'))
  const after_failure = listSnapshots(snapshots).length
  await take(31.5, instance.instance_id)
  instance.close()

  expect([at_30, after_failure]).toEqual([3, 3])
  expect(listSnapshots(snapshots)).toEqual([
    'forumd-20260201T120000Z.sqlite',
    'forumd-20260131T000000Z.sqlite',
  ])
})

test('a database that a restore has moved aside is kept as long as a snapshot', async () => {
  using folder = tempFolder()
  const database = folder.file('forumd.sqlite')
  const names = [
    'forumd.sqlite',
    'forumd.sqlite.before-20251225T000000Z',
    'forumd.sqlite.before-20251225T000000Z-wal',
    'forumd.sqlite.before-20251225T000000Z-2-shm',
    'forumd.sqlite.before-20251226T000000Z',
    'forumd.sqlite.before-mine',
  ]
  for (const name of names) writeFileSync(folder.file(name), 'content')
  const now = Date.parse('2026-01-01T12:00:00Z')

  removeMovedAside(database, now, { snapshots_days: 0 })
  const without_limit = readdirSync(folder.path).length
  removeMovedAside(database, now, { snapshots_days: 7 })

  expect(without_limit).toBe(names.length)
  expect(readdirSync(folder.path).toSorted()).toEqual([
    'forumd.sqlite',
    'forumd.sqlite.before-20251226T000000Z',
    'forumd.sqlite.before-mine',
  ])
})

const no_memory = await unavailableReason(() => mountMemory(1))
if (no_memory !== null) console.warn(`skipped: ${no_memory}`)

test.skipIf(no_memory !== null)('a copy without enough disk space writes nothing', async () => {
  using folder = tempFolder()
  const instance = opened(folder.file('data'))
  instance.db.run('CREATE TABLE ballast AS SELECT zeroblob(8388608) AS bytes')
  await using disk = await mountMemory(4)
  const to = `${disk.path}/copy.sqlite`

  const copied = failure(copyDatabase(instance.path, to, instance))
  let taken = 0
  let ended: unknown = null
  while (ended === null) {
    taken = Math.max(taken, statSync(`${to}.part`, { throwIfNoEntry: false })?.size ?? 0)
    ended = await Promise.race([copied, Bun.sleep(0).then(() => null)])
  }
  instance.close()

  expect(ended).toHaveProperty('message', expect.stringContaining('not enough space'))
  expect(taken).toBe(0)
  expect(readdirSync(disk.path)).toEqual([])
})

test('the last snapshot of each day stays, beside the newest', () => {
  const names = ['01T22', '01T23', '02T01', '02T23', '03T00', '03T01', '03T02'].map(
    (it) => `forumd-202601${it}0000Z.sqlite`,
  )
  const retained = snapshotsToKeep(names, { keep_hourly: 2, keep_daily: 3 })
  expect(retained.map((name) => name.slice(13, 18))).toEqual(['03T02', '03T01', '02T23', '01T23'])
})
