import { describe, expect, test } from 'bun:test'

import { matchesPerDay, previewOf } from '../../src/core/filter-preview.ts'
import { parseFilterSpec } from '../../src/core/filter.ts'
import { createWords } from '../../src/core/wire.ts'
import { postOf } from '../support/items.ts'

const words = createWords({ platform: 'forum', community: 'subforum' })
const spec = parseFilterSpec({ q: 'tea', exclude_terms: ['hot'] }, words)
const tea = (n: number, title = 'tea') => postOf({ id: `p${n}`, name: `t3_p${n}`, title })
const patient = { words, limit: 10, enough: () => false }

test('an item that two searches have found counts once, for the first', () => {
  const samples = [{ rows: [tea(1), tea(2)] }, { rows: [tea(2), tea(3), tea(4, 'hot tea')] }]
  const { scanned, matched, matched_in, matches } = previewOf(spec, samples, patient)

  expect({ scanned, matched, matched_in }).toEqual({ scanned: 4, matched: 3, matched_in: [2, 1] })
  expect(matches.length).toBe(3)
})

test('no more matches are shown than were asked for, and all are counted', () => {
  const samples = [{ rows: [tea(1), tea(2), tea(3)] }]
  const { matched, matches } = previewOf(spec, samples, { ...patient, limit: 2 })

  expect([matched, matches.length]).toEqual([3, 2])
})

test('what is as relevant as was asked for is not withheld', () => {
  const half = parseFilterSpec({ q: 'tea OR mug', min_relevance: 50 }, words)

  expect(previewOf(half, [{ rows: [tea(1)] }], patient)).toMatchObject({
    matched: 1,
    low_relevance: 0,
  })
})

test('it ends when it has taken long enough, and says so', () => {
  const samples = [{ rows: [tea(1), tea(2)] }, { rows: [tea(3)] }]
  let asked = 0
  const found = previewOf(spec, samples, { ...patient, enough: () => ++asked > 1 })

  expect(found).toMatchObject({ scanned: 1, matched: 1, truncated: true, matched_in: [1, 0] })
  expect(previewOf(spec, samples, patient).truncated).toBe(false)
})

describe('matches a day', () => {
  const NOW_S = 1_000_000
  const HOUR_S = 3600

  test.each<[string, { oldest_s: number | null; matched: number }[], number | null]>([
    ['of an hour', [{ oldest_s: NOW_S - HOUR_S, matched: 2 }], 48],
    ['few of many days', [{ oldest_s: NOW_S - 240 * HOUR_S, matched: 3 }], 0.3],
    [
      'of two feeds are added',
      [
        { oldest_s: NOW_S - HOUR_S, matched: 1 },
        { oldest_s: NOW_S - 24 * HOUR_S, matched: 1 },
      ],
      25,
    ],
    ['none of what was there', [{ oldest_s: NOW_S - HOUR_S, matched: 0 }], 0],
    ['of nothing are not known', [{ oldest_s: null, matched: 0 }], null],
    ['of an item from a clock ahead of ours', [{ oldest_s: NOW_S + 5, matched: 1 }], 86_400],
  ])('%s', (_, samples, expected) => {
    expect(matchesPerDay(samples, NOW_S)).toBe(expected)
  })
})
