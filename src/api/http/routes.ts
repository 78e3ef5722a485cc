import type { Naming } from '../../core/forum/naming.ts'
import type { Scope } from '../../store/customers/keys.ts'

/** Route of the table: its pattern, and a value for each method. */
export type RouteEntry<T> = { path: string; methods: Map<string, T> }

export type RouteTable<T> = {
  add(method: string, path: string, value: T): void
  /** Entry of a request's path for any method; null if no route matches. */
  find(path: string): RouteEntry<T> | null
}

type Branch<T> = {
  fixed: Map<string, Branch<T>>
  any: Branch<T> | null
  rest: RouteEntry<T> | null
  entry: RouteEntry<T> | null
}

const branch = <T>(): Branch<T> => ({ fixed: new Map(), any: null, rest: null, entry: null })
const segments = (path: string) => path.replace(/\/$/, '').split('/').slice(1)

/**
 * Creates a table of paths with `:name` and a trailing `*`, matched by segments. It exists beside
 * Elysia's own router because policy and methods of a path must be known before anything of the
 * request is read.
 */
export function createRouteTable<T>(): RouteTable<T> {
  const root = branch<T>()

  function add(method: string, path: string, value: T) {
    let here = root
    for (const segment of segments(path)) {
      if (segment === '*') {
        here.rest ??= { path, methods: new Map() }
        here.rest.methods.set(method, value)
        return
      }
      if (segment.startsWith(':')) here = here.any ??= branch()
      else {
        const next = here.fixed.get(segment) ?? branch<T>()
        here.fixed.set(segment, next)
        here = next
      }
    }
    here.entry ??= { path, methods: new Map() }
    here.entry.methods.set(method, value)
  }

  function seek(here: Branch<T>, path: string[], at: number): RouteEntry<T> | null {
    const segment = path[at]
    if (segment === undefined) return here.entry
    const fixed = here.fixed.get(segment)
    const found = fixed ? seek(fixed, path, at + 1) : null
    if (found) return found
    if (here.any && segment !== '') {
      const any = seek(here.any, path, at + 1)
      if (any) return any
    }
    return here.rest
  }

  return { add, find: (path) => seek(root, segments(path), 0) }
}

export function queryOf(url: string): URLSearchParams {
  const start = url.indexOf('?')
  if (start === -1) return new URLSearchParams()
  const end = url.indexOf('#', start)
  return new URLSearchParams(url.slice(start, end === -1 ? url.length : end))
}

/**
 * Path of a request's address as sent: without host and query, nothing decoded. A call without a
 * host, as HTTP/1.0 permits, consists of the path alone.
 */
export function requestPath(url: string): string {
  const start = url.startsWith('/') ? 0 : url.indexOf('/', url.indexOf('://') + 3)
  const end = url.indexOf('?', start)
  return end === -1 ? url.slice(start) : url.slice(start, end)
}

/**
 * Restores query values as text: Elysia parses a value with a comma as a list, and one in brackets
 * as JSON. A repeated field stays a list, which its schema refuses.
 */
export function restoreQuery(query: Record<string, unknown>, url: string): void {
  const broken = Object.keys(query).filter((name) => typeof query[name] !== 'string')
  if (broken.length === 0) return
  const sent = queryOf(url)
  for (const name of broken) {
    const [text, ...more] = sent.getAll(name)
    if (text !== undefined && more.length === 0) query[name] = text
  }
}

/** Both path prefixes of monitoring; the document lists the first. */
const monitorPaths = ({ monitor }: Naming): readonly [string, string] => [monitor, `/api${monitor}`]

/** Both path prefixes of the inbox; the document lists the first. */
export const inboxPaths = ({ platform }: Naming): readonly [string, string] => [
  `/${platform}/inbox`,
  `/api/${platform}/inbox`,
]

/** Both path prefixes of the archive; the document lists the first. */
export const archivePaths = ({ platform, api }: Naming): readonly [string, string] => [
  `/${platform}/archive`,
  `${api}/archive`,
]

const doublePaths = (words: Naming) => [monitorPaths(words), inboxPaths(words), archivePaths(words)]

/** Path of the same route under the first prefix, under which alone it is registered; null: `path` has one place. */
export function firstPath(words: Naming, path: string): string | null {
  for (const [first, second] of doublePaths(words))
    if (isUnderPath(path, second)) return first + path.slice(second.length)
  return null
}

/** Path of the same route under the second prefix; null: it has one place. */
export function secondPath(words: Naming, path: string): string | null {
  for (const [first, second] of doublePaths(words))
    if (isUnderPath(path, first)) return second + path.slice(first.length)
  return null
}

/**
 * Rate limits of routes: every policy names one, so that no route is unlimited.
 * `src/api/http/pacers.ts` has the numbers.
 */
export type LimitName =
  | 'reads'
  | 'writes'
  | 'uploads'
  | 'management'
  | 'inbox'
  | 'webhook_test'
  | 'account'
  | 'feedback'
  | 'dashboard'
  | 'sign_in'
  | 'signed_in'
  | 'mcp'
  | 'open'
  | 'feeds'
  | 'health'

