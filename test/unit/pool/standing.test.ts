import { describe, expect, test } from 'bun:test'

import type { Fault } from '../../../src/core/outcome.ts'
import {
  afterAnswer,
  afterProbe,
  type Finding,
  isUsable,
  needsLogin,
  newStanding,
  paused,
  settleStanding,
  signedIn,
  type Standing,
} from '../../../src/core/pool.ts'

const S = 1000
const NOW = Date.parse('2026-05-01T12:00:00Z')
const BLOCKED: Fault = { kind: 'blocked' }
const well = signedIn(NOW)

const answers = (it: Standing, ...faults: (Fault | null)[]) =>
  faults.reduce((standing, fault) => afterAnswer(standing, fault, NOW), it)
const probes = (it: Standing, ...findings: [Finding, number][]) =>
  findings.reduce((standing, [finding, s]) => afterProbe(standing, finding, NOW + s * S), it)
const suspected = answers(well, BLOCKED, BLOCKED, BLOCKED)

describe('a throttled account', () => {
  test('cools until the platform wants to be asked again, and is ready by itself then', () => {
    const it = answers(well, { kind: 'throttled', retry_after_s: 40 })

    expect(it).toMatchObject({ state: 'cooling', state_reason: 'throttled' })
    expect(it.cooling_until).toBe(NOW + 40 * S)
    expect(settleStanding(it, NOW + 39 * S).state).toBe('cooling')
    expect(settleStanding(it, NOW + 40 * S)).toMatchObject({ state: 'ready', cooling_until: null })
  })

  test('is never believed to cool for longer than an hour, nor for less than it was told before', () => {
    const long = answers(well, { kind: 'throttled', retry_after_s: 86_400 })
    expect(long.cooling_until).toBe(NOW + 3600 * S)

    const twice = answers(long, { kind: 'throttled', retry_after_s: 1 })
    expect(twice.cooling_until).toBe(NOW + 3600 * S)
  })

  test('goes on cooling when the clock is corrected by a little, and not when it is put back by hours', () => {
    const long = answers(well, { kind: 'throttled', retry_after_s: 3600 })

    expect(settleStanding(long, NOW - S).state).toBe('cooling')
    expect(settleStanding(long, NOW - 3600 * S).state).toBe('ready')
  })
})

test('who is asked about too early is asked about again when the platform wants it', () => {
  const it = probes(well, [{ kind: 'throttled', retry_after_s: 40 }, 0])

  expect(it).toMatchObject({ state: 'cooling', probe_at: NOW + 40 * S })
})

test('who is suspended has been since it was seen first, however often that is found again', () => {
  const it = probes(well, [{ kind: 'suspended' }, 0], [{ kind: 'suspended' }, 3600])

  expect(it).toMatchObject({ state: 'suspended', state_since: NOW })
})

describe('block pages', () => {
  test('are looked into later when the platform wants to be left alone meanwhile', () => {
    const it = answers(suspected, { kind: 'throttled', retry_after_s: 600 })

    expect(it).toMatchObject({ state_reason: 'blocked', probe_at: NOW + 600 * S })
    expect(settleStanding(it, NOW + 3600 * S).state).toBe('cooling')
  })

  test('are borne twice', () => {
    expect(answers(well, BLOCKED, BLOCKED)).toMatchObject({ state: 'ready', strikes: 2 })
  })

  test.each<[string, Fault | null]>([
    ['a good answer', null],
    ["a refusal in the platform's words", { kind: 'forbidden', reason: 'private' }],
    ['an absent thing', { kind: 'not_found', reason: 'absent' }],
  ])('are forgotten after %s', (_, fault) => {
    expect(answers(well, BLOCKED, BLOCKED, fault, BLOCKED)).toMatchObject({
      state: 'ready',
      strikes: 1,
    })
  })

  test.each<[string, Fault]>([
    ['a lost connection', { kind: 'unavailable', status: null, retry_after_s: null }],
    ['a time-out', { kind: 'timeout' }],
  ])('are neither proved nor forgotten by %s', (_, fault) => {
    expect(answers(well, BLOCKED, BLOCKED, fault).strikes).toBe(2)
  })

  test('three in a row put an account aside until it is known what they mean, in 30 s', () => {
    expect(suspected).toMatchObject({ state: 'cooling', state_reason: 'blocked' })
    expect(suspected.probe_at).toBe(NOW + 30 * S)
    expect(settleStanding(suspected, NOW + 3600 * S).state).toBe('cooling')
  })

  test('and a probe that is blocked too end the session; it goes on being asked after 120, 480, 900 s', () => {
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

  test('and probes that nobody answers prove nothing, whatever their number', () => {
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

describe('who the platform takes us for', () => {
  test('is asked at once after a login page; meanwhile the account rests', () => {
    const it = answers(well, { kind: 'login_required' })

    expect(it).toMatchObject({ state: 'cooling', state_reason: 'login_page', probe_at: NOW })
    expect(probes(it, [{ kind: 'alive' }, 1]).state).toBe('ready')
    expect(probes(it, [{ kind: 'nobody' }, 1])).toMatchObject({
      state: 'needs_login',
      state_reason: 'logged_out',
      probe_at: null,
    })
  })

  test.each<[Finding['kind'], Standing['state'], Standing['state_reason']]>([
    ['suspended', 'suspended', 'suspended'],
    ['locked', 'locked', 'password_reset'],
    ['nobody', 'needs_login', 'logged_out'],
  ])('%s makes a ready account %s', (kind, state, state_reason) => {
    const it = afterProbe(well, { kind } as Finding, NOW)

    expect(it).toMatchObject({ state, state_reason })
    expect(isUsable(it)).toBe(false)
  })

  test.each<Finding['kind']>(['suspended', 'locked'])('%s may be over later', (kind) => {
    const it = afterProbe(well, { kind } as Finding, NOW)

    expect(it.probe_at).toBe(NOW + 3600 * S)
    expect(afterProbe(it, { kind: 'alive' }, NOW + 3600 * S).state).toBe('ready')
  })

  test('is asked once an hour while all is well', () => {
    expect(afterProbe(newStanding(NOW), { kind: 'alive' }, NOW).probe_at).toBe(NOW + 3600 * S)
  })

  test('matters to nobody while the operator has paused the account', () => {
    const it = paused(NOW)

    expect(probes(it, [{ kind: 'alive' }, 1])).toEqual(it)
    expect(answers(it, { kind: 'throttled', retry_after_s: 1 }, BLOCKED)).toEqual(it)
  })

  test('is known of a dead session: late answers of its requests change nothing', () => {
    const dead = needsLogin(NOW, 'logged_out')

    expect(answers(dead, { kind: 'throttled', retry_after_s: 9 }, null, BLOCKED)).toEqual(dead)
  })
})
