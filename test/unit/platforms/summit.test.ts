import { expect, test } from 'bun:test'

import { climb, type Summit } from '../../../src/platforms/summit.ts'

const NOW = 1_767_225_600_000
const MINUTE = 60_000
const TOP: Summit = { id: 1000, at: NOW - 60 * MINUTE, lower_since: 0 }

/** The summit after pages whose highest id is this, a minute apart. */
function after(ids: readonly number[], created_ms = NOW - 120 * MINUTE) {
  let summit: Summit | null = TOP
  let is_back = false
  for (const [n, id] of ids.entries()) {
    const now = NOW + n * MINUTE
    const rows = [{ id, created_ms, known_ms: created_ms }]
    const step = climb(summit, { rows, ids: [id], as_of: now }, { now, new_ids: true })
    summit = step.summit
    is_back ||= step.is_back
  }
  return { summit, is_back }
}

test('lists whose ids stay far below the highest one show that ids went back', () => {
  expect(after([949]).is_back).toBe(false)
  expect(after([949, 949]).is_back).toBe(false)
  expect(after([949, 949, 949]).is_back).toBe(true)
})

test('the newest items may be removed, or a cache may show an older page', () => {
  expect(after([950, 950, 950, 950]).is_back).toBe(false)
  const { summit, is_back } = after([900, 1000, 900])
  expect([is_back, summit?.id]).toEqual([false, 1000])
})

test('an id that is known under another creation is given again', () => {
  const created_ms = NOW - MINUTE
  const rows = [{ id: 990, created_ms, known_ms: NOW - 90 * MINUTE }]
  const page = { rows, ids: [990], as_of: NOW }
  expect(climb(TOP, page, { now: NOW, new_ids: true }).is_back).toBe(true)
  const same = [{ id: 990, created_ms, known_ms: created_ms }]
  expect(climb(TOP, { ...page, rows: same }, { now: NOW, new_ids: true }).is_back).toBe(false)
})

test('a new id below the highest one counts only where items never get an old id', () => {
  const rows = [
    { id: 1000, created_ms: NOW - 60 * MINUTE, known_ms: NOW - 60 * MINUTE },
    { id: 990, created_ms: NOW - MINUTE, known_ms: null },
  ]
  const page = { rows, ids: [1000, 990], as_of: NOW }
  expect(climb(TOP, page, { now: NOW, new_ids: true }).is_back).toBe(true)
  expect(climb(TOP, page, { now: NOW, new_ids: false }).is_back).toBe(false)
})
