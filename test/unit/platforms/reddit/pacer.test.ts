import { describe, expect, test } from 'bun:test'

import { createClockOffset } from '../../../../src/platforms/clock-offset.ts'
import { ANONYMOUS, type Call, type Identity } from '../../../../src/platforms/port.ts'
import type { RateHeaders } from '../../../../src/platforms/reddit/budget.ts'
import { createKeyedQueue } from '../../../../src/platforms/reddit/lookups.ts'
import { createPacer } from '../../../../src/platforms/reddit/pacer.ts'
import { fakeClock } from '../../../support/clock.ts'

const clockOf = () => fakeClock(() => new Promise((resolve) => setImmediate(resolve)))
const callAt = (now: number, within_ms: number, id = 'acc'): Call => ({
  identity: { ...ANONYMOUS, id, bearer: 'token' },
  deadline_at: now + within_ms,
})

describe('the pacer', () => {
  test('stops waiting when the caller aborts', async () => {
    const clock = clockOf()
    const pacer = createPacer(clock, { session: 1, bearer: 1 }, { fraction: () => 0.5 })
    const given = new AbortController()
    await pacer.admit(callAt(clock.now(), 1_000))

    const second = pacer.admit({ ...callAt(clock.now(), 120_000), signal: given.signal })
    given.abort()

    expect(await second).toEqual({ ok: false, fault: { kind: 'timeout' } })
  })

  test('remembers the last thousand budgets', async () => {
    const clock = clockOf()
    const pacer = createPacer(clock, { session: 1, bearer: 1 }, { fraction: () => 0.5 })
    const sendAs = async (id: string) => {
      const leave = await pacer.admit(callAt(clock.now(), 1_000, id))
      if (leave.ok) leave.value.done(null, { kind: 'throttled', retry_after_s: 60 })
      return leave.ok
    }
    for (let id = 0; id < 1_001; id++) await sendAs(`acc_${id}`)

    expect(await sendAs('acc_1000')).toBe(false)
    expect(await sendAs('acc_1')).toBe(false)
    expect(await sendAs('acc_0')).toBe(true)
  })

  test('never forgets budgets with requests in flight', async () => {
    const clock = clockOf()
    const pacer = createPacer(clock, { session: 1, bearer: 1 }, { fraction: () => 0.5 })
    await pacer.admit(callAt(clock.now(), 1_000, 'first'))
    for (let id = 0; id < 1_001; id++) {
      const leave = await pacer.admit(callAt(clock.now(), 1_000, `acc_${id}`))
      if (leave.ok) leave.value.done(null, null)
    }

    expect((await pacer.admit(callAt(clock.now(), 1_000, 'first'))).ok).toBe(false)
  })
})

/** A server that counts cookie and anonymous requests by address, in windows aligned to the clock. */
function addressWindows(clock: { now(): number }, allowance: number) {
  const WINDOW_MS = 600_000
  const used = new Map<string, number>()
  return (address: string) => {
    const window = Math.floor(clock.now() / WINDOW_MS)
    const key = `${address} ${window}`
    const count = (used.get(key) ?? 0) + 1
    used.set(key, count)
    const remaining = Math.max(0, allowance - count)
    const reset_s = Math.ceil(((window + 1) * WINDOW_MS - clock.now()) / 1000)
    // The request that leaves nothing is itself refused.
    return { refused: remaining === 0, headers: { remaining, used: count, reset_s } }
  }
}

describe('a rate budget', () => {
  const home = { scheme: 'http', host: 'home', port: 80, username: null, password: null } as const
  const away = { ...home, host: 'away' }

  test('is shared by the sessions and anonymous requests of one address, over its windows', async () => {
    const clock = clockOf()
    const pacer = createPacer(clock, { session: 30, bearer: 60 }, { fraction: () => 0.5 })
    const serve = addressWindows(clock, 100)
    const identities = [
      ANONYMOUS,
      { ...ANONYMOUS, id: 'one', cookie: 'a' },
      { ...ANONYMOUS, id: 'two', cookie: 'b' },
      { ...ANONYMOUS, id: 'three', cookie: 'c', proxy: home },
      { ...ANONYMOUS, id: 'four', cookie: 'd', proxy: home },
      { ...ANONYMOUS, id: 'five', cookie: 'e', proxy: away },
    ]
    const answered = new Map<string, number>()
    let refused = 0
    for (let second = 0; second < 1800; second++) {
      for (const identity of identities) {
        if (pacer.headroom(identity, 'read').requests === 0) continue
        const leave = await pacer.admit({ identity, deadline_at: clock.now() + 500 })
        if (!leave.ok) continue
        const address = identity.proxy?.host ?? 'direct'
        const { refused: is_refused, headers } = serve(address)
        if (is_refused) refused += 1
        else answered.set(address, (answered.get(address) ?? 0) + 1)
        leave.value.done(
          headers,
          is_refused ? { kind: 'throttled', retry_after_s: headers.reset_s } : null,
        )
      }
      await clock.advance(1000)
    }

    expect(refused).toBe(0)
    for (const address of ['direct', 'home', 'away'])
      expect(answered.get(address)).toBeGreaterThanOrEqual(3 * 95)
  })

  test.each([
    ['ends at another time for another session is of that session', 480, true],
    ['ends a whole window later for another session is of their address', 300 + 600, false],
  ])('whose window %s', async (_, reset_s, is_own) => {
    const clock = clockOf()
    const pacer = createPacer(clock, { session: 30, bearer: 60 }, { fraction: () => 0.5 })
    const [one, two] = ['one', 'two'].map((id) => ({ ...ANONYMOUS, id, cookie: id }))
    const send = async (identity: Identity, headers: RateHeaders) => {
      const leave = await pacer.admit({ identity, deadline_at: clock.now() + 1000 })
      if (leave.ok) leave.value.done(headers, null)
    }
    await send(one ?? ANONYMOUS, { remaining: 100, used: 1, reset_s: 300 })
    await send(two ?? ANONYMOUS, { remaining: 0, used: 300, reset_s })
    await send(two ?? ANONYMOUS, { remaining: 0, used: 300, reset_s })

    expect(pacer.headroom(one ?? ANONYMOUS, 'read').requests > 0).toBe(is_own)
  })

  test('is that of a bearer alone, at whatever address', async () => {
    const clock = clockOf()
    const pacer = createPacer(clock, { session: 1, bearer: 1 }, { fraction: () => 0.5 })
    const session = { ...ANONYMOUS, id: 'one', cookie: 'a' }
    await pacer.admit({ identity: session, deadline_at: clock.now() + 1000 })

    const admit = async (id: string) => (await pacer.admit(callAt(clock.now(), 1_000, id))).ok
    expect([await admit('app_1'), await admit('app_2'), await admit('app_1')]).toEqual([
      true,
      true,
      false,
    ])
  })
})

