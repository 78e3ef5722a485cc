import type { HTTPHeaders } from 'elysia'

import { ApiError } from '../../core/base/errors.ts'
import type { Outcome } from '../../core/base/result.ts'
import type { Item, Post } from '../../core/forum/items.ts'
import { type Naming, toWire } from '../../core/forum/naming.ts'
import type { Session } from '../../core/forum/session.ts'
import type { Tier } from '../../core/limits/price.ts'
import type { CacheResult } from '../../gateway/cache.ts'
import type { SharedAs } from '../../gateway/reads.ts'
import type { Meter } from '../billing.ts'
import type { RouteContext } from '../context.ts'
import type { Holder } from '../http/auth.ts'
import type { FaultContext } from '../http/errors.ts'
import { querySchema } from '../http/fields.ts'
import { mapOnce, markShared } from '../http/response.ts'
import { createSessions, type SessionDeps, type Sessions } from '../http/session.ts'
import { type Bulkhead, createDeepSearchBulkhead, createReadBulkhead } from './bulkhead.ts'
import { type NameRules, PLATFORM_NAMES, SOURCE_NAMES } from './params.ts'
import { createShapes } from './shapes.ts'

type AnswerOptions = Partial<Pick<FaultContext, 'flavour' | 'thing'>> & {
  tier?: Tier
  session?: Session | null
}

/**
 * Meters a read once the bulkhead admits it, and states its source in X-Cache. `session` is the
 * account it is read through.
 */
type ReadResponder = <T>(
  holder: Holder,
  headers: HTTPHeaders,
  work: () => Promise<Outcome<CacheResult<T>>>,
  options?: AnswerOptions,
) => Promise<T>

/** Same for a cacheable read: a cached answer is billed in one step, without a request. */
type SharedResponder = <Query, T extends object>(
  holder: Holder,
  headers: HTTPHeaders,
  read: SharedAs<Query, T>,
  query: Query,
  options?: Omit<AnswerOptions, 'flavour'>,
) => Promise<T>

/** Creates both responders, which share the bulkheads' counts. */
function createResponders(
  meter: Meter,
  bulkhead: Bulkhead,
): { answer: ReadResponder; answerShared: SharedResponder } {
  return {
    answer: (holder, headers, work, { tier = 'read', session = null, ...context } = {}) =>
      bulkhead(holder.key.id, async () => {
        const fault_context = { ...context, with_session: session !== null }
        const { body, cache } = await meter(tier, holder, headers, work, fault_context)
        headers['x-cache'] = cache
        return body
      }),
    answerShared: (
      holder,
      headers,
      read,
      query,
      { tier = 'read', session = null, ...context } = {},
    ) =>
      bulkhead(holder.key.id, async () => {
        const { body, cache } = await meter(tier, holder, headers, () => read(query, session), {
          ...context,
          with_session: session !== null,
          cached: () => read.cached(query, session),
        })
        headers['x-cache'] = cache
        if (cache === 'hit') markShared(body)
        return body
      }),
  }
}

/** Bodies are shared between callers, so each function returns a copy, which may be cached. */
export type RowMapper = {
  row<T extends object>(row: T): T
  post<T extends Post>(post: T): T
  posts<T extends { posts: Post[] }>(body: T): T
  comments<T extends { comments: object[] }>(body: T): T
  items<T extends { items: Item[] }>(body: T): T
}

/** Creates the mapping to the wire's words; rows of another source than `home` name it. */
export function createRowMapper(words: Naming, source: string | null = null): RowMapper {
  const row = <T extends object>(it: T): T =>
    source === null ? toWire(words, it) : { ...toWire(words, it), source }
  const post = <T extends Post>(it: T): T =>
    row(it.crosspost_origin === null ? it : { ...it, crosspost_origin: row(it.crosspost_origin) })
  return {
    row,
    post,
    posts: (body) => mapOnce(body, (it) => ({ ...it, posts: it.posts.map(post) })),
    comments: (body) => mapOnce(body, (it) => ({ ...it, comments: it.comments.map(row) })),
    items: (body) => ({
      ...body,
      items: body.items.map((it) => (it.kind === 'post' ? post(it) : row(it))),
    }),
  }
}

export type ReadsOptions = Omit<SessionDeps, 'words'> & {
  /** `[limits]`, read at each call; 0: no limit. */
  limits: {
    readonly deep_search_concurrency: number
    readonly degraded_reads_per_key: number
    readonly degraded_waiting_per_key: number
  }
  /** True while the platform answers badly. */
  degraded: () => boolean
  /** Name of the source of the reads; null: `home`. */
  source: string | null
  /** True: its names have the form of those of `home`. */
  has_names_of_home?: boolean | undefined
  /** Day on which the way in to a source has ended; null: it has not. Absent: none has. */
  endedOn?: (source: string) => string | null
}

const EXPLAINED: ReadonlySet<string> = new Set([
  'PERMISSION_DENIED',
  'UPSTREAM_ERROR',
  'upstream_unavailable',
  'upstream_timeout',
])

/** The meter, whose errors name the day on which the source has ended. */
const withEnd =
  (meter: Meter, ended: () => string | null): Meter =>
  async (...call) => {
    try {
      return await meter(...call)
    } catch (error) {
      const day = ended()
      if (day === null || !(error instanceof ApiError) || !EXPLAINED.has(error.code)) throw error
      const message = `${error.message}; access to this source ended on ${day}, says its configuration`
      throw new ApiError(error.code, { ...error.details, message })
    }
  }

type PathOfName = ReturnType<typeof pathOf>
const pathOf = (rule: NameRules['user']) => querySchema(() => ({ name: rule('name') }))

export type ReadContext = Pick<RouteContext, 'words' | 'keyed'> &
  Sessions & {
    answer: ReadResponder
    answerShared: SharedResponder
    rows: RowMapper
    names: NameRules
    of_subforum: PathOfName
    of_user: PathOfName
    shapes: ReturnType<typeof createShapes>
    deepSearchBulkhead: Bulkhead
    /** Null: `home`. */
    source: string | null
  }

export function createReadContext(
  { words, keyed, meter, clock }: RouteContext,
  options: ReadsOptions,
): ReadContext {
  const { limits, endedOn = () => null } = options
  const is_like_home = options.source === null || options.has_names_of_home === true
  const names = is_like_home ? PLATFORM_NAMES : SOURCE_NAMES
  const capacity = () => ({
    in_flight: limits.degraded_reads_per_key,
    waiting: limits.degraded_waiting_per_key,
  })
  const readBulkhead = createReadBulkhead(clock, capacity, options.degraded)
  return {
    words,
    keyed,
    ...createSessions({ words, ...options }),
    ...createResponders(
      withEnd(meter, () => endedOn(options.source ?? words.home ?? '')),
      readBulkhead,
    ),
    rows: createRowMapper(words, options.source),
    names,
    of_subforum: pathOf(names.subforum),
    of_user: pathOf(names.user),
    shapes: createShapes(words),
    source: options.source,
    deepSearchBulkhead: createDeepSearchBulkhead(clock, () => limits.deep_search_concurrency),
  }
}
