import { excerptOf, isoOf } from '../sources/text.ts'
import type { ForumCall } from './access.ts'
import {
  canSeeTopic,
  FORUM_POST_TYPES,
  type ForumPost,
  type ForumTopic,
  type ForumUser,
  isStaff,
  likesOf,
} from './model.ts'
import { briefUser, fancyTitle, postFields, visiblePosts } from './posts.ts'

/** Posts in one answer of a topic. */
export const CHUNK_SIZE = 20
/** Topics in one answer of a list. */
const TOPICS_PER_PAGE = 30

/** Topics that the viewer finds in lists. */
export const listedTopics = (call: ForumCall): ForumTopic[] =>
  [...call.world.topics.values()].filter(
    (topic) =>
      topic.archetype === 'regular' &&
      topic.visible &&
      topic.deleted_at === null &&
      topic.created_at <= call.as_of &&
      canSeeTopic(call.viewer, topic),
  )

const sum = (posts: readonly ForumPost[], count: (post: ForumPost) => number) =>
  posts.reduce((total, post) => total + count(post), 0)

/** Fields that every form of a topic has. */
function basicFields(call: ForumCall, topic: ForumTopic) {
  const posts = visiblePosts(call, topic.posts)
  const last = posts.findLast(({ type }) => type === FORUM_POST_TYPES.regular)
  return {
    fancy_title: fancyTitle(topic.title),
    id: topic.id,
    title: topic.title,
    slug: topic.slug,
    posts_count: posts.length,
    reply_count: posts.filter(({ reply_to }) => reply_to !== null).length,
    highest_post_number: posts.at(-1)?.number ?? 1,
    image_url: null,
    created_at: isoOf(topic.created_at),
    last_posted_at: last === undefined ? null : isoOf(last.created_at),
    bumped: true,
    bumped_at: isoOf(topic.bumped_at),
    archetype: topic.archetype,
    unseen: false,
    ...(call.viewer !== null && {
      last_read_post_number: posts.at(-1)?.number ?? 1,
      unread: 0,
      new_posts: 0,
      unread_posts: 0,
      notification_level: topic.user === call.viewer ? 3 : 1,
    }),
    pinned: topic.pinned,
    unpinned: null,
    ...(topic.pinned && { excerpt: excerptOf(topic.posts[0]?.raw ?? '') }),
    visible: topic.visible,
    closed: topic.closed,
    archived: topic.archived,
    bookmarked: call.viewer === null ? null : false,
    liked: call.viewer === null ? null : posts.some(({ likers }) => hasLiked(likers, call.viewer)),
    tags: topic.tags,
    tags_descriptions: {},
  }
}

const hasLiked = (likers: ReadonlySet<ForumUser>, viewer: ForumUser | null) =>
  viewer !== null && likers.has(viewer)

/** Topic of a search result. */
export const foundTopic = (call: ForumCall, topic: ForumTopic) => {
  const { image_url: _, ...fields } = basicFields(call, topic)
  return { ...fields, category_id: topic.category?.id ?? null, has_accepted_answer: false }
}

/** Topic of the front page of categories. */
export const featuredTopic = (call: ForumCall, topic: ForumTopic) => {
  const { tags: _, tags_descriptions: __, ...fields } = basicFields(call, topic)
  const last = visiblePosts(call, topic.posts).at(-1)?.user ?? topic.user
  return { ...fields, has_accepted_answer: false, last_poster: briefUser(last) }
}

/** Authors of a topic beside its row: the first, the most frequent and the last. */
function postersOf(call: ForumCall, topic: ForumTopic): ForumUser[] {
  const posts = visiblePosts(call, topic.posts)
  const counts = new Map<ForumUser, number>()
  for (const { user } of posts) counts.set(user, (counts.get(user) ?? 0) + 1)
  const frequent = [...counts]
    .toSorted(([, one], [, other]) => other - one)
    .slice(0, 4)
    .map(([user]) => user)
  return [...new Set([topic.user, ...frequent, posts.at(-1)?.user ?? topic.user])].slice(0, 5)
}

