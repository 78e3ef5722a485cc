import { describe, expect, test } from 'bun:test'

import { createItemClock, dateClock } from '../../../../src/core/polling/item-clock.ts'

const START = Date.parse('2026-05-01T12:00:00Z')
const HOUR = 3_600_000
const POLL_MS = 3000

/**
 * Feed in which an item appears every `every_ms`, by the item clock, polled every three seconds; an
 * item is visible a second after its creation. `ahead_ms`: lead of the Date headers and of the item
 * clock over our clock.
 */
function createScene(every_ms: number, ahead_ms: { date: number; item: number }) {
  let [mono, jumped] = [0, 0]
  let date_ahead_ms = ahead_ms.date
  const clock = { now: () => START + mono + jumped, mono: () => mono }
  const item_clock = createItemClock(clock, () => date_ahead_ms)
  const itemNow = () => START + mono + ahead_ms.item
  return {
    item_clock,
    itemNow,
    /** Delay of a monitor's start against the true one in ms; negative: it starts earlier. */
    startsLateBy: () => clock.now() + item_clock.earliest_ms() - itemNow(),
    isOffBy: () => clock.now() + item_clock.measured_ms() - itemNow(),
    observe: (...ages_ms: number[]) =>
      item_clock.observe(
        ages_ms.map((age_ms) => ({
          name: `t3_${Math.floor((itemNow() - age_ms) / 1000)}`,
          created_utc: Math.floor((itemNow() - age_ms) / 1000),
        })),
      ),
    jump(ms: number) {
      jumped += ms
    },
    setDate: (ms: number) => void (date_ahead_ms = ms),
    /** Polls for `ms`. */
    pass(ms: number) {
      for (const until = mono + ms; mono < until; mono += POLL_MS) {
        const last = Math.floor((itemNow() - 1000) / every_ms)
        const serials = Array.from({ length: 5 }, (_, n) => last - n)
        item_clock.observe(
          serials.map((n) => ({
            name: `t3_${n}`,
            created_utc: Math.floor((n * every_ms) / 1000),
          })),
        )
      }
    },
  }
}

describe('the Date headers differ from created_utc, and our clock is right', () => {
  test.each([
    ['ahead', 150_000, 2000],
    ['ahead', 150_000, 15_000],
    ['behind', -150_000, 2000],
    ['behind', -150_000, 15_000],
    ['a little ahead', 20_000, 2000],
  ])('a start is right where headers are %s by %d ms, items every %d ms', (_, date, every) => {
    const it = createScene(every, { date, item: 0 })
    it.pass(120_000)

    expect(it.startsLateBy()).toBeLessThanOrEqual(0)
    expect(it.startsLateBy()).toBeGreaterThan(-5000)
    expect(Math.abs(it.isOffBy())).toBeLessThan(21_000)
  })

  test('the bound stays valid while feeds are quiet afterwards', () => {
    const it = createScene(40 * 60_000, { date: 150_000, item: 0 })
    it.pass(45 * 60_000)

    expect(it.startsLateBy()).toBeLessThanOrEqual(0)
    expect(Math.abs(it.isOffBy())).toBeLessThan(5000)
  })

  test('without a single item a monitor begins by the earlier of both clocks', () => {
    expect(createScene(2000, { date: 150_000, item: 0 }).startsLateBy()).toBe(0)
    expect(createScene(2000, { date: -150_000, item: 0 }).startsLateBy()).toBe(-150_000)
  })
})

describe('our clock is wrong, and the Date headers are right', () => {
  test.each([HOUR, -HOUR, 24 * HOUR, 400_000])('by %d ms', (ahead) => {
    const it = createScene(5000, { date: ahead, item: ahead })
    it.pass(60_000)

    expect(it.isOffBy()).toBe(0)
    expect(it.startsLateBy()).toBeLessThanOrEqual(0)
    expect(it.startsLateBy()).toBeGreaterThan(-8000)
  })

  test('in quiet feeds a start uses the time of the newest item received', () => {
    const it = createScene(5000, { date: HOUR, item: HOUR })
    it.observe(20 * 60_000, 50 * 60_000)

    expect(it.isOffBy()).toBe(0)
    expect(Math.round(it.startsLateBy() / 60_000)).toBe(-20)
  })
})

test('both clocks are off: items with a constant delay reveal their clock', () => {
  const it = createScene(4000, { date: HOUR, item: HOUR - 150_000 })
  it.pass(60_000)

  expect(Math.abs(it.isOffBy())).toBeLessThan(6000)
  expect(it.startsLateBy()).toBeLessThanOrEqual(0)
})

test('a single batch of delayed items does not override the Date headers', () => {
  const it = createScene(4000, { date: HOUR, item: HOUR })
  it.observe(150_000, 170_000)

  expect(it.isOffBy()).toBe(0)
})

test('a single item from the future changes nothing; two of them do', () => {
  const it = createScene(4000, { date: 0, item: 0 })
  it.pass(60_000)
  it.observe(-10 * 60_000)
  expect(it.isOffBy()).toBe(0)
  it.observe(-9 * 60_000)
  expect(it.item_clock.measured_ms()).toBeGreaterThan(8 * 60_000)
})

test('items survive a step of our clock; the Date headers follow with their next response', () => {
  const it = createScene(4000, { date: 0, item: 0 })
  it.pass(60_000)
  it.jump(-HOUR)
  expect(Math.abs(it.isOffBy())).toBeLessThan(6000)

  it.jump(2 * HOUR)
  it.setDate(-HOUR)
  expect(Math.abs(it.isOffBy())).toBeLessThan(6000)
  expect(it.startsLateBy()).toBeLessThanOrEqual(0)
})

test('the reported offset is 0 unless it exceeds a minute', () => {
  const near = createScene(4000, { date: 59_000, item: 59_000 })
  const far = createScene(4000, { date: 61_000, item: 61_000 })
  for (const it of [near, far]) it.pass(60_000)

  expect(near.item_clock.ms()).toBe(0)
  expect(far.item_clock.ms()).toBe(61_000)
})

test.each([
  [0, { ms: 0, measured_ms: 0, earliest_ms: 0 }],
  [-90_000, { ms: -90_000, measured_ms: -90_000, earliest_ms: -90_000 }],
  [90_000, { ms: 90_000, measured_ms: 90_000, earliest_ms: 0 }],
])(
  'the clock of a source is that of its Date headers, whatever its items say (%d ms)',
  (date_ms, expected) => {
    const clock = dateClock(() => date_ms)
    const created_utc = Math.floor(Date.now() / 1000) + 1200
    clock.observe(['t3_1', 't3_2', 't3_3'].map((name) => ({ name, created_utc })))
    expect({
      ms: clock.ms(),
      measured_ms: clock.measured_ms(),
      earliest_ms: clock.earliest_ms(),
    }).toEqual(expected)
  },
)
