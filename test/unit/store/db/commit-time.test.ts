import { expect, test } from 'bun:test'

import { connect, onCommit, transact } from '../../../../src/store/db/connection.ts'

test('a commit is timed from its last statement, and nested transactions are part of the outer one', () => {
  using db = connect(':memory:', { create: true })
  db.run('CREATE TABLE t (n INTEGER)')
  let at = 0
  const commit_times_ms: number[] = []
  onCommit(db, { mono: () => (at += 10), observe: (ms) => commit_times_ms.push(ms) })

  transact(db, () => {
    at += 1000
    transact(db, () => db.run('INSERT INTO t VALUES (1)').changes)
  })
  expect(commit_times_ms).toEqual([10])

  expect(() =>
    transact(db, () => {
      throw new Error('not now')
    }),
  ).toThrow('not now')
  expect(commit_times_ms).toEqual([10])
})
