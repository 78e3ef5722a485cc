import {
  FORM_ERRORS,
  type FormCode,
  formDone,
  LONGEST_TEXT,
  refuseForm,
} from '../faults/form-errors.ts'
import { renderComment, renderOldComment } from '../render/comments.ts'
import { renderMessage } from '../render/messages.ts'
import type { SandboxRequest } from '../server/request.ts'
import { escapeHtml, json, partial, refusal, type SandboxResponse } from '../server/response.ts'
import { isParticipant, sendMail } from '../world/mail.ts'
import type {
  SandboxComment,
  SandboxMessage,
  SandboxPost,
  SandboxUser,
  Thing,
} from '../world/model.ts'
import { mayRead } from '../world/subforum-access.ts'
import { addComment, remove } from '../world/world.ts'

/** `/api/comment`: reply to a post, a comment or a message. */
export function submitComment(
  request: SandboxRequest,
  user: SandboxUser,
  asJson: boolean,
): SandboxResponse {
  const { query, world } = request
  const thing_id = query.get('thing_id') ?? query.get('parent') ?? ''
  const parent = world.things.get(thing_id) ?? world.messages.get(thing_id)
  if (parent === undefined) return refusal(403)
  const text = textOf(query)
  const reply_error = parent.kind === 't4' ? null : replyError(parent, user)
  if (reply_error === 403) return refusal(403)
  const code = reply_error ?? textError(text)
  if (code !== null) return refuseForm(request, code)
  if (parent.kind === 't4') return replyToMessage(request, user, parent, text)
  const comment = insertComment(request, user, parent, text)
  const subforum = parent.kind === 't3' ? parent.subforum : parent.post.subforum
  if (!mayRead(subforum, user)) return hiddenResult(request, comment)
  return commentResult(request, comment, asJson)
}

/** Inserts a comment. */
function insertComment(
  { world, patch }: SandboxRequest,
  author: SandboxUser,
  parent: Thing,
  text: string,
): SandboxComment {
  const comment = addComment(world, { parent, author, text })
  // Authors upvote their own items.
  author.votes.set(comment, 1)
  if (patch.remove_comment) remove(world, comment, 'moderator')
  return comment
}

/** Plain text, or the text of a rich-text document. */
function textOf(query: URLSearchParams): string {
  const rich = query.get('richtext_json')
  return rich === null ? (query.get('text') ?? '') : richText(rich)
}

/** Text of a rich-text document; empty if malformed. */
function richText(document: string): string {
  try {
    return nodeText(JSON.parse(document)).trimEnd()
  } catch {
    return ''
  }
}

function nodeText(node: unknown): string {
  if (Array.isArray(node)) return node.map(nodeText).join('')
  if (typeof node !== 'object' || node === null) return ''
  const { document, c, t, e } = { document: null, c: null, t: null, e: null, ...node }
  const inner = nodeText(document) + (typeof t === 'string' ? t : '') + nodeText(c)
  return e === 'par' ? `${inner}\n\n` : inner
}

/** Error of a text; null if it is valid. */
function textError(text: string): FormCode | null {
  if (text.trim() === '') return 'NO_TEXT'
  return text.length > LONGEST_TEXT ? 'TOO_LONG' : null
}

