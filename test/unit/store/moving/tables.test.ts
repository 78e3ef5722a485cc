// Goal: no table with data of a customer is forgotten by a move. Method: the schema itself against the two lists, its
// references against the numbers that an import changes, and its sealed columns against the places.
import { expect, test } from 'bun:test'

import { openDb } from '../../../../src/store/db/connection.ts'
import { columnsOf } from '../../../../src/store/erasure/places.ts'
import { LEFT_OUT, MOVED_TABLES } from '../../../../src/store/moving/tables.ts'

using db = openDb(':memory:', { create: true })
const tables = db
  .query<{ name: string }, []>(
    "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name",
  )
  .all()
  .map(({ name }) => name)
const moved = MOVED_TABLES.map(({ table }) => table)
const integers = new Set(
  tables.flatMap((table) =>
    db
      .query<{ name: string; type: string }, []>(
        `SELECT name, type FROM pragma_table_info('${table}')`,
      )
      .all()
      .filter(({ type }) => type === 'INTEGER')
      .map(({ name }) => `${table}.${name}`),
  ),
)
const references = tables.flatMap((table) =>
  db
    .query<{ from: string; to: string; target: string }, []>(
      `SELECT "from", "to", "table" AS target FROM pragma_foreign_key_list('${table}')`,
    )
    .all()
    .map((it) => ({ table, ...it })),
)
const keys = db
  .query<{ table: string; column: string; type: string; keys: number }, []>(
    `SELECT t.name AS "table", c.name AS "column", c.type,
            (SELECT count(*) FROM pragma_table_info(t.name) WHERE pk > 0) AS keys
       FROM sqlite_schema t JOIN pragma_table_info(t.name) c WHERE t.type = 'table' AND c.pk = 1`,
  )
  .all()

test('every table moves or is named as left out, once', () => {
  expect([...moved, ...Object.keys(LEFT_OUT)].toSorted()).toEqual(tables)
})

test('no table that is left out belongs to a customer, except what is named', () => {
  const of_customer = references.filter(
    ({ target }) => target === 'customers' || target === 'monitors' || target === 'webhooks',
  )
  const left = of_customer.map(({ table }) => table).filter((table) => table in LEFT_OUT)

  expect([...new Set(left)].toSorted()).toEqual(['customer_moves', 'holds'])
})

test('every table moves after those that it refers to', () => {
  const late = references.filter(
    ({ table, target }) =>
      moved.includes(table) &&
      moved.includes(target) &&
      table !== target &&
      moved.indexOf(table) < moved.indexOf(target),
  )

  expect(late).toEqual([])
})

test('every reference to a number of a row is changed, and every number of a row itself', () => {
  const of_rows = references
    .filter(({ table, from }) => integers.has(`${table}.${from}`) && moved.includes(table))
    // Each instance plans its own.
    .filter(({ target }) => target !== 'poll_batches')
    .map(({ table, from }) => `${table}.${from}`)
  const own = keys
    .filter(
      ({ table, type, keys: count }) => type === 'INTEGER' && count === 1 && moved.includes(table),
    )
    .map(({ table, column }) => `${table}.${column}`)
  const changed = new Set(
    MOVED_TABLES.flatMap(({ table, numbers }) =>
      Object.keys(numbers ?? {}).map((column) => `${table}.${column}`),
    ),
  )

  expect([...of_rows, ...own].filter((it) => !changed.has(it))).toEqual([])
})

test('every sealed column is sealed again', () => {
  const sealed = columnsOf('sealed').filter(({ table }) => moved.includes(table))
  const named = MOVED_TABLES.flatMap(({ table, sealed: columns }) =>
    Object.keys(columns ?? {}).map((column) => ({ table, column })),
  )

  expect(named.map((it) => JSON.stringify(it)).toSorted()).toEqual(
    sealed.map((it) => JSON.stringify(it)).toSorted(),
  )
})
