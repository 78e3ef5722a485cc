import { expect, test } from 'bun:test'

import { openDb } from '../../../src/store/db.ts'

const golden = Bun.file(`${import.meta.dir}/schema.golden.sql`)

/** Every table and index as SQLite keeps it, by name. */
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

// Written anew by: FORUMD_UPDATE_GOLDEN=1 bun test test/unit/store/schema.test.ts
test('the schema that the migrations make is the one that was agreed on', async () => {
  const schema = schemaOf()
  if (process.env['FORUMD_UPDATE_GOLDEN'] === '1') await Bun.write(golden, schema)

  expect(schema).toBe(await golden.text())
})