function posterRows(call: ForumCall, topic: ForumTopic) {
  const last = visiblePosts(call, topic.posts).at(-1)?.user ?? topic.user
  const users = postersOf(call, topic)
  return users.map((user) => {
    const roles = [
      ...(user === topic.user ? ['Original Poster'] : []),
      ...(user === last ? ['Most Recent Poster'] : []),
    ]
    const extras = [...(user === last ? ['latest'] : []), ...(users.length === 1 ? ['single'] : [])]
    return {
      user,
      extras: extras.length === 0 ? null : extras.join(' '),
      description: roles.length === 0 ? 'Frequent Poster' : roles.join(', '),
    }
  })
}

/** Fields of a row in a list of topics, without its posters. */
function rowFields(call: ForumCall, topic: ForumTopic) {
  const posts = visiblePosts(call, topic.posts)
  return {
    ...basicFields(call, topic),
    views: topic.views,
    like_count: sum(posts, likesOf),
    has_summary: false,
    last_poster_username: posts.at(-1)?.user.username ?? topic.user.username,
    category_id: topic.category?.id ?? null,
    pinned_globally: topic.pinned_globally,
    featured_link: topic.featured_link,
    has_accepted_answer: false,
  }
}

const listUser = (user: ForumUser) => ({
  ...briefUser(user),
  ...(user.admin && { admin: true }),
  ...(user.moderator && { moderator: true }),
  trust_level: user.trust_level,
})

/** List of topics, one page of it. `more` is the address of the list, with its query. */
export function topicList(
  call: ForumCall,
  topics: readonly ForumTopic[],
  { page, more }: { page: number; more: string },
) {
  const rows = topics.slice(page * TOPICS_PER_PAGE, (page + 1) * TOPICS_PER_PAGE)
  const has_more = topics.length > (page + 1) * TOPICS_PER_PAGE
  const users = new Set(rows.flatMap((topic) => postersOf(call, topic)))
  const separator = more.includes('?') ? '&' : '?'
  return {
    ...(rows.length > 0 && {
      users: [...users].map(listUser),
      primary_groups: [],
      flair_groups: [],
    }),
    topic_list: {
      can_create_topic: call.viewer !== null,
      ...(has_more && {
        more_topics_url: `${more}${separator}no_definitions=true&page=${page + 1}`,
      }),
      per_page: TOPICS_PER_PAGE,
      top_tags: topTags(call),
      topics: rows.map((topic) => ({
        ...rowFields(call, topic),
        posters: posterRows(call, topic).map(({ user, extras, description }) => ({
          extras,
          description,
          user_id: user.id,
          primary_group_id: null,
          flair_group_id: null,
        })),
        ...(topic.archetype === 'private_message' && {
          participants: [...topic.allowed]
            .filter((user) => user !== topic.user)
            .map((user) => ({ extras: null, description: null, user_id: user.id })),
        }),
      })),
    },
  }
}

/** Number of listed topics by tag. */
export function tagCounts(call: ForumCall): Map<string, number> {
  const counts = new Map<string, number>()
  for (const { tags } of listedTopics(call))
    for (const tag of tags) counts.set(tag, (counts.get(tag) ?? 0) + 1)
  return counts
}

/** Names of the most frequent tags. */
export const topTags = (call: ForumCall): string[] =>
  [...tagCounts(call)]
    .toSorted(([, one], [, other]) => other - one)
    .slice(0, 10)
    .map(([tag]) => tag)

function participantsOf(posts: readonly ForumPost[]) {
  const counts = new Map<ForumUser, number>()
  for (const { user } of posts) counts.set(user, (counts.get(user) ?? 0) + 1)
  return [...counts]
    .toSorted(([, one], [, other]) => other - one)
    .slice(0, 24)
    .map(([user, post_count]) => ({
      ...briefUser(user),
      post_count,
      primary_group_name: null,
      flair_name: null,
      flair_url: null,
      flair_color: null,
      flair_bg_color: null,
      flair_group_id: null,
      ...(user.admin && { admin: true }),
      ...(user.moderator && { moderator: true }),
      trust_level: user.trust_level,
    }))
}

