import { expect, test } from 'bun:test'

import { createReachability } from '../../../src/net/reachability.ts'

const ROUTE = { host: 'forum.test', proxy: null }
const SECOND = 1000

function startFixture() {
  let now = 0
  const events: [string, Record<string, unknown>][] = []
  let recoveries = 0
  const reachability = createReachability({
    clock: { mono: () => now },
    log: (_, event, fields = {}) => void events.push([event, fields]),
    onRecovered: () => void (recoveries += 1),
  })
  const request = (
    answered: boolean | null,
    route: Parameters<typeof reachability.start>[0] = ROUTE,
  ) => {
    const trial = reachability.start(route)
    now += 10
    trial?.end(answered)
    return trial !== null
  }
  return {
    reachability,
    events,
    request,
    recoveries: () => recoveries,
    pass: (ms: number) => void (now += ms),
    now: () => now,
  }
}

test('a platform is unreachable after three failures in a row, and reported once', () => {
  const it = startFixture()
  it.request(false)
  it.request(false)
  it.request(true)
  it.request(false)
  it.request(false)
  expect(it.reachability.isDown()).toBe(false)
  it.request(false)

  expect(it.reachability.isDown()).toBe(true)
  expect(it.request(false)).toBe(false)
  expect(it.events).toEqual([['platform.unreachable', { host: 'forum.test', count: 3 }]])
})

test('a platform is unreachable after ten seconds without an answer', () => {
  const it = startFixture()
  it.request(false)
  it.pass(10 * SECOND)
  it.request(false)

  expect(it.reachability.isDown()).toBe(true)
})

test('concurrent requests fail once', () => {
  const it = startFixture()
  const trials = Array.from({ length: 5 }, () => it.reachability.start(ROUTE))
  it.pass(1)
  for (const trial of trials) trial?.end(false)

  expect(it.reachability.isDown()).toBe(false)
})

test('one probe at a growing interval of at most a minute goes out, and nothing else', () => {
  const it = startFixture()
  for (let n = 0; n < 3; n++) it.request(false)
  const sent: number[] = []
  const down_at = it.now()
  while (it.now() < down_at + 300 * SECOND) {
    const at = it.now()
    if (it.request(false)) sent.push(Math.round((at - down_at) / SECOND))
    it.pass(SECOND / 4)
  }

  expect(sent.slice(0, 5)).toEqual([1, 3, 7, 15, 31])
  for (const at of sent)
    expect(sent.filter((other) => other >= at && other < at + 60).length).toBeLessThan(7)
  expect(Math.max(...sent.slice(1).map((at, n) => at - sent[n]!))).toBeLessThanOrEqual(60)
})

test('a probe in flight holds all others back', () => {
  const it = startFixture()
  for (let n = 0; n < 3; n++) it.request(false)
  it.pass(SECOND)
  const probe = it.reachability.start(ROUTE)
  it.pass(60 * SECOND)

  expect(it.request(true)).toBe(false)
  probe?.end(null)
  expect(it.request(true)).toBe(false)
  it.pass(SECOND)
  expect(it.request(true)).toBe(true)
})

test('the first answer ends an outage, with its duration', () => {
  const it = startFixture()
  for (let n = 0; n < 3; n++) it.request(false)
  it.pass(60 * SECOND)
  it.request(true)

  expect(it.reachability.isDown()).toBe(false)
  expect(it.recoveries()).toBe(1)
  expect(it.events.at(-1)).toEqual([
    'platform.recovered',
    { host: 'forum.test', duration_ms: 60_040 },
  ])
  expect(it.request(true)).toBe(true)
})

test('each route is judged separately, and forgotten after its last use', () => {
  const it = startFixture()
  for (let n = 0; n < 3; n++) it.request(false)

  expect(it.request(true, { host: 'forum.test', proxy: 'http://way.test:8080' })).toBe(true)
  expect(it.request(true, { host: 'api.forum.test', proxy: null })).toBe(true)
  expect(it.reachability.isDown()).toBe(true)
  it.pass(3 * 3600 * SECOND)
  expect(it.reachability.isDown()).toBe(false)
})
