import type { Proxy } from '../core/proxy.ts'
import type { Clock } from '../outside.ts'
import type { BrowserLogin, BrowserLoginResult } from '../platform/browser/login.ts'
import type { Login } from '../platform/login.ts'
import { type EyesOf, wayOut } from './looking.ts'

/** The ways to sign in. */
export const LOGIN_METHODS = ['http', 'browser'] as const
export type LoginMethod = (typeof LOGIN_METHODS)[number]

/** Who wants to be signed in, and how. */
export type SignIn = {
  /** A name or an e-mail address. */
  username: string
  password: string
  /** Base32; null where there is no second factor. */
  totp_secret: string | null
  method: LoginMethod
  /** Null: one of the pool's ways out. */
  proxy: Proxy | null
  /** Canonical: see core/locale.ts and core/timezone.ts. For a browser alone. */
  locale: string
  timezone: string
}

/** How a sign-in ended, by which method, and whose the way out was. */
export type SignedIn = { result: BrowserLoginResult; method: LoginMethod; whose: 'pool' | 'caller' }

type Deps = {
  login: Login
  browser_login: BrowserLogin
  /** The proxies that a browser can leave by. */
  browser_schemes: readonly Proxy['scheme'][]
  eyes_of: Pick<EyesOf, 'lease' | 'way'>
  clock: Clock
  deadline_ms: number
  browser_deadline_ms: number
}

/**
 * Signs a caller's account in. Over HTTP, an answer in which no verdict can be read is asked for once more in a browser,
 * where there is one. A block or a human check is an answer that was read: it is told, and not gone around.
 */
export function createSignIn(deps: Deps): (ask: SignIn) => Promise<SignedIn> {
  const { login, browser_login, browser_schemes, eyes_of, clock } = deps

  return async ({ method, proxy: asked, ...ask }) => {
    const proxy = asked ?? wayOut(eyes_of)
    const whose = asked === null ? ('pool' as const) : ('caller' as const)
    const inBrowser = () => {
      const deadline_at = clock.now() + deps.browser_deadline_ms
      return browser_login({ ...ask, proxy, whose, deadline_at })
    }
    if (method === 'browser') return { result: await inBrowser(), method, whose }

    const { username, password, totp_secret } = ask
    const who = { username, password, totp_secret, proxy, whose }
    const first = await login({ ...who, deadline_at: clock.now() + deps.deadline_ms })
    const told = { result: first, method, whose }
    const unread = !first.ok && first.code === 'UNKNOWN'
    if (!unread || (proxy !== null && !browser_schemes.includes(proxy.scheme))) return told
    const second = await inBrowser()
    // A browser that is not there has no more to say than the first answer had.
    return !second.ok && second.code === null
      ? told
      : { result: second, method: 'browser' as const, whose }
  }
}
