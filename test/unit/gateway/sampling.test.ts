import { expect, test } from 'bun:test'

import { ok } from '../../../src/core/base/result.ts'
import { createByteBudget } from '../../../src/core/limits/byte-budget.ts'
import { createPreviewSource } from '../../../src/gateway/sampling.ts'
import { fakeClock } from '../../support/clock.ts'
import { postOf } from '../../support/items.ts'
import { listingWatch, watchesOf } from '../../support/watch.ts'

const KIB = 1024

/** A source whose every page has a post with a text of 10 KiB, and the number of its requests. */
function sourceWith(budget: ReturnType<typeof createByteBudget>) {
  let requests = 0
  const rows = [postOf({ text: 'x'.repeat(10 * KIB) })]
  const watch = listingWatch({ sample: async () => (requests++, ok({ rows, after: null })) })
  const clock = fakeClock(() => Promise.resolve())
  return {
    source: createPreviewSource({ watches: watchesOf(watch), clock, budget }),
    requests: () => requests,
  }
}

test('kept pages of previews count towards the budget, and are given up when calls need the memory', async () => {
  const budget = createByteBudget(() => 200 * KIB)
  const { source, requests } = sourceWith(budget)
  const batch = { kind: 'posts', places: ['cats'] } as const
  await source.page(batch)
  await source.page(batch)
  expect([requests(), budget.used('cache') > 50 * KIB]).toEqual([1, true])

  expect(budget.take('ann', 'requests', 190 * KIB)).toHaveProperty('release')

  expect(budget.used('cache')).toBe(0)
  await source.page(batch)
  expect(requests()).toBe(2)
})
