// A client of forumd in one file; its types in `schema.d.ts` are generated from the service's OpenAPI document.
// Copy both into a project. The only run-time dependency is `fetch`.
//
//   const forumd = createClient({ base_url: 'http://127.0.0.1:8080', key: process.env.FORUMD_KEY ?? '' })
//   const { posts } = await forumd.get('/api/forum/posts', { query: { subforum: 'coffee', limit: 5 } })
// Paths, parameters and fields that are not in the document are type errors.

import type { components, paths } from './schema.d.ts'

type Method = 'get' | 'post'

/** The JSON body of an operation's 200 response; never for operations that return events or a feed. */
type Answer<O> = O extends { responses: { 200: { content: { 'application/json': infer A } } } }
  ? A
  : never

/** The paths with a JSON operation for a method. */
type PathsOf<M extends Method> = {
  [P in keyof paths]: [Answer<paths[P][M]>] extends [never] ? never : P
}[keyof paths]

/** `{ name: T }`: optional if nothing in `T` is required, absent if `T` is. */
type Part<N extends string, T> = [T] extends [never]
  ? unknown
  : object extends T
    ? { [K in N]?: T }
    : { [K in N]: T }

type Parameters<O, In extends 'query' | 'path' | 'header'> = O extends { parameters: infer P }
  ? In extends keyof P
    ? NonNullable<P[In]>
    : never
  : never

/** Optional fields may also be undefined. */
type Loose<T> = [T] extends [never]
  ? never
  : { [K in keyof T]: object extends Pick<T, K> ? T[K] | undefined : T[K] }

type Body<O> = O extends { requestBody: { content: { 'application/json': infer B } } } ? B : never

/** The input of a call: `path`, `query` and `body` as in the document, `headers`, and a signal to cancel it. */
type Input<O> = Part<'path', Parameters<O, 'path'>> &
  Part<'query', Loose<Parameters<O, 'query'>>> &
  Part<'headers', Loose<Parameters<O, 'header'>>> &
  Part<'body', Body<O>> & { signal?: AbortSignal }

/** The input is optional if none of its fields is required. */
type Given<O> = object extends Input<O> ? [input?: Input<O>] : [input: Input<O>]

type ErrorBody = components['schemas']['Error']

/** All codes of error responses, for an exhaustive `switch`. */
export type ErrorCode = ErrorBody['code']

/** An error response of the service. Without a response `fetch` throws a `TypeError` or `AbortError`. */
export class ForumdError extends Error {
  override readonly name = 'ForumdError'
  /** The HTTP status. */
  readonly status: number
  /** The error code; null if an intermediary answered instead of the service. */
  readonly code: ErrorCode | null
  /** The invalid field; null: none. */
  readonly field: string | null
  /** Seconds to wait before a retry; null: not stated. */
  readonly retry_after_s: number | null
  /** Id of the call in the operator's log. */
  readonly request_id: string | null
  /** The full body; null if it is not an error of the service. */
  readonly body: ErrorBody | null

  constructor(status: number, headers: Headers, body: ErrorBody | null) {
    super(
      body === null
        ? `HTTP ${status}, but not from the service itself`
        : (body.message ?? body.error),
    )
    this.status = status
    this.code = body?.code ?? null
    this.field = body?.field ?? null
    this.retry_after_s = body?.retry_after ?? wholeNumber(headers.get('retry-after'))
    this.request_id = headers.get('x-request-id')
    this.body = body
  }
}

type Settings = {
  /** Base URL of the service, such as `http://127.0.0.1:8080`. */
  base_url: string
  /** An API key. */
  key: string
  /** Maximum attempts of a call. Default: 3. */
  attempts?: number
  /** Longest wait between two attempts, in seconds; a longer `Retry-After` ends the call. Default: 60. */
  wait_max_s?: number
  /** Replaces `fetch`. */
  fetch?: (url: string, init: RequestInit) => Promise<Response>
  /** Replaces the delay function, which takes ms. */
  sleep?: (ms: number, signal?: AbortSignal) => Promise<void>
}

type Call = {
  path?: object
  query?: object
  headers?: object
  body?: unknown
  signal?: AbortSignal
}

