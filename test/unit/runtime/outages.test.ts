import { expect, test } from 'bun:test'

import { createOutages } from '../../../src/runtime/outages.ts'

const MINUTE = 60_000

function outagesAt() {
  const time = { now: 0 }
  return { time, ...createOutages({ mono: () => time.now }) }
}

test('the first failure and the recovery are logged, and the failures between are counted', () => {
  const { time, failed, recovered } = outagesAt()
  expect(failed('a')).toBe(0)
  for (let n = 1; n < 177; n++) expect(failed('a')).toBeNull()
  time.now = 18 * MINUTE

  expect(recovered('a')).toEqual({ count: 177, duration_ms: 18 * MINUTE })
  expect(recovered('a')).toBeNull()
})

test('subjects are independent of each other', () => {
  const { failed, recovered } = outagesAt()
  failed('a')

  expect(failed('b')).toBe(0)
  expect(recovered('c')).toBeNull()
})

test('a subject that fails every other time is logged once in ten minutes', () => {
  const { time, failed, recovered } = outagesAt()
  const lines: unknown[] = []
  for (; time.now < 30 * MINUTE; time.now += MINUTE / 2) {
    const before = failed('a')
    if (before !== null) lines.push([time.now / MINUTE, before])
    const ended = recovered('a')
    if (ended !== null) lines.push(ended.count)
  }

  expect(lines).toEqual([[0, 0], 1, [10, 19], 20, [20, 19], 20])
})

test('an outage that starts within the quiet time is logged after it', () => {
  const { time, failed, recovered } = outagesAt()
  failed('a')
  recovered('a')
  time.now = MINUTE
  expect(failed('a')).toBeNull()
  time.now = 11 * MINUTE

  expect(failed('a')).toBe(1)
  expect(recovered('a')).toEqual({ count: 2, duration_ms: 10 * MINUTE })
})

test('the number of subjects is bounded', () => {
  const { failed } = outagesAt()
  for (let n = 0; n < 10_001; n++) failed(String(n))

  // The oldest was forgotten, so it begins a new outage.
  expect(failed('0')).toBe(0)
  expect(failed('10000')).toBeNull()
})
