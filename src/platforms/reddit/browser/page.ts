import type { BrowserContext, CDPSession, ElementHandle, HTTPResponse, Page } from 'puppeteer-core'

import { fail, ok, type Outcome } from '../../../core/base/result.ts'
import { languagesOf } from '../../../core/base/text.ts'
import type { Clock } from '../../../runtime/runtime.ts'
import type { NativeResponse } from '../response.ts'
import type { Bridge } from './proxy.ts'

export type BrowserProfile = {
  /** Canonical; see core/locale.ts and core/timezone.ts. */
  locale: string
  timezone: string
  /** Sent to the platform only. */
  cookies: readonly BrowserCookie[]
}

/** A cookie to set in the browser. `hidden`: not readable by the page's scripts. */
export type BrowserCookie = { name: string; value: string; hidden: boolean }

type OutgoingRequest = { method: string; url: string }

export type Tab = {
  page: Page
  context: BrowserContext
  /**
   * Sets the judge of each request before it is sent; a refused request is not sent. Only the last
   * judge applies.
   */
  admit(judge: Judge): void
  /**
   * Makes the next request use a new connection, so that the browser has no reason to repeat it by
   * itself.
   */
  freshen(): void
}

type Judge = (request: OutgoingRequest) => boolean
const everything: Judge = () => true
/** A page that was closed meanwhile needs no answer. */
const gone = () => {}

/** Opens a page that goes through the bridge. Rejects as puppeteer does when the browser exits. */
export async function openTab(
  context: BrowserContext,
  bridge: Bridge,
  home: URL,
  { locale, timezone, cookies }: BrowserProfile,
): Promise<Tab> {
  const page = await context.newPage()
  // The call's deadline applies, not the library's default timeout.
  page.setDefaultTimeout(0)
  page.on('dialog', (dialog) => void dialog.dismiss().catch(() => {}))
  const session = await page.createCDPSession()
  let judge = everything

  await watch(session, bridge, (request) => judge(request))
  // An empty name keeps the browser's own user agent.
  const languages = { userAgent: '', acceptLanguage: languagesOf(locale) }
  await session.send('Emulation.setUserAgentOverride', languages)
  await session.send('Emulation.setLocaleOverride', { locale: new Intl.Locale(locale).baseName })
  await session.send('Emulation.setTimezoneOverride', { timezoneId: timezone })
  // Requests of a service worker would bypass the interception.
  await session.send('Network.enable')
  await session.send('Network.setBypassServiceWorker', { bypass: true })
  const secure = home.protocol === 'https:'
  const cookie_params = cookies.map(({ name, value, hidden }) => ({
    name,
    value,
    secure,
    httpOnly: hidden,
    url: home.origin,
  }))
  if (cookie_params.length > 0) await session.send('Network.setCookies', { cookies: cookie_params })

  return {
    page,
    context,
    admit(next) {
      judge = next
    },
    freshen: bridge.drop,
  }
}

/** Intercepts each request: signs in to the bridge, and checks whether the request may be sent. */
async function watch(session: CDPSession, bridge: Bridge, judge: Judge) {
  session.on('Fetch.requestPaused', ({ requestId, request }) => {
    const answer = judge({ method: request.method, url: request.url })
      ? session.send('Fetch.continueRequest', { requestId })
      : session.send('Fetch.failRequest', { requestId, errorReason: 'BlockedByClient' })
    answer.catch(gone)
  })
  session.on('Fetch.authRequired', ({ requestId, authChallenge }) => {
    const { username, password } = bridge
    // Only the bridge gets credentials, never a page that requests them.
    const authChallengeResponse =
      authChallenge.source === 'Proxy'
        ? { response: 'ProvideCredentials' as const, username, password }
        : { response: 'CancelAuth' as const }
    session.send('Fetch.continueWithAuth', { requestId, authChallengeResponse }).catch(gone)
  })
  await session.send('Fetch.enable', { handleAuthRequests: true, patterns: [{ urlPattern: '*' }] })
}

/** Result of a request of the page: its answer, or Chromium's name of the failure. */
type AnswerEvent =
  { ok: true; path: string; answer: NativeResponse } | { ok: false; path: string; error: string }

