/**
 * The platform as one answer at a time: which rows a request made at an instant is shown, and which
 * misbehaviour it meets. Everything is a function of the seed, the request and the instant, so that
 * the server and the naive stream live in the same world.
 */
import { hashUnit, parseSearch, REACH_ROWS, wordsAt } from './plan.ts'
import type { ContentSpec, Item } from './plan.ts'

export type Fault =
  | 'blank'
  | 'truncated'
  | 'reset'
  | 'block'
  | 'error503'
  | 'limited'
  | 'limitedRetryAfter'
  | 'limitedLong'

type Window = { readonly fromMs: number; readonly untilMs: number }

/** One misbehaviour of the platform during a window of time. */
export type Condition = Window &
  (
    | { readonly type: 'closed'; readonly place: string; readonly as: 'private' | 'banned' }
    | { readonly type: 'missing'; readonly place: string }
    | {
        readonly type: 'lag'
        readonly place: string
        readonly lagMs: number
        readonly alone: boolean
      }
    | { readonly type: 'replicas'; readonly lagsMs: readonly number[] }
    | { readonly type: 'stale'; readonly periodMs: number }
    | { readonly type: 'fault'; readonly fault: Fault; readonly share: number }
    /** The first `count` requests for content after `fromMs`, of one account or of any. */
    | {
        readonly type: 'once'
        readonly fault: Fault
        readonly count: number
        readonly account: number | null
      }
    | { readonly type: 'unreachable'; readonly how: 'refuse' | 'reset' }
    | { readonly type: 'earlyEnd'; readonly share: number }
    | { readonly type: 'restart'; readonly share: number }
    | { readonly type: 'repeat'; readonly share: number; readonly rows: number }
    | { readonly type: 'short'; readonly share: number }
    /** An account that sees held rows of a place, with their marks. */
    | { readonly type: 'moderates'; readonly account: number; readonly place: string }
    /** An account whose listings lack the rows of these authors. */
    | { readonly type: 'blocks'; readonly account: number; readonly authors: readonly string[] }
    /** No session counts: me has no name, and listings are those of anyone. */
    | { readonly type: 'readOnly' }
    /** 403 for a User-Agent without a browser's words. */
    | { readonly type: 'browsersOnly' }
  )

export type World = {
  readonly seed: number
  readonly startMs: number
  readonly content: ContentSpec
  readonly items: readonly Item[]
  readonly byName: ReadonlyMap<string, Item>
  readonly conditions: readonly Condition[]
  /** The answer to a merged request when one of its places is closed. */
  readonly mergedRefusal: 'drop' | 'refuse'
  readonly orderById: boolean
  readonly lists: Map<string, Item[]>
}

export type Feed =
  | {
      readonly type: 'places'
      readonly places: readonly string[]
      readonly kind: 'post' | 'comment'
    }
  | { readonly type: 'search'; readonly query: string }
  | {
      readonly type: 'user'
      readonly author: string
      readonly kind: 'post' | 'comment' | 'both'
    }
  | { readonly type: 'thread'; readonly thread: string }

export type Page = {
  readonly limit: number
  readonly after: string | null
  readonly before: string | null
}

export type Answer = {
  /** 200, or the error status of the whole request. */
  readonly status: 200 | 302 | 403 | 404
  readonly reason: string
  readonly rows: readonly Item[]
  readonly after: string | null
}

const REFUSED = { rows: [], after: null }

/** The second of creation, as `created_utc` tells it. */
export const createdS = (world: World, item: Item): number =>
  Math.floor((world.startMs + item.createdMs) / 1000)

export const feedKey = (feed: Feed): string => {
  if (feed.type === 'places') return `${feed.kind}s:${feed.places.toSorted().join('+')}`
  if (feed.type === 'search') return `search:${feed.query}`
  return feed.type === 'user' ? `user_${feed.kind}s:${feed.author}` : `thread:${feed.thread}`
}

