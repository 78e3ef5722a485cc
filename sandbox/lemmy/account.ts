import { isValidCode } from '../routes/login.ts'
import type { SandboxResponse } from '../server/response.ts'
import { fieldText, truthOf, wholeOf } from '../sources/source.ts'
import {
  addLemmyComment,
  addLemmyPost,
  findNamed,
  type LemmyNotice,
  type LemmyPost,
  moderate,
  type Person,
  sendLemmyMessage,
} from './model.ts'
import { lemmyError, lemmyJson, lemmyMissing } from './reads.ts'
import {
  commentView,
  type LemmyCall,
  messageView,
  personFields,
  postView,
  stampOf,
} from './shapes.ts'
import { myUser } from './site.ts'

/** Call of a signed-in person. */
type OwnCall = LemmyCall & { viewer: Person }

/** Handler that only a signed-in person reaches. */
export const asPerson =
  (handler: (call: OwnCall) => SandboxResponse) =>
  (call: LemmyCall): SandboxResponse =>
    call.viewer === null
      ? lemmyError('not_logged_in', 401)
      : handler({ ...call, viewer: call.viewer })

/** `GET /account` of v4 */
export const accountGet = (call: OwnCall): SandboxResponse => lemmyJson(myUser(call, call.viewer))

/** Login with a password, and a code where the account has one. */
export function lemmyLogin(call: LemmyCall): SandboxResponse {
  const { world } = call
  const person = findNamed(world.persons, fieldText(call, 'username_or_email'))
  if (person?.password == null || person.password !== fieldText(call, 'password'))
    return lemmyError('incorrect_login', 401)
  const code = fieldText(call, 'totp_2fa_token')
  if (person.totp_secret !== null && code === '') return lemmyError('missing_totp_token')
  if (person.totp_secret !== null && !isValidCode(person.totp_secret, code, call.now / 1000))
    return lemmyError('incorrect_totp_token')
  if (person.banned) return lemmyError('site_ban')
  const jwt = ['eyJhbGciOiJIUzI1NiJ9', world.random.text(60), world.random.text(43)].join('.')
  world.tokens.set(jwt, person)
  return lemmyJson({ jwt, registration_created: false, verify_email_sent: false })
}

/** Ends the session of the call. */
export function lemmyLogout(call: OwnCall): SandboxResponse {
  call.world.tokens.delete(call.headers.get('authorization')?.replace(/^Bearer /, '') ?? '')
  return lemmyJson({ success: true })
}

function writable(call: OwnCall, post: LemmyPost | undefined): SandboxResponse | LemmyPost {
  if (post === undefined || post.removed) return lemmyMissing(call, 'post')
  if (call.viewer.banned) return lemmyError('site_ban')
  if (post.deleted) return lemmyError('deleted')
  return post.locked ? lemmyError('locked') : post
}

/** `POST /comment` */
export function commentCreate(call: OwnCall): SandboxResponse {
  const { world, viewer: creator } = call
  const content = fieldText(call, 'content')
  const found = writable(call, world.posts.get(wholeOf(call, 'post_id') ?? 0))
  if ('headers' in found) return found
  if (content.trim() === '') return lemmyError('invalid_body_field')
  const parent_id = wholeOf(call, 'parent_id')
  const parent = parent_id === null ? null : world.comments.get(parent_id)
  if (parent === undefined || (parent !== null && parent.post !== found))
    return lemmyMissing(call, 'comment')
  const comment = addLemmyComment(world, { post: found, creator, parent, content })
  return commentAnswer(call, comment)
}

const commentAnswer = (call: LemmyCall, comment: Parameters<typeof commentView>[1]) => {
  const comment_view = commentView(call, comment)
  return lemmyJson(call.api === 'v3' ? { comment_view, recipient_ids: [] } : { comment_view })
}

/** `POST /post` */
export function postCreate(call: OwnCall): SandboxResponse {
  const { world, viewer: creator } = call
  const community = world.communities.find(({ id }) => id === wholeOf(call, 'community_id'))
  if (community === undefined) return lemmyMissing(call, 'community')
  const name = fieldText(call, 'name').trim()
  if (name.length < 3 || name.length > 200) return lemmyError('invalid_post_title')
  if (creator.banned) return lemmyError('site_ban')
  const post = addLemmyPost(world, {
    community,
    creator,
    name,
    body: fieldText(call, 'body') || null,
    url: fieldText(call, 'url') || null,
    nsfw: truthOf(call, 'nsfw'),
    pending: community.host !== null && world.settings.version === '1.0',
  })
  return lemmyJson({ post_view: postView(call, post) })
}

/** `PUT /post` and `PUT /comment` */
export const entryEdit =
  (kind: 'post' | 'comment') =>
  (call: OwnCall): SandboxResponse => {
    const { world, viewer, now } = call
    const id = wholeOf(call, `${kind}_id`) ?? 0
    const entry = kind === 'post' ? world.posts.get(id) : world.comments.get(id)
    if (entry === undefined) return lemmyMissing(call, kind)
    if (entry.creator !== viewer) return lemmyError(`no_${kind}_edit_allowed`)
    entry.updated_at = now
    if (entry.kind === 'comment') {
      entry.content = fieldText(call, 'content') || entry.content
      return commentAnswer(call, entry)
    }
    entry.name = fieldText(call, 'name') || entry.name
    entry.body = fieldText(call, 'body') || entry.body
    return lemmyJson({ post_view: postView(call, entry) })
  }

