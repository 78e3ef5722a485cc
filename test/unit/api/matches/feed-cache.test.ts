import { expect, test } from 'bun:test'

import { createFeedCache } from '../../../../src/api/matches/atom.ts'
import { createByteBudget } from '../../../../src/core/limits/byte-budget.ts'

const KIB = 1024

/** Reads a feed of this many bytes; returns true if it was rendered. */
function reader(cache: ReturnType<typeof createFeedCache>) {
  return (monitor_id: string, version: string, size = 10 * KIB) => {
    let rendered = false
    const { bytes } = cache.get(monitor_id, version, () => {
      rendered = true
      return 'x'.repeat(size)
    })
    expect(bytes.byteLength).toBe(size)
    return rendered
  }
}

test('a feed is rendered once per version', () => {
  const read = reader(createFeedCache())

  expect([read('mon_1', '1'), read('mon_1', '1'), read('mon_2', '1')]).toEqual([true, false, true])
  expect([read('mon_1', '2'), read('mon_1', '2'), read('mon_1', '1')]).toEqual([true, false, true])
})

test('all feeds stay within the bound; the least recently read are evicted first', () => {
  const cache = createFeedCache({ bytes_max: 64 * KIB })
  const read = reader(cache)
  for (let n = 0; n < 1_000; n += 1) {
    read(`mon_${n}`, '1')
    read('mon_0', '1')
    expect(cache.bytes()).toBeLessThanOrEqual(64 * KIB)
  }

  expect([read('mon_0', '1'), read('mon_999', '1'), read('mon_1', '1')]).toEqual([
    false,
    false,
    true,
  ])
})

test('a feed above half of the bound is answered and not cached', () => {
  const cache = createFeedCache({ bytes_max: 64 * KIB })
  const read = reader(cache)

  expect([read('mon_1', '1', 40 * KIB), read('mon_1', '1', 40 * KIB)]).toEqual([true, true])
  expect(cache.bytes()).toBe(0)
})

test('kept feeds count towards the budget, and are given up when calls need the memory', () => {
  const budget = createByteBudget(() => 100 * KIB)
  const cache = createFeedCache({ budget })
  const read = reader(cache)
  for (const id of ['mon_1', 'mon_2', 'mon_3']) read(id, '1', 20 * KIB)
  expect(budget.used('cache')).toBe(cache.bytes())
  expect(cache.bytes()).toBeGreaterThan(60 * KIB)

  expect(budget.take('ann', 'requests', 70 * KIB)).toHaveProperty('release')

  expect(budget.used('cache')).toBe(cache.bytes())
  expect([read('mon_3', '1', 20 * KIB), read('mon_1', '1', 20 * KIB)]).toEqual([false, true])
})

test('a feed for which the budget has no room is answered and not kept', () => {
  const budget = createByteBudget(() => 10 * KIB)
  const cache = createFeedCache({ budget })
  const read = reader(cache)

  expect([read('mon_1', '1', 20 * KIB), read('mon_1', '1', 20 * KIB)]).toEqual([true, true])
  expect(budget.used('cache')).toBe(0)
})

test('the ETag is the hash of the bytes', () => {
  const cache = createFeedCache()
  const tag = (version: string, text: string) => cache.get('mon_1', version, () => text).etag

  expect(tag('1', 'a')).toBe(tag('2', 'a'))
  expect(tag('3', 'b')).not.toBe(tag('4', 'a'))
})
