import type { SandboxResponse } from '../server/response.ts'
import { fieldText, truthOf, wholeOf } from '../sources/source.ts'
import {
  actionLimit,
  forbidden,
  type ForumCall,
  forumJson,
  invalidParameter,
  missing,
  notLoggedIn,
  unprocessable,
} from './access.ts'
import {
  addForumPost,
  addForumTopic,
  addNotice,
  canSeeTopic,
  type ForumPost,
  type ForumTopic,
  type ForumUser,
  isGone,
  isStaff,
  NOTICE,
} from './model.ts'
import { canSeePost, postFields, writtenPost } from './posts.ts'

const SHORTEST_POST = 20
const SHORTEST_TITLE = 15
const MEMO_MS = 120_000
const GRACE_MS = 300_000
const DAY_S = 86_400

/** Call of a signed-in user; the writer is not null. */
type WriteCall = ForumCall & { viewer: ForumUser }

/** Handler that only signed-in users reach. */
export const asWriter =
  (handler: (call: WriteCall, ...parts: string[]) => SandboxResponse) =>
  (call: ForumCall, ...parts: string[]): SandboxResponse => {
    const { viewer } = call
    return viewer === null ? notLoggedIn() : handler({ ...call, viewer }, ...parts)
  }

/** Refusal of a limit of one action in `window_s`; null: it is allowed. Staff has none. */
function limited(
  call: WriteCall,
  action: string,
  most: number,
  window_s: number,
): SandboxResponse | null {
  if (isStaff(call.viewer) || window_s === 0) return null
  const { allowed, wait_s } = call.world.rates.take(
    `${action}:${call.viewer.id}`,
    most,
    window_s,
    call.now,
  )
  return allowed ? null : actionLimit(wait_s)
}

/** `POST /posts.json`: a topic, a reply or a message. */
export function createForumPost(call: WriteCall): SandboxResponse {
  const { world, key } = call
  const raw = fieldText(call, 'raw').trim()
  if (raw === '') return invalidParameter('raw')
  if (call.fault?.fault === 'enqueued') return enqueued(call, raw)
  // A repeated write with a key gets the result of the first.
  const memo_key =
    key === null ? null : `${key.key} ${call.viewer.id} ${JSON.stringify(call.fields)}`
  const known = memo_key === null ? undefined : world.memo.get(memo_key)
  if (known !== undefined && call.now - known.at < MEMO_MS)
    return forumJson(writtenPost(call, known.post))
  const result = write(call, raw)
  if ('headers' in result) return result
  if (memo_key !== null) world.memo.set(memo_key, { at: call.now, post: result })
  return forumJson(writtenPost(call, result))
}

function write(call: WriteCall, raw: string): ForumPost | SandboxResponse {
  const topic_id = wholeOf(call, 'topic_id')
  const staff = isStaff(call.viewer)
  if (call.viewer.silenced) return forbidden()
  if (raw.length < SHORTEST_POST && !staff)
    return unprocessable(`Body is too short (minimum is ${SHORTEST_POST} characters)`)
  if (topic_id !== null) return reply(call, topic_id, raw)
  if (fieldText(call, 'archetype') === 'private_message') return privateMessage(call, raw)
  return newTopic(call, raw)
}

function createdAt({ viewer, key, fields }: WriteCall, now: number): number {
  const text = fields['created_at']
  const at = typeof text === 'string' ? Date.parse(text) : Number.NaN
  // Only administrators may set the time.
  return Number.isNaN(at) || key?.user !== null || !viewer.admin ? now : at
}