/** Vote of a call: `score` in v3, `is_upvote` in v4; undefined: malformed. */
function voteOf({ api, fields }: LemmyCall): 1 | -1 | 0 | undefined {
  const { score, is_upvote } = fields
  if (api === 'v3') return score === 1 || score === -1 || score === 0 ? score : undefined
  if (is_upvote === true) return 1
  return is_upvote === false ? -1 : 0
}

/** `POST /post/like` and `POST /comment/like` */
export const entryLike =
  (kind: 'post' | 'comment') =>
  (call: OwnCall): SandboxResponse => {
    const { world, viewer } = call
    const id = wholeOf(call, `${kind}_id`) ?? 0
    const entry = kind === 'post' ? world.posts.get(id) : world.comments.get(id)
    const vote = voteOf(call)
    if (entry === undefined || entry.removed) return lemmyMissing(call, kind)
    if (vote === undefined) return lemmyError(`couldnt_like_${kind}`)
    if (vote === 0) entry.votes.delete(viewer)
    else entry.votes.set(viewer, vote)
    return entry.kind === 'post'
      ? lemmyJson({ post_view: postView(call, entry) })
      : commentAnswer(call, entry)
  }

/** Deletes or restores the own entry, `POST /post/delete` in v3, `DELETE /post` in v4. */
export const entryDelete =
  (kind: 'post' | 'comment') =>
  (call: OwnCall): SandboxResponse => {
    const { world, viewer } = call
    const id = wholeOf(call, `${kind}_id`) ?? 0
    const entry = kind === 'post' ? world.posts.get(id) : world.comments.get(id)
    if (entry === undefined) return lemmyMissing(call, kind)
    if (entry.creator !== viewer) return lemmyError(`no_${kind}_edit_allowed`)
    entry.deleted = call.fields['deleted'] !== false
    return entry.kind === 'post'
      ? lemmyJson({ post_view: postView(call, entry) })
      : commentAnswer(call, entry)
  }

/** `POST /post/remove` and `POST /comment/remove`, for moderators. */
export const entryRemove =
  (kind: 'post' | 'comment') =>
  (call: OwnCall): SandboxResponse => {
    const { world, viewer } = call
    const id = wholeOf(call, `${kind}_id`) ?? 0
    const entry = kind === 'post' ? world.posts.get(id) : world.comments.get(id)
    if (entry === undefined) return lemmyMissing(call, kind)
    const { community } = entry.kind === 'post' ? entry : entry.post
    if (!viewer.admin && !community.moderators.has(viewer)) return lemmyError('not_a_moderator')
    moderate(world, entry, call.fields['removed'] !== false)
    return entry.kind === 'post'
      ? lemmyJson({ post_view: postView(call, entry) })
      : commentAnswer(call, entry)
  }

/** `POST /private_message` */
export function messageCreate(call: OwnCall): SandboxResponse {
  const { world, viewer: creator } = call
  const recipient = world.persons.find(({ id }) => id === wholeOf(call, 'recipient_id'))
  const content = fieldText(call, 'content')
  if (recipient === undefined) return lemmyMissing(call, 'person')
  if (content.trim() === '') return lemmyError('invalid_body_field')
  const message = sendLemmyMessage(world, { creator, recipient, content })
  return lemmyJson({ private_message_view: messageView(call, message) })
}

/** `GET /private_message/list` of v3 */
export function messageList(call: OwnCall): SandboxResponse {
  const unread = truthOf(call, 'unread_only')
  const rows = call.world.messages.filter(({ creator, recipient, read }) =>
    recipient === call.viewer ? !unread || !read : creator === call.viewer && !unread,
  )
  return lemmyJson({
    private_messages: rows
      .toReversed()
      .slice(0, 50)
      .map((message) => messageView(call, message)),
  })
}

const noticesOf = ({ world, viewer }: OwnCall) =>
  world.notices.filter(({ recipient }) => recipient === viewer).toReversed()

/** `GET /user/replies` of v3 */
export const replyList = (call: OwnCall): SandboxResponse =>
  lemmyJson({
    replies: noticesOf(call).flatMap((notice) => {
      if (notice.kind !== 'reply') return []
      const { id, recipient, comment, read, created_at } = notice
      return [
        {
          comment_reply: {
            id,
            recipient_id: recipient.id,
            comment_id: comment.id,
            read,
            published: stampOf(created_at),
          },
          ...commentView(call, comment),
          recipient: personFields(call, recipient),
        },
      ]
    }),
  })

const noticeFields = (call: LemmyCall, notice: LemmyNotice) => ({
  notification: {
    id: notice.id,
    creator_id: notice.kind === 'reply' ? notice.comment.creator.id : notice.message.creator.id,
    recipient_id: notice.recipient.id,
    ...(notice.kind === 'reply'
      ? { comment_id: notice.comment.id, post_id: notice.comment.post.id }
      : { private_message_id: notice.message.id }),
    kind: notice.kind,
    published_at: stampOf(notice.created_at),
    read: notice.read,
  },
  data:
    notice.kind === 'reply'
      ? { type_: 'comment', ...commentView(call, notice.comment) }
      : { type_: 'private_message', ...messageView(call, notice.message) },
})

/** `GET /account/notification/list?type_=` of v4 */
export function notificationList(call: OwnCall): SandboxResponse {
  const type = fieldText(call, 'type_')
  const rows = noticesOf(call).filter(({ kind }) => ['', 'all', kind].includes(type))
  return lemmyJson({ items: rows.slice(0, 50).map((notice) => noticeFields(call, notice)) })
}
