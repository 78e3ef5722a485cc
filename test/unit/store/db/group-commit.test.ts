import { expect, spyOn, test } from 'bun:test'

import { connect } from '../../../../src/store/db/connection.ts'
import { createGroupCommit } from '../../../../src/store/db/group-commit.ts'
import { tempFolder } from '../../../support/folder.ts'

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

test('writes of one event loop iteration all run, each with its own result', async () => {
  const { db, insert } = table()
  const groupCommit = createGroupCommit(db)
  const answers = await Promise.all([
    groupCommit(insert(1)),
    groupCommit(insert(2)),
    groupCommit(() => 'read'),
  ])

  expect(answers).toEqual([1, 1, 'read'])
})

test('a failing write is rejected alone, and the others are committed', async () => {
  const { db, insert, rows } = table()
  const groupCommit = createGroupCommit(db)
  const results = await Promise.allSettled([1, 2, 1, 3].map((n) => groupCommit(insert(n))))

  expect(results.map(({ status }) => status)).toEqual([
    'fulfilled',
    'fulfilled',
    'rejected',
    'fulfilled',
  ])
  expect(rows()).toEqual([1, 2, 3])
})

test('a write resolves only after the commit: another connection sees the row by then', async () => {
  using folder = tempFolder()
  const path = folder.file('a.sqlite')
  const db = connect(path, { create: true })
  db.run('CREATE TABLE t (n INTEGER)')
  const other = connect(path)
  await createGroupCommit(db)(() => void db.run('INSERT INTO t VALUES (1)'))

  expect(other.query('SELECT n FROM t').all()).toEqual([{ n: 1 }])
  db.close()
  other.close()
})

test('a write whose commit fails is rejected', async () => {
  const { db, insert, rows } = table()
  db.run('CREATE TABLE of_t (n INTEGER REFERENCES t (n) DEFERRABLE INITIALLY DEFERRED)')
  const groupCommit = createGroupCommit(db)
  const results = await Promise.allSettled([
    groupCommit(insert(1)),
    groupCommit(() => void db.run('INSERT INTO of_t VALUES (2)')),
  ])

  expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected'])
  expect(rows()).toEqual([1])
})

test('while another process holds the lock, writes of one iteration wait once, not one after another', async () => {
  using folder = tempFolder()
  const path = folder.file('a.sqlite')
  const db = connect(path, { create: true })
  db.run('CREATE TABLE t (n INTEGER)')
  db.run('PRAGMA busy_timeout = 1')
  const other = connect(path)
  other.run('BEGIN IMMEDIATE')
  const begun = spyOn(db, 'transaction')
  const groupCommit = createGroupCommit(db)
  const write = () => void db.run('INSERT INTO t VALUES (1)')
  const results = await Promise.allSettled(Array.from({ length: 100 }, () => groupCommit(write)))
  other.run('ROLLBACK')
  await groupCommit(write)

  expect(results.every(({ status }) => status === 'rejected')).toBe(true)
  expect(begun).toHaveBeenCalledTimes(2)
  expect(db.query('SELECT n FROM t').all()).toHaveLength(1)
  db.close()
  other.close()
})
