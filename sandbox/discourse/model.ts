import type { SandboxResponse } from '../server/response.ts'
import { createRateWindows, type RateWindows } from '../sources/rate.ts'
import type { SourceWorld } from '../sources/source.ts'
import { slugOf } from '../sources/text.ts'
import type { SeededRandom } from '../world/random.ts'

/** User of the forum. Times are epoch ms. */
export type ForumUser = {
  id: number
  username: string
  name: string | null
  created_at: number
  trust_level: number
  admin: boolean
  moderator: boolean
  title: string | null
  bio: string
  /** Null: no login. */
  password: string | null
  totp_secret: string | null
  /** True: may read, and may not post. */
  silenced: boolean
  hidden_profile: boolean
  last_posted_at: number | null
  notices: ForumNotice[]
}

/** Entry of a user's notifications. */
export type ForumNotice = { id: number; type: number; at: number; post: ForumPost; from: ForumUser }

export type ForumCategory = {
  id: number
  name: string
  slug: string
  color: string
  description: string
  parent_id: number | null
  /** Readable by staff only. */
  read_restricted: boolean
  /** Key of its phrase table. */
  topic: string
  position: number
}

export type ForumTopic = {
  id: number
  title: string
  slug: string
  archetype: 'regular' | 'private_message'
  /** Null for messages. */
  category: ForumCategory | null
  user: ForumUser
  created_at: number
  bumped_at: number
  tags: string[]
  pinned: boolean
  pinned_globally: boolean
  closed: boolean
  archived: boolean
  /** False: unlisted. */
  visible: boolean
  deleted_at: number | null
  featured_link: string | null
  views: number
  /** Participants of a message. */
  allowed: Set<ForumUser>
  /** By post number, deleted ones included. */
  posts: ForumPost[]
  next_number: number
}

/** Kinds of posts: regular, moderator action, small action, whisper. */
export const FORUM_POST_TYPES = {
  regular: 1,
  moderator_action: 2,
  small_action: 3,
  whisper: 4,
} as const

export type ForumPost = {
  id: number
  topic: ForumTopic
  number: number
  user: ForumUser
  raw: string
  created_at: number
  updated_at: number
  edited_at: number | null
  version: number
  edit_reason: string | null
  /** Post number of the parent; null: the topic. */
  reply_to: number | null
  type: (typeof FORUM_POST_TYPES)[keyof typeof FORUM_POST_TYPES]
  action_code: string | null
  likers: Set<ForumUser>
  /** Likes of users who are not part of the world. */
  other_likes: number
  hidden: boolean
  /** Deleted by its author: a notice for a day, then gone. */
  user_deleted_at: number | null
  /** Deleted by staff. */
  deleted_at: number | null
  reads: number
}

/** Key of an application: of a user, or of an administrator who may act for anyone. */
export type ForumKey = {
  key: string
  user: ForumUser | null
  client_id: string
  scopes: string[]
  revoked: boolean
}

/** Settings that the site's administrators and tests change. */
type ForumSettings = {
  /** `old`: the site-wide listing as of 2.8, with windows of 50 ids. */
  listing: 'current' | 'old'
  login_required: boolean
  /** Time for which an anonymous answer is kept by its address; 0: none is. */
  anonymous_cache_s: number
  /** Redirect target that a user API key may name; null: any. */
  allowed_redirect: string | null
  anonymous_per_minute: number
  anonymous_per_10s: number
  user_key_per_minute: number
  user_key_per_day: number
  admin_key_per_minute: number
  search_per_minute: number
  create_topic_s: number
  create_post_s: number
  likes_per_day: number
  messages_per_day: number
}

export type ForumWorld = SourceWorld & {
  title: string
  settings: ForumSettings
  /** By name in lower case. */
  users: Map<string, ForumUser>
  categories: ForumCategory[]
  topics: Map<number, ForumTopic>
  /** Ascending by id. */
  posts: ForumPost[]
  keys: Map<string, ForumKey>
  /** Users by session token. */
  sessions: Map<string, ForumUser>
  /** First results of repeated writes, by key and body. */
  memo: Map<string, { at: number; post: ForumPost }>
  /** Kept anonymous answers by their address. */
  cache: Map<string, { at: number; answer: SandboxResponse }>
  rates: RateWindows
  next: { user: number; topic: number; post: number; notice: number; search: number }
}

/** Empty forum with its system user and the category of uncategorised topics. */
export function createForumWorld(random: SeededRandom, now: () => number): ForumWorld {
  const world: ForumWorld = {
    random,
    now,
    size: () => world.posts.length,
    title: 'Common Ground',
    settings: {
      listing: 'current',
      login_required: false,
      anonymous_cache_s: 0,
      allowed_redirect: null,
      anonymous_per_minute: 200,
      anonymous_per_10s: 50,
      user_key_per_minute: 20,
      user_key_per_day: 2880,
      admin_key_per_minute: 60,
      search_per_minute: 15,
      create_topic_s: 15,
      create_post_s: 5,
      likes_per_day: 50,
      messages_per_day: 20,
    },
    users: new Map(),
    categories: [],
    topics: new Map(),
    posts: [],
    keys: new Map(),
    sessions: new Map(),
    memo: new Map(),
    cache: new Map(),
    rates: createRateWindows(),
    next: { user: 1, topic: 7, post: 11, notice: 1, search: 1 },
  }
  const system = addForumUser(world, { username: 'system', admin: true, moderator: true })
  system.id = -1
  system.trust_level = 4
  addForumCategory(world, { name: 'Uncategorized', color: '0088CC' })
  return world
}

