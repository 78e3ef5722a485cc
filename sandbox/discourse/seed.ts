import { PEOPLE, SEED_SUBFORUMS } from '../data/people.ts'
import { newestById } from '../sources/recent.ts'
import { LINKED_SITES, slugOf } from '../sources/text.ts'
import { writePost, writeReply } from '../world/content.ts'
import type { SeededRandom } from '../world/random.ts'
import {
  addForumCategory,
  addForumPost,
  addForumTopic,
  addForumUser,
  FORUM_POST_TYPES,
  type ForumCategory,
  type ForumTopic,
  type ForumUser,
  type ForumWorld,
} from './model.ts'

const DAY_MS = 86_400_000
const HOUR_MS = 3_600_000
/** Share of the posts of a place that the forum gets as topics. */
const TOPIC_SHARE = 0.35
const MOST_REPLIES = 60
const COLORS = ['BF1E2E', '3AB54A', '652D90', 'F7941D', '0E76BD', '9EB83B', '12A89D']

/** Fills a forum with categories, people and some weeks of topics. */
export function seedForum(world: ForumWorld): void {
  const { random } = world
  const now = world.now()
  addPeople(world)
  const categories = addCategories(world)
  const writers = [...world.users.values()].filter(({ id }) => id > 0)
  const plans = categories.flatMap(({ category, posts, rate }) => {
    let created_at = now
    return Array.from({ length: Math.ceil(posts * TOPIC_SHARE) }, () => {
      created_at -= Math.ceil(random.wait((2 * HOUR_MS) / Math.max(0.05, rate)))
      return { category, created_at }
    })
  })
  // Events in the order of their times, so that ids rise with time as on a real site.
  const events = plans
    .flatMap(({ category, created_at }) => {
      const plan: TopicPlan = { category, created_at, topic: null }
      const replies = Math.min(MOST_REPLIES, Math.floor(random.wait(6)))
      return [
        { at: created_at, plan },
        ...Array.from({ length: replies }, () => ({
          at: Math.min(now - 30_000, created_at + 60_000 + Math.ceil(random.wait(20 * HOUR_MS))),
          plan,
        })).filter(({ at }) => at > created_at),
      ]
    })
    .toSorted((one, other) => one.at - other.at)
  for (const { at, plan } of events)
    if (plan.topic === null)
      plan.topic = startTopic(world, random, { ...plan, user: random.pick(writers) })
    else addReplyTo(world, random, { topic: plan.topic, user: random.pick(writers), at })
  addSpecialCases(world, writers)
}

type TopicPlan = { category: ForumCategory; created_at: number; topic: ForumTopic | null }

function addPeople(world: ForumWorld): void {
  const { random } = world
  for (const plan of PEOPLE) {
    if (plan.standing === 'deleted') continue
    const staff = plan.employee === true
    addForumUser(world, {
      username: plan.name,
      name: plan.display_name || null,
      bio: plan.bio ?? '',
      password: plan.password ?? null,
      totp_secret: plan.totp_secret ?? null,
      hidden_profile: plan.curated ?? false,
      admin: staff,
      moderator: staff || plan.name === 'PatchBay',
      trust_level: staff ? 4 : random.whole(1, 3),
      title: plan.premium ? 'Regular' : null,
      created_at: world.now() - random.whole(60, 3_000) * DAY_MS,
    })
  }
  for (const user of world.users.values())
    if (user.password !== null) addKey(world, user, `seed-${user.username}`)
  addKey(world, null, 'seed-admin')
}

function addKey(world: ForumWorld, user: ForumUser | null, client_id: string): void {
  const key = world.random.text(user === null ? 64 : 32, '0123456789abcdef')
  const scopes = ['read', 'write', 'notifications', 'session_info']
  world.keys.set(key, { key, user, client_id, scopes, revoked: false })
}

type SeededCategory = { category: ForumCategory; posts: number; rate: number }

function addCategories(world: ForumWorld): SeededCategory[] {
  const hidden = new Set(['private', 'gold_only'])
  return SEED_SUBFORUMS.filter(({ access }) => access !== 'banned').map(
    (
      { name, description = '', topic = 'selfhosting', access = 'public', posts, rate = 1 },
      at,
    ) => ({
      category: addForumCategory(world, {
        name,
        description,
        topic,
        color: COLORS[at % COLORS.length] ?? '0088CC',
        read_restricted: hidden.has(access),
        parent_id: name === 'homelab' ? 2 : null,
      }),
      posts,
      rate,
    }),
  )
}

type NewTopic = { category: ForumCategory; user: ForumUser; created_at: number }

