import { expect, test } from 'bun:test'

import { createLru } from '../../../../src/core/base/lru.ts'

test('the least recently used entry gives way to a new one', () => {
  const lru = createLru<number, string>(3)
  for (const it of [1, 2, 3]) lru.set(it, String(it))
  lru.get(1)
  lru.set(4, '4')

  expect(new Set(lru.keys())).toEqual(new Set([1, 3, 4]))
})

test('a replaced entry takes no second place', () => {
  const lru = createLru<string, number>(2)
  lru.set('a', 1)
  for (let i = 0; i < 10; i++) lru.set('b', i)

  expect(lru.get('a')).toBe(1)
  expect(lru.size).toBe(2)
})