function newTopic(call: WriteCall, raw: string): ForumPost | SandboxResponse {
  const { world, viewer: user, fields, query } = call
  const title = fieldText(call, 'title').trim()
  if (title === '') return unprocessable("Title can't be blank")
  if (title.length < SHORTEST_TITLE && !isStaff(user))
    return unprocessable(`Title is too short (minimum is ${SHORTEST_TITLE} characters)`)
  const named = fieldText(call, 'category')
  const category =
    named === '' ? world.categories[0] : world.categories.find(({ id }) => String(id) === named)
  if (category === undefined) return invalidParameter('category')
  if (category.read_restricted && !isStaff(user)) return forbidden()
  const refused = limited(call, 'topic', 1, world.settings.create_topic_s)
  if (refused !== null) return refused
  const tags = Array.isArray(fields['tags']) ? fields['tags'].map(String) : query.getAll('tags[]')
  const topic = addForumTopic(world, {
    title,
    raw,
    user,
    category,
    tags,
    created_at: createdAt(call, call.now),
  })
  return firstOf(topic)
}

function firstOf({ posts: [post] }: ForumTopic): ForumPost {
  if (post === undefined) throw new RangeError('the topic has no post')
  return post
}

function reply(call: WriteCall, topic_id: number, raw: string): ForumPost | SandboxResponse {
  const { world, viewer: user } = call
  const topic = world.topics.get(topic_id)
  if (topic === undefined) return missing()
  if (!canSeeTopic(user, topic)) return forbidden()
  if ((topic.closed || topic.archived) && !isStaff(user)) return forbidden()
  const refused = limited(call, 'post', 1, world.settings.create_post_s)
  if (refused !== null) return refused
  const last = topic.posts.at(-1)
  if (last?.user === user && last.raw === raw)
    return unprocessable('Body is too similar to what you recently posted')
  const parent = wholeOf(call, 'reply_to_post_number')
  const reply_to = topic.posts.some(({ number }) => number === parent) ? parent : null
  const created_at = createdAt(call, call.now)
  const post = addForumPost(world, { topic, user, raw, reply_to, created_at })
  if (truthOf(call, 'whisper') && isStaff(user)) post.type = 4
  return post
}

function privateMessage(call: WriteCall, raw: string): ForumPost | SandboxResponse {
  const { world, viewer: user } = call
  const named = fieldText(call, 'target_recipients') || fieldText(call, 'target_usernames')
  const names = named.split(',').flatMap((name) => (name.trim() === '' ? [] : [name.trim()]))
  const title = fieldText(call, 'title').trim()
  if (names.length === 0) return unprocessable('You must choose at least one recipient.')
  if (title === '') return unprocessable("Title can't be blank")
  const recipients = names.map((name) => world.users.get(name.toLowerCase()))
  const found = recipients.filter((each) => each !== undefined)
  if (found.length < recipients.length)
    return unprocessable('Sorry, that user does not exist or can not receive messages.')
  const refused = limited(call, 'message', world.settings.messages_per_day, DAY_S)
  if (refused !== null) return refused
  const topic = addForumTopic(world, {
    title,
    raw,
    user,
    archetype: 'private_message',
    category: null,
    allowed: new Set([user, ...found]),
  })
  return firstOf(topic)
}

const enqueued = ({ world, viewer }: WriteCall, raw: string) =>
  forumJson({
    action: 'enqueued',
    success: true,
    pending_count: 1,
    pending_post: {
      id: world.next.search++,
      avatar_template: '/images/avatar.png',
      name: viewer.name,
      username: viewer.username,
      raw_text: raw,
      title: null,
      created_at: new Date(world.now()).toISOString(),
    },
  })

const postOf = ({ world }: ForumCall, id: string | number | null) =>
  world.posts.find((post) => String(post.id) === String(id))

/** `PUT /posts/{id}.json` */
export function editForumPost(call: WriteCall, id: string): SandboxResponse {
  const post = postOf(call, id)
  if (post === undefined || !canSeePost(call, post)) return missing()
  if (post.user !== call.viewer && !isStaff(call.viewer)) return forbidden()
  const { post: nested } = call.fields
  const fields: Record<string, unknown> =
    typeof nested === 'object' && nested !== null ? { ...nested } : formPost(call)
  const { raw, original_text, edit_reason } = fields
  if (typeof raw !== 'string' || raw === '') return invalidParameter('raw')
  if (typeof original_text === 'string' && original_text !== post.raw)
    return forumJson(
      { errors: ['That post was edited by another user and your changes can no longer be saved.'] },
      409,
    )
  changeText(post, raw, { at: call.now, by: call.viewer })
  if (typeof edit_reason === 'string') post.edit_reason = edit_reason
  return forumJson({ post: writtenPost(call, post) })
}

