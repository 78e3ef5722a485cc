// Goal: a database with the schema number of this build and the tables of another one is refused before anything is written.
import { expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'

import { connect, migrate } from '../../../../src/store/db/connection.ts'
import { migrations } from '../../../../src/store/db/migrations.ts'
import { openInstance } from '../../../../src/store/maintenance/instance.ts'
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
])('%s is refused, and the table named', (_, change, words) => {
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
  using db = withSchema(migrations, 'CREATE INDEX of_an_operator ON customers (name)')
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
  expect(() => requireOwnSchema(other, 'forumd.sqlite', others, built)).toThrow('made by another')
  expect(() => requireOwnSchema(own, 'forumd.sqlite', others, '')).toThrow('made by another')
})

test('a folder of another build is refused by the daemon and by commands and is not changed', () => {
  using folder = tempFolder()
  const dir = folder.file('data')
  const random = {
    uuid: () => Bun.randomUUIDv7(),
    bytes: (count: number) => crypto.getRandomValues(new Uint8Array(count)),
  }
  const world = { dir, key_file: '', clock: { now: () => 0 }, random, credentials_dir: undefined }
  const instance = openInstance(world, { mode: 'serve' })
  instance.db.run('ALTER TABLE customers RENAME COLUMN plan TO tier')
  instance.db.run('PRAGMA wal_checkpoint(TRUNCATE)')
  instance.close()
  const before = readFileSync(instance.path)

  for (const mode of ['serve', 'beside'] as const)
    expect(() => openInstance(world, { mode })).toThrow('made by another build of forumd')
  expect(readFileSync(instance.path)).toEqual(before)
})
