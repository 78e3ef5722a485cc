import type { IntentTag } from '../enrichment/lexicon/cues.ts'
import type { Sentiment } from '../enrichment/sentiment.ts'
import { type Item, MAIN } from '../forum/items.ts'
import type { Naming } from '../forum/naming.ts'
import type { Kind, MATCHES, PostType } from './fields.ts'
import type { SearchField } from './text.ts'

/** A validated filter. Empty lists and null are criteria that were not given. */
export type FilterSpec = {
  /** Names of sources, or `all`; empty: `main`. */
  source: string[]
  /** Names as written, without prefix. */
  subforum: string[]
  exclude_subforums: string[]
  kind: Kind
  q: string | null
  include_any: string[]
  include_all: string[]
  exclude_terms: string[]
  search_in: SearchField[]
  match: (typeof MATCHES)[number]
  fold_accents: boolean
  case_sensitive: boolean
  /** In RE2's syntax. */
  regex: string[]
  /** Names as written, without prefix. */
  author: string[]
  exclude_authors: string[]
  /** Ids of posts, without prefix. */
  thread: string[]
  /** Hosts in lower case, as addresses spell them. */
  domain: string[]
  exclude_domains: string[]
  flair: string[]
  exclude_flair: string[]
  has_flair: boolean | null
  post_type: PostType[]
  nsfw: boolean | null
  min_score: number | null
  min_comments: number | null
  /** 0 to 100. */
  min_relevance: number | null
  intent: IntentTag[]
  sentiment: Sentiment['label'][]
  /** ISO 639-1. */
  language: string[]
  /** Grouping of matches: true, or the label of the bundle; null: one delivery per match. */
  group: true | string | null
  group_window_s: number | null
}

export type FilterField = keyof FilterSpec

/** Default of every field. parseFilterSpec distinguishes an absent `kind` or `search_in` from its default. */
export const FILTER_DEFAULTS: FilterSpec = {
  source: [],
  subforum: [],
  exclude_subforums: [],
  kind: 'post',
  q: null,
  include_any: [],
  include_all: [],
  exclude_terms: [],
  search_in: ['title', 'body', 'url'],
  match: 'word',
  fold_accents: false,
  case_sensitive: false,
  regex: [],
  author: [],
  exclude_authors: [],
  thread: [],
  domain: [],
  exclude_domains: [],
  flair: [],
  exclude_flair: [],
  has_flair: null,
  post_type: [],
  nsfw: null,
  min_score: null,
  min_comments: null,
  min_relevance: null,
  intent: [],
  sentiment: [],
  language: [],
  group: null,
  group_window_s: null,
}

// Every spec without `search_in` shares this list.
Object.freeze(FILTER_DEFAULTS.search_in)

/** Internal names of the fields of a filter_spec, in the order in which they are shown. */
export const FILTER_FIELDS: readonly string[] = Object.keys(FILTER_DEFAULTS)

/** The only entry of `source` where it stands for all of them. */
export const ALL_SOURCES = 'all'

/** True when a spec watches the source of `[platform]`. */
export const watchesMain = ({ source }: Pick<FilterSpec, 'source'>): boolean =>
  source.length === 0 || source.includes(MAIN) || source.includes(ALL_SOURCES)

/**
 * The spec with its sources by name. A feed of the platform holds no item of another source, so a filter of `main` alone names
 * none; in a store of all sources it has to.
 */
export const withNamedSource = (spec: FilterSpec): FilterSpec =>
  spec.source.length === 0 ? { ...spec, source: [MAIN] } : spec

/** The further sources that a spec watches. `configured`: those that exist. */
export const furtherSources = (
  { source }: Pick<FilterSpec, 'source'>,
  configured: readonly string[],
): readonly string[] =>
  source.includes(ALL_SOURCES) ? configured : source.filter((it) => it !== MAIN)

export function wireName(field: string, words: Naming): string {
  if (field === 'subforum') return words.community
  return field === 'exclude_subforums' ? words.exclude_communities : field
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
