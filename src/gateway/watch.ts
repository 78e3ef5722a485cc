import type { Item, Page } from '../core/items.ts'
import { ok, type Outcome } from '../core/outcome.ts'
import type { StreamKind } from '../core/stream.ts'
import type { Clock } from '../outside.ts'
import { ANONYMOUS, type Call, type Platform } from '../platform/platform.ts'

/** What is known of a place that somebody wants watched. `why` is the platform's reason, when it told one. */
export type PlaceVerdict =
  { kind: 'exists' | 'reserved' | 'unverified' } | { kind: 'refused'; why: string | null }

/** The monitors' way to the platform. */
export type Watch = {
  /** One page of a stream, newest first. Gives up when `signal` aborts. */
  page(
    stream: { kind: StreamKind; place: string },
    paging: { limit: number; after: string | null },
    signal: AbortSignal,
  ): Promise<Outcome<Page<Item>>>
  /** Whether a subforum is there and can be read. */
  subforum(name: string): Promise<PlaceVerdict>
  /** When the item of this fullname was created, epoch ms; null when there is no such item. */
  createdAt(fullname: string): Promise<Outcome<number | null>>
  /** How far the platform's clock is ahead of ours. */
  clock_offset_ms(): number
}

// Names that stand for many places, or for whoever is asking.
const RESERVED = new Set(['all', 'popular', 'friends', 'mod', 'random', 'randnsfw', 'myrandom'])

/** Several subforums travel in one request, joined like this. */
const JOIN = '+'

const post = (row: Omit<Extract<Item, { kind: 'post' }>, 'kind'>): Item => ({
  ...row,
  kind: 'post',
})
const comment = (row: Omit<Extract<Item, { kind: 'comment' }>, 'kind'>): Item => ({
  ...row,
  kind: 'comment',
})

/** The platform as monitors see it. `deadline_ms` bounds one page with all its retries. */
export function createWatch({
  platform,
  clock,
  deadline_ms,
}: {
  platform: Platform
  clock: Clock
  deadline_ms: number
}): Watch {
  const call = (): Call => ({ eyes: ANONYMOUS, deadline_at: clock.now() + deadline_ms })

  return {
    async page({ kind, place }, paging, signal) {
      const subforums = place.split(JOIN)
      const asking = { ...call(), signal }
      switch (kind) {
        case 'posts':
          return pageOf(
            await platform.posts({ ...paging, subforums, sort: 'new', t: null }, asking),
            post,
          )
        case 'comments':
          return pageOf(await platform.comments({ ...paging, subforums }, asking), comment)
        case 'search':
          return pageOf(
            await platform.search(
              { ...paging, q: place, subforum: null, sort: 'new', t: 'all', nsfw: true },
              asking,
            ),
            post,
          )
      }
    },

    async subforum(name) {
      if (RESERVED.has(name.toLowerCase())) return { kind: 'reserved' }
      const found = await platform.community(name, call())
      if (found.ok)
        return found.value.type === 'private'
          ? { kind: 'refused', why: 'private' }
          : { kind: 'exists' }
      const { fault } = found
      return fault.kind === 'not_found' || fault.kind === 'forbidden'
        ? { kind: 'refused', why: fault.reason }
        : { kind: 'unverified' }
    },

    async createdAt(fullname) {
      const [prefix, id = ''] = fullname.split('_')
      const found =
        prefix === 't1'
          ? await nodesOf(platform, id, call())
          : await platform.postsById([id], call())
      if (!found.ok) return found
      const [row] = found.value
      return ok(row === undefined ? null : row.created_utc * 1000)
    },

    clock_offset_ms: () => platform.clock_offset_ms(),
  }
}

async function nodesOf(platform: Platform, id: string, call: Call) {
  const found = await platform.nodesById([id], call)
  return found.ok ? ok(found.value.map((node) => platform.commentOf(node))) : found
}

function pageOf<T>(found: Outcome<Page<T>>, toItem: (row: T) => Item): Outcome<Page<Item>> {
  if (!found.ok) return found
  return ok({ rows: found.value.rows.map(toItem), after: found.value.after })
}
