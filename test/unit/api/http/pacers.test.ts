import { expect, test } from 'bun:test'

import { BUCKETS_MAX, createBuckets } from '../../../../src/api/http/pacers.ts'
import { perMinute } from '../../../../src/core/limits/pace.ts'
import { fakeClock } from '../../../support/clock.ts'

const address = (n: number) =>
  `address 2001:db8:${(n >> 16).toString(16)}:${(n & 0xffff).toString(16)}::/64`

test('a table stores a bounded number of ids in under 4 MiB', () => {
  const buckets = createBuckets(
    fakeClock(async () => {}),
    () => perMinute(30),
  )
  Bun.gc(true)
  const before = process.memoryUsage().heapUsed
  for (let n = 0; n < 60_000; n += 1) buckets.take(address(n))
  Bun.gc(true)

  expect(buckets.size()).toBe(BUCKETS_MAX)
  expect(process.memoryUsage().heapUsed - before).toBeLessThan(4 * 1024 * 1024)
  expect(buckets.peek(address(0))).toMatchObject({ wait_ms: 0 })
})

test('an id in regular use is not evicted by ids used once', () => {
  const buckets = createBuckets(
    fakeClock(async () => {}),
    () => perMinute(2),
  )
  for (let n = 0; n < 50_000; n += 1) {
    if (n % 1_000 === 0) buckets.take('busy')
    buckets.take(address(n))
  }

  expect(buckets.take('busy')?.wait_ms).toBeNull()
})

test('ids with full buckets are evicted first, and a limit of 0 is unlimited', async () => {
  const clock = fakeClock(async () => {})
  let limit = 2
  const buckets = createBuckets(clock, () => perMinute(limit))
  for (let n = 0; n < BUCKETS_MAX; n += 1) buckets.take(address(n))
  await clock.advance(60_000)
  buckets.take('late')

  expect(buckets.size()).toBe(BUCKETS_MAX - 8 + 1)
  limit = 0
  expect(buckets.take('late')).toBeNull()
})
