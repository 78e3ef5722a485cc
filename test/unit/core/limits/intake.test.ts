import { expect, test } from 'bun:test'

import { createIntake } from '../../../../src/core/limits/intake.ts'

const HOUR_MS = 3_600_000
const PER_DAY = 24_000

function create() {
  const clock = { at: 0, mono: () => clock.at }
  return { clock, intake: createIntake(clock, () => PER_DAY) }
}

test('a source adds an hour of its day at once, then waits for the rest', () => {
  const { clock, intake } = create()
  intake.add('a', 999)
  expect(intake.wait_s('a')).toBe(0)
  intake.add('a', 1001)
  expect(intake.wait_s('a')).toBe(Math.ceil(1001 / (1000 / 3600)))
  clock.at += 2 * HOUR_MS
  expect(intake.wait_s('a')).toBe(0)
})

test('a source that adds whenever it may stays within its day and the hour at once', () => {
  const { clock, intake } = create()
  const each = 50
  let added = 0
  for (; clock.at < 24 * HOUR_MS; clock.at += 10_000)
    if (intake.wait_s('a') === 0) {
      intake.add('a', each)
      added += each
    }
  expect(added).toBeLessThanOrEqual(PER_DAY + PER_DAY / 24 + each)
  expect(added).toBeGreaterThan(PER_DAY)
})

test('a quiet source saves up no more than an hour, and sources are apart', () => {
  const { clock, intake } = create()
  intake.add('a', 1)
  clock.at += 100 * HOUR_MS
  intake.add('a', 1001)
  expect(intake.wait_s('a')).toBeGreaterThan(0)
  expect(intake.wait_s('b')).toBe(0)
})
