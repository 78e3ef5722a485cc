import { totp, TOTP_STEP_MS } from '../../../core/accounts/totp.ts'
import { isObject } from '../../../core/base/object.ts'
import type { Fault, Outcome } from '../../../core/base/result.ts'
import { secondsIn } from '../../../core/forum/native-refusals.ts'
import type { Egress } from '../../../net/egress.ts'
import type { Clock } from '../../../runtime/runtime.ts'
import type { CookieJar, CookieJars, Login, LoginCode, LoginResult } from '../../port.ts'
import { rowAt, wholeAt } from '../readers/fields.ts'
import { ME, readMe } from '../readers/people.ts'
import { classify, isHtml, isHumanCheck, type NativeResponse } from '../response.ts'
import { type CookieSession, openCookieSession } from './cookie-session.ts'

/** Meaning of one answer to a name and password, or to a code. */
export type LoginStep = 'signed_in' | 'second_factor' | LoginCode

export type LoginFactor = 'password' | 'code'

// Only an explicit statement about the credentials is a verdict: a missing human check returns the
// same statuses.
const WRONG_PASSWORD =
  /(?:invalid|incorrect) username or password|(?:wrong|incorrect) password|\bWRONG_PASSWORD\b|\bINCORRECT_USERNAME_PASSWORD\b/i
const WRONG_CODE =
  /(?:invalid|incorrect|wrong|expired|check)[^"<]{0,40}\bcode\b|\bcode\b[^"<]{0,40}(?:invalid|incorrect|wrong|expired)|WRONG_OTP|INVALID_OTP/i
const HUMAN_WANTED =
  /something went wrong logging in|user-interaction-failed|captcha|unusual (?:login )?activity/i
const THROTTLED = /\bRATELIMIT\b|doing that (?:too much|a lot)/i

/** Classifies one answer of the sign-in. `has_session`: it has set the session's cookie. */
export function readLogin(
  answer: NativeResponse,
  factor: LoginFactor,
  has_session: boolean,
): LoginStep {
  const { status, body, headers } = answer
  if (status === 429 || THROTTLED.test(body)) return 'UPSTREAM_ERROR'
  if (status >= 500) return 'UPSTREAM_ERROR'
  if (isHumanCheck(body)) return 'UPSTREAM_BLOCKED'
  if (status === 202) return factor === 'password' ? 'second_factor' : 'UNKNOWN'
  if (status === 200 && has_session) return 'signed_in'
  if (factor === 'code' && WRONG_CODE.test(body)) return 'TWO_FACTOR_INVALID'
  if (WRONG_PASSWORD.test(body)) return 'AUTH_FAILED'
  if (HUMAN_WANTED.test(body)) return 'UPSTREAM_BLOCKED'
  if (status === 403 && isPage(headers.get('content-type'), body)) return 'UPSTREAM_BLOCKED'
  return 'UNKNOWN'
}

/** A whole page in place of a fragment or JSON. */
const isPage = (content_type: string | null, body: string): boolean =>
  isHtml(content_type, body) && /<html\b|<!doctype/i.test(body)

/** Code of a first page that is not the form; null if it may be the form. */
export function readLoginPage({ status, body }: NativeResponse): LoginCode | null {
  if (status === 429 || status >= 500) return 'UPSTREAM_ERROR'
  if (isHumanCheck(body)) return 'UPSTREAM_BLOCKED'
  if (status === 403) return 'UPSTREAM_BLOCKED'
  return status >= 200 && status < 300 ? null : 'UNKNOWN'
}

type Deps = {
  egress: Egress
  clock: Clock
  jars: CookieJars
  base_url: string
  user_agent: string
  timeout_ms: number
}

const PAGE = 'text/html'
const PARTIAL = 'text/vnd.reddit.partial+html, application/json'
/** Path for the name and the password; the code goes to `/otp` under it. */
export const LOGIN_PATH = '/svc/shreddit/account/login'

/**
 * Creates the sign-in over plain HTTP, in the steps of the platform's own form: a page with a
 * token, the name and the password, and a code if required. A request for the signed-in account
 * follows. A human check is reported as UPSTREAM_BLOCKED and not touched.
 */
export function createLogin({ base_url: base, jars, ...deps }: Deps): Login {
  return async (request) => {
    const jar = jars.empty()
    const session = openCookieSession({ ...deps, base }, request, jar)
    const csrf = () => jar.cookies().find(({ name }) => name === 'csrf_token')?.value ?? ''

    const page = await session.request('/login/', { accept: PAGE })
    if (!page.ok) return lost(page.fault)
    const closed = readLoginPage(page.value)
    if (closed !== null) return withWait(closed, page.value, session.now())
    // Every form without a CSRF token is refused.
    if (csrf() === '') return failed('UNKNOWN')

    const { username, password, totp_secret } = request
    if (await isSignedInElsewhere(session, username, csrf())) return failed('AUTH_FAILED')

    const form = () => ({ username, password, csrf_token: csrf() })
    const first = await step(session, jar, 'password', form())
    if (!first.ok) return first.result
    if (first.step === 'second_factor') {
      if (totp_secret === null) return failed('TWO_FACTOR_REQUIRED')
      const second = await secondFactor(session, jar, totp_secret, form)
      if (second !== null) return second
    }
    return whoIs(session, jar)
  }
}