/** Reason why a parent accepts no reply: an error code, or a plain 403. */
function replyError(parent: Thing, user: SandboxUser): FormCode | 403 | null {
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

/**
 * The comment exists, but a user who has not opted into the quarantined subforum does not see it.
 */
function hiddenResult(request: SandboxRequest, comment: SandboxComment): SandboxResponse {
  remove(request.world, comment, 'platform')
  if (request.query.get('return_rtjson') === '1') return refusal(500)
  return formDone(request, '{"things":[]}')
}

function commentResult(
  request: SandboxRequest,
  comment: SandboxComment,
  asJson: boolean,
): SandboxResponse {
  const whole = renderComment(comment, request.viewer, { kind: 'alone' })
  if (request.query.get('return_rtjson') === '1') return json(innerData(whole))
  return formDone(request, `{"things":[${asJson ? whole : renderOldComment(comment)}]}`)
}

/** Fields inside the envelope of a thing. */
const innerData = (thing: string) => thing.slice('{"kind":"t1","data":'.length, -1)

function replyToMessage(
  request: SandboxRequest,
  user: SandboxUser,
  parent: SandboxMessage,
  text: string,
): SandboxResponse {
  if (!isParticipant(parent, user)) return refusal(403)
  const { subject } = parent.first ?? parent
  const reply = sendMail(request.world, {
    author: user,
    to: parent.author === user ? parent.to : parent.author,
    subject: `re: ${subject}`,
    text,
    parent,
  })
  return formDone(request, `{"things":[${renderMessage(request, reply)}]}`)
}

/** Path of a comment's own page. */
export const permalinkOf = ({ id, post }: SandboxComment): string =>
  `/r/${post.subforum.name}/comments/${post.id}/comment/${id}/`

/** Editor that opens on demand and sends each paragraph as a line, as on the modern page. */
const SCRIPT = `
const host = document.querySelector('comment-composer-host')
const csrf_token = () => /(?:^|; )csrf_token=([^;]*)/.exec(document.cookie)?.[1] ?? ''

function open(at, parentId) {
  if (at.querySelector(':scope > shreddit-composer')) return
  const box = document.createElement('shreddit-composer')
  box.innerHTML = '<div slot="rte" role="textbox" contenteditable="true"><p><br></p></div>' +
    '<button slot="submit-button" type="submit">Comment</button><div role="alert"></div>'
  at.append(box)
  document.execCommand('defaultParagraphSeparator', false, 'p')
  box.querySelector('[contenteditable]').focus()
  box.querySelector('button').addEventListener('click', () => send(box, parentId))
}

const paragraphs = (box) =>
  [...box.querySelector('[contenteditable]').children].map(({ textContent }) => ({
    e: 'par',
    c: textContent === '' ? [] : [{ e: 'text', t: textContent }],
  }))

async function send(box, parentId) {
  const button = box.querySelector('button')
  button.disabled = true
  const answer = await fetch('/svc/shreddit/' + host.getAttribute('post-id') + '/create-comment', {
    method: 'POST',
    headers: { accept: 'text/vnd.reddit.partial+html, application/json' },
    body: new URLSearchParams({
      content: JSON.stringify({ document: paragraphs(box) }),
      mode: 'richText',
      richTextMedia: '[]',
      csrf_token: csrf_token(),
      ...(parentId && { parentId }),
    }),
  })
  const text = await answer.text()
  button.disabled = false
  if (answer.ok && text.includes('<shreddit-comment')) return box.insertAdjacentHTML('afterend', text), box.remove()
  box.querySelector('[role=alert]').innerHTML = answer.ok ? text : ''
  for (const alert of box.querySelectorAll('faceplate-alert'))
    alert.textContent = alert.getAttribute('message')
}

host?.querySelector('[data-testid=trigger-button]')?.addEventListener('click', () => open(host, ''))
document.addEventListener('click', ({ target }) => {
  const comment = target.matches('[data-reply]') && target.closest('shreddit-comment')
  if (comment) open(comment, comment.getAttribute('thingid'))
})
`

const BANNERS = {
  locked: `<div slot="post-locked-banner">This post is locked. You won't be able to comment.</div>`,
  archived: '<div slot="post-archived-banner">Archived post. New comments cannot be posted.</div>',
}

/** Reply form between a post and its comments, or the reason why there is none. */
export function composer({ viewer }: SandboxRequest, post: SandboxPost): string {
  if (post.locked) return BANNERS.locked
  if (post.archived) return BANNERS.archived
  // Anonymous viewers get a login link; banned users get nothing.
  if (viewer.user === null) return '<a href="/login/">Log in to comment</a>'
  if (replyError(post, viewer.user) === 403) return ''
  return `<comment-composer-host post-id="${post.name}"><button type="button" data-testid="trigger-button">Join the conversation</button></comment-composer-host>\n<script>${SCRIPT}</script>`
}

/**
 * `POST /svc/shreddit/<post>/create-comment`: request of a post page's reply form; null for every
 * other path. `parentId` names the comment to answer, if it is not the post itself.
 */
export function composerCall(request: SandboxRequest): SandboxResponse | null {
  const [first, second, target = '', call] = request.path
  if (first !== 'svc' || second !== 'shreddit' || call !== 'create-comment') return null
  if (request.host !== 'www' || request.method !== 'POST') return null
  const { query, viewer, cookies, patch } = request
  const { user } = viewer
  const csrf_token = query.get('csrf_token') ?? ''
  if (csrf_token === '' || csrf_token !== cookies.get('csrf_token')) return refusal(403)
  if (user === null) return refusal(401)
  if (user.standing === 'suspended') return refusal(403)
  const { refuse_form } = patch
  if (refuse_form !== null)
    return alert(
      'code' in refuse_form
        ? FORM_ERRORS[refuse_form.code][0]
        : throttleMessage(refuse_form.wait_s),
    )
  return compose(request, user, target)
}

function compose(request: SandboxRequest, user: SandboxUser, target: string): SandboxResponse {
  const parent = request.world.things.get(request.query.get('parentId') ?? target)
  if (parent === undefined || postOf(parent).name !== target) return refusal(400)
  const text = richText(request.query.get('content') ?? '')
  const reply_error = replyError(parent, user)
  if (reply_error === 403) return refusal(403)
  const code = reply_error ?? textError(text)
  if (code !== null) return alert(FORM_ERRORS[code][0])
  const comment = insertComment(request, user, parent, text)
  // A user who has not opted into the quarantined subforum does not see the comment.
  return partial(mayRead(postOf(parent).subforum, user) ? commentElement(comment) : '')
}

const throttleMessage = (wait_s: number) =>
  `Looks like you've been doing that a lot. Take a break for ${Math.ceil(wait_s)} seconds before trying again.`

const postOf = (thing: Thing) => (thing.kind === 't3' ? thing : thing.post)

const alert = (message: string): SandboxResponse =>
  partial(`<faceplate-alert level="error" message="${escapeHtml(message)}"></faceplate-alert>`)

const commentElement = (comment: SandboxComment): string =>
  `<shreddit-comment author="${escapeHtml(comment.author.name)}" thingId="${comment.name}" depth="${comment.depth}" permalink="${permalinkOf(comment)}"><div slot="comment">${escapeHtml(comment.text)}</div></shreddit-comment>`
