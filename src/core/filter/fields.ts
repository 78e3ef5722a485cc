import * as z from 'zod'

import { normalise, type View } from '../base/form.ts'
import { peerUrl } from '../base/url.ts'
import { soundOf } from '../enrichment/intent.ts'
import { LANGUAGE_CODES, languageOf } from '../enrichment/language.ts'
import { INTENTS } from '../enrichment/lexicon/cues.ts'
import { SENTIMENT_LABELS } from '../enrichment/sentiment.ts'
import { HOME, type Item, MORE_PLACES, placesOfItem } from '../forum/items.ts'
import type { Naming } from '../forum/naming.ts'
import { PATTERN_LENGTH_MAX, PATTERNS_MAX, readPatterns } from '../pattern/syntax.ts'
import { parseQuery, type Query } from './query.ts'
import {
  AUTHORS,
  COMMUNITIES,
  COUNT_MAX,
  DOMAINS,
  type Entries,
  type FieldInput,
  FLAIRS,
  KINDS,
  LABEL_LENGTH_MAX,
  MATCHES,
  NAMES_MAX,
  NONE,
  POST_TYPES,
  type PostType,
  Q_LENGTH_MAX,
  readChoice,
  readChoices,
  readEntries,
  readFlag,
  readGroup,
  readInteger,
  readTerms,
  readText,
  SOURCE_PLACES,
  SOURCE_USERS,
  SOURCES,
  TERM_LENGTH_MAX,
  TERMS_MAX,
  THREADS,
  WINDOW_MAX_S,
} from './readers.ts'
import { linksOf, SEARCH_FIELDS, type SearchField, textOf } from './text.ts'

/** The only entry of `source` where it stands for all of them. */
export const ALL_SOURCES = 'all'

/** Fields searched for terms when `search_in` is not given; every such spec shares the list. */
const SEARCHED: SearchField[] = ['title', 'body', 'url']
Object.freeze(SEARCHED)

type Text = string | ((words: Naming) => string)

/** Form in which terms are compared, and true where the names are those of {@link HOME} alone. */
type Context = { view: View; is_home_only: boolean }

/** A condition of a spec: its test on an item, and the value of the item that it reads. */
type Test = { met: (item: Item) => boolean; saw: (item: Item) => string }

/** Parts of the form; those after `words` are folded. */
const PARTS = {
  words: 'Words',
  where: 'Where',
  text: 'Text matching',
  names: 'Authors, threads and links',
  item: 'Item properties',
  bundle: 'Bundling',
} as const

type Options = readonly (readonly [string, string])[]

/** A field of the form in the dashboard. */
export type FormField = {
  name: string
  label: string
  hint?: string
  /** The default, as the empty field shows it. */
  fallback?: string
  /** `names`: separated by commas or spaces. `lines`: one per line. `flag`: default, yes or no. `label`: text or yes. `area`: text of several lines. */
  kind:
    | 'names'
    | 'lines'
    | 'text'
    | 'number'
    | 'flag'
    | 'label'
    | 'one'
    | 'some'
    | 'secret'
    | 'area'
    | 'check'
  options?: Options
  /** Capabilities that a source must have. */
  needs: readonly string[]
}

/** Capability that a source must have for the field, by the kind of items. */
type Needs = Readonly<Partial<Record<'post' | 'comment', 'tree' | 'nodesById' | 'postsById'>>>

/** Everything that the product knows of a field. */
type About<T> = {
  /** Meaning, in the OpenAPI document and in docs/filters.md. */
  text: Text
  part: keyof typeof PARTS
  label: Text
  hint?: Text
  fallback?: string
  widget?: FormField['kind']
  options?: Options
  /** Sentence against a value beside other fields. `has`: true if a field is given. */
  conflicts?(value: T, has: (field: string) => boolean, words: Naming): string | false
  /** True for a value that no comment can meet. */
  posts_only?(value: T): boolean
  needs?: Needs
  /** Condition on an item; null: the value sets none. */
  test?(value: T): Test | null
  query?(value: T, view: View): Query
  /** Rank of evaluation, the cheapest first; default 1. */
  cost?: number
}

export type Field<T> = Omit<About<T>, 'widget'> & {
  absent: T
  read(input: FieldInput, context: Context): T
  schema(): z.ZodType
  /** Values in words. */
  values: string
  widget: FormField['kind']
}

const sentence = (text: Text, words: Naming): string =>
  typeof text === 'string' ? text : text(words)

const asOptions = (all: readonly string[]): Options =>
  all.map((it) => [it, it.replaceAll('_', ' ')])

