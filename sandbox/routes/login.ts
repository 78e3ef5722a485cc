import { createHmac } from 'node:crypto'

import { formDone, refuseForm } from '../faults/form-errors.ts'
import type { LoginVerdict } from '../faults/rules.ts'
import { blockedPage, challengePage } from '../render/pages.ts'
import { anonymousCookies, clearCookies, sessionCookies } from '../server/cookies.ts'
import type { SandboxRequest } from '../server/request.ts'
import {
  encode,
  escapeHtml,
  json,
  page,
  parseJsonFields,
  partial,
  redirect,
  refusal,
  type SandboxResponse,
} from '../server/response.ts'
import { addSession, openBearer } from '../server/sessions.ts'
import type { Application, SandboxUser, World } from '../world/model.ts'

/**
 * Script of the login form: sends name and password, then a code if required, as the modern page
 * does.
 */
const SCRIPT = `
const WAY_IN = '/svc/shreddit/account/login'
const [first, second] = [document.getElementById('login'), document.getElementById('otp')]
const alerts = document.getElementById('alerts')
const field = (form, name) => form.elements.namedItem(name).value
const csrf_token = () => field(first, 'csrf_token')

function show(html) {
  alerts.innerHTML = html
  for (const alert of alerts.querySelectorAll('faceplate-alert'))
    alert.textContent = alert.getAttribute('message')
}

async function send(path, fields) {
  const answer = await fetch(path, {
    method: 'POST',
    headers: { accept: 'text/vnd.reddit.partial+html, application/json' },
    body: new URLSearchParams(fields),
  })
  const text = await answer.text()
  if (answer.status === 202) {
    first.hidden = true
    second.hidden = false
    second.elements.namedItem('appOtp').focus()
  } else if (answer.ok && !text.includes('faceplate-alert')) location.assign('/')
  else show(text.includes('faceplate-alert') ? text : '<faceplate-alert message="Something went wrong."></faceplate-alert>')
}

async function elsewhere(userIdentifier) {
  const answer = await fetch(WAY_IN + '/check_is_oidc_required', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ userIdentifier, csrf_token: csrf_token() }),
  })
  return answer.ok && (await answer.json()).is_sso
}

const fields = () => ({
  username: field(first, 'username'),
  password: field(first, 'password'),
  csrf_token: csrf_token(),
})

first.addEventListener('submit', async (event) => {
  event.preventDefault()
  if (await elsewhere(field(first, 'username')))
    return show('<faceplate-alert message="This account signs in with a third party."></faceplate-alert>')
  await send(WAY_IN, fields())
})
second.addEventListener('submit', async (event) => {
  event.preventDefault()
  await send(WAY_IN + '/otp', { ...fields(), appOtp: field(second, 'appOtp') })
})
`

/** `GET /login/`: login page for a real browser. All of its resources are inline. */
const signInPage = (csrf_token: string): string =>
  `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <title>Welcome to Reddit</title>
    <link rel="icon" href="data:,">
  </head>
  <body>
    <h1>Log In</h1>
    <div id="alerts" role="alert"></div>
    <form id="login" method="post" action="/svc/shreddit/account/login">
      <label>Email or username <input name="username" autocomplete="username" required autofocus></label>
      <label>Password <input name="password" type="password" autocomplete="current-password" required></label>
      <input name="csrf_token" type="hidden" value="${escapeHtml(csrf_token)}">
      <button type="submit">Log In</button>
    </form>
    <form id="otp" hidden>
      <label>Verification code <input name="appOtp" inputmode="numeric" autocomplete="one-time-code" required></label>
      <button type="submit">Check code</button>
    </form>
    <script>${SCRIPT}</script>
  </body>
</html>
`

const STEP_S = 30
const DIGITS = 6
const BASE32 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'

/** Decodes a base32 secret; ignores spaces, case and padding. */
function bytesOf(secret: string): Buffer {
  const bits = Array.from(secret.toUpperCase())
    .flatMap((item) => {
      const value = BASE32.indexOf(item)
      return value < 0 ? [] : [value.toString(2).padStart(5, '0')]
    })
    .join('')
  return Buffer.from((bits.match(/.{8}/g) ?? []).map((byte) => Number.parseInt(byte, 2)))
}

/**
 * TOTP code (SHA-1, six digits, 30 s) at an instant in epoch seconds.
 * @see https://www.rfc-editor.org/rfc/rfc6238
 */
function codeAt(secret: string, at_s: number): string {
  const counter = Buffer.alloc(8)
  counter.writeBigUInt64BE(BigInt(Math.floor(at_s / STEP_S)))
  const hash = createHmac('sha1', bytesOf(secret)).update(counter).digest()
  const offset = (hash.at(-1) ?? 0) & 0xf
  const number = hash.readUInt32BE(offset) & 0x7fff_ffff
  return String(number % 10 ** DIGITS).padStart(DIGITS, '0')
}

