/** Verdict on an attempt: delivered, retried on the retry schedule, rejected (4xx), or gone (410). */
import type { WebhookKind } from './target.ts'

/** Outcome of one attempt. `accepted`: the body is a success for the kind of target. */
export type Attempt =
  | { kind: 'answered'; status: number; accepted: boolean; retry_after_s: number | null }
  /** Reply of a mail server. `refused`: it permanently rejects this mail for this recipient. */
  | { kind: 'mailed'; code: number; accepted: boolean; refused: boolean }
  /** Reason code of a broker (MQTT 5). `refused`: it will refuse the same message again. */
  | { kind: 'published'; code: number; accepted: boolean; refused: boolean }
  | { kind: 'failed'; error: AttemptError }

/**
 * Reason why an attempt got no usable response. `connect_failed`: no connection was made.
 * `connection_closed`: one was made and closed before a response, so the receiver may have read the
 * request. `out_of_files`: this process has no file descriptor left, which is independent of the
 * receiver.
 */
export type AttemptError =
  | 'timeout'
  | 'dns_failed'
  | 'connect_failed'
  | 'connection_closed'
  | 'tls_failed'
  | 'target_not_public'
  | 'bad_answer'
  | 'out_of_files'

/** `last_error` of a delivery: stable codes, never external text. */
export type DeliveryError =
  | AttemptError
  | `http_${number}`
  | `smtp_${number}`
  | `mqtt_${number}`
  | 'webhook_paused'
  | 'webhook_deleted'
  | 'interrupted_repeatedly'
  | 'body_damaged'

/** Consequence of an attempt; `delay_ms` until the next one. */
export type DeliveryVerdict =
  | { status: 'delivered' }
  | { status: 'pending'; delay_ms: number; error: DeliveryError }
  | { status: 'failed'; error: DeliveryError; gone: boolean }
  | { status: 'dead'; error: DeliveryError }

/**
 * Attempt as reported to observers. Milliseconds since the delivery was written, on the
 * clock corrected by Date headers.
 */
export type AttemptEvent = {
  kind: WebhookKind
  /** True for the first attempt ever made of the delivery. */
  first: boolean
  /** True unless the delivery was resent on request. */
  is_original: boolean
  verdict: DeliveryVerdict
  began_after_ms: number
  ended_after_ms: number
}

/** Seconds to wait before each attempt, and the relative jitter (0.2: 20 % either way). */
export type RetrySchedule = { retry_delays_s: readonly number[]; jitter: number }

const GONE = 410

/**
 * Decides what follows from an attempt. `failures` counts the failed attempts since the retry
 * schedule began (0 on the first); `fraction` is random, in [0, 1). A 4xx response other than 429
 * fails at once, and so does a redirect: it is never followed and would be received again.
 */
export function judgeAttempt(
  attempt: Attempt,
  failures: number,
  schedule: RetrySchedule,
  fraction: number,
): DeliveryVerdict {
  if (attempt.kind !== 'failed' && attempt.accepted) return { status: 'delivered' }

  const error = errorOf(attempt)
  if (attempt.kind === 'answered' && isFinal(attempt.status))
    return { status: 'failed', error, gone: attempt.status === GONE }
  if ((attempt.kind === 'mailed' || attempt.kind === 'published') && attempt.refused)
    return { status: 'failed', error, gone: false }

  const delay_s = schedule.retry_delays_s[failures + 1]
  if (delay_s === undefined) return { status: 'dead', error }
  const receiver_delay_s = attempt.kind === 'answered' ? (attempt.retry_after_s ?? 0) : 0
  const delay_ms = Math.max(
    jittered(delay_s * 1000, schedule.jitter, fraction),
    receiver_delay_s * 1000,
  )
  return { status: 'pending', delay_ms, error }
}

/** Wait after a refusal for a rate limit that names none. */
const LIMIT_WAIT_S = 5

/** Seconds for which a receiver accepts nothing more, and why; null: it has not said so. */
export function limitWait(
  attempt: Attempt,
): { wait_s: number; reason: 'rate_limit' | 'unavailable' } | null {
  if (attempt.kind !== 'answered') return null
  const { status, retry_after_s } = attempt
  if (status === 429) return { wait_s: retry_after_s ?? LIMIT_WAIT_S, reason: 'rate_limit' }
  if (status !== 503 || retry_after_s === null) return null
  return { wait_s: retry_after_s, reason: 'unavailable' }
}

const isRedirect = (status: number): boolean => status >= 300 && status < 400
const isFinal = (status: number): boolean =>
  isRedirect(status) || (status >= 400 && status < 500 && status !== 429)

