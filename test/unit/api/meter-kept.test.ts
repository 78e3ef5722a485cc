import { expect, test } from 'bun:test'

import { ApiError } from '../../../src/core/errors.ts'
import { listUnbalanced } from '../../../src/store/ledger.ts'
import { CREDIT, metered, PRICE } from './metered.ts'

const kept = { kept: () => () => 7 }
const messageOf = (error: unknown) => (error instanceof ApiError ? error.details.message : error)

test('an answer that is kept is billed whole, and nobody is asked for it', async () => {
  const { db, call, books, moved, asked } = metered()
  const headers: Record<string, string> = {}

  expect(await call(kept, headers)).toBe(7)

  expect(asked()).toBe(0)
  expect(books()).toEqual({ balance: CREDIT - PRICE, holds: 0, calls: 1 })
  expect(headers['x-credits-remaining']).toBe('0.018')
  expect(moved).toEqual([
    { what: 'held', tier: 'read', micros: PRICE },
    { what: 'settled', tier: 'read', micros: PRICE },
  ])
  expect(listUnbalanced(db)).toEqual([])
})

test('where nothing is kept the work is done', async () => {
  const { call, books, asked } = metered()

  expect(await call({ kept: () => null })).toBe(1)

  expect(asked()).toBe(1)
  expect(books()).toEqual({ balance: CREDIT - PRICE, holds: 0, calls: 1 })
})

test('kept answers at the same time never spend more than there is', async () => {
  const { db, call, books } = metered({ credit: 3 * PRICE + 1 })

  const headers = Array.from({ length: 5 }, (): Record<string, string> => ({}))
  let taken = 0
  const take = () => ++taken
  const answers = await Promise.all(
    headers.map((it) => call({ kept: () => take }, it).catch(messageOf)),
  )

  // What nobody paid for is not taken.
  expect(taken).toBe(3)
  expect(answers.filter((it) => typeof it === 'number')).toEqual([1, 2, 3])
  expect(answers.filter((it) => it === 'this call costs 0.002 USD').length).toBe(2)
  expect(headers.flatMap((it) => it['x-credits-remaining'] ?? [])).toEqual([
    '0.004001',
    '0.002001',
    '0.000001',
  ])
  expect(books()).toEqual({ balance: 1, holds: 0, calls: 3 })
  expect(listUnbalanced(db)).toEqual([])
})

test('who need not pay is told what there is, and counted', async () => {
  const { call, books, moved } = metered({ unlimited: true })
  const headers: Record<string, string> = {}

  expect(await call(kept, headers)).toBe(7)

  expect(headers['x-credits-remaining']).toBe('0.02')
  expect(books()).toEqual({ balance: CREDIT, holds: 0, calls: 1 })
  expect(moved.map(({ micros }) => micros)).toEqual([0, 0])
})

test('without billing a kept answer is counted and nothing more', async () => {
  const { call, books, moved, counted } = metered({ billed: false })
  const headers: Record<string, string> = {}

  expect(await call(kept, headers)).toBe(7)

  expect(headers).toEqual({})
  expect(books()).toEqual({ balance: CREDIT, holds: 0, calls: 1 })
  expect(moved).toEqual([])
  expect(counted).toEqual([false])
})

test('a kept answer whose bill could not be written is refused, and costs nothing', async () => {
  const { db, call, books, moved } = metered()
  db.run("CREATE TRIGGER full BEFORE INSERT ON usage_hours BEGIN SELECT RAISE(ABORT, 'full'); END")

  expect(await call(kept).catch(String)).toContain('full')

  expect(books()).toEqual({ balance: CREDIT, holds: 0, calls: 0 })
  expect(moved).toEqual([])
  db.run('DROP TRIGGER full')
  expect(await call(kept)).toBe(7)
  expect(books()).toEqual({ balance: CREDIT - PRICE, holds: 0, calls: 1 })
})

test('kept answers for which no transaction could begin do not stand in the way of the next', async () => {
  const { db, call, books } = metered()
  db.run('PRAGMA query_only = ON')
  expect(await Promise.all([call(kept), call(kept)].map((it) => it.catch(String)))).toEqual([
    expect.stringContaining('readonly'),
    expect.stringContaining('readonly'),
  ])

  db.run('PRAGMA query_only = OFF')
  expect(await call(kept)).toBe(7)

  expect(books()).toEqual({ balance: CREDIT - PRICE, holds: 0, calls: 1 })
})

test('a kept answer brings back the money of a call whose end could not be written', async () => {
  const { db, call, books } = metered()
  db.run("CREATE TRIGGER full BEFORE DELETE ON holds BEGIN SELECT RAISE(ABORT, 'full'); END")
  expect(await call().catch(String)).toContain('full')
  db.run('DROP TRIGGER full')

  expect(await call(kept)).toBe(7)

  expect(books()).toEqual({ balance: CREDIT - PRICE, holds: 0, calls: 2 })
})

test('who comes while others are billed is billed with the next', async () => {
  const { call, books } = metered()

  for (let n = 1; n <= 3; n++) {
    expect(await Promise.all([call(kept), call(kept)])).toEqual([7, 7])
    expect(books()).toEqual({ balance: CREDIT - 2 * n * PRICE, holds: 0, calls: 2 * n })
  }
})
