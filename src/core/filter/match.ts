import { normalise, type View, viewOf } from '../base/form.ts'
import { type Item, MAIN, MORE_PLACES, placesOfItem } from '../forum/items.ts'
import type { PostType } from './fields.ts'
import type { Query, Term } from './query.ts'
import { ALL_SOURCES, type FilterSpec } from './spec.ts'
import { linksOf, occurs, occursIn, type SearchField, textOf, toWord, type Word } from './text.ts'

/**
 * Words that the index found in an item: the number of that item, and for each word, by number, the last item that
 * contained it. Word 0 counts as found in every item.
 */
export type TermHits = { item: number; hit_in: Uint32Array }

/** A word to search for. If the index covers it, only in items in which the index found it. */
type Probe = Word & { number: number; hits: TermHits }

/** Search options of a spec: how its terms are compared, and the fields for terms that name none. */
export type MatchOptions = {
  search_in: readonly SearchField[]
  view: View
  substring: boolean
  /** The index of words; absent: every word is searched for. */
  term_index?: TermIndex
}

/** The hits of an index, and the number of each word; 0 when the index does not cover it. */
export type TermIndex = { hits: TermHits; numberOf: (word: Word) => number }

export const matchOptionsOf = (spec: FilterSpec, term_index?: TermIndex): MatchOptions => ({
  search_in: spec.search_in,
  view: viewOf(spec),
  substring: spec.match === 'substring',
  ...(term_index && { term_index }),
})

const NO_HITS: TermHits = { item: 0, hit_in: new Uint32Array(1) }

/** A word that no index covers. */
const plainProbe = (word: Word): Probe => ({ ...word, number: 0, hits: NO_HITS })

const probeOf = (word: Word, { term_index }: MatchOptions): Probe =>
  term_index === undefined
    ? plainProbe(word)
    : { ...word, number: term_index.numberOf(word), hits: term_index.hits }

export const wordOf = ({ written, prefix }: Term, { view, substring }: MatchOptions): Word =>
  toWord(normalise(written, view), view, { prefix, substring })

/** The fields to search for a term: the one that it names, else those of the spec. */
export const searchFieldsOf = (
  { field }: Term,
  { search_in }: MatchOptions,
): readonly SearchField[] => (field === null ? search_in : [field])

function probeOccurs(probe: Probe, item: Item, fields: readonly SearchField[]): boolean {
  const { hits, number } = probe
  if (hits.hit_in[number] !== hits.item) return false
  for (const field of fields) if (occursIn(textOf(item, field, probe.view), probe)) return true
  return false
}

export function compileQuery(query: Query, options: MatchOptions): (item: Item) => boolean {
  switch (query.kind) {
    case 'term': {
      const fields = searchFieldsOf(query, options)
      const probe = probeOf(wordOf(query, options), options)
      return (item) => probeOccurs(probe, item, fields)
    }
    case 'not': {
      const test = compileQuery(query.part, options)
      return (item) => !test(item)
    }
    case 'and': {
      const tests = query.parts.map((it) => compileQuery(it, options))
      return (item) => tests.every((test) => test(item))
    }
    case 'or':
      return compileTermList(query.parts, options) ?? anyTested(query.parts, options)
  }
}

function anyTested(parts: readonly Query[], options: MatchOptions): (item: Item) => boolean {
  const tests = parts.map((it) => compileQuery(it, options))
  return (item) => tests.some((test) => test(item))
}

/** Most filters are a list of plain terms: one predicate covers all of them. */
function compileTermList(
  parts: readonly Query[],
  options: MatchOptions,
): ((item: Item) => boolean) | null {
  const terms = parts.filter((it): it is Term => it.kind === 'term' && it.field === null)
  if (terms.length < parts.length) return null
  return anyOccurs(toTermList(terms, options), options.search_in)
}

// A separate function, so that its closure holds nothing else of the filter.
const anyOccurs =
  (list: TermList, fields: readonly SearchField[]) =>
  (item: Item): boolean => {
    const { hits, numbers } = list
    for (let i = 0; i < numbers.length; i++) {
      if (hits.hit_in[numbers[i] ?? 0] !== hits.item) continue
      if (termOccurs(list, i, item, fields)) return true
    }
    return false
  }

/**
 * Words of one filter in parallel arrays, each by its number. Most of them do not occur in an item; the short array of
 * numbers shows that without fetching each word from memory.
 */
export type TermList = {
  hits: TermHits
  numbers: readonly number[]
  texts: readonly string[]
  /** The sides of each word that must be word boundaries. One entry when they are the same for all. */
  sides: readonly number[]
  view: View
}

export function toTermList(terms: readonly Term[], options: MatchOptions): TermList {
  const { term_index, view } = options
  const words = terms.map((it) => wordOf(it, options))
  const sides = words.map(sidesOf)
  const [some = 0] = sides
  return {
    hits: term_index?.hits ?? NO_HITS,
    numbers: words.map((it) => term_index?.numberOf(it) ?? 0),
    texts: words.map(({ text }) => text),
    sides: sides.every((it) => it === some) ? [some] : sides,
    view,
  }
}

/** True when the i-th of these words, which the index found in the item, occurs in one of these fields. */
export function termOccurs(
  { texts, sides, view }: TermList,
  i: number,
  item: Item,
  fields: readonly SearchField[],
): boolean {
  const text = texts[i] ?? ''
  const ends = sides[sides.length === 1 ? 0 : i] ?? 0
  for (const field of fields)
    if (occurs(textOf(item, field, view), text, (ends & LEFT) !== 0, (ends & RIGHT) !== 0))
      return true
  return false
}

