import type { Naming } from '../../core/forum/naming.ts'

/** Route of the table: its pattern, and a value for each method. */
export type RouteEntry<T> = { path: string; methods: Map<string, T> }

/** Routes by their paths. */
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

/** Query of an address. */
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
export const monitorPaths = ({ monitor }: Naming): readonly [string, string] => [
  monitor,
  `/api${monitor}`,
]

/** Creates a group for each path prefix of monitoring. */
export const atBothPaths = <T>(words: Naming, group: (place: string) => T): T[] =>
  monitorPaths(words).map((place) => group(place))
