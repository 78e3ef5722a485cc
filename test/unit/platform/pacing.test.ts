import { describe, expect, test } from 'bun:test'

import { createClockOffset } from '../../../src/platform/clock-offset.ts'
import { createPacer } from '../../../src/platform/pacer.ts'
import { ANONYMOUS, type Call } from '../../../src/platform/platform.ts'
import { createTurns } from '../../../src/platform/turns.ts'
import { fakeClock } from '../../support/clock.ts'

const clockOf = () => fakeClock(() => new Promise((resolve) => setImmediate(resolve)))
const callAt = (now: number, within_ms: number, id = 'acc'): Call => ({
  eyes: { ...ANONYMOUS, id },
  deadline_at: now + within_ms,
})

describe('the pacer', () => {
  test('gives up waiting when the caller does', async () => {
    const clock = clockOf()
    const pacer = createPacer(clock, { session: 1, bearer: 1 })
    const given = new AbortController()
    await pacer.admit(callAt(clock.now(), 1_000))

    const second = pacer.admit({ ...callAt(clock.now(), 120_000), signal: given.signal })
    given.abort()

    expect(await second).toEqual({ ok: false, fault: { kind: 'timeout' } })
  })

  test('remembers a thousand pairs of eyes, and of more only the last', async () => {
    const clock = clockOf()
    const pacer = createPacer(clock, { session: 1, bearer: 1 })
    const visit = async (id: string) => {
      const leave = await pacer.admit(callAt(clock.now(), 1_000, id))
      if (leave.ok) leave.value.done(null, { kind: 'throttled', retry_after_s: 60 })
      return leave.ok
    }
    for (let id = 0; id < 1_001; id++) await visit(`acc_${id}`)

    expect(await visit('acc_1000')).toBe(false)
    expect(await visit('acc_1')).toBe(false)
    expect(await visit('acc_0')).toBe(true)
  })

  test('never forgets those whose answers are on their way', async () => {
    const clock = clockOf()
    const pacer = createPacer(clock, { session: 1, bearer: 1 })
    await pacer.admit(callAt(clock.now(), 1_000, 'first'))
    for (let id = 0; id < 1_001; id++) {
      const leave = await pacer.admit(callAt(clock.now(), 1_000, `acc_${id}`))
      if (leave.ok) leave.value.done(null, null)
    }

    expect((await pacer.admit(callAt(clock.now(), 1_000, 'first'))).ok).toBe(false)
  })
})

describe('turns', () => {
  test('come in the order in which they were asked for', async () => {
    const clock = clockOf()
    const turns = createTurns(clock)
    const done: number[] = []

    await Promise.all(
      [1, 2, 3].map((n) => turns(callAt(clock.now(), 1_000), async () => void done.push(n))),
    )

    expect(done).toEqual([1, 2, 3])
  })

  test('that do not come in time are given up, and the line behind stays a line', async () => {
    const clock = clockOf()
    const turns = createTurns(clock)
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

  test('of different eyes do not wait for each other', async () => {
    const clock = clockOf()
    const turns = createTurns(clock)
    const first = Promise.withResolvers<string>()
    void turns(callAt(clock.now(), 1_000, 'one'), () => first.promise)

    expect(await turns(callAt(clock.now(), 1_000, 'two'), async () => 'ran')).toBe('ran')
    first.resolve('')
  })

  test('pass on when the work fails', async () => {
    const clock = clockOf()
    const turns = createTurns(clock)
    const failed = turns(callAt(clock.now(), 1_000), () => Promise.reject(new Error('bug')))

    expect(failed).rejects.toThrow('bug')
    expect(await turns(callAt(clock.now(), 1_000), async () => 'ran')).toBe('ran')
  })
})

describe("the platform's clock", () => {
  const NOW = Date.parse('2026-01-01T00:00:00Z')
  const heard = (offsets_s: number[], headers: Record<string, string> = {}) => {
    const offset = createClockOffset({ now: () => NOW, mono: () => 0 })
    for (const seconds of offsets_s) {
      const date = new Date(NOW + seconds * 1000).toUTCString()
      offset.heard(new Headers({ date, ...headers }))
    }
    return offset.ms()
  }

  test.each([
    ['two answers', [3600, 3600], 0],
    ['three that agree', [3600, 3600, 3600], 3_600_500],
    ['behind ours', [-3600, -3600, -3600], -3_599_500],
    ['within a minute', [59, 59, 59], 0],
    ['one stray date', [0, 9_000, 0], 0],
    ['only the last five', [0, 0, 0, 0, 0, 120, 120, 120], 120_500],
  ])('%s', (_what, offsets_s, ms) => {
    expect(heard(offsets_s)).toBe(ms)
  })

  test('is not that of an old answer from a cache', () => {
    expect(heard([-3600, -3600, -3600], { age: '3600' })).toBe(0)
  })

  const DAY = 86_400_000

  test.each([
    ['our clock is set a day ahead', 0, { wall: DAY, told: -DAY }, -DAY],
    ['a wrong clock is set right', -DAY, { wall: -DAY, told: 0 }, 0],
    ['the machine sleeps for a day', 0, { wall: DAY, told: 0 }, 0],
    ['a machine with a wrong clock sleeps', DAY, { wall: DAY, told: DAY }, DAY],
    ['nothing explains what is told', 0, { wall: DAY, told: 3 * DAY }, 0],
  ])('after a jump the first answer tells: %s', (_what, before, { wall, told }, ms) => {
    let [now, mono] = [NOW, 0]
    const offset = createClockOffset({ now: () => now, mono: () => mono })
    const hear = (ahead: number) =>
      offset.heard(new Headers({ date: new Date(now + ahead).toUTCString() }))
    for (; mono < 3000; mono += 1000.25, now += 1000) hear(before)
    now += wall
    const unasked = offset.ms()
    expect(Number.isInteger(unasked)).toBe(true)
    hear(told)

    expect(Math.abs(offset.ms() - ms)).toBeLessThan(1000)
    expect(Number.isInteger(offset.ms())).toBe(true)
    // Before it, only that a clock was put back is sure.
    expect(Math.abs(unasked - (wall < 0 ? before - wall : before))).toBeLessThan(1000)
  })

  test('is not told by words', () => {
    expect(heard([0, 0, 0], { date: 'yesterday' })).toBe(0)
  })
})
