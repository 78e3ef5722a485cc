import type { SandboxResponse } from '../server/response.ts'
import { fieldText, wholeOf } from '../sources/source.ts'
import {
  forbidden,
  type ForumCall,
  forumJson,
  invalidParameter,
  missing,
  notLoggedIn,
} from './access.ts'
import {
  canSeeTopic,
  FORUM_POST_TYPES,
  type ForumPost,
  type ForumTopic,
  isStaff,
  likesOf,
} from './model.ts'
import { canSeePost, postFields, visiblePosts } from './posts.ts'
import { CHUNK_SIZE, listedTopics, topicFields, topicList } from './topics.ts'

const POSTS_PER_PAGE = 50

/** `GET /posts.json?before=`: newest posts of the site. */
export function latestPosts(call: ForumCall): SandboxResponse {
  const before = wholeOf(call, 'before')
  const rows =
    call.world.settings.listing === 'old' ? oldPage(call, before) : currentPage(call, before)
  return forumJson({
    latest_posts: rows.map((post) => postFields(call, post, { listed: true, raw: true })),
  })
}

const isPublicPost = (call: ForumCall, { topic }: ForumPost) =>
  topic.archetype === 'regular' && canSeeTopic(call.viewer, topic)

/** By descending id, below `before`. */
function currentPage(call: ForumCall, before: number | null): ForumPost[] {
  const rows: ForumPost[] = []
  for (let at = call.world.posts.length - 1; at >= 0 && rows.length < POSTS_PER_PAGE; at--) {
    const post = call.world.posts[at]
    if (post === undefined || (before !== null && post.id >= before)) continue
    const listed = post.type === FORUM_POST_TYPES.regular && post.topic.visible && !post.hidden
    if (!listed || !isPublicPost(call, post)) continue
    if (visiblePosts(call, [post]).length > 0) rows.push(post)
  }
  return rows
}

/**
 * As of 2.8: a window of 50 ids that includes `before`; rows that the reader may not see are
 * removed after the window was cut.
 */
function oldPage(call: ForumCall, before: number | null): ForumPost[] {
  const last =
    before ?? call.world.posts.findLast(({ created_at }) => created_at <= call.as_of)?.id ?? 0
  return call.world.posts
    .filter(({ id }) => id <= last && id > last - POSTS_PER_PAGE)
    .filter((post) => isPublicPost(call, post) && visiblePosts(call, [post]).length > 0)
    .toSorted((one, other) => other.created_at - one.created_at)
}

const ORDERS: Record<string, (call: ForumCall, topic: ForumTopic) => number> = {
  default: (_, { bumped_at }) => bumped_at,
  activity: (_, { bumped_at }) => bumped_at,
  created: (_, { created_at }) => created_at,
  views: (_, { views }) => views,
  posts: (call, { posts }) => visiblePosts(call, posts).length,
  likes: (_, { posts }) => posts.reduce((total, post) => total + likesOf(post), 0),
  op_likes: (_, { posts: [first] }) => (first === undefined ? 0 : likesOf(first)),
  category: (_, { category }) => category?.id ?? 0,
  posters: (_, { posts }) => new Set(posts.map(({ user }) => user)).size,
}

type ListPlace = { path: string; pinned: 'global' | 'all' | 'none' }

/** A sorted list of topics, one page. Pinned topics come first in the default order. */
function topicPage(
  call: ForumCall,
  topics: readonly ForumTopic[],
  { path, pinned }: ListPlace,
): SandboxResponse {
  const { query } = call
  const order = query.get('order') ?? 'default'
  const measure = Object.hasOwn(ORDERS, order) ? ORDERS[order] : ORDERS['default']
  const sign = query.get('ascending') === 'true' ? -1 : 1
  const isFirst = (topic: ForumTopic) =>
    order === 'default' &&
    topic.pinned &&
    (pinned === 'all' || (pinned === 'global' && topic.pinned_globally))
  const sorted = topics.toSorted((one, other) => {
    if (isFirst(one) !== isFirst(other)) return isFirst(one) ? -1 : 1
    return sign * ((measure?.(call, other) ?? 0) - (measure?.(call, one) ?? 0)) || other.id - one.id
  })
  const kept = new URLSearchParams(
    ['order', 'ascending', 'period'].flatMap((name) => {
      const value = query.get(name)
      return value === null ? [] : [[name, value] as [string, string]]
    }),
  )
  const more = kept.size > 0 ? `${path}?${kept.toString()}` : path
  const page = Math.max(0, wholeOf(call, 'page') ?? 0)
  return forumJson(topicList(call, sorted, { page, more }))
}