const field = <T>(
  made: Pick<Field<T>, 'absent' | 'read' | 'schema' | 'values' | 'widget'>,
  about: About<T>,
): Field<T> => ({ ...made, ...about, widget: about.widget ?? made.widget })

const oneOrMany = (it: z.ZodType, least: 0 | 1) =>
  z.union([it, z.array(it).min(least).max(NAMES_MAX)])

type Of = (item: Item) => string | null
type ListAbout<T extends string> = Omit<About<T[]>, 'test'> & { test?: (list: T[]) => Test }

/** A condition of a list is none while the list is empty. */
const ofList = <T extends string>({ test, ...about }: ListAbout<T>): About<T[]> =>
  test ? { ...about, test: (list) => (list.length === 0 ? null : test(list)) } : about

/** Names of up to 50; an exclusion may be an empty list. */
const names = (
  values: string,
  entries: Entries | ((context: Context) => Entries),
  about: ListAbout<string>,
  least: 0 | 1 = 1,
): Field<string[]> =>
  field(
    {
      absent: NONE,
      read: (it, context) =>
        readEntries(it, { ...(typeof entries === 'function' ? entries(context) : entries), least }),
      schema: () => oneOrMany(z.string(), least),
      values: `list of ${values}`,
      widget: 'names',
    },
    ofList(about),
  )

const terms = (about: About<string[]>): Field<string[]> =>
  field(
    {
      absent: NONE,
      read: (it, { view }) => readTerms(it, view),
      schema: () => z.array(z.string().min(1).max(TERM_LENGTH_MAX)).max(TERMS_MAX),
      values: 'list of terms',
      widget: 'lines',
    },
    { fallback: 'none', cost: 3, ...about },
  )

/** True or false; `usual` null: neither is asked for. */
const flag = <T extends boolean | null>(usual: T, about: About<T | boolean>): Field<T | boolean> =>
  field<T | boolean>(
    {
      absent: usual,
      read: readFlag,
      schema: () => (usual === null ? z.boolean() : z.boolean().default(usual)),
      values: 'boolean',
      widget: 'flag',
    },
    { fallback: usual === null ? 'both' : 'no', ...about },
  )

/** A condition of a flag; null: none. */
const isFlag =
  (of: (item: Item) => boolean, saw: Test['saw']) =>
  (wanted: boolean | null): Test | null =>
    wanted === null ? null : { met: (it) => of(it) === wanted, saw }

const integer = (
  least: number,
  most: number,
  values: string,
  about: About<number | null>,
): Field<number | null> =>
  field(
    {
      absent: null,
      read: (it) => readInteger(it, least, most),
      schema: () => (most === COUNT_MAX ? z.int() : z.int().min(least).max(most)),
      values,
      widget: 'number',
    },
    { fallback: 'no minimum', ...about },
  )

const listed = (words: readonly string[]): string => words.map((it) => `\`${it}\``).join(', ')

const choice = <T extends string>(words: readonly T[], usual: T, about: About<T>): Field<T> =>
  field(
    {
      absent: usual,
      read: (it) => readChoice(it, words),
      schema: () => z.enum(words).default(usual),
      values: listed(words),
      widget: 'one',
    },
    about,
  )

const choices = <T extends string>(words: readonly T[], about: ListAbout<T>): Field<T[]> =>
  field<T[]>(
    {
      absent: NONE,
      read: (it) => readChoices(it, words),
      schema: () => oneOrMany(z.enum(words), 1),
      values: `list of ${listed(words)}`,
      widget: 'some',
    },
    { options: asOptions(words), ...ofList(about) },
  )

const sourceOf = (item: Item): string => item.source ?? HOME
const kindOf = (item: Item): string => item.kind
const authorOf: Of = (item) => (item.author === '[deleted]' ? null : normalise(item.author))
const flairOf = (item: Item): string => textOf(item, 'flair')
const isPost = { posts_only: (it: readonly string[]) => it.length > 0 }

const oneOf =
  (of: Of) =>
  (list: string[]): Test => ({ met: isOneOf(list, of), saw: (it) => of(it) ?? 'none' })

function noneOf(of: Of) {
  return (list: string[]): Test => {
    const unwanted = isOneOf(list, of)
    return { met: (it) => !unwanted(it), saw: (it) => of(it) ?? 'none' }
  }
}

const places = ({ is_home_only }: Context) => (is_home_only ? COMMUNITIES : SOURCE_PLACES)
const users = ({ is_home_only }: Context) => (is_home_only ? AUTHORS : SOURCE_USERS)

