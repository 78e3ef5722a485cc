// Goal: an archive of any release opens in this one. Method: its schema, recorded at the release; a change of a table has to
// come with its upgrade, and with a case here.
import { Database } from 'bun:sqlite'
import { expect, test } from 'bun:test'

import { hasOldIndex, openArchive } from '../../../../src/store/archive/file.ts'
import { parse } from '../../../support/archive-arbitraries.ts'
import { archive, searchAll } from '../../../support/archive.ts'
import { tempFolder } from '../../../support/folder.ts'
import { postOf } from '../../../support/items.ts'

const golden = Bun.file(`${import.meta.dir}/schema.golden.sql`)

/** Every table and index as SQLite stores it, by name, without those that an index of words has for itself. */
const schemaOf = (db: Pick<Database, 'query'>): string =>
  db
    .query<{ sql: string }, []>(
      `SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT GLOB 'words_*_*' ORDER BY type DESC, name`,
    )
    .all()
    .map(({ sql }) => `${sql};\n`)
    .join('\n')

const post = (n: number) =>
  postOf({ id: `x${n}`, name: `t3_x${n}`, title: `grinder ${n}`, created_utc: 1_764_547_200 })

// To update before a release: FORUMD_UPDATE_GOLDEN=1 bun test test/unit/store/archive/schema.test.ts
test('a new archive has the recorded schema', async () => {
  using db = openArchive(':memory:')
  archive(db, [post(1)])
  const schema = schemaOf(db)
  if (process.env['FORUMD_UPDATE_GOLDEN'] === '1') await Bun.write(golden, schema)

  expect(schema).toBe(await golden.text())
})

test('an archive of the released schema with the words of another Unicode is opened, added to and searched', async () => {
  using folder = tempFolder()
  const path = folder.file('archive.sqlite')
  const released = new Database(path, { create: true, strict: true })
  released.run(await golden.text())
  released.run("INSERT INTO meta VALUES ('version', '1 15.0 74.2')")
  // The index of the recorded item's span.
  released.run('INSERT INTO spans VALUES (5105)')
  released.close()
  using db = openArchive(path)

  expect(hasOldIndex(db)).toBe(true)
  archive(db, [post(1), post(2)])
  expect(searchAll(db, { spec: parse({ include_any: ['grinder'] }), limit: 5 }).names.length).toBe(
    2,
  )
})
