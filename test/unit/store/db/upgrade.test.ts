// Goal: a database of any release opens in this one with every row unchanged. Method: rows in every table at each step;
// then the upgrade; then a comparison of every row. Steps of a hypothetical later forumd follow the released ones.
import { expect, test } from 'bun:test'
import { writeFileSync } from 'node:fs'

import { run } from '../../../../src/cli/run.ts'
import { connect, type Db, migrate, schemaVersion } from '../../../../src/store/db/connection.ts'
import { migrations } from '../../../../src/store/db/migrations.ts'
import { takeLock } from '../../../../src/store/maintenance/paths.ts'
import { tempFolder } from '../../../support/folder.ts'
import { surroundings } from '../../cli/environment.ts'
import { LATER } from './upgrade-later.ts'
import { rowsAt } from './upgrade-rows.ts'

/** All steps that a later forumd would know. */
const ALL = [...migrations, ...LATER.map(({ sql }) => sql)]
const steps = ALL.map((_, at) => at + 1)

const rowsOf = (db: Db, table: string) =>
  db.query<Record<string, unknown>, []>(`SELECT * FROM ${table}`).all()
const tablesOf = (db: Db): string[] =>
  db
    .query<{ name: string }, []>(
      "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY 1",
    )
    .all()
    .map(({ name }) => name)

function databaseAt(step: number): Db {
  const db = connect(':memory:', { create: true })
  migrate(db, ALL.slice(0, step))
  return db
}

/** A database at a step, with rows in all of its tables. */
function filledAt(step: number): Db {
  const db = databaseAt(step)
  db.run(rowsAt(step))
  return db
}

test('the rows of this test fill every table', () => {
  using db = filledAt(ALL.length)

  expect(tablesOf(db).filter((name) => rowsOf(db, name).length === 0)).toEqual([])
})

test.each(steps)('from step %i every row is preserved, and every reference holds', (step) => {
  using db = filledAt(step)
  const before = new Map(tablesOf(db).map((name) => [name, rowsOf(db, name)]))

  migrate(db, ALL)

  expect(schemaVersion(db)).toBe(ALL.length)
  for (const [table, rows] of before) {
    const after = rowsOf(db, table)
    // Added columns have their defaults; existing ones are unchanged.
    const seen = after.map((row) =>
      Object.fromEntries(Object.keys(rows[0] ?? {}).map((name) => [name, row[name]])),
    )
    expect([table, seen]).toEqual([table, rows])
  }
  expect(db.query('PRAGMA foreign_key_check').all()).toEqual([])
  expect(db.query('PRAGMA integrity_check').all()).toEqual([{ integrity_check: 'ok' }])
})

const schemaOf = (db: Db) =>
  db
    .query<{ name: string; sql: string }, []>(
      'SELECT name, sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY type, name',
    )
    .all()

test.each(steps)('from step %i the schema becomes that of a new database', (step) => {
  using upgraded = filledAt(step)
  using fresh = databaseAt(ALL.length)

  migrate(upgraded, ALL)

  expect(schemaOf(upgraded)).toEqual(schemaOf(fresh))
})

/** A data folder with a database in it, and the executable beside it. */
async function folderWith(change: (db: Db) => void) {
  const folder = tempFolder()
  const config = folder.file('forumd.toml')
  writeFileSync(
    config,
    `[storage]\ndir = "${folder.file('data')}"\n[[source]]\nname = "forum"\nkind = "reddit"\nbase_url = "http://127.0.0.1:1"\nsession_cookie = "s"\n`,
  )
  const forumd = async (...args: string[]) => {
    const { around: environment, said: output } = surroundings({
      startDaemon: async ({ storage }, runtime) => {
        const { openInstance } = await import('../../../../src/store/maintenance/instance.ts')
        openInstance({ ...storage, ...runtime }, { mode: 'serve' }).close()
        throw new Error('served')
      },
    })
    return { code: await run([...args, '--config', config], environment), ...output }
  }
  await forumd('customer', 'create', 'ann')
  const db = connect(folder.file('data/forumd.sqlite'))
  change(db)
  db.close()
  return { ...folder, forumd, [Symbol.dispose]: folder[Symbol.dispose] }
}

/** Upgrades a database as a later forumd would. */
const NEWER = (db: Db) => migrate(db, ALL)

test.each([['serve'], ['customer list'], ['key create --customer bob'], ['export']])(
  'a database of a later forumd is refused by %s with instructions, and stays unchanged',
  async (command) => {
    using it = await folderWith(NEWER)

    const { code, err } = await it.forumd(...command.split(' '))

    expect(code).toBe(78)
    expect(err).toBe(
      `forumd: the database is at schema ${ALL.length}, this binary knows ${migrations.length}: install the newer forumd, or restore a backup made before the upgrade\n`,
    )
    const db = connect(it.file('data/forumd.sqlite'))
    expect(schemaVersion(db)).toBe(ALL.length)
    expect(db.query<{ name: string }, []>('SELECT name FROM customers').all()).toEqual([
      { name: 'ann' },
    ])
    db.close()
  },
)

test('a backup of a later forumd is refused by restore, and nothing changes', async () => {
  using it = await folderWith(() => {})
  await it.forumd('backup', it.file('later.sqlite'))
  const later = connect(it.file('later.sqlite'))
  NEWER(later)
  later.close()

  const { code, err } = await it.forumd('restore', it.file('later.sqlite'))

  expect(code).toBe(78)
  expect(err).toContain('install the newer forumd')
  expect((await it.forumd('customer', 'list')).out).toContain('ann')
})

test('while a daemon runs on tables without a schema number, no command changes them', async () => {
  using it = await folderWith((db) => void db.run('PRAGMA user_version = 0'))
  const lock = takeLock(it.file('data/lock.db'))

  const { code, err } = await it.forumd('customer', 'list')

  lock.release()
  expect(code).toBe(78)
  expect(err).toContain('it says schema 0')
  const db = connect(it.file('data/forumd.sqlite'))
  expect(schemaVersion(db)).toBe(0)
  db.close()
})

test('a backup with the application id of another program is refused by restore, and nothing changes', async () => {
  using it = await folderWith(() => {})
  await it.forumd('backup', it.file('before.sqlite'))
  const before = connect(it.file('before.sqlite'))
  before.run('PRAGMA application_id = 1')
  before.close()

  const { code, err } = await it.forumd('restore', it.file('before.sqlite'))

  expect(code).toBe(78)
  expect(err).toContain('before.sqlite is not a backup of forumd')
  expect((await it.forumd('customer', 'list')).out).toContain('ann')
})
