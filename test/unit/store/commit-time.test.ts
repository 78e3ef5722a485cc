import { expect, test } from 'bun:test'

import { connect, onCommit, transact } from '../../../src/store/db.ts'

test('a commit is timed from its last statement on, and what is within another is a part of that', () => {
  using db = connect(':memory:', { create: true })
  db.run('CREATE TABLE t (n INTEGER)')
  let at = 0
  const told: number[] = []
  onCommit(db, { mono: () => (at += 10), told: (ms) => told.push(ms) })

  transact(db, () => {
    at += 1000
    transact(db, () => db.run('INSERT INTO t VALUES (1)').changes)
  })
  expect(told).toEqual([10])

  expect(() =>
    transact(db, () => {
      throw new Error('not now')
    }),
  ).toThrow('not now')
  expect(told).toEqual([10])
})
