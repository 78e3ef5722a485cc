import { expect, test } from 'bun:test'

import {
  type Arrival,
  judgeDeliveries,
  judgeEpochs,
  judgeOverlaps,
  judgeRepeats,
  timeTakeover,
} from './judge.ts'

const arrival = (at: number, node: string, epoch: number | null = null): Arrival => ({
  at,
  node,
  life: node,
  epoch,
  delivery_id: null,
  items: [],
  where: epoch === null ? 'platform' : 'first receiver',
})
const OF = { old: 'a', next: 'b', fault_at: 10 }

test('a takeover without a request of the old primary after it is faultless', () => {
  const arrivals = [arrival(1, 'a', 1), arrival(12, 'a'), arrival(30, 'b'), arrival(31, 'b', 2)]

  expect(judgeOverlaps(arrivals)).toEqual([])
  expect(timeTakeover(arrivals, OF)).toEqual({ takeover_ms: 20, gap_ms: 18, resolution_ms: 0 })
})

test('a poll of the old primary after the first request of the new one is an overlap', () => {
  const late = arrival(32, 'a')

  expect(judgeOverlaps([arrival(1, 'a'), arrival(30, 'b'), late, arrival(33, 'b')])).toEqual([late])
})

test('one request of the standby while the primary acts is seen by what the primary does next', () => {
  const next = arrival(6, 'a')

  expect(judgeOverlaps([arrival(1, 'a'), arrival(5, 'b'), next])).toEqual([next])
})

test('a node that takes over again with another process does not overlap', () => {
  const arrivals = [arrival(1, 'a'), arrival(30, 'b'), { ...arrival(60, 'a'), life: 'a2' }]

  expect(judgeOverlaps(arrivals)).toEqual([])
})

test('the longest silence of the primary before the fault bounds what an overlap may hide in', () => {
  const arrivals = [1, 3, 8, 9].map((at) => arrival(at, 'a'))

  expect(timeTakeover(arrivals, OF).resolution_ms).toBe(5)
})

test('a delivery of an older epoch is counted, and an epoch of two nodes', () => {
  const arrivals = [arrival(30, 'b', 2), arrival(29, 'a', 1), arrival(31, 'a', 1)]

  expect(judgeEpochs(arrivals)).toEqual({ back: 1, shared: 0 })
  expect(judgeEpochs([arrival(1, 'a', 1), arrival(2, 'b', 1)])).toEqual({ back: 0, shared: 1 })
})

test('without a request of the new primary there is no takeover', () => {
  expect(timeTakeover([arrival(1, 'a', 1)], OF).takeover_ms).toBeNull()
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

  expect(judgeDeliveries(arrivals, ['x', 'y'])).toEqual({
    lost: [{ item: 'y', receiver: 'first receiver' }],
    two_ids: 0,
    repeats: [{ first_at: 1, at: 1 }],
    deliveries: 3,
  })
})

test('an item with two deliveries at one receiver has two ids', () => {
  const arrivals = [got('first receiver', 'd1', 'x'), got('first receiver', 'd2', 'x')]

  expect(judgeDeliveries(arrivals, []).two_ids).toBe(1)
})

test('a repeat counts for the fault before it, with the age that its first arrival had then', () => {
  const faults = [
    { fault: 'kill', at: 10 },
    { fault: 'stop', at: 50 },
  ]
  const repeats = [
    { first_at: 8, at: 20 },
    { first_at: 3, at: 49 },
    { first_at: 49, at: 60 },
  ]

  expect(judgeRepeats(repeats, faults)).toEqual({
    kill: { count: 2, unknown_ms: 7 },
    stop: { count: 1, unknown_ms: 1 },
  })
})
