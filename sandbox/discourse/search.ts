import type { SandboxResponse } from '../server/response.ts'
import { fieldText, wholeOf } from '../sources/source.ts'
import { excerptOf, isoOf, matchesWords } from '../sources/text.ts'
import { type ForumCall, forumJson } from './access.ts'
import { FORUM_POST_TYPES, type ForumPost, isGone, likesOf } from './model.ts'
import { avatarOf, briefUser, canSeePost } from './posts.ts'
import { foundTopic } from './topics.ts'

const POSTS_PER_PAGE = 50
const LAST_PAGE = 10
const SHORTEST_TERM = 3

type Condition = (post: ForumPost) => boolean

const day = (text: string, now: number): number =>
  /^\d+$/.test(text) ? now - Number(text) * 86_400_000 : Date.parse(text)

/** Condition of an operator; null: the word is part of the term. */
function operator(call: ForumCall, word: string): Condition | null {
  const lower = word.toLowerCase()
  if (/^@./.test(word)) return ({ user }) => user.username.toLowerCase() === lower.slice(1)
  if (/^#./.test(word)) return ({ topic }) => topic.category?.slug === lower.slice(1)
  const [name, ...rest] = lower.split(':')
  const value = rest.join(':')
  if (value === '') return null
  switch (name ?? '') {
    case 'user':
      return ({ user }) => user.username.toLowerCase() === value
    case 'category':
      return ({ topic }) => topic.category?.slug === value
    case 'tags':
      return ({ topic }) =>
        value.includes('+')
          ? value.split('+').every((tag) => topic.tags.includes(tag))
          : value.split(',').some((tag) => topic.tags.includes(tag))
    case '-tags':
      return ({ topic }) => !value.split(',').some((tag) => topic.tags.includes(tag))
    case 'before':
      return ({ created_at }) => created_at < day(value, call.now)
    case 'after':
      return ({ created_at }) => created_at > day(value, call.now)
    case 'min_posts':
      return ({ topic }) => topic.posts.length >= Number(value)
    case 'max_posts':
      return ({ topic }) => topic.posts.length <= Number(value)
    case 'in':
      return place(value)
    case 'status':
      return status(value)
    case 'order':
      return () => true
    default:
      return null
  }
}

function place(value: string): Condition {
  if (value === 'first') return ({ number }) => number === 1
  if (value === 'title') return ({ number }) => number === 1
  if (value === 'pinned') return ({ topic }) => topic.pinned
  return () => true
}

function status(value: string): Condition {
  if (value === 'open') return ({ topic }) => !topic.closed && !topic.archived
  if (value === 'closed') return ({ topic }) => topic.closed
  if (value === 'archived') return ({ topic }) => topic.archived
  if (value === 'noreplies') return ({ topic }) => topic.posts.length === 1
  return () => true
}

const ORDERS: Record<string, (post: ForumPost) => number> = {
  latest: ({ created_at }) => created_at,
  latest_topic: ({ topic }) => topic.created_at,
  views: ({ topic }) => topic.views,
  likes: likesOf,
}

/** `GET /search.json?q=&page=` */
export function searchPosts(call: ForumCall): SandboxResponse {
  const text = fieldText(call, 'q')
  const page = wholeOf(call, 'page') ?? 1
  const words = text.split(/\s+/).filter((word) => word !== '')
  const conditions = words.map((word) => operator(call, word))
  const terms = words
    .filter((_, at) => conditions[at] === null)
    .map((word) => word.replaceAll('"', ''))
  const only_titles = words.includes('in:title')
  const order = words.find((word) => word.startsWith('order:'))?.slice('order:'.length) ?? ''
  const too_short =
    terms.length > 0 &&
    terms.every((term) => term.length < SHORTEST_TERM) &&
    terms.length === words.length
  const fits = (post: ForumPost) =>
    post.type === FORUM_POST_TYPES.regular &&
    post.topic.archetype === 'regular' &&
    post.topic.visible &&
    !post.hidden &&
    canSeePost(call, post) &&
    !isGone(post, call.now) &&
    conditions.every((condition) => condition === null || condition(post)) &&
    matchesWords(only_titles ? post.topic.title : `${post.topic.title} ${post.raw}`, terms)
  const measure = Object.hasOwn(ORDERS, order) ? ORDERS[order] : relevance(terms)
  const found =
    too_short || words.length === 0 || page > LAST_PAGE
      ? []
      : call.world.posts
          .filter(fits)
          .toSorted(
            (one, other) => (measure?.(other) ?? 0) - (measure?.(one) ?? 0) || other.id - one.id,
          )
  const rows = found.slice((page - 1) * POSTS_PER_PAGE, page * POSTS_PER_PAGE)
  return forumJson(answer(call, { text, rows, more: found.length > page * POSTS_PER_PAGE }))
}

/** Answer of a search that the site refused for load: no rows, and the reason. */
export const refusedSearch = (call: ForumCall, error: string): SandboxResponse =>
  forumJson(answer(call, { text: fieldText(call, 'q'), rows: [], more: false, error }))

// Titles weigh more than texts.
const relevance = (terms: readonly string[]) => (post: ForumPost) =>
  terms.filter((term) => matchesWords(post.topic.title, [term])).length * 3 +
  (post.number === 1 ? 1 : 0)

type Found = { text: string; rows: readonly ForumPost[]; more: boolean; error?: string }

function answer(call: ForumCall, { text, rows, more, error }: Found) {
  const { world } = call
  const topics = [...new Set(rows.map(({ topic }) => topic))]
  const users = [...world.users.values()].filter(
    ({ username }) => text.length >= SHORTEST_TERM && username.toLowerCase() === text.toLowerCase(),
  )
  return {
    posts: rows.map((post) => ({
      id: post.id,
      name: post.user.name,
      username: post.user.username,
      avatar_template: avatarOf(post.user),
      created_at: isoOf(post.created_at),
      like_count: likesOf(post),
      blurb: excerptOf(post.raw, 200),
      post_number: post.number,
      topic_id: post.topic.id,
    })),
    topics: topics.map((topic) => foundTopic(call, topic)),
    users: users.map(briefUser),
    categories: [],
    tags: [],
    groups: [],
    grouped_search_result: {
      more_posts: null,
      more_users: null,
      more_categories: null,
      term: text,
      search_log_id: world.next.search++,
      more_full_page_results: more ? true : null,
      can_create_topic: call.viewer !== null,
      error: error ?? null,
      extra: {},
      post_ids: rows.map(({ id }) => id),
      user_ids: users.map(({ id }) => id),
      category_ids: [],
      tag_ids: [],
      group_ids: [],
    },
  }
}