const failed = (code: LoginCode): LoginResult => ({ ok: false, code })

/**
 * A failure with the pause that a throttling answer names. `now` is the platform's time in epoch
 * ms, for a pause that ends at a date.
 */
export function withWait(code: LoginCode, answer: NativeResponse, now: number): LoginResult {
  if (code !== 'UPSTREAM_ERROR') return failed(code)
  const read = classify(answer, { now })
  const wait_s = secondsIn(answer.body)
  if (wait_s !== null) return { ok: false, code, retry_after_s: Math.max(1, wait_s) }
  return !read.ok && read.fault.kind === 'throttled'
    ? { ok: false, code, retry_after_s: read.fault.retry_after_s }
    : failed(code)
}

function lost(fault: Fault): LoginResult {
  const trouble = fault.kind === 'proxy' || fault.kind === 'unavailable' ? fault.trouble : undefined
  return { ok: false, code: 'UPSTREAM_ERROR', ...(trouble && { trouble }) }
}

/**
 * True if an account signs in with a third party and so has no password here; false if that is
 * unknown.
 */
async function isSignedInElsewhere(session: CookieSession, name: string, csrf_token: string) {
  const json = { userIdentifier: name, csrf_token }
  const request = { accept: 'application/json', json }
  const answer = await session.request(`${LOGIN_PATH}/check_is_oidc_required`, request)
  const outcome = answer.ok ? classify(answer.value, { now: 0 }) : answer
  return outcome.ok && isObject(outcome.value) && outcome.value['is_sso'] === true
}

type Stepped =
  | { ok: true; step: 'signed_in' | 'second_factor' }
  | { ok: false; code: LoginCode; result: LoginResult }

async function step(
  session: CookieSession,
  jar: CookieJar,
  factor: LoginFactor,
  form: Record<string, string>,
): Promise<Stepped> {
  const path = factor === 'code' ? `${LOGIN_PATH}/otp` : LOGIN_PATH
  const answer = await session.request(path, { accept: PARTIAL, form })
  if (!answer.ok) return { ok: false, code: 'UPSTREAM_ERROR', result: lost(answer.fault) }
  const next_step: LoginStep = readLogin(answer.value, factor, jar.has_session())
  if (next_step === 'signed_in' || next_step === 'second_factor')
    return { ok: true, step: next_step }
  return { ok: false, code: next_step, result: withWait(next_step, answer.value, session.now()) }
}

/**
 * Sends the present code and, if that is refused, the adjacent one: clocks may differ by a step.
 * Null: signed in.
 */
async function secondFactor(
  session: CookieSession,
  jar: CookieJar,
  secret: string,
  form: () => Record<string, string>,
): Promise<LoginResult | null> {
  for (const code of codesNear(secret, session.now())) {
    const done = await step(session, jar, 'code', { ...form(), appOtp: code })
    if (done.ok) return null
    if (done.code !== 'TWO_FACTOR_INVALID') return done.result
  }
  return failed('TWO_FACTOR_INVALID')
}

/**
 * The code of an instant and the one nearest to it in time; empty for an invalid secret.
 * @see https://www.rfc-editor.org/rfc/rfc6238
 */
export function codesNear(secret: string, now: number): string[] {
  const nearer = now % TOTP_STEP_MS < TOTP_STEP_MS / 2 ? -TOTP_STEP_MS : TOTP_STEP_MS
  return [now, now + nearer].flatMap((at) => totp(secret, at) ?? [])
}

async function whoIs(session: CookieSession, jar: CookieJar): Promise<LoginResult> {
  const answer = await session.request(`${ME.path}?raw_json=1`, { accept: 'application/json' })
  return signedInAs(jar, answer)
}

/** Result of a sign-in, from the platform's answer about the signed-in account. */
export function signedInAs(jar: CookieJar, answer: Outcome<NativeResponse>): LoginResult {
  const outcome: Outcome<unknown> = answer.ok ? classify(answer.value, { now: 0 }) : answer
  if (!outcome.ok)
    return outcome.fault.kind === 'blocked' ? failed('UPSTREAM_BLOCKED') : lost(outcome.fault)
  const me = readMe(outcome.value)
  if (!me.ok || me.value === null) return failed('UNKNOWN')
  const person = (isObject(outcome.value) && rowAt(outcome.value, 'data')) || {}
  return {
    ok: true,
    jar,
    name: me.value.name,
    link_karma: wholeAt(person, 'link_karma'),
    comment_karma: wholeAt(person, 'comment_karma'),
  }
}
