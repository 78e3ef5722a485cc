import { expect, test } from 'bun:test'

import { createPace } from '../../../src/platforms/pace.ts'

function createFixture({ requests_per_minute = 60, burst = 10 } = {}) {
  let now = 1_000_000
  let boots = 0
  let stored: string | null = null
  let writes = 0
  const store = {
    load: () => stored,
    save(text: string) {
      stored = text
      writes += 1
    },
  }
  // The monotonic clock of a process starts with it.
  let booted_at = now - 500
  const clock = { now: () => now, mono: () => now - booted_at, sleep: async () => {} }
  const start = () => createPace(clock, store).join(requests_per_minute, burst)
  return {
    start,
    reboot() {
      boots += 1
      booted_at = now - 10 * boots
      return start()
    },
    pass: (ms: number) => void (now += ms),
    now: () => now,
    writes: () => writes,
  }
}

/** Sends as often as a pace allows, in steps of 50 ms, and returns the instants. */
function sendFor(fixture: ReturnType<typeof createFixture>, ms: number, share?: number) {
  let pace = fixture.start()
  const sent: number[] = []
  const until = fixture.now() + ms
  return {
    sent,
    run(rebootAt: number[] = []) {
      while (fixture.now() < until) {
        if (rebootAt[0] !== undefined && fixture.now() >= rebootAt[0]) {
          rebootAt.shift()
          pace = fixture.reboot()
        }
        while (pace.wait_ms(share) === 0) {
          pace.take(share)
          sent.push(fixture.now())
        }
        fixture.pass(50)
      }
      return Math.max(...sent.map((at) => sent.filter((it) => it <= at && it > at - 60_000).length))
    },
  }
}

test('any minute has as many requests as are configured at most, also after a quiet time', () => {
  const fixture = createFixture()
  const sender = sendFor(fixture, 200_000)
  expect(sender.run()).toBe(60)
  expect(sender.sent.length).toBeGreaterThan(180)
})

test('requests of an earlier process count, those of its last write too', () => {
  const fixture = createFixture({ burst: 60 })
  const at = fixture.now()
  const sender = sendFor(fixture, 300_000)
  expect(sender.run([at + 10_000, at + 20_000, at + 75_000, at + 110_000])).toBeLessThanOrEqual(60)
  expect(sender.sent.length).toBeGreaterThan(200)
  expect(fixture.writes()).toBeLessThan(120)
})

test('a pause holds over a restart', () => {
  const fixture = createFixture()
  fixture.start().pause(30)
  fixture.pass(10_000)
  const pace = fixture.reboot()
  expect(pace.wait_ms()).toBe(20_000)
  expect(pace.left(1)).toBe(0)
  fixture.pass(20_000)
  expect(pace.wait_ms()).toBe(0)
})

test('a share of the requests leaves the rest to others', () => {
  const fixture = createFixture({ burst: 60 })
  const pace = fixture.start()
  expect(pace.left(0.75)).toBe(45)
  for (let n = 0; n < 45; n++) pace.take(0.75)
  expect(pace.left(0.75)).toBe(0)
  expect(pace.wait_ms(0.75)).toBeGreaterThan(0)
  expect(pace.wait_ms()).toBe(0)
  expect(pace.left(1)).toBe(15)
  for (let n = 0; n < 15; n++) pace.take()
  expect(pace.wait_ms()).toBeGreaterThan(0)
})

test('requests of the minute before count as free once they may be sent within a wait', () => {
  const fixture = createFixture({ burst: 60 })
  const pace = fixture.start()
  for (let n = 0; n < 54; n++) pace.take(0.9)
  fixture.pass(58_000)
  expect(pace.left(0.9)).toBe(0)
  expect(pace.left(0.9, 2000)).toBe(0)
  expect(pace.left(0.9, 3000)).toBe(54)
  pace.pause(5)
  expect(pace.left(0.9, 3000)).toBe(0)
})

test('a text that an earlier version stored differently is ignored', () => {
  const clock = { now: () => 5000, mono: () => 10, sleep: async () => {} }
  const store = { load: () => '[1]', save: () => {} }
  expect(createPace(clock, store).join(60).wait_ms()).toBe(0)
})

/** Most requests in any minute. */
const most = (sent: readonly { at: number }[]) =>
  Math.max(...sent.map(({ at }) => sent.filter((it) => it.at <= at && it.at > at - 60_000).length))

test('clients of one host have their own paces, and together no more than the highest', () => {
  let now = 0
  const clock = { now: () => now, mono: () => now, sleep: async () => {} }
  const host = createPace(clock)
  const clients = [host.join(60), host.join(6)]
  const sent: { at: number; client: number }[] = []
  for (; now < 300_000; now += 100)
    for (const [client, it] of clients.entries())
      if (it.wait_ms() === 0) {
        it.take()
        sent.push({ at: now, client })
      }
  const counts = clients.map((_, n) => most(sent.filter(({ client }) => client === n)))
  expect([most(sent), counts[1]]).toEqual([60, 6])
  expect(counts[0]).toBeGreaterThan(50)
})

test('a lower pace that a site asks for does not count what was sent before', () => {
  let now = 0
  const clock = { now: () => now, mono: () => now, sleep: async () => {} }
  const pace = createPace(clock).join(600, 30)
  for (let n = 0; n < 30; n++) pace.take()
  pace.limit(6)
  now += 15_000
  expect(pace.wait_ms()).toBe(0)
})

test('a used up configuration is told apart from a pause and a lower limit of the source', () => {
  const fixture = createFixture({ requests_per_minute: 5 })
  const pace = fixture.start()
  while (pace.wait_ms() === 0) pace.take()
  expect(pace.configured()).toBe(5)
  pace.pause(30)
  expect(pace.configured()).toBeNull()
  fixture.pass(31_000)
  expect(pace.configured()).toBe(5)
  pace.limit(2)
  expect(pace.configured()).toBeNull()
})
