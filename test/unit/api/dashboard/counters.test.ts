import { expect, test } from 'bun:test'

import { countingMeter, createTally, onDeliveries } from '../../../../src/api/dashboard/counters.ts'
import { createRequestCounts } from '../../../../src/api/operator/accounts.ts'
import { fakeClock } from '../../../support/clock.ts'
import { metered, PRICE, PRICES } from '../billing-fixture.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const clock = () => fakeClock(() => Promise.resolve())

test('a tally drops counts after a minute, second by second', async () => {
  const it = clock()
  const tally = createTally(it)
  tally.add('a', { reads: 1, spent_micros: 2000 })
  await it.advance(30_000)
  tally.add('a', { reads: 2 })
  tally.add('b', { delivered: 1, failed: 3 })
  const counts = () => [tally.lastMinute('a').reads, tally.lastMinute(null).reads]

  expect(counts()).toEqual([3, 3])
  expect(tally.lastMinute('b')).toEqual({ delivered: 1, failed: 3, reads: 0, spent_micros: 0 })
  expect(tally.lastMinute(null)).toEqual({
    delivered: 1,
    failed: 3,
    reads: 3,
    spent_micros: 2000,
  })
  await it.advance(30_000)
  expect(counts()).toEqual([2, 2])
  await it.advance(30_000)
  expect(counts()).toEqual([0, 0])
})

test('counts of a customer are not visible to others', () => {
  const tally = createTally(clock())
  tally.add('a', { reads: 5 })

  expect(tally.lastMinute('b').reads).toBe(0)
})

test.each([
  [false, PRICE],
  [true, 0],
])(
  'the price of a call counts as spent; for an unlimited (%j) customer that is %d',
  async (unlimited, spent_micros) => {
    const { meter, holder } = metered({ unlimited })
    const tally = createTally(clock())
    await countingMeter(meter, tally, PRICES)('read', holder, {}, () =>
      Promise.resolve({ ok: true, value: 1 }),
    )

    expect(tally.lastMinute('cus_1')).toMatchObject({ reads: 1, spent_micros })
  },
)

test('ten thousand quiet customers do not block the next one', async () => {
  const it = clock()
  const tally = createTally(it)
  for (let n = 0; n < 10_001; n += 1) tally.add(`quiet-${n}`, { reads: 1 })
  await it.advance(MINUTE_MS)
  tally.add('late', { reads: 1 })

  expect(tally.lastMinute('late').reads).toBe(1)
  expect(tally.lastMinute(null).reads).toBe(1)
})

test.each([
  ['delivered', { delivered: 1, failed: 0 }],
  ['failed', { delivered: 0, failed: 1 }],
  ['dead', { delivered: 0, failed: 1 }],
  ['pending', { delivered: 0, failed: 0 }],
])('an attempt that ends %s is counted for its customer', (status, counts) => {
  const tally = createTally(clock())
  const lines: string[] = []
  const log = onDeliveries(
    (_, event) => lines.push(event),
    tally,
    (id) => (id === 'dlv_1' ? 'cus_1' : null),
  )
  log('debug', 'delivery.attempted', { delivery_id: 'dlv_1', status })
  log('debug', 'delivery.attempted', { delivery_id: 'dlv_gone', status })
  log('info', 'something.else', { delivery_id: 'dlv_1', status })
  log('info', 'something.bare')

  expect(tally.lastMinute('cus_1')).toMatchObject(counts)
  expect(tally.lastMinute(null)).toMatchObject(counts)
  expect(lines).toHaveLength(4)
})

test('requests through an account are counted for a day, by hour', async () => {
  const it = clock()
  const counts = createRequestCounts(it)
  const began = it.now()
  counts.count('acc_1', false)
  counts.count('acc_1', true)
  await it.advance(12 * HOUR_MS)
  counts.count('acc_1', false)
  counts.count('acc_2', true)

  expect(counts.of('acc_1')).toEqual({ requests: 3, blocked: 1 })
  expect(counts.of('acc_2')).toEqual({ requests: 1, blocked: 1 })
  expect(counts.since()).toBe(began)
  await it.advance(12 * HOUR_MS)
  expect(counts.of('acc_1')).toEqual({ requests: 1, blocked: 0 })
  expect(counts.since()).toBe(began + HOUR_MS)
  await it.advance(12 * HOUR_MS)
  expect(counts.of('acc_1')).toEqual({ requests: 0, blocked: 0 })
})
