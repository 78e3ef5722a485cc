import type { Ask } from './ask.ts'
import { encode, toHtml } from './json.ts'
import { envelope } from './listing.ts'
import type { Comment, Letter, Message, User } from './model.ts'
import { commentPermalink } from './native-comment.ts'

/** What mail and notices of comments have in common. */
const COMMON = { likes: null, associated_awarding_id: null }

const htmlOf = (text: string) => `<!-- SC_OFF -->${toHtml(text)}<!-- SC_ON -->`

/** The `t4` object of a message, its answers nested where the whole thread is shown. */
export function renderMessage(
  ask: Ask,
  message: Message,
  { thread = false, unread = false }: { thread?: boolean; unread?: boolean } = {},
): string {
  const { author, to, first } = message
  const place = to.kind === 't5' ? to.name : null
  const data = {
    ...COMMON,
    first_message: first?.serial ?? null,
    first_message_name: first?.name ?? null,
    subreddit: place,
    author_fullname: `t2_${author.id}`,
    id: message.id,
    subject: message.subject,
    score: 0,
    author: author.name,
    num_comments: null,
    parent_id: message.parent?.name ?? null,
    subreddit_name_prefixed: place === null ? null : `r/${place}`,
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
  const replies = thread && message.replies.length > 0 ? nested(ask, message) : '""'
  return `{"kind":"t4","data":${encode(data).slice(0, -1)},"replies":${replies}}}`
}

function nested(ask: Ask, { replies }: Message): string {
  const rows = replies.map((reply) =>
    renderMessage(ask, reply, { unread: isUnread(ask.viewer.user, reply) }),
  )
  return envelope(ask, rows, { after: null, before: null, dist: null })
}

/** Whether it lies unread in somebody's inbox. */
export const isUnread = (user: User | null, thing: Letter['thing']): boolean =>
  user?.inbox.some((letter) => letter.thing === thing && letter.unread) ?? false

/** The notice of an answer: a `t1` of another shape than that of a tree. */
export function renderNotice(comment: Comment, to: User, unread: boolean): string {
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
