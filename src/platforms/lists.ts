import { fail, type Fault, ok, type Outcome } from '../core/base/result.ts'
import type { Comment, Item, Post } from '../core/forum/items.ts'
import type { Clock } from '../runtime/runtime.ts'
import type { Listing } from './port.ts'

/** The source has no such object, or keeps it from this reader. */
export const NOT_FOUND: Fault = { kind: 'not_found', reason: 'absent' }

const DAY_S = 86_400

/** Seconds of the spans that lists can be bounded to, by name; `all` has none. */
export const SPANS_S: Readonly<Record<string, number>> = {
  hour: 3600,
  day: DAY_S,
  week: 7 * DAY_S,
  month: 31 * DAY_S,
  year: 366 * DAY_S,
}

/**
 * Holds requests of one kind up after a limit that is theirs alone: repeated ones would only meet it again, and the others go
 * on. To be used with `isOwnLimit` of the client.
 */
export function createHold(clock: Pick<Clock, 'mono'>) {
  let until = -Infinity
  return {
    /** Sends the request, unless they are held up. */
    async pass<T>(send: () => Promise<Outcome<T>>): Promise<Outcome<T>> {
      const ms = until - clock.mono()
      if (ms > 0) {
        const retry_after_s = Math.ceil(ms / 1000)
        return fail({ kind: 'throttled', retry_after_s, not_requested: true })
      }
      const answer = await send()
      if (!answer.ok && answer.fault.kind === 'throttled' && !answer.fault.not_requested)
        until = Math.max(until, clock.mono() + answer.fault.retry_after_s * 1000)
      return answer
    },
  }
}

/** Reads single ids, `at_once` at a time and in their order, until one fails. */
export async function inTurn<K, T>(
  ids: readonly K[],
  at_once: number,
  read: (id: K) => Promise<Outcome<T>>,
): Promise<Outcome<T[]>> {
  const found: T[] = []
  for (let at = 0; at < ids.length; at += at_once) {
    for (const answer of await Promise.all(ids.slice(at, at + at_once).map(read))) {
      if (!answer.ok) return answer
      found.push(answer.value)
    }
  }
  return ok(found)
}

export function postsOf(page: Outcome<Listing<Item>>): Outcome<Listing<Post>> {
  if (!page.ok) return page
  const rows = page.value.rows.flatMap((item): Post[] => {
    if (item.kind !== 'post') return []
    const { kind: _, ...post } = item
    return [post]
  })
  return ok({ ...page.value, rows })
}

export function commentsOf(page: Outcome<Listing<Item>>): Outcome<Listing<Comment>> {
  if (!page.ok) return page
  const rows = page.value.rows.flatMap((item): Comment[] => {
    if (item.kind !== 'comment') return []
    const { kind: _, ...comment } = item
    return [comment]
  })
  return ok({ ...page.value, rows })
}
