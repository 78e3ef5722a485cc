import { isObject } from '../core/object.ts'
import { fail, ok, type Outcome } from '../core/outcome.ts'
import type { Egress } from '../net/egress.ts'
import type { Clock } from '../outside.ts'
import { classify } from './classify.ts'
import { isHtml } from './pages.ts'
import { unreadable, wholeAt, wordAt } from './read.ts'
import { createSend } from './transport.ts'
import type { Visitor } from './visit.ts'

/** An application that the platform granted the operator; without a refresh token it acts for nobody. */
type Grant = { client_id: string; client_secret: string; refresh_token: string | null }

/** What a bearer host takes. */
type AccessToken = {
  value: string
  /** Epoch ms by which it should be renewed: two minutes before it ends. */
  renew_at: number
  /** Epoch ms. */
  expires_at: number
  /** The grant's refresh token from now on: the platform may have given another. */
  refresh_token: string | null
}

/** Asks for an access token. `login_required` when the grant is no longer good: only the operator can mend that. */
export type Tokens = (grant: Grant, visitor: Visitor) => Promise<Outcome<AccessToken>>

const RENEW_BEFORE_MS = 120_000
const LASTS_S = 3_600
/** The longest that is believed: a year. */
const LASTS_MAX_S = 31_536_000

type Deps = {
  egress: Egress
  clock: Clock
  token_url: string
  user_agent: string
  timeout_ms: number
}

/** Tokens by HTTP Basic from the platform's own address for them. What is sent is told to nobody else. */
export function createTokens({ egress, clock, token_url, user_agent, timeout_ms }: Deps): Tokens {
  const send = createSend(egress)

  return async ({ client_id, client_secret, refresh_token }, visitor) => {
    const { proxy, whose, deadline_at, signal } = visitor
    if (token_url === '') return fail({ kind: 'unavailable', status: null, retry_after_s: null })
    const form =
      refresh_token === null
        ? { grant_type: 'client_credentials' }
        : { grant_type: 'refresh_token', refresh_token }
    const asked_at = clock.now()
    const answer = await send({
      url: token_url,
      method: 'POST',
      eyes: { proxy, whose },
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
    // 400 is how a grant that was withdrawn is answered, 401 an application that nobody knows.
    if (status === 400 && !page) return fail({ kind: 'login_required' })
    const read = classify(answer.value, { now: clock.now() })
    if (read.ok) return toToken(read.value, asked_at, refresh_token)
    // A page that stands in the way, or leads to one, says nothing of the grant: only the operator could mend that.
    const aside = read.fault.kind === 'login_required' && (page || status < 400)
    return aside ? fail({ kind: 'blocked' }) : read
  }
}

function toToken(
  value: unknown,
  asked_at: number,
  refresh_token: string | null,
): Outcome<AccessToken> {
  if (!isObject(value)) return unreadable('')
  // Some refusals come as a success.
  if ('error' in value) return fail({ kind: 'login_required' })
  const token = wordAt(value, 'access_token')
  if (token === null || /[^\x21-\x7e]/.test(token)) return unreadable('access_token')
  const told_s = wholeAt(value, 'expires_in') ?? LASTS_S
  const lasts_ms = Math.min(Math.max(0, told_s), LASTS_MAX_S) * 1000
  return ok({
    value: token,
    // Of a very short one half is used.
    renew_at: asked_at + Math.max(lasts_ms - RENEW_BEFORE_MS, lasts_ms / 2),
    expires_at: asked_at + lasts_ms,
    refresh_token: wordAt(value, 'refresh_token') ?? refresh_token,
  })
}
