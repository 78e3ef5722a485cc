import {
  type FormCode,
  formDone,
  LONGEST_TEXT,
  refuseForm,
  refuseThrottled,
} from '../faults/form-errors.ts'
import { renderComment } from '../render/comments.ts'
import { renderPost } from '../render/posts.ts'
import { userThing } from '../render/users.ts'
import type { SandboxRequest } from '../server/request.ts'
import { encode, json, refusal, type SandboxResponse } from '../server/response.ts'
import { sendMail } from '../world/mail.ts'
import type { SandboxPost, SandboxUser, Subforum, Thing, World } from '../world/model.ts'
import { mayRead } from '../world/subforum-access.ts'
import { invalidate, nowSeconds, remove } from '../world/world.ts'
import { submitComment } from './comment.ts'

const LONGEST_SUBJECT = 100
const MOST_MARKED = 25

/** `/api/compose`: sends mail; does not return its id. */
function compose(request: SandboxRequest, user: SandboxUser): SandboxResponse {
  const { query, world } = request
  const [name, subject, text] = ['to', 'subject', 'text'].map(
    (field) => query.get(field)?.trim() ?? '',
  )
  if (!name) return refuseForm(request, 'NO_USER')
  const to = recipient(world, name)
  if (typeof to === 'string') return refuseForm(request, to)
  const refusal_code = to.kind === 't5' ? muteRefusal(to, user) : mailRefusal(to, user)
  if (refusal_code !== null) return refuseForm(request, refusal_code)
  if (!subject) return refuseForm(request, 'NO_SUBJECT')
  if (subject.length > LONGEST_SUBJECT)
    return refuseForm(request, 'TOO_LONG', {
      message: `this is too long (max: ${LONGEST_SUBJECT})`,
      field: 'subject',
    })
  if (!text) return refuseForm(request, 'NO_TEXT')
  if (text.length > LONGEST_TEXT) return refuseForm(request, 'TOO_LONG')
  sendMail(world, { author: user, to, subject, text })
  return formDone(request)
}

