import * as z from 'zod'

import { BadControl } from '../server/control-routes.ts'
import { instantInput, sourceControl, userInput } from '../sources/input.ts'
import {
  addForumCategory,
  addForumPost,
  addForumTopic,
  addForumUser,
  FORUM_POST_TYPES,
  type ForumCategory,
  type ForumPost,
  type ForumTopic,
  type ForumUser,
  type ForumWorld,
} from './model.ts'
import { changeText } from './writes.ts'

const id = z.int().min(1)
const likes = z.int().min(0).max(1_000_000)
const DEFAULT_AUTHOR = 'passer_by'

const userNamed = (world: ForumWorld, name = DEFAULT_AUTHOR): ForumUser =>
  world.users.get(name.toLowerCase()) ?? addForumUser(world, { username: name })

function categoryNamed(world: ForumWorld, name: string | undefined): ForumCategory | null {
  if (name === undefined) return world.categories[0] ?? null
  const found = world.categories.find((each) => each.slug === name || each.name === name)
  return found ?? addForumCategory(world, { name })
}

function topicById(world: ForumWorld, topic_id: number): ForumTopic {
  const topic = world.topics.get(topic_id)
  if (topic === undefined) throw new BadControl(`topic_id: no topic has the id ${topic_id}`)
  return topic
}

function postById(world: ForumWorld, post_id: number): ForumPost {
  const post = world.posts.find((each) => each.id === post_id)
  if (post === undefined) throw new BadControl(`id: no post has the id ${post_id}`)
  return post
}

const created = ({ id: post_id, topic, number }: ForumPost) => ({
  topic_id: topic.id,
  post_id,
  post_number: number,
  permalink: `/t/${topic.slug}/${topic.id}/${number}`,
})

const postInput = z.strictObject({
  category: z.string().min(1).max(50).optional(),
  author: userInput.optional(),
  title: z.string().min(1).max(255),
  text: z.string().max(32_000).optional(),
  url: z.url({ protocol: /^https?$/ }).optional(),
  tags: z.array(z.string().min(1).max(30)).optional(),
  created_at: instantInput.optional(),
  likes: likes.optional(),
  pinned: z.boolean().optional(),
  visible: z.boolean().optional(),
  /** Recipients: makes it a private message. */
  to: z.array(userInput).optional(),
})

function addTopicNow(world: ForumWorld, input: z.output<typeof postInput>) {
  const user = userNamed(world, input.author)
  const allowed = input.to?.map((name) => userNamed(world, name))
  const topic = addForumTopic(world, {
    title: input.title,
    raw: input.text ?? input.title,
    user,
    tags: input.tags ?? [],
    featured_link: input.url ?? null,
    pinned: input.pinned ?? false,
    visible: input.visible ?? true,
    created_at: input.created_at ?? world.now(),
    category: allowed === undefined ? categoryNamed(world, input.category) : null,
    ...(allowed !== undefined && {
      archetype: 'private_message' as const,
      allowed: new Set([user, ...allowed]),
    }),
  })
  const [post] = topic.posts
  if (post === undefined) throw new RangeError('the topic has no post')
  post.other_likes = input.likes ?? 0
  return created(post)
}

/**
 * Moves posts to another topic. The first one is copied under a new id, with its time; the others
 * keep their ids.
 */
function movePosts(world: ForumWorld, ids: readonly number[], title: string) {
  const [first, ...others] = ids.map((each) => postById(world, each))
  if (first === undefined) throw new BadControl('post_ids: expected at least one post')
  const { topic: from, user, raw, created_at } = first
  const category = from.category
  const target = addForumTopic(world, { title, raw, user, created_at, category })
  first.deleted_at = world.now()
  for (const post of others) {
    from.posts.splice(from.posts.indexOf(post), 1)
    post.topic = target
    post.number = target.next_number++
    post.reply_to = null
    target.posts.push(post)
  }
  addForumPost(world, {
    topic: from,
    user: userNamed(world, 'system'),
    raw: `${ids.length} posts were split to a new topic: ${title}`,
    type: FORUM_POST_TYPES.small_action,
    action_code: 'split_topic',
  })
  return { topic_id: target.id, post_ids: target.posts.map((post) => post.id) }
}

const settingsInput = z.strictObject({
  listing: z.enum(['current', 'old']).optional(),
  login_required: z.boolean().optional(),
  anonymous_cache_s: z.int().min(0).max(3600).optional(),
  allowed_redirect: z.string().nullable().optional(),
  anonymous_per_minute: z.int().min(1).optional(),
  anonymous_per_10s: z.int().min(1).optional(),
  user_key_per_minute: z.int().min(1).optional(),
  user_key_per_day: z.int().min(1).optional(),
  admin_key_per_minute: z.int().min(1).optional(),
  search_per_minute: z.int().min(1).optional(),
  create_topic_s: z.int().min(0).optional(),
  create_post_s: z.int().min(0).optional(),
  likes_per_day: z.int().min(1).optional(),
  messages_per_day: z.int().min(1).optional(),
})

