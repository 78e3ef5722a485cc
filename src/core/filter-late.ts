import type { FilterSpec } from './filter-spec.ts'
import type { Item } from './items.ts'

// What a spec asks for that first sight cannot decide: how an item does later, and how matches are sent.

/** What an item must reach while it is fresh: until then it is a candidate. Null: nothing. */
export function lateOf({ min_score, min_comments }: FilterSpec): Late | null {
  return min_score === null && min_comments === null ? null : { min_score, min_comments }
}

/** Least score, least number of comments; null where none is asked for. */
export type Late = { min_score: number | null; min_comments: number | null }

/** What an item shows when it is looked at again. A hidden score is null: it is not known, which is not zero. */
export type Counts = { score: number | null; comments: number | null }

/** What an item shows now. */
export const countsOf = (item: Item): Counts => ({
  score: item.score_hidden ? null : item.upvotes,
  comments: item.kind === 'post' ? item.comments : null,
})

/** Whether an item has reached all of it. */
export const hasReached = (
  { min_score, min_comments }: Late,
  { score, comments }: Counts,
): boolean =>
  (min_score === null || (score !== null && score >= min_score)) &&
  (min_comments === null || (comments !== null && comments >= min_comments))

/** The relevance, 0 to 1, below which a match is withheld as low_relevance; null when none is. */
export const relevanceFloorOf = ({ min_relevance }: FilterSpec): number | null =>
  min_relevance === null ? null : min_relevance / 100

/** How matches travel together: under which label, collected for how long. Null: each alone. */
export function groupOf({
  group,
  group_window_s,
}: FilterSpec): { label: string | null; window_s: number } | null {
  if (group === null) return null
  return { label: group === true ? null : group, window_s: group_window_s ?? 0 }
}
