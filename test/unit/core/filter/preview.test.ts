import { describe, expect, test } from 'bun:test'

import { parseFilterSpec } from '../../../../src/core/filter/parse.ts'
import { matchesPerDay, previewOf } from '../../../../src/core/filter/preview.ts'
import { createNaming } from '../../../../src/core/forum/naming.ts'
import { postOf } from '../../../support/items.ts'

const words = createNaming({ platform: 'forum', community: 'subforum' })
const spec = parseFilterSpec({ q: 'tea', exclude_terms: ['hot'] }, words)
const tea = (n: number, title = 'tea') => postOf({ id: `p${n}`, name: `t3_p${n}`, title })
const patient = { words, limit: 10, should_stop: () => false }

test('an item found by two searches counts once, for the first', () => {
  const samples = [{ rows: [tea(1), tea(2)] }, { rows: [tea(2), tea(3), tea(4, 'hot tea')] }]
  const { scanned, matched, matched_in, matches } = previewOf(spec, samples, patient)

  expect({ scanned, matched, matched_in }).toEqual({ scanned: 4, matched: 3, matched_in: [2, 1] })
  expect(matches.length).toBe(3)
})

test('terms that occur everywhere within words are searched for in linear time', () => {
  const runs = Array.from({ length: 50 }, (_, n) => 'a'.repeat(n + 1))
  const hostile = parseFilterSpec(
    { subforum: 'cats', include_any: runs, exclude_terms: runs },
    words,
  )

  // In quadratic time this would exceed the timeout of a test.
  const { matched } = previewOf(
    hostile,
    [{ rows: [postOf({ text: 'a'.repeat(400_000) })] }],
    patient,
  )

  expect(matched).toBe(0)
})

test('at most the requested number of matches is shown, and all are counted', () => {
  const samples = [{ rows: [tea(1), tea(2), tea(3)] }]
  const { matched, matches } = previewOf(spec, samples, { ...patient, limit: 2 })

  expect([matched, matches.length]).toEqual([3, 2])
})

test('a match exactly as relevant as required is not withheld', () => {
  const half = parseFilterSpec({ q: 'tea OR mug', min_relevance: 50 }, words)

  expect(previewOf(half, [{ rows: [tea(1)] }], patient)).toMatchObject({
    matched: 1,
    low_relevance: 0,
  })
})

test('a preview stops at its time limit and reports it', () => {
  const samples = [{ rows: [tea(1), tea(2)] }, { rows: [tea(3)] }]
  let calls = 0
  const found = previewOf(spec, samples, { ...patient, should_stop: () => ++calls > 1 })

  expect(found).toMatchObject({ scanned: 1, matched: 1, truncated: true, matched_in: [1, 0] })
  expect(previewOf(spec, samples, patient).truncated).toBe(false)
})

describe('matches a day', () => {
  const NOW_S = 1_000_000
  const HOUR_S = 3600

  test.each<[string, { oldest_s: number | null; matched: number }[], number | null]>([
    ['from an hour', [{ oldest_s: NOW_S - HOUR_S, matched: 2 }], 48],
    ['from few matches in many days', [{ oldest_s: NOW_S - 240 * HOUR_S, matched: 3 }], 0.3],
    [
      'from two feeds, added',
      [
        { oldest_s: NOW_S - HOUR_S, matched: 1 },
        { oldest_s: NOW_S - 24 * HOUR_S, matched: 1 },
      ],
      25,
    ],
    ['from items without a match', [{ oldest_s: NOW_S - HOUR_S, matched: 0 }], 0],
    ['from nothing: unknown', [{ oldest_s: null, matched: 0 }], null],
    ['from an item of a clock ahead of ours', [{ oldest_s: NOW_S + 5, matched: 1 }], 86_400],
  ])('%s', (_, samples, expected) => {
    expect(matchesPerDay(samples, NOW_S)).toBe(expected)
  })
})