/**
 * A client of one service with one key. `get` and `post` return the body of a 200 and throw a ForumdError otherwise.
 * Temporary errors (408, 429, 500, 502, 503, 504, unless marked `terminal`) are retried after `Retry-After`: a GET always,
 * a POST only with an `Idempotency-Key`, which makes the repeat a no-op, or after a 429, which changed nothing.
 */
export function createClient({
  base_url,
  key,
  attempts = 3,
  wait_max_s = 60,
  fetch: ask = fetch,
  sleep = pause,
}: Settings) {
  const base = base_url.replace(/\/+$/, '')

  async function call(method: 'GET' | 'POST', template: string, input: Call = {}) {
    const headers = new Headers({ authorization: `Bearer ${key}`, accept: 'application/json' })
    for (const [name, value] of told(input.headers)) headers.set(name, value)
    if (input.body !== undefined) headers.set('content-type', 'application/json')
    const repeatable = method === 'GET' || headers.has('idempotency-key')
    const url = base + addressOf(template, input)
    const init = {
      method,
      headers,
      ...(input.body === undefined ? {} : { body: JSON.stringify(input.body) }),
      ...(input.signal === undefined ? {} : { signal: input.signal }),
    }

    for (let attempt = 1; ; attempt += 1) {
      const response = await ask(url, init)
      const body: unknown = await response.json().catch(() => null)
      if (response.status === 200 && body !== null) return body
      const error = new ForumdError(response.status, response.headers, isError(body) ? body : null)
      const wait_s = error.retry_after_s ?? 2 ** (attempt - 1)
      const worth = passes(error) && (repeatable || error.status === 429)
      if (!worth || attempt >= attempts || wait_s > wait_max_s) throw error
      await sleep(wait_s * 1000, input.signal)
    }
  }

  // The types follow the OpenAPI document, and the tests of the service verify its responses against that.
  return {
    /** Reads: `get('/api/forum/user/{name}', { path: { name: 'ada' } })`. */
    get: <P extends PathsOf<'get'>>(path: P, ...[input]: Given<paths[P]['get']>) =>
      call('GET', path, input) as Promise<Answer<paths[P]['get']>>,
    /** Writes: `post('/forum/monitor/remove', { body: { id } })`. */
    post: <P extends PathsOf<'post'>>(path: P, ...[input]: Given<paths[P]['post']>) =>
      call('POST', path, input) as Promise<Answer<paths[P]['post']>>,
  }
}

/** A new idempotency key: send it as the header `Idempotency-Key` with each repeat of one action. */
export const idempotencyKey = (): string => crypto.randomUUID()

const PASSING = [408, 429, 500, 502, 503, 504]
const VERDICTS: readonly (ErrorCode | null)[] = [
  'AUTH_FAILED',
  'TWO_FACTOR_REQUIRED',
  'TWO_FACTOR_INVALID',
]

const passes = ({ status, code, body }: ForumdError): boolean =>
  PASSING.includes(status) && body?.terminal !== true && !VERDICTS.includes(code)

/** Builds the URL path: fills the parameters of `/api/forum/user/{name}` and appends the query. */
function addressOf(template: string, { path = {}, query }: Call): string {
  const values = new Map(told(path))
  const filled = template.replace(/\{(\w+)\}/g, (_, name: string) => {
    const value = values.get(name)
    if (value === undefined || value === '')
      throw new TypeError(`${name} is required in ${template}`)
    return encodeURIComponent(value)
  })
  const search = new URLSearchParams(told(query)).toString()
  return search === '' ? filled : `${filled}?${search}`
}

/** The fields with a value, as strings. */
const told = (fields: object = {}): [string, string][] =>
  Object.entries(fields).flatMap(([name, value]) =>
    value === undefined || value === null ? [] : [[name, String(value)] satisfies [string, string]],
  )

const isError = (body: unknown): body is ErrorBody =>
  typeof body === 'object' &&
  body !== null &&
  'code' in body &&
  typeof body.code === 'string' &&
  'error' in body &&
  typeof body.error === 'string'

const wholeNumber = (text: string | null): number | null =>
  text !== null && /^\d{1,9}$/.test(text) ? Number(text) : null

function pause(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = () => {
      clearTimeout(timer)
      reject(signal?.reason)
    }
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', stop)
      resolve()
    }, ms)
    if (signal?.aborted) stop()
    else signal?.addEventListener('abort', stop, { once: true })
  })
}
