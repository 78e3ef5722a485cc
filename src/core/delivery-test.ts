import { type Attempt, judge } from './ladder.ts'

/** What a test of a target found. Nothing in it repeats what the receiver said, or where it is. */
export type TestReport = {
  ok: boolean
  status_code: number | null
  delivery_id: string
  duration_ms: number
  /** A `last_error` code; null when it arrived. */
  reason: string | null
  /** What to do about it. */
  hint: string | null
  /** What happened, in a sentence. */
  detail: string
}

const HINTS: Record<string, string> = {
  timeout:
    'answer 2xx as soon as the payload is durably accepted, and work on it afterwards; check that no firewall drops the connection',
  dns_failed: 'check that the host name of the url resolves in the public DNS',
  connect_failed:
    'check that the receiver runs, listens on the port of the url and is reachable from outside',
  tls_failed:
    'check that the certificate is valid, names the host of the url and is sent with its intermediate certificates',
  target_not_public: 'the name must resolve to public addresses only, at every attempt',
  bad_answer:
    'the answer is not one that this kind of target gives; check that the url is the right one',
  http_401: 'the receiver asks for credentials: let it check the signature headers in their place',
  http_403:
    'the receiver, or a firewall before it, refuses the request; check its rules and your signature check',
  http_404: 'nothing is at this path: check the url, or whether the target was removed there',
  http_405: 'the receiver must accept POST at this path',
  http_410:
    'the receiver says that it is gone for good; in a real delivery this pauses the webhook',
  http_413: 'let the receiver accept bodies of up to 256 KiB',
  http_429: 'the receiver limits its callers; a real delivery would be tried again later',
}

const DETAILS: Record<string, string> = {
  timeout: 'no answer came in time',
  dns_failed: 'the host name does not resolve',
  connect_failed: 'no connection could be made, or it was closed before an answer',
  tls_failed: 'no trusted TLS connection could be made',
  target_not_public: 'the host resolves to an address that is not public; no connection was made',
}

/** Puts the one attempt of a test into words. */
export function toReport(attempt: Attempt, delivery_id: string, duration_ms: number): TestReport {
  const verdict = judge(attempt, 0, { retry_delays_s: [0], jitter: 0 }, 0)
  const status_code = codeOf(attempt)
  const reason = verdict.status === 'delivered' ? null : verdict.error
  return {
    ok: reason === null,
    status_code,
    delivery_id,
    duration_ms,
    reason,
    hint: reason === null ? null : (HINTS[reason] ?? hintFor(attempt, status_code)),
    detail:
      status_code === null
        ? (DETAILS[reason ?? ''] ?? 'what came back is no HTTP answer')
        : `the ${attempt.kind === 'mailed' ? 'mail server' : 'receiver'} answered ${status_code}${reason === 'bad_answer' ? ', but not with what says yes there' : ''}`,
  }
}

function codeOf(attempt: Attempt): number | null {
  if (attempt.kind === 'failed') return null
  return attempt.kind === 'mailed' ? attempt.code : attempt.status
}

function hintFor(attempt: Attempt, status: number | null): string {
  if (attempt.kind === 'mailed')
    return attempt.refused
      ? 'check that the address exists and takes mail'
      : 'the mail server would not take it now; a real delivery would be tried again later'
  if (status !== null && status >= 300 && status < 400)
    return 'redirects are not followed: register the address that this one points to'
  if (status !== null && status >= 500) return 'the receiver failed: look into its log'
  return 'the receiver must answer 2xx'
}
