import type { Outcome } from '../core/outcome.ts'
import { ok } from '../core/outcome.ts'
import type { Clock } from '../outside.ts'

/** Where an answer came from: kept from a moment ago, of a read that was under way, or of one of its own. */
export type CacheState = 'hit' | 'shared' | 'miss'

/** What a read answers with. Bodies may be shared between callers: nobody changes one. */
export type Read<T> = { body: T; cache: CacheState }

/** A read that others may have asked for already. */
export type Shared<Query, T> = {
  (query: Query): Promise<Outcome<Read<T>>>
  /** The answer that is kept, without asking anybody; null when there is none. */
  kept(query: Query): Read<T> | null
}

/** Makes a read that is asked once for all who ask it: `keyOf` tells equal questions, `weigh` how much room an answer takes. */
export type Share = <Query, T>(
  keyOf: (query: Query) => string,
  weigh: (body: T) => number,
  work: (query: Query) => Promise<Outcome<T>>,
) => Shared<Query, T>

/** Per kind of read: answers kept, and the rows they may hold together. */
const ENTRIES_MAX = 200
const ROWS_MAX = 20_000

/**
 * Lets identical anonymous reads share one way upstream while it is under way, and its answer for
 * `keep_ms` after it. Only good answers are kept: a fault is for those who were waiting. `on_read` is told of
 * every read where its answer came from.
 */
export function createShare(
  clock: Clock,
  keep_ms: number,
  on_read: (cache: CacheState) => void = () => {},
): Share {
  return <Query, T>(
    keyOf: (query: Query) => string,
    weigh: (body: T) => number,
    work: (query: Query) => Promise<Outcome<T>>,
  ) => {
    const under_way = new Map<string, Promise<Outcome<T>>>()
    const kept = new Map<string, { body: T; rows: number; until: number }>()
    let rows = 0

    function drop(key: string) {
      rows -= kept.get(key)?.rows ?? 0
      kept.delete(key)
    }

    function keep(key: string, body: T) {
      const entry = { body, rows: weigh(body), until: clock.mono() + keep_ms }
      if (keep_ms === 0 || entry.rows > ROWS_MAX) return
      drop(key)
      kept.set(key, entry)
      rows += entry.rows
      // Oldest first; all are kept equally long, so the expired ones stand in front.
      for (const [oldest, { until }] of kept) {
        if (until > clock.mono() && kept.size <= ENTRIES_MAX && rows <= ROWS_MAX) break
        drop(oldest)
      }
    }

    function find(key: string): Read<T> | null {
      const found = kept.get(key)
      if (found === undefined || found.until <= clock.mono()) return null
      on_read('hit')
      return { body: found.body, cache: 'hit' }
    }

    async function ask(query: Query): Promise<Outcome<Read<T>>> {
      const key = keyOf(query)
      const found = find(key)
      if (found !== null) return ok(found)
      const other = under_way.get(key)
      on_read(other === undefined ? 'miss' : 'shared')
      if (other !== undefined) return read(await other, 'shared')
      const asked = work(query)
      under_way.set(key, asked)
      try {
        const outcome = await asked
        if (outcome.ok) keep(key, outcome.value)
        return read(outcome, 'miss')
      } finally {
        under_way.delete(key)
      }
    }

    return Object.assign(ask, { kept: (query: Query) => find(keyOf(query)) })
  }
}

/** An outcome with where it came from. */
export const read = <T>(outcome: Outcome<T>, cache: CacheState): Outcome<Read<T>> =>
  outcome.ok ? ok({ body: outcome.value, cache }) : outcome