/** Control calls of the forum. */
export const FORUM_CONTROLS = {
  post: sourceControl(postInput, addTopicNow),
  comment: sourceControl(
    z.strictObject({
      topic_id: id,
      reply_to: id.optional(),
      author: userInput.optional(),
      text: z.string().min(1).max(32_000),
      created_at: instantInput.optional(),
      likes: likes.optional(),
      whisper: z.boolean().optional(),
    }),
    (world: ForumWorld, input) =>
      created(
        addForumPost(world, {
          topic: topicById(world, input.topic_id),
          user: userNamed(world, input.author),
          raw: input.text,
          reply_to: input.reply_to ?? null,
          created_at: input.created_at ?? world.now(),
          other_likes: input.likes ?? 0,
          ...(input.whisper && { type: FORUM_POST_TYPES.whisper }),
        }),
      ),
  ),
  edit: sourceControl(
    z.strictObject({
      id,
      text: z.string().min(1).optional(),
      likes: likes.optional(),
      hidden: z.boolean().optional(),
    }),
    (world: ForumWorld, input) => {
      const post = postById(world, input.id)
      if (input.text !== undefined) changeText(post, input.text, { at: world.now(), by: post.user })
      post.other_likes = input.likes ?? post.other_likes
      post.hidden = input.hidden ?? post.hidden
    },
  ),
  remove: sourceControl(
    z.strictObject({ id, by: z.enum(['author', 'moderator']) }),
    (world: ForumWorld, input) => {
      const post = postById(world, input.id)
      if (input.by === 'author') post.user_deleted_at = world.now()
      else post.deleted_at = world.now()
      if (post.number === 1) post.topic.deleted_at = world.now()
    },
  ),
  restore: sourceControl(z.strictObject({ id }), (world: ForumWorld, input) => {
    const post = postById(world, input.id)
    post.user_deleted_at = null
    post.deleted_at = null
    if (post.number === 1) post.topic.deleted_at = null
  }),
  topic: sourceControl(
    z.strictObject({
      topic_id: id,
      title: z.string().min(1).max(255).optional(),
      category: z.string().optional(),
      visible: z.boolean().optional(),
      pinned: z.boolean().optional(),
      closed: z.boolean().optional(),
      archived: z.boolean().optional(),
    }),
    (world: ForumWorld, { topic_id, category, ...changes }) => {
      const topic = topicById(world, topic_id)
      if (category !== undefined) topic.category = categoryNamed(world, category)
      Object.assign(topic, changes)
    },
  ),
  /** As a timer publishes a topic: it and its posts are dated now and keep their ids. */
  publish: sourceControl(
    z.strictObject({ topic_id: id, category: z.string().optional() }),
    (world: ForumWorld, { topic_id, category }) => {
      const topic = topicById(world, topic_id)
      const now = world.now()
      Object.assign(topic, {
        archetype: 'regular',
        visible: true,
        created_at: now,
        bumped_at: now,
        category: categoryNamed(world, category),
      })
      for (const post of topic.posts) Object.assign(post, { created_at: now, updated_at: now })
    },
  ),
  move: sourceControl(
    z.strictObject({ post_ids: z.array(id).min(1), title: z.string().min(1).max(255) }),
    (world: ForumWorld, input) => movePosts(world, input.post_ids, input.title),
  ),
  category: sourceControl(
    z.strictObject({
      name: z.string().min(1).max(50),
      description: z.string().max(500).optional(),
      read_restricted: z.boolean().optional(),
    }),
    (world: ForumWorld, { name, ...changes }) => {
      const category = categoryNamed(world, name)
      if (category !== null) Object.assign(category, changes)
      return { id: category?.id, slug: category?.slug }
    },
  ),
  user: sourceControl(
    z.strictObject({
      name: userInput,
      password: z.string().min(1).max(200).nullable().optional(),
      totp_secret: z.string().nullable().optional(),
      trust_level: z.int().min(0).max(4).optional(),
      admin: z.boolean().optional(),
      moderator: z.boolean().optional(),
      hidden_profile: z.boolean().optional(),
      silenced: z.boolean().optional(),
    }),
    (world: ForumWorld, { name, ...changes }) => {
      Object.assign(userNamed(world, name), changes)
    },
  ),
  key: sourceControl(
    z.strictObject({ username: userInput.optional(), scopes: z.array(z.string()).optional() }),
    (world: ForumWorld, { username, scopes }) => {
      const key = world.random.text(username === undefined ? 64 : 32, '0123456789abcdef')
      const user = username === undefined ? null : userNamed(world, username)
      world.keys.set(key, {
        key,
        user,
        client_id: `control-${world.keys.size}`,
        scopes: scopes ?? ['read', 'write', 'notifications', 'session_info'],
        revoked: false,
      })
      return { key }
    },
  ),
  site: sourceControl(settingsInput, (world: ForumWorld, changes) => {
    Object.assign(world.settings, changes)
  }),
}