export const belongsTo = (feed: Feed): ((item: Item, atMs: number) => boolean) => {
  if (feed.type === 'places') {
    const places = new Set(feed.places)
    return (item) => item.kind === feed.kind && places.has(item.place)
  }
  if (feed.type === 'user') {
    return (item) =>
      (feed.kind === 'both' || item.kind === feed.kind) && item.author === feed.author
  }
  if (feed.type === 'thread') return (item) => item.thread === feed.thread
  const holds = parseSearch(feed.query)
  return (item, atMs) =>
    item.kind === 'post' &&
    holds({ words: wordsAt(item, atMs), author: item.author, place: item.place })
}

/** All items that a feed could ever show, newest first, from a cache. */
const listOf = (world: World, feed: Feed): Item[] => {
  const key = feed.type === 'search' ? 'search' : feedKey(feed)
  const known = world.lists.get(key)
  if (known !== undefined) return known
  const belongs = belongsTo(feed)
  const list = world.items
    .filter((item) => (feed.type === 'search' ? item.kind === 'post' : belongs(item, Infinity)))
    .toSorted((a, b) =>
      world.orderById
        ? b.idNumber - a.idNumber
        : createdS(world, b) - createdS(world, a) || b.idNumber - a.idNumber,
    )
  world.lists.set(key, list)
  return list
}

export const conditionsAt = (world: World, atMs: number): Condition[] =>
  world.conditions.filter((one) => one.fromMs <= atMs && atMs < one.untilMs)

/** The time from which a feed that is not lagging shows an item. */
const shownFromMs = (feed: Feed, item: Item): number =>
  feed.type === 'places' ? item.placeMs : item.visibleMs

/** Tests whether moderators alone see an item. */
export const isHeld = (item: Item, atMs: number): boolean =>
  item.note.startsWith('held') && item.createdMs <= atMs && atMs < item.visibleMs

/** The answer to a readable request for a feed at `atMs`. `draw` makes requests differ. */
export const answerListing = (
  world: World,
  feed: Feed,
  page: Page,
  atMs: number,
  draw: string,
  viewer: number | null = null,
): Answer => {
  const active = conditionsAt(world, atMs)
  const moderated = new Set<string>()
  const blocked = new Set<string>()
  for (const one of active) {
    if (one.type === 'moderates' && one.account === viewer) moderated.add(one.place)
    if (one.type === 'blocks' && one.account === viewer)
      for (const author of one.authors) blocked.add(author)
  }
  const merged = feed.type === 'places' && feed.places.length > 1
  const closed = new Map<string, string>()
  const missing = new Set<string>()
  const lags = new Map<string, number>()
  let viewMs = atMs
  for (const one of active) {
    if (one.type === 'closed') closed.set(one.place, one.as)
    if (one.type === 'missing' && merged) missing.add(one.place)
    if (one.type === 'lag' && (merged || one.alone)) lags.set(one.place, one.lagMs)
    if (one.type === 'stale') viewMs = Math.floor(viewMs / one.periodMs) * one.periodMs
    if (one.type === 'replicas') {
      const which = Math.floor(hashUnit(world.seed, 'replica', draw) * one.lagsMs.length)
      viewMs -= one.lagsMs[which] ?? 0
    }
  }
  if (feed.type === 'places') {
    const shut = feed.places.find((place) => closed.has(place))
    if (shut !== undefined && (!merged || world.mergedRefusal === 'refuse')) {
      const reason = closed.get(shut) ?? ''
      return { status: reason === 'banned' ? 404 : 403, reason, ...REFUSED }
    }
  }
  const belongs = belongsTo(feed)
  const shown = (item: Item): boolean => {
    if (closed.has(item.place) || missing.has(item.place)) return false
    const seenMs = viewMs - (feed.type === 'places' ? (lags.get(item.place) ?? 0) : 0)
    if (blocked.has(item.author)) return false
    if (moderated.has(item.place) && item.createdMs <= seenMs && isHeld(item, seenMs))
      return belongs(item, seenMs)
    return shownFromMs(feed, item) <= seenMs && seenMs < item.goneMs && belongs(item, seenMs)
  }
  const anchor = page.after === null ? undefined : world.byName.get(page.after)
  if (anchor !== undefined && closed.has(anchor.place))
    return { status: 403, reason: closed.get(anchor.place) ?? '', ...REFUSED }
  return pageOf(world, listOf(world, feed).filter(shown), page, active, draw)
}

