import { expect, test } from 'bun:test'

import {
  connect,
  migrate,
  NewerDatabase,
  openDb,
  schemaVersion,
  transact,
} from '../../../src/store/db.ts'
import { migrations } from '../../../src/store/migrations.ts'
import { tempFolder } from '../../support/folder.ts'

test('a database is durable at every commit, checks its references, and waits for a lock', () => {
  using folder = tempFolder()
  const db = openDb(folder.file('a.sqlite'), { create: true })
  const pragma = (name: string) => Object.values(db.query(`PRAGMA ${name}`).get() ?? {})[0]

  expect({
    journal_mode: pragma('journal_mode'),
    synchronous: pragma('synchronous'),
    foreign_keys: pragma('foreign_keys'),
    timeout: pragma('busy_timeout'),
  }).toEqual({ journal_mode: 'wal', synchronous: 2, foreign_keys: 1, timeout: 5000 })
  db.close()
})

test('a database that does not exist is not made by opening it', () => {
  using folder = tempFolder()
  expect(() => openDb(folder.file('absent.sqlite'))).toThrow('unable to open')
})

test('a newer database is refused and left as it is', () => {
  using folder = tempFolder()
  const path = folder.file('a.sqlite')
  const db = openDb(path, { create: true })
  db.run('PRAGMA user_version = 9999')
  db.close()

  expect(() => openDb(path)).toThrow(NewerDatabase)
  const after = connect(path)
  expect(schemaVersion(after)).toBe(9999)
  after.close()
})

test('a migration that fails half way leaves nothing of itself, and the next start repeats it', () => {
  using folder = tempFolder()
  const db = connect(folder.file('a.sqlite'), { create: true })
  const good = 'CREATE TABLE one (id INTEGER)'
  expect(() => migrate(db, [good, 'CREATE TABLE two (id INTEGER); SELECT broken'])).toThrow()

  expect(schemaVersion(db)).toBe(1)
  expect(db.query("SELECT name FROM sqlite_schema WHERE name = 'two'").get()).toBeNull()
  migrate(db, [good, 'CREATE TABLE two (id INTEGER)'])
  expect(schemaVersion(db)).toBe(2)
  db.close()
})

test('a database that another connection has migrated meanwhile is not migrated twice', () => {
  using folder = tempFolder()
  const path = folder.file('a.sqlite')
  const first = connect(path, { create: true })
  const second = connect(path)
  migrate(first)
  migrate(second)

  expect(schemaVersion(second)).toBe(migrations.length)
  first.close()
  second.close()
})

test('a transaction whose work throws changes nothing', () => {
  const db = connect(':memory:', { create: true })
  db.run('CREATE TABLE t (id INTEGER)')
  const work = () => {
    db.run('INSERT INTO t VALUES (1)')
    throw new Error('on purpose')
  }

  expect(() => transact(db, work)).toThrow('on purpose')
  expect(db.query('SELECT * FROM t').all()).toEqual([])
  db.close()
})
