import { listingEnvelope } from '../routes/listing.ts'
import type { SandboxRequest } from '../server/request.ts'
import { encode, toHtml } from '../server/response.ts'
import type { InboxItem, SandboxComment, SandboxMessage, SandboxUser } from '../world/model.ts'
import { commentPermalink } from './comments.ts'

/** Common fields of mail and comment notices. */
const COMMON = { likes: null, associated_awarding_id: null }

const htmlOf = (text: string) => `<!-- SC_OFF -->${toHtml(text)}<!-- SC_ON -->`

/** `t4` object of a message; replies are nested if the whole thread is shown. */
export function renderMessage(
  request: SandboxRequest,
  message: SandboxMessage,
  { thread = false, unread = false }: { thread?: boolean; unread?: boolean } = {},
): string {
  const { author, to, first } = message
  const subforum_name = to.kind === 't5' ? to.name : null
  const data = {
    ...COMMON,
    first_message: first?.serial ?? null,
    first_message_name: first?.name ?? null,
    subreddit: subforum_name,
    author_fullname: `t2_${author.id}`,
    id: message.id,
    subject: message.subject,
    score: 0,
    author: author.name,
    num_comments: null,
    parent_id: message.parent?.name ?? null,
    subreddit_name_prefixed: subforum_name === null ? null : `r/${subforum_name}`,
    new: unread,
    type: 'unknown',
    body: message.text,
    dest: to.kind === 't5' ? `#${to.name}` : to.name,
    was_comment: false,
    body_html: htmlOf(message.text),
    name: message.name,
    created: message.created_s,
    created_utc: message.created_s,
    context: '',
    distinguished: null,
  }
  const replies = thread && message.replies.length > 0 ? nestedReplies(request, message) : '""'
  return `{"kind":"t4","data":${encode(data).slice(0, -1)},"replies":${replies}}}`
}

function nestedReplies(request: SandboxRequest, { replies }: SandboxMessage): string {
  const rows = replies.map((reply) =>
    renderMessage(request, reply, { unread: isUnread(request.viewer.user, reply) }),
  )
  return listingEnvelope(request, rows, { after: null, before: null, dist: null })
}

/** True for an unread item of a user's inbox. */
export const isUnread = (user: SandboxUser | null, thing: InboxItem['thing']): boolean =>
  user?.inbox.some((item) => item.thing === thing && item.unread) ?? false

/** Notice of a reply: a `t1` with other fields than in a tree. */
export function renderNotice(comment: SandboxComment, to: SandboxUser, unread: boolean): string {
  const { post, parent, author } = comment
  const data = {
    ...COMMON,
    first_message: null,
    first_message_name: null,
    subreddit: post.subforum.name,
    replies: '',
    ...(author.standing === 'deleted' ? {} : { author_fullname: `t2_${author.id}` }),
    id: comment.id,
    subject: parent === null ? 'post reply' : 'comment reply',
    score: comment.ups - comment.downs,
    author: author.standing === 'deleted' ? '[deleted]' : author.name,
    num_comments: post.comment_count,
    parent_id: parent?.name ?? post.name,
    subreddit_name_prefixed: `r/${post.subforum.name}`,
    new: unread,
    type: parent === null ? 'post_reply' : 'comment_reply',
    body: comment.text,
    link_title: post.title,
    dest: to.name,
    was_comment: true,
    body_html: htmlOf(comment.text),
    name: comment.name,
    created: comment.created_s,
    created_utc: comment.created_s,
    context: `${commentPermalink(comment)}?context=3`,
    distinguished: comment.distinguished,
  }
  return encode({ kind: 't1', data })
}
