import type { Fault } from '../core/outcome.ts'
import type { Answer } from './classify.ts'
import type { Eyes } from './platform.ts'

/** Who we say we are, and whose eyes we look through: cookies or a token, never both. */
export function headersFor(user_agent: string, { cookie, bearer }: Eyes): Record<string, string> {
  const headers = { 'user-agent': user_agent, accept: 'application/json' }
  if (bearer !== null) return { ...headers, authorization: `bearer ${bearer}` }
  return cookie === null ? headers : { ...headers, cookie }
}

/** Cookies are taken over from answers that are ours, never from a refusal or a page that bars the way. */
export function tellCookies(
  { on_cookies }: Eyes,
  { status, headers }: Answer,
  fault: Fault | null,
) {
  if (!on_cookies || status < 200 || status >= 400 || fault?.kind === 'blocked') return
  const lines = headers.getSetCookie()
  if (lines.length > 0) on_cookies(lines)
}
