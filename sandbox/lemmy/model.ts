import { createRateWindows, type RateWindows } from '../sources/rate.ts'
import type { SourceWorld } from '../sources/source.ts'
import type { SeededRandom } from '../world/random.ts'

/** Account, of this instance or of another one. Times are epoch ms. */
export type Person = {
  id: number
  name: string
  display_name: string | null
  bio: string | null
  /** Host of its instance; null: this one. */
  host: string | null
  created_at: number
  password: string | null
  totp_secret: string | null
  admin: boolean
  banned: boolean
  deleted: boolean
  bot: boolean
}

/** Community, of this instance or a copy of one elsewhere. */
export type LemmyCommunity = {
  id: number
  name: string
  title: string
  description: string | null
  host: string | null
  created_at: number
  nsfw: boolean
  removed: boolean
  deleted: boolean
  /** Left out of the lists of everything. */
  hidden: boolean
  subscribers: number
  moderators: Set<Person>
  /** Key of its phrase table. */
  topic: string
}

type Entry = {
  id: number
  creator: Person
  /** By the author's clock; for a federated entry long before its arrival. */
  created_at: number
  /** Instant at which the entry got its local id. */
  arrived_at: number
  updated_at: number | null
  /** Host of its instance, and its id there; null: this instance. */
  origin: { host: string; id: number } | null
  removed: boolean
  deleted: boolean
  ups: number
  downs: number
  votes: Map<Person, 1 | -1>
}

export type LemmyPost = Entry & {
  kind: 'post'
  community: LemmyCommunity
  name: string
  body: string | null
  url: string | null
  locked: boolean
  nsfw: boolean
  featured_community: boolean
  featured_local: boolean
  /** Sent to another instance, which has not confirmed it. */
  pending: boolean
  /** Not shown before; the id is from the time of writing. */
  scheduled_at: number | null
  comments: LemmyComment[]
}

export type LemmyComment = Entry & {
  kind: 'comment'
  post: LemmyPost
  parent: LemmyComment | null
  /** `0`, the ids of the parents, the own id. */
  path: string
  content: string
  distinguished: boolean
  children: number
}

export type LemmyMessage = {
  id: number
  creator: Person
  recipient: Person
  content: string
  created_at: number
  read: boolean
}

/** Notification of a reply or a message. */
export type LemmyNotice = {
  id: number
  recipient: Person
  read: boolean
  created_at: number
} & ({ kind: 'reply'; comment: LemmyComment } | { kind: 'private_message'; message: LemmyMessage })

type Bucket = { requests: number; seconds: number }

/** Settings that tests change. */
export type LemmySettings = {
  /** 0.19 has `/api/v3` alone; 1.0 has `/api/v4`, and a part of v3. */
  version: '0.19' | '1.0'
  private_instance: boolean
  /** Down, requests are answered as the server answers them without it: 1.0 and 0.19 differ. */
  database: 'up' | 'down'
  limits: Record<'message' | 'post' | 'comment' | 'search' | 'register', Bucket>
}

export type LemmyWorld = SourceWorld & {
  title: string
  settings: LemmySettings
  persons: Person[]
  communities: LemmyCommunity[]
  posts: Map<number, LemmyPost>
  comments: Map<number, LemmyComment>
  messages: LemmyMessage[]
  notices: LemmyNotice[]
  /** Removals and restorations by moderators, oldest first. */
  modlog: {
    id: number
    at: number
    target: LemmyPost | LemmyComment
    removed: boolean
    /** Removed with its author: 0.19 logs none of these, 1.0 by `show_bulk` alone. */
    bulk: boolean
  }[]
  bans: { id: number; at: number; person: Person; banned: boolean }[]
  tokens: Map<string, Person>
  rates: RateWindows
  next: { post: number; comment: number; notice: number }
}

