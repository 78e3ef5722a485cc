import type { SandboxSession } from '../world/model.ts'
import type { SandboxRequest } from './request.ts'
import { SESSION_COOKIE } from './sessions.ts'

const DAY_S = 86_400
const LONG_LIVED_S = 730 * DAY_S

/** Set-Cookie line, with the platform's domain if it has one. */
function cookieLine(
  { origin, cookie_domain }: SandboxRequest,
  name: string,
  value: string,
  { max_age_s, httpOnly = false }: { max_age_s?: number; httpOnly?: boolean } = {},
): string {
  return [
    `${name}=${value}`,
    'Path=/',
    ...(cookie_domain === null ? [] : [`Domain=${cookie_domain}`]),
    ...(max_age_s === undefined ? [] : [`Max-Age=${max_age_s}`]),
    ...(httpOnly ? ['HttpOnly'] : []),
    ...(origin.startsWith('https:') ? ['Secure', 'SameSite=None'] : ['SameSite=Lax']),
  ].join('; ')
}

/** Changes with nearly every response. */
export const trackerCookie = (request: SandboxRequest): string => {
  const value = `${Math.floor(request.noise.fraction() * 2 ** 32).toString(36)}.0.${request.viewer.now_s}.Z0FBQUFB`
  return cookieLine(request, 'session_tracker', value, { max_age_s: 7_199 })
}

/** Bearer for the HTML pages. */
export const bearerCookie = (request: SandboxRequest, session: SandboxSession): string =>
  cookieLine(request, 'token_v2', session.token_v2, { max_age_s: DAY_S, httpOnly: true })

/** Cookies of a first page view, each only if the browser does not have it. */
export function anonymousCookies(request: SandboxRequest): string[] {
  const { cookies, noise, viewer } = request
  const anonymous = `${noise.text(18)}.2.${viewer.now_s * 1000}.${noise.text(24)}`
  const lines: [string, string][] = [
    ['csrf_token', cookieLine(request, 'csrf_token', noise.text(32, '0123456789abcdef'))],
    ['loid', cookieLine(request, 'loid', anonymous, { max_age_s: LONG_LIVED_S })],
    ['edgebucket', cookieLine(request, 'edgebucket', noise.text(18), { max_age_s: LONG_LIVED_S })],
    ['csv', cookieLine(request, 'csv', '2', { max_age_s: LONG_LIVED_S })],
  ]
  return lines.flatMap(([name, text]) => (cookies.has(name) ? [] : [text]))
}

/** All cookies after a login. The session cookie itself has no expiry. */
export const sessionCookies = (request: SandboxRequest, session: SandboxSession): string[] => [
  cookieLine(request, SESSION_COOKIE, session.cookie, { httpOnly: true }),
  bearerCookie(request, session),
  cookieLine(request, 'loid', session.loid, { max_age_s: LONG_LIVED_S }),
  cookieLine(request, 'csrf_token', session.csrf_token),
  cookieLine(request, 'edgebucket', request.noise.text(18), { max_age_s: LONG_LIVED_S }),
  cookieLine(request, 'csv', '2', { max_age_s: LONG_LIVED_S }),
  cookieLine(request, 'pc', request.noise.text(2), { max_age_s: DAY_S }),
]

/** Removes the cookies of a login. */
export const clearCookies = (request: SandboxRequest): string[] =>
  [SESSION_COOKIE, 'token_v2', 'csrf_token'].map((name) =>
    cookieLine(request, name, '', { max_age_s: 0 }),
  )