const formPost = ({ query }: ForumCall) =>
  Object.fromEntries(
    ['raw', 'original_text', 'edit_reason'].flatMap((name) => {
      const value = query.get(`post[${name}]`)
      return value === null ? [] : [[name, value]]
    }),
  )

/** Changes the text. The author's edits within five minutes do not raise the version. */
export function changeText(
  post: ForumPost,
  raw: string,
  { at, by }: { at: number; by: ForumUser },
): void {
  const in_grace = by === post.user && at - (post.edited_at ?? post.created_at) < GRACE_MS
  if (!in_grace) post.version++
  post.raw = raw
  post.updated_at = at
  post.edited_at = at
}

/** `DELETE /posts/{id}.json`: by the author a notice for a day, by staff at once. */
export function deleteForumPost(call: WriteCall, id: string): SandboxResponse {
  const post = postOf(call, id)
  if (post === undefined || !canSeePost(call, post)) return missing()
  if (post.number === 1 && !isStaff(call.viewer)) return forbidden()
  if (isStaff(call.viewer)) post.deleted_at = call.now
  else if (post.user === call.viewer) post.user_deleted_at = call.now
  else return forbidden()
  if (post.number === 1) post.topic.deleted_at = call.now
  return { status: 200, headers: { 'content-type': 'text/plain; charset=utf-8' }, body: '' }
}

/** `PUT /posts/{id}/recover.json` */
export function recoverForumPost(call: WriteCall, id: string): SandboxResponse {
  const post = postOf(call, id)
  if (post === undefined) return missing()
  if (!isStaff(call.viewer) && post.user !== call.viewer) return forbidden()
  post.deleted_at = null
  post.user_deleted_at = null
  if (post.number === 1) post.topic.deleted_at = null
  return forumJson(writtenPost(call, post))
}

/** `DELETE /t/{id}.json` */
export function deleteForumTopic(call: WriteCall, id: string): SandboxResponse {
  const topic = call.world.topics.get(Number(id))
  if (topic === undefined) return missing()
  if (!isStaff(call.viewer)) return forbidden()
  topic.deleted_at = call.now
  return { status: 200, headers: { 'content-type': 'text/plain; charset=utf-8' }, body: '' }
}

const LIKE = '2'

/** `POST /post_actions.json`: a like. */
export function likePost(call: WriteCall): SandboxResponse {
  const { viewer, world } = call
  const post = postOf(call, fieldText(call, 'id'))
  if (fieldText(call, 'post_action_type_id') !== LIKE)
    return invalidParameter('post_action_type_id')
  if (post === undefined || !canSeePost(call, post) || isGone(post, call.now)) return missing()
  if (post.user === viewer || post.likers.has(viewer)) return forbidden()
  const { likes_per_day } = world.settings
  const use = world.rates.take(`like:${viewer.id}`, likes_per_day, DAY_S, call.now)
  if (!use.allowed) return actionLimit(use.wait_s)
  post.likers.add(viewer)
  addNotice(world, post.user, { type: NOTICE.liked, at: call.now, post, from: viewer })
  const answer = forumJson(postFields(call, post, { raw: true }))
  return {
    ...answer,
    headers: {
      ...answer.headers,
      'discourse-actions-remaining': String(use.left),
      'discourse-actions-max': String(likes_per_day),
    },
  }
}

/** `DELETE /post_actions/{id}.json` */
export function unlikePost(call: WriteCall, id: string): SandboxResponse {
  const post = postOf(call, id)
  if (post === undefined || !canSeePost(call, post)) return missing()
  if (!post.likers.delete(call.viewer)) return forbidden()
  return forumJson(postFields(call, post, { raw: true }))
}
