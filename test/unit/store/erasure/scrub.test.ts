// Goal: no byte of an overwritten text stays in unused parts of pages, and no stored byte changes. Method: rows of random
// sizes are written, moved and blanked; then the raw bytes and the integrity of the file are checked.
import { expect, test } from 'bun:test'
import { existsSync, readFileSync } from 'node:fs'

import { runNow } from '../../../../src/store/db/chunked.ts'
import { connect, openDb, transact } from '../../../../src/store/db/connection.ts'
import { needsScrub, requestScrub, scrub } from '../../../../src/store/erasure/scrub.ts'
import { tempFolder } from '../../../support/folder.ts'

const count = (text: string, part: string): number => text.split(part).length - 1

test('texts that rows left behind when they were moved are overwritten, and the rows stay', () => {
  using folder = tempFolder()
  const path = folder.file('a.sqlite')
  const db = openDb(path, { create: true })
  db.run('CREATE TABLE t (id TEXT PRIMARY KEY, body TEXT) WITHOUT ROWID')
  let seed = 5
  const random = (below: number) => (seed = (seed * 48_271) % 2_147_483_647) % below
  const put = db.query('INSERT INTO t VALUES ($id, $body) ON CONFLICT DO UPDATE SET body = $body')
  transact(db, () => {
    for (let n = 0; n < 6000; n += 1)
      put.run({ id: `k${random(600)}`, body: `walrus ${'x'.repeat(random(1500))}` })
  })
  db.run("UPDATE t SET body = 'y' || id")
  const before = db.query('SELECT * FROM t').all()
  db.run('PRAGMA wal_checkpoint(TRUNCATE)')
  expect(count(readFileSync(path, 'latin1'), 'walrus')).toBeGreaterThan(0)
  requestScrub(db)
  expect(needsScrub(db)).toBe(true)

  expect(runNow(scrub(db))).toBe(true)

  expect(needsScrub(db)).toBe(false)
  expect(count(readFileSync(path, 'latin1'), 'walrus')).toBe(0)
  // Pages that were in memory must not bring it back.
  db.run("UPDATE t SET body = 'z' || body")
  db.run('PRAGMA wal_checkpoint(TRUNCATE)')
  expect(count(readFileSync(path, 'latin1'), 'walrus')).toBe(0)
  expect(db.query('PRAGMA integrity_check').get()).toEqual({ integrity_check: 'ok' })
  expect(db.query('SELECT id, substr(body, 2) AS body FROM t').all()).toEqual(before)
  db.close()
})

test('it waits for a reader, whose pages are still in the log', () => {
  using folder = tempFolder()
  const path = folder.file('a.sqlite')
  const db = openDb(path, { create: true })
  requestScrub(db)
  const reader = connect(path)
  reader.run('BEGIN')
  reader.query('SELECT * FROM instance').all()
  db.run('UPDATE instance SET packed_to = 2')

  expect(runNow(scrub(db))).toBe(false)
  expect(needsScrub(db)).toBe(true)

  reader.run('COMMIT')
  reader.close()
  expect(runNow(scrub(db))).toBe(true)
  expect(db.query('SELECT packed_to FROM instance').get()).toEqual({ packed_to: 2 })
  db.close()
})

test('another process that closes the database afterwards leaves the log in use', () => {
  using folder = tempFolder()
  const path = folder.file('a.sqlite')
  const db = openDb(path, { create: true })
  requestScrub(db)
  expect(runNow(scrub(db))).toBe(true)
  db.run('UPDATE instance SET packed_to = 2')

  // Bun leaves the log when it closes a database; other programs delete it when theirs is the last connection.
  const program =
    'import sqlite3, sys; db = sqlite3.connect(sys.argv[1]); db.execute("SELECT * FROM instance").fetchall(); db.close()'
  expect(Bun.spawnSync(['/usr/bin/python3', '-c', program, path]).exitCode).toBe(0)

  expect(existsSync(`${path}-wal`)).toBe(true)
  db.run('UPDATE instance SET packed_to = 3')
  const reader = connect(path)
  expect(reader.query('SELECT packed_to FROM instance').get()).toEqual({ packed_to: 3 })
  reader.close()
  db.close()
})
