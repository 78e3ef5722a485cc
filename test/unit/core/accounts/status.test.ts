import { describe, expect, test } from 'bun:test'

import {
  type AccountResult,
  type AccountStatus,
  afterAnswer,
  afterProbe,
  expireCooling,
  needsLogin,
  newStatus,
  paused,
  signedIn,
} from '../../../../src/core/accounts/status.ts'
import type { Fault } from '../../../../src/core/base/result.ts'

const S = 1000
const NOW = Date.parse('2026-05-01T12:00:00Z')
const BLOCKED: Fault = { kind: 'blocked' }
const well = signedIn(NOW)

const answers = (it: AccountStatus, ...faults: (Fault | null)[]) =>
  faults.reduce((status, fault) => afterAnswer(status, fault, NOW), it)
const probes = (it: AccountStatus, ...findings: [AccountResult, number][]) =>
  findings.reduce((status, [finding, s]) => afterProbe(status, finding, NOW + s * S), it)
const suspected = answers(well, BLOCKED, BLOCKED, BLOCKED)

describe('a throttled account', () => {
  test('never cools for longer than an hour, nor for less than an earlier throttling', () => {
    const long = answers(well, { kind: 'throttled', retry_after_s: 86_400 })
    expect(long.cooling_until).toBe(NOW + 3600 * S)

    const twice = answers(long, { kind: 'throttled', retry_after_s: 1 })
    expect(twice.cooling_until).toBe(NOW + 3600 * S)
  })

  test('stays throttled after a small clock correction, but not after the clock is set back by hours', () => {
    const long = answers(well, { kind: 'throttled', retry_after_s: 3600 })

    expect(expireCooling(long, NOW - S).state).toBe('cooling')
    expect(expireCooling(long, NOW - 3600 * S).state).toBe('ready')
  })
})

test('a throttled session check is repeated after the delay that the platform requests', () => {
  const it = probes(well, [{ kind: 'throttled', retry_after_s: 40 }, 0])

  expect(it).toMatchObject({ state: 'cooling', probe_at: NOW + 40 * S })
})

test('a suspended account keeps the time at which its suspension was confirmed', () => {
  const suspended = { kind: 'suspended' } as const
  const it = probes(well, [suspended, 0], [suspended, 120], [suspended, 3720])

  expect(it).toMatchObject({ state: 'suspended', state_since: NOW + 120 * S })
})

test.each(['suspended', 'locked'] as const)(
  'one answer that an account is %s only rests it for two minutes',
  (kind) => {
    const rests = afterProbe(well, { kind }, NOW)

    expect(rests).toMatchObject({ state: 'cooling', cooling_until: NOW + 120 * S })
    expect(afterProbe(rests, { kind }, NOW + 5 * S)).toEqual(rests)
    expect(afterProbe(rests, { kind: 'alive' }, NOW + 120 * S).state).toBe('ready')
  },
)

describe('block pages', () => {
  test('are examined later if the platform requests a delay meanwhile', () => {
    const it = answers(suspected, { kind: 'throttled', retry_after_s: 600 })

    expect(it).toMatchObject({ state_reason: 'blocked', probe_at: NOW + 600 * S })
    expect(expireCooling(it, NOW + 3600 * S).state).toBe('cooling')
  })

  test.each<[string, Fault | null]>([
    ['a good answer', null],
    ["a refusal in the platform's own format", { kind: 'forbidden', reason: 'private' }],
    ['a 404', { kind: 'not_found', reason: 'absent' }],
  ])('are cleared by %s', (_, fault) => {
    expect(answers(well, BLOCKED, BLOCKED, fault, BLOCKED)).toMatchObject({
      state: 'ready',
      strikes: 1,
    })
  })

  test.each<[string, Fault]>([
    ['a lost connection', { kind: 'unavailable', status: null, retry_after_s: null }],
    ['a time-out', { kind: 'timeout' }],
  ])('are neither confirmed nor cleared by %s', (_, fault) => {
    expect(answers(well, BLOCKED, BLOCKED, fault).strikes).toBe(2)
  })

  test('a blocked session check ends the session; checks continue after 120, 480, 900 s', () => {
    const first = probes(suspected, [{ kind: 'blocked' }, 30])
    expect(first).toMatchObject({ state: 'needs_login', state_reason: 'blocked' })
    expect(first.probe_at).toBe(NOW + 150 * S)

    const second = probes(first, [{ kind: 'blocked' }, 150])
    expect(second.probe_at).toBe(NOW + 630 * S)
    const third = probes(second, [{ kind: 'blocked' }, 630])
    expect(third.probe_at).toBe(NOW + 1530 * S)
    const fourth = probes(third, [{ kind: 'blocked' }, 1530])
    expect(fourth).toMatchObject({ state: 'needs_login', probe_at: NOW + 2430 * S })

    expect(probes(fourth, [{ kind: 'alive' }, 2430])).toMatchObject({ state: 'ready', strikes: 0 })
  })

  test('any number of inconclusive session checks changes nothing', () => {
    const it = probes(
      suspected,
      [{ kind: 'unclear' }, 30],
      [{ kind: 'unclear' }, 150],
      [{ kind: 'throttled', retry_after_s: 60 }, 630],
      [{ kind: 'unclear' }, 690],
    )
    expect(it).toMatchObject({ state: 'cooling', state_reason: 'blocked' })
    expect(it.probe_at).toBe(NOW + (690 + 900) * S)
  })
})

