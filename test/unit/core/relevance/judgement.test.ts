import { expect, test } from 'bun:test'

import {
  afterFault,
  judgeRelevance,
  MODEL_UP,
  nextDayAt,
  type RelevanceResult,
  retryDelay,
} from '../../../../src/core/relevance/judgement.ts'
import { relevanceSchema } from '../../../../src/core/relevance/rules.ts'

const AT = { now: 1000, mono: 0, fraction: 0.5, asked_ms: 0, by_item: false }
const rules = relevanceSchema().parse({ prompt: 'cats', min_score: 0.6 })
const verdict = (score: number): RelevanceResult => ({
  kind: 'verdict',
  score,
  reason: 'x',
  model: 'm',
})

test('the minimum itself is relevant', () => {
  expect(judgeRelevance(verdict(0.6), rules)).toBeNull()
  expect(judgeRelevance(verdict(0.59), rules)).toEqual({
    reason: 'irrelevant',
    score: 0.59,
    min_score: 0.6,
  })
  expect(judgeRelevance({ kind: 'fault', fault: 'timeout' }, rules)).toBeNull()
})

test('pauses after faults of the service grow from 5 seconds to 5 minutes', () => {
  let state = MODEL_UP
  const pauses = Array.from({ length: 10 }, () => {
    state = afterFault(state, 'unreachable', AT)
    return state.until
  })

  expect(pauses).toEqual([
    5000, 10_000, 20_000, 40_000, 80_000, 160_000, 300_000, 300_000, 300_000, 300_000,
  ])
})

test('faults that an item can cause pause the model only five times in a row', () => {
  let state = MODEL_UP
  for (let i = 0; i < 4; i++) state = afterFault(state, 'timeout', { ...AT, by_item: true })
  expect(state.until).toBe(0)
  state = afterFault(state, 'timeout', { ...AT, by_item: true })
  expect(state.until).toBe(5000)
})

test('Retry-After is followed', () => {
  expect(afterFault(MODEL_UP, 'refused', { ...AT, asked_ms: 600_000 }).until).toBe(600_000)
})

test('a held match is judged again after a minute, at most after six hours', () => {
  expect([1, 2, 5, 50].map((n) => retryDelay(n, 0.5))).toEqual([
    60_000, 120_000, 960_000, 21_600_000,
  ])
})

test('a day ends at 00:00 UTC', () => {
  const noon = Date.parse('2026-05-01T12:00:00Z')
  expect(nextDayAt(noon)).toBe(Date.parse('2026-05-02T00:00:00Z'))
  expect(nextDayAt(Date.parse('2026-05-02T00:00:00Z'))).toBe(Date.parse('2026-05-03T00:00:00Z'))
})