/** `GET /latest.json`, and the same list by other names. */
export const latestTopics = (call: ForumCall): SandboxResponse =>
  topicPage(call, listedTopics(call), { path: '/latest', pinned: 'global' })

/** `GET /new.json` and `/unread.json`: for a signed-in reader. */
export const newTopics = (call: ForumCall): SandboxResponse =>
  call.viewer === null
    ? notLoggedIn()
    : topicPage(
        call,
        listedTopics(call).filter(({ created_at }) => created_at > call.now - 2 * DAY_MS),
        { path: '/new', pinned: 'none' },
      )

const DAY_MS = 86_400_000
const PERIOD_DAYS: Record<string, number> = {
  daily: 1,
  weekly: 7,
  monthly: 30,
  quarterly: 90,
  yearly: 365,
  all: Infinity,
}

function byScore(call: ForumCall, topics: readonly ForumTopic[], path: string): SandboxResponse {
  const days = PERIOD_DAYS[call.query.get('period') ?? 'yearly']
  if (days === undefined) return invalidParameter('period')
  const query = new URLSearchParams(call.query)
  if (!query.has('order')) query.set('order', 'likes')
  const rows = topics.filter(({ created_at }) => created_at > call.now - days * DAY_MS)
  return topicPage({ ...call, query }, rows, { path, pinned: 'none' })
}

/** `GET /top.json?period=` and `/hot.json` */
export const topTopics = (call: ForumCall): SandboxResponse =>
  byScore(call, listedTopics(call), '/top')

/** Topics of a category and its subcategories: `GET /c/{slug}/{id}/l/latest.json` */
export const categoryTopics =
  (list: 'latest' | 'top') =>
  (call: ForumCall, ...parts: string[]): SandboxResponse => {
    const id = parts.at(-1) ?? ''
    const category = call.world.categories.find(
      (each) => String(each.id) === id || each.slug === id,
    )
    if (category === undefined) return missing()
    if (category.read_restricted && !isStaff(call.viewer)) return forbidden()
    const inside = new Set(
      call.world.categories.filter((each) => each === category || each.parent_id === category.id),
    )
    const topics = listedTopics(call).filter(
      (topic) => topic.category && inside.has(topic.category),
    )
    const path = `/c/${category.slug}/${category.id}/l/${list}`
    return list === 'top'
      ? byScore(call, topics, path)
      : topicPage(call, topics, { path, pinned: 'all' })
  }

/** `GET /tag/{name}/l/latest.json` */
export function tagTopics(call: ForumCall, name: string): SandboxResponse {
  const topics = listedTopics(call).filter(({ tags }) => tags.includes(name))
  if (topics.length === 0) return missing()
  return topicPage(call, topics, { path: `/tag/${name}/l/latest`, pinned: 'none' })
}

/** `GET /topics/created-by/{username}.json` */
export function topicsBy(call: ForumCall, name: string): SandboxResponse {
  const user = call.world.users.get(name.toLowerCase())
  if (user === undefined) return missing()
  const topics = listedTopics(call).filter((topic) => topic.user === user)
  return topicPage(call, topics, { path: `/topics/created-by/${user.username}`, pinned: 'none' })
}

/** `GET /topics/private-messages/{username}.json`, received or sent. */
export const privateMessages =
  (box: 'received' | 'sent') =>
  (call: ForumCall, name: string): SandboxResponse => {
    const user = call.world.users.get(name.toLowerCase())
    if (user === undefined) return missing()
    if (call.viewer === null) return notLoggedIn()
    if (call.viewer !== user && !call.viewer.admin) return missing()
    const topics = [...call.world.topics.values()].filter(
      (topic) =>
        topic.archetype === 'private_message' &&
        topic.deleted_at === null &&
        topic.allowed.has(user) &&
        (topic.user === user) === (box === 'sent'),
    )
    const path = `/topics/private-messages${box === 'sent' ? '-sent' : ''}/${user.username}`
    return topicPage(call, topics, { path, pinned: 'none' })
  }

/** Topic by id; a refusal where it is missing, deleted or private. */
function topicOr(call: ForumCall, id: string): ForumTopic | SandboxResponse {
  const topic = call.world.topics.get(Number(id))
  if (topic === undefined || topic.created_at > call.as_of) return missing()
  if (canSeeTopic(call.viewer, topic)) return topic
  return topic.deleted_at !== null ? missing() : forbidden()
}

const isRefusal = (found: ForumTopic | SandboxResponse): found is SandboxResponse =>
  'headers' in found

