import { enrich, rowOf } from '../enrichment/enrich.ts'
import type { Item } from '../forum/items.ts'
import { nameOfSource, type Naming } from '../forum/naming.ts'
import { evaluateDirectly, type EvaluatePatterns } from '../pattern/evaluate.ts'
import { criteriaOf } from './compile.ts'
import { keywordsOf } from './feeds.ts'
import { type FilterSpec, wireName } from './fields.ts'
import { compileQuery, matchOptionsOf } from './match.ts'
import { countsOf, meetsThresholds, minRelevanceOf, thresholdsOf } from './spec.ts'

/**
 * One condition's verdict on one item. `later`: the item has not reached the threshold yet and will be rechecked.
 * `withheld`: the item matches, and is listed without being sent.
 */
export type Explained = {
  /** The field's name in the API. */
  criterion: string
  verdict: 'met' | 'not_met' | 'later' | 'withheld'
  /** The value of the item that the condition read. */
  detail: string
}

const DETAIL_MAX = 200

export function explainItem(
  spec: FilterSpec,
  item: Item,
  words: Naming,
  evaluatePatterns: EvaluatePatterns = evaluateDirectly,
): Explained[] {
  const found = criteriaOf(spec, undefined, evaluatePatterns).map(
    ({ field, met, saw }): Explained => {
      const verdict = met(item) ? 'met' : 'not_met'
      const seen = field === 'source' ? nameOfSource(words, saw(item)) : saw(item)
      return { criterion: wireName(field, words), verdict, detail: seen.slice(0, DETAIL_MAX) }
    },
  )
  const least = (criterion: string, floor: number | null, count: number | null) => {
    if (floor === null) return
    const verdict = count !== null && count >= floor ? 'met' : 'later'
    found.push({ criterion, verdict, detail: `${count ?? 'unknown'}, wanted ${floor}` })
  }
  const thresholds = thresholdsOf(spec)
  const { score: votes, comments } = countsOf(item)
  least('min_score', thresholds?.min_score ?? null, votes)
  least('min_comments', thresholds?.min_comments ?? null, comments)
  const floor = minRelevanceOf(spec)
  if (floor !== null) {
    const { score } = enrich(spec, item).relevance
    const verdict = score >= floor ? 'met' : 'withheld'
    found.push({ criterion: 'min_relevance', verdict, detail: `${score}, wanted ${floor}` })
  }
  return found
}

/**
 * Preview of a spec on the current items of its feeds: the matches, the conditions that reject the rest, and the
 * expected volume.
 */
/** Items that one request returned for the feeds of a spec, newest first. */
export type Sample = { rows: readonly Item[] }

export type Preview = {
  /** Matching items in the form of the API, with their enrichment, in listing order. */
  matches: object[]
  matched: number
  /** Matches that would be withheld, and items that fail only a threshold. */
  low_relevance: number
  not_yet: number
  /** Number of items that contain each keyword; `excluded`: of exclude_terms. */
  terms: { term: string; role: 'wanted' | 'excluded'; items: number }[]
  /** Number of items left after each condition, in the order of evaluation. */
  criteria: { criterion: string; left: number }[]
  scanned: number
  /** True when time ran out before all items were read. */
  truncated: boolean
  /** Number of matching items of each sample. */
  matched_in: number[]
}

type Options = {
  words: Naming
  limit: number
  should_stop: () => boolean
  evaluatePatterns?: EvaluatePatterns
}

/** Evaluates a spec on samples. `should_stop` is called before each item; true ends the preview early. */
export function previewOf(
  spec: FilterSpec,
  samples: readonly Sample[],
  { words, limit, should_stop, evaluatePatterns = evaluateDirectly }: Options,
): Preview {
  const criteria = criteriaOf(spec, undefined, evaluatePatterns)
  const left = criteria.map(() => 0)
  const counted = countedTerms(spec)
  const thresholds = thresholdsOf(spec)
  const floor = minRelevanceOf(spec) ?? 0
  const seen = new Set<string>()
  const preview = { matches: [] as object[], matched: 0, low_relevance: 0, not_yet: 0, scanned: 0 }
  let truncated = false

  const countItem = (item: Item): boolean => {
    preview.scanned += 1
    for (const it of counted) if (it.test(item)) it.items += 1
    for (const [at, { met }] of criteria.entries()) {
      if (!met(item)) return false
      left[at] = (left[at] ?? 0) + 1
    }
    if (thresholds !== null && !meetsThresholds(thresholds, countsOf(item))) {
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
      if ((truncated ||= should_stop())) break
      seen.add(item.name)
      if (countItem(item)) found += 1
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
  const options = matchOptionsOf(spec)
  const wanted = keywordsOf(spec).map((it) => ({ ...it, role: 'wanted' as const, items: 0 }))
  const excluded = spec.exclude_terms.map((term) => ({
    term,
    test: compileQuery({ kind: 'term', written: term, field: null, prefix: false }, options),
    role: 'excluded' as const,
    items: 0,
  }))
  return [...wanted, ...excluded]
}

const DAY_S = 86_400

/**
 * Matches a day, extrapolated from the count of each sample since its oldest item; null when no sample has a creation
 * time. `now_s` is the platform's time, seconds.
 */
export function matchesPerDay(
  samples: readonly { oldest_s: number | null; matched: number }[],
  now_s: number,
): number | null {
  const daily_rates = samples.flatMap(({ oldest_s, matched }) =>
    oldest_s === null ? [] : [(matched * DAY_S) / Math.max(1, now_s - oldest_s)],
  )
  if (daily_rates.length === 0) return null
  const sum = daily_rates.reduce((a, b) => a + b, 0)
  return sum < 10 ? Math.round(sum * 10) / 10 : Math.round(sum)
}

export function judgeItem(
  spec: FilterSpec,
  item: Item,
  words: Naming,
  evaluatePatterns: EvaluatePatterns = evaluateDirectly,
): Judged {
  const criteria = explainItem(spec, item, words, evaluatePatterns)
  const verdict =
    (['not_met', 'later', 'withheld'] as const).find((it) =>
      criteria.some((one) => one.verdict === it),
    ) ?? 'met'
  return { verdict: VERDICTS[verdict], criteria }
}

/**
 * `not_yet`: only a threshold fails, and the item may still reach it. `withheld`: the item matches, and is listed
 * without being sent.
 */
export type ItemVerdict = 'matches' | 'does_not_match' | 'not_yet' | 'withheld'
export type Judged = { verdict: ItemVerdict; criteria: Explained[] }

const VERDICTS: Record<Explained['verdict'], ItemVerdict> = {
  met: 'matches',
  not_met: 'does_not_match',
  later: 'not_yet',
  withheld: 'withheld',
}
