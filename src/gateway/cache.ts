import type { Outcome } from '../core/outcome.ts'
import { ok } from '../core/outcome.ts'
import type { Clock } from '../outside.ts'
import { weigh } from './weight.ts'

/** Where an answer came from: kept from a moment ago, of a read that was under way, or of one of its own. */
export type CacheState = 'hit' | 'shared' | 'miss'

/** What a read answers with. Bodies may be shared between callers: nobody changes one. */
export type Read<T> = { body: T; cache: CacheState }

/** Takes an answer that is kept; only then is it a read. */
export type Take<T> = () => Read<T>

/** A read that others may have asked for already. */
export type Shared<Query, T> = {
  (query: Query): Promise<Outcome<Read<T>>>
  /** How to take the answer that is kept, without asking anybody; null when there is none. */
  kept(query: Query): Take<T> | null
}

/** Makes a read that is asked once for all who ask it: `keyOf` tells equal questions. */
export type Share = <Query, T>(
  keyOf: (query: Query) => string,
  work: (query: Query) => Promise<Outcome<T>>,
) => Shared<Query, T>

type Kept = { bytes: number; until: number; forget: () => void }

/** What all that is kept may take together, and what one answer of it may, so that it does not take the place of all others. */
const BYTES_MAX = 64 * 1024 * 1024
const ANSWER_MAX = BYTES_MAX / 8
/** Of an answer, whatever it says: what it is found by. */
const FOUND_BY = 512

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
  // Whatever they answer. Oldest first; all are kept equally long, so the expired ones stand in front.
  const all = new Set<Kept>()
  let bytes = 0

  function makeRoom() {
    for (const oldest of all) {
      if (oldest.until > clock.mono() && bytes <= BYTES_MAX) break
      all.delete(oldest)
      bytes -= oldest.bytes
      oldest.forget()
    }
  }

  return <Query, T>(
    keyOf: (query: Query) => string,
    work: (query: Query) => Promise<Outcome<T>>,
  ) => {
    const under_way = new Map<string, Promise<Outcome<T>>>()
    const kept = new Map<string, Kept & { body: T }>()

    function keep(key: string, body: T) {
      if (keep_ms === 0) return
      const weight = FOUND_BY + weigh(key, ANSWER_MAX) + weigh(body, ANSWER_MAX)
      if (weight > ANSWER_MAX) return
      const entry = {
        body,
        bytes: weight,
        until: clock.mono() + keep_ms,
        forget: () => void kept.delete(key),
      }
      kept.set(key, entry)
      all.add(entry)
      bytes += weight
      makeRoom()
    }

    function find(key: string): Take<T> | null {
      makeRoom()
      const found = kept.get(key)
      if (found === undefined) return null
      return () => {
        on_read('hit')
        return { body: found.body, cache: 'hit' }
      }
    }

    async function ask(query: Query): Promise<Outcome<Read<T>>> {
      const key = keyOf(query)
      const take = find(key)
      if (take !== null) return ok(take())
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
