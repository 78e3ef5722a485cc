import type { SandboxRequest } from '../server/request.ts'
import {
  json,
  type JsonFields,
  jsonFieldsOf,
  parseJsonFields,
  refusal,
  type SandboxResponse,
} from '../server/response.ts'
import { refreshBearer } from '../server/sessions.ts'
import type { SandboxSession, SandboxUser } from '../world/model.ts'
import { castVote } from './writes.ts'

/** Calls of the modern pages under `/svc/shreddit/`, except login; null for an unknown path. */
export function svcCall(request: SandboxRequest): SandboxResponse | null {
  const [svc, shreddit, call, more] = request.path
  if (svc !== 'svc' || shreddit !== 'shreddit' || request.method !== 'POST' || more !== undefined)
    return null
  if (call !== 'token' && call !== 'graphql') return null
  const { user, session } = request.viewer
  if (session === null || user === null) return refusal(401)
  const fields = parseJsonFields(request.body)
  const csrf_token = fields['csrf_token'] ?? request.query.get('csrf_token')
  if (csrf_token !== request.cookies.get('csrf_token') || typeof csrf_token !== 'string')
    return refusal(403)
  return call === 'token' ? token(request, session) : graphql(request, user, fields)
}

/** Bearer for the other hosts. */
function token({ world, noise }: SandboxRequest, session: SandboxSession): SandboxResponse {
  refreshBearer(world, session, noise)
  const expires_s = world.bearers.get(session.token_v2)?.expires_s ?? 0
  return json(JSON.stringify({ token: session.token_v2, expires: expires_s * 1000 }))
}

const STATES: Readonly<Record<string, -1 | 0 | 1>> = { UP: 1, NONE: 0, DOWN: -1 }

/** By operation: the input field of the item, and the field of the answer. */
const VOTES: Readonly<Record<string, { id: string; field: string }>> = {
  UpdatePostVoteState: { id: 'postId', field: 'updatePostVoteState' },
  UpdateCommentVoteState: { id: 'commentId', field: 'updateCommentVoteState' },
}

/** Persisted operations only: the server knows their text by name. */
function graphql(request: SandboxRequest, user: SandboxUser, fields: JsonFields): SandboxResponse {
  const operation = typeof fields['operation'] === 'string' ? fields['operation'] : ''
  const vote = Object.hasOwn(VOTES, operation) ? VOTES[operation] : undefined
  if (vote === undefined) return failure
  const input = jsonFieldsOf(jsonFieldsOf(fields['variables'])['input'])
  const [id, word] = [input[vote.id], input['voteState']]
  const direction =
    typeof word === 'string' && Object.hasOwn(STATES, word) ? STATES[word] : undefined
  if (typeof id !== 'string' || direction === undefined) return failure
  const result = voteResult(request, user, id, direction)
  return json(JSON.stringify({ data: { [vote.field]: result } }))
}

function voteResult(request: SandboxRequest, user: SandboxUser, id: string, direction: -1 | 0 | 1) {
  if (user.standing === 'suspended')
    return voteError('IN_TIMEOUT', "You can't do that while suspended.")
  switch (castVote(request, user, id, direction)) {
    case null:
      return { ok: true }
    case 404:
      return voteError('NOT_FOUND', 'not found')
    case 403:
      return voteError('FORBIDDEN', 'forbidden')
    case 400:
      return voteError('ARCHIVED', 'this is archived')
  }
}

const voteError = (code: string, message: string) => ({ ok: false, errors: [{ code, message }] })

/** Response to an unknown value. */
const failure: SandboxResponse = {
  status: 500,
  headers: { 'content-type': 'text/plain; charset=UTF-8' },
  body: 'Internal server error',
}
