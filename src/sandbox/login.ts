import { type Answer, json, page, partial, redirect, refusal } from './answer.ts'
import type { Ask } from './ask.ts'
import { emptied, jar, visitorCookies } from './cookies.ts'
import { formDone, refuseForm } from './form-errors.ts'
import { encode, escapeHtml, fieldsOf } from './json.ts'
import { signInPage } from './login-page.ts'
import type { User, World } from './model.ts'
import { blockedPage, challengePage } from './pages.ts'
import { addSession } from './sessions.ts'
import { codeHolds } from './totp.ts'
import type { Verdict } from './weather.ts'

/** `GET /login/`: the form, and the cookies that every visitor gets. */
export function loginForm(ask: Ask): Answer {
  const lines = visitorCookies(ask)
  const fresh = lines.find((line) => line.startsWith('csrf_token='))?.split(/[=;]/)[1]
  return withCookies(page(signInPage(ask.cookies.get('csrf_token') ?? fresh ?? '')), lines)
}

/** `POST /svc/shreddit/account/login…`: the modern way in, in two steps where there is a second factor. */
export function accountCall(ask: Ask, [call, step]: readonly string[]): Answer | null {
  if (call !== 'login') return null
  if (step === 'check_is_oidc_required') return thirdParty(ask)
  if (step !== undefined && step !== 'otp') return null
  if (!honest(ask, ask.query.get('csrf_token'))) return refusal(403)
  const user = findUser(ask.world, ask.query.get('username') ?? '')
  const verdict = ask.twist.verdict ?? judge(ask, user, step === 'otp')
  return tell(ask, verdict, user)
}

/** The cookie has to be said twice. */
const honest = ({ cookies }: Ask, said: unknown) =>
  said === cookies.get('csrf_token') && said !== undefined && said !== ''

function thirdParty(ask: Ask): Answer {
  const { userIdentifier, csrf_token } = fieldsOf(ask.body)
  if (!honest(ask, csrf_token)) return refusal(403)
  const user = typeof userIdentifier === 'string' ? findUser(ask.world, userIdentifier) : null
  return json(encode({ is_sso: user?.sso ?? false }))
}

/** By name or by address, however it is written. */
function findUser({ users }: World, identifier: string): User | null {
  const wanted = identifier.trim().toLowerCase()
  if (!wanted.includes('@')) return users.get(wanted) ?? null
  return [...users.values()].find(({ email }) => email?.toLowerCase() === wanted) ?? null
}

function judge({ query, viewer }: Ask, user: User | null, second: boolean): Verdict {
  if (!knows(user, query.get('password') ?? '')) return 'wrong'
  if (user.totp_secret === null) return 'ok'
  if (!second) return '2fa'
  return codeHolds(user.totp_secret, query.get('appOtp') ?? '', viewer.now_s) ? 'ok' : '2fa_bad'
}

const knows = (user: User | null, password: string): user is User =>
  user !== null && user.password === password && !user.sso && user.standing !== 'deleted'

const alert = (message: string) =>
  `<faceplate-alert level="error" message="${escapeHtml(message)}"></faceplate-alert>`

/** What the platform says to each verdict; the weather may choose another status. */
function tell(ask: Ask, verdict: Verdict, user: User | null): Answer {
  const { status } = ask.twist
  switch (verdict) {
    case 'ok':
      return user === null ? tell(ask, 'wrong', null) : welcome(ask, user)
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

function welcome(ask: Ask, user: User): Answer {
  const session = addSession(ask.world, user, { chance: ask.noise })
  return withCookies(json('{"success":true}'), jar(ask, session))
}

/** `POST /api/login[/<user>]`: the way in that the old pages use. A second factor is wanted without any error. */
export function legacyLogin(ask: Ask, named: string | undefined): Answer {
  const { query, world, viewer } = ask
  const name = query.get('user') ?? named ?? ''
  const user = findUser(world, name)
  if (viewer.user !== null && viewer.user !== user)
    return json(
      encode({ json: { errors: [['LOGGED_IN', 'You are already logged in.', null]] } }),
      409,
    )
  const typed = query.get('passwd') ?? ''
  const [password, after] = splitCode(typed, user)
  if (!knows(user, password)) return refuseForm(ask, 'WRONG_PASSWORD')
  const code = query.get('otp') ?? after
  if (user.totp_secret !== null && code === undefined)
    return formDone(ask, encode({ details: 'TWO_FA_REQUIRED' }))
  if (user.totp_secret !== null && !codeHolds(user.totp_secret, code ?? '', viewer.now_s))
    return refuseForm(ask, 'WRONG_PASSWORD')
  const session = addSession(world, user, { chance: ask.noise })
  const data = encode({ modhash: session.modhash, cookie: session.cookie, need_https: true })
  return withCookies(formDone(ask, data), jar(ask, session))
}

/** Whose password holds; the code of a second factor may stand behind it, after a colon. */
export function signIn(ask: Ask, name: string, typed: string): User | null {
  const user = findUser(ask.world, name)
  const [password, code] = splitCode(typed, user)
  if (!knows(user, password)) return null
  if (user.totp_secret === null) return user
  return codeHolds(user.totp_secret, code ?? '', ask.viewer.now_s) ? user : null
}

/** `password:code`, where there is a second factor and the password does not go on like that. */
function splitCode(typed: string, user: User | null): [string, string?] {
  const at = typed.lastIndexOf(':')
  if (at < 0 || typed === user?.password) return [typed]
  return [typed.slice(0, at), typed.slice(at + 1)]
}

/** `POST /logout`: ends the session and takes its cookies back. */
export function logout(ask: Ask): Answer {
  const { origin, viewer } = ask
  const { session } = viewer
  if (session === null) return redirect(`${origin}/`)
  if (ask.query.get('uh') !== session.modhash) return refusal(403)
  session.revoked = true
  return withCookies(redirect(`${origin}/`), emptied(ask))
}

const withCookies = (answer: Answer, lines: readonly string[]): Answer => ({
  ...answer,
  headers: { ...answer.headers, 'set-cookie': lines },
})