describe('a session check', () => {
  test('runs at once after a login page; meanwhile the account is not used', () => {
    const it = answers(well, { kind: 'login_required' })

    expect(it).toMatchObject({ state: 'cooling', state_reason: 'login_page', probe_at: NOW })
    expect(probes(it, [{ kind: 'alive' }, 1]).state).toBe('ready')
    expect(probes(it, [{ kind: 'logged_out' }, 1])).toMatchObject({
      state: 'cooling',
      state_reason: 'logged_out',
      probe_at: NOW + 121 * S,
    })
  })

  test('ends a session by two answers, and goes on after 10 min, 1 h and every 6 h', () => {
    const first = afterProbe(well, { kind: 'logged_out' }, NOW)
    const second = probes(first, [{ kind: 'logged_out' }, 120])
    expect(second).toMatchObject({ state: 'needs_login', state_reason: 'logged_out' })
    const waits = [120]
    let it = second
    for (let n = 0; n < 4; n++) {
      waits.push((it.probe_at ?? 0) / S - NOW / S)
      it = probes(it, [{ kind: 'logged_out' }, waits.at(-1) ?? 0])
    }
    const steps = waits.slice(1).map((at, n) => at - (waits[n] ?? 0))
    expect(steps).toEqual([600, 3600, 21_600, 21_600])
    expect(it).toMatchObject({ state: 'needs_login', state_since: NOW + 120 * S })
    expect(afterProbe(it, { kind: 'alive' }, NOW).state).toBe('ready')
  })

  test('forgets a single answer once another one knows the account', () => {
    const first = afterProbe(well, { kind: 'logged_out' }, NOW)
    expect(probes(first, [{ kind: 'alive' }, 120])).toMatchObject({
      state: 'ready',
      state_reason: null,
    })
  })

  test.each<[AccountResult['kind'], AccountStatus['state'], AccountStatus['state_reason']]>([
    ['suspended', 'cooling', 'suspended'],
    ['locked', 'cooling', 'password_reset'],
    ['logged_out', 'cooling', 'logged_out'],
  ])('%s makes a ready account %s', (kind, state, state_reason) => {
    const it = afterProbe(well, { kind } as AccountResult, NOW)

    expect(it).toMatchObject({ state, state_reason })
  })

  test.each<AccountResult['kind']>(['suspended', 'locked'])(
    'repeats a check of %s later',
    (kind) => {
      const it = probes(well, [{ kind } as AccountResult, 0], [{ kind } as AccountResult, 120])

      expect(it.probe_at).toBe(NOW + (120 + 3600) * S)
      expect(afterProbe(it, { kind: 'alive' }, NOW + 3720 * S).state).toBe('ready')
    },
  )

  test('runs once an hour on a ready account', () => {
    expect(afterProbe(newStatus(NOW), { kind: 'alive' }, NOW).probe_at).toBe(NOW + 3600 * S)
  })

  test('does not change an account paused by the operator', () => {
    const it = paused(NOW)

    expect(probes(it, [{ kind: 'alive' }, 1])).toEqual(it)
    expect(answers(it, { kind: 'throttled', retry_after_s: 1 }, BLOCKED)).toEqual(it)
  })

  test('is final for a dead session: late answers of its requests change nothing', () => {
    const dead = needsLogin(NOW, 'logged_out')

    expect(answers(dead, { kind: 'throttled', retry_after_s: 9 }, null, BLOCKED)).toEqual(dead)
  })
})
