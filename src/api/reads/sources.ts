import { Elysia } from 'elysia'
import * as z from 'zod'

import { invalid } from '../../core/base/errors.ts'
import type { Naming } from '../../core/forum/naming.ts'
import type { RouteContext } from '../context.ts'
import { sourcePath } from '../http/routes.ts'
import { answers } from '../openapi/route-docs.ts'

/** Name of the source of `[platform]`. */
const MAIN = 'main'

const sourceShape = z.object({
  name: z.string(),
  kind: z.string(),
  url: z.string(),
  capabilities: z.array(z.string()),
  place_examples: z.array(z.string()).describe('Names of places as this source writes them.'),
  proof: z.string().nullable(),
  reachable: z.boolean(),
  ends_at: z.string().nullable(),
})

/** A source as callers see it. */
export type SourceInfo = {
  name: string
  kind: string
  /** Address of its pages. */
  url: string
  /** Names of what it can do, such as `posts` or `monitor`. */
  capabilities: readonly string[]
  /** Names of places as this source writes them. */
  place_examples: readonly string[]
  /** Proof of monitors that nothing was missed; null: it cannot be monitored. */
  proof: string | null
  /** False while it cannot be reached. */
  reachable: boolean
  /** Day on which its way in ends; null: none is configured. */
  ends_at: string | null
}

/** The list of sources, with what each of them can do. */
export function sourceReads({ words, keyed }: RouteContext, list: () => SourceInfo[]) {
  return new Elysia({ name: 'reads.sources', prefix: words.api })
    .use(keyed)
    .get('/sources', () => ({ sources: list() }), {
      detail: {
        summary: 'Sources and what each can do',
        description:
          'The first source answers reads without the parameter source. A call that a source has no means for is answered with 501 NOT_SUPPORTED_BY_SOURCE.',
        tags: ['Reads'],
        operationId: 'sources',
        ...answers(() => z.object({ sources: z.array(sourceShape) })),
      },
    })
}

/**
 * The request for the routes of the source that the query names, for a request that names one;
 * null: it stays as it is.
 * @throws {ApiError} if there is no such source
 */
export function forSource(
  words: Naming,
  names: readonly string[],
  request: Request,
): Request | null {
  const target = URL.parse(request.url)
  const source = target?.searchParams.get('source') ?? null
  if (target === null || source === null) return null
  const { pathname } = target
  const is_read = pathname.startsWith(`${words.api}/`) && request.method !== 'DELETE'
  if (!is_read || pathname.startsWith(sourcePath(words, ''))) return null
  if (source !== MAIN && !names.includes(source))
    throw invalid('source', `source must be one of ${[MAIN, ...names].join(', ')}`)
  target.searchParams.delete('source')
  if (source !== MAIN)
    target.pathname = sourcePath(words, source) + pathname.slice(words.api.length)
  return new Request(target.href, request)
}