describe('calls in a keyed queue', () => {
  test('run in order of arrival', async () => {
    const clock = clockOf()
    const turns = createKeyedQueue(clock)
    const done: number[] = []

    await Promise.all(
      [1, 2, 3].map((n) => turns(callAt(clock.now(), 1_000), async () => void done.push(n))),
    )

    expect(done).toEqual([1, 2, 3])
  })

  test('are given up at their deadline, and later ones keep their order', async () => {
    const clock = clockOf()
    const turns = createKeyedQueue(clock)
    const first = Promise.withResolvers<string>()
    const long = turns(callAt(clock.now(), 60_000), () => first.promise)
    const short = turns(callAt(clock.now(), 1_000), async () => 'short')
    let third = 'waiting'
    const last = turns(callAt(clock.now(), 60_000), async () => (third = 'ran'))

    await clock.advance(1_000)
    expect(await short).toBeNull()
    expect(third).toBe('waiting')
    first.resolve('long')

    expect(await long).toBe('long')
    expect(await last).toBe('ran')
  })

  test('for different identities do not wait for each other', async () => {
    const clock = clockOf()
    const turns = createKeyedQueue(clock)
    const first = Promise.withResolvers<string>()
    void turns(callAt(clock.now(), 1_000, 'one'), () => first.promise)

    expect(await turns(callAt(clock.now(), 1_000, 'two'), async () => 'ran')).toBe('ran')
    first.resolve('')
  })

  test('continue after a failed one', async () => {
    const clock = clockOf()
    const turns = createKeyedQueue(clock)
    const failed = turns(callAt(clock.now(), 1_000), () => Promise.reject(new Error('bug')))

    expect(failed).rejects.toThrow('bug')
    expect(await turns(callAt(clock.now(), 1_000), async () => 'ran')).toBe('ran')
  })
})

describe("the platform's clock offset", () => {
  const NOW = Date.parse('2026-01-01T00:00:00Z')
  const offsetAfter = (offsets_s: number[], headers: Record<string, string> = {}) => {
    const offset = createClockOffset({ now: () => NOW, mono: () => 0 })
    for (const seconds of offsets_s) {
      const date = new Date(NOW + seconds * 1000).toUTCString()
      offset.observe(new Headers({ date, ...headers }))
    }
    return offset.ms()
  }

  test.each([
    ['two answers', [3600, 3600], 0],
    ['three that agree', [3600, 3600, 3600], 3_600_500],
    ['behind ours', [-3600, -3600, -3600], -3_599_500],
    ['within a minute', [59, 59, 59], 0],
    ['one wrong date', [0, 9_000, 0], 0],
    ['only the last five', [0, 0, 0, 0, 0, 120, 120, 120], 120_500],
  ])('%s', (_what, offsets_s, ms) => {
    expect(offsetAfter(offsets_s)).toBe(ms)
  })

  test('accounts for the age of a cached answer', () => {
    expect(offsetAfter([-3600, -3600, -3600], { age: '3600' })).toBe(0)
  })

  const DAY = 86_400_000

  test.each([
    ['our clock is set a day ahead', 0, { wall: DAY, reported: -DAY }, -DAY],
    ['a wrong clock is set right', -DAY, { wall: -DAY, reported: 0 }, 0],
    ['the machine sleeps for a day', 0, { wall: DAY, reported: 0 }, 0],
    ['a machine with a wrong clock sleeps', DAY, { wall: DAY, reported: DAY }, DAY],
    ['the offset matches no explanation', 0, { wall: DAY, reported: 3 * DAY }, 0],
  ])('is decided by the first answer after a jump: %s', (_what, before, { wall, reported }, ms) => {
    let [now, mono] = [NOW, 0]
    const offset = createClockOffset({ now: () => now, mono: () => mono })
    const receiveDate = (ahead: number) =>
      offset.observe(new Headers({ date: new Date(now + ahead).toUTCString() }))
    for (; mono < 3000; mono += 1000.25, now += 1000) receiveDate(before)
    now += wall
    const not_requested = offset.ms()
    expect(Number.isInteger(not_requested)).toBe(true)
    receiveDate(reported)

    expect(Math.abs(offset.ms() - ms)).toBeLessThan(1000)
    expect(Number.isInteger(offset.ms())).toBe(true)
    // Before that answer, only a clock that was set back is certain.
    expect(Math.abs(not_requested - (wall < 0 ? before - wall : before))).toBeLessThan(1000)
  })

  test('ignores an invalid date', () => {
    expect(offsetAfter([0, 0, 0], { date: 'yesterday' })).toBe(0)
  })
})
