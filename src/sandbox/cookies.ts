import type { Ask } from './ask.ts'
import type { Session } from './model.ts'
import { SESSION_COOKIE } from './sessions.ts'

const DAY_S = 86_400
const LONG_S = 730 * DAY_S

/** One Set-Cookie line, for the platform's domain where it has one. */
function line(
  { origin, cookie_domain }: Ask,
  name: string,
  value: string,
  { lasts_s, httpOnly = false }: { lasts_s?: number; httpOnly?: boolean } = {},
): string {
  return [
    `${name}=${value}`,
    'Path=/',
    ...(cookie_domain === null ? [] : [`Domain=${cookie_domain}`]),
    ...(lasts_s === undefined ? [] : [`Max-Age=${lasts_s}`]),
    ...(httpOnly ? ['HttpOnly'] : []),
    ...(origin.startsWith('https:') ? ['Secure', 'SameSite=None'] : ['SameSite=Lax']),
  ].join('; ')
}

/** Rotates with nearly every answer. */
export const tracker = (ask: Ask): string => {
  const value = `${Math.floor(ask.noise.fraction() * 2 ** 32).toString(36)}.0.${ask.viewer.now_s}.Z0FBQUFB`
  return line(ask, 'session_tracker', value, { lasts_s: 7_199 })
}

/** The bearer of pages for people. */
export const bearerCookie = (ask: Ask, session: Session): string =>
  line(ask, 'token_v2', session.token_v2, { lasts_s: DAY_S, httpOnly: true })

/** What a visitor gets with the first page: each only where the browser has none. */
export function visitorCookies(ask: Ask): string[] {
  const { cookies, noise, viewer } = ask
  const anonymous = `${noise.text(18)}.2.${viewer.now_s * 1000}.${noise.text(24)}`
  const lines: [string, string][] = [
    ['csrf_token', line(ask, 'csrf_token', noise.text(32, '0123456789abcdef'))],
    ['loid', line(ask, 'loid', anonymous, { lasts_s: LONG_S })],
    ['edgebucket', line(ask, 'edgebucket', noise.text(18), { lasts_s: LONG_S })],
    ['csv', line(ask, 'csv', '2', { lasts_s: LONG_S })],
  ]
  return lines.flatMap(([name, text]) => (cookies.has(name) ? [] : [text]))
}

/** Everything a browser holds after signing in. The session itself comes without an end of its own. */
export const jar = (ask: Ask, session: Session): string[] => [
  line(ask, SESSION_COOKIE, session.cookie, { httpOnly: true }),
  bearerCookie(ask, session),
  line(ask, 'loid', session.loid, { lasts_s: LONG_S }),
  line(ask, 'csrf_token', session.csrf_token),
  line(ask, 'edgebucket', ask.noise.text(18), { lasts_s: LONG_S }),
  line(ask, 'csv', '2', { lasts_s: LONG_S }),
  line(ask, 'pc', ask.noise.text(2), { lasts_s: DAY_S }),
]

/** Takes back what signing in gave. */
export const emptied = (ask: Ask): string[] =>
  [SESSION_COOKIE, 'token_v2', 'csrf_token'].map((name) => line(ask, name, '', { lasts_s: 0 }))
