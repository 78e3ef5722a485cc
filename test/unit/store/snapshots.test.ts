import { expect, test } from 'bun:test'
import { existsSync, readdirSync, statSync, truncateSync, writeFileSync } from 'node:fs'

import { connect } from '../../../src/store/db.ts'
import { openInstance } from '../../../src/store/instance.ts'
import {
  copyDatabase,
  CopyFailed,
  keptSnapshots,
  listSnapshots,
  takeSnapshot,
} from '../../../src/store/snapshots.ts'
import { tempFolder } from '../../support/folder.ts'

const clock = { now: () => 1_767_225_600_000 }
const random = {
  uuid: () => Bun.randomUUIDv7(),
  bytes: (count: number) => crypto.getRandomValues(new Uint8Array(count)),
}
const opened = (dir: string) =>
  openInstance({ dir, key_file: '', clock, random }, { mode: 'serve' })

/** What a promise was rejected with. */
const failure = (promise: Promise<unknown>) =>
  promise.then(() => null).catch((error: unknown) => error)

test('a copy of a database in use is whole, and nothing of it is left when it fails', async () => {
  using folder = tempFolder()
  const instance = opened(folder.file('data'))
  instance.db.run("INSERT INTO customers VALUES ('cus_1', 'ann', 'entry', 0, 0, 0, NULL)")
  const to = folder.file('copy.sqlite')
  await copyDatabase(instance.path, to, instance)

  const copy = connect(to)
  expect(copy.query('SELECT name FROM customers').get()).toEqual({ name: 'ann' })
  copy.close()
  // What customers have stands in it; that the folder is closed to others is not so of every folder.
  expect(statSync(to).mode & 0o777).toBe(0o600)
  expect(await failure(copyDatabase(instance.path, to, instance))).toBeInstanceOf(CopyFailed)
  const another = copyDatabase(instance.path, folder.file('b'), { instance_id: 'another' })
  expect(await failure(another)).toHaveProperty('message', 'the copy is not of this instance')
  instance.close()
})

test('a source that is damaged makes no copy', async () => {
  using folder = tempFolder()
  const instance = opened(folder.file('data'))
  const { path, instance_id } = instance
  instance.close()
  truncateSync(path, 8192)
  const copied = copyDatabase(path, folder.file('copy'), { instance_id })
  expect(await failure(copied)).toBeInstanceOf(CopyFailed)
  expect(readdirSync(folder.path)).toEqual(['data'])
})

test('a snapshot is named by its time, verified, and the old ones make room', async () => {
  using folder = tempFolder()
  const instance = opened(folder.file('data'))
  const snapshots = folder.file('snapshots')
  for (let hour = 0; hour < 4; hour++)
    await takeSnapshot(instance.path, snapshots, {
      instance_id: instance.instance_id,
      now: clock.now() + hour * 3_600_000,
      keep_hourly: 2,
      keep_daily: 1,
    })
  writeFileSync(`${snapshots}/notes.txt`, 'mine')
  instance.close()

  expect(listSnapshots(snapshots)).toEqual([
    'forumd-20260101T030000Z.sqlite',
    'forumd-20260101T020000Z.sqlite',
  ])
  expect(existsSync(`${snapshots}/notes.txt`)).toBe(true)
})

test('of each day its last one stays, beside the newest', () => {
  const names = ['01T22', '01T23', '02T01', '02T23', '03T00', '03T01', '03T02'].map(
    (it) => `forumd-202601${it}0000Z.sqlite`,
  )
  const kept = keptSnapshots(names, { keep_hourly: 2, keep_daily: 3 })
  expect(kept.map((name) => name.slice(13, 18))).toEqual(['03T02', '03T01', '02T23', '01T23'])
})
