import { createdAtOf, decodeItem } from '../../core/archive/rows.ts'
import { wordQuery } from '../../core/archive/words.ts'
import { iso } from '../../core/base/time.ts'
import { enrich, rowOf } from '../../core/enrichment/enrich.ts'
import { compileFilter } from '../../core/filter/compile.ts'
import type { FilterSpec } from '../../core/filter/fields.ts'
import {
  countsOf,
  meetsThresholds,
  minRelevanceOf,
  thresholdsOf,
  withNamedSource,
} from '../../core/filter/spec.ts'
import type { Item } from '../../core/forum/items.ts'
import type { Naming } from '../../core/forum/naming.ts'
import type { Chunks } from '../db/chunked.ts'
import type { Db } from '../db/connection.ts'
import { type ArchivePart, type Candidate, contextOf, createCandidates } from './find.ts'

/** A search of the archive. `before`: cursor of an earlier answer. */
export type ArchiveSearch = ArchivePart & { spec: FilterSpec; before: number | null; limit: number }

/** Matches newest first. */
export type ArchiveFound = {
  /** In the form in which monitors deliver them, with `archived`. */
  rows: object[]
  /** Cursor of the next page; null at the end. */
  after: number | null
  scanned: number
  /** Time ran out here: everything created after it was tested, epoch ms. Null: the page is full, or the end. */
  scanned_until: number | null
}

/** Time of work that runs in slices beside other work, which is not charged. */
export type WorkBudget = {
  /** True when the slice is used up: the work yields, between `pause` and `resume`. */
  isOver(): boolean
  isSpent(): boolean
  spent(): number
  pause(): void
  resume(): void
}

/** A budget of `total_ms`, in slices of `slice_ms`. */
export function createWorkBudget(
  mono: () => number,
  total_ms: number,
  slice_ms: number,
): WorkBudget {
  let spent_ms = 0
  let from = mono()
  return {
    isOver: () => mono() - from >= slice_ms,
    isSpent: () => spent_ms + mono() - from >= total_ms,
    spent: () => spent_ms + mono() - from,
    pause: () => void (spent_ms += mono() - from),
    resume: () => void (from = mono()),
  }
}

/** Decision on an item, in the terms of a preview. */
export type ArchiveVerdict = 'matches' | 'not_yet' | 'low_relevance' | 'does_not_match'

/** Compiles a spec into the decision that live matching takes on an item with its present counts. */
export function createJudge(spec: FilterSpec): (item: Item) => ArchiveVerdict {
  const matches = compileFilter(withNamedSource(spec))
  const thresholds = thresholdsOf(spec)
  const floor = minRelevanceOf(spec)
  return (item) => {
    if (matches(item) === null) return 'does_not_match'
    if (thresholds !== null && !meetsThresholds(thresholds, countsOf(item))) return 'not_yet'
    if (floor !== null && enrich(spec, item).relevance.score < floor) return 'low_relevance'
    return 'matches'
  }
}

/** Items between two readings of the clock, one of which costs as much as a short text. */
export const CHECK_EVERY = 8

/** Searches the archive in slices. */
export function* searchArchive(
  db: Db,
  { spec, before, limit, ...part }: ArchiveSearch,
  words: Naming,
  budget: WorkBudget,
): Chunks<ArchiveFound> {
  const judge = createJudge(spec)
  const nextPage = createCandidates(db, part, wordQuery(spec), before)
  const own = part.scopes === null ? null : new Set(part.scopes)
  const found: ArchiveFound = { rows: [], after: null, scanned: 0, scanned_until: null }
  const stopAt = (row: number, is_full: boolean): ArchiveFound => ({
    ...found,
    after: row,
    scanned_until: is_full ? null : createdAtOf(row),
  })
  for (;;) {
    const { candidates, down_to } = nextPage()
    for (const [n, candidate] of candidates.entries()) {
      const item = decodeItem(candidate.item)
      if (isIn(item, part)) {
        found.scanned += 1
        if (judge(item) === 'matches') found.rows.push(toRow(db, candidate, item))
      }
      if (found.rows.length === limit) return stopAt(candidate.row, true)
      if (n % CHECK_EVERY > 0) continue
      if (budget.isSpent()) return stopAt(candidate.row, false)
      if (budget.isOver()) yield* rest(budget)
    }
    if (down_to === null) return found
    if (budget.isSpent()) return stopAt(down_to, false)
    if (budget.isOver()) yield* rest(budget)
  }

  function toRow(at: Db, { row, first_seen_at, seen_at }: Candidate, item: Item): object {
    const { scopes, versions } = contextOf(at, row)
    const monitor_ids = scopes
      .filter((it) => it.startsWith('m:') && own?.has(it) !== false)
      .map((it) => it.slice(2))
    const archived = {
      first_seen: iso(first_seen_at),
      last_seen: iso(seen_at),
      versions,
      monitor_ids,
    }
    return { ...rowOf(words, spec, item).row, archived }
  }
}

export function* rest(budget: WorkBudget): Chunks<void> {
  budget.pause()
  yield
  budget.resume()
}

/** True for an item that was created in a part; rows are only about its time, and some sources give milliseconds. */
export function isIn({ created_utc, created }: Item, { from_at, to_at }: ArchivePart): boolean {
  const at = created_utc * 1000
  if (at >= from_at && at + 1000 <= to_at) return true
  const exact = at + (Date.parse(created) % 1000)
  return exact >= from_at && exact < to_at
}