/** Empty instance. */
export function createLemmyWorld(random: SeededRandom, now: () => number): LemmyWorld {
  const world: LemmyWorld = {
    random,
    now,
    size: () => world.posts.size + world.comments.size,
    title: 'Common Room',
    settings: {
      version: '0.19',
      private_instance: false,
      database: 'up',
      limits: {
        message: { requests: 180, seconds: 60 },
        post: { requests: 6, seconds: 600 },
        comment: { requests: 6, seconds: 600 },
        search: { requests: 60, seconds: 600 },
        register: { requests: 3, seconds: 3600 },
      },
    },
    persons: [],
    communities: [],
    posts: new Map(),
    comments: new Map(),
    messages: [],
    notices: [],
    modlog: [],
    bans: [],
    tokens: new Map(),
    rates: createRateWindows(),
    next: { post: 1, comment: 1, notice: 1 },
  }
  return world
}

/** `name` or `name@host` of a person or a community. */
export const qualifiedName = ({ name, host }: { name: string; host: string | null }): string =>
  host === null ? name : `${name}@${host}`

/** Splits `name@host`; host null: this instance. */
export function splitName(text: string): { name: string; host: string | null } {
  const [name = '', host] = text.split('@')
  return { name, host: host ?? null }
}

/** Person by `name` or `name@host`; created on first use. */
export function personNamed(world: LemmyWorld, full: string): Person {
  const known = findNamed(world.persons, full)
  if (known !== undefined) return known
  const person: Person = {
    id: world.persons.length + 1,
    ...splitName(full),
    display_name: null,
    bio: null,
    created_at: world.now() - 400 * 86_400_000,
    password: null,
    totp_secret: null,
    admin: false,
    banned: false,
    deleted: false,
    bot: false,
  }
  world.persons.push(person)
  return person
}

/** Community by `name` or `name@host`; created on first use. */
export function communityNamed(world: LemmyWorld, full: string): LemmyCommunity {
  const known = findNamed(world.communities, full)
  if (known !== undefined) return known
  const { name, host } = splitName(full)
  const community: LemmyCommunity = {
    id: world.communities.length + 1,
    name,
    host,
    title: name,
    description: null,
    created_at: world.now() - 500 * 86_400_000,
    nsfw: false,
    removed: false,
    deleted: false,
    hidden: false,
    subscribers: 100,
    moderators: new Set(),
    topic: 'selfhosting',
  }
  world.communities.push(community)
  return community
}

/** Person or community of a list, by `name` or `name@host`, ignoring case. */
export const findNamed = <T extends { name: string; host: string | null }>(
  all: readonly T[],
  full: string,
): T | undefined => all.find((each) => qualifiedName(each).toLowerCase() === full.toLowerCase())

const newEntry = (
  world: LemmyWorld,
  id: number,
  plan: { created_at?: number; creator: Person },
) => ({
  id,
  created_at: plan.created_at ?? world.now(),
  arrived_at: world.now(),
  updated_at: null,
  // A remote author writes on the own instance, where the entry has another id.
  origin: plan.creator.host === null ? null : { host: plan.creator.host, id: 90_000 + id * 7 },
  removed: false,
  deleted: false,
  ups: 1,
  downs: 0,
  votes: new Map(),
})

/** Post to add. */
export type LemmyPostPlan = { community: LemmyCommunity; creator: Person; name: string } & Partial<
  Omit<LemmyPost, 'id' | 'kind' | 'comments' | 'community' | 'creator' | 'name'>
>

/** Each federated entry that is taken again uses up an id: of an instance that federates a quarter is void. */
const idStep = ({ random }: LemmyWorld): number => (random.odds(0.35) ? 2 : 1)

/** Adds a post with the next local id. */
export function addLemmyPost(world: LemmyWorld, plan: LemmyPostPlan): LemmyPost {
  const post: LemmyPost = {
    ...newEntry(world, world.next.post, plan),
    body: null,
    url: null,
    locked: false,
    nsfw: plan.community.nsfw,
    featured_community: false,
    featured_local: false,
    pending: false,
    scheduled_at: null,
    ...plan,
    kind: 'post',
    comments: [],
  }
  world.next.post += idStep(world)
  world.posts.set(post.id, post)
  return post
}

