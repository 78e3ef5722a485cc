/** Seeded random numbers, and the plan of all posts and comments of a world. */

export type Random = () => number

/** Words that monitors match. They occur in titles and bodies only, never in links or names. */
export const KEYWORDS = ['grinder', 'kettle', 'roaster'] as const
/** Words close to a keyword: a match on one of them is a false match. */
const NEAR_WORDS = ['grinders', 'kettles', 'roasterish', 'regrinder']
const FILLERS = ['about', 'some', 'water', 'beans', 'morning', 'little', 'question', 'again', 'cup']
const AUTHORS = ['ann', 'bob', 'cleo', 'dora', 'emil', 'fay', 'gus', 'hal', 'ida', 'jon']
/** A row of a listing lies within reach only among its newest so many rows. */
export const REACH_ROWS = 1000

const FIRST_ID = 36 ** 6 + 4_000_000

type Edit = { readonly atMs: number; readonly words: readonly string[] }

/** A post or comment. Times are milliseconds after the start of its world, negative before it. */
export type Item = {
  readonly id: string
  readonly name: string
  readonly idNumber: number
  readonly kind: 'post' | 'comment'
  readonly place: string
  readonly author: string
  /** The fullname of the post under which a comment stands. */
  readonly thread: string | null
  readonly createdMs: number
  /** The time from which search, user listings, trees and lookups show it. */
  readonly visibleMs: number
  /** The time from which listings of its place show it; Infinity for never. */
  readonly placeMs: number
  readonly goneMs: number
  readonly words: readonly string[]
  readonly edit: Edit | null
  /** Why this item is special, for a reader of the report. */
  readonly note: string
}

/** A share of new items that is held back, and for how long. */
type Hold = { readonly share: number; readonly minMs: number; readonly maxMs: number }

export type PlaceSpec = {
  readonly name: string
  readonly postsPerS: number
  readonly commentsPerS: number
  readonly hold?: Hold
  /** Items that search and user listings show, and the place only so much later, or never. */
  readonly placeDelay?: Hold & { readonly neverShare: number }
  readonly matchShare?: number
  readonly editShare?: number
  readonly historyRows?: number
  /** Share of new items that their authors delete within the minute. */
  readonly deleteShare?: number
}

type BurstSpec = {
  readonly place: string
  readonly atMs: number
  readonly rows: number
  readonly overMs: number
  /** Each row becomes visible at a random time within this after its creation. */
  readonly lateMs: number
}

export type ContentSpec = {
  readonly places: readonly PlaceSpec[]
  readonly bursts: readonly BurstSpec[]
  /** Single posts at exact times, for findings that need one. */
  readonly pinned: readonly { place: string; createdMs: number; visibleMs: number; note: string }[]
  /** Listings in order of id, with created_utc jittered against it by up to so much. */
  readonly idJitterMs: number
}

/** A generator of numbers in [0, 1) that the seed decides (mulberry32). */
export const makeRandom = (seed: number): Random => {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}

/** A number in [0, 1) that depends on `parts` alone, so that two readers meet the same fault. */
export const hashUnit = (...parts: readonly (string | number)[]): number => {
  let hash = 0x811c9dc5
  for (const char of parts.join('|')) {
    hash = Math.imul(hash ^ (char.codePointAt(0) ?? 0), 0x01000193) >>> 0
  }
  return makeRandom(hash)()
}

export const pick = <T>(random: Random, from: readonly T[]): T => {
  const chosen = from[Math.floor(random() * from.length)]
  if (chosen === undefined) throw new Error('pick from an empty list')
  return chosen
}

const wordsOf = (random: Random, matchShare: number): string[] => {
  const words = [pick(random, FILLERS), pick(random, FILLERS)]
  if (random() < matchShare) words.push(pick(random, KEYWORDS))
  else if (random() < 0.1) words.push(pick(random, NEAR_WORDS))
  return words
}

type Draft = Omit<Item, 'id' | 'name' | 'idNumber'> & { readonly orderMs: number }

