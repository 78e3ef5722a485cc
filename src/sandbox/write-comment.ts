import { type Answer, json, refusal } from './answer.ts'
import type { Ask } from './ask.ts'
import { type FormCode, formDone, LONGEST_TEXT, refuseForm } from './form-errors.ts'
import { concerns, send } from './mail.ts'
import type { Comment, Message, Thing, User } from './model.ts'
import { renderComment, renderOldComment } from './native-comment.ts'
import { renderMessage } from './native-message.ts'
import { mayRead } from './places.ts'
import { addComment, remove } from './world.ts'

/** `/api/comment`: an answer to a post, a comment or a message. */
export function comment(ask: Ask, user: User, asJson: boolean): Answer {
  const { query, world } = ask
  const thing_id = query.get('thing_id') ?? query.get('parent') ?? ''
  const parent = world.things.get(thing_id) ?? world.messages.get(thing_id)
  if (parent === undefined) return refusal(403)
  const text = textOf(query)
  const wrong = parent.kind === 't4' ? null : refusedAt(parent, user)
  if (wrong === 403) return refusal(403)
  const refused = wrong ?? wrongText(text)
  if (refused !== null) return refuseForm(ask, refused)
  if (parent.kind === 't4') return answerMail(ask, user, parent, text)
  const made = leave(ask, user, parent, text)
  const place = parent.kind === 't3' ? parent.subforum : parent.post.subforum
  if (!mayRead(place, user)) return ghost(ask, made)
  return answerWith(ask, made, asJson)
}

/** A comment comes to stand there. */
export function leave({ world, twist }: Ask, author: User, parent: Thing, text: string): Comment {
  const made = addComment(world, { parent, author, text })
  // Whoever writes something is for it.
  author.votes.set(made, 1)
  if (twist.filtered) remove(world, made, 'moderator')
  return made
}

/** Plain text, or the text of a rich document. */
function textOf(query: URLSearchParams): string {
  const rich = query.get('richtext_json')
  return rich === null ? (query.get('text') ?? '') : richText(rich)
}

/** The text of a rich document; empty when it is none. */
export function richText(document: string): string {
  try {
    return plain(JSON.parse(document)).trimEnd()
  } catch {
    return ''
  }
}

function plain(node: unknown): string {
  if (Array.isArray(node)) return node.map(plain).join('')
  if (typeof node !== 'object' || node === null) return ''
  const { document, c, t, e } = { document: null, c: null, t: null, e: null, ...node }
  const inner = plain(document) + (typeof t === 'string' ? t : '') + plain(c)
  return e === 'par' ? `${inner}\n\n` : inner
}

/** Why nobody can say this. */
export function wrongText(text: string): FormCode | null {
  if (text.trim() === '') return 'NO_TEXT'
  return text.length > LONGEST_TEXT ? 'TOO_LONG' : null
}

/** Why nothing can be said there: a code inside of success, or a plain refusal. */
export function refusedAt(parent: Thing, user: User): FormCode | 403 | null {
  const post = parent.kind === 't3' ? parent : parent.post
  const { access, bans } = post.subforum
  if (bans.has(user)) return 403
  if (!mayRead(post.subforum, user) && access !== 'quarantined') return 403
  if (parent.kind === 't1' && parent.removed === 'author') return 'DELETED_COMMENT'
  if (post.removed === 'author') return 'DELETED_LINK'
  if (post.archived) return 'TOO_OLD'
  if (post.locked || parent.locked) return 'THREAD_LOCKED'
  if (parent.author.blocked.has(user)) return 'SOMETHING_IS_BROKEN'
  return user.blocked.has(parent.author) ? 'USER_BLOCKED' : null
}

/** It is there, and nobody is told: who has not agreed to see the place sees no answer either. */
function ghost(ask: Ask, made: Comment): Answer {
  remove(ask.world, made, 'platform')
  if (ask.query.get('return_rtjson') === '1') return refusal(500)
  return formDone(ask, '{"things":[]}')
}

function answerWith(ask: Ask, made: Comment, asJson: boolean): Answer {
  const whole = renderComment(made, ask.viewer, { kind: 'alone' })
  if (ask.query.get('return_rtjson') === '1') return json(bare(whole))
  return formDone(ask, `{"things":[${asJson ? whole : renderOldComment(made)}]}`)
}

/** What stands in the envelope of a thing. */
const bare = (thing: string) => thing.slice('{"kind":"t1","data":'.length, -1)

function answerMail(ask: Ask, user: User, parent: Message, text: string): Answer {
  if (!concerns(parent, user)) return refusal(403)
  const { subject } = parent.first ?? parent
  const reply = send(ask.world, {
    author: user,
    to: parent.author === user ? parent.to : parent.author,
    subject: `re: ${subject}`,
    text,
    parent,
  })
  return formDone(ask, `{"things":[${renderMessage(ask, reply)}]}`)
}