/** Comment to add. */
export type LemmyCommentPlan = { post: LemmyPost; creator: Person; content: string } & Partial<
  Omit<LemmyComment, 'id' | 'kind' | 'path' | 'children' | 'post' | 'creator' | 'content'>
>

/** Adds a comment with the next local id, and notifies the author it answers. */
export function addLemmyComment(world: LemmyWorld, plan: LemmyCommentPlan): LemmyComment {
  const id = world.next.comment
  const parent = plan.parent ?? null
  const comment: LemmyComment = {
    ...newEntry(world, id, plan),
    distinguished: false,
    ...plan,
    parent,
    kind: 'comment',
    path: `${parent?.path ?? '0'}.${id}`,
    children: 0,
  }
  world.next.comment += idStep(world)
  world.comments.set(id, comment)
  plan.post.comments.push(comment)
  for (let above = parent; above !== null; above = above.parent) above.children++
  const recipient = (parent ?? plan.post).creator
  if (recipient !== plan.creator && recipient.host === null)
    addNotification(world, recipient, { kind: 'reply', comment })
  return comment
}

type NoticeOf =
  { kind: 'reply'; comment: LemmyComment } | { kind: 'private_message'; message: LemmyMessage }

/** Adds a notification for a person. */
function addNotification(world: LemmyWorld, recipient: Person, notice: NoticeOf): void {
  const id = world.next.notice++
  world.notices.push({ id, recipient, read: false, created_at: world.now(), ...notice })
}

/** Sends a private message. */
export function sendLemmyMessage(
  world: LemmyWorld,
  plan: { creator: Person; recipient: Person; content: string },
): LemmyMessage {
  const id = world.messages.length + 1
  const message = { id, created_at: world.now(), read: false, ...plan }
  world.messages.push(message)
  addNotification(world, plan.recipient, { kind: 'private_message', message })
  return message
}

/** Removes or restores an entry as a moderator; the modlog names it. */
export function moderate(
  world: LemmyWorld,
  target: LemmyPost | LemmyComment,
  removed: boolean,
): void {
  target.removed = removed
  world.modlog.push({
    id: world.modlog.length + 1,
    at: world.now(),
    target,
    removed,
    bulk: false,
  })
}

/** Bans a person or lets them in again, with all that they wrote. Returns the number of their entries. */
export function ban(
  world: LemmyWorld,
  person: Person,
  { banned, with_content }: { banned: boolean; with_content: boolean },
): number {
  person.banned = banned
  world.bans.push({ id: world.bans.length + 1, at: world.now(), person, banned })
  if (!with_content) return 0
  const own = [...world.posts.values(), ...world.comments.values()].filter(
    ({ creator }) => creator === person,
  )
  for (const target of own) {
    moderate(world, target, banned)
    const entry = world.modlog.at(-1)
    if (entry !== undefined) entry.bulk = true
  }
  return own.length
}

const nextOf = (ids: Iterable<number>): number => Math.max(0, ...ids) + 1

/** Puts back the database of some seconds ago: what was written since is gone, and its ids are given again. */
export function rollBack(world: LemmyWorld, since: number): number {
  const lost = [...world.posts.values(), ...world.comments.values()].filter(
    ({ arrived_at }) => arrived_at > since,
  )
  for (const entry of lost) {
    const all = entry.kind === 'post' ? world.posts : world.comments
    all.delete(entry.id)
    if (entry.kind === 'comment')
      entry.post.comments = entry.post.comments.filter((it) => it !== entry)
  }
  world.modlog = world.modlog.filter(({ at }) => at <= since)
  world.next = {
    ...world.next,
    post: nextOf(world.posts.keys()),
    comment: nextOf(world.comments.keys()),
  }
  return lost.length
}
