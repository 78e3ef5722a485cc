import { expect, test } from 'bun:test'
import { statSync } from 'node:fs'
import { join } from 'node:path'

import { realClock } from '../../../../src/runtime/runtime.ts'
import { threadPath } from '../../../../src/runtime/thread-path.ts'
import { moveCheckpoints } from '../../../../src/store/db/checkpoints.ts'
import { connect, type Db, transact } from '../../../../src/store/db/connection.ts'
import { tempFolder } from '../../../support/folder.ts'
import { until } from '../../../support/node-pair.ts'

const STANDING = { ...realClock, mono: () => 0 }
const THREAD = threadPath('store/db/checkpoint-worker')

function opened(folder: string): Db {
  const db = connect(join(folder, 'a.sqlite'), { create: true })
  db.run('CREATE TABLE t (body BLOB)')
  db.run('PRAGMA wal_checkpoint(TRUNCATE)')
  return db
}

function commit(db: Db, times: number): void {
  const insert = db.query('INSERT INTO t VALUES (zeroblob(8000))')
  for (let n = 0; n < times; n += 1) transact(db, () => void insert.run())
}

const limit = (db: Db) => db.query('PRAGMA wal_autocheckpoint').values()[0]?.[0]

const sizeOf = (db: Db) => statSync(db.filename).size

test('a thread copies the log of a busy database into its file, and none does for a quiet one', async () => {
  using folder = tempFolder()
  using db = opened(folder.path)
  let now = 0
  const checkpoints = moveCheckpoints(db, {
    clock: { ...realClock, mono: () => now },
    worker_path: THREAD,
  })
  for (let second = 1; second <= 4; second += 1) {
    commit(db, 60)
    now = second * 1000
  }
  expect(checkpoints.beside()).toBe(false)
  const before = sizeOf(db)

  // Some 900 pages: fewer than those at which a commit would make the checkpoint.
  commit(db, 300)
  expect(checkpoints.beside()).toBe(true)
  expect(limit(db)).toBe(8000)
  await until(() => {
    commit(db, 40)
    return sizeOf(db) >= before + 300 * 8000 || null
  })
  await checkpoints.stop()
  expect(limit(db)).toBe(1000)
  expect(db.query('PRAGMA integrity_check').values()).toEqual([['ok']])
})

test('a thread that ends leaves the checkpoints to the commits', async () => {
  using folder = tempFolder()
  using db = opened(folder.path)
  const checkpoints = moveCheckpoints(db, {
    clock: STANDING,
    worker_path: join(folder.path, 'absent.ts'),
  })
  commit(db, 200)
  await until(() => !checkpoints.beside() || null)
  expect(limit(db)).toBe(1000)

  const before = sizeOf(db)
  commit(db, 600)
  expect(sizeOf(db)).toBeGreaterThan(before)
  expect(checkpoints.beside()).toBe(false)
  await checkpoints.stop()
})

test('the thread closes the file before the database is closed, so that no log is left behind', async () => {
  using folder = tempFolder()
  const db = opened(folder.path)
  const checkpoints = moveCheckpoints(db, { clock: STANDING, worker_path: THREAD })
  commit(db, 300)
  await checkpoints.stop()
  commit(db, 300)
  expect(checkpoints.beside()).toBe(false)
  const { filename } = db
  db.close()
  expect(await Bun.file(`${filename}-wal`).exists()).toBe(false)
})
