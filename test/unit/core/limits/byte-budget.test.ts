import { describe, expect, test } from 'bun:test'

import { createByteBudget, type HeldBytes } from '../../../../src/core/limits/byte-budget.ts'

const MIB = 1024 * 1024
const budgetOf = (mib: number) => createByteBudget(() => mib * MIB)

/** Held bytes of a take that must fit. */
function taken(it: HeldBytes | string): HeldBytes {
  if (typeof it === 'string') throw new Error(`exceeds the limit of the ${it}`)
  return it
}

describe('one owner', () => {
  test('may hold a third of the budget', () => {
    const budget = budgetOf(96)
    taken(budget.take('a', 'answers', 32 * MIB))
    expect(budget.take('a', 'answers', 1)).toBe('owner')
    taken(budget.take('b', 'answers', 32 * MIB))
  })

  test('may hold the body of a picture even if the budget is small', () => {
    const budget = budgetOf(64)
    taken(budget.take('a', 'requests', 1 * MIB))
    taken(budget.take('a', 'requests', 24 * MIB))
    expect(budget.take('a', 'requests', 2 * MIB)).toBe('owner')
  })

  test('without held bytes may take any size that fits the process', () => {
    const budget = budgetOf(96)
    const large = taken(budget.take('a', 'answers', 60 * MIB))
    expect(budget.exceeded('a', 1)).toBe('owner')
    large.release()
    expect(budget.exceeded('a', 1)).toBeNull()
  })
})

describe('the process', () => {
  test('has one limit for the sum of all owners and uses', () => {
    const budget = budgetOf(96)
    for (const owner of ['a', 'b', 'c']) taken(budget.take(owner, 'answers', 30 * MIB))
    taken(budget.take(null, 'cache', 6 * MIB))
    expect(budget.take('d', 'requests', 1)).toBe('process')
    expect([budget.used('answers'), budget.used('cache'), budget.used('requests')]).toEqual([
      90 * MIB,
      6 * MIB,
      0,
    ])
  })

  test('reclaims bytes from a cache when requests need them', () => {
    const budget = budgetOf(96)
    const entries = Array.from({ length: 90 }, () => taken(budget.take(null, 'cache', MIB)))
    const asked: number[] = []
    budget.onPressure((bytes) => {
      asked.push(bytes)
      for (let freed = 0; freed < bytes; freed += MIB) entries.pop()?.release()
    })
    taken(budget.take('a', 'requests', 10 * MIB))
    expect([asked, budget.used('cache')]).toEqual([[4 * MIB], 86 * MIB])
  })

  test('applies a changed limit', () => {
    let mib = 96
    const budget = createByteBudget(() => mib * MIB)
    taken(budget.take('a', 'answers', 30 * MIB))
    taken(budget.take('b', 'answers', 30 * MIB))
    mib = 64
    expect(budget.take('c', 'answers', 5 * MIB)).toBe('process')
  })
})

test('a second release has no effect', () => {
  const budget = budgetOf(96)
  const held = taken(budget.take('a', 'streams', MIB))
  taken(budget.take('a', 'streams', MIB))
  held.release()
  held.release()
  expect(budget.used('streams')).toBe(MIB)
})