/** One of few values that an item has, or none if it is not known. */
const isIn =
  (of: Of) =>
  (list: readonly string[]): Test => ({
    met: (it) => {
      const value = of(it)
      return value !== null && list.includes(value)
    },
    saw: (it) => of(it) ?? 'not known',
  })

const termOf = (written: string): Query => ({ kind: 'term', written, field: null, prefix: false })
export const anyOf = (all: readonly string[]): Query & { kind: 'or' } => ({
  kind: 'or',
  parts: all.map(termOf),
})

/**
 * The fields of a filter_spec, in the order in which they are shown. The type of a spec, its parser, the matcher, the OpenAPI
 * document, the form of the dashboard, the words that `[wire]` may not take and the table of docs/filters.md follow.
 */
const FIELDS = {
  source: names('names, or `all`', SOURCES, {
    text: ({ api, default_source }) =>
      `Sources, by name, as ${api}/sources lists them, or all. Default: ${default_source}.`,
    part: 'where',
    label: 'Sources',
    test: (list) => ({
      met: list.includes(ALL_SOURCES) ? () => true : (it) => list.includes(sourceOf(it)),
      saw: sourceOf,
    }),
  }),
  subforum: names('names', places, {
    text: 'In one of these, prefix and case ignored. Without it, author and thread: the whole platform, posts only, with a keyword.',
    part: 'where',
    label: ({ communities }) => capital(communities),
    hint: 'Names, separated by commas or spaces. The whole platform has posts only.',
    fallback: 'the whole platform',
    test: (list) => ({ met: isWithin(list), saw: displayPlaces }),
  }),
  kind: choice(KINDS, 'post', {
    text: 'Items to watch. Default: post; with thread: comment.',
    part: 'where',
    label: 'Items',
    hint: 'For chosen threads the default is comments.',
    options: [
      ['', 'default: posts'],
      ['post', 'posts'],
      ['comment', 'comments'],
      ['both', 'posts and comments'],
    ],
    cost: 0,
    conflicts: (kind, has) =>
      kind === 'post' &&
      has('thread') &&
      'must be comment, both or left out beside thread, which names posts whose comments are watched',
    test: (kind) => (kind === 'both' ? null : { met: isOneOf([kind], kindOf), saw: kindOf }),
  }),
  include_any: terms({
    text: 'At least one of these occurs.',
    part: 'words',
    label: 'Any of these words or phrases',
    hint: 'One per line. One of them is enough.',
    fallback: 'any text',
    query: anyOf,
  }),
  include_all: terms({
    text: 'Every one of these occurs.',
    part: 'words',
    label: 'All of these',
    hint: 'One per line.',
    query: (all) => ({ ...anyOf(all), kind: 'and' }),
  }),
  exclude_terms: terms({
    text: 'None of these occurs. Exclusions win.',
    part: 'words',
    label: 'None of these',
    hint: 'One per line. Exclusions take precedence.',
    query: (all) => ({ kind: 'not', part: anyOf(all) }),
  }),
  q: field<string | null>(
    {
      absent: null,
      read: (it, { view }) => readText(it, Q_LENGTH_MAX, view),
      schema: () => z.string().min(1).max(Q_LENGTH_MAX),
      values: 'phrase or boolean query',
      widget: 'text',
    },
    {
      text: 'A phrase, or a boolean query: ("rate limit" OR throttl*) AND -hiring title:bun',
      part: 'words',
      label: 'Query',
      hint: 'Example: ("rate limit" OR throttl*) AND -hiring title:bun',
      fallback: 'none',
      query: (q, view) => parseQuery(q ?? '', view),
      cost: 3,
    },
  ),
  search_in: field<SearchField[]>(
    {
      absent: SEARCHED,
      read: (it) => readChoices(it, SEARCH_FIELDS),
      schema: () =>
        z
          .union([z.enum(SEARCH_FIELDS), z.array(z.enum(SEARCH_FIELDS)).min(1)])
          .default([...SEARCHED]),
      values: `list of ${listed(SEARCH_FIELDS)}`,
      widget: 'some',
    },
    {
      text: 'Where terms and patterns are looked for. A comment has no title; thread_title is that of its thread. Default: title, body, url.',
      part: 'text',
      label: 'Search in',
      hint: 'Default: title, body and url. A comment has no title, but that of its thread.',
      options: asOptions(SEARCH_FIELDS),
    },
  ),
  match: choice(MATCHES, 'word', {
    text: 'Whole words, or parts of them too.',
    part: 'text',
    label: 'Match',
    options: [
      ['', 'default: whole words'],
      ['word', 'whole words'],
      ['substring', 'parts of words too'],
    ],
  }),
  fold_accents: flag(false, {
    text: 'Ignores accents: cafe equals café.',
    part: 'text',
    label: 'Ignore accents (cafe matches café)',
  }),
  case_sensitive: flag(false, {
    text: 'Distinguishes IT from it.',
    part: 'text',
    label: 'Case-sensitive',
  }),
  regex: field<string[]>(
    {
      absent: NONE,
      read: readPatterns,
      schema: () => z.array(z.string().min(1).max(PATTERN_LENGTH_MAX)).max(PATTERNS_MAX),
      values: 'list of RE2 patterns',
      widget: 'lines',
    },
    {
      text: "Any of these patterns matches; RE2's syntax.",
      part: 'text',
      label: 'Regular expressions',
      hint: 'One per line, RE2 syntax. One match is enough.',
      fallback: 'none',
      cost: 4,
    },
  ),
  language: {
    ...choices(LANGUAGE_CODES, {
      text: 'ISO 639-1. An item whose language is unknown does not match.',
      part: 'text',
      label: 'Languages',
      hint: 'ISO 639-1 codes, such as en de.',
      fallback: 'every language',
      widget: 'names',
      test: isIn(languageOf),
      cost: 6,
    }),
    values: 'list of ISO 639-1 codes',
  },
  author: names('names', users, {
    text: 'By one of these.',
    part: 'names',
    label: 'Authors',
    fallback: 'everyone',
    test: oneOf(authorOf),
  }),
  exclude_authors: names(
    'names',
    users,
    {
      text: 'By none of these.',
      part: 'names',
      label: 'Exclude authors',
      fallback: 'none',
      test: noneOf(authorOf),
    },
    0,
  ),
  exclude_subforums: names(
    'names',
    places,
    {
      text: 'Not in these; the whole platform only.',
      part: 'names',
      label: ({ communities }) => `Exclude ${communities}`,
      hint: ({ community }) => `Only if ${community} is empty.`,
      fallback: 'none',
      conflicts: (list, has, { community }) =>
        list.length > 0 &&
        has('subforum') &&
        `is for monitors of the whole platform; it must be left out beside ${community}`,
      test: (list) => {
        const isUnwanted = isWithin(list)
        // An item whose places are not all known comes again when they are.
        return { met: (it) => it[MORE_PLACES] !== null && !isUnwanted(it), saw: displayPlaces }
      },
    },
    0,
  ),
  thread: names('post ids', THREADS, {
    text: 'Comments under these posts, by id.',
    part: 'names',
    label: 'Comments under these posts',
    hint: 'Post ids.',
    fallback: 'every post',
    needs: { post: 'tree', comment: 'tree' },
    test: oneOf((it) => (it.kind === 'comment' ? it.post_id : null)),
  }),
  domain: names('hosts', DOMAINS, {
    text: 'Leads to one of these hosts, or to a host below it.',
    part: 'names',
    label: 'Link hosts',
    fallback: 'every host',
    test: (list) => ({ met: (it) => isUnder(it, list), saw: displayHosts }),
    cost: 2,
  }),
  exclude_domains: names(
    'hosts',
    DOMAINS,
    {
      text: 'Leads to none of these.',
      part: 'names',
      label: 'Exclude link hosts',
      fallback: 'none',
      test: (list) => ({ met: (it) => !isUnder(it, list), saw: displayHosts }),
      cost: 2,
    },
    0,
  ),
  post_type: choices(POST_TYPES, {
    text: 'Posts of one of these types.',
    part: 'item',
    label: 'Post type',
    ...isPost,
    test: (list) => ({
      met: (it) => typesOf(it).some((type) => list.includes(type)),
      saw: (it) => typesOf(it).join(', '),
    }),
  }),
  intent: choices(INTENTS, {
    text: 'The intent of the text, by rules, is one of these.',
    part: 'item',
    label: 'Intent',
    test: isIn((it) => soundOf(it).intent.tag),
    cost: 5,
  }),
  sentiment: choices(SENTIMENT_LABELS, {
    text: 'The tone of the text, by rules, is one of these.',
    part: 'item',
    label: 'Sentiment',
    test: isIn((it) => soundOf(it).sentiment.label),
    cost: 5,
  }),
  flair: names('texts', FLAIRS, {
    text: "One of these is the post's flair, whole; case ignored.",
    part: 'item',
    label: 'Flair is one of',
    hint: 'One per line.',
    fallback: 'any',
    widget: 'lines',
    ...isPost,
    test: oneOf(flairOf),
  }),
  exclude_flair: names(
    'texts',
    FLAIRS,
    {
      text: "None of these is the post's flair.",
      part: 'item',
      label: 'Flair is none of',
      hint: 'One per line.',
      fallback: 'none',
      widget: 'lines',
      test: noneOf(flairOf),
    },
    0,
  ),
  has_flair: flag(null, {
    text: 'True: only posts with a flair. False: only items without.',
    part: 'item',
    label: 'Has a flair',
    posts_only: (wanted) => wanted === true,
    conflicts: (wanted, has) =>
      wanted === false && has('flair') && 'must be true or left out beside flair',
    test: isFlag((it) => flairOf(it) !== '', flairOf),
  }),
  nsfw: flag(null, {
    text: 'True: adult content only. False: none of it, as far as the feed tells.',
    part: 'item',
    label: 'Adult content (NSFW)',
    // Feeds that do not mark adult comments leave the flag null, which counts as not adult.
    test: isFlag(
      (it) => it.over_18 === true,
      ({ over_18 }) => (over_18 === null ? 'unknown' : over_18 ? 'adult' : 'not adult'),
    ),
  }),
  min_score: integer(-COUNT_MAX, COUNT_MAX, 'number', {
    text: 'Reached while the item is fresh.',
    part: 'item',
    label: 'Minimum score',
    needs: { post: 'postsById', comment: 'nodesById' },
  }),
  min_comments: integer(0, COUNT_MAX, 'number', {
    text: 'Reached while the post is fresh.',
    part: 'item',
    label: 'Minimum comments',
    posts_only: (count) => count !== null,
    needs: { post: 'postsById' },
  }),
  min_relevance: integer(0, 100, '0 to 100', {
    text: 'Minimum of relevance.score × 100. Matches below it are listed as suppressed.',
    part: 'item',
    label: 'Minimum relevance',
    hint: '0 to 100. Matches below it are suppressed.',
  }),
  group: field<true | string | null>(
    {
      absent: null,
      read: readGroup,
      schema: () => z.union([z.boolean(), z.string().min(1).max(LABEL_LENGTH_MAX)]),
      values: '`true` or a label',
      widget: 'label',
    },
    {
      text: 'No condition: the matches of one poll travel together; a label names the bundle.',
      part: 'bundle',
      label: 'Bundle',
      hint: 'A label, or yes: the matches of one check are sent as one delivery.',
      fallback: 'one delivery per match',
    },
  ),
  group_window_s: integer(0, WINDOW_MAX_S, '0 to 3600', {
    text: 'No condition: seconds for which group collects. Default: one poll.',
    part: 'bundle',
    label: 'Collection window (seconds)',
    hint: '0 to 3600.',
    fallback: '0, the matches of one check',
    conflicts: (window_s, has) =>
      window_s !== null &&
      !has('group') &&
      'must be left out without group, which it makes collect for longer',
  }),
}

