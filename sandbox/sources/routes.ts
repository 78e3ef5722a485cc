import type { SandboxResponse } from '../server/response.ts'

/** Handler of a route. `parts` are the variable segments of its path. */
type SourceHandler<C> = (call: C, ...parts: string[]) => SandboxResponse

/**
 * Routes by method and path. `#` stands for a segment of digits, `*` for any segment; the first
 * route that fits is taken.
 */
export type SourceRoutes<C> = Record<string, SourceHandler<C>>

type Found<C> = { pattern: string; handler: SourceHandler<C>; parts: string[] }

/** Route for a method and a path; null: none. HEAD is answered as GET unless it has a route. */
export function findRoute<C>(
  routes: SourceRoutes<C>,
  method: string,
  segments: readonly string[],
): Found<C> | null {
  for (const [key, handler] of Object.entries(routes)) {
    const [verb, pattern = ''] = key.split(' ')
    if (verb !== method) continue
    const parts = partsOf(pattern.split('/').filter(Boolean), segments)
    if (parts !== null) return { pattern: key, handler, parts }
  }
  return method === 'HEAD' ? findRoute(routes, 'GET', segments) : null
}

function partsOf(pattern: readonly string[], segments: readonly string[]): string[] | null {
  if (pattern.length !== segments.length) return null
  const parts: string[] = []
  for (const [at, each] of pattern.entries()) {
    const segment = segments[at] ?? ''
    if (each === '#' ? /^\d{1,12}$/.test(segment) : each === '*') parts.push(segment)
    else if (each !== segment) return null
  }
  return parts
}
