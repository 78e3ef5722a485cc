import { expect, spyOn, test } from 'bun:test'

import { connect } from '../../../src/store/db.ts'
import { createTogether } from '../../../src/store/together.ts'
import { tempFolder } from '../../support/folder.ts'

function table() {
  const db = connect(':memory:', { create: true })
  db.run('CREATE TABLE t (n INTEGER PRIMARY KEY)')
  const insert = (n: number) => () => db.query('INSERT INTO t VALUES (?)').run(n).changes
  const rows = () =>
    db
      .query<{ n: number }, []>('SELECT n FROM t ORDER BY n')
      .all()
      .map(({ n }) => n)
  return { db, insert, rows }
}

test('writes of one turn are all done, each with its own answer', async () => {
  const { db, insert } = table()
  const together = createTogether(db)
  const answers = await Promise.all([
    together(insert(1)),
    together(insert(2)),
    together(() => 'read'),
  ])

  expect(answers).toEqual([1, 1, 'read'])
})

test('a write that fails is refused alone, and the others stand', async () => {
  const { db, insert, rows } = table()
  const together = createTogether(db)
  const settled = await Promise.allSettled([1, 2, 1, 3].map((n) => together(insert(n))))

  expect(settled.map(({ status }) => status)).toEqual([
    'fulfilled',
    'fulfilled',
    'rejected',
    'fulfilled',
  ])
  expect(rows()).toEqual([1, 2, 3])
})

test('an answer comes only after the commit: another connection sees the row by then', async () => {
  using folder = tempFolder()
  const path = folder.file('a.sqlite')
  const db = connect(path, { create: true })
  db.run('CREATE TABLE t (n INTEGER)')
  const other = connect(path)
  await createTogether(db)(() => void db.run('INSERT INTO t VALUES (1)'))

  expect(other.query('SELECT n FROM t').all()).toEqual([{ n: 1 }])
  db.close()
  other.close()
})

test('a write whose commit fails is refused', async () => {
  const { db, insert, rows } = table()
  db.run('CREATE TABLE of_t (n INTEGER REFERENCES t (n) DEFERRABLE INITIALLY DEFERRED)')
  const together = createTogether(db)
  const settled = await Promise.allSettled([
    together(insert(1)),
    together(() => void db.run('INSERT INTO of_t VALUES (2)')),
  ])

  expect(settled.map(({ status }) => status)).toEqual(['fulfilled', 'rejected'])
  expect(rows()).toEqual([1])
})

test('while another process holds the database, those of one turn wait for it once and not one after another', async () => {
  using folder = tempFolder()
  const path = folder.file('a.sqlite')
  const db = connect(path, { create: true })
  db.run('CREATE TABLE t (n INTEGER)')
  db.run('PRAGMA busy_timeout = 1')
  const other = connect(path)
  other.run('BEGIN IMMEDIATE')
  const begun = spyOn(db, 'transaction')
  const together = createTogether(db)
  const write = () => void db.run('INSERT INTO t VALUES (1)')
  const settled = await Promise.allSettled(Array.from({ length: 100 }, () => together(write)))
  other.run('ROLLBACK')
  await together(write)

  expect(settled.every(({ status }) => status === 'rejected')).toBe(true)
  expect(begun).toHaveBeenCalledTimes(2)
  expect(db.query('SELECT n FROM t').all()).toHaveLength(1)
  db.close()
  other.close()
})
