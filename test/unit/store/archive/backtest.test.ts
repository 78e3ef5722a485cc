import { expect, test } from 'bun:test'

import * as fc from 'fast-check'

import type { FilterSpec } from '../../../../src/core/filter/fields.ts'
import type { Item } from '../../../../src/core/forum/items.ts'
import {
  type Backtest,
  backtest,
  type BacktestResult,
} from '../../../../src/store/archive/backtest.ts'
import { openArchive } from '../../../../src/store/archive/file.ts'
import { createJudge, createWorkBudget } from '../../../../src/store/archive/search.ts'
import { runNow } from '../../../../src/store/db/chunked.ts'
import type { Db } from '../../../../src/store/db/connection.ts'
import { anyItem, anySpec, parse } from '../../../support/archive-arbitraries.ts'
import { archive, words } from '../../../support/archive.ts'
import { postOf } from '../../../support/items.ts'
import { cases } from '../../../support/long-form.ts'

// A backtest against live matching, item by item. FORUMD_RUNS=100000 is the long form.
const RUNS = Number(process.env.FORUMD_RUNS ?? cases({ short: 300, long: 2000 }))
const DAY_MS = 86_400_000
const FIRST_MS = 1_767_225_600_000

function run(
  db: Db,
  test_of: Partial<Backtest> & Pick<Backtest, 'spec'>,
  budget = createWorkBudget(() => 0, 1, 1),
): BacktestResult {
  const all = { from_at: 0, to_at: FIRST_MS + 100 * DAY_MS, scopes: null, compare: null, limit: 10 }
  return runNow(backtest(db, { ...all, ...test_of }, words, budget))
}

const matchesOf = (items: readonly Item[], spec: FilterSpec): Item[] => {
  const judge = createJudge(spec)
  return items.filter((it) => judge({ ...it }) === 'matches')
}

test('counts, days and the difference of two filters are those of live matching', () => {
  let matches = 0
  let differences = 0
  fc.assert(
    fc.property(
      fc.array(anyItem, { minLength: 40, maxLength: 40 }),
      fc.array(fc.tuple(anySpec, anySpec), { minLength: 6, maxLength: 6 }),
      fc.nat({ max: 10 }),
      fc.integer({ min: 20, max: 40 }),
      (drawn, pairs, one_day, other_day) => {
        const items = drawn.map((it, n): Item => ({ ...it, id: `x${n}`, name: `t3_x${n}` }))
        const from_at = FIRST_MS + Math.min(one_day, other_day) * DAY_MS
        const to_at = FIRST_MS + (Math.max(one_day, other_day) + 1) * DAY_MS
        const within = items.filter(
          ({ created_utc: at }) => at * 1000 >= from_at && at * 1000 < to_at,
        )
        using db = openArchive(':memory:')
        archive(db, items)
        for (const [spec, compare] of pairs) {
          if (spec === null || compare === null) continue
          const found = run(db, { spec, compare, from_at, to_at })
          const first = matchesOf(within, spec)
          const second = matchesOf(within, compare)
          const both = first.filter((it) => second.includes(it))

          expect(found.matched).toBe(first.length)
          expect(found.compare).toMatchObject({
            matched: second.length,
            both: both.length,
            only_first: first.length - both.length,
            only_second: second.length - both.length,
          })
          const days = Map.groupBy(first, ({ created_utc }) => Math.floor(created_utc / 86_400))
          for (const { day, matched } of found.days)
            expect(matched).toBe(days.get(day)?.length ?? 0)
          expect(found.days).toHaveLength((to_at - from_at) / DAY_MS)
          for (const { term, role, items: count } of found.terms) {
            const of_term = parse({ ...plain(spec), include_all: [term], kind: 'both' })
            // A query may look for a term in one field alone, or for its beginning.
            if (role === 'wanted' && !/[:*]/.test(term) && !spec.q?.includes(':'))
              expect(count).toBe(matchesOf(first, of_term).length)
          }
          matches += first.length
          differences += first.length + second.length - 2 * both.length
        }
      },
    ),
    { numRuns: Math.ceil(RUNS / 10) },
  )

  // Without matches and differences nothing would have been compared.
  expect(matches).toBeGreaterThan(0)
  expect(differences).toBeGreaterThan(0)
}, 600_000)

/** The options by which a spec compares words. */
const plain = ({ search_in, match, fold_accents, case_sensitive }: FilterSpec) => ({
  source: 'all',
  subforum: ['cats', 'dogs', 'birds'],
  search_in,
  match,
  fold_accents,
  case_sensitive,
})

const numbered = (n: number, title: string, minutes: number) =>
  postOf({ id: `x${n}`, name: `t3_x${n}`, title, created_utc: FIRST_MS / 1000 + minutes * 60 })

test('a filter of the platform counts no item of another source, also where the place has the same name', () => {
  using db = openArchive(':memory:')
  archive(db, [
    numbered(1, 'cat', 1),
    { ...numbered(2, 'cat', 2), source: 'hn' },
    { ...numbered(3, 'cat for hire', 3), source: 'hn' },
  ])
  const spec = parse({ subforum: 'cats', q: 'cat', exclude_terms: ['hire'] })
  const { matched, terms, compare } = run(db, {
    spec: { ...spec, source: [] },
    compare: { ...spec, source: ['hn'] },
  })

  expect(matched).toBe(1)
  expect(terms.map(({ items }) => items)).toEqual([1, 0])
  expect(compare).toMatchObject({ both: 0, only_first: 1, only_second: 1 })
})

test('matches of one window travel together', () => {
  using db = openArchive(':memory:')
  archive(
    db,
    [0, 10, 59, 61, 200].map((minutes, n) => numbered(n, 'cat', minutes)),
  )
  const of = (spec: object) =>
    run(db, { spec: parse(spec), from_at: FIRST_MS, to_at: FIRST_MS + DAY_MS }).days

  expect(of({ q: 'cat' })).toMatchObject([{ matched: 5, deliveries: 5 }])
  expect(of({ q: 'cat', group: true, group_window_s: 3600 })).toMatchObject([
    { matched: 5, deliveries: 3 },
  ])
})

test('an excluded term is counted where it alone prevents a match', () => {
  using db = openArchive(':memory:')
  archive(db, [numbered(1, 'cat for hire', 1), numbered(2, 'cat', 2), numbered(3, 'hire a dog', 3)])
  const { matched, terms } = run(db, { spec: parse({ q: 'cat', exclude_terms: ['hire'] }) })

  expect(matched).toBe(1)
  expect(terms).toEqual([
    { term: 'cat', role: 'wanted', items: 1 },
    { term: 'hire', role: 'excluded', items: 1 },
  ])
})

test('a backtest out of time says how far it came, and counts only that', () => {
  using db = openArchive(':memory:')
  archive(
    db,
    Array.from({ length: 100 }, (_, n) => numbered(n, 'cat', n)),
  )
  let now = 0
  const budget = createWorkBudget(() => (now += 1), 8, 1000)
  const { matched, scanned, scanned_until } = run(db, { spec: parse({ q: 'cat' }) }, budget)

  expect(scanned).toBeGreaterThan(0)
  expect(scanned).toBeLessThan(100)
  expect(matched).toBe(scanned)
  expect(scanned_until).toBe(FIRST_MS + (100 - scanned) * 60_000)
})
