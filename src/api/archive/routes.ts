import { Elysia } from 'elysia'
import * as z from 'zod'

import type { Archive } from '../../archive/archive.ts'
import { ArchiveUnavailable } from '../../archive/thread.ts'
import { EXPORT_FORMATS } from '../../core/archive/export.ts'
import { ApiError } from '../../core/base/errors.ts'
import { iso } from '../../core/base/time.ts'
import type { PatternJudge } from '../../patterns/judge.ts'
import { ARCHIVE_KEEPS } from '../../store/archive/scopes.ts'
import type { Db } from '../../store/db/connection.ts'
import type { RouteContext } from '../context.ts'
import { limit, oneOf, patternText, querySchema, type SchemaOutput } from '../http/fields.ts'
import { archivePaths } from '../http/routes.ts'
import { answers, refuses } from '../openapi/route-docs.ts'
import { type ArchiveExports, createExports } from './export.ts'
import { archiveFields, readSelection } from './query.ts'

const PAGE_MAX = 100
const PAGE = 25
const RETRY_S = 5

export type ArchiveRouteDeps = { db: Db; archive: Archive; patterns: PatternJudge }

export function archiveRoutes(context: RouteContext, deps: ArchiveRouteDeps) {
  const exports = createExports(context, deps.archive)
  return group(archivePaths(context.words)[0], context, deps, exports)
}

/** @throws {ApiError} storage_unavailable if its file or its thread fails */
export async function fromArchive<T>(work: Promise<T>): Promise<T> {
  try {
    return await work
  } catch (error) {
    if (!(error instanceof ArchiveUnavailable)) throw error
    throw new ApiError('storage_unavailable', {
      message: 'the archive cannot be read at the moment',
      retry_after_s: RETRY_S,
    })
  }
}

const archivedShape = () =>
  z.object({
    first_seen: z.iso.datetime().describe('Time at which it was first seen.'),
    last_seen: z.iso.datetime().describe('Time of its last reading, which score and text are of.'),
    versions: z.int().describe('Former texts that are kept.'),
    monitor_ids: z.array(z.string()).describe('Your monitors that matched it.'),
  })

const pageShape = () =>
  z.object({
    items: z
      .array(
        z.looseObject({
          archived: archivedShape().describe('Facts of the archive about the item.'),
        }),
      )
      .describe('Newest first, each as delivered to a webhook.'),
    after: z.string().nullable().describe('Cursor of the next page; null at the end.'),
    scanned: z.int().describe('Items that were tested.'),
    scanned_until: z.iso
      .datetime()
      .nullable()
      .describe(
        'Time ran out: everything created after this was tested, and after goes on. Null: the page is full, or the end.',
      ),
  })

const stateShape = () =>
  z.object({
    keep: z
      .enum(ARCHIVE_KEEPS)
      .describe('Items that are kept: matches, all of watched feeds, or no new ones.'),
    days: z.int().describe('Days after its creation for which an item is kept.'),
    max_size_mb: z.int().describe('Size in MiB above which the oldest items leave.'),
    items: z.int().describe('Number of archived items.'),
    bytes: z.int().describe('Their size with the index.'),
    oldest: z.iso.datetime().nullable().describe('Creation of the oldest item.'),
    newest: z.iso.datetime().nullable().describe('Creation of the newest item.'),
    queued: z.int().describe('Items that are not searchable yet.'),
  })

function group(
  prefix: string,
  { words, keyed }: RouteContext,
  { db, archive, patterns }: ArchiveRouteDeps,
  exports: ArchiveExports,
) {
  const searchQuery = querySchema(() => ({
    ...archiveFields(words),
    sort: oneOf('sort', ['newest'], 'newest'),
    after: patternText('after', /^\d{1,16}$/, 'the after of an earlier answer').optional(),
    limit: limit(PAGE_MAX, PAGE),
  }))
  const exportQuery = querySchema(() => ({
    ...archiveFields(words),
    format: oneOf('format', EXPORT_FORMATS, 'ndjson').describe('NDJSON or CSV (RFC 4180).'),
  }))

  async function search(customer_id: string, query: SchemaOutput<typeof searchQuery>) {
    const selected = await readSelection({ words, db, patterns }, customer_id, query)
    const before = query.after === undefined ? null : Number(query.after)
    const found = await fromArchive(archive.search({ ...selected, before, limit: query.limit }))
    return {
      items: found.rows,
      after: found.after === null ? null : String(found.after),
      scanned: found.scanned,
      scanned_until: iso(found.scanned_until),
    }
  }

  return new Elysia({ name: `archive ${prefix}`, prefix })
    .use(keyed)
    .get('/search', ({ customer, query: input }) => search(customer.id, input), {
      query: searchQuery,
      detail: {
        summary: 'Search past items, newest first',
        description:
          'The grammar of monitors, and the same matches: those of your monitors, or with [archive] keep = "feeds" all items of their feeds. Deleted items are not found.',
        tags: ['Archive'],
        operationId: 'searchArchive',
        ...refuses('storage_unavailable'),
        ...answers(pageShape),
      },
    })
    .get(
      '/export',
      async ({ customer, query: input, request }) =>
        exports.start(
          request,
          customer.id,
          await readSelection({ words, db, patterns }, customer.id, input),
          input.format,
        ),
      {
        query: exportQuery,
        detail: {
          summary: 'Export past items as NDJSON or CSV',
          description:
            'All items that the search would find, newest first, as fast as the client reads. One export of a customer at a time.',
          tags: ['Archive'],
          operationId: 'exportArchive',
          ...refuses('storage_unavailable'),
          responses: {
            200: {
              description: 'The items.',
              content: {
                'application/x-ndjson': { schema: { type: 'string' } },
                'text/csv': { schema: { type: 'string' } },
              },
            },
          },
        },
      },
    )
    .get(
      '',
      async () => {
        const { oldest_at, newest_at, ...stats } = await fromArchive(archive.stats())
        return { ...archive.settings, ...stats, oldest: iso(oldest_at), newest: iso(newest_at) }
      },
      {
        detail: {
          summary: 'State of the archive',
          description:
            'Settings, size, and the age of its oldest and newest items, of all customers.',
          tags: ['Archive'],
          operationId: 'archiveState',
          ...refuses('storage_unavailable'),
          ...answers(stateShape),
        },
      },
    )
}
