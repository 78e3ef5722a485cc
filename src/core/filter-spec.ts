import type { Kind, MATCHES, PostType } from './filter-fields.ts'
import type { SearchField } from './filter-text.ts'
import type { IntentTag } from './intent.ts'
import type { Sentiment } from './sentiment.ts'
import type { Words } from './wire.ts'

/** A checked filter (contract 7). Empty lists and null are criteria that were not given. */
export type FilterSpec = {
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
  /** Whether matches travel together, and under which label. */
  group: true | string | null
  group_window_s: number | null
}

/** A field of a spec, in our own words. */
export type Field = keyof FilterSpec

/** Every field and what it is when it was not given; `kind` and `search_in` are told apart elsewhere. */
export const ABSENT: FilterSpec = {
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

// Whoever is not told where to look holds this very list.
Object.freeze(ABSENT.search_in)

/** The fields of a filter_spec, in our own words, in the order in which they are shown. */
export const FIELDS: readonly string[] = Object.keys(ABSENT)

/** What a field of a spec is called on the wire. */
export function wireName(field: string, words: Words): string {
  if (field === 'subforum') return words.community
  return field === 'exclude_subforums' ? words.exclude_communities : field
}