export type Answers = {
  /** The next answer; null if none arrived within `ms` or before the signal. */
  next(ms: number, signal?: AbortSignal): Promise<AnswerEvent | null>
}

/**
 * Collects answers to POST requests whose path `wanted` accepts. Must be called before anything is
 * sent.
 */
export function watchAnswers(page: Page, clock: Clock, wanted: (path: string) => boolean): Answers {
  const events: AnswerEvent[] = []
  let wake: (() => void) | null = null
  const push = (it: AnswerEvent) => {
    events.push(it)
    wake?.()
  }
  const pathOf = (method: string, url: string): string | null => {
    const path = URL.parse(url)?.pathname.replace(/\/$/, '') ?? null
    return method === 'POST' && path !== null && wanted(path) ? path : null
  }

  page.on('response', (response) => {
    const request = response.request()
    const path = pathOf(request.method(), request.url())
    if (path === null) return
    void readAnswer(response).then((answer) => {
      const error = request.failure()?.errorText
      push(error === undefined ? { ok: true, path, answer } : { ok: false, path, error })
    })
  })
  page.on('requestfailed', (request) => {
    const path = pathOf(request.method(), request.url())
    // After the response has begun, its reader reports the end.
    if (path === null || request.response() !== null) return
    push({ ok: false, path, error: request.failure()?.errorText ?? '' })
  })

  return {
    async next(ms, signal) {
      const timer = new AbortController()
      const nap = clock.sleep(ms, signal ? AbortSignal.any([timer.signal, signal]) : timer.signal)
      if (events.length === 0)
        await Promise.race([nap, new Promise<void>((resolve) => (wake = resolve))])
      timer.abort()
      return events.shift() ?? null
    },
  }
}

/** A response with its body; empty if the page was left before the body was read. */
export async function readAnswer(response: HTTPResponse): Promise<NativeResponse> {
  const headers = new Headers()
  for (const [name, value] of Object.entries(response.headers()))
    for (const line of value.split('\n')) headers.append(name, line)
  const body = await response.text().catch(() => '')
  return { status: response.status(), headers, body }
}

/** The page may navigate by itself and interrupt ours. */
const TRIES = 4

/**
 * Loads an address with the page's own cookies by navigating to it.
 * @throws {Error} if the page was closed
 */
export async function loadPage(page: Page, url: string): Promise<Outcome<NativeResponse>> {
  for (let tries = 1; ; tries++) {
    try {
      const response = await page.goto(url)
      if (response) return ok(await readAnswer(response))
    } catch (thrown) {
      if (page.isClosed()) throw thrown
    }
    if (tries === TRIES) return fail({ kind: 'unavailable', status: null, retry_after_s: null })
  }
}

export type InputField = ElementHandle

/** Members of an input element in use; runs in the page. The DOM types are not loaded. */
type Input = {
  value: string
  form: { querySelector(selector: string): unknown } | null
  select(): void
}

/**
 * Waits for a visible element; null if none appears within `ms`.
 * @throws {Error} if the page was closed
 */
export async function appears(
  page: Page,
  selector: string,
  ms: number,
): Promise<InputField | null> {
  try {
    return await page.waitForSelector(selector, { visible: true, timeout: ms })
  } catch (thrown) {
    // Any other error means that the page, and so the call, has ended.
    if (thrown instanceof Error && thrown.name === 'TimeoutError') return null
    throw thrown
  }
}

/** Types a text into a field in place of its content. True if it then contains the text. */
export async function fill(field: InputField, text: string): Promise<boolean> {
  await field.focus()
  await field.evaluate((input: Input) => input.select())
  await field.type(text)
  return (await field.evaluate((input: Input) => input.value)) === text
}

/** Submits a field's form: by its button if it has an enabled one, otherwise by Enter. */
export async function press(page: Page, field: InputField): Promise<void> {
  const found = await field.evaluateHandle(
    ({ form }: Input) => form?.querySelector('button[type="submit"]:not([disabled])') ?? null,
  )
  const button = found.asElement()
  if (button !== null && (await button.isVisible())) return button.click()
  await field.focus()
  await page.keyboard.press('Enter')
}