/** Kinds of writes that `[features]` can disable. */
type Feature = 'login' | 'comment' | 'vote' | 'dm' | 'profile'
export type Features = Readonly<Record<Feature, boolean>>

export type Policy = {
  /** Answers without a key. */
  open: boolean
  /** Only for an operator's key. */
  operator: boolean
  /** Required scope of the key; null: any key. */
  scope: Scope | null
  /** Rate limit of the call: by key, or by address if the route takes none. */
  limit: LimitName
  /** Required feature; null: always enabled. */
  feature: Feature | null
}

const OPEN: Policy = { open: true, operator: false, scope: null, limit: 'open', feature: null }
export const CLOSED: Policy = { ...OPEN, open: false, limit: 'management' }
const OPEN_PATHS = [
  '/',
  '/metrics',
  '/openapi.json',
  '/docs',
  '/unsubscribe',
  '/confirm',
  '/connect',
]
/** Routes authorised by the dashboard's cookie. */
const SIGNED_IN_PATHS = ['/dashboard/api', '/dashboard/live', '/dashboard/session']
const UPLOADS = ['/profile/avatar', '/profile/banner']
/** True for writes whose bodies may hold an image. */
export const isUpload = ({ api }: Naming, path: string): boolean =>
  UPLOADS.some((place) => path === api + place)

const FEATURES: readonly (readonly [string, Feature])[] = [
  ['/login', 'login'],
  ['/comment', 'comment'],
  ['/v2/comment', 'comment'],
  ['/vote', 'vote'],
  ['/dm', 'dm'],
  ['/profile', 'profile'],
]

export const isUnderPath = (path: string, place: string): boolean =>
  path === place || path.startsWith(`${place}/`)

/** Path of the calls of one source; '' : of all of them. */
export const sourcePath = ({ api }: Naming, source: string): string =>
  source === '' ? `${api}/sources` : `${api}/sources/${source}`

/** Policy of a route by its path alone, so that no route lacks one. Unknown paths need a key. */
export function policyOf(words: Naming, method: string, path: string): Policy {
  if (isUnderPath(path, '/health')) return { ...OPEN, limit: 'health' }
  if (OPEN_PATHS.some((place) => isUnderPath(path, place))) return OPEN
  // A browser sends no key; these routes authenticate by the cookie themselves.
  if (path === '/dashboard/session' && method === 'POST') return { ...OPEN, limit: 'sign_in' }
  if (SIGNED_IN_PATHS.some((place) => isUnderPath(path, place)))
    return { ...OPEN, limit: 'signed_in' }
  if (isUnderPath(path, '/dashboard')) return OPEN
  if (isUnderPath(path, '/operator')) return { ...CLOSED, operator: true }
  for (const place of monitorPaths(words)) {
    // A feed reader sends no header: the address of the feed is the key.
    if (path === `${place}/feed/:token`) return { ...OPEN, limit: 'feeds' }
    if (path === `${place}/webhook/test`)
      return { ...CLOSED, scope: 'monitor', limit: 'webhook_test' }
    // They change where matches are sent.
    if (
      path === `${place}/feed/rotate` ||
      (method !== 'GET' && isUnderPath(path, `${place}/webhook`))
    )
      return { ...CLOSED, scope: 'webhook' }
    if (isUnderPath(path, place)) return { ...CLOSED, scope: 'monitor' }
  }
  if (inboxPaths(words).some((place) => isUnderPath(path, place)))
    return { ...CLOSED, scope: 'monitor', limit: 'inbox' }
  if (archivePaths(words).some((place) => isUnderPath(path, place)))
    return { ...CLOSED, scope: 'monitor' }
  if (isUnderPath(path, words.api)) {
    const sources = sourcePath(words, '')
    if (path === sources) return { ...CLOSED, scope: 'read' }
    if (isUnderPath(path, sources)) {
      // A call of a source has the conditions of the same call of `home`.
      const [, below] = /^\/[^/]+(\/.+)$/.exec(path.slice(sources.length)) ?? []
      return below === undefined ? CLOSED : policyOf(words, method, words.api + below)
    }
    const reads = method === 'GET' || path === `${words.api}/comments/verify`
    if (reads) return { ...CLOSED, scope: 'read', limit: 'reads' }
    const [, feature = null] =
      FEATURES.find(([place]) => isUnderPath(path, words.api + place)) ?? []
    return {
      ...CLOSED,
      scope: 'write',
      feature,
      limit: isUpload(words, path) ? 'uploads' : 'writes',
    }
  }
  // A key with the scope `write` may propose a write; every key of the customer may list proposals.
  if (isUnderPath(path, '/drafts')) return { ...CLOSED, scope: method === 'GET' ? null : 'write' }
  if (path === '/mcp') return { ...CLOSED, limit: 'mcp' }
  if (path === '/account/usage' || path === '/account/activity')
    return { ...CLOSED, limit: 'dashboard' }
  if (isUnderPath(path, '/account')) return { ...CLOSED, limit: 'account' }
  if (isUnderPath(path, '/feedback')) return { ...CLOSED, limit: 'feedback' }
  return CLOSED
}