/** Times of a Poisson process of `perS` a second from `fromMs` to `untilMs`. */
const arrivals = (random: Random, perS: number, fromMs: number, untilMs: number): number[] => {
  const times: number[] = []
  if (perS <= 0) return times
  for (let at = fromMs; ;) {
    at += (-Math.log(1 - random()) / perS) * 1000
    if (at >= untilMs || times.length >= 40_000) return times
    times.push(Math.round(at))
  }
}

const delayOf = (random: Random, hold: Hold | undefined): number =>
  hold !== undefined && random() < hold.share
    ? hold.minMs + Math.floor(random() * (hold.maxMs - hold.minMs + 1))
    : 0

const draftsOfPlace = (random: Random, spec: PlaceSpec, untilMs: number): Draft[] => {
  const drafts: Draft[] = []
  const matchShare = spec.matchShare ?? 0.3
  for (const kind of ['post', 'comment'] as const) {
    const perS = kind === 'post' ? spec.postsPerS : spec.commentsPerS
    if (perS <= 0) continue
    const rows = spec.historyRows ?? 120
    const spanMs = Math.min((rows / perS) * 1000, 30 * 86_400_000)
    const past = Array.from({ length: rows }, () => -1000 - Math.floor(random() * spanMs))
    for (const createdMs of [...past, ...arrivals(random, perS, 0, untilMs)]) {
      const live = createdMs >= 0
      const heldMs = live ? delayOf(random, spec.hold) : 0
      const visibleMs = createdMs + heldMs
      const hidden = live ? delayOf(random, spec.placeDelay) : 0
      const never = hidden > 0 && random() < (spec.placeDelay?.neverShare ?? 0)
      const words = wordsOf(random, matchShare)
      const edited = live && heldMs === 0 && random() < (spec.editShare ?? 0)
      const plain = words.filter((word) => !KEYWORDS.some((keyword) => keyword === word))
      drafts.push({
        kind,
        place: spec.name,
        author: pick(random, AUTHORS),
        thread: kind === 'comment' ? `t3_${threadOf(spec.name, random() < 0.3 ? 0 : 1)}` : null,
        createdMs,
        orderMs: createdMs,
        visibleMs,
        placeMs: never ? Infinity : visibleMs + hidden,
        goneMs:
          live && spec.deleteShare !== undefined && random() < spec.deleteShare
            ? visibleMs + 2000 + Math.floor(random() * 40_000)
            : Infinity,
        words: edited ? plain : words,
        edit: edited
          ? {
              atMs: createdMs + 8000 + Math.floor(random() * 8000),
              words: [...plain, pick(random, KEYWORDS)],
            }
          : null,
        note: heldMs > 0 ? 'held' : hidden > 0 ? 'elsewhere-first' : edited ? 'edited' : '',
      })
    }
  }
  return drafts
}

/** The id of one of the two old threads of a place. Its form keeps it apart from counted ids. */
export const threadOf = (place: string, which: number): string =>
  (36 ** 5 + Math.floor(hashUnit('thread', place, which) * 36 ** 5)).toString(36)

/** All items of a world, in order of creation, the same for the same seed. */
export const planItems = (spec: ContentSpec, seed: number, untilMs: number): Item[] => {
  const random = makeRandom(seed)
  const drafts: Draft[] = []
  for (const place of spec.places) drafts.push(...draftsOfPlace(random, place, untilMs))
  for (const burst of spec.bursts) {
    if (burst.atMs >= untilMs) continue
    for (let row = 0; row < burst.rows; row += 1) {
      const createdMs = burst.atMs + Math.floor(random() * burst.overMs)
      const visibleMs = createdMs + Math.floor(random() * burst.lateMs)
      drafts.push(bareDraft(random, burst.place, createdMs, visibleMs, 0.2, 'burst'))
    }
  }
  for (const one of spec.pinned) {
    if (one.createdMs >= untilMs) continue
    drafts.push(bareDraft(random, one.place, one.createdMs, one.visibleMs, 1, one.note))
  }
  const jitterMs = spec.idJitterMs
  const ordered = drafts
    .map((draft) => ({ ...draft, orderMs: draft.orderMs + Math.floor(random() * jitterMs) }))
    .toSorted((a, b) => a.orderMs - b.orderMs)
  return ordered.map((draft, index) => {
    const idNumber = FIRST_ID + index * 7
    const id = idNumber.toString(36)
    return { ...draft, id, idNumber, name: `${draft.kind === 'post' ? 't3' : 't1'}_${id}` }
  })
}

