/** A route as the table keeps it: its pattern, and what stands beside it for each method. */
export type Entry<T> = { path: string; methods: Map<string, T> }

/** Routes by their paths. */
export type Table<T> = {
  add(method: string, path: string, value: T): void
  /** The entry of a request's path, whatever its method; null when no route has it. */
  find(path: string): Entry<T> | null
}

type Branch<T> = {
  fixed: Map<string, Branch<T>>
  any: Branch<T> | null
  rest: Entry<T> | null
  entry: Entry<T> | null
}

const branch = <T>(): Branch<T> => ({ fixed: new Map(), any: null, rest: null, entry: null })
const segments = (path: string) => path.replace(/\/$/, '').split('/').slice(1)

/**
 * Paths with `:name` and a closing `*`, found by their segments. It exists beside Elysia's own router because who may
 * call, and which methods a path has, must be known before anything of the request is read.
 */
export function createTable<T>(): Table<T> {
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

  function seek(here: Branch<T>, path: string[], at: number): Entry<T> | null {
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

/** What an address asks for behind its path. */
export function queryOf(url: string): URLSearchParams {
  const start = url.indexOf('?')
  if (start === -1) return new URLSearchParams()
  const end = url.indexOf('#', start)
  return new URLSearchParams(url.slice(start, end === -1 ? url.length : end))
}

/**
 * The path of a request's address, as it was sent: without host and query, nothing decoded. A call that names no host,
 * as those of HTTP/1.0 need not, is the path alone.
 */
export function pathOf(url: string): string {
  const start = url.startsWith('/') ? 0 : url.indexOf('/', url.indexOf('://') + 3)
  const end = url.indexOf('?', start)
  return end === -1 ? url.slice(start) : url.slice(start, end)
}
