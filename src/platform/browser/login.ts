import type { Page } from 'puppeteer-core'

import { isObject } from '../../core/object.ts'
import type { Clock } from '../../outside.ts'
import { type Answer, classify } from '../classify.ts'
import type { Jar, Jars } from '../cookies.ts'
import { type LoginCode, readLogin, readLoginPage } from '../login-verdict.ts'
import {
  codesAround,
  type LoginRequest,
  type LoginResult,
  signedInAs,
  WAY_IN,
  withWait,
} from '../login.ts'
import { ME } from '../me.ts'
import { isHumanCheck } from '../pages.ts'
import { type Answers, hear, readAnswer } from './answers.ts'
import type { Browser, VisitFault } from './browser.ts'
import { appears, type Field, fill, press } from './hands.ts'
import { look } from './look.ts'
import type { Tab } from './tab.ts'

type BrowserLoginRequest = LoginRequest & {
  /** Canonical: see core/locale.ts. */
  locale: string
  /** Primary: see core/timezone.ts. */
  timezone: string
}

/** As over HTTP; or `fault`: there is no browser, or none that knows the proxy's scheme. */
export type BrowserLoginResult =
  | LoginResult
  | { ok: false; code: null; fault: Extract<VisitFault, { kind: 'unavailable' | 'scheme' }> }

/** Signs in once, in a browser. Every outcome is a value. */
export type BrowserLogin = (request: BrowserLoginRequest) => Promise<BrowserLoginResult>

type Deps = { browser: Browser; jars: Jars; clock: Clock; base_url: string; session_cookie: string }

// A form may be drawn by a script, and its custom elements may hide their fields in a tree of their own.
const NAME = 'pierce/input[name="username"]'
const PASSWORD = 'pierce/input[name="password"]'
const CODE = 'pierce/input[name="appOtp"], input[autocomplete="one-time-code"]'
const FORM_MS = 15_000
const ANSWER_MS = 20_000

/**
 * Signs in as a person does: opens the page, types into its fields, presses its button, and reads what the page was
 * answered. A human check is told as UPSTREAM_BLOCKED as soon as it is seen; nothing on it is touched.
 */
export function createBrowserLogin(deps: Deps): BrowserLogin {
  return async (request) => {
    const visiting = { ...request, cookies: [] }
    const visited = await deps.browser.visit(visiting, (tab) => signIn(deps, tab, request))
    return visited.ok ? visited.value : told(visited.fault)
  }
}

const failed = (code: LoginCode): LoginResult => ({ ok: false, code })

function told(fault: VisitFault): BrowserLoginResult {
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
  const answers = hear(page, deps.clock, (path) => path.startsWith(WAY_IN))
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
    const refused = await secondFactor(deps, tab, answers, codesAround(totp_secret, now()))
    if (refused !== null) return refused
  }
  return whoIs(deps, tab)
}

/** The platform's time, from the answer that just came. Dates are cut to the second: in the mean, half of one late. */
function platformTime(clock: Clock, { headers }: Answer): () => number {
  const date = Date.parse(headers.get('date') ?? '')
  const ahead_ms = Number.isNaN(date) ? 0 : date + 500 - clock.now()
  return () => clock.now() + ahead_ms
}

/** Where a page shows nothing that we know: whether it wants to see a person. */
const unread = async (page: Page): Promise<LoginCode> =>
  isHumanCheck(await page.content()) ? 'UPSTREAM_BLOCKED' : 'UNKNOWN'

const ended = (result: LoginResult): Stepped => ({ ok: false, result })

type Stepped =
  { ok: true; step: 'signed_in' | 'second_factor' } | { ok: false; result: LoginResult }

/** Sends the form that a field belongs to, and reads what comes back. */
async function step(
  { session_cookie, clock }: Deps,
  { page, context }: Tab,
  answers: Answers,
  field: Field,
  asked: 'password' | 'code' = 'password',
): Promise<Stepped> {
  const path = asked === 'code' ? `${WAY_IN}/otp` : WAY_IN
  await press(page, field)
  for (;;) {
    const heard = await answers.next(ANSWER_MS)
    if (heard === null) return ended(failed(await unread(page)))
    if (heard.ok && isElsewhere(heard.path, heard.answer)) return ended(failed('AUTH_FAILED'))
    if (heard.path !== path) continue
    if (!heard.ok) throw new Error(heard.error)
    const has_session = (await context.cookies()).some(
      ({ name, value }) => name === session_cookie && value !== '',
    )
    const said = readLogin(heard.answer, asked, has_session)
    if (said === 'signed_in' || said === 'second_factor') return { ok: true, step: said }
    return ended(withWait(said, heard.answer, platformTime(clock, heard.answer)()))
  }
}

/** The page asks by itself whether the account signs in with a third party; if so, no password of it can be right. */
function isElsewhere(path: string, answer: Answer): boolean {
  if (path !== `${WAY_IN}/check_is_oidc_required`) return false
  const said = classify(answer, { now: 0 })
  return said.ok && isObject(said.value) && said.value['is_sso'] === true
}

/** Types one code after the other until one is taken. Null: let in. */
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
  const answer = await look(page, `${base_url}${ME.path}?raw_json=1`)
  const jar = jarOf(jars, await context.cookies())
  return jar === null ? failed('UNKNOWN') : signedInAs(jar, answer)
}

/** What the browser holds for the platform, with the end of each. */
function jarOf(jars: Jars, cookies: readonly object[]): Jar | null {
  const imported = jars.import(JSON.stringify(cookies))
  return imported.ok ? imported.jar : null
}
