import { expect, test } from 'bun:test'

import { CREDIT, metered, PRICE } from './metered.ts'

test('a call whose end could not be written is refused, and the next one brings its money back', async () => {
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

test('the money that comes back with calls made at once is told once', async () => {
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