/** A validated filter. Empty lists and null are criteria that were not given. */
export type FilterSpec = {
  [K in keyof typeof FIELDS]: (typeof FIELDS)[K] extends Field<infer T> ? T : never
}

export type FilterField = keyof FilterSpec

const BY_NAME: Readonly<Record<string, Field<unknown>>> = FIELDS
const isField = (name: string): name is FilterField => Object.hasOwn(FIELDS, name)

/** The fields with what is known of them, in order. */
export const ENTRIES: readonly (readonly [FilterField, Field<unknown>])[] = Object.entries(
  BY_NAME,
).flatMap(([name, it]) => (isField(name) ? [[name, it] as const] : []))

/** Names of the fields of a filter_spec, in the order in which they are shown. */
export const FILTER_FIELDS: readonly FilterField[] = ENTRIES.map(([name]) => name)

export function wireName(name: string, words: Naming): string {
  if (name === 'subforum') return words.community
  return name === 'exclude_subforums' ? words.exclude_communities : name
}

/** The schema of a filter_spec for the OpenAPI document. `parseFilterSpec` decides what is accepted. */
export const filterSchema = (words: Naming) =>
  z
    .strictObject(
      Object.fromEntries(
        ENTRIES.map(([name, { schema, text }]) => {
          const shape = schema()
          const optional = shape instanceof z.ZodDefault ? shape : shape.optional()
          return [wireName(name, words), optional.describe(sentence(text, words))]
        }),
      ),
    )
    .meta({ title: 'Filter' })
    .describe(
      'The filter of a monitor. All given fields must match; at least one place or keyword is required.',
    )

