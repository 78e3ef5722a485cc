import type { HTTPHeaders } from 'elysia'

import type { Item, Post } from '../../core/items.ts'
import type { Outcome } from '../../core/outcome.ts'
import type { Tier } from '../../core/price.ts'
import type { Session } from '../../core/session.ts'
import { worded, type Words } from '../../core/wire.ts'
import type { Read } from '../../gateway/cache.ts'
import type { SharedAs } from '../../gateway/reads.ts'
import type { Holder } from '../auth.ts'
import type { Asked } from '../faults.ts'
import type { Meter } from '../meter.ts'
import { dressOnce, lasts } from '../one-piece.ts'
import type { Gate } from './gate.ts'

type Manner = { tier?: Tier; flavour?: Asked['flavour']; session?: Session | null }

/**
 * Meters a read, once there is room for it, and says in X-Cache where its answer came from. `session` is whose account
 * it is read through.
 */
export type Answer = <T>(
  holder: Holder,
  headers: HTTPHeaders,
  work: () => Promise<Outcome<Read<T>>>,
  manner?: Manner,
) => Promise<T>

/** The same for a read whose answer may be kept: then it is billed at once, and nothing is asked. */
export type AnswerShared = <Query, T extends object>(
  holder: Holder,
  headers: HTTPHeaders,
  read: SharedAs<Query, T>,
  query: Query,
  manner?: Omit<Manner, 'flavour'>,
) => Promise<T>

/** Both ways to answer; they share the gate's count. */
export function createAnswers(
  meter: Meter,
  gate: Gate,
): { answer: Answer; answerShared: AnswerShared } {
  return {
    answer: (holder, headers, work, { tier = 'read', flavour = 'read', session = null } = {}) =>
      gate(holder.key.id, async () => {
        const asked = { flavour, with_session: session !== null }
        const { body, cache } = await meter(tier, holder, headers, work, asked)
        headers['x-cache'] = cache
        return body
      }),
    answerShared: (holder, headers, read, query, { tier = 'read', session = null } = {}) =>
      gate(holder.key.id, async () => {
        const { body, cache } = await meter(tier, holder, headers, () => read(query, session), {
          with_session: session !== null,
          kept: () => read.kept(query, session),
        })
        headers['x-cache'] = cache
        if (cache === 'hit') lasts(body)
        return body
      }),
  }
}

/** Rows in the words of the wire. Bodies are shared between callers, so that each of these makes new ones, or has made them. */
export type Rows = {
  row<T extends object>(row: T): T
  post<T extends Post>(post: T): T
  posts<T extends { posts: Post[] }>(body: T): T
  comments<T extends { comments: object[] }>(body: T): T
  items<T extends { items: Item[] }>(body: T): T
}

/** Makes rows that speak the words of the wire. */
export function createRows(words: Words): Rows {
  const row = <T extends object>(it: T): T => worded(words, it)
  const post = <T extends Post>(it: T): T =>
    row(it.crosspost_origin === null ? it : { ...it, crosspost_origin: row(it.crosspost_origin) })
  return {
    row,
    post,
    posts: (body) => dressOnce(body, (it) => ({ ...it, posts: it.posts.map(post) })),
    comments: (body) => dressOnce(body, (it) => ({ ...it, comments: it.comments.map(row) })),
    items: (body) => ({
      ...body,
      items: body.items.map((it) => (it.kind === 'post' ? post(it) : row(it))),
    }),
  }
}