/** `#name` and `r/name` are subforums, any other name is a user. */
function recipient({ users, subforums }: World, name: string): SandboxUser | Subforum | FormCode {
  const subforum_name = /^(?:#|\/?r\/)(.+)$/.exec(name)?.[1]
  if (subforum_name !== undefined)
    return subforums.get(subforum_name.toLowerCase()) ?? 'SUBREDDIT_NOEXIST'
  const user = users.get(name.replace(/^\/?u\//, '').toLowerCase())
  const gone = user === undefined || user.standing === 'deleted' || user.standing === 'shadowed'
  return gone ? 'USER_DOESNT_EXIST' : user
}

const muteRefusal = ({ bans }: Subforum, user: SandboxUser): FormCode | null =>
  bans.has(user) ? 'MUTED_FROM_SUBREDDIT' : null

function mailRefusal(to: SandboxUser, user: SandboxUser): FormCode | null {
  if (user.blocked.has(to)) return 'USER_BLOCKED'
  if (to.blocked.has(user) || to.mail === 'trusted') return 'NOT_WHITELISTED_BY_USER_MESSAGE'
  return to.mail === 'chat' ? 'RESTRICTED_TO_PM' : null
}

/** `/api/read_message` and its opposite; null on success. */
function markMail(
  { query }: SandboxRequest,
  user: SandboxUser,
  unread: boolean,
): SandboxResponse | null {
  const names = (query.get('id') ?? '').split(',').filter((name) => name !== '')
  if (names.length === 0) return refusal(400)
  if (names.length > MOST_MARKED) return refusal(413)
  for (const item of user.inbox) if (names.includes(item.thing.name)) item.unread = unread
  return null
}

/** `/api/subscribe`: several at once, by fullname or by name; null on success. */
function subscribe({ query, world }: SandboxRequest, user: SandboxUser): SandboxResponse | null {
  const action = query.get('action')
  if (action !== 'sub' && action !== 'unsub') return refusal(400)
  const namesIn = (field: string) => (query.get(field) ?? '').split(',').filter((it) => it !== '')
  const targets = [
    ...namesIn('sr_name').map((name) => world.subforums.get(name.toLowerCase())),
    ...namesIn('sr').map((fullname) => byFullname(world, fullname)),
  ]
  const found = targets.filter((it): it is Subforum => it !== undefined)
  if (found.length === 0 || found.length < targets.length) return refusal(404)
  for (const subforum of found)
    if (action === 'sub') user.subscribed.add(subforum)
    else user.subscribed.delete(subforum)
  world.version++
  return null
}

const byFullname = ({ subforums }: World, fullname: string): Subforum | undefined =>
  [...subforums.values()].find(({ id }) => `t5_${id}` === fullname)

/**
 * `/api/quarantine_optin` and `optout`: redirects to the subforum. Requires a confirmed email
 * address.
 */
function optIn(
  { query, world, origin }: SandboxRequest,
  user: SandboxUser,
  agrees: boolean,
): SandboxResponse {
  const subforum = world.subforums.get(query.get('sr_name')?.toLowerCase() ?? '')
  if (subforum === undefined) return refusal(404)
  if (!user.verified) return refusal(403)
  if (agrees) user.opted_in.add(subforum)
  else user.opted_in.delete(subforum)
  world.version++
  const answer = json('{}', 302)
  const location = `${origin}/r/${subforum.name}.json`
  return { ...answer, headers: { ...answer.headers, location } }
}

/** `/api/block_user`: by name or by fullname. */
function block({ query, world, viewer }: SandboxRequest, user: SandboxUser): SandboxResponse {
  const name = query.get('name')?.toLowerCase()
  const other =
    name === undefined
      ? [...world.users.values()].find(({ id }) => `t2_${id}` === query.get('account_id'))
      : world.users.get(name)
  if (other === undefined || other === user) return refusal(400)
  user.blocked.add(other)
  const { data } = userThing(other, world)
  const icon_img = 'icon_img' in data ? data.icon_img : ''
  return json(encode({ date: viewer.now_s, icon_img, id: `t2_${other.id}`, name: other.name }))
}

/** `/api/vote`; null on success. */
function vote(request: SandboxRequest, user: SandboxUser): SandboxResponse | null {
  const { query } = request
  const id = query.get('id') ?? ''
  const dir = query.get('dir') ?? ''
  const number = /^[+-]?\d+$/.test(dir)
  const status = castVote(request, user, id, number ? Math.sign(Number(dir)) : null)
  return status === null ? null : refusal(status)
}

/**
 * Votes up, down or none. Returns the status of the refusal, or null. An unknown direction is a bad
 * request.
 */
export function castVote(
  request: SandboxRequest,
  user: SandboxUser,
  id: string,
  direction: number,
): null | 400 | 403 | 404
export function castVote(
  request: SandboxRequest,
  user: SandboxUser,
  id: string,
  direction: number | null,
): null | 400 | 403 | 404 | 500
export function castVote(
  { world }: SandboxRequest,
  user: SandboxUser,
  id: string,
  direction: number | null,
) {
  const thing = world.things.get(id)
  if (thing === undefined || thing.removed === 'author') return 404
  const subforum = thing.kind === 't3' ? thing.subforum : thing.post.subforum
  if (!mayRead(subforum, user)) return 403
  if (direction === null) return 500
  if (thing.kind === 't3' ? thing.archived : thing.post.archived) return 400
  applyVote(user, thing, direction)
  invalidate(world, thing)
  return null
}

/** Removes the old vote before the new one counts. */
function applyVote(user: SandboxUser, thing: Thing, direction: number): void {
  const before = user.votes.get(thing)
  if (before === 1) thing.ups--
  if (before === -1) thing.downs--
  user.votes.delete(thing)
  if (direction === 0) return
  user.votes.set(thing, direction > 0 ? 1 : -1)
  if (direction > 0) thing.ups++
  else thing.downs++
}

/** `/api/save` and `unsave`; null on success. */
function save(
  { query, world }: SandboxRequest,
  user: SandboxUser,
  keep: boolean,
): SandboxResponse | null {
  const thing = world.things.get(query.get('id') ?? '')
  if (thing === undefined) return refusal(404)
  user.saved = user.saved.filter((it) => it !== thing)
  if (keep) user.saved.push(thing)
  world.version++
  return null
}

const MOST_HIDDEN = 50

/** `/api/hide` and `unhide`, of several posts at once; null on success. */
function hide(
  { query, world }: SandboxRequest,
  user: SandboxUser,
  keep: boolean,
): SandboxResponse | null {
  const names = (query.get('id') ?? '').split(',').slice(0, MOST_HIDDEN)
  const posts = names
    .map((name) => world.things.get(name))
    .filter((it): it is SandboxPost => it?.kind === 't3')
  if (posts.length === 0) return refusal(404)
  user.hidden = user.hidden.filter((it) => !posts.includes(it))
  if (keep) user.hidden.push(...posts)
  world.version++
  return null
}

/** `/api/del`: ignores other users' items without an error. */
function erase({ query, world }: SandboxRequest, user: SandboxUser): null {
  const thing = world.things.get(query.get('id') ?? '')
  if (thing?.author === user) remove(world, thing, 'author')
  return null
}

const LONGEST_EDIT = { t1: LONGEST_TEXT, t3: 40_000 }

/** `/api/editusertext`: edits an own post or comment and returns it complete. */
function edit(request: SandboxRequest, user: SandboxUser): SandboxResponse {
  const { query, world, viewer } = request
  const thing = world.things.get(query.get('thing_id') ?? '')
  if (thing === undefined) return refusal(403)
  if (thing.author !== user) return refuseForm(request, 'NOT_AUTHOR')
  const text = query.get('text') ?? ''
  if (thing.kind === 't1' && text.trim() === '') return refuseForm(request, 'NO_TEXT')
  const longest = LONGEST_EDIT[thing.kind]
  if (text.length > longest)
    return refuseForm(request, 'TOO_LONG', { message: `this is too long (max: ${longest})` })
  thing.text = text
  thing.edited_s = nowSeconds(world)
  invalidate(world, thing)
  const row =
    thing.kind === 't3'
      ? renderPost(thing, viewer)
      : renderComment(thing, viewer, { kind: 'alone' })
  return formDone(request, `{"things":[${row}]}`)
}

/** Form call of a permitted user. `asJson`: returns JSON items, not the HTML of the old pages. */
type WriteHandler = (request: SandboxRequest, user: SandboxUser, asJson: boolean) => SandboxResponse

const NOTHING = json('{}')
const doneWhenNull =
  (run: (request: SandboxRequest, user: SandboxUser) => SandboxResponse | null): WriteHandler =>
  (request, user) =>
    run(request, user) ?? NOTHING

/** By the path after `/api/`. */
const WRITES: Record<string, WriteHandler> = {
  vote: doneWhenNull(vote),
  comment: submitComment,
  compose,
  read_message: doneWhenNull((request, user) => markMail(request, user, false)),
  unread_message: doneWhenNull((request, user) => markMail(request, user, true)),
  read_all_messages(_, user) {
    for (const item of user.inbox) item.unread = false
    return json('{}', 202)
  },
  save: doneWhenNull((request, user) => save(request, user, true)),
  unsave: doneWhenNull((request, user) => save(request, user, false)),
  hide: doneWhenNull((request, user) => hide(request, user, true)),
  unhide: doneWhenNull((request, user) => hide(request, user, false)),
  del: doneWhenNull(erase),
  editusertext: edit,
  subscribe: doneWhenNull(subscribe),
  quarantine_optin: (request, user) => optIn(request, user, true),
  quarantine_optout: (request, user) => optIn(request, user, false),
  block_user: block,
}

/** `POST /api/<call>`; null for an unknown call. */
export function writeCall(
  request: SandboxRequest,
  call: string,
  asJson: boolean,
): SandboxResponse | null {
  const run = Object.hasOwn(WRITES, call) ? WRITES[call] : undefined
  if (run === undefined) return null
  const permission = mayWrite(request)
  return permission.user === null ? permission.refusal : run(request, permission.user, asJson)
}

type WritePermission = { user: SandboxUser } | { user: null; refusal: SandboxResponse }

/** User who writes, or a refusal that applies to all writes. */
export function mayWrite(request: SandboxRequest): WritePermission {
  const { user, session } = request.viewer
  if (user === null) return denied(refuseForm(request, 'USER_REQUIRED'))
  // A bearer needs no write token; cookies alone do not prove the origin of a form (CSRF).
  if (session !== null && tokenOf(request) !== session.modhash) return denied(refusal(403))
  if (user.standing === 'suspended') return denied(refusal(403))
  const { refuse_form } = request.patch
  if (refuse_form === null) return { user }
  return denied(
    'code' in refuse_form
      ? refuseForm(request, refuse_form.code)
      : refuseThrottled(request, refuse_form.wait_s, refuse_form.sentence_only),
  )
}

const denied = (answer: SandboxResponse): WritePermission => ({ user: null, refusal: answer })

const tokenOf = ({ query, headers }: SandboxRequest) => query.get('uh') ?? headers.get('x-modhash')
