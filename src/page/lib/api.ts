import { now, request } from './runtime.ts'

/** The reason of a failed call, for people. `status` 0: no response. */
export type Failure = {
  status: number
  code: string
  message: string
  /** API name of the invalid field; null: none. */
  field: string | null
  errors: readonly { field: string; message: string }[]
  retry_after_s: number | null
  hint: string | null
}

export type ApiResult<T> = { ok: true; value: T } | { ok: false; failure: Failure }

type CallOptions = {
  method?: 'GET' | 'POST' | 'DELETE'
  body?: object
  headers?: { [name: string]: string }
  signal?: AbortSignal
  /** false: the response is not cached, because it is large or asked for once. */
  cached?: boolean
}

const CACHE_MAX = 200
/** The last response of each path as JSON, so that a page shows content at once when it is opened again. */
const cache = new Map<string, { json: string; fetched_at: number }>()
let endSession = () => {}

export function onSessionEnd(then: () => void): void {
  endSession = then
}

export const cachedResponse = (path: string) => cache.get(path)

/** Clears the cache, so that no data of one session appears in the next. */
export const clearCache = (): void => cache.clear()

/** Calls the API as the signed-in user. `path` is the public path, such as `/account/me`, or one of the dashboard's own. */
export const callApi = <T>(path: string, sent: CallOptions = {}): Promise<ApiResult<T>> =>
  call<T>(path.startsWith('/dashboard/') ? path : `/dashboard/api${path}`, sent, path)

export const requestSession = <T>(sent: CallOptions = {}): Promise<ApiResult<T>> =>
  call<T>('/dashboard/session', sent, null)

/** Longest wait for an automatic retry, in seconds. */
const PATIENCE_S = 20

/** Delay of an automatic retry in ms; null: do not retry. */
export function autoRetryDelay({ status, code, retry_after_s }: Failure): number | null {
  const wait_s =
    status === 429 ? retry_after_s : status === 0 || isOutage({ code }) ? UNREACHABLE_S : null
  return wait_s !== null && wait_s <= PATIENCE_S ? wait_s * 1000 : null
}

/** True if the platform is at fault: it cannot be reached, fails, or limits the rate of requests. */
export const isOutage = ({ code }: Pick<Failure, 'code'>): boolean => OUTAGES.includes(code)

const OUTAGES = [
  'upstream_unavailable',
  'upstream_timeout',
  'UPSTREAM_ERROR',
  'UPSTREAM_BLOCKED',
  'HTTP_429',
]

export const postJson = <T>(path: string, body: object): Promise<ApiResult<T>> =>
  callApi<T>(path, { method: 'POST', body })

async function call<T>(
  url: string,
  { method = 'GET', body, headers, signal, cached = true }: CallOptions,
  name: string | null,
): Promise<ApiResult<T>> {
  let response: Response
  let text: string
  try {
    response = await request(url, {
      method,
      ...(body && {
        body: JSON.stringify(body),
        headers: { ...headers, 'content-type': 'application/json' },
      }),
      ...(signal && { signal }),
    })
    text = await response.text()
  } catch {
    return failed({ status: 0, code: 'unreachable', message: UNREACHABLE })
  }
  if (!response.ok) {
    if (response.status === 401 && name !== null && isSignedOut(text)) endSession()
    return { ok: false, failure: toFailure(response, text) }
  }
  if (method === 'GET' && name !== null && cached) storeResponse(name, text)
  // A write may change any response, so all cached ones become stale.
  if (method !== 'GET') for (const it of cache.values()) it.fetched_at = -Infinity
  try {
    const value: T = text === '' ? undefined : JSON.parse(text)
    return { ok: true, value }
  } catch {
    return failed({ status: response.status, code: 'unreadable', message: UNREADABLE })
  }
}

const UNREACHABLE_S = 5
const UNREACHABLE =
  'The daemon does not answer. Check that it is running and that this device is online; the page retries automatically.'
const UNREADABLE = 'The response did not come from this daemon. Reload the page.'

function storeResponse(name: string, json: string) {
  cache.delete(name)
  cache.set(name, { json, fetched_at: now() })
  const [oldest] = cache.keys()
  if (cache.size > CACHE_MAX && oldest !== undefined) cache.delete(oldest)
}

// A 401 for the caller's platform session does not end the dashboard session.
const isSignedOut = (text: string): boolean => !text.includes('REAUTH_REQUIRED')

const failed = (failure: Pick<Failure, 'status' | 'code' | 'message'>): ApiResult<never> => ({
  ok: false,
  failure: { field: null, errors: [], retry_after_s: null, hint: null, ...failure },
})

function toFailure({ status }: Response, text: string): Failure {
  const body = readObject(text)
  const code = textOf(body['code']) ?? `http_${status}`
  const field = textOf(body['field'])
  const message =
    inWords(code) ??
    textOf(body['message']) ??
    textOf(body['error']) ??
    `The daemon answered ${status}.`
  return {
    status,
    code,
    message,
    field,
    errors: fieldErrors(body['errors']) ?? (field === null ? [] : [{ field, message }]),
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

/** The `errors` of a body; null: it has none. */
function fieldErrors(value: unknown): Failure['errors'] | null {
  if (!Array.isArray(value)) return null
  return value.flatMap((it: unknown) => {
    const { field, message }: { field?: unknown; message?: unknown } = Object(it)
    return typeof field === 'string' && typeof message === 'string' ? { field, message } : []
  })
}

const textOf = (value: unknown): string | null => (typeof value === 'string' ? value : null)

/** Messages for people, for codes whose API message addresses programs. */
const SENTENCES: { [code: string]: string } = {
  rate_limited: 'Rate limit exceeded. Wait a moment; the page shows the last known values.',
  insufficient_credits: 'Not enough credit for this call. Ask the operator for a top-up.',
  internal_error: 'Internal error of the daemon; see its log. Try again.',
  storage_unavailable:
    'The daemon cannot write to its disk. Nothing was changed; try again shortly.',
  FEATURE_DISABLED: 'Disabled by the operator in the configuration ([features]).',
}

const inWords = (code: string): string | null => SENTENCES[code] ?? null