const pageOf = (
  world: World,
  list: readonly Item[],
  page: Page,
  active: readonly Condition[],
  draw: string,
): Answer => {
  const rows = list.slice(0, REACH_ROWS)
  if (page.before !== null) {
    const end = rows.findIndex((item) => item.name === page.before)
    // A row that vanished leaves nothing to look before: the platform answers an empty listing.
    const newer = end < 0 ? [] : rows.slice(Math.max(0, end - page.limit), end)
    return { status: 200, reason: '', rows: newer, after: newer.at(-1)?.name ?? null }
  }
  let start = 0
  if (page.after !== null) {
    const at = rows.findIndex((item) => item.name === page.after)
    // An anchor that has left the query, as when its author deleted it, leaves nothing to go on from.
    if (at < 0 && world.byName.has(page.after))
      return { status: 200, reason: '', rows: [], after: null }
    start = at + 1
  }
  let limit = page.limit
  let ended = false
  for (const one of active) {
    if (!('share' in one) || one.type === 'fault') continue
    if (hashUnit(world.seed, one.type, draw) >= one.share) continue
    const part = hashUnit(world.seed, one.type, 'part', draw)
    if (one.type === 'restart' && page.after !== null) start = 0
    if (one.type === 'repeat' && page.after !== null) start = Math.max(0, start - one.rows)
    if (one.type === 'short') limit = Math.max(1, Math.floor(limit * (0.5 + part / 2)))
    if (one.type === 'earlyEnd') {
      limit = Math.max(1, Math.floor(limit * (0.2 + part * 0.8)))
      ended = true
    }
  }
  const shown = rows.slice(start, start + limit)
  const more = start + limit < rows.length && !ended
  return { status: 200, reason: '', rows: shown, after: more ? (shown.at(-1)?.name ?? null) : null }
}

/** The faults that may meet a request at `atMs`, before anything is read. `spent` counts the single ones. */
export const faultAt = (
  world: World,
  atMs: number,
  draw: string,
  account: number,
  spent: Map<Condition, number>,
): Fault | null => {
  for (const one of world.conditions) {
    if (one.type === 'once' && one.fromMs <= atMs && atMs < one.untilMs) {
      const used = spent.get(one) ?? 0
      if (used >= one.count || (one.account !== null && one.account !== account)) continue
      spent.set(one, used + 1)
      return one.fault
    }
    if (one.type !== 'fault' || atMs < one.fromMs || atMs >= one.untilMs) continue
    if (hashUnit(world.seed, 'fault', one.fault, draw) < one.share) return one.fault
  }
  return null
}

export const isUnreachable = (world: World, atMs: number): 'refuse' | 'reset' | null => {
  const one = conditionsAt(world, atMs).find((condition) => condition.type === 'unreachable')
  return one?.type === 'unreachable' ? one.how : null
}

export type Span = readonly [number, number]

/** `span` without `holes`, in order. */
const without = (span: Span, holes: readonly Span[]): Span[] => {
  let left: Span[] = [span]
  for (const [from, until] of holes) {
    left = left.flatMap(([a, b]): Span[] =>
      until <= a || b <= from
        ? [[a, b]]
        : ([
            [a, Math.min(b, from)],
            [Math.max(a, until), b],
          ] satisfies Span[]),
    )
  }
  return left.filter(([from, until]) => until > from)
}

/**
 * The spans of time in which `feed`, asked by itself, shows `item` within its newest 1,000 rows,
 * by the most cautious reading: the slowest copy, no closed place, no time in which the platform
 * gave no answer, and none of `down`, in which the daemon was not running.
 */
