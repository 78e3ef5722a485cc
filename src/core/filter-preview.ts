/**
 * A spec tried on what its feeds hold now: what would match, what keeps the rest from it, and how much of it to expect.
 */
import { criteriaOf } from './filter-compile.ts'
import { explain, type Explained } from './filter-explain.ts'
import { keywordsOf } from './filter-keywords.ts'
import { countsOf, hasReached, lateOf, relevanceFloorOf } from './filter-late.ts'
import { compileQuery, mannerOf } from './filter-match.ts'
import { type FilterSpec, wireName } from './filter-spec.ts'
import type { Item } from './items.ts'
import { rowOf } from './row.ts'
import type { Words } from './wire.ts'

/** What one request brought of the feeds of a spec: items, newest first. */
export type Sample = { rows: readonly Item[] }

/** What a filter makes of the items that its feeds hold now. */
export type Preview = {
  /** Items in words of the wire, with their enrichment, in the order in which they were shown. */
  matches: object[]
  matched: number
  /** Matches that would be withheld, and items that match but for a score or a number of comments. */
  low_relevance: number
  not_yet: number
  /** How many of the items hold each keyword; `excluded`: of exclude_terms. */
  terms: { term: string; role: 'wanted' | 'excluded'; items: number }[]
  /** How many items are left after each condition, in the order in which they are asked. */
  criteria: { criterion: string; left: number }[]
  scanned: number
  /** Not all items were looked at: it would have taken too long. */
  truncated: boolean
  /** Of each sample, how many of its items match. */
  matched_in: number[]
}

type Options = { words: Words; limit: number; enough: () => boolean }

/** Tries a spec on samples. `enough` is asked before each item, and ends it early. */
export function previewOf(
  spec: FilterSpec,
  samples: readonly Sample[],
  { words, limit, enough }: Options,
): Preview {
  const criteria = criteriaOf(spec)
  const left = criteria.map(() => 0)
  const counted = countedTerms(spec)
  const late = lateOf(spec)
  const floor = relevanceFloorOf(spec) ?? 0
  const seen = new Set<string>()
  const preview = { matches: [] as object[], matched: 0, low_relevance: 0, not_yet: 0, scanned: 0 }
  let truncated = false

  const look = (item: Item): boolean => {
    preview.scanned += 1
    for (const it of counted) if (it.test(item)) it.items += 1
    for (const [at, { met }] of criteria.entries()) {
      if (!met(item)) return false
      left[at] = (left[at] ?? 0) + 1
    }
    if (late !== null && !hasReached(late, countsOf(item))) {
      preview.not_yet += 1
      return false
    }
    const { row, enrichment } = rowOf(words, spec, item)
    if (enrichment.relevance.score < floor) {
      preview.low_relevance += 1
      return false
    }
    preview.matched += 1
    if (preview.matches.length < limit) preview.matches.push(row)
    return true
  }

  const matched_in = samples.map(({ rows }) => {
    let found = 0
    for (const item of rows) {
      if (seen.has(item.name)) continue
      if ((truncated ||= enough())) break
      seen.add(item.name)
      if (look(item)) found += 1
    }
    return found
  })
  return {
    ...preview,
    terms: counted.map(({ term, role, items }) => ({ term, role, items })),
    criteria: criteria.map(({ field }, at) => ({
      criterion: wireName(field, words),
      left: left[at] ?? 0,
    })),
    truncated,
    matched_in,
  }
}

function countedTerms(spec: FilterSpec) {
  const manner = mannerOf(spec)
  const wanted = keywordsOf(spec).map((it) => ({ ...it, role: 'wanted' as const, items: 0 }))
  const excluded = spec.exclude_terms.map((term) => ({
    term,
    test: compileQuery({ kind: 'term', written: term, field: null, prefix: false }, manner),
    role: 'excluded' as const,
    items: 0,
  }))
  return [...wanted, ...excluded]
}

const DAY_S = 86_400

/**
 * Matches a day, from how many there were in how long; null when no sample shows a time. Each sample speaks for the
 * time since its oldest item. `now_s` is the platform's.
 */
export function matchesPerDay(
  samples: readonly { oldest_s: number | null; matched: number }[],
  now_s: number,
): number | null {
  const told = samples.flatMap(({ oldest_s, matched }) =>
    oldest_s === null ? [] : [(matched * DAY_S) / Math.max(1, now_s - oldest_s)],
  )
  if (told.length === 0) return null
  const sum = told.reduce((a, b) => a + b, 0)
  return sum < 10 ? Math.round(sum * 10) / 10 : Math.round(sum)
}

/** What becomes of an item under a spec, and each condition's part in it. */
export function judgeItem(spec: FilterSpec, item: Item, words: Words): Judged {
  const criteria = explain(spec, item, words)
  const verdict =
    (['not_met', 'later', 'withheld'] as const).find((it) =>
      criteria.some((one) => one.verdict === it),
    ) ?? 'met'
  return { verdict: VERDICTS[verdict], criteria }
}

/** `not_yet`: it matches but for a count that it may still reach. `withheld`: it matches, and is shown without being sent. */
export type ItemVerdict = 'matches' | 'does_not_match' | 'not_yet' | 'withheld'
/** One item before one filter: the verdict, and each criterion of it. */
export type Judged = { verdict: ItemVerdict; criteria: Explained[] }

const VERDICTS: Record<Explained['verdict'], ItemVerdict> = {
  met: 'matches',
  not_met: 'does_not_match',
  later: 'not_yet',
  withheld: 'withheld',
}
