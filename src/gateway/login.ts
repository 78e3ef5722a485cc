import type { Proxy } from '../core/forum/proxy.ts'
import type { BrowserLogin, BrowserLoginResult, CookieJar, Login } from '../platforms/port.ts'
import type { Clock } from '../runtime/runtime.ts'
import { defaultEgress, type Identities } from './identity.ts'

export const LOGIN_METHODS = ['http', 'browser'] as const
export type LoginMethod = (typeof LOGIN_METHODS)[number]

export type SignInRequest = {
  /** A name or an e-mail address. */
  username: string
  password: string
  /** Base32; null: no second factor. */
  totp_secret: string | null
  method: LoginMethod
  /** Null: one of the pool's proxies. */
  proxy: Proxy | null
  /** Canonical: see core/locale.ts and core/timezone.ts. For a browser only. */
  locale: string
  timezone: string
}

export type LoginSuccess = {
  result:
    | Exclude<BrowserLoginResult, { ok: true }>
    | (Omit<Extract<BrowserLoginResult, { ok: true }>, 'jar'> & { jar: Pick<CookieJar, 'cookies'> })
  method: LoginMethod
  whose: 'pool' | 'caller'
}

type Deps = {
  login: Login
  browser_login: BrowserLogin
  browser_schemes: readonly Proxy['scheme'][]
  identities: Pick<Identities, 'lease' | 'egress'>
  clock: Clock
  deadline_ms: number
  browser_deadline_ms: number
}

/**
 * Creates the sign-in of a caller's account. If the answer over HTTP contains no verdict, a browser
 * tries once more, if there is one. A block or a human check is a readable answer: it is reported,
 * not bypassed.
 */
export function createSignIn(deps: Deps): (request: SignInRequest) => Promise<LoginSuccess> {
  const { login, browser_login, browser_schemes, identities, clock } = deps

  return async ({ method, proxy: requested_proxy, ...request }) => {
    const proxy = requested_proxy ?? defaultEgress(identities)
    const whose = requested_proxy === null ? ('pool' as const) : ('caller' as const)
    const inBrowser = () => {
      const deadline_at = clock.now() + deps.browser_deadline_ms
      return browser_login({ ...request, proxy, whose, deadline_at })
    }
    if (method === 'browser') return { result: await inBrowser(), method, whose }

    const { username, password, totp_secret } = request
    const who = { username, password, totp_secret, proxy, whose }
    const first = await login({ ...who, deadline_at: clock.now() + deps.deadline_ms })
    const first_result = { result: first, method, whose }
    const unread = !first.ok && first.code === 'UNKNOWN'
    if (!unread || (proxy !== null && !browser_schemes.includes(proxy.scheme))) return first_result
    const second = await inBrowser()
    // Without a usable browser, the first answer stands.
    return !second.ok && second.code === null
      ? first_result
      : { result: second, method: 'browser' as const, whose }
  }
}
