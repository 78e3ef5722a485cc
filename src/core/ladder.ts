import type { WebhookKind } from './webhook-kind.ts'

/** What one attempt to deliver met. Bodies are judged before: `accepted` is what the kind of target calls yes. */
export type Attempt =
  | { kind: 'answered'; status: number; accepted: boolean; retry_after_s: number | null }
  /** A mail server's say. `refused`: it will not take this mail for this reader, ever. */
  | { kind: 'mailed'; code: number; accepted: boolean; refused: boolean }
  | { kind: 'failed'; error: AttemptError }

/** Why an attempt got no answer that counts. */
export type AttemptError =
  'timeout' | 'dns_failed' | 'connect_failed' | 'tls_failed' | 'target_not_public' | 'bad_answer'

/** `last_error` of a delivery: stable codes, never text from outside. */
export type DeliveryError =
  | AttemptError
  | `http_${number}`
  | `smtp_${number}`
  | 'webhook_paused'
  | 'webhook_deleted'
  | 'interrupted_repeatedly'
  | 'body_damaged'

/** What follows from an attempt; `delay_ms` until the next one. */
export type Verdict =
  | { status: 'delivered' }
  | { status: 'pending'; delay_ms: number; error: DeliveryError }
  | { status: 'failed'; error: DeliveryError; gone: boolean }
  | { status: 'dead'; error: DeliveryError }

/** One attempt as it went, for who counts them. Milliseconds since the delivery was written, by true time. */
export type AttemptEvent = {
  kind: WebhookKind
  /** Whether it is the first that was ever made of its delivery, and whether nobody has sent that again. */
  first: boolean
  first_round: boolean
  verdict: Verdict
  began_after_ms: number
  ended_after_ms: number
}

/** Seconds to wait before each attempt, and the share by which a wait varies (0.2 is 20 % either way). */
export type Ladder = { retry_delays_s: readonly number[]; jitter: number }

/** No receiver can put an attempt off for longer. */
const RETRY_AFTER_MAX_S = 780
const GONE = 410

/**
 * What follows from an attempt, the `failures` before it in this round (0 on the first) and chance, in [0, 1).
 * Only another 4xx is final at once: a redirect is not followed and is retried, as a failure of the network is.
 */
export function judge(
  attempt: Attempt,
  failures: number,
  ladder: Ladder,
  fraction: number,
): Verdict {
  if (attempt.kind !== 'failed' && attempt.accepted) return { status: 'delivered' }

  const error = errorOf(attempt)
  if (attempt.kind === 'answered' && isFinal(attempt.status))
    return { status: 'failed', error, gone: attempt.status === GONE }
  if (attempt.kind === 'mailed' && attempt.refused) return { status: 'failed', error, gone: false }

  const delay_s = ladder.retry_delays_s[failures + 1]
  if (delay_s === undefined) return { status: 'dead', error }
  const wish_s = attempt.kind === 'answered' ? (attempt.retry_after_s ?? 0) : 0
  const delay_ms = Math.max(
    jittered(delay_s * 1000, ladder.jitter, fraction),
    Math.min(wish_s, RETRY_AFTER_MAX_S) * 1000,
  )
  return { status: 'pending', delay_ms, error }
}

const isFinal = (status: number): boolean => status >= 400 && status < 500 && status !== 429

// A 2xx that is no yes (a page in place of Slack's "ok") is an answer from somebody else on the way.
function errorOf(attempt: Attempt): DeliveryError {
  if (attempt.kind === 'failed') return attempt.error
  if (attempt.kind === 'mailed') return `smtp_${attempt.code}`
  return isSuccess(attempt.status) ? 'bad_answer' : `http_${attempt.status}`
}

/** 2xx. */
export const isSuccess = (status: number): boolean => status >= 200 && status < 300

/** A wait of `ms`, moved by chance within ±`share`. */
const jittered = (ms: number, share: number, fraction: number): number =>
  Math.round(ms * (1 - share + 2 * share * fraction))

/** The seconds a Retry-After header asks for, given as seconds or as a date; null when it says nothing readable. */
export function retryAfter(header: string | null, now: number): number | null {
  if (header === null) return null
  const text = header.trim()
  if (/^\d{1,9}$/.test(text)) return Number(text)
  // Only the dates of HTTP; Date.parse would take far more.
  if (!/^[A-Z][a-z]{2,8}, .+ GMT$/.test(text)) return null
  const at = Date.parse(text)
  return Number.isNaN(at) ? null : Math.max(0, Math.ceil((at - now) / 1000))
}