function startTopic(world: ForumWorld, random: SeededRandom, plan: NewTopic): ForumTopic {
  const writing = writePost(random, plan.category.topic)
  const link = random.odds(0.1) ? `${random.pick(LINKED_SITES)}${slugOf(writing.title)}` : null
  const topic = addForumTopic(world, {
    ...plan,
    title: writing.title,
    raw: link === null ? writing.text : `${link}\n\n${writing.text}`,
    featured_link: link,
    tags: writing.flair === null ? [] : [slugOf(writing.flair)],
    views: random.whole(3, 900),
  })
  likePosts(random, topic)
  return topic
}

function likePosts(random: SeededRandom, topic: ForumTopic): void {
  const post = topic.posts.at(-1)
  if (post === undefined) return
  post.other_likes = random.odds(0.4) ? Math.floor(random.wait(3)) : 0
  post.reads = random.whole(1, 40)
}

function addReplyTo(
  world: ForumWorld,
  random: SeededRandom,
  { topic, user, at }: { topic: ForumTopic; user: ForumUser; at: number },
): void {
  const parent = random.pick(topic.posts)
  addForumPost(world, {
    topic,
    user,
    raw: writeReply(random, topic.category?.topic ?? 'selfhosting'),
    created_at: at,
    reply_to: random.odds(0.5) && parent.number > 1 ? parent.number : null,
  })
  likePosts(random, topic)
}

/** Deleted, hidden, edited and moved posts, messages, closed, pinned and unlisted topics. */
function addSpecialCases(world: ForumWorld, writers: readonly ForumUser[]): void {
  const { random } = world
  const now = world.now()
  const system = world.users.get('system')
  const old = world.posts.slice(0, -60).filter(({ number }) => number > 1)
  for (const post of old) {
    const draw = random.fraction() * 100
    if (draw < 1) post.user_deleted_at = Math.min(now, post.created_at + HOUR_MS)
    else if (draw < 2) post.deleted_at = Math.min(now, post.created_at + HOUR_MS)
    else if (draw < 2.5) post.hidden = true
    else if (draw < 8) {
      post.version = 2
      post.edited_at = Math.min(now, post.created_at + HOUR_MS)
      post.updated_at = post.edited_at
      post.edit_reason = random.odds(0.3) ? 'typo' : null
    }
    if (random.odds(0.1)) post.likers.add(random.pick(writers))
  }
  const topics = [...world.topics.values()]
  for (const topic of topics.slice(0, -20)) {
    if (system === undefined || random.odds(0.94)) continue
    topic.closed = true
    addForumPost(world, {
      topic,
      user: system,
      raw: '',
      type: FORUM_POST_TYPES.small_action,
      action_code: 'closed.enabled',
      created_at: now,
    })
  }
  const [first, second, third] = topics
  if (first !== undefined) Object.assign(first, { pinned: true, pinned_globally: true })
  if (second !== undefined) second.visible = false
  if (third !== undefined) third.deleted_at = now - DAY_MS
  const [ada, bruno] = writers
  if (ada === undefined || bruno === undefined) return
  const message = addForumTopic(world, {
    title: 'Spare part for the grinder',
    raw: 'I still have one of those burrs. Do you want it?',
    user: bruno,
    archetype: 'private_message',
    category: null,
    allowed: new Set([ada, bruno]),
    created_at: now - HOUR_MS,
  })
  addForumPost(world, {
    topic: message,
    user: ada,
    raw: 'Yes, please! I will come by on Friday.',
    created_at: now - HOUR_MS / 2,
  })
}

/** One event: a topic, a reply, a like or an edit. */
export function addForumEvent(world: ForumWorld, random: SeededRandom, at: number): void {
  const writers = [...world.users.values()].filter(({ id }) => id > 0)
  const categories = world.categories.filter(
    ({ read_restricted, id }) => !read_restricted && id > 1,
  )
  if (writers.length === 0 || categories.length === 0) return
  const user = random.pick(writers)
  const draw = random.fraction()
  if (draw < 0.15) {
    startTopic(world, random, { category: random.pick(categories), user, created_at: at })
    return
  }
  const recent = newestById(world.topics, world.next.topic, 80).filter(
    (topic) => topic.archetype === 'regular' && !topic.closed && topic.deleted_at === null,
  )
  if (recent.length === 0) return
  const topic = random.pick(recent)
  const post = random.pick(topic.posts)
  if (draw < 0.65) addReplyTo(world, random, { topic, user, at })
  else if (draw < 0.95) post.likers.add(user)
  else {
    post.version++
    post.updated_at = at
    post.edited_at = at
    post.raw = `${post.raw}\n\nEdit: ${writeReply(random, topic.category?.topic ?? 'selfhosting')}`
  }
}
