import type { PostType } from './filter-fields.ts'
import type { FilterSpec } from './filter-spec.ts'
import { linksOf, normalise, textOf } from './filter-text.ts'
import type { Item } from './items.ts'

/** One condition of a spec: the field it stands in, whether an item meets it, and what of the item it looked at. */
export type Criterion = {
  field: keyof FilterSpec
  met: (item: Item) => boolean
  saw: (item: Item) => string
}

/** Conditions on what an item is: where, whose, of which kind. Cheap, and therefore asked first. */
export function aboutOf(spec: FilterSpec): Criterion[] {
  const found: Criterion[] = []
  const add = (
    field: keyof FilterSpec,
    given: boolean,
    met: Criterion['met'],
    saw: Criterion['saw'],
  ) => void (given && found.push({ field, met, saw }))

  add('kind', spec.kind !== 'both', isOneOf([spec.kind], kindOf), kindOf)
  oneOf('subforum', spec.subforum, placeOf)
  noneOf('exclude_subforums', spec.exclude_subforums, placeOf)
  oneOf('thread', spec.thread, (it) => (it.kind === 'comment' ? it.post_id : null))
  oneOf('author', spec.author, authorOf)
  noneOf('exclude_authors', spec.exclude_authors, authorOf)
  // Where the feed does not tell of a comment, it is not known to be adult.
  add('nsfw', spec.nsfw !== null, (it) => (it.over_18 === true) === spec.nsfw, adultOf)
  const wantsType = (it: Item) => typesOf(it).some((type) => spec.post_type.includes(type))
  add('post_type', spec.post_type.length > 0, wantsType, (it) => typesOf(it).join(', '))
  add('has_flair', spec.has_flair !== null, (it) => hasFlair(it) === spec.has_flair, flairOf)
  oneOf('flair', spec.flair, flairOf)
  noneOf('exclude_flair', spec.exclude_flair, flairOf)
  add('domain', spec.domain.length > 0, (it) => isUnder(it, spec.domain), shownHosts)
  add(
    'exclude_domains',
    spec.exclude_domains.length > 0,
    (it) => !isUnder(it, spec.exclude_domains),
    shownHosts,
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

// Apart, so that a question keeps nothing else of the filter. Most lists hold one.
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

const placeOf = (item: Item): string => item.subforum.toLowerCase()

const kindOf = (item: Item): string => item.kind

const authorOf = (item: Item): string | null =>
  item.author === '[deleted]' ? null : item.author.toLowerCase()

const adultOf = (item: Item): string =>
  item.over_18 === null ? 'not told' : item.over_18 ? 'adult' : 'not adult'

const hasFlair = (item: Item): boolean => textOf(item, 'flair') !== ''
const flairOf = (item: Item): string => textOf(item, 'flair')

/** What a post is; a crosspost is also what it brings along. None for a comment. */
function typesOf(item: Item): PostType[] {
  if (item.kind === 'comment') return []
  const { media_kind } = item
  const shows: PostType[] =
    media_kind === 'gallery'
      ? ['gallery']
      : media_kind === 'video' || item.is_video
        ? ['video']
        : media_kind !== null
          ? ['image']
          : []
  const crosspost: PostType[] = item.is_crosspost ? ['crosspost'] : []
  if (shows.length + crosspost.length > 0) return [...crosspost, ...shows]
  return item.is_self || item.link_url === null ? ['self'] : ['link']
}

const known = new WeakMap<Item, readonly string[]>()

/** Hosts that an item leads to, in lower case: its link's, those in its text, a crosspost's origin's. */
function hostsOf(item: Item): readonly string[] {
  let hosts = known.get(item)
  if (hosts === undefined) {
    // A crosspost's own link leads to the post it was taken from; what that one linked is its domain.
    const own = item.kind === 'post' && item.domain !== null ? [item.domain.toLowerCase()] : []
    const linked = linksOf(item).map((it) => URL.parse(it)?.hostname ?? '')
    known.set(item, (hosts = [...new Set([...own, ...linked])].filter((it) => it !== '')))
  }
  return hosts
}

const isUnder = (item: Item, domains: readonly string[]): boolean =>
  hostsOf(item).some((host) =>
    domains.some((domain) => host === domain || host.endsWith(`.${domain}`)),
  )

const shownHosts = (item: Item): string => hostsOf(item).slice(0, 10).join(', ') || 'no link'
