import { expect, test } from 'bun:test'

import { createReadsHealth } from '../../../src/api/status.ts'
import type { Fault } from '../../../src/core/base/result.ts'
import { fakeClock } from '../../support/clock.ts'

const SECOND = 1000

function watched(usable?: () => boolean) {
  const clock = fakeClock(() => Promise.resolve())
  const health = createReadsHealth(clock, usable)
  const many = (count: number, fault: Fault['kind'] | null) => {
    for (let n = 0; n < count; n += 1) health.record(fault)
  }
  return { clock, health, many }
}

test.each([
  [0, 0, 'unknown'],
  [4, 0, 'unknown'],
  [0, 4, 'unknown'],
  [5, 0, 'ok'],
  [0, 19, 'ok'],
  [16, 4, 'ok'],
  [15, 5, 'degraded'],
  [0, 20, 'degraded'],
] as const)('%i good requests and %i faults within a minute read %s', (good, bad, state) => {
  const { health, many } = watched()
  many(good, null)
  many(bad, 'timeout')

  expect(health.state()).toBe(state)
})

test.each([
  ['throttled', 'degraded'],
  ['blocked', 'degraded'],
  ['unavailable', 'degraded'],
  ['timeout', 'degraded'],
  ['not_found', 'ok'],
  ['forbidden', 'ok'],
  // Behind a login wall no read of strangers works.
  ['login_required', 'degraded'],
  ['proxy', 'ok'],
] as const)('twenty requests that end in %s give the status %s', (fault, state) => {
  const { health, many } = watched()
  many(20, fault)

  expect(health.state()).toBe(state)
})

test('outcomes older than a minute are dropped', async () => {
  const { clock, health, many } = watched()
  many(20, 'timeout')
  await clock.advance(60 * SECOND)

  expect(health.state()).toBe('unknown')
})

test('degraded reads recover after a minute with few faults, and not before', async () => {
  const { clock, health, many } = watched()
  many(20, 'timeout')
  expect(health.state()).toBe('degraded')
  const states: string[] = []
  for (let second = 0; second < 130; second += 1) {
    await clock.advance(SECOND)
    many(10, null)
    states.push(health.state())
  }

  // The faults leave the window after a minute, or are outnumbered before: then the calm minute is
  // counted.
  const well_at = states.indexOf('ok')
  expect(states.slice(0, well_at)).toEqual(Array<string>(well_at).fill('degraded'))
  expect(well_at).toBeGreaterThanOrEqual(60)
  expect(states.slice(well_at)).not.toContain('degraded')
})

test('reads are degraded while no account is usable', () => {
  const { health, many } = watched(() => false)
  many(50, null)

  expect(health.state()).toBe('degraded')
})
