import { constants, createPublicKey, publicEncrypt } from 'node:crypto'

import { isValidCode } from '../routes/login.ts'
import { escapeHtml, json, page, type SandboxResponse } from '../server/response.ts'
import { fieldText, type SourceCall } from '../sources/source.ts'
import type { ForumKey, ForumUser, ForumWorld } from './model.ts'

/** Call with its sender. */
export type ForumCall = SourceCall<ForumWorld> & {
  viewer: ForumUser | null
  /** Key that it was made with. */
  key: ForumKey | null
}

/** JSON answer. */
export const forumJson = (value: unknown, status = 200): SandboxResponse =>
  json(JSON.stringify(value), status)

/** Refusal with its sentences and type. */
export const forumError = (
  status: number,
  error_type: string,
  sentence: string,
  more: object = {},
): SandboxResponse => forumJson({ errors: [sentence], error_type, ...more }, status)

/** 404. */
export const missing = (): SandboxResponse =>
  forumError(404, 'not_found', 'The requested URL or resource could not be found.')

/** 403. */
export const forbidden = (): SandboxResponse =>
  forumError(403, 'invalid_access', 'You are not permitted to view the requested resource.')

/** 403 for a call that needs an account. */
export const notLoggedIn = (): SandboxResponse =>
  forumError(403, 'not_logged_in', 'You need to be logged in to do that.')

/** 400 naming a parameter. */
export const invalidParameter = (name: string): SandboxResponse =>
  forumError(400, 'invalid_parameters', `You supplied invalid parameters to the request: ${name}`)

/** 422 of a refused write. */
export const unprocessable = (sentence: string): SandboxResponse =>
  forumJson({ action: 'create_post', errors: [sentence] }, 422)

/** 429 of a limit on actions, with the seconds to wait. */
export function actionLimit(wait_s: number): SandboxResponse {
  const answer = forumError(
    429,
    'rate_limit',
    `You’ve performed this action too many times, please try again in ${wait_s} seconds.`,
    { extras: { wait_seconds: wait_s, time_left: `${wait_s} seconds` } },
  )
  return { ...answer, headers: { ...answer.headers, 'retry-after': String(wait_s) } }
}

/** 429 of a limit on addresses, as text. */
export const addressLimit = (wait_s: number, code: string): SandboxResponse => ({
  status: 429,
  headers: {
    'content-type': 'text/plain; charset=utf-8',
    'retry-after': String(wait_s),
    'discourse-rate-limit-error-code': code,
  },
  body: `Slow down, you're making too many requests.\nPlease retry again in ${wait_s} seconds.\nError code: ${code}.\n`,
})

const SESSION_COOKIE = '_t'

/** Sender of a call; a refusal for an unknown or revoked key. */
export function identifyForum(call: SourceCall<ForumWorld>): ForumCall | SandboxResponse {
  const { world, headers, cookies } = call
  const user_key = headers.get('user-api-key')
  const admin_key = headers.get('api-key')
  if (user_key !== null || admin_key !== null) {
    const key = world.keys.get(user_key ?? admin_key ?? '')
    if (key === undefined || key.revoked || (key.user === null) !== (user_key === null))
      return forbidden()
    const name = headers.get('api-username') ?? 'system'
    const viewer = key.user ?? world.users.get(name.toLowerCase())
    return viewer === undefined ? forbidden() : { ...call, viewer, key }
  }
  const viewer = world.sessions.get(cookies.get(SESSION_COOKIE) ?? '') ?? null
  return { ...call, viewer, key: null }
}

/** `GET /session/csrf.json` */
export const csrfToken = ({ world }: ForumCall): SandboxResponse =>
  forumJson({ csrf: world.random.text(64) })

/** `GET /session/current.json` */
export const currentSession = ({ viewer }: ForumCall): SandboxResponse =>
  viewer === null
    ? missing()
    : forumJson({
        current_user: {
          id: viewer.id,
          username: viewer.username,
          name: viewer.name,
          trust_level: viewer.trust_level,
          admin: viewer.admin,
          moderator: viewer.moderator,
        },
      })