/** A topic from its start, by `page`, or around a post number: `GET /t/{id}/{post_number}.json` */
export function topicShow(call: ForumCall, id: string, number?: string): SandboxResponse {
  const topic = topicOr(call, id)
  if (isRefusal(topic)) return topic
  topic.views++
  const posts = visiblePosts(call, topic.posts)
  if (number === undefined) {
    const page = Math.max(1, wholeOf(call, 'page') ?? 1)
    const chunk = posts.slice((page - 1) * CHUNK_SIZE, page * CHUNK_SIZE)
    if (chunk.length === 0) return missing()
    return forumJson(topicFields(call, topic, { chunk, current: chunk[0]?.number ?? 1 }))
  }
  const found = posts.findIndex((post) => post.number >= Number(number))
  const at = found < 0 ? posts.length - 1 : found
  // A quarter of the chunk lies before the post; at the end of the topic, more of it.
  const start = Math.max(0, Math.min(at - CHUNK_SIZE / 4, posts.length - CHUNK_SIZE))
  return forumJson(
    topicFields(call, topic, {
      chunk: posts.slice(start, start + CHUNK_SIZE),
      current: posts[at]?.number ?? 1,
    }),
  )
}

/** `GET /t/{id}/posts.json`, by ids, or before a post number. */
export function topicPosts(call: ForumCall, id: string): SandboxResponse {
  const topic = topicOr(call, id)
  if (isRefusal(topic)) return topic
  const posts = visiblePosts(call, topic.posts)
  const ids = call.query.getAll('post_ids[]').map(Number)
  const number = wholeOf(call, 'post_number')
  const asc = call.query.get('asc') === 'true'
  const chunk = (() => {
    if (ids.length > 0) return posts.filter((post) => ids.includes(post.id))
    if (number === null) return posts.slice(0, CHUNK_SIZE)
    if (asc) return posts.filter((post) => post.number > number).slice(0, CHUNK_SIZE)
    return posts
      .filter((post) => post.number < number)
      .slice(-CHUNK_SIZE)
      .toReversed()
  })()
  const raw = call.query.get('include_raw') === 'true'
  return forumJson({
    post_stream: { posts: chunk.map((post) => postFields(call, post, { in_topic: true, raw })) },
    id: topic.id,
  })
}

function showPost(call: ForumCall, post: ForumPost | undefined): SandboxResponse {
  if (post === undefined) return missing()
  if (canSeePost(call, post)) return forumJson(postFields(call, post, { raw: true }))
  return canSeeTopic(call.viewer, post.topic) ||
    post.topic.deleted_at !== null ||
    post.created_at > call.as_of
    ? missing()
    : forbidden()
}

/** `GET /posts/{id}.json` */
export const postShow = (call: ForumCall, id: string): SandboxResponse =>
  showPost(
    call,
    call.world.posts.find((post) => String(post.id) === id),
  )

/** `GET /posts/by_number/{topic_id}/{post_number}.json` */
export const postByNumber = (call: ForumCall, topic_id: string, number: string): SandboxResponse =>
  showPost(
    call,
    call.world.topics.get(Number(topic_id))?.posts.find((post) => String(post.number) === number),
  )

/** `GET /posts/{id}/replies.json?after=` */
export function postReplies(call: ForumCall, id: string): SandboxResponse {
  const post = call.world.posts.find((each) => String(each.id) === id)
  if (post === undefined || !canSeePost(call, post)) return missing()
  const after = wholeOf(call, 'after') ?? 1
  const replies = visiblePosts(call, post.topic.posts)
    .filter(({ reply_to, number }) => reply_to === post.number && number > after)
    .slice(0, CHUNK_SIZE)
  return forumJson(replies.map((reply) => postFields(call, reply, { in_topic: true })))
}

const RAW_PER_PAGE = 100

/** `GET /raw/{topic_id}` and `/raw/{topic_id}/{post_number}`: Markdown as text. */
export function rawText(call: ForumCall, topic_id: string, number?: string): SandboxResponse {
  const topic = topicOr(call, topic_id)
  if (isRefusal(topic)) return topic
  const posts = visiblePosts(call, topic.posts).filter(({ hidden }) => !hidden)
  const post = posts.find((each) => String(each.number) === number)
  if (number !== undefined && post === undefined) return missing()
  const page = Math.max(1, Number(fieldText(call, 'page')) || 1)
  const body =
    post?.raw ??
    posts
      .slice((page - 1) * RAW_PER_PAGE, page * RAW_PER_PAGE)
      .map(
        ({ user, created_at, number: at, raw }) =>
          `${user.username} | ${new Date(created_at).toISOString().slice(0, 19).replace('T', ' ')} UTC | #${at}\n\n${raw}\n\n-------------------------\n\n`,
      )
      .join('')
  return { status: 200, headers: { 'content-type': 'text/plain; charset=utf-8' }, body }
}
