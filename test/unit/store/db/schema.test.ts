import { expect, test } from 'bun:test'

import { openDb } from '../../../../src/store/db/connection.ts'

const golden = Bun.file(`${import.meta.dir}/schema.golden.sql`)

/** Every table and index as SQLite stores it, by name. */
function schemaOf(): string {
  const db = openDb(':memory:', { create: true })
  const parts = db
    .query<{ sql: string }, []>(
      `SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY type DESC, name`,
    )
    .all()
  db.close()
  return `${parts.map(({ sql }) => `${sql};`).join('\n\n')}\n`
}

// To update: FORUMD_UPDATE_GOLDEN=1 bun test test/unit/store/db/schema.test.ts
test('the migrations create the recorded schema', async () => {
  const schema = schemaOf()
  if (process.env['FORUMD_UPDATE_GOLDEN'] === '1') await Bun.write(golden, schema)

  expect(schema).toBe(await golden.text())
})
