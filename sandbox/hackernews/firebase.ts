import { json, type SandboxResponse } from '../server/response.ts'
import type { SourceCall } from '../sources/source.ts'
import { isItemAnswered, liveComments, type NewsItem, type NewsWorld } from './model.ts'

/** Call to the site. */
export type NewsCall = SourceCall<NewsWorld>

/** Answer with JSON; indented with `print=pretty`. A missing value is `null`. */
export const firebaseJson = (
  { query }: NewsCall,
  value: unknown,
  status = 200,
): SandboxResponse => {
  const answer = json(
    JSON.stringify(value ?? null, null, query.get('print') === 'pretty' ? 2 : 0),
    status,
  )
  return { ...answer, headers: { ...answer.headers, 'cache-control': 'no-cache' } }
}

const seconds = (at: number) => Math.floor(at / 1000)
const DELAYED = '[delayed]'

/** Fields without `undefined`, in alphabetical order, as the database keeps them. */
const sorted = (fields: Record<string, unknown>) =>
  Object.fromEntries(
    Object.entries(fields)
      .filter(([, value]) => value !== undefined && value !== null)
      .toSorted(([one], [other]) => (one < other ? -1 : 1)),
  )

function itemFields(call: NewsCall, item: NewsItem) {
  const { id, type } = item
  const time = seconds(item.time)
  const parent = type === 'pollopt' ? undefined : item.parent?.id
  if (item.deleted) return sorted({ id, type, time, parent, deleted: true })
  const kids = item.kids
    .filter((kid) => isItemAnswered(kid, call.now, call.as_of))
    .map((kid) => kid.id)
  const is_delayed = item.delayed_until > call.now || call.fault?.fault === 'delayed'
  const is_post = item.parent === null
  return sorted({
    id,
    type,
    time,
    parent,
    by: item.by.id,
    text: is_delayed ? DELAYED : item.text,
    title: item.title,
    url: item.url,
    score: type === 'comment' ? undefined : item.score,
    descendants: is_post && type !== 'job' ? liveComments(item, call.now) : undefined,
    kids: kids.length > 0 ? kids : undefined,
    parts: item.parts.length > 0 ? item.parts.map((part) => part.id) : undefined,
    poll: type === 'pollopt' ? item.parent?.id : undefined,
    dead: item.dead ? true : undefined,
  })
}

/** `GET /v0/item/{id}.json` */
export function itemShow(call: NewsCall, id: string): SandboxResponse {
  const item = call.world.items.get(Number(id))
  const found = item !== undefined && isItemAnswered(item, call.now, call.as_of)
  return firebaseJson(
    call,
    found && call.fault?.fault !== 'null_item' ? itemFields(call, item) : null,
  )
}

/** `GET /v0/maxitem.json`: ahead of the items that are answered. */
export function maxItem(call: NewsCall): SandboxResponse {
  const { world, as_of } = call
  if (as_of === Infinity) return firebaseJson(call, world.max_id)
  const known = [...world.items.values()].filter(({ time }) => time <= as_of)
  return firebaseJson(call, Math.max(0, ...known.map(({ id }) => id)))
}

const posts = ({ world, as_of }: NewsCall) =>
  [...world.items.values()].filter(
    (item) =>
      item.parent === null && !item.dead && !item.deleted && Math.max(item.time, 0) <= as_of,
  )

const HOUR_MS = 3_600_000
const heat = (item: NewsItem, now: number) =>
  (item.score - 1) / ((now - item.time) / HOUR_MS + 2) ** 1.8

type List = {
  most: number
  fits(item: NewsItem): boolean
  rank(item: NewsItem, now: number): number
}

const isStory = ({ type }: NewsItem) => type === 'story' || type === 'poll'
const titled = (prefix: string) => (item: NewsItem) =>
  isStory(item) && item.title?.startsWith(prefix) === true
const newest = ({ id }: NewsItem) => id

const LISTS: Record<string, List> = {
  topstories: { most: 500, fits: () => true, rank: heat },
  beststories: { most: 200, fits: isStory, rank: ({ score }) => score },
  newstories: { most: 500, fits: isStory, rank: newest },
  askstories: { most: 200, fits: titled('Ask HN:'), rank: heat },
  showstories: { most: 200, fits: titled('Show HN:'), rank: heat },
  jobstories: { most: 200, fits: ({ type }) => type === 'job', rank: newest },
}

/** `GET /v0/{list}.json`: ids, also of items that are not answered yet. Null: no such list. */
export function storyList(call: NewsCall, name: string): SandboxResponse {
  const list = Object.hasOwn(LISTS, name) ? LISTS[name] : undefined
  if (list === undefined) return firebaseJson(call, null)
  const ids = posts(call)
    .filter(list.fits)
    .toSorted(
      (one, other) => list.rank(other, call.now) - list.rank(one, call.now) || other.id - one.id,
    )
    .slice(0, list.most)
    .map(({ id }) => id)
  return firebaseJson(call, ids)
}

const UPDATES_WINDOW_MS = 60_000
const MOST_UPDATES = 100

/** `GET /v0/updates.json`: changed in the last minute; a window without a cursor. */
export function updates(call: NewsCall): SandboxResponse {
  const since = call.now - UPDATES_WINDOW_MS
  const changed = <T extends { changed_at: number }>(all: Iterable<T>) =>
    [...all]
      .filter(({ changed_at }) => changed_at > since)
      .toSorted((one, other) => other.changed_at - one.changed_at)
      .slice(0, MOST_UPDATES)
  return firebaseJson(call, {
    items: changed(call.world.items.values())
      .filter((item) => isItemAnswered(item, call.now, call.as_of))
      .map(({ id }) => id),
    profiles: changed(call.world.users.values()).map(({ id }) => id),
  })
}

/** `GET /v0/user/{id}.json`; null for a user without public activity. */
export function newsProfile(call: NewsCall, name: string): SandboxResponse {
  const user = call.world.users.get(name)
  const submitted =
    user?.submitted.filter((item) => isItemAnswered(item, call.now, call.as_of)) ?? []
  if (user === undefined || submitted.length === 0) return firebaseJson(call, null)
  return firebaseJson(
    call,
    sorted({
      id: user.id,
      created: seconds(user.created),
      karma: user.karma,
      about: user.about === '' ? undefined : user.about,
      submitted: submitted.map(({ id }) => id).toReversed(),
    }),
  )
}
