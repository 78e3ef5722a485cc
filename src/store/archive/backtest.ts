import { createdAtOf, decodeItem } from '../../core/archive/rows.ts'
import { wordQuery } from '../../core/archive/words.ts'
import { rowOf } from '../../core/enrichment/enrich.ts'
import { compileFilter } from '../../core/filter/compile.ts'
import { keywordsOf } from '../../core/filter/feeds.ts'
import type { FilterSpec } from '../../core/filter/fields.ts'
import { compileQuery, matchOptionsOf } from '../../core/filter/match.ts'
import { groupOf, withNamedSource } from '../../core/filter/spec.ts'
import type { Item } from '../../core/forum/items.ts'
import type { Naming } from '../../core/forum/naming.ts'
import type { Chunks } from '../db/chunked.ts'
import type { Db } from '../db/connection.ts'
import { type ArchivePart, createCandidates } from './find.ts'
import { CHECK_EVERY, createJudge, isIn, rest, type WorkBudget } from './search.ts'

export type Backtest = ArchivePart & {
  spec: FilterSpec
  compare: FilterSpec | null
  limit: number
}

/** Matches by UTC day (floor(ms / 86400000)). */
export type DayCounts = { day: number; matched: number; deliveries: number }[]

export type BacktestResult = {
  scanned: number
  matched: number
  low_relevance: number
  not_yet: number
  /** Deliveries to one target: grouped matches count once for their window. */
  days: DayCounts
  /** Matches that contain a keyword; of an excluded one: items that match but for the exclusions, and contain it. */
  terms: { term: string; role: 'wanted' | 'excluded'; items: number }[]
  /** The newest matches in the form of the API. */
  rows: object[]
  /** As in a search; null: the whole part was tested. */
  scanned_until: number | null
  /** Creation of the oldest archived item of the part, epoch ms; null: there is none. */
  oldest_at: number | null
  compare: Comparison | null
  work_ms: number
}

export type Comparison = {
  matched: number
  both: number
  only_first: number
  only_second: number
  days: DayCounts
  /** The newest rows of each kind. */
  samples: { only_first: object[]; only_second: object[] }
}

const DAY_MS = 86_400_000
const SAMPLES = 5

/** Runs filters over the archive in slices, newest items first. */
export function* backtest(
  db: Db,
  { spec, compare, limit, ...part }: Backtest,
  words: Naming,
  budget: WorkBudget,
): Chunks<BacktestResult> {
  const judge = createJudge(spec)
  const terms = countTerms(spec)
  const judgeOther = compare === null ? null : createJudge(compare)
  const nextPage = createCandidates(db, part, unionOf(spec, compare))
  const first = createTally(spec, part)
  const second = compare === null ? null : createTally(compare, part)
  const shared = { both: 0, only_first: 0, only_second: 0 }
  const samples: Comparison['samples'] = { only_first: [], only_second: [] }
  const counts = { scanned: 0, not_yet: 0, low_relevance: 0 }
  const rows: object[] = []
  let scanned_until: number | null = null

  const count = (item: Item): void => {
    counts.scanned += 1
    const judgement = judge(item)
    const is_match = judgement === 'matches'
    if (judgement === 'not_yet' || judgement === 'low_relevance') counts[judgement] += 1
    terms.count(item, is_match)
    if (is_match) first.add(item)
    if (is_match && rows.length < limit) rows.push(rowOf(words, spec, item).row)
    if (compare === null || second === null) return
    const is_other = judgeOther?.(item) === 'matches'
    if (is_other) second.add(item)
    if (is_match && is_other) shared.both += 1
    if (is_match === is_other) return
    const kind = is_match ? 'only_first' : 'only_second'
    shared[kind] += 1
    if (samples[kind].length < SAMPLES)
      samples[kind].push(rowOf(words, is_match ? spec : compare, item).row)
  }

  for (;;) {
    const { candidates, down_to } = nextPage()
    for (const [n, candidate] of candidates.entries()) {
      const item = decodeItem(candidate.item)
      if (isIn(item, part)) count(item)
      if (n % CHECK_EVERY > 0) continue
      if (budget.isSpent()) {
        scanned_until = createdAtOf(candidate.row)
        break
      }
      if (budget.isOver()) yield* rest(budget)
    }
    if (scanned_until !== null || down_to === null) break
    if (budget.isSpent()) scanned_until = createdAtOf(down_to)
    if (scanned_until !== null) break
    if (budget.isOver()) yield* rest(budget)
  }
  return {
    ...counts,
    ...first.result(),
    terms: terms.result(),
    rows,
    scanned_until,
    oldest_at: oldestIn(db, part),
    work_ms: Math.round(budget.spent()),
    compare: second && { ...second.result(), ...shared, samples },
  }
}

