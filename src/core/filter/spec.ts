import { HOME, type Item } from '../forum/items.ts'
import { ALL_SOURCES, ENTRIES, type FilterSpec } from './fields.ts'

/** The spec of no given field. */
export const FILTER_DEFAULTS: FilterSpec = Object.fromEntries(
  ENTRIES.map(([name, { absent }]): unknown[] => [name, absent]),
)

/**
 * The spec with its sources by name. A feed of the platform holds no item of another source, so a filter of {@link HOME} alone names
 * none; in a store of all sources it has to.
 */
export const withNamedSource = (spec: FilterSpec): FilterSpec =>
  spec.source.length === 0 ? { ...spec, source: [HOME] } : spec

/** The sources that a spec watches. `configured`: those that exist. */
export const watchedSources = (
  { source }: Pick<FilterSpec, 'source'>,
  configured: Iterable<string>,
): readonly string[] => {
  if (source.includes(ALL_SOURCES)) return [...configured]
  return source.length === 0 ? [HOME] : source
}

// Criteria that are decided after the first match: thresholds, relevance and grouping.

/** Thresholds that an item must reach while it is fresh; until then it is a candidate. Null: no threshold. */
export function thresholdsOf({ min_score, min_comments }: FilterSpec): Thresholds | null {
  return min_score === null && min_comments === null ? null : { min_score, min_comments }
}

/** Minimum score and number of comments; null: no minimum. */
export type Thresholds = { min_score: number | null; min_comments: number | null }

/** Counts of an item at a recheck. A hidden score is null, meaning unknown, not zero. */
export type Counts = { score: number | null; comments: number | null }

export const countsOf = (item: Item): Counts => ({
  score: item.score_hidden ? null : item.upvotes,
  comments: item.kind === 'post' ? item.comments : null,
})

export const meetsThresholds = (
  { min_score, min_comments }: Thresholds,
  { score, comments }: Counts,
): boolean =>
  (min_score === null || (score !== null && score >= min_score)) &&
  (min_comments === null || (comments !== null && comments >= min_comments))

/** The relevance, 0 to 1, below which a match is withheld as low_relevance; null: no limit. */
export const minRelevanceOf = ({ min_relevance }: FilterSpec): number | null =>
  min_relevance === null ? null : min_relevance / 100

/** Grouping label and window of a monitor; null: one delivery per match. */
export function groupOf({
  group,
  group_window_s,
}: FilterSpec): { label: string | null; window_s: number } | null {
  if (group === null) return null
  return { label: group === true ? null : group, window_s: group_window_s ?? 0 }
}