const LEFT = 1
const RIGHT = 2
/** The sides of a word that must be word boundaries, as bits. */
export const sidesOf = ({ left, right }: Word): number => (left ? LEFT : 0) | (right ? RIGHT : 0)

/** One condition of a spec: its field, its test on an item, and the value of the item that it reads. */
export type Criterion = {
  field: keyof FilterSpec
  met: (item: Item) => boolean
  saw: (item: Item) => string
}

/** Conditions on place, author and kind. They are cheap, and therefore evaluated first. */
export function aboutOf(spec: FilterSpec): Criterion[] {
  const found: Criterion[] = []
  const add = (
    field: keyof FilterSpec,
    given: boolean,
    met: Criterion['met'],
    saw: Criterion['saw'],
  ) => void (given && found.push({ field, met, saw }))

  const { source } = spec
  const sources_given = source.length > 0 && !source.includes(ALL_SOURCES)
  add('source', sources_given, (it) => source.includes(sourceOf(it)), sourceOf)
  add('kind', spec.kind !== 'both', isOneOf([spec.kind], kindOf), kindOf)
  const { subforum, exclude_subforums: others } = spec
  add('subforum', subforum.length > 0, isWithin(subforum), displayPlaces)
  const isUnwanted = isWithin(others)
  // An item whose places are not all known comes again when they are.
  const isOutside = (it: Item) => it[MORE_PLACES] !== null && !isUnwanted(it)
  add('exclude_subforums', others.length > 0, isOutside, displayPlaces)
  oneOf('thread', spec.thread, (it) => (it.kind === 'comment' ? it.post_id : null))
  oneOf('author', spec.author, authorOf)
  noneOf('exclude_authors', spec.exclude_authors, authorOf)
  // Feeds that do not mark adult comments leave the flag null, which counts as not adult.
  add('nsfw', spec.nsfw !== null, (it) => (it.over_18 === true) === spec.nsfw, adultOf)
  const wantsType = (it: Item) => typesOf(it).some((type) => spec.post_type.includes(type))
  add('post_type', spec.post_type.length > 0, wantsType, (it) => typesOf(it).join(', '))
  add('has_flair', spec.has_flair !== null, (it) => hasFlair(it) === spec.has_flair, flairOf)
  oneOf('flair', spec.flair, flairOf)
  noneOf('exclude_flair', spec.exclude_flair, flairOf)
  add('domain', spec.domain.length > 0, (it) => isUnder(it, spec.domain), displayHosts)
  add(
    'exclude_domains',
    spec.exclude_domains.length > 0,
    (it) => !isUnder(it, spec.exclude_domains),
    displayHosts,
  )
  return found

  function oneOf(field: keyof FilterSpec, list: string[], of: (item: Item) => string | null) {
    add(field, list.length > 0, isOneOf(list, of), (it) => of(it) ?? 'none')
  }

  function noneOf(field: keyof FilterSpec, list: string[], of: (item: Item) => string | null) {
    const unwanted = isOneOf(list, of)
    add(
      field,
      list.length > 0,
      (it) => !unwanted(it),
      (it) => of(it) ?? 'none',
    )
  }
}

function isOneOf(list: string[], of: (item: Item) => string | null): Criterion['met'] {
  const names = new Set(list.map((it) => normalise(it)))
  const [only = ''] = names
  return names.size === 1 ? isOnly(only, of) : isAmong(names, of)
}

// A separate function, so that its closure holds nothing else of the filter. Most lists have one entry.
const isOnly =
  (name: string, of: (item: Item) => string | null): Criterion['met'] =>
  (item) =>
    of(item) === name

const isAmong =
  (names: ReadonlySet<string>, of: (item: Item) => string | null): Criterion['met'] =>
  (item) => {
    const value = of(item)
    return value !== null && names.has(value)
  }

function isWithin(list: string[]): Criterion['met'] {
  const names = new Set(list.map((it) => normalise(it)))
  const [only = ''] = names
  return names.size === 1 ? isOnlyPlace(only) : isAmongPlaces(names)
}

// Separate functions, so that their closures hold nothing else of the filter.
const isOnlyPlace =
  (name: string): Criterion['met'] =>
  (item) =>
    placesOf(item).includes(name)

const isAmongPlaces =
  (names: ReadonlySet<string>): Criterion['met'] =>
  (item) =>
    placesOf(item).some((place) => names.has(place))

// Thousands of filters read the same item in a row.
let latest: { item: Item; places: readonly string[] } | null = null

function placesOf(item: Item): readonly string[] {
  if (latest?.item !== item) latest = { item, places: placesOfItem(item) }
  return latest.places
}

const displayPlaces = (item: Item): string => placesOfItem(item).join(', ')

const sourceOf = (item: Item): string => item.source ?? MAIN

const kindOf = (item: Item): string => item.kind

const authorOf = (item: Item): string | null =>
  item.author === '[deleted]' ? null : normalise(item.author)

const adultOf = (item: Item): string =>
  item.over_18 === null ? 'unknown' : item.over_18 ? 'adult' : 'not adult'

const hasFlair = (item: Item): boolean => textOf(item, 'flair') !== ''
const flairOf = (item: Item): string => textOf(item, 'flair')

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
    const linked = linksOf(item).map((it) => URL.parse(it)?.hostname ?? '')
    hosts_by_item.set(item, (hosts = [...new Set([...own, ...linked])].filter((it) => it !== '')))
  }
  return hosts
}

const isUnder = (item: Item, domains: readonly string[]): boolean =>
  hostsOf(item).some((host) =>
    domains.some((domain) => host === domain || host.endsWith(`.${domain}`)),
  )

const displayHosts = (item: Item): string => hostsOf(item).slice(0, 10).join(', ') || 'no link'
