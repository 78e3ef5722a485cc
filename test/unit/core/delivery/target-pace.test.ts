import { expect, test } from 'bun:test'

import { array, assert, integer, property } from 'fast-check'

import { createTargetPace } from '../../../../src/core/delivery/target.ts'

test('a second holds as many starts as the limit, and the next may follow when the first is a second old', () => {
  const pace = createTargetPace()
  for (const at of [0, 300]) pace.started('wh_1', 2, at)
  expect(pace.capacity('wh_1', 2, 900)).toBe(0)
  expect(pace.nextAt('wh_1', 2, 900)).toBe(1000)
  expect(pace.capacity('wh_1', 2, 1000)).toBe(1)
  expect(pace.nextAt('wh_1', 2, 1000)).toBe(1000)
})

test('a limit below one a second is one start in that many seconds', () => {
  const pace = createTargetPace()
  pace.started('wh_1', 0.25, 0)
  expect(pace.capacity('wh_1', 0.25, 3999)).toBe(0)
  expect(pace.capacity('wh_1', 0.25, 4000)).toBe(1)
})

test('a target without a limit is not delayed, and targets do not affect each other', () => {
  const pace = createTargetPace()
  pace.started('wh_1', 1, 0)
  expect(pace.capacity('wh_1', null, 0)).toBe(Infinity)
  expect(pace.nextAt('wh_1', null, 7)).toBe(7)
  expect(pace.capacity('wh_2', 1, 0)).toBe(1)
})

test('starts within the capacity never exceed the limit in any second', () => {
  assert(
    property(
      integer({ min: 1, max: 20 }),
      array(integer({ min: 0, max: 400 }), { maxLength: 80 }),
      (per_second, waits) => {
        const pace = createTargetPace()
        const starts: number[] = []
        let now = 0
        for (const wait of waits) {
          now += wait
          if (pace.capacity('wh_1', per_second, now) < 1) continue
          pace.started('wh_1', per_second, now)
          starts.push(now)
        }
        for (const from of starts)
          expect(starts.filter((at) => at >= from && at < from + 1000).length).toBeLessThanOrEqual(
            per_second,
          )
      },
    ),
  )
})

test('a refusal holds the target for the time that the receiver named, with a limit of its own or without', () => {
  const pace = createTargetPace()
  pace.refused('wh_1', 5000, 1000, 'rate_limit')
  for (const limit of [null, 10]) {
    expect(pace.capacity('wh_1', limit, 5999)).toBe(0)
    expect(pace.nextAt('wh_1', limit, 1000)).toBe(6000)
    expect(pace.capacity('wh_1', limit, 6000)).toBe(1)
  }
  expect(pace.capacity('wh_2', null, 1000)).toBe(Infinity)
})

test('a receiver that was unavailable is held, and then takes any rate again', () => {
  const pace = createTargetPace()
  pace.refused('wh_1', 700_000, 0, 'unavailable')
  expect(pace.capacity('wh_1', null, 699_999)).toBe(0)
  expect(pace.nextAt('wh_1', null, 0)).toBe(700_000)
  expect(pace.capacity('wh_1', null, 700_000)).toBe(Infinity)
  pace.refused('wh_1', 5000, 700_000, 'rate_limit')
  expect(pace.capacity('wh_1', null, 705_000)).toBe(1)
})

test('a receiver that takes ten and then one in five seconds gets 200 with few refusals', () => {
  const pace = createTargetPace()
  let tokens = 10
  let filled_at = 0
  const receive = (now: number): number | null => {
    tokens = Math.min(10, tokens + (now - filled_at) / 5000)
    filled_at = now
    if (tokens < 1) return Math.ceil((1 - tokens) * 5000)
    tokens -= 1
    return null
  }
  let [delivered, attempts, now] = [0, 0, 0]
  while (delivered < 200) {
    now = pace.nextAt('wh_1', null, now)
    const together = Math.min(8, pace.capacity('wh_1', null, now), 200 - delivered)
    for (let n = 0; n < together; n++) pace.started('wh_1', null, now)
    for (let n = 0; n < together; n++) {
      attempts += 1
      const wait_ms = receive(now)
      if (wait_ms === null) {
        delivered += 1
        pace.accepted('wh_1')
      } else pace.refused('wh_1', wait_ms, now, 'rate_limit')
    }
  }
  expect(attempts).toBeLessThan(1.3 * 200)
  // The least that the receiver allows is 950 s.
  expect(now).toBeLessThan(1300 * 1000)
})
