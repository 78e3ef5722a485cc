import { createRateWindows, type RateWindows } from '../sources/rate.ts'
import type { SourceWorld } from '../sources/source.ts'
import type { SeededRandom } from '../world/random.ts'

/** Item of the site. Times are epoch ms. */
export type NewsItem = {
  id: number
  type: 'story' | 'comment' | 'job' | 'poll' | 'pollopt'
  by: NewsUser
  time: number
  /** HTML; null: none. */
  text: string | null
  title: string | null
  url: string | null
  score: number
  parent: NewsItem | null
  /** Post at the root; null for a post itself. */
  root: NewsItem | null
  kids: NewsItem[]
  /** Options of a poll. */
  parts: NewsItem[]
  deleted: boolean
  dead: boolean
  /** The text is withheld until then. */
  delayed_until: number
  /** `null` is answered until then; Infinity: for ever. */
  visible_at: number
  changed_at: number
}

/** User of the site. */
export type NewsUser = {
  id: string
  created: number
  karma: number
  about: string
  /** Newest last. */
  submitted: NewsItem[]
  changed_at: number
}

export type NewsWorld = SourceWorld & {
  items: Map<number, NewsItem>
  /** By name; names are case-sensitive. */
  users: Map<string, NewsUser>
  /** Highest id that was given, `maxitem`. */
  max_id: number
  rates: RateWindows
  settings: { search_per_hour: number }
}

const FIRST_ID = 48_200_000

/** Empty site. */
export function createNewsWorld(random: SeededRandom, now: () => number): NewsWorld {
  const world: NewsWorld = {
    random,
    now,
    size: () => world.items.size,
    items: new Map(),
    users: new Map(),
    max_id: FIRST_ID,
    rates: createRateWindows(),
    settings: { search_per_hour: 10_000 },
  }
  return world
}

/** User by name; created on first use. */
export function newsUser(world: NewsWorld, name: string): NewsUser {
  const known = world.users.get(name)
  if (known !== undefined) return known
  const user: NewsUser = {
    id: name,
    created: world.now() - 800 * 86_400_000,
    karma: 1,
    about: '',
    submitted: [],
    changed_at: 0,
  }
  world.users.set(name, user)
  return user
}

/** Item to add. */
export type NewsPlan = { type: NewsItem['type']; by: NewsUser } & Partial<
  Omit<NewsItem, 'id' | 'type' | 'by' | 'root' | 'kids' | 'parts'>
>

/** Adds an item with the next id. */
export function addNewsItem(world: NewsWorld, plan: NewsPlan): NewsItem {
  const time = plan.time ?? world.now()
  const parent = plan.parent ?? null
  const item: NewsItem = {
    id: ++world.max_id,
    time,
    text: null,
    title: null,
    url: null,
    score: 1,
    parent: null,
    deleted: false,
    dead: false,
    delayed_until: 0,
    visible_at: time,
    changed_at: time,
    ...plan,
    root: parent?.root ?? parent,
    kids: [],
    parts: [],
  }
  if (parent !== null) {
    if (item.type === 'pollopt') parent.parts.push(item)
    else parent.kids.unshift(item)
    parent.changed_at = time
    if (parent.root !== null) parent.root.changed_at = time
  }
  world.items.set(item.id, item)
  item.by.submitted.push(item)
  item.by.changed_at = time
  return item
}

/** True if the item is answered at an instant, not by `null`. */
export const isItemAnswered = (
  { visible_at, time }: NewsItem,
  now: number,
  as_of: number,
): boolean => visible_at <= now && Math.max(visible_at, time) <= as_of

/** Comments below a story that readers see. */
export const liveComments = (item: NewsItem, now: number): number =>
  item.kids.reduce(
    (total, kid) =>
      total + (kid.deleted || kid.dead || kid.visible_at > now ? 0 : 1) + liveComments(kid, now),
    0,
  )
