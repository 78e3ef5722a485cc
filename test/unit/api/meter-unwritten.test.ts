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
