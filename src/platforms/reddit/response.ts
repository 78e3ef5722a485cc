import { isObject } from '../../core/base/object.ts'
import { fail, type Fault, ok, type Outcome, type RefusalReason } from '../../core/base/result.ts'
import { boundedWait, retryAfter } from '../../core/base/wait.ts'
import { pauseOf } from '../../core/forum/native-refusals.ts'
import { type JsonBounds, measureJson } from '../../core/limits/json-bounds.ts'
import { numberAt, textAt } from '../values.ts'
import { readRateHeaders } from './budget.ts'
import { NATIVE_REFUSALS } from './native-refusals.ts'
import { listAt, type NativeRow, unreadable, wholeAt } from './readers/fields.ts'

/** Meaning of the first error in a form's envelope for a read; null if it has none. */
function formRefusal(envelope: NativeRow): Fault | null {
  const first: unknown = listAt(envelope, 'errors')[0]
  if (first === undefined) return null
  const [code, sentence]: unknown[] = Array.isArray(first) ? first : []
  if (code === 'RATELIMIT') {
    const pause_s = pauseOf(numberAt(envelope, 'ratelimit'), String(sentence))
    return { kind: 'throttled', retry_after_s: pause_s }
  }
  return (
    (typeof code === 'string' ? faultOf(code) : null) ?? { kind: 'unreadable', path: 'json.errors' }
  )
}

/** Null for codes about parameters that are never sent. */
function faultOf(code: string): Fault | null {
  const entry = Object.hasOwn(NATIVE_REFUSALS, code) ? NATIVE_REFUSALS[code] : undefined
  if (entry === undefined) return null
  if (entry === 'session_dead') return { kind: 'login_required' }
  if (entry.meaning === 'NOT_FOUND') return { kind: 'not_found', reason: 'absent' }
  return entry.meaning === 'PERMISSION_DENIED' ? { kind: 'forbidden', reason: null } : null
}

// Pages in place of JSON. They are detected in order to be reported, never bypassed.

export const isHtml = (content_type: string | null, body: string): boolean =>
  /\bhtml\b/i.test(content_type ?? '') || /^\s*</.test(body)

/** Only the beginning is scanned: it identifies a page, and the rest can be megabytes. */
const SCAN_MAX = 512 * 1024
const beginning = (body: string): string => body.slice(0, SCAN_MAX)

const HUMAN_CHECK =
  /prove your humanity|please wait for verification|name="?(?:js_challenge|jsc_orig_r)\b/i

export const isHumanCheck = (body: string): boolean => HUMAN_CHECK.test(beginning(body))

// Up to the next tag only, and bounded: otherwise an unclosed tag is scanned again from each
// opening.
const LOGIN_TITLE = /<title>[^<]{0,200}(?:welcome to reddit|log ?in)[^<]{0,200}<\/title>/i
const LOGIN_FORM = /<form\b[^<>]{0,500}\baction="?[^<">]{0,300}\/login\b/i
const PASSWORD_FIELD = /<input\b[^<>]{0,500}\btype="?password\b/i

export function isLoginPage(body: string): boolean {
  if (isHumanCheck(body)) return false
  const page = beginning(body)
  return LOGIN_TITLE.test(page) || (LOGIN_FORM.test(page) && PASSWORD_FIELD.test(page))
}

const LOGIN_HINT = /\blog ?in to (?:your|continue|view)\b|\buse your developer token\b/i

/** The fault of a page in place of JSON: a login page, or a block. */
const refusingPage = (body: string): Fault =>
  isLoginPage(body) ? { kind: 'login_required' } : blockedBy(body)

/** A page that refuses, with its hint that a login would help. */
const blockedBy = (body: string): Fault =>
  !isHumanCheck(body) && LOGIN_HINT.test(beginning(body))
    ? { kind: 'blocked', login_hint: true }
    : { kind: 'blocked' }

// A redirect carries meaning here, so none is followed automatically.