const FLAG_TYPES = [4, 8, 10, 7]

const suggestedTopics = (call: ForumCall, topic: ForumTopic) =>
  listedTopics(call)
    .filter((each) => each !== topic && each.category === topic.category)
    .slice(-5)
    .map((each) => {
      const {
        has_summary: _,
        last_poster_username: __,
        pinned_globally: ___,
        ...fields
      } = rowFields(call, each)
      return {
        ...fields,
        op_like_count: sum(each.posts.slice(0, 1), likesOf),
        posters: posterRows(call, each).map(({ user, extras, description }) => ({
          extras,
          description,
          user: listUser(user),
        })),
      }
    })

/** A topic with a chunk of its posts. */
export function topicFields(
  call: ForumCall,
  topic: ForumTopic,
  { chunk, current }: { chunk: readonly ForumPost[]; current: number },
) {
  const posts = visiblePosts(call, topic.posts)
  const last = posts.at(-1)
  const basic = basicFields(call, topic)
  return {
    post_stream: {
      posts: chunk.map((post) =>
        postFields(call, post, { in_topic: true, raw: call.query.get('include_raw') === 'true' }),
      ),
      stream: posts.map(({ id }) => id),
    },
    timeline_lookup: posts
      .filter((_, at) => at % 10 === 0)
      .map((post, at) => [at * 10 + 1, Math.floor((call.now - post.created_at) / 86_400_000)]),
    suggested_topics: suggestedTopics(call, topic),
    tags: topic.tags,
    tags_descriptions: {},
    fancy_title: basic.fancy_title,
    id: topic.id,
    title: topic.title,
    posts_count: posts.length,
    created_at: basic.created_at,
    views: topic.views,
    reply_count: basic.reply_count,
    like_count: sum(posts, likesOf),
    last_posted_at: basic.last_posted_at,
    visible: topic.visible,
    closed: topic.closed,
    archived: topic.archived,
    has_summary: posts.length > 50,
    archetype: topic.archetype,
    slug: topic.slug,
    category_id: topic.category?.id ?? null,
    word_count: sum(posts, ({ raw }) => raw.split(/\s+/).length),
    deleted_at: topic.deleted_at === null ? null : isoOf(topic.deleted_at),
    user_id: topic.user.id,
    featured_link: topic.featured_link,
    pinned_globally: topic.pinned_globally,
    pinned_at: topic.pinned ? isoOf(topic.created_at) : null,
    pinned_until: null,
    image_url: null,
    slow_mode_seconds: 0,
    draft: null,
    draft_key: `topic_${topic.id}`,
    draft_sequence: call.viewer === null ? null : 0,
    ...(call.viewer !== null && {
      posted: posts.some(({ user }) => user === call.viewer),
      last_read_post_number: last?.number ?? 1,
      last_read_post_id: last?.id ?? 1,
    }),
    unpinned: null,
    pinned: topic.pinned,
    current_post_number: current,
    highest_post_number: last?.number ?? 1,
    deleted_by: null,
    ...(isStaff(call.viewer) && { has_deleted: posts.length < topic.posts.length }),
    actions_summary: FLAG_TYPES.map((id) => ({
      id,
      count: 0,
      hidden: false,
      can_act: call.viewer !== null,
    })),
    chunk_size: CHUNK_SIZE,
    bookmarked: false,
    topic_timer: null,
    message_bus_last_id: 0,
    participant_count: new Set(posts.map(({ user }) => user)).size,
    show_read_indicator: false,
    thumbnails: null,
    slow_mode_enabled_until: null,
    details: {
      can_edit: call.viewer !== null && (call.viewer === topic.user || isStaff(call.viewer)),
      notification_level: call.viewer === topic.user ? 3 : 1,
      participants: participantsOf(posts),
      created_by: briefUser(topic.user),
      last_poster: briefUser(last?.user ?? topic.user),
      ...(call.viewer !== null && { can_create_post: !topic.closed || isStaff(call.viewer) }),
    },
    bookmarks: [],
  }
}
