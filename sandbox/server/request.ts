import { type FormCode } from '../faults/form-errors.ts'
import { type LoginVerdict } from '../faults/rules.ts'
import type { Thing, World } from '../world/model.ts'
import type { SeededRandom } from '../world/random.ts'
import type { ListingCache } from '../world/timeline.ts'
import type { Viewer } from './viewer.ts'

/** Parsed request before its sender is identified. */
export type ParsedRequest = {
  request: Request
  host: PlatformHost
  method: string
  path: string
  /** Begins with `?`; empty if absent. */
  search: string
  /** Fields of query and form combined. */
  query: URLSearchParams
  /** Names of the form fields. */
  form: string[]
  body: string
  files: Map<string, UploadedFile>
  segments: string[]
  /** True for a path that ends in `.json`. */
  as_json: boolean
  cookies: Map<string, string>
  origin: string
  address: string
}

/** Parses everything but the body, which arrives later. */
export function parseRequest(
  request: Request,
  { host, address }: { host: PlatformHost; address: string },
): ParsedRequest {
  const url = new URL(request.url)
  const as_json = url.pathname.endsWith('.json')
  const bare = as_json ? url.pathname.slice(0, -'.json'.length) : url.pathname
  return {
    request,
    host,
    method: request.method,
    path: url.pathname,
    search: url.search,
    query: url.searchParams,
    form: [],
    body: '',
    files: new Map(),
    segments: bare.split('/').flatMap((part) => (part === '' ? [] : [decode(part)])),
    as_json,
    cookies: cookiesOf(request.headers.get('cookie')),
    origin: url.origin,
    address,
  }
}

/** Adds a body. Form fields follow those of the query. */
export function withBody(parsed: ParsedRequest, body: string): ParsedRequest {
  const type = parsed.request.headers.get('content-type') ?? ''
  if (!type.startsWith('application/x-www-form-urlencoded')) return { ...parsed, body }
  const query = new URLSearchParams(parsed.query)
  const fields = new URLSearchParams(body)
  for (const [name, value] of fields) query.append(name, value)
  return { ...parsed, body, query, form: [...new Set(fields.keys())] }
}

/** True for a multipart form. */
export const hasFiles = (request: Request): boolean =>
  /^multipart\/form-data\b/i.test(request.headers.get('content-type') ?? '')

/** Adds a multipart form. A malformed body adds nothing. */
export async function withFiles(parsed: ParsedRequest): Promise<ParsedRequest> {
  const form = await parsed.request.formData().catch(() => new FormData())
  const query = new URLSearchParams(parsed.query)
  const files = new Map<string, UploadedFile>()
  const names = [...new Set(form.keys())]
  for (const name of names)
    for (const value of form.getAll(name))
      if (typeof value === 'string') query.append(name, value)
      else files.set(name, { name: value.name, type: value.type, bytes: await value.bytes() })
  return { ...parsed, query, files, form: names }
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}

function cookiesOf(header: string | null): Map<string, string> {
  const cookies = new Map<string, string>()
  for (const pair of header?.split(';') ?? []) {
    const [name = '', ...value] = pair.trim().split('=')
    if (name !== '') cookies.set(name, value.join('='))
  }
  return cookies
}

/** Changes that a fault makes to one response. */
export type ResponsePatch = {
  /** Items after these positions do not exist yet: a page from an old cache. */
  stale: { serials: { post: number; comment: number }; until_s: number } | null
  /** Number of newest rows to remove. */
  drop_newest: number
  /** Number of rows of a page to repeat. */
  repeat_last: number
  /** Every listing is a right-shaped page without its rows: empty, or with a notice alone. */
  instead: 'placeholder' | 'emptied' | null
  /** Refusal of every subforum on this path. */
  refuse: 'private' | 'quarantined' | null
  /** Result and status of a login, for any credentials. */
  verdict: LoginVerdict | null
  status: number | null
  /** Refusal of every form call. */
  refuse_form: { code: FormCode } | { wait_s: number; sentence_only: boolean } | null
  /** A new comment is removed before any other user sees it. */
  remove_comment: boolean
  /** Refusal of the chat. */
  chat: 'forbidden' | 'existing_room' | 'rate' | null
}

/** No changes. */
export const NO_PATCH: ResponsePatch = {
  stale: null,
  drop_newest: 0,
  repeat_last: 0,
  instead: null,
  refuse: null,
  verdict: null,
  status: null,
  refuse_form: null,
  remove_comment: false,
  chat: null,
}

/** Hosts of the platform: pages and calls with cookies, calls with a bearer, chat. */
export type PlatformHost = 'www' | 'bearer' | 'chat'

/** File of a form. */
export type UploadedFile = { name: string; type: string; bytes: Uint8Array }

/** Parsed request with its sender. */
export type SandboxRequest = {
  world: World
  cache: ListingCache
  /** Random values without meaning that differ in every response. */
  noise: SeededRandom
  host: PlatformHost
  /** Host of the request: `https://host:port`, without a final slash. */
  origin: string
  method: string
  /** Without `.json` and without a final slash. */
  path: readonly string[]
  /** Fields of query and form combined, as the platform reads them. */
  query: URLSearchParams
  /** Body text as received. */
  body: string
  /** Files of the form, by field. */
  files: ReadonlyMap<string, UploadedFile>
  headers: Headers
  cookies: ReadonlyMap<string, string>
  /** Domain of its cookies; null: the host itself. */
  cookie_domain: string | null
  viewer: Viewer
  patch: ResponsePatch
  /** Effect of a private subforum among several (the platform has shown both). */
  private_in_multi: 'refuse' | 'drop'
}

/** False for an item that did not exist at the time of a stale response. */
export function existed({ stale }: ResponsePatch, thing: Thing): boolean {
  if (stale === null) return true
  const limit = thing.kind === 't3' ? stale.serials.post : stale.serials.comment
  return thing.serial < limit && thing.created_s <= stale.until_s
}