const bareDraft = (
  random: Random,
  place: string,
  createdMs: number,
  visibleMs: number,
  matchShare: number,
  note: string,
): Draft => ({
  kind: 'post',
  place,
  author: pick(random, AUTHORS),
  thread: null,
  createdMs,
  orderMs: createdMs,
  visibleMs,
  placeMs: visibleMs,
  goneMs: Infinity,
  words: wordsOf(random, matchShare),
  edit: null,
  note,
})

/** The words of an item as the platform shows them at `atMs`. */
export const wordsAt = (item: Item, atMs: number): readonly string[] =>
  item.edit !== null && item.edit.atMs <= atMs ? item.edit.words : item.words

export type Searchable = {
  readonly words: readonly string[]
  readonly author: string
  readonly place: string
}

type Node =
  | { readonly type: 'and'; readonly parts: readonly Node[] }
  | { readonly type: 'or'; readonly parts: readonly Node[] }
  | { readonly type: 'not'; readonly part: Node }
  | { readonly type: 'word'; readonly field: string; readonly words: readonly string[] }

const TOKEN = /\(|\)|(?:[a-z]+:)?"[^"]*"|[^\s()]+/g
const MAX_TOKENS = 500

/** A test of items by `query`, which has the platform's syntax; an empty one finds nothing. */
export const parseSearch = (query: string): ((item: Searchable) => boolean) => {
  const tokens = (query.match(TOKEN) ?? []).slice(0, MAX_TOKENS)
  if (tokens.length === 0) return () => false
  let at = 0
  const either = (): Node => {
    const parts = [all()]
    while (tokens[at] === 'OR') {
      at += 1
      parts.push(all())
    }
    return { type: 'or', parts }
  }
  const all = (): Node => {
    const parts: Node[] = []
    while (at < tokens.length && tokens[at] !== ')' && tokens[at] !== 'OR') {
      if (tokens[at] === 'AND') at += 1
      else parts.push(one())
    }
    return { type: 'and', parts }
  }
  const one = (): Node => {
    const token = tokens[at] ?? ''
    at += 1
    if (token === 'NOT') return { type: 'not', part: one() }
    if (token === '(') {
      const inner = either()
      if (tokens[at] === ')') at += 1
      return inner
    }
    if (token.startsWith('-') && token.length > 1) {
      return { type: 'not', part: leaf(token.slice(1)) }
    }
    return leaf(token)
  }
  const root = either()
  return (item) => holds(root, item)
}

const leaf = (token: string): Node => {
  const colon = /^([a-z]+):(.*)$/s.exec(token)
  const text = (colon?.[2] ?? token).replaceAll('"', '').toLowerCase()
  return { type: 'word', field: colon?.[1] ?? '', words: text.split(/\s+/).filter(Boolean) }
}

const holds = (node: Node, item: Searchable): boolean => {
  if (node.type === 'and') return node.parts.every((part) => holds(part, item))
  if (node.type === 'or') return node.parts.some((part) => holds(part, item))
  if (node.type === 'not') return !holds(node.part, item)
  const wanted = node.words.join(' ')
  if (node.field === 'author') return item.author.toLowerCase() === wanted
  if (node.field === 'subreddit') return item.place.toLowerCase() === wanted
  return ` ${item.words.join(' ')} `.includes(` ${wanted} `)
}