export const observableSpans = (
  world: World,
  feed: Feed,
  item: Item,
  fromMs: number,
  endMs: number,
  down: readonly Span[],
): Span[] => {
  const list = listOf(world, feed)
  const above = list.indexOf(item)
  if (above < 0) return []
  let goneMs = Math.min(endMs, item.goneMs)
  if (above >= REACH_ROWS) {
    const belongs = belongsTo(feed)
    const times = list
      .slice(0, above)
      .filter((other) => belongs(other, other.visibleMs))
      .map((other) => shownFromMs(feed, other))
      .toSorted((a, b) => a - b)
    goneMs = Math.min(goneMs, times[REACH_ROWS - 1] ?? Infinity)
  }
  let delayMs = 0
  const holes: Span[] = [...down]
  for (const one of world.conditions) {
    const touches = one.fromMs < goneMs && one.untilMs > item.createdMs
    if (!touches) continue
    const hole: Span = [one.fromMs, one.untilMs]
    if (one.type === 'closed' && one.place === item.place) holes.push(hole)
    if (one.type === 'readOnly' || one.type === 'browsersOnly') holes.push(hole)
    if (one.type === 'unreachable' || (one.type === 'fault' && one.share > 0.8)) holes.push(hole)
    if (one.type === 'replicas') delayMs = Math.max(delayMs, ...one.lagsMs)
    if (one.type === 'stale') delayMs = Math.max(delayMs, one.periodMs)
    if (one.type === 'lag' && one.alone && one.place === item.place) {
      delayMs = Math.max(delayMs, one.lagMs)
    }
  }
  const begin = Math.max(fromMs, shownFromMs(feed, item)) + delayMs
  return begin < goneMs ? without([begin, goneMs], holes) : []
}

/** A feed and when its naive stream begins. */
export type NaiveFeed = { readonly feed: Feed; readonly fromMs: number }

export type NaiveResult = {
  readonly requests: number
  /** Names of the items that the stream of a feed yielded, by the feed's key. */
  readonly yielded: ReadonlyMap<string, ReadonlySet<string>>
  /** Rows yielded again because their id had been forgotten. */
  readonly repeated: number
}

const PAGE_ROWS = 100
const REMEMBERED = 301

/**
 * A stream per feed from its `fromMs` to `endMs` in the very same world, with its faults. It is
 * down whenever the daemon was, and keeps what it remembers. A bad answer costs it that turn.
 */
export const simulateNaive = (
  world: World,
  feeds: readonly NaiveFeed[],
  cadenceMs: number,
  endMs: number,
  down: readonly Span[],
): NaiveResult => {
  const yielded = new Map<string, Set<string>>()
  const remembered = new Map<string, Set<string>>()
  const turns: { atMs: number; feed: Feed; key: string }[] = []
  for (const { feed, fromMs } of feeds) {
    const key = feedKey(feed)
    yielded.set(key, new Set())
    remembered.set(key, new Set())
    for (let atMs = fromMs; atMs < endMs; atMs += cadenceMs) turns.push({ atMs, feed, key })
  }
  turns.sort((a, b) => a.atMs - b.atMs)
  const spent = new Map<Condition, number>()
  let requests = 0
  let repeated = 0
  for (const [index, { atMs, feed, key }] of turns.entries()) {
    if (down.some(([from, until]) => from <= atMs && atMs < until)) continue
    requests += 1
    if (isUnreachable(world, atMs) !== null) continue
    const draw = `naive ${index}`
    if (faultAt(world, atMs, draw, 0, spent) !== null) continue
    const limit = feed.type === 'thread' ? 500 : PAGE_ROWS
    const { rows } = answerListing(world, feed, { limit, after: null, before: null }, atMs, draw)
    const memory = remembered.get(key) ?? new Set<string>()
    const all = yielded.get(key) ?? new Set<string>()
    for (const { name } of rows.toReversed()) {
      if (memory.has(name)) continue
      if (all.has(name)) repeated += 1
      all.add(name)
      memory.add(name)
      const [oldest] = memory
      if (memory.size > REMEMBERED && oldest !== undefined) memory.delete(oldest)
    }
  }
  return { requests, yielded, repeated }
}
