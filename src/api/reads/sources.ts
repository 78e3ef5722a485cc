import { Elysia } from 'elysia'
import * as z from 'zod'

import { ApiError, invalid } from '../../core/base/errors.ts'
import { meant } from '../../core/base/text.ts'
import type { Naming } from '../../core/forum/naming.ts'
import type { RouteContext } from '../context.ts'
import { notSupported } from '../http/errors.ts'
import { archivePaths, isUnderPath, sourcePath } from '../http/routes.ts'
import { answers } from '../openapi/route-docs.ts'

const sourceShape = z
  .object({
    name: z.string(),
    kind: z.string(),
    url: z.string().describe('Address of its pages.'),
    capabilities: z
      .array(z.string())
      .readonly()
      .describe('Names of what it can do, such as `posts` or `monitor`.'),
    place_examples: z
      .array(z.string())
      .readonly()
      .describe('Names of places as this source writes them.'),
    proof: z.string().nullable(),
    state: z
      .object({
        status: z
          .enum(['never_tried', 'works', 'fails'])
          .describe('`never_tried`: nothing was requested since the start.'),
        fault: z.string().nullable().describe('Why it fails, such as `unavailable:503`.'),
        since: z.string().nullable().describe('Start of the present status.'),
        last_request_at: z.string().nullable(),
        requests_last_minute: z.number(),
        requests_per_minute: z
          .number()
          .nullable()
          .describe('Limit of requests a minute; null: no answer has named one yet.'),
      })
      .describe('State of the source, by its own answers since the start.'),
    ends_at: z.string().nullable(),
  })
  .meta({ title: 'Source' })

export type SourceInfo = z.output<typeof sourceShape>

export function sourceReads({ words, keyed }: RouteContext, list: () => SourceInfo[]) {
  return new Elysia({ name: 'reads.sources', prefix: words.api })
    .use(keyed)
    .get('/sources', () => ({ sources: list() }), {
      detail: {
        summary: 'Sources and what each can do',
        description:
          'The first source answers calls without the parameter source. A call that a source has no means for is answered with 501 NOT_SUPPORTED_BY_SOURCE.',
        tags: ['Reads'],
        operationId: 'sources',
        ...answers(() => z.object({ sources: z.array(sourceShape) })),
      },
    })
}

/**
 * The request for the routes of the source that the query names, or of the default source; null: the
 * request stays as it is.
 * @param serves True if there is such a route.
 * @throws {ApiError} if there is no such source, or it has no means for the call
 */
export function forSource(
  words: Naming,
  names: readonly string[],
  request: Request,
  serves: (method: string, path: string) => boolean,
): Request | null {
  const target = URL.parse(request.url)
  const named = target?.searchParams.get('source') ?? null
  const source = named ?? words.default_source
  if (target === null || (named === null && source === words.home)) return null
  const { pathname } = target
  const is_call = pathname.startsWith(`${words.api}/`) && request.method !== 'DELETE'
  const sources = sourcePath(words, '')
  // The archive holds items of all sources.
  if (archivePaths(words).some((place) => isUnderPath(pathname, place))) return null
  if (!is_call || pathname === sources || pathname.startsWith(`${sources}/`)) return null
  if (named !== null && !names.includes(named))
    throw invalid('source', `source must be one of ${names.join(', ')}${meant(named, names)}`)
  target.searchParams.delete('source')
  if (source !== words.home)
    target.pathname = sourcePath(words, source) + pathname.slice(words.api.length)
  // Actions and listings of the caller's own account belong to the source of the accounts.
  if (named === null && !serves(request.method, target.pathname)) throw notSupported('session')
  return new Request(target.href, request)
}

/**
 * The routes of a source stay when it is removed.
 * @throws {ApiError} if the path is of a source that there is no more
 */
export function refuseRemoved(words: Naming, names: readonly string[], { url }: Request): void {
  const prefix = `${sourcePath(words, '')}/`
  const at = url.indexOf(prefix)
  if (at === -1) return
  const [name = ''] = url.slice(at + prefix.length).split(/[/?]/, 1)
  if (name !== '' && !names.includes(name))
    throw new ApiError('NOT_FOUND', { message: `there is no source ${name}` })
}