// A 2xx without the expected body (a page in place of Slack's "ok") comes from an intermediary.
function errorOf(attempt: Attempt): DeliveryError {
  if (attempt.kind === 'failed') return attempt.error
  if (attempt.kind === 'mailed') return `smtp_${attempt.code}`
  if (attempt.kind === 'published') return `mqtt_${attempt.code}`
  return isSuccess(attempt.status) ? 'bad_answer' : `http_${attempt.status}`
}

/** True for 2xx. */
export const isSuccess = (status: number): boolean => status >= 200 && status < 300

/** Applies jitter of ±`share` to `ms`; `fraction` is in [0, 1). */
const jittered = (ms: number, share: number, fraction: number): number =>
  Math.round(ms * (1 - share + 2 * share * fraction))

/** Result of a target test. Does not contain the receiver's address. */
export type TestReport = {
  ok: boolean
  status_code: number | null
  delivery_id: string
  duration_ms: number
  /** A `last_error` code; null on success. */
  reason: string | null
  hint: string | null
  detail: string
  /** The beginning of the receiver's response, redacted; null without one. */
  body_start: string | null
}

const HINTS: Record<string, string> = {
  timeout:
    'answer 2xx as soon as the payload is durably stored, and process it afterwards; check that no firewall drops the connection',
  dns_failed: 'check that the host name of the url resolves in the public DNS',
  connect_failed:
    'check that the receiver runs, listens on the port of the url and is reachable from this service',
  connection_closed:
    'the receiver, or a proxy before it, closed the connection; check its log, it may have read the request',
  out_of_files:
    'the receiver is not the cause; the operator of this daemon must raise its limit of open files',
  tls_failed:
    'check that the certificate is valid, names the host of the url and is sent with its intermediate certificates',
  target_not_public: 'the name must resolve to public addresses only, at every attempt',
  bad_answer: 'the response is not that of this kind of target; check that the url is correct',
  http_401: 'the receiver does not accept the credentials of the request',
  http_403: 'the receiver, or a firewall before it, refuses the request; check its rules',
  http_404: 'nothing exists at this path; check the url, or whether the target was removed',
  http_405: 'the receiver must accept POST at this path',
  http_410:
    'the receiver reports that it is gone permanently; in a real delivery this pauses the webhook',
  http_413: 'the message is larger than the receiver accepts',
  http_429: 'the receiver limits its request rate; a real delivery would be retried later',
}

const DETAILS: Record<string, string> = {
  timeout: 'no response within the time limit',
  dns_failed: 'the host name does not resolve',
  connect_failed: 'no connection could be made',
  connection_closed: 'the connection was closed before a response',
  out_of_files: 'the daemon has no file descriptor left, so no connection was made',
  tls_failed: 'no trusted TLS connection could be made',
  target_not_public: 'the host resolves to an address that is not public; no connection was made',
}

export function toReport(
  attempt: Attempt,
  delivery_id: string,
  duration_ms: number,
  body_start: string | null = null,
  hints: Readonly<Record<string, string>> = {},
): TestReport {
  const verdict = judgeAttempt(attempt, 0, { retry_delays_s: [0], jitter: 0 }, 0)
  const status_code = codeOf(attempt)
  const reason = verdict.status === 'delivered' ? null : verdict.error
  return {
    ok: reason === null,
    status_code,
    delivery_id,
    duration_ms,
    reason,
    hint:
      reason === null ? null : (hints[reason] ?? HINTS[reason] ?? hintFor(attempt, status_code)),
    detail:
      status_code === null
        ? (DETAILS[reason ?? ''] ?? 'the response is not valid HTTP')
        : `the ${PARTIES[attempt.kind]} answered ${status_code}${reason === 'bad_answer' ? ', but without the expected body' : ''}`,
    body_start,
  }
}

const PARTIES: Record<Attempt['kind'], string> = {
  answered: 'receiver',
  mailed: 'mail server',
  published: 'broker',
  failed: 'receiver',
}

function codeOf(attempt: Attempt): number | null {
  if (attempt.kind === 'failed') return null
  return attempt.kind === 'answered' ? attempt.status : attempt.code
}

function hintFor(attempt: Attempt, status: number | null): string {
  if (attempt.kind === 'mailed')
    return attempt.refused
      ? 'check that the address exists and accepts mail'
      : attempt.code >= 500
        ? 'the mail server refuses this service, its sender or the text, not the reader; the operator of this service checks [smtp]'
        : 'the mail server temporarily rejects the mail; a real delivery would be retried later'
  if (attempt.kind === 'published')
    return attempt.refused
      ? 'the broker refuses this message for good; its reason is in the answer'
      : 'the broker temporarily rejects the message; a real delivery would be retried later'
  if (status !== null && isRedirect(status))
    return 'redirects are not followed; register the address that this one redirects to'
  if (status !== null && status >= 500) return 'the receiver failed; check its log'
  return 'the receiver must answer 2xx'
}
