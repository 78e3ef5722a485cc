import { expect, test } from 'bun:test'

import { type Arrival, judgeDeliveries, judgeTakeover } from './judge.ts'

const arrival = (at: number, node: string, epoch: number | null = null): Arrival => ({
  at,
  node,
  epoch,
  delivery_id: null,
  items: [],
  where: epoch === null ? 'platform' : 'first receiver',
})
const OF = { old: 'a', next: 'b', fault_at: 10 }

test('a takeover without a request of the old primary after it is faultless', () => {
  const arrivals = [arrival(1, 'a', 1), arrival(12, 'a'), arrival(30, 'b'), arrival(31, 'b', 2)]

  expect(judgeTakeover(arrivals, OF)).toEqual({ overlaps: [], epochs_back: 0, takeover_ms: 20 })
})

test('a poll of the old primary after the first request of the new one is an overlap', () => {
  const late = arrival(32, 'a')

  expect(judgeTakeover([arrival(30, 'b'), late], OF).overlaps).toEqual([late])
})

test('a delivery of an older epoch is counted', () => {
  const arrivals = [arrival(30, 'b', 2), arrival(29, 'a', 1), arrival(31, 'a', 1)]

  expect(judgeTakeover(arrivals, OF).epochs_back).toBe(1)
})

test('without a request of the new primary there is no takeover', () => {
  expect(judgeTakeover([arrival(1, 'a', 1)], OF).takeover_ms).toBeNull()
})

const got = (where: Arrival['where'], delivery_id: string, item: string): Arrival => ({
  ...arrival(1, 'a', 1),
  where,
  delivery_id,
  items: [item],
})

test('an item that one of two receivers never got is lost once, a second arrival is a repeat', () => {
  const arrivals = [
    got('first receiver', 'd1', 'x'),
    got('first receiver', 'd1', 'x'),
    got('second receiver', 'd2', 'x'),
    got('second receiver', 'd3', 'y'),
  ]

  expect(judgeDeliveries(arrivals, ['x', 'y'])).toEqual({ lost: 1, repeated: 1, deliveries: 3 })
})
