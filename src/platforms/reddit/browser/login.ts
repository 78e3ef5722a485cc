import type { Page } from 'puppeteer-core'

import { isObject } from '../../../core/base/object.ts'
import type { Clock } from '../../../runtime/runtime.ts'
import type {
  BrowserFault,
  BrowserLogin,
  BrowserLoginResult,
  CookieJar,
  CookieJars,
  LoginCode,
  LoginRequest,
  LoginResult,
} from '../../port.ts'
import {
  codesNear,
  LOGIN_PATH,
  readLogin,
  readLoginPage,
  signedInAs,
  withWait,
} from '../login/login.ts'
import { ME } from '../readers/people.ts'
import { classify, isHumanCheck, type NativeResponse } from '../response.ts'
import type { Browser } from './browser.ts'
import {
  type Answers,
  appears,
  fill,
  type InputField,
  loadPage,
  press,
  readAnswer,
  type Tab,
  watchAnswers,
} from './page.ts'

type Deps = {
  browser: Browser
  jars: CookieJars
  clock: Clock
  base_url: string
  session_cookie: string
}

// A script may draw the form, and custom elements may keep its fields in a shadow tree.
const NAME = 'pierce/input[name="username"]'
const PASSWORD = 'pierce/input[name="password"]'
const CODE = 'pierce/input[name="appOtp"], input[autocomplete="one-time-code"]'
const FORM_MS = 15_000
const ANSWER_MS = 20_000

/**
 * Signs in through the page's form: opens the page, fills its fields, presses its button and reads
 * the answer. A human check is reported as UPSTREAM_BLOCKED at once and not touched.
 */
export function createBrowserLogin(deps: Deps): BrowserLogin {
  return async (request) => {
    const tab_request = { ...request, cookies: [] }
    const result = await deps.browser.withTab(tab_request, (tab) => signIn(deps, tab, request))
    return result.ok ? result.value : toLoginResult(result.fault)
  }
}

const failed = (code: LoginCode): LoginResult => ({ ok: false, code })

function toLoginResult(fault: BrowserFault): BrowserLoginResult {
  if (fault.kind === 'unavailable' || fault.kind === 'scheme')
    return { ok: false, code: null, fault }
  const trouble = fault.kind === 'lost' ? fault.trouble : null
  return { ok: false, code: 'UPSTREAM_ERROR', ...(trouble && { trouble }) }
}

async function signIn(
  deps: Deps,
  tab: Tab,
  { username, password, totp_secret }: LoginRequest,
): Promise<LoginResult> {
  const { page } = tab
  const answers = watchAnswers(page, deps.clock, (path) => path.startsWith(LOGIN_PATH))
  const opened = await page.goto(`${deps.base_url}/login/`, { waitUntil: 'domcontentloaded' })
  if (opened === null) return failed('UNKNOWN')
  const answer = await readAnswer(opened)
  const closed = readLoginPage(answer)
  const now = platformTime(deps.clock, answer)
  if (closed !== null) return withWait(closed, answer, now())

  const name_field = await appears(page, NAME, FORM_MS)
  const password_field = name_field && (await appears(page, PASSWORD, FORM_MS))
  if (!name_field || !password_field) return failed(await unread(page))
  if (!(await fill(name_field, username)) || !(await fill(password_field, password)))
    return failed('UNKNOWN')
  const first = await step(deps, tab, answers, password_field)
  if (!first.ok) return first.result
  if (first.step === 'second_factor') {
    if (totp_secret === null) return failed('TWO_FACTOR_REQUIRED')
    const refused = await secondFactor(deps, tab, answers, codesNear(totp_secret, now()))
    if (refused !== null) return refused
  }
  return whoIs(deps, tab)
}

/**
 * The platform's time, from the answer that has just arrived. Dates are truncated to the second, so
 * half a second is added.
 */
function platformTime(clock: Clock, { headers }: NativeResponse): () => number {
  const date = Date.parse(headers.get('date') ?? '')
  const ahead_ms = Number.isNaN(date) ? 0 : date + 500 - clock.now()
  return () => clock.now() + ahead_ms
}

/** Code of a page without a known answer: UPSTREAM_BLOCKED if it requires a human. */
const unread = async (page: Page): Promise<LoginCode> =>
  isHumanCheck(await page.content()) ? 'UPSTREAM_BLOCKED' : 'UNKNOWN'

const ended = (result: LoginResult): Stepped => ({ ok: false, result })

type Stepped =
  { ok: true; step: 'signed_in' | 'second_factor' } | { ok: false; result: LoginResult }

async function step(
  { session_cookie, clock }: Deps,
  { page, context }: Tab,
  answers: Answers,
  field: InputField,
  factor: 'password' | 'code' = 'password',
): Promise<Stepped> {
  const path = factor === 'code' ? `${LOGIN_PATH}/otp` : LOGIN_PATH
  await press(page, field)
  for (;;) {
    const event = await answers.next(ANSWER_MS)
    if (event === null) return ended(failed(await unread(page)))
    if (event.ok && isElsewhere(event.path, event.answer)) return ended(failed('AUTH_FAILED'))
    if (event.path !== path) continue
    if (!event.ok) throw new Error(event.error)
    const has_session = (await context.cookies()).some(
      ({ name, value }) => name === session_cookie && value !== '',
    )
    const next_step = readLogin(event.answer, factor, has_session)
    if (next_step === 'signed_in' || next_step === 'second_factor')
      return { ok: true, step: next_step }
    return ended(withWait(next_step, event.answer, platformTime(clock, event.answer)()))
  }
}

/**
 * The page itself checks whether the account signs in with a third party; if so, no password can be
 * right.
 */
function isElsewhere(path: string, answer: NativeResponse): boolean {
  if (path !== `${LOGIN_PATH}/check_is_oidc_required`) return false
  const outcome = classify(answer, { now: 0 })
  return outcome.ok && isObject(outcome.value) && outcome.value['is_sso'] === true
}

/** Types one code after the other until one is accepted. Null: signed in. */
async function secondFactor(
  deps: Deps,
  tab: Tab,
  answers: Answers,
  codes: readonly string[],
): Promise<LoginResult | null> {
  const field = await appears(tab.page, CODE, FORM_MS)
  if (!field) return failed(await unread(tab.page))
  for (const code of codes) {
    if (!(await fill(field, code))) return failed('UNKNOWN')
    const done = await step(deps, tab, answers, field, 'code')
    if (done.ok) return null
    if (done.result.ok || done.result.code !== 'TWO_FACTOR_INVALID') return done.result
  }
  return failed('TWO_FACTOR_INVALID')
}

async function whoIs({ jars, base_url }: Deps, { page, context }: Tab): Promise<LoginResult> {
  const answer = await loadPage(page, `${base_url}${ME.path}?raw_json=1`)
  const jar = jarOf(jars, await context.cookies())
  return jar === null ? failed('UNKNOWN') : signedInAs(jar, answer)
}

function jarOf(jars: CookieJars, cookies: readonly object[]): CookieJar | null {
  const imported = jars.import(JSON.stringify(cookies))
  return imported.ok ? imported.jar : null
}