function redirectFault(location: string | null): Fault {
  const [first, second, third] = segmentsOf(location)
  if (first === undefined) return { kind: 'unreadable', path: 'location' }
  // A redirect within a section leads to that section's own login: a subforum, the subforum list,
  // an account.
  const segment = first === 'r' ? third : first
  const inner = first === 'account' || first === 'subreddits' ? second : undefined
  if (segment === 'login' || inner?.startsWith('login')) return { kind: 'login_required' }
  if (first === 'subreddits' && inner?.startsWith('search'))
    return { kind: 'not_found', reason: 'absent' }
  if (segment === 'quarantine') return { kind: 'forbidden', reason: 'quarantined' }
  if (segment === 'gated') return { kind: 'forbidden', reason: 'gated' }
  if (segment === 'over18' || segment === 'verify') return { kind: 'forbidden', reason: null }
  return { kind: 'unreadable', path: 'location' }
}

/**
 * Target of a redirect to the canonical path; null if it means something else or leaves the
 * platform. The host may gain or lose its `www.`, and the scheme may become https. A lost suffix
 * and our query are restored.
 */
export function redirectTarget(
  requested_url: string,
  status: number,
  location: string | null,
): string | null {
  if (![301, 302, 303, 307, 308].includes(status) || location === null) return null
  if (redirectFault(location).kind !== 'unreadable') return null
  const from = new URL(requested_url)
  const to = URL.parse(location, requested_url)
  if (!to || !isSameSite(from, to)) return null
  if (from.pathname.endsWith('.json') && !to.pathname.endsWith('.json'))
    to.pathname = `${to.pathname.replace(/(?:\.\w+|\/)$/, '')}.json`
  for (const [name, value] of from.searchParams)
    if (!to.searchParams.has(name)) to.searchParams.set(name, value)
  return to.href === from.href ? null : to.href
}

function isSameSite(from: URL, to: URL): boolean {
  if (bare(from) !== bare(to) || to.username !== '' || to.password !== '') return false
  if (from.protocol === to.protocol) return from.port === to.port
  return from.protocol === 'http:' && to.protocol === 'https:' && from.port === '' && to.port === ''
}

const bare = (url: URL): string => url.hostname.replace(/^www\./, '')

function segmentsOf(location: string | null): string[] {
  const url = location === null ? null : URL.parse(location, 'http://localhost')
  return (
    url?.pathname
      .split('/')
      .filter((it) => it !== '')
      .map((it) => it.replace(/\.json$/, '')) ?? []
  )
}

export type NativeResponse = {
  status: number
  headers: { get(name: string): string | null; getSetCookie(): string[] }
  body: string
}

/** The part of a request that the meaning of its answer depends on. */
export type RequestInfo = {
  /** Epoch ms, for a Retry-After that is a date. */
  now: number
  /** Set for a user's listings: `public` ones, or those that only their owner sees. */
  person?: 'public' | 'own'
  /** The answer is passed on as it is, so its depth must be safe for its readers. */
  native?: boolean
}

/**
 * Seconds of the first pause after a throttling without a time. The pacer lengthens repeated ones.
 */
export const BACKOFF_FIRST_S = 2
const DEEPEST = 512
/** Statuses that mean a fault in our own request. Every other refusal is the platform's. */
const OUR_MISTAKE: ReadonlySet<number> = new Set([400, 413, 414, 415])

/**
 * Classifies every answer of the platform: parsed JSON, or a fault. The refusals are checked in the
 * order of the native protocol's table. Never throws.
 */
export function classify(answer: NativeResponse, request: RequestInfo): Outcome<unknown> {
  const { status, headers, body } = answer
  // No wait is as without the header.
  const wait_s = retryAfter(headers, request.now) || null
  if (status === 429) return throttled(wait_s, headers)

  const json = parseJson(answer)
  if ((status === 403 || status === 503) && !json.ok && wait_s !== null && !isHumanCheck(body))
    return throttled(wait_s, headers)
  if (status >= 300 && status < 400) return fail(redirectFault(headers.get('location')))
  if (status >= 400) return fail(refused(status, json, wait_s, request, body))
  if (status < 200) return fail({ kind: 'unavailable', status, retry_after_s: wait_s })

  if (body.trim() === '') return status === 200 ? throttled(null, headers) : ok(null)
  if (!json.ok) return fail(unparsed(answer))
  if (request.native && json.depth > DEEPEST) return unreadable('body')
  return checkEnvelope(json.value, wait_s, request, headers)
}

