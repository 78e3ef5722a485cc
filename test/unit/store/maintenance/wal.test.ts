import { Database } from 'bun:sqlite'
import { expect, test } from 'bun:test'
import { copyFileSync, readFileSync, truncateSync, writeFileSync } from 'node:fs'

import { connect } from '../../../../src/store/db/connection.ts'
import { isWalBroken } from '../../../../src/store/maintenance/integrity.ts'
import { type Folder, tempFolder } from '../../../support/folder.ts'

const HEADER = 32
const FRAME = 24 + 4096
const COMMITS = 40

/** The log of 40 commits left by a killed process, modified by `harm`; returns its path. */
function logAfter(folder: Folder, harm: (bytes: Buffer) => Buffer | void): string {
  const db = connect(folder.file('a.sqlite'), { create: true })
  db.run('PRAGMA wal_autocheckpoint = 0')
  db.run('CREATE TABLE t (n INTEGER PRIMARY KEY, text TEXT)')
  db.run('PRAGMA wal_checkpoint(TRUNCATE)')
  for (let n = 1; n <= COMMITS; n++) db.query('INSERT INTO t VALUES (?, ?)').run(n, 'x'.repeat(200))
  copyFileSync(folder.file('a.sqlite'), folder.file('b.sqlite'))
  const bytes = readFileSync(folder.file('a.sqlite-wal'))
  db.close()
  writeFileSync(folder.file('b.sqlite-wal'), harm(bytes) ?? bytes)
  return folder.file('b.sqlite-wal')
}

/** Number of rows that SQLite finds when it opens the result. */
function rowsIn(folder: Folder): number {
  using db = new Database(folder.file('b.sqlite'))
  return db.query<{ n: number }, []>('SELECT count(*) AS n FROM t').get()?.n ?? 0
}

const flip = (at: number) => (bytes: Buffer) => {
  bytes[at] = (bytes[at] ?? 0) ^ 1
}
const inFrame = (frame: number, at: number) => HEADER + frame * FRAME + at

test('the log of a killed process is intact', () => {
  using folder = tempFolder()
  expect(isWalBroken(logAfter(folder, () => {}))).toBe(false)
  expect(rowsIn(folder)).toBe(COMMITS)
})

test.each([
  ['a page', inFrame(10, 1000)],
  ['the number of a page', inFrame(10, 3)],
  ['the checksums of a frame', inFrame(10, 17)],
  ['the salts of a frame', inFrame(10, 9)],
  ['the first frame', inFrame(0, 500)],
  ['the frame of one of the last commits', inFrame(COMMITS - 2, 500)],
  ['the magic of the log', 2],
  ['the page size of the log', 10],
  ['the salts of the log', 17],
  ['the checksums of the log', 25],
])('one changed bit in %s is damage by which SQLite would lose rows', (_, at) => {
  using folder = tempFolder()
  const log = logAfter(folder, flip(at))
  expect(isWalBroken(log)).toBe(true)
  expect(rowsIn(folder)).toBeLessThan(COMMITS)
})

test.each([
  ['a torn last frame', (bytes: Buffer) => flip(bytes.length - 500)(bytes)],
  [
    'an end that was cut off within a frame',
    (bytes: Buffer) => bytes.subarray(0, bytes.length - 1000),
  ],
  ['nothing but a header', (bytes: Buffer) => bytes.subarray(0, HEADER)],
  ['an empty log', (bytes: Buffer) => bytes.subarray(0, 0)],
  ['zeros behind the end', (bytes: Buffer) => Buffer.concat([bytes, Buffer.alloc(3 * FRAME)])],
])('%s may result from a power cut and does not count as damage', (_, harm) => {
  using folder = tempFolder()
  expect(isWalBroken(logAfter(folder, harm))).toBe(false)
})

test('frames of an earlier log behind the end do not count as damage', () => {
  using folder = tempFolder()
  const db = connect(folder.file('a.sqlite'), { create: true })
  db.run('CREATE TABLE t (n INTEGER PRIMARY KEY, text TEXT)')
  for (let n = 1; n <= COMMITS; n++) db.query('INSERT INTO t VALUES (?, ?)').run(n, 'x'.repeat(200))
  // The log restarts over its old content.
  db.run('PRAGMA wal_checkpoint(RESTART)')
  for (let n = 1; n <= 5; n++) db.query('UPDATE t SET text = ? WHERE n = ?').run('y', n)
  const log = folder.file('log')
  writeFileSync(log, readFileSync(folder.file('a.sqlite-wal')))
  db.close()
  expect(readFileSync(log).length).toBeGreaterThan(COMMITS * FRAME)
  expect(isWalBroken(log)).toBe(false)
  truncateSync(log, inFrame(5, 0))
  expect(isWalBroken(log)).toBe(false)
})

test('a missing log does not count as damage', () => {
  using folder = tempFolder()
  expect(isWalBroken(folder.file('none'))).toBe(false)
})
