import { expect, test } from 'bun:test'
import { existsSync, statSync } from 'node:fs'

import {
  connect,
  migrate,
  NewerDatabase,
  openDb,
  schemaVersion,
  transact,
} from '../../../../src/store/db/connection.ts'
import { migrations } from '../../../../src/store/db/migrations.ts'
import { tempFolder } from '../../../support/folder.ts'

test('a database is durable at every commit, checks foreign keys, and waits for locks', () => {
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

test('opening does not create a missing database', () => {
  using folder = tempFolder()
  expect(() => openDb(folder.file('absent.sqlite'))).toThrow('unable to open')
})

test('a newer database is refused and stays unchanged', () => {
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

test('a migration that fails half way is rolled back, and the next start repeats it', () => {
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

test('a database that another process migrates between check and write is not migrated twice', () => {
  using folder = tempFolder()
  const path = folder.file('a.sqlite')
  using quicker = connect(path, { create: true })
  using slower = connect(path)
  const steps = [...migrations]
  steps.entries = () => {
    migrate(quicker)
    return migrations.entries()
  }
  migrate(slower, steps)

  expect(schemaVersion(slower)).toBe(migrations.length)
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

const GOOD = 'CREATE TABLE one (id INTEGER)'
const ENDLESS = `CREATE TABLE two (id INTEGER);
  WITH RECURSIVE n (id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM n) INSERT INTO two SELECT id FROM n`

test('a process killed during a migration leaves the completed steps, and the next start continues', async () => {
  using folder = tempFolder()
  const path = folder.file('a.sqlite')
  const script = `
    import { connect, migrate } from '${import.meta.dir}/../../../../src/store/db/connection.ts'
    migrate(connect(process.argv[1], { create: true }), ${JSON.stringify([GOOD, ENDLESS])})
  `
  const child = Bun.spawn([process.execPath, '-e', script, path])
  // The endless step spills into the log long before it is done, so it is half way by then.
  const wal = `${path}-wal`
  while (!existsSync(wal) || statSync(wal).size < 4_000_000) await Bun.sleep(1)
  child.kill('SIGKILL')
  await child.exited
  using db = connect(path)

  expect(schemaVersion(db)).toBe(1)
  migrate(db, [GOOD, 'CREATE TABLE two (id INTEGER)'])
  expect(db.query('SELECT count(*) AS rows FROM two').get()).toEqual({ rows: 0 })
})
