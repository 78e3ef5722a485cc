import type { Answer } from './classify.ts'
import { isHtml, isHumanCheck } from './pages.ts'

/**
 * How a sign-in without success ended. The first three are the platform's own verdicts on the credentials and are
 * final; the others mean that no verdict could be read.
 */
export type LoginCode =
  | 'AUTH_FAILED'
  | 'TWO_FACTOR_REQUIRED'
  | 'TWO_FACTOR_INVALID'
  | 'UNKNOWN'
  | 'UPSTREAM_ERROR'
  | 'UPSTREAM_BLOCKED'

/** What one answer to a name and password, or to a code, says. */
export type LoginStep = 'signed_in' | 'second_factor' | LoginCode

/** The step that was answered. */
export type LoginAsked = 'password' | 'code'

// Only an explicit word about the credentials is a verdict: the same statuses come from a missing human check.
const WRONG_PASSWORD =
  /(?:invalid|incorrect) username or password|(?:wrong|incorrect) password|\bWRONG_PASSWORD\b|\bINCORRECT_USERNAME_PASSWORD\b/i
const WRONG_CODE =
  /(?:invalid|incorrect|wrong|expired|check)[^"<]{0,40}\bcode\b|\bcode\b[^"<]{0,40}(?:invalid|incorrect|wrong|expired)|WRONG_OTP|INVALID_OTP/i
const HUMAN_WANTED =
  /something went wrong logging in|user-interaction-failed|captcha|unusual (?:login )?activity/i
const THROTTLED = /\bRATELIMIT\b|doing that (?:too much|a lot)/i

/** Reads one answer of the way in. `has_session`: it has set the session's cookie. */
export function readLogin(answer: Answer, asked: LoginAsked, has_session: boolean): LoginStep {
  const { status, body, headers } = answer
  if (status === 429 || THROTTLED.test(body)) return 'UPSTREAM_ERROR'
  if (status >= 500) return 'UPSTREAM_ERROR'
  if (isHumanCheck(body)) return 'UPSTREAM_BLOCKED'
  if (status === 202) return asked === 'password' ? 'second_factor' : 'UNKNOWN'
  if (status === 200 && has_session) return 'signed_in'
  if (asked === 'code' && WRONG_CODE.test(body)) return 'TWO_FACTOR_INVALID'
  if (WRONG_PASSWORD.test(body)) return 'AUTH_FAILED'
  if (HUMAN_WANTED.test(body)) return 'UPSTREAM_BLOCKED'
  if (status === 403 && isPage(headers.get('content-type'), body)) return 'UPSTREAM_BLOCKED'
  return 'UNKNOWN'
}

/** A whole page, where a fragment or JSON belongs. */
const isPage = (content_type: string | null, body: string): boolean =>
  isHtml(content_type, body) && /<html\b|<!doctype/i.test(body)

/** What the first page says when it is not the form: null when it may well be. */
export function readLoginPage({ status, body }: Answer): LoginCode | null {
  if (status === 429 || status >= 500) return 'UPSTREAM_ERROR'
  if (isHumanCheck(body)) return 'UPSTREAM_BLOCKED'
  if (status === 403) return 'UPSTREAM_BLOCKED'
  return status >= 200 && status < 300 ? null : 'UNKNOWN'
}
