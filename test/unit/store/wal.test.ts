import { Database } from 'bun:sqlite'
import { expect, test } from 'bun:test'
import { copyFileSync, readFileSync, truncateSync, writeFileSync } from 'node:fs'

import { connect } from '../../../src/store/db.ts'
import { isWalBroken } from '../../../src/store/wal.ts'
import { type Folder, tempFolder } from '../../support/folder.ts'

const HEADER = 32
const FRAME = 24 + 4096
const COMMITS = 40

/** A log of 40 commits as a process that was killed leaves it, with `harm` done to its bytes; where it lies. */
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

/** How many rows SQLite finds when it opens what was left. */
function rowsIn(folder: Folder): number {
  using db = new Database(folder.file('b.sqlite'))
  return db.query<{ n: number }, []>('SELECT count(*) AS n FROM t').get()?.n ?? 0
}

const flip = (at: number) => (bytes: Buffer) => {
  bytes[at] = (bytes[at] ?? 0) ^ 1
}
const inFrame = (frame: number, at: number) => HEADER + frame * FRAME + at

test('a log that a kill has left is whole', () => {
  using folder = tempFolder()
  expect(isWalBroken(logAfter(folder, () => {}))).toBe(false)
  expect(rowsIn(folder)).toBe(COMMITS)
})

test.each([
  ['a page', inFrame(10, 1000)],
  ['the number of a page', inFrame(10, 3)],
  ['the sums of a frame', inFrame(10, 17)],
  ['the salts of a frame', inFrame(10, 9)],
  ['the first frame', inFrame(0, 500)],
  ['the frame of one of the last commits', inFrame(COMMITS - 2, 500)],
  ['the magic of the log', 2],
  ['the page size of the log', 10],
  ['the salts of the log', 17],
  ['the sums of the log', 25],
])('one bit changed in %s is damage, and SQLite would lose rows by it', (_, at) => {
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
])('%s is what a power cut may leave, and no damage', (_, harm) => {
  using folder = tempFolder()
  expect(isWalBroken(logAfter(folder, harm))).toBe(false)
})

test('what an earlier round has left behind the end is no damage', () => {
  using folder = tempFolder()
  const db = connect(folder.file('a.sqlite'), { create: true })
  db.run('CREATE TABLE t (n INTEGER PRIMARY KEY, text TEXT)')
  for (let n = 1; n <= COMMITS; n++) db.query('INSERT INTO t VALUES (?, ?)').run(n, 'x'.repeat(200))
  // The log begins anew over what is in it.
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

test('no log is none to be broken', () => {
  using folder = tempFolder()
  expect(isWalBroken(folder.file('none'))).toBe(false)
})
