import { isSurelyWithin, type JsonBounds, measureJson } from '../core/json-bounds.ts'
import { isObject } from '../core/object.ts'
import { fail, type Fault, ok, type Outcome, type RefusalReason } from '../core/outcome.ts'
import { formRefusal } from './form-errors.ts'
import { isHtml, isHumanCheck, isLoginPage } from './pages.ts'
import { type Row, textAt, unreadable, wholeAt } from './read.ts'
import { redirectFault } from './redirect.ts'

/** What came back, whole. */
export type Answer = {
  status: number
  headers: { get(name: string): string | null; getSetCookie(): string[] }
  body: string
}

/** What was asked, as far as the meaning of an answer depends on it. */
export type Asked = {
  /** Epoch ms, for a Retry-After that is a date. */
  now: number
  /** Set for the listings of a person: `public` ones, or those that only their owner sees. */
  person?: 'public' | 'own'
  /** The answer is passed on as it is, so its depth has to be bearable for those who read it. */
  native?: boolean
}

/** How long to leave the platform alone when it throttles without saying until when. */
export const THROTTLE_S = 30
const THROTTLE_S_MAX = 86_400
const DEEPEST = 512
/** What says that our own request was wrong. No other refusal is ours to answer for. */
const OUR_MISTAKE: ReadonlySet<number> = new Set([400, 413, 414, 415])

/**
 * The one classifier of what the platform answers: parsed JSON, or what went wrong in our own terms.
 * The rows of the native protocol's table of refusals are taken in its order. Never throws.
 */
export function classify(answer: Answer, asked: Asked): Outcome<unknown> {
  const { status, headers, body } = answer
  const wait_s = retryAfter(headers, asked.now)
  if (status === 429) return throttled(wait_s ?? resetAfter(headers))

  const json = parseJson(answer, asked)
  if ((status === 403 || status === 503) && !json.ok && wait_s !== null && !isHumanCheck(body))
    return throttled(wait_s)
  if (status >= 300 && status < 400) return fail(redirectFault(headers.get('location')))
  if (status >= 400) return fail(refused(status, json, wait_s, asked, body))
  if (status < 200) return fail({ kind: 'unavailable', status, retry_after_s: wait_s })

  if (body.trim() === '') return status === 200 ? throttled(resetAfter(headers)) : ok(null)
  if (!json.ok) return fail(unparsed(answer))
  if (asked.native && json.depth > DEEPEST) return unreadable('body')
  return dressed(json.value, wait_s, asked, headers)
}

/** Refusals that arrive as a success: a message with an error's number, or a form's list of errors. */
function dressed(
  value: unknown,
  wait_s: number | null,
  asked: Asked,
  headers: Headers,
): Outcome<unknown> {
  if (!isObject(value)) return ok(value)
  const error = wholeAt(value, 'error')
  if (error !== null && error >= 400 && error < 600 && !('data' in value)) {
    if (error === 429) return throttled(wait_s ?? resetAfter(headers))
    return fail(refused(error, { ok: true, value }, wait_s, asked, ''))
  }
  const refusal = isObject(value['json']) ? formRefusal(value['json']) : null
  return refusal ? fail(refusal) : ok(value)
}

type Json = { ok: true; value: unknown } | { ok: false }
type Parsed = (Json & { ok: true; depth: number }) | { ok: false }

/** A thread has some five levels for each answer to an answer; the largest page that is read, some twenty-five bytes a value. */
const ANSWER_BOUNDS: JsonBounds = { depth: 1000, values: 400_000 }

/** JSON is what says so, is no deeper than a thread can be, and parses. */
function parseJson({ headers, body }: Answer, asked: Asked): Parsed {
  const type = headers.get('content-type')
  if (type !== null && !/\bjson\b/i.test(type)) return { ok: false }
  const depth = depthOf(body, asked)
  if (depth === null) return { ok: false }
  try {
    const value: unknown = JSON.parse(body)
    return { ok: true, value, depth }
  } catch {
    return { ok: false }
  }
}

/** How deep a text goes that is passed on as it is; 0 of any other, where that is the quicker answer. Null beyond its bounds. */
function depthOf(body: string, { native = false }: Asked): number | null {
  if (!native && isSurelyWithin(body, ANSWER_BOUNDS)) return 0
  return measureJson(body, ANSWER_BOUNDS)?.depth ?? null
}

function refused(
  status: number,
  json: Json,
  retry_after_s: number | null,
  asked: Asked,
  body: string,
): Fault {
  const row = json.ok && isObject(json.value) ? json.value : null
  if (status >= 500 || status === 408) return { kind: 'unavailable', status, retry_after_s }
  if (status === 401) return { kind: 'login_required' }
  if (status === 451) return { kind: 'not_found', reason: 'legal' }
  if (status === 403) return row ? forbidden(row, asked) : { kind: 'blocked' }
  if (status === 404 || status === 410) {
    // Nothing at all means that the path is unknown, not the place.
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

function reasonOf(row: Row): RefusalReason | null {
  const reason = textAt(row, 'reason')
  return reason !== null && Object.hasOwn(REASONS, reason) ? (REASONS[reason] ?? null) : null
}

function forbidden(row: Row, asked: Asked): Fault {
  const native = textAt(row, 'reason')
  if (native === 'USER_REQUIRED') return { kind: 'login_required' }
  const reason = reasonOf(row)
  if (reason === 'banned') return { kind: 'not_found', reason }
  // A listing of somebody in good standing is refused with a reason, or to strangers.
  if (native === null && asked.person === 'public')
    return { kind: 'forbidden', reason: 'user_suspended' }
  return { kind: 'forbidden', reason }
}

/** A success that is not JSON. */
function unparsed({ status, headers, body }: Answer): Fault {
  if (isHtml(headers.get('content-type'), body))
    return isLoginPage(body) ? { kind: 'login_required' } : { kind: 'blocked' }
  const text = body.trim()
  const cut = /^[[{]/.test(text) && !/[\]}]$/.test(text)
  if (cut) return { kind: 'unavailable', status, retry_after_s: null }
  return { kind: 'unreadable', path: 'body' }
}

const throttled = (wait_s: number | null): Outcome<never> =>
  fail({ kind: 'throttled', retry_after_s: wait_s ?? THROTTLE_S })

type Headers = Answer['headers']

/** Seconds of a Retry-After, given as seconds or as a date, which is by the clock of whoever sent it; null when it says nothing. */
function retryAfter(headers: Headers, now: number): number | null {
  const text = headers.get('retry-after')?.trim() ?? ''
  if (/^\d+(?:\.\d+)?$/.test(text)) return worthWaiting(Number(text))
  const at = text === '' ? Number.NaN : Date.parse(text)
  const sent = Date.parse(headers.get('date') ?? '')
  return Number.isNaN(at) ? null : worthWaiting((at - (Number.isNaN(sent) ? now : sent)) / 1000)
}

const resetAfter = (headers: Headers): number | null =>
  worthWaiting(Number(headers.get('x-ratelimit-reset')))

const worthWaiting = (seconds: number): number | null =>
  seconds > 0 ? Math.min(Math.ceil(seconds), THROTTLE_S_MAX) : null