/** Accepts the codes of one step before and after, because clocks differ. */
export const isValidCode = (secret: string, code: string, at_s: number): boolean =>
  [-STEP_S, 0, STEP_S].some((drift_s) => codeAt(secret, at_s + drift_s) === code.trim())

/** `GET /login/`: the form, and the cookies of an anonymous visitor. */
export function loginForm(request: SandboxRequest): SandboxResponse {
  const lines = anonymousCookies(request)
  const fresh = lines.find((line) => line.startsWith('csrf_token='))?.split(/[=;]/)[1]
  return withCookies(page(signInPage(request.cookies.get('csrf_token') ?? fresh ?? '')), lines)
}

/** `POST /svc/shreddit/account/login…`: modern login, in two steps with a second factor. */
export function accountCall(
  request: SandboxRequest,
  [call, step]: readonly string[],
): SandboxResponse | null {
  if (call !== 'login') return null
  if (step === 'check_is_oidc_required') return ssoCheck(request)
  if (step !== undefined && step !== 'otp') return null
  if (!hasCsrfToken(request, request.query.get('csrf_token'))) return refusal(403)
  const user = findUser(request.world, request.query.get('username') ?? '')
  const verdict = request.patch.verdict ?? judgeLogin(request, user, step === 'otp')
  return loginResponse(request, verdict, user)
}

/** The token must match in cookie and form. */
const hasCsrfToken = ({ cookies }: SandboxRequest, token: unknown) =>
  token === cookies.get('csrf_token') && token !== undefined && token !== ''

function ssoCheck(request: SandboxRequest): SandboxResponse {
  const { userIdentifier, csrf_token } = parseJsonFields(request.body)
  if (!hasCsrfToken(request, csrf_token)) return refusal(403)
  const user = typeof userIdentifier === 'string' ? findUser(request.world, userIdentifier) : null
  return json(encode({ is_sso: user?.sso ?? false }))
}

/** Finds a user by name or email address, ignoring case. */
function findUser({ users }: World, identifier: string): SandboxUser | null {
  const key = identifier.trim().toLowerCase()
  if (!key.includes('@')) return users.get(key) ?? null
  return [...users.values()].find(({ email }) => email?.toLowerCase() === key) ?? null
}

function judgeLogin(
  { query, viewer }: SandboxRequest,
  user: SandboxUser | null,
  second: boolean,
): LoginVerdict {
  if (!acceptsPassword(user, query.get('password') ?? '')) return 'wrong'
  if (user.totp_secret === null) return 'ok'
  if (!second) return '2fa'
  return isValidCode(user.totp_secret, query.get('appOtp') ?? '', viewer.now_s) ? 'ok' : '2fa_bad'
}

const acceptsPassword = (user: SandboxUser | null, password: string): user is SandboxUser =>
  user !== null && user.password === password && !user.sso && user.standing !== 'deleted'

const alert = (message: string) =>
  `<faceplate-alert level="error" message="${escapeHtml(message)}"></faceplate-alert>`

/** Response to each result; a fault may set another status. */
function loginResponse(
  request: SandboxRequest,
  verdict: LoginVerdict,
  user: SandboxUser | null,
): SandboxResponse {
  const { status } = request.patch
  switch (verdict) {
    case 'ok':
      return user === null ? loginResponse(request, 'wrong', null) : loginSuccess(request, user)
    case 'wrong':
      return partial(alert('Invalid username or password.'), status ?? 200)
    case '2fa':
      return partial('', 202)
    case '2fa_bad':
      return partial(
        alert('Invalid verification code. Check the code and try again.'),
        status ?? 400,
      )
    case 'captcha':
      return partial(alert('Something went wrong logging in. Please try again.'), status ?? 400)
    case 'rate':
      return partial(
        alert('RATELIMIT: you are doing that too much. try again in 5 minutes.'),
        status ?? 429,
      )
    case 'html':
      return status === 200 ? page(challengePage()) : page(blockedPage(), status ?? 403)
  }
}

function loginSuccess(request: SandboxRequest, user: SandboxUser): SandboxResponse {
  const session = addSession(request.world, user, { random: request.noise })
  return withCookies(json('{"success":true}'), sessionCookies(request, session))
}

/**
 * `POST /api/login[/<user>]`: login of the old pages. A required second factor is requested without
 * an error.
 */
export function legacyLogin(
  request: SandboxRequest,
  path_name: string | undefined,
): SandboxResponse {
  const { query, world, viewer } = request
  const name = query.get('user') ?? path_name ?? ''
  const user = findUser(world, name)
  if (viewer.user !== null && viewer.user !== user)
    return json(
      encode({ json: { errors: [['LOGGED_IN', 'You are already logged in.', null]] } }),
      409,
    )
  const typed = query.get('passwd') ?? ''
  const [password, after] = splitCode(typed, user)
  if (!acceptsPassword(user, password)) return refuseForm(request, 'WRONG_PASSWORD')
  const code = query.get('otp') ?? after
  if (user.totp_secret !== null && code === undefined)
    return formDone(request, encode({ details: 'TWO_FA_REQUIRED' }))
  if (user.totp_secret !== null && !isValidCode(user.totp_secret, code ?? '', viewer.now_s))
    return refuseForm(request, 'WRONG_PASSWORD')
  const session = addSession(world, user, { random: request.noise })
  const data = encode({ modhash: session.modhash, cookie: session.cookie, need_https: true })
  return withCookies(formDone(request, data), sessionCookies(request, session))
}

