import { secondsIn } from '../core/native-refusals.ts'
import { isObject } from '../core/object.ts'
import type { Fault, Outcome, ProxyTrouble } from '../core/outcome.ts'
import { totp, TOTP_STEP_MS } from '../core/totp.ts'
import type { Egress } from '../net/egress.ts'
import type { Clock } from '../outside.ts'
import { type Answer, classify } from './classify.ts'
import type { Jar, Jars } from './cookies.ts'
import {
  type LoginAsked,
  type LoginCode,
  type LoginStep,
  readLogin,
  readLoginPage,
} from './login-verdict.ts'
import { ME, readMe } from './me.ts'
import { rowAt, wholeAt } from './read.ts'
import { beginVisit, type Visit, type Visitor } from './visit.ts'

/** Who wants to be signed in, with what, and from where. */
export type LoginRequest = Visitor & {
  /** A name or an e-mail address. */
  username: string
  password: string
  /** Base32; null where there is no second factor. */
  totp_secret: string | null
}

/** What came of signing in: the jar, or a verdict on the credentials, or why there is none. */
export type LoginResult =
  | { ok: true; jar: Jar; name: string; link_karma: number | null; comment_karma: number | null }
  /** `trouble` is set when it was the proxy that failed, `retry_after_s` when the platform says to wait. */
  | { ok: false; code: LoginCode; trouble?: ProxyTrouble; retry_after_s?: number }

/** Signs in once. Every outcome is a value; only the three verdicts on the credentials are final. */
export type Login = (request: LoginRequest) => Promise<LoginResult>

type Deps = {
  egress: Egress
  clock: Clock
  jars: Jars
  base_url: string
  user_agent: string
  timeout_ms: number
}

const PAGE = 'text/html'
const PARTIAL = 'text/vnd.reddit.partial+html, application/json'
/** Where the name and the password go; the code goes to `/otp` under it. */
export const WAY_IN = '/svc/shreddit/account/login'

/**
 * Signs in over plain HTTP, as the platform's own form does: a page that gives a token, the name and the password, a
 * code where one is wanted, and then the question who we are. A human check is told as UPSTREAM_BLOCKED, never answered.
 */
export function createLogin({ base_url: base, jars, ...deps }: Deps): Login {
  return async (request) => {
    const jar = jars.empty()
    const visit = beginVisit({ ...deps, base }, request, jar)
    const csrf = () => jar.cookies().find(({ name }) => name === 'csrf_token')?.value ?? ''

    const page = await visit.ask('/login/', { accept: PAGE })
    if (!page.ok) return lost(page.fault)
    const closed = readLoginPage(page.value)
    if (closed !== null) return withWait(closed, page.value, visit.now())
    // Without it every form is refused, whatever it says.
    if (csrf() === '') return failed('UNKNOWN')

    const { username, password, totp_secret } = request
    if (await isSignedInElsewhere(visit, username, csrf())) return failed('AUTH_FAILED')

    const form = () => ({ username, password, csrf_token: csrf() })
    const first = await step(visit, jar, 'password', form())
    if (!first.ok) return first.result
    if (first.step === 'second_factor') {
      if (totp_secret === null) return failed('TWO_FACTOR_REQUIRED')
      const second = await secondFactor(visit, jar, totp_secret, form)
      if (second !== null) return second
    }
    return whoIs(visit, jar)
  }
}

const failed = (code: LoginCode): LoginResult => ({ ok: false, code })

/** A code with the pause that the answer names, where it is a throttle; `now` is the platform's, which may name an instant. */
export function withWait(code: LoginCode, answer: Answer, now: number): LoginResult {
  if (code !== 'UPSTREAM_ERROR') return failed(code)
  const read = classify(answer, { now })
  const wait_s = secondsIn(answer.body)
  if (wait_s !== null) return { ok: false, code, retry_after_s: Math.max(1, Math.ceil(wait_s)) }
  return !read.ok && read.fault.kind === 'throttled'
    ? { ok: false, code, retry_after_s: read.fault.retry_after_s }
    : failed(code)
}

/** Nothing was answered, or nothing that could be read. */
function lost(fault: Fault): LoginResult {
  const trouble = fault.kind === 'proxy' || fault.kind === 'unavailable' ? fault.trouble : undefined
  return { ok: false, code: 'UPSTREAM_ERROR', ...(trouble && { trouble }) }
}

/** Whether an account has no password here, because it signs in with a third party. Not to know changes nothing. */
async function isSignedInElsewhere(visit: Visit, name: string, csrf_token: string) {
  const json = { userIdentifier: name, csrf_token }
  const asked = { accept: 'application/json', json }
  const answer = await visit.ask(`${WAY_IN}/check_is_oidc_required`, asked)
  const told = answer.ok ? classify(answer.value, { now: 0 }) : answer
  return told.ok && isObject(told.value) && told.value['is_sso'] === true
}

type Stepped =
  | { ok: true; step: 'signed_in' | 'second_factor' }
  | { ok: false; code: LoginCode; result: LoginResult }

async function step(
  visit: Visit,
  jar: Jar,
  asked: LoginAsked,
  form: Record<string, string>,
): Promise<Stepped> {
  const path = asked === 'code' ? `${WAY_IN}/otp` : WAY_IN
  const answer = await visit.ask(path, { accept: PARTIAL, form })
  if (!answer.ok) return { ok: false, code: 'UPSTREAM_ERROR', result: lost(answer.fault) }
  const said: LoginStep = readLogin(answer.value, asked, jar.has_session())
  if (said === 'signed_in' || said === 'second_factor') return { ok: true, step: said }
  return { ok: false, code: said, result: withWait(said, answer.value, visit.now()) }
}

/** The code of now, and where that is refused once the one next to it: clocks may differ by a step. Null: let in. */
async function secondFactor(
  visit: Visit,
  jar: Jar,
  secret: string,
  form: () => Record<string, string>,
): Promise<LoginResult | null> {
  for (const code of codesAround(secret, visit.now())) {
    const done = await step(visit, jar, 'code', { ...form(), appOtp: code })
    if (done.ok) return null
    if (done.code !== 'TWO_FACTOR_INVALID') return done.result
  }
  return failed('TWO_FACTOR_INVALID')
}

/** The code of an instant and the one nearest to it in time; none when it is no secret. */
export function codesAround(secret: string, now: number): string[] {
  const nearer = now % TOTP_STEP_MS < TOTP_STEP_MS / 2 ? -TOTP_STEP_MS : TOTP_STEP_MS
  return [now, now + nearer].flatMap((at) => totp(secret, at) ?? [])
}

async function whoIs(visit: Visit, jar: Jar): Promise<LoginResult> {
  const answer = await visit.ask(`${ME.path}?raw_json=1`, { accept: 'application/json' })
  return signedInAs(jar, answer)
}

/** The end of a sign-in: who the platform says we are now. */
export function signedInAs(jar: Jar, answer: Outcome<Answer>): LoginResult {
  const told: Outcome<unknown> = answer.ok ? classify(answer.value, { now: 0 }) : answer
  if (!told.ok) return told.fault.kind === 'blocked' ? failed('UPSTREAM_BLOCKED') : lost(told.fault)
  const me = readMe(told.value)
  if (!me.ok || me.value === null) return failed('UNKNOWN')
  const person = (isObject(told.value) && rowAt(told.value, 'data')) || {}
  return {
    ok: true,
    jar,
    name: me.value.name,
    link_karma: wholeAt(person, 'link_karma'),
    comment_karma: wholeAt(person, 'comment_karma'),
  }
}
