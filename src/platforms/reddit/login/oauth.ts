import { isObject } from '../../../core/base/object.ts'
import { fail, ok, type Outcome } from '../../../core/base/result.ts'
import type { Egress } from '../../../net/egress.ts'
import type { Clock } from '../../../runtime/runtime.ts'
import type { Origin } from '../../port.ts'
import { unreadable, wholeAt, wordAt } from '../readers/fields.ts'
import { createRequest } from '../request.ts'
import { classify, isHtml } from '../response.ts'

/**
 * An application that the platform granted the operator; without a refresh token it has no account.
 */
type Grant = { client_id: string; client_secret: string; refresh_token: string | null }

type AccessToken = {
  value: string
  /** Epoch ms of its renewal: two minutes before it expires. */
  renew_at: number
  expires_at: number
  /** The grant's refresh token from now on: the platform may have replaced it. */
  refresh_token: string | null
}

/**
 * Requests an access token. `login_required` if the grant is no longer valid: the operator must
 * renew it. With `revoked` the platform refuses the application itself.
 */
export type OAuthTokens = (grant: Grant, origin: Origin) => Promise<Outcome<AccessToken>>

const RENEW_BEFORE_MS = 120_000
const DEFAULT_LIFETIME_S = 3_600
/** Upper limit of a lifetime: a year. */
const LIFETIME_MAX_S = 31_536_000

type Deps = {
  egress: Egress
  clock: Clock
  token_url: string
  user_agent: string
  timeout_ms: number
}

/**
 * Creates the token requests: OAuth 2.0 with HTTP Basic authentication at the platform's token
 * endpoint. The credentials are sent nowhere else.
 * @see https://www.rfc-editor.org/rfc/rfc6749#section-6
 */
export function createOAuthTokens({
  egress,
  clock,
  token_url,
  user_agent,
  timeout_ms,
}: Deps): OAuthTokens {
  const send = createRequest(egress)

  return async ({ client_id, client_secret, refresh_token }, origin) => {
    const { proxy, whose, deadline_at, signal } = origin
    if (token_url === '') return fail({ kind: 'unavailable', status: null, retry_after_s: null })
    const form =
      refresh_token === null
        ? { grant_type: 'client_credentials' }
        : { grant_type: 'refresh_token', refresh_token }
    const requested_at = clock.now()
    const answer = await send({
      url: token_url,
      method: 'POST',
      identity: { proxy, whose },
      headers: {
        'user-agent': user_agent,
        accept: 'application/json',
        authorization: `Basic ${Buffer.from(`${client_id}:${client_secret}`).toString('base64')}`,
        'content-type': 'application/x-www-form-urlencoded',
      },
      body: new URLSearchParams(form).toString(),
      timeout_ms: Math.max(0, Math.min(timeout_ms, deadline_at - clock.now())),
      signal,
    })
    if (!answer.ok) return answer
    const { status, headers, body } = answer.value
    const page = isHtml(headers.get('content-type'), body)
    // 400 means a withdrawn grant, 401 an unknown application.
    if (status === 400 && !page && !namesClient(body)) return fail({ kind: 'login_required' })
    if ((status === 400 || status === 401) && !page) return REVOKED
    const read = classify(answer.value, { now: clock.now() })
    if (read.ok) return toToken(read.value, requested_at, refresh_token)
    // A block page, or a redirect to one, says nothing about the grant, which only the operator can
    // renew.
    const aside = read.fault.kind === 'login_required' && (page || status < 400)
    return aside ? fail({ kind: 'blocked' }) : read
  }
}

/** Errors of the token endpoint that concern the application, not its grant (RFC 6749, 5.2). */
const CLIENT_ERRORS: readonly unknown[] = ['invalid_client', 'unauthorized_client']

function namesClient(body: string): boolean {
  try {
    const value: unknown = JSON.parse(body)
    return isObject(value) && CLIENT_ERRORS.includes(value['error'])
  } catch {
    return false
  }
}

const REVOKED = fail({ kind: 'login_required', revoked: true })

function toToken(
  value: unknown,
  requested_at: number,
  refresh_token: string | null,
): Outcome<AccessToken> {
  if (!isObject(value)) return unreadable('')
  // Some refusals have a success status.
  if (CLIENT_ERRORS.includes(value['error'])) return REVOKED
  if ('error' in value) return fail({ kind: 'login_required' })
  const token = wordAt(value, 'access_token')
  if (token === null || /[^\x21-\x7e]/.test(token)) return unreadable('access_token')
  const expires_in_s = wholeAt(value, 'expires_in') ?? DEFAULT_LIFETIME_S
  const lifetime_ms = Math.min(Math.max(0, expires_in_s), LIFETIME_MAX_S) * 1000
  return ok({
    value: token,
    // A very short token is renewed after half of its lifetime.
    renew_at: requested_at + Math.max(lifetime_ms - RENEW_BEFORE_MS, lifetime_ms / 2),
    expires_at: requested_at + lifetime_ms,
    refresh_token: wordAt(value, 'refresh_token') ?? refresh_token,
  })
}
