import { expect, test } from 'bun:test'

import { CREDIT, metered, PRICE } from './billing-fixture.ts'

test('a call whose outcome cannot be stored is refused, and the next call releases its hold', async () => {
  const { db, call, books } = metered()
  db.run("CREATE TRIGGER full BEFORE DELETE ON holds BEGIN SELECT RAISE(ABORT, 'full'); END")
  expect(await call().catch(String)).toContain('full')
  expect(books()).toEqual({ balance: CREDIT - PRICE, holds: 1, calls: 0 })

  db.run('DROP TRIGGER full')
  expect(await call()).toBe(1)
  expect(books()).toEqual({ balance: CREDIT - PRICE, holds: 0, calls: 2 })
  expect(await call()).toBe(1)
  expect(books()).toEqual({ balance: CREDIT - 2 * PRICE, holds: 0, calls: 3 })
})

test('concurrent calls report a released hold once', async () => {
  const { db, call, moved } = metered()
  db.run("CREATE TRIGGER full BEFORE DELETE ON holds BEGIN SELECT RAISE(ABORT, 'full'); END")
  expect(await call().catch(String)).toContain('full')
  db.run('DROP TRIGGER full')
  await Promise.all([call(), call()])
  await call()

  expect(moved.filter(({ what }) => what === 'refunded')).toEqual([
    { what: 'refunded', tier: 'read', micros: PRICE },
  ])
})
