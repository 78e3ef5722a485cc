// A client of forumd in one file beside its types: `schema.d.ts` is generated from the service's own OpenAPI document.
// Copy both into a project; nothing is needed at run time but `fetch`.
//
//   const forumd = createClient({ base_url: 'http://127.0.0.1:8080', key: process.env.FORUMD_KEY ?? '' })
//   const { posts } = await forumd.get('/api/forum/posts', { query: { subforum: 'coffee', limit: 5 } })
//
// A path, a parameter or a field that is not in the document is an error of the type checker.

import type { components, paths } from './schema.d.ts'

type Method = 'get' | 'post'

/** What an operation answers with when all is well, as JSON; never for one that answers with events or a feed. */
type Answer<O> = O extends { responses: { 200: { content: { 'application/json': infer A } } } }
  ? A
  : never

/** The paths that have such an operation under a method. */
type PathsOf<M extends Method> = {
  [P in keyof paths]: [Answer<paths[P][M]>] extends [never] ? never : P
}[keyof paths]

/** `{ name: T }`, optional as a whole where nothing in `T` is required, and absent where `T` is. */
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

/** A field that may be left out may be given as undefined too. */
type Loose<T> = [T] extends [never]
  ? never
  : { [K in keyof T]: object extends Pick<T, K> ? T[K] | undefined : T[K] }

type Body<O> = O extends { requestBody: { content: { 'application/json': infer B } } } ? B : never

/** What a call takes: `path`, `query` and `body` as the document has them, `headers`, and a signal to give it up. */
type Input<O> = Part<'path', Parameters<O, 'path'>> &
  Part<'query', Loose<Parameters<O, 'query'>>> &
  Part<'headers', Loose<Parameters<O, 'header'>>> &
  Part<'body', Body<O>> & { signal?: AbortSignal }

/** An input may be left out where nothing in it is required. */
type Given<O> = object extends Input<O> ? [input?: Input<O>] : [input: Input<O>]

type ErrorBody = components['schemas']['Error']

/** Every code an answer may have that is not 200; `switch` over it. */
export type ErrorCode = ErrorBody['code']

/** An answer of the service that is not 200. What never became one is the `TypeError` or `AbortError` of `fetch`. */
export class ForumdError extends Error {
  override readonly name = 'ForumdError'
  /** The HTTP status. */
  readonly status: number
  /** What is the matter, for programs; null when something in between answered in the service's place. */
  readonly code: ErrorCode | null
  /** The field that is wrong, where one is. */
  readonly field: string | null
  /** Seconds after which the call is worth repeating; null where nothing was said of it. */
  readonly retry_after_s: number | null
  /** Names the call in the operator's log. */
  readonly request_id: string | null
  /** All of the answer's body; null when it was no error of the service. */
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
  /** Where the service is, such as `http://127.0.0.1:8080`. */
  base_url: string
  /** An API key. */
  key: string
  /** How often a call is made at most; 3 unless told. */
  attempts?: number
  /** The longest wait, in seconds, between two attempts; a service that asks for more is not asked again. 60 unless told. */
  wait_max_s?: number
  /** Stands in for `fetch`. */
  fetch?: (url: string, init: RequestInit) => Promise<Response>
  /** Stands in for waiting, in milliseconds. */
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
 * A client of one service with one key. `get` and `post` answer with the body of a 200 and throw a ForumdError
 * otherwise. What may pass by itself (408, 429, 500, 502, 503, 504, unless the service says `terminal`) is tried again
 * after `Retry-After`: a GET always; a POST only with an `Idempotency-Key`, which makes the second one change nothing,
 * or when the first was refused for its pace (429) and so did nothing.
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

  // What the types promise of an answer is what the document says; the service is held to it by its own tests.
  return {
    /** Reads: `get('/api/forum/user/{name}', { path: { name: 'ada' } })`. */
    get: <P extends PathsOf<'get'>>(path: P, ...[input]: Given<paths[P]['get']>) =>
      call('GET', path, input) as Promise<Answer<paths[P]['get']>>,
    /** Does: `post('/forum/monitor/remove', { body: { id } })`. */
    post: <P extends PathsOf<'post'>>(path: P, ...[input]: Given<paths[P]['post']>) =>
      call('POST', path, input) as Promise<Answer<paths[P]['post']>>,
  }
}

/** A name for one deed: send the same one with each repeat of it, as the header `Idempotency-Key`. */
export const idempotencyKey = (): string => crypto.randomUUID()

const PASSING = [408, 429, 500, 502, 503, 504]
const VERDICTS: readonly (ErrorCode | null)[] = [
  'AUTH_FAILED',
  'TWO_FACTOR_REQUIRED',
  'TWO_FACTOR_INVALID',
]

const passes = ({ status, code, body }: ForumdError): boolean =>
  PASSING.includes(status) && body?.terminal !== true && !VERDICTS.includes(code)

/** `/api/forum/user/{name}` with its names filled in and its query behind it. */
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

/** The fields that have a value, as text. */
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
