import type { BrowserContext, CDPSession, Page } from 'puppeteer-core'

import { languagesOf } from '../../core/locale.ts'
import type { Bridge } from './bridge.ts'

/** As whom the browser of one call appears, and what it brings along. */
export type Guise = {
  /** Canonical; see core/locale.ts and core/timezone.ts. */
  locale: string
  timezone: string
  /** For the platform alone. */
  cookies: readonly Brought[]
}

/** A cookie as it is brought along. `hidden`: scripts of the page do not see it. */
export type Brought = { name: string; value: string; hidden: boolean }

/** A request that a page is about to make. */
type Leaving = { method: string; url: string }

/** One page of one call. */
export type Tab = {
  page: Page
  context: BrowserContext
  /** Asked before each request leaves; what is refused never does. One at a time, the last one set. */
  admit(judge: Judge): void
  /** The next request goes over a new connection, so that the browser has no reason to send it again by itself. */
  freshen(): void
}

type Judge = (leaving: Leaving) => boolean
const everything: Judge = () => true
/** A page that is closed meanwhile needs no answer. */
const gone = () => {}

/** Opens a page that goes through the bridge. Rejects as puppeteer does when the browser goes. */
export async function openTab(
  context: BrowserContext,
  bridge: Bridge,
  home: URL,
  { locale, timezone, cookies }: Guise,
): Promise<Tab> {
  const page = await context.newPage()
  // Time is up when the call's is, not when a library thinks so.
  page.setDefaultTimeout(0)
  page.on('dialog', (dialog) => void dialog.dismiss().catch(() => {}))
  const session = await page.createCDPSession()
  let judge = everything

  await watch(session, bridge, (leaving) => judge(leaving))
  // An empty name leaves the browser its own.
  const languages = { userAgent: '', acceptLanguage: languagesOf(locale) }
  await session.send('Emulation.setUserAgentOverride', languages)
  await session.send('Emulation.setLocaleOverride', { locale: new Intl.Locale(locale).baseName })
  await session.send('Emulation.setTimezoneOverride', { timezoneId: timezone })
  // What a worker asks for passes nobody here.
  await session.send('Network.enable')
  await session.send('Network.setBypassServiceWorker', { bypass: true })
  const secure = home.protocol === 'https:'
  const brought = cookies.map(({ name, value, hidden }) => ({
    name,
    value,
    secure,
    httpOnly: hidden,
    url: home.origin,
  }))
  if (brought.length > 0) await session.send('Network.setCookies', { cookies: brought })

  return {
    page,
    context,
    admit(next) {
      judge = next
    },
    freshen: bridge.drop,
  }
}

/** Stops each request for a moment: to let the bridge know us, and to ask whether it may leave. */
async function watch(session: CDPSession, bridge: Bridge, judge: Judge) {
  session.on('Fetch.requestPaused', ({ requestId, request }) => {
    const answer = judge({ method: request.method, url: request.url })
      ? session.send('Fetch.continueRequest', { requestId })
      : session.send('Fetch.failRequest', { requestId, errorReason: 'BlockedByClient' })
    answer.catch(gone)
  })
  session.on('Fetch.authRequired', ({ requestId, authChallenge }) => {
    const { username, password } = bridge
    // Only the bridge is told: a page that asks for a name and a password gets neither.
    const authChallengeResponse =
      authChallenge.source === 'Proxy'
        ? { response: 'ProvideCredentials' as const, username, password }
        : { response: 'CancelAuth' as const }
    session.send('Fetch.continueWithAuth', { requestId, authChallengeResponse }).catch(gone)
  })
  await session.send('Fetch.enable', { handleAuthRequests: true, patterns: [{ urlPattern: '*' }] })
}
