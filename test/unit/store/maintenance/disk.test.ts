import { expect, test } from 'bun:test'
import { writeFileSync } from 'node:fs'

import { judgeDisk, readDisk } from '../../../../src/store/maintenance/disk.ts'
import { tempFolder } from '../../../support/folder.ts'

const GIB = 2 ** 30
const DAY_MS = 86_400_000
const fresh = { db_bytes: 0, elapsed_ms: 0 }
const disk = { free_bytes: 100 * GIB, free_files: 100_000, db_bytes: 0, wal_bytes: 0 }

test.each([
  [{}, fresh, null],
  [{ free_bytes: GIB }, fresh, null],
  [{ free_bytes: GIB - 1 }, fresh, 'bytes'],
  [{ free_bytes: 3 * GIB, wal_bytes: GIB }, fresh, null],
  [{ free_bytes: 3 * GIB - 1, wal_bytes: GIB }, fresh, 'bytes'],
  // A GiB a day is seven a week.
  [{ free_bytes: 7 * GIB, db_bytes: 6 * GIB }, { db_bytes: 5 * GIB, elapsed_ms: DAY_MS }, null],
  [
    { free_bytes: 7 * GIB - 1, db_bytes: 6 * GIB },
    { db_bytes: 5 * GIB, elapsed_ms: DAY_MS },
    'bytes',
  ],
  [{ free_bytes: 2 * GIB, db_bytes: 6 * GIB }, { db_bytes: 5 * GIB, elapsed_ms: DAY_MS - 1 }, null],
  [{ free_bytes: 2 * GIB, db_bytes: 1 }, { db_bytes: 5 * GIB, elapsed_ms: DAY_MS }, null],
  [{ free_files: 999 }, fresh, 'files'],
  [{ free_files: null }, fresh, null],
] as const)('%j after %j is short of %j', (change, before, short) => {
  expect(judgeDisk({ ...disk, ...change }, before)).toBe(short)
})

test('free space is read from the file system, sizes from the files', () => {
  using folder = tempFolder()
  writeFileSync(folder.file('db'), 'x'.repeat(10))
  writeFileSync(folder.file('db-wal'), 'x'.repeat(20))
  const { free_bytes, ...rest } = readDisk(folder.path, folder.file('db'))
  expect(rest).toMatchObject({ db_bytes: 10, wal_bytes: 20 })
  expect(free_bytes).toBeGreaterThan(0)
  expect(readDisk(folder.path, folder.file('none'))).toMatchObject({ db_bytes: 0, wal_bytes: 0 })
})
