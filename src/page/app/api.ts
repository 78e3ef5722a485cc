import { now, request } from './outside.ts'

/** Why a call did not succeed, for a person. `status` 0: nobody answered. */
export type Failure = {
  status: number
  code: string
  message: string
  /** The field that is wrong, as the API names it. */
  field: string | null
  retry_after_s: number | null
  hint: string | null
}

/** What came of a call: its body, or what went wrong. */
export type Answer<T> = { ok: true; value: T } | { ok: false; failure: Failure }

type Sent = { method?: 'GET' | 'POST' | 'DELETE'; body?: object; signal?: AbortSignal }

const REMEMBERED_MAX = 200
/** The last answer to each question, as JSON: what was on a page is there again when one comes back to it. */
const remembered = new Map<string, { json: string; asked_at: number }>()
let ended = () => {}

/** What happens when the daemon says that nobody is signed in any more. */
export function onSessionEnd(then: () => void): void {
  ended = then
}

/** What a question was answered last time, if it was, and when. */
export const lastAnswer = (path: string) => remembered.get(path)

/** Nothing of one session is shown in the next. */
export const forgetAnswers = (): void => remembered.clear()

/** Asks the API of the daemon as whoever is signed in. `path` is the API's own, such as `/account/me`. */
export const ask = <T>(path: string, sent: Sent = {}): Promise<Answer<T>> =>
  call<T>(`/dashboard/api${path}`, sent, path)

/** Asks about the session itself: who is signed in, sign in, sign out. */
export const session = <T>(sent: Sent = {}): Promise<Answer<T>> =>
  call<T>('/dashboard/session', sent, null)

/** A limit that was met is waited for by itself, when that is not long. */
const PATIENCE_S = 20

/** How long to wait before asking again by itself, in ms; null when that is no use. */
export function patience({ status, retry_after_s }: Failure): number | null {
  const wait_s = status === 429 ? retry_after_s : status === 0 ? UNREACHABLE_S : null
  return wait_s !== null && wait_s <= PATIENCE_S ? wait_s * 1000 : null
}

/** Sends something to do. */
export const send = <T>(path: string, body: object): Promise<Answer<T>> =>
  ask<T>(path, { method: 'POST', body })

async function call<T>(
  url: string,
  { method = 'GET', body, signal }: Sent,
  name: string | null,
): Promise<Answer<T>> {
  let response: Response
  let text: string
  try {
    response = await request(url, {
      method,
      ...(body && { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
      ...(signal && { signal }),
    })
    text = await response.text()
  } catch {
    return failed({ status: 0, code: 'unreachable', message: UNREACHABLE })
  }
  if (!response.ok) {
    if (response.status === 401 && name !== null && isSignedOut(text)) ended()
    return { ok: false, failure: toFailure(response, text) }
  }
  if (method === 'GET' && name !== null) keep(name, text)
  // What was done may have changed anything: it is asked for anew wherever it is looked at next.
  if (method !== 'GET') for (const it of remembered.values()) it.asked_at = -Infinity
  try {
    const value: T = text === '' ? undefined : JSON.parse(text)
    return { ok: true, value }
  } catch {
    return failed({ status: response.status, code: 'unreadable', message: UNREADABLE })
  }
}

const UNREACHABLE_S = 5
const UNREACHABLE =
  'The daemon does not answer. Look whether it is running and whether this device still has a network; this page tries again by itself.'
const UNREADABLE = 'What came back is no answer of this daemon. Load the page again.'

function keep(name: string, json: string) {
  remembered.delete(name)
  remembered.set(name, { json, asked_at: now() })
  const [oldest] = remembered.keys()
  if (remembered.size > REMEMBERED_MAX && oldest !== undefined) remembered.delete(oldest)
}

// The platform may refuse a caller's own session with a 401 too, and that ends nothing here.
const isSignedOut = (text: string): boolean => !text.includes('REAUTH_REQUIRED')

const failed = (failure: Pick<Failure, 'status' | 'code' | 'message'>): Answer<never> => ({
  ok: false,
  failure: { field: null, retry_after_s: null, hint: null, ...failure },
})

function toFailure({ status }: Response, text: string): Failure {
  const body = readObject(text)
  const code = textOf(body['code']) ?? `http_${status}`
  return {
    status,
    code,
    message:
      inWords(code) ??
      textOf(body['message']) ??
      textOf(body['error']) ??
      `The daemon answered ${status}.`,
    field: textOf(body['field']),
    retry_after_s: typeof body['retry_after'] === 'number' ? body['retry_after'] : null,
    hint: textOf(body['hint']),
  }
}

function readObject(text: string): { [field: string]: unknown } {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? { ...value } : {}
  } catch {
    return {}
  }
}

const textOf = (value: unknown): string | null => (typeof value === 'string' ? value : null)

/** Codes whose own sentence is written for programs, said for people. */
const SENTENCES: { [code: string]: string } = {
  rate_limited:
    'You ask faster than your limit allows. Wait a moment; what you see is the last that was known.',
  insufficient_credits:
    'The credit of this account does not cover that. Ask the operator for a top-up.',
  internal_error: 'Something went wrong inside the daemon. Its log says what; try again.',
  storage_unavailable:
    'The daemon cannot write to its disk just now. Nothing was done; try again shortly.',
  FEATURE_DISABLED: 'The operator has switched this off in the configuration ([features]).',
}

const inWords = (code: string): string | null => SENTENCES[code] ?? null
