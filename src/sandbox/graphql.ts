import { type Answer, json, refusal } from './answer.ts'
import type { Ask } from './ask.ts'
import { type Fields, fieldsOf, innerOf } from './json.ts'
import type { Session, User } from './model.ts'
import { refresh } from './sessions.ts'
import { castVote } from './write-things.ts'

/** What the modern pages ask under `/svc/shreddit/`; null for what is not there. Signing in stands elsewhere. */
export function svcCall(ask: Ask): Answer | null {
  const [svc, shreddit, call, more] = ask.path
  if (svc !== 'svc' || shreddit !== 'shreddit' || ask.method !== 'POST' || more !== undefined)
    return null
  if (call !== 'token' && call !== 'graphql') return null
  const { user, session } = ask.viewer
  if (session === null || user === null) return refusal(401)
  const fields = fieldsOf(ask.body)
  const said = fields['csrf_token'] ?? ask.query.get('csrf_token')
  if (said !== ask.cookies.get('csrf_token') || typeof said !== 'string') return refusal(403)
  return call === 'token' ? token(ask, session) : graphql(ask, user, fields)
}

/** A bearer for what is not on this host. */
function token({ world, noise }: Ask, session: Session): Answer {
  refresh(world, session, noise)
  const expires_s = world.bearers.get(session.token_v2)?.expires_s ?? 0
  return json(JSON.stringify({ token: session.token_v2, expires: expires_s * 1000 }))
}

const STATES: Readonly<Record<string, -1 | 0 | 1>> = { UP: 1, NONE: 0, DOWN: -1 }

/** By operation: what the input calls the thing, and under which name the answer stands. */
const VOTES: Readonly<Record<string, { id: string; field: string }>> = {
  UpdatePostVoteState: { id: 'postId', field: 'updatePostVoteState' },
  UpdateCommentVoteState: { id: 'commentId', field: 'updateCommentVoteState' },
}

/** Named operations only: what they mean the server knows. */
function graphql(ask: Ask, user: User, fields: Fields): Answer {
  const operation = typeof fields['operation'] === 'string' ? fields['operation'] : ''
  const vote = Object.hasOwn(VOTES, operation) ? VOTES[operation] : undefined
  if (vote === undefined) return failure
  const input = innerOf(innerOf(fields['variables'])['input'])
  const [id, word] = [input[vote.id], input['voteState']]
  const way = typeof word === 'string' && Object.hasOwn(STATES, word) ? STATES[word] : undefined
  if (typeof id !== 'string' || way === undefined) return failure
  const told = refusedVote(ask, user, id, way)
  return json(JSON.stringify({ data: { [vote.field]: told } }))
}

function refusedVote(ask: Ask, user: User, id: string, way: -1 | 0 | 1) {
  if (user.standing === 'suspended') return no('IN_TIMEOUT', "You can't do that while suspended.")
  switch (castVote(ask, user, id, way)) {
    case null:
      return { ok: true }
    case 404:
      return no('NOT_FOUND', 'not found')
    case 403:
      return no('FORBIDDEN', 'forbidden')
    case 400:
      return no('ARCHIVED', 'this is archived')
  }
}

const no = (code: string, message: string) => ({ ok: false, errors: [{ code, message }] })

/** A wrong word is a broken call. */
const failure: Answer = {
  status: 500,
  headers: { 'content-type': 'text/plain; charset=UTF-8' },
  body: 'Internal server error',
}