/** User whose password matches; the code of a second factor may follow it after a colon. */
function signIn(request: SandboxRequest, name: string, typed: string): SandboxUser | null {
  const user = findUser(request.world, name)
  const [password, code] = splitCode(typed, user)
  if (!acceptsPassword(user, password)) return null
  if (user.totp_secret === null) return user
  return isValidCode(user.totp_secret, code ?? '', request.viewer.now_s) ? user : null
}

/**
 * Splits `password:code` if the user has a second factor and the password itself does not end
 * like that.
 */
function splitCode(typed: string, user: SandboxUser | null): [string, string?] {
  const at = typed.lastIndexOf(':')
  if (at < 0 || typed === user?.password) return [typed]
  return [typed.slice(0, at), typed.slice(at + 1)]
}

/** `POST /logout`: ends the session and clears its cookies. */
export function logout(request: SandboxRequest): SandboxResponse {
  const { origin, viewer } = request
  const { session } = viewer
  if (session === null) return redirect(`${origin}/`)
  if (request.query.get('uh') !== session.modhash) return refusal(403)
  session.revoked = true
  return withCookies(redirect(`${origin}/`), clearCookies(request))
}

const withCookies = (answer: SandboxResponse, lines: readonly string[]): SandboxResponse => ({
  ...answer,
  headers: { ...answer.headers, 'set-cookie': lines },
})

const TOKEN_LIFETIME_S = 86_400
const INSTALLED_CLIENT_GRANT = 'https://oauth.reddit.com/grants/installed_client'

/** `POST /api/v1/access_token`: bearer for an application that authenticates by HTTP Basic. */
export function accessToken(request: SandboxRequest): SandboxResponse {
  const { query, world } = request
  const client = clientOf(request)
  if (client === null) return refusal(401)
  switch (query.get('grant_type') ?? '') {
    case 'password': {
      if (client === 'public')
        return oauthError('unauthorized_client', 'Only script apps may use password auth')
      const user = signIn(request, query.get('username') ?? '', query.get('password') ?? '')
      return user === null ? oauthError('invalid_grant') : issueToken(request, user)
    }
    case 'refresh_token': {
      const refresh_token = query.get('refresh_token') ?? ''
      const user = world.grants.get(refresh_token)
      return user === undefined ? refusal(400) : issueToken(request, user, { refresh_token })
    }
    case 'client_credentials':
      return client === 'public' ? oauthError('unauthorized_client') : issueToken(request, null)
    case INSTALLED_CLIENT_GRANT: {
      const device_id = query.get('device_id') ?? ''
      if (!/^.{20,30}$/.test(device_id)) return oauthError('invalid_request', 'bad device_id')
      return issueToken(request, null, { device_id })
    }
    default:
      return oauthError('unsupported_grant_type')
  }
}

/** `POST /api/v1/revoke_token`: unknown tokens also succeed (RFC 7009, section 2.2). */
export function revokeToken(request: SandboxRequest): SandboxResponse {
  const { query, world } = request
  if (clientOf(request) === null) return refusal(401)
  const token = query.get('token') ?? ''
  world.grants.delete(token)
  world.bearers.delete(token)
  return json('', 200)
}

/** Application of the request. One without a secret is accepted as public, registered elsewhere. */
function clientOf({ headers, world }: SandboxRequest): Application | 'public' | null {
  const [, basic = ''] = /^basic (.+)$/i.exec(headers.get('authorization') ?? '') ?? []
  const [client_id = '', ...secret] = Buffer.from(basic, 'base64').toString().split(':')
  const application = world.applications.get(client_id)
  if (application !== undefined)
    return secret.join(':') === application.client_secret ? application : null
  return client_id !== '' && secret.join(':') === '' ? 'public' : null
}

function issueToken(
  request: SandboxRequest,
  user: SandboxUser | null,
  more: Record<string, string> = {},
): SandboxResponse {
  const { world, noise, query } = request
  const { token } = openBearer(world, { user, random: noise, lifetime_s: TOKEN_LIFETIME_S })
  return json(
    JSON.stringify({
      access_token: token,
      token_type: 'bearer',
      ...more,
      expires_in: TOKEN_LIFETIME_S,
      scope: query.get('scope') ?? '*',
    }),
  )
}

const oauthError = (error: string, error_description?: string): SandboxResponse =>
  json(encode({ ...(error_description !== undefined && { error_description }), error }))
