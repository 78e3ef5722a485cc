// Goal: no stored content escapes an erasure, now or with a later table. Method: the schema itself against the list of
// columns, the list of erased places, and the page that tells operators what is kept.
import { expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'

import { ERASED_PLACES } from '../../../../src/store/erasure/erase.ts'
import { memoryDb } from '../../../support/memory-db.ts'
import { COLUMN_CLASSES, columnsOf } from '../../../support/stored-columns.ts'

/** Columns with text or bytes of every table, sorted. */
function storedColumns(): string[] {
  using db = memoryDb()
  return db
    .query<{ place: string }, []>(
      `SELECT t.name || '.' || c.name AS place FROM sqlite_schema t JOIN pragma_table_info(t.name) c
        WHERE t.type = 'table' AND t.name NOT LIKE 'sqlite_%' AND c.type NOT IN ('INTEGER', 'REAL')`,
    )
    .all()
    .map(({ place }) => place)
    .toSorted()
}

test('every column with text or bytes is classified, once', () => {
  const listed = Object.entries(COLUMN_CLASSES).flatMap(([table, classes]) =>
    Object.values(classes).flatMap((columns) =>
      columns.split(' ').map((column) => `${table}.${column}`),
    ),
  )

  expect(listed.toSorted()).toEqual(storedColumns())
})

test('every table with content has its line among the erased places', () => {
  const erased = new Set(Object.keys(ERASED_PLACES))
  // Erased with their deliveries, and with the row of the item.
  const with_others = new Set(['attempts', 'kept_items'])

  expect(
    columnsOf('content')
      .map(({ table }) => table)
      .filter((table) => !erased.has(table) && !with_others.has(table)),
  ).toEqual([])
})

test('the page about privacy names every table that holds more than ids', () => {
  const page = readFileSync(`${import.meta.dir}/../../../../docs/privacy.md`, 'utf8')
  const tables = (['content', 'author', 'customer', 'person', 'sealed'] as const).flatMap((of) =>
    columnsOf(of).map(({ table }) => table),
  )

  expect([...new Set(tables)].filter((table) => !page.includes(`\`${table}\``))).toEqual([])
})
