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

test('a limit of 0 is unlimited', () => {
  let limit = 1
  const buckets = createBuckets(
    fakeClock(async () => {}),
    () => perMinute(limit),
  )
  buckets.take('late')
  expect(buckets.take('late')?.wait_ms).toBeNull()

  limit = 0
  expect(buckets.take('late')).toBeNull()
})

test('a new id in a full table takes no longer than in an empty one', () => {
  const buckets = createBuckets(
    fakeClock(async () => {}),
    () => perMinute(30),
  )
  let id = 0
  const taking = () => {
    const before = process.cpuUsage()
    for (let n = 0; n < BUCKETS_MAX; n += 1) buckets.take(address(id++))
    const { user, system } = process.cpuUsage(before)
    return user + system
  }
  const filling = taking()
  const rounds = Array.from({ length: 5 }, taking)

  // A table that scans entries it has deleted takes ten times as long.
  expect(Math.min(...rounds)).toBeLessThan(filling * 4)
})