/** Refusals with a success status: a message with an error's number, or a form's list of errors. */
function checkEnvelope(
  value: unknown,
  wait_s: number | null,
  request: RequestInfo,
  headers: Headers,
): Outcome<unknown> {
  if (!isObject(value)) return ok(value)
  const error = wholeAt(value, 'error')
  if (error !== null && error >= 400 && error < 600 && !('data' in value)) {
    if (error === 429) return throttled(wait_s, headers)
    return fail(refused(error, { ok: true, value }, wait_s, request, ''))
  }
  const refusal = isObject(value['json']) ? formRefusal(value['json']) : null
  return refusal ? fail(refusal) : ok(value)
}

type Json = { ok: true; value: unknown } | { ok: false }
type Parsed = (Json & { ok: true; depth: number }) | { ok: false }

/**
 * A thread has about five levels per reply; the largest page that is read has about 25 bytes per
 * value.
 */
const ANSWER_BOUNDS: JsonBounds = { depth: 1000, values: 400_000 }

/** Accepts an answer that declares JSON, is within the depth of a thread, and parses. */
function parseJson({ headers, body }: NativeResponse): Parsed {
  const type = headers.get('content-type')
  if (type !== null && !/\bjson\b/i.test(type)) return { ok: false }
  const measured = measureJson(body, ANSWER_BOUNDS)
  if (measured === null) return { ok: false }
  try {
    const value: unknown = JSON.parse(body)
    return { ok: true, value, depth: measured.depth }
  } catch {
    return { ok: false }
  }
}

function refused(
  status: number,
  json: Json,
  retry_after_s: number | null,
  request: RequestInfo,
  body: string,
): Fault {
  const row = json.ok && isObject(json.value) ? json.value : null
  if (status >= 500 || status === 408) return { kind: 'unavailable', status, retry_after_s }
  if (status === 401) return { kind: 'login_required' }
  if (status === 451) return { kind: 'not_found', reason: 'legal' }
  if (status === 403) return row ? forbidden(row, request) : refusingPage(body)
  if (status === 404 || status === 410) {
    // An empty body means that the path is unknown, not the subforum.
    const reason = row ? reasonOf(row) : null
    if (reason === 'banned') return { kind: 'not_found', reason }
    return { kind: 'not_found', reason: row || body.trim() !== '' ? 'absent' : null }
  }
  if (OUR_MISTAKE.has(status)) return { kind: 'rejected', status }
  return { kind: 'unreadable', path: 'status' }
}

const REASONS: Readonly<Record<string, RefusalReason>> = {
  private: 'private',
  gold_only: 'gold_only',
  quarantined: 'quarantined',
  gated: 'gated',
  banned: 'banned',
}

function reasonOf(row: NativeRow): RefusalReason | null {
  const reason = textAt(row, 'reason')
  return reason !== null && Object.hasOwn(REASONS, reason) ? (REASONS[reason] ?? null) : null
}

function forbidden(row: NativeRow, request: RequestInfo): Fault {
  const native = textAt(row, 'reason')
  if (native === 'USER_REQUIRED') return { kind: 'login_required' }
  const reason = reasonOf(row)
  if (reason === 'banned') return { kind: 'not_found', reason }
  // A listing of a user in good standing is refused with a reason, or to anonymous clients only.
  if (native === null && request.person === 'public')
    return { kind: 'forbidden', reason: 'user_suspended' }
  return { kind: 'forbidden', reason }
}

function unparsed({ status, headers, body }: NativeResponse): Fault {
  if (isHtml(headers.get('content-type'), body)) return refusingPage(body)
  const text = body.trim()
  const cut = /^[[{]/.test(text) && !/[\]}]$/.test(text)
  if (cut) return { kind: 'unavailable', status, retry_after_s: null }
  return { kind: 'unreadable', path: 'body' }
}

/**
 * A throttling for the time that the platform states, or until the reset of a used-up budget.
 * Otherwise the pacer backs off from seconds: one refusal is no evidence about the rest of the
 * window.
 */
function throttled(wait_s: number | null, headers: Headers): Outcome<never> {
  const known_s = wait_s ?? resetAfter(headers)
  return known_s === null
    ? fail({ kind: 'throttled', retry_after_s: BACKOFF_FIRST_S, estimated: true })
    : fail({ kind: 'throttled', retry_after_s: known_s })
}

type Headers = NativeResponse['headers']

/**
 * Seconds until the reset of a used-up window; null while requests remain, or if nothing is known.
 */
function resetAfter(headers: Headers): number | null {
  const rate = readRateHeaders(headers)
  return rate === null || rate.remaining >= 1 ? null : boundedWait(rate.reset_s) || null
}