/** The fields as the form of the dashboard shows them. `folded`: less common ones. */
export const filterForm = (
  words: Naming,
): { title: string; folded: boolean; fields: FormField[] }[] =>
  Object.entries(PARTS).map(([part, title]) => ({
    title,
    folded: part !== 'where' && part !== 'words',
    fields: ENTRIES.filter(([, it]) => it.part === part).map(
      ([name, { label, hint, fallback, widget, options, needs }]) => ({
        name: wireName(name, words),
        label: sentence(label, words),
        ...(hint !== undefined && { hint: sentence(hint, words) }),
        ...(fallback !== undefined && { fallback }),
        kind: widget,
        ...(options && widget !== 'names' && { options }),
        needs: [...new Set(Object.values(needs ?? {}))],
      }),
    ),
  }))

/** Rows of the table in docs/filters.md: field, value, meaning. */
export const filterTable = (words: Naming): string[][] =>
  ENTRIES.map(([name, { values, text }]) => [
    `\`${wireName(name, words)}\``,
    values,
    sentence(text, words),
  ])

const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1)

function isOneOf(list: string[], of: Of): Test['met'] {
  const wanted = new Set(list.map((it) => normalise(it)))
  const [only = ''] = wanted
  return wanted.size === 1 ? isOnly(only, of) : isAmong(wanted, of)
}

