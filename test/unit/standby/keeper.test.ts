import { expect, test } from 'bun:test'

import { keepLease, takeLease } from '../../../src/standby/keeper.ts'
import { createLease } from '../../../src/standby/lease.ts'
import { fakeClock } from '../../support/clock.ts'
import { memoryRegister } from '../../support/memory-register.ts'

const TTL_MS = 30_000
const LONGEST_MS = 10_500
const SKEW_MS = 2000

/** Two nodes at one register, each with clocks that can be shifted apart from time itself. */
function setUp() {
  const clock = fakeClock(async () => {
    for (let n = 0; n < 20; n++) await Promise.resolve()
  })
  const { register, fail } = memoryRegister()
  const events: [string, Record<string, unknown>][] = []
  const node = (name: string) => {
    const shift = { mono: 0, boot: 0, wall: 0 }
    const instant = () => ({
      mono: clock.mono() + shift.mono,
      boot: clock.mono() + shift.boot,
      wall: clock.now() + shift.wall,
    })
    const lease = createLease({
      register,
      node: name,
      token: name,
      ttl_ms: TTL_MS,
      skew_ms: SKEW_MS,
      instant,
    })
    const deps = {
      lease,
      clock,
      instant,
      log: (_: string, event: string, fields: Record<string, unknown> = {}) =>
        void events.push([event, fields]),
      ttl_ms: TTL_MS,
      skew_ms: SKEW_MS,
      longest_ms: LONGEST_MS,
    }
    const take = (signal = new AbortController().signal) =>
      takeLease(deps, { signal, waiting: () => {} })
    return { lease, shift, deps, take }
  }
  return { clock, fail, events, a: node('a'), b: node('b') }
}

async function primary(it: ReturnType<typeof setUp>['a']) {
  const term = await it.take()
  if (term === null) throw new Error('no lease')
  return keepLease(it.deps, term)
}

test('a primary that renews may act all the time, and the other node gets no lease', async () => {
  const { clock, a, b } = setUp()
  const keeper = await primary(a)
  const waiting = new AbortController()
  const other = b.take(waiting.signal)
  for (let n = 0; n < 60; n++) {
    await clock.advance(5000)
    expect(keeper.fence.mayAct()).toBe(true)
  }
  waiting.abort()

  expect(await other).toBeNull()
  await keeper.release()
})

test('a register without answers ends acts before the lease ends, and the lease before anyone takes it', async () => {
  const { clock, events, fail, a } = setUp()
  const keeper = await primary(a)
  const began = clock.mono()
  await keeper.enter()
  for (let n = 0; n < 10_000; n++) fail('before')
  let acted_until = 0
  while (!keeper.fence.lost.aborted) {
    await clock.advance(100)
    if (keeper.fence.mayAct()) acted_until = clock.mono() - began
    else expect(keeper.fence.remainingMs()).toBeLessThanOrEqual(LONGEST_MS)
  }
  const lost_at = clock.mono() - began

  expect(acted_until).toBeGreaterThan(TTL_MS - LONGEST_MS - SKEW_MS - 200)
  expect(acted_until).toBeLessThan(TTL_MS - LONGEST_MS - SKEW_MS)
  expect(lost_at).toBeGreaterThan(TTL_MS - SKEW_MS - 200)
  expect(lost_at).toBeLessThanOrEqual(TTL_MS - SKEW_MS + 200)
  expect(await keeper.ended).toBe('not_renewed')
  expect(keeper.fence.mayCommit()).toBe(false)
  expect(events.filter(([event]) => event === 'lease.unreachable')).toHaveLength(1)
})

test.each([
  ['the machine was suspended', 'boot'],
  ['the wall clock was set forward', 'wall'],
] as const)('after %s nothing is permitted until a renewal has succeeded', async (_, which) => {
  const { clock, a } = setUp()
  const keeper = await primary(a)
  a.shift[which] += 600_000

  expect(keeper.fence.mayAct()).toBe(false)
  expect(keeper.fence.mayCommit()).toBe(false)
  await clock.advance(TTL_MS / 6)
  expect(keeper.fence.mayAct()).toBe(true)
  expect(keeper.fence.epoch).toBe(1)
  await keeper.release()
})

test('a primary that was suspended while another one took over is not permitted anything again', async () => {
  const { clock, events, a, b } = setUp()
  const keeper = await primary(a)
  await b.lease.acquire()
  // The first node is frozen and does not run while the other waits for the whole term.
  b.shift.mono += TTL_MS + SKEW_MS
  expect(await b.lease.acquire()).toMatchObject({ held: true, epoch: 2 })
  a.shift.boot += TTL_MS + SKEW_MS

  expect(keeper.fence.mayAct()).toBe(false)
  await clock.advance(TTL_MS)
  expect(keeper.fence.lost.aborted).toBe(true)
  expect(await keeper.ended).toBe('taken')
  expect(events.map(([event]) => event)).toContain('lease.lost')
})

test('a released lease is taken at once, with the epoch that was entered', async () => {
  const { clock, a, b } = setUp()
  const keeper = await primary(a)
  expect(await keeper.enter()).toBe(true)
  const other = b.take()
  await clock.advance(10_000)
  await keeper.release()
  await clock.advance(2000)

  expect(await other).toMatchObject({ epoch: 2, data_epoch: 1 })
})