/** Adds a user. The caller checks that the name is free. */
export function addForumUser(
  world: ForumWorld,
  plan: { username: string } & Partial<ForumUser>,
): ForumUser {
  const user: ForumUser = {
    name: plan.username,
    created_at: world.now() - 400 * 86_400_000,
    trust_level: 1,
    admin: false,
    moderator: false,
    title: null,
    bio: '',
    password: null,
    totp_secret: null,
    silenced: false,
    hidden_profile: false,
    last_posted_at: null,
    notices: [],
    ...plan,
    id: world.next.user++,
  }
  world.users.set(user.username.toLowerCase(), user)
  return user
}

/** Adds a category. The caller checks that the name is free. */
export function addForumCategory(
  world: ForumWorld,
  plan: { name: string } & Partial<ForumCategory>,
): ForumCategory {
  const category: ForumCategory = {
    slug: slugOf(plan.name),
    color: '25AAE2',
    description: '',
    parent_id: null,
    read_restricted: false,
    topic: 'selfhosting',
    position: world.categories.length,
    ...plan,
    id: world.categories.length + 1,
  }
  world.categories.push(category)
  return category
}

/** Topic to add, with its first post. */
export type ForumTopicPlan = { title: string; raw: string; user: ForumUser } & Partial<
  Omit<ForumTopic, 'id' | 'posts' | 'title' | 'user'>
>

/** Adds a topic and its first post at `created_at`. */
export function addForumTopic(world: ForumWorld, { raw, ...plan }: ForumTopicPlan): ForumTopic {
  const created_at = plan.created_at ?? world.now()
  const topic: ForumTopic = {
    slug: slugOf(plan.title),
    archetype: 'regular',
    category: world.categories[0] ?? null,
    created_at,
    bumped_at: created_at,
    tags: [],
    pinned: false,
    pinned_globally: false,
    closed: false,
    archived: false,
    visible: true,
    deleted_at: null,
    featured_link: null,
    views: 0,
    allowed: new Set(),
    ...plan,
    id: world.next.topic,
    posts: [],
    next_number: 1,
  }
  // Rolled-back inserts leave gaps between ids.
  world.next.topic += world.random.odds(0.2) ? world.random.whole(2, 4) : 1
  world.topics.set(topic.id, topic)
  addForumPost(world, { topic, user: plan.user, raw, created_at })
  return topic
}

/** Post to add to a topic. */
export type ForumPostPlan = { topic: ForumTopic; user: ForumUser; raw: string } & Partial<
  Omit<ForumPost, 'id' | 'number' | 'topic' | 'user' | 'raw'>
>

/** Adds a post at the end of its topic. */
export function addForumPost(world: ForumWorld, plan: ForumPostPlan): ForumPost {
  const { topic } = plan
  const created_at = plan.created_at ?? world.now()
  const post: ForumPost = {
    created_at,
    updated_at: created_at,
    edited_at: null,
    version: 1,
    edit_reason: null,
    reply_to: null,
    type: FORUM_POST_TYPES.regular,
    action_code: null,
    likers: new Set(),
    other_likes: 0,
    hidden: false,
    user_deleted_at: null,
    deleted_at: null,
    reads: 1,
    ...plan,
    id: world.next.post,
    number: topic.next_number++,
  }
  world.next.post += world.random.odds(0.12) ? world.random.whole(2, 5) : 1
  topic.posts.push(post)
  world.posts.push(post)
  if (post.type === FORUM_POST_TYPES.regular) {
    topic.bumped_at = Math.max(topic.bumped_at, created_at)
    plan.user.last_posted_at = created_at
    notifyParent(world, post)
  }
  return post
}

/** Numbers of the kinds of notifications. */
export const NOTICE = { replied: 2, liked: 5, private_message: 6 } as const

/** Adds a notification for a user. */
export function addNotice(
  world: ForumWorld,
  user: ForumUser,
  notice: Omit<ForumNotice, 'id'>,
): void {
  if (user === notice.from) return
  user.notices.push({ id: world.next.notice++, ...notice })
}

function notifyParent(world: ForumWorld, post: ForumPost): void {
  const { topic, user: from, created_at: at } = post
  if (topic.archetype === 'private_message') {
    for (const user of topic.allowed)
      addNotice(world, user, { type: NOTICE.private_message, at, post, from })
    return
  }
  const parent = topic.posts.find(({ number }) => number === (post.reply_to ?? 1))
  if (parent !== undefined && parent !== post)
    addNotice(world, parent.user, { type: NOTICE.replied, at, post, from })
}

const REMOVED_AFTER_MS = 86_400_000

/** True if the post is gone for readers: deleted by staff, or by its author a day ago. */
export const isGone = (post: ForumPost, now: number): boolean =>
  post.deleted_at !== null ||
  (post.user_deleted_at !== null && now - post.user_deleted_at >= REMOVED_AFTER_MS)

export const isStaff = (user: ForumUser | null): boolean =>
  user !== null && (user.admin || user.moderator)

/** True if the user may read the topic. A deleted one is visible to staff. */
export function canSeeTopic(user: ForumUser | null, topic: ForumTopic): boolean {
  if (topic.archetype === 'private_message')
    return user !== null && (topic.allowed.has(user) || user.admin)
  if (topic.deleted_at !== null && !isStaff(user)) return false
  return !(topic.category?.read_restricted ?? false) || isStaff(user)
}

/** Likes of a post. */
export const likesOf = (post: ForumPost): number => post.likers.size + post.other_likes