// A separate function, so that its closure holds nothing else of the filter. Most lists have one entry.
const isOnly =
  (name: string, of: Of): Test['met'] =>
  (item) =>
    of(item) === name

const isAmong =
  (wanted: ReadonlySet<string>, of: Of): Test['met'] =>
  (item) => {
    const value = of(item)
    return value !== null && wanted.has(value)
  }

function isWithin(list: string[]): Test['met'] {
  const wanted = new Set(list.map((it) => normalise(it)))
  const [only = ''] = wanted
  return wanted.size === 1 ? isOnlyPlace(only) : isAmongPlaces(wanted)
}

// Separate functions, so that their closures hold nothing else of the filter.
const isOnlyPlace =
  (name: string): Test['met'] =>
  (item) =>
    placesOf(item).includes(name)

const isAmongPlaces =
  (wanted: ReadonlySet<string>): Test['met'] =>
  (item) =>
    placesOf(item).some((place) => wanted.has(place))

// Thousands of filters read the same item in a row.
let latest: { item: Item; places: readonly string[] } | null = null

function placesOf(item: Item): readonly string[] {
  if (latest?.item !== item) latest = { item, places: placesOfItem(item) }
  return latest.places
}

const displayPlaces = (item: Item): string => placesOfItem(item).join(', ')

/** The types of a post; a crosspost also has the types of its original. Empty for a comment. */
function typesOf(item: Item): PostType[] {
  if (item.kind === 'comment') return []
  const { media_kind } = item
  const media_types: PostType[] =
    media_kind === 'gallery'
      ? ['gallery']
      : media_kind === 'video' || item.is_video
        ? ['video']
        : media_kind !== null
          ? ['image']
          : []
  const crosspost: PostType[] = item.is_crosspost ? ['crosspost'] : []
  if (media_types.length + crosspost.length > 0) return [...crosspost, ...media_types]
  return item.is_self || item.link_url === null ? ['self'] : ['link']
}

const hosts_by_item = new WeakMap<Item, readonly string[]>()

/** Hosts that an item links to, in lower case: its own link, links in its text, and the origin of a crosspost. */
function hostsOf(item: Item): readonly string[] {
  let hosts = hosts_by_item.get(item)
  if (hosts === undefined) {
    // A crosspost's own link leads to the original post; the host that the original linked is its domain.
    const own = item.kind === 'post' && item.domain !== null ? [item.domain.toLowerCase()] : []
    const linked = linksOf(item).map((it) => peerUrl(it)?.hostname ?? '')
    hosts_by_item.set(item, (hosts = [...new Set([...own, ...linked])].filter((it) => it !== '')))
  }
  return hosts
}

const isUnder = (item: Item, domains: readonly string[]): boolean =>
  hostsOf(item).some((host) =>
    domains.some((domain) => host === domain || host.endsWith(`.${domain}`)),
  )

const displayHosts = (item: Item): string => hostsOf(item).slice(0, 10).join(', ') || 'no link'