/** `POST /session.json`: login with a password, and a code where the account has one. */
export function createForumSession(call: ForumCall): SandboxResponse {
  const { world } = call
  const user = world.users.get(fieldText(call, 'login').toLowerCase())
  if (user === undefined || user.password === null || user.password !== fieldText(call, 'password'))
    return forumJson({ error: 'Incorrect username, email or password' })
  const code = fieldText(call, 'second_factor_token')
  if (user.totp_secret !== null && !isValidCode(user.totp_secret, code, call.now / 1000))
    return forumJson({
      error: 'Invalid authentication code. Each code can only be used once.',
      reason: 'invalid_second_factor',
      totp_enabled: true,
      backup_enabled: false,
    })
  const token = world.random.text(40)
  world.sessions.set(token, user)
  const answer = forumJson({ user: { id: user.id, username: user.username } })
  const cookie = `${SESSION_COOKIE}=${token}; path=/; HttpOnly; SameSite=Lax`
  return { ...answer, headers: { ...answer.headers, 'set-cookie': cookie } }
}

const API_VERSION = 4
const KEY_SCOPES = new Set([
  'read',
  'write',
  'message_bus',
  'push',
  'notifications',
  'session_info',
  'one_time_password',
])

/** `HEAD /user-api-key/new` */
export const keyApiVersion = (): SandboxResponse => ({
  status: 200,
  headers: { 'auth-api-version': String(API_VERSION) },
  body: '',
})

/** Refusal of a request for a key; null: it is allowed. */
function judgeKeyRequest(call: ForumCall): SandboxResponse | null {
  for (const name of ['application_name', 'client_id', 'scopes', 'public_key', 'nonce'])
    if (fieldText(call, name) === '') return invalidParameter(name)
  if (
    !fieldText(call, 'scopes')
      .split(',')
      .every((scope) => KEY_SCOPES.has(scope))
  )
    return forbidden()
  const redirect = fieldText(call, 'auth_redirect')
  const { allowed_redirect } = call.world.settings
  return redirect !== '' && allowed_redirect !== null && redirect !== allowed_redirect
    ? forbidden()
    : null
}

/** `GET /user-api-key/new`: page on which a signed-in person agrees. */
export function askForKey(call: ForumCall): SandboxResponse {
  const refused = judgeKeyRequest(call)
  if (refused !== null) return refused
  if (call.viewer === null)
    return { status: 302, headers: { location: `${call.origin}/login` }, body: '' }
  const fields = [...call.query].map(
    ([name, value]) =>
      `<input type="hidden" name="${escapeHtml(name)}" value="${escapeHtml(value)}">`,
  )
  return page(
    `<!DOCTYPE html>\n<html><body><p>${escapeHtml(fieldText(call, 'application_name'))} asks for access.</p><form action="/user-api-key" method="post">${fields.join('')}<button type="submit">Authorize</button></form></body></html>\n`,
  )
}

function encryptPayload(call: ForumCall, payload: string): string | null {
  const oaep = fieldText(call, 'padding') === 'oaep'
  try {
    const key = createPublicKey(fieldText(call, 'public_key'))
    const padding = oaep ? constants.RSA_PKCS1_OAEP_PADDING : constants.RSA_PKCS1_PADDING
    return publicEncrypt({ key, padding }, Buffer.from(payload)).toString('base64')
  } catch {
    return null
  }
}

/** `POST /user-api-key`: grants the key; one of the same client is replaced. */
export function grantKey(call: ForumCall): SandboxResponse {
  const refused = judgeKeyRequest(call)
  if (refused !== null) return refused
  const { world, viewer } = call
  if (viewer === null) return notLoggedIn()
  const client_id = fieldText(call, 'client_id')
  const key = world.random.text(32, '0123456789abcdef')
  const nonce = fieldText(call, 'nonce')
  const encrypted = encryptPayload(
    call,
    JSON.stringify({ key, nonce, push: false, api: API_VERSION }),
  )
  if (encrypted === null) return invalidParameter('public_key')
  for (const each of world.keys.values())
    if (each.user === viewer && each.client_id === client_id) each.revoked = true
  const scopes = fieldText(call, 'scopes').split(',')
  world.keys.set(key, { key, user: viewer, client_id, scopes, revoked: false })
  const redirect = fieldText(call, 'auth_redirect')
  if (redirect === '')
    return page(`<!DOCTYPE html>\n<html><body><code>${encrypted}</code></body></html>\n`)
  const separator = redirect.includes('?') ? '&' : '?'
  const location = `${redirect}${separator}payload=${encodeURIComponent(encrypted)}`
  return { status: 302, headers: { location }, body: '' }
}

/** `POST /user-api-key/revoke` */
export function revokeForumKey({ key }: ForumCall): SandboxResponse {
  if (key === null || key.user === null) return forbidden()
  key.revoked = true
  return forumJson({ success: 'OK' })
}
