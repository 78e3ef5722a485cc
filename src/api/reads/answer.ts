import type { HTTPHeaders } from 'elysia'

import type { Item, Post } from '../../core/items.ts'
import type { Outcome } from '../../core/outcome.ts'
import type { Tier } from '../../core/price.ts'
import type { Session } from '../../core/session.ts'
import { worded, type Words } from '../../core/wire.ts'
import type { Read } from '../../gateway/cache.ts'
import type { Holder } from '../auth.ts'
import type { Asked } from '../faults.ts'
import type { Meter } from '../meter.ts'
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

export const createAnswer =
  (meter: Meter, gate: Gate): Answer =>
  (holder, headers, work, { tier = 'read', flavour = 'read', session = null } = {}) =>
    gate(holder.key.id, async () => {
      const asked = { flavour, with_session: session !== null }
      const { body, cache } = await meter(tier, holder, headers, work, asked)
      headers['x-cache'] = cache
      return body
    })

/** Rows in the words of the wire. Bodies are shared between callers, so each of these makes new ones. */
export type Rows = {
  row<T extends object>(row: T): T
  post<T extends Post>(post: T): T
  posts<T extends { posts: Post[] }>(body: T): T
  comments<T extends { comments: object[] }>(body: T): T
  items<T extends { items: Item[] }>(body: T): T
}

export function createRows(words: Words): Rows {
  const row = <T extends object>(it: T): T => worded(words, it)
  const post = <T extends Post>(it: T): T =>
    row(it.crosspost_origin === null ? it : { ...it, crosspost_origin: row(it.crosspost_origin) })
  return {
    row,
    post,
    posts: (body) => ({ ...body, posts: body.posts.map(post) }),
    comments: (body) => ({ ...body, comments: body.comments.map(row) }),
    items: (body) => ({
      ...body,
      items: body.items.map((it) => (it.kind === 'post' ? post(it) : row(it))),
    }),
  }
}