/** The index query for the items of either filter; null: all items. */
function unionOf(spec: FilterSpec, other: FilterSpec | null): string | null {
  const one = wordQuery(spec)
  if (other === null) return one
  const two = wordQuery(other)
  return one === null || two === null ? null : one === two ? one : `(${one}) OR (${two})`
}

/** Counts matches and deliveries by day; items come newest first. */
function createTally(spec: FilterSpec, { from_at, to_at }: ArchivePart) {
  const times: number[] = []
  const window_ms = (groupOf(spec)?.window_s ?? 0) * 1000
  return {
    add: ({ created_utc }: Item) => void times.push(created_utc * 1000),
    result(): { matched: number; days: DayCounts } {
      const days: DayCounts = []
      for (let day = Math.floor(from_at / DAY_MS); day * DAY_MS < to_at; day++)
        days.push({ day, matched: 0, deliveries: 0 })
      const first_day = days[0]?.day ?? 0
      let until = -Infinity
      // Rows of one second are in no order of their own.
      for (const at of times.toSorted((a, b) => a - b)) {
        const day = days[Math.floor(at / DAY_MS) - first_day]
        if (day === undefined) continue
        day.matched += 1
        if (at < until) continue
        day.deliveries += 1
        until = at + window_ms
      }
      return { matched: times.length, days }
    },
  }
}

function countTerms(spec: FilterSpec) {
  const options = matchOptionsOf(spec)
  const wanted = keywordsOf(spec).map((it) => ({ ...it, items: 0 }))
  const excluded = spec.exclude_terms.map((term) => ({
    term,
    test: compileQuery({ kind: 'term', written: term, field: null, prefix: false }, options),
    items: 0,
  }))
  const matchesBut =
    excluded.length === 0 ? null : compileFilter(withNamedSource({ ...spec, exclude_terms: [] }))
  return {
    count(item: Item, is_match: boolean): void {
      if (is_match) for (const it of wanted) it.items += it.test(item) ? 1 : 0
      else if (matchesBut !== null && matchesBut(item) !== null)
        for (const it of excluded) it.items += it.test(item) ? 1 : 0
    },
    result: () => [
      ...wanted.map(({ term, items }) => ({ term, role: 'wanted' as const, items })),
      ...excluded.map(({ term, items }) => ({ term, role: 'excluded' as const, items })),
    ],
  }
}

/** Creation of the oldest item of a part; of any scope that is seen. */
function oldestIn(db: Db, part: ArchivePart): number | null {
  const { from_at, scopes } = part
  const row =
    scopes === null
      ? db.query<{ row: number | null }, []>('SELECT min(row) AS row FROM items').get()
      : db
          .query<{ row: number | null }, [{ names: string }]>(
            `SELECT min((SELECT min(row) FROM sightings WHERE scope = c.id)) AS row FROM scopes c
              WHERE c.name IN (SELECT value FROM json_each($names))`,
          )
          .get({ names: JSON.stringify(scopes) })
  return row?.row == null ? null : Math.max(from_at, createdAtOf(row.row))
}
