// Goal: a database with a schema number of this build and not its tables is refused before anything is written.
import { expect, test } from 'bun:test'
import { hash } from 'node:crypto'
import { cpSync, existsSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'

import { connect, migrate } from '../../../../src/store/db/connection.ts'
import { migrations } from '../../../../src/store/db/migrations.ts'
import { openInstance } from '../../../../src/store/maintenance/instance.ts'
import { requireKnown } from '../../../../src/store/maintenance/integrity.ts'
import { pathsOf, takeLock } from '../../../../src/store/maintenance/paths.ts'
import { requireOwnSchema, schemaFingerprint } from '../../../../src/store/startup/schema.ts'
import { tempFolder } from '../../../support/folder.ts'
import { LATER } from '../db/upgrade-later.ts'

function withSchema(steps: readonly string[], ...changes: string[]) {
  const db = connect(':memory:', { create: true })
  migrate(db, steps)
  for (const sql of changes) db.run(sql)
  return db
}

test.each([
  [
    'a table of another name',
    'ALTER TABLE bundle_items RENAME TO bundled',
    'no table bundle_items',
  ],
  [
    'a column of another name',
    'ALTER TABLE customers RENAME COLUMN plan TO tier',
    'table customers',
  ],
  ['a column more', 'ALTER TABLE customers ADD COLUMN note TEXT', 'table customers'],
  ['a table more', 'CREATE TABLE customer_moves (customer_id TEXT)', 'the table customer_moves'],
  [
    'a trigger more',
    'CREATE TRIGGER held BEFORE INSERT ON holds BEGIN SELECT 1; END',
    'the trigger held',
  ],
  ['tables without a schema number', 'PRAGMA user_version = 0', 'the table'],
])('%s is refused by name', (_, change, words) => {
  using db = withSchema(migrations, change)

  expect(() => requireOwnSchema(db, 'forumd.sqlite')).toThrow(
    expect.objectContaining({ name: 'OtherSchema', message: expect.stringContaining(words) }),
  )
})

test('every schema of this build is accepted, also with objects that an operator added', () => {
  const all = [...migrations, ...LATER.map(({ sql }) => sql)]
  for (const count of all.keys()) {
    using db = withSchema(all.slice(0, count + 1), 'ANALYZE')
    requireOwnSchema(db, 'forumd.sqlite', all)
  }
  using db = withSchema(
    migrations,
    'CREATE INDEX of_an_operator ON customers (name)',
    'CREATE TABLE _litestream_seq (id INTEGER PRIMARY KEY, seq INTEGER)',
  )
  requireOwnSchema(db, 'forumd.sqlite')
})

test('a fingerprint of the build accepts its own schema alone', () => {
  // Steps that would refuse every database, so that only the fingerprint can accept one.
  const others = migrations.map(() => 'CREATE TABLE of_another_build (id TEXT)')
  const built = schemaFingerprint()
  using own = withSchema(migrations)
  using other = withSchema(migrations, 'ALTER TABLE customers ADD COLUMN note TEXT')

  requireOwnSchema(own, 'forumd.sqlite', others, built)
  own.run('VACUUM')
  requireOwnSchema(own, 'forumd.sqlite', others, built)
  expect(() => requireOwnSchema(other, 'forumd.sqlite', others, built)).toThrow(
    'unreleased revision',
  )
  expect(() => requireOwnSchema(own, 'forumd.sqlite', others, '')).toThrow('unreleased revision')
})

// As an unreleased revision left it: the schema number of this build, a table that it no longer has, and a column of another name.
const OLDER = [
  'ALTER TABLE customers RENAME COLUMN plan TO tier',
  'CREATE TABLE customer_moves (customer_id TEXT PRIMARY KEY) STRICT, WITHOUT ROWID',
]

test('a folder of an unreleased revision is refused by the daemon and by commands and is not changed', () => {
  using folder = tempFolder()
  const dir = folder.file('made')
  const random = {
    uuid: () => Bun.randomUUIDv7(),
    bytes: (count: number) => crypto.getRandomValues(new Uint8Array(count)),
  }
  const world = { dir, key_file: '', clock: { now: () => 0 }, random, credentials_dir: undefined }
  const instance = openInstance(world, { mode: 'serve' })
  for (const sql of OLDER) instance.db.run(sql)
  instance.db.run('PRAGMA wal_checkpoint(TRUNCATE)')
  instance.db.run("INSERT INTO audit (at, kind, subject, detail) VALUES (0, 'k', 's', '{}')")
  // A kill leaves the log and the index of it; a stop leaves neither.
  cpSync(dir, folder.file('killed'), { recursive: true })
  instance.close()
  expect(readdirSync(folder.file('killed'))).toContain('forumd.sqlite-wal')
  expect(readdirSync(dir)).not.toContain('forumd.sqlite-wal')

  for (const it of [dir, folder.file('killed')]) {
    const before = contentOf(it)
    for (const mode of ['serve', 'beside'] as const)
      expect(() => openInstance({ ...world, dir: it }, { mode })).toThrow(
        /says schema 1 .* There is no upgrade from an unreleased revision\. Nothing in it was changed/,
      )
    expect(contentOf(it)).toEqual(before)
  }
})

/** Names, sizes, digests and times of all files of a folder. */
const contentOf = (dir: string) =>
  readdirSync(dir)
    .toSorted()
    .map((name) => {
      const path = join(dir, name)
      return [name, hash('sha256', readFileSync(path)), statSync(path).mtimeMs]
    })

test('a file that a daemon may be writing to is left to the opening', () => {
  using folder = tempFolder()
  const lock_path = folder.file('lock.db')
  const paths = pathsOf({ dir: folder.path, key_file: '', credentials_dir: undefined })
  const db = connect(paths.db, { create: true })
  migrate(db)
  for (const sql of OLDER) db.run(sql)
  db.close()

  const lock = takeLock(lock_path)
  requireKnown(paths)
  lock.release()
  expect(() => requireKnown(paths)).toThrow('unreleased revision')
  rmSync(lock_path)
  expect(() => requireKnown(paths)).toThrow('unreleased revision')
  expect(existsSync(lock_path)).toBe(false)
})
