import { ok, type Outcome } from '../core/base/result.ts'
import type { ByteBudget, HeldBytes } from '../core/limits/byte-budget.ts'
import type { Clock } from '../runtime/runtime.ts'

/** Estimated bytes per object or array, including its JSON. */
const OBJECT_BYTES = 64
/** Estimated bytes per property: its slot in the object and its copy, and its name in the JSON. */
const PROPERTY_BYTES = 48
/**
 * Bytes per character: at most two in memory, three in the JSON. Control characters and lone
 * surrogates take six there, but are too rare to search every text for.
 */
const LETTER_BYTES = 5

/**
 * Estimated bytes of plain data with its JSON, rather too high than too low. Stops counting beyond
 * `limit`, so that a far too large value costs no more than one just above it. Never recurses: the
 * depth is set by external data.
 */
export function weigh(value: unknown, limit: number): number {
  let bytes = 0
  const waiting = [value]
  while (waiting.length > 0 && bytes <= limit) {
    const it = waiting.pop()
    if (typeof it === 'string') bytes += LETTER_BYTES * it.length
    if (!isObject(it)) continue
    bytes += OBJECT_BYTES
    // `for…in` would first create a string for each index.
    if (Array.isArray(it)) {
      bytes += PROPERTY_BYTES * it.length
      for (const element of it) waiting.push(element)
      continue
    }
    let properties = 0
    let letters = 0
    for (const name in it) {
      properties += 1
      const field = it[name]
      // Most members are strings and numbers, which need no stack entry.
      if (typeof field === 'string') letters += field.length
      else if (isObject(field)) waiting.push(field)
    }
    bytes += PROPERTY_BYTES * properties + LETTER_BYTES * letters
  }
  return bytes
}

const isObject = (it: unknown): it is Readonly<Record<string, unknown>> =>
  typeof it === 'object' && it !== null

export type CacheState = 'hit' | 'shared' | 'miss'

/** The answer to a read. Bodies may be shared between callers and must not be changed. */
export type CacheResult<T> = { body: T; cache: CacheState }

/** Uses a cached answer; only then does it count as a read. */
export type Take<T> = () => CacheResult<T>

export type Shared<Query, T> = {
  (query: Query): Promise<Outcome<CacheResult<T>>>
  /** Takes the cached answer without a request to the platform; null if there is none. */
  cached(query: Query): Take<T> | null
}

/** Creates a read that runs once for all identical queries; `keyOf` identifies them. */
export type Share = {
  <Query, T>(
    keyOf: (query: Query) => string,
    work: (query: Query) => Promise<Outcome<T>>,
  ): Shared<Query, T>
  /** Removes all cached answers, and caches and shares none that was requested before. */
  forget(): void
}

type CacheEntry = { bytes: number; until: number; hold: HeldBytes; forget: () => void }

/** Cache limits: total bytes, and bytes per entry. */
const BYTES_MAX = 64 * 1024 * 1024
const ANSWER_MAX = BYTES_MAX / 8
const NO_HOLD: HeldBytes = { release: () => {} }
/** Fixed overhead per entry, for its key. */
const KEY_OVERHEAD_BYTES = 512

/**
 * Shares identical anonymous reads in flight, and their answer for `keep_ms` after it. Only
 * successful answers are cached: a fault goes to those who waited for it. `on_read` receives the
 * source of every answer. Cached answers count towards `budget`, and are removed when calls need the
 * memory.
 */
export function createShare(
  clock: Clock,
  keep_ms: number,
  on_read: (cache: CacheState) => void = () => {},
  budget?: ByteBudget,
): Share {
  // Cached answers of all reads, oldest first. All live equally long, so the expired ones are in
  // front.
  const all = new Set<CacheEntry>()
  let bytes = 0

  function remove(entry: CacheEntry) {
    all.delete(entry)
    bytes -= entry.bytes
    entry.hold.release()
    entry.forget()
  }

  function evict() {
    for (const oldest of all) {
      if (oldest.until > clock.mono() && bytes <= BYTES_MAX) break
      remove(oldest)
    }
  }

  budget?.onPressure((needed) => {
    const target = bytes - needed
    for (const oldest of all) {
      if (bytes <= target) break
      remove(oldest)
    }
  })

  // Reads in flight that began before the cache was emptied may bring back what it was emptied of.
  let emptied = 0

  function forget(): void {
    emptied += 1
    for (const entry of all) remove(entry)
  }

  const share = <Query, T>(
    keyOf: (query: Query) => string,
    work: (query: Query) => Promise<Outcome<T>>,
  ) => {
    const in_progress = new Map<string, { began: number; outcome: Promise<Outcome<T>> }>()
    const entries = new Map<string, CacheEntry & { body: T }>()

    function store(key: string, body: T) {
      if (keep_ms === 0) return
      const weight = KEY_OVERHEAD_BYTES + weigh(key, ANSWER_MAX) + weigh(body, ANSWER_MAX)
      if (weight > ANSWER_MAX) return
      const hold = budget?.take(null, 'cache', weight) ?? NO_HOLD
      if (typeof hold === 'string') return
      const entry = {
        body,
        bytes: weight,
        until: clock.mono() + keep_ms,
        hold,
        forget: () => void entries.delete(key),
      }
      entries.set(key, entry)
      all.add(entry)
      bytes += weight
      evict()
    }

    function find(key: string): Take<T> | null {
      evict()
      const found = entries.get(key)
      if (found === undefined) return null
      return () => {
        on_read('hit')
        return { body: found.body, cache: 'hit' }
      }
    }

    async function readShared(query: Query): Promise<Outcome<CacheResult<T>>> {
      const key = keyOf(query)
      const take = find(key)
      if (take !== null) return ok(take())
      const other = in_progress.get(key)
      if (other?.began === emptied) {
        on_read('shared')
        return toCacheResult(await other.outcome, 'shared')
      }
      on_read('miss')
      const own = { began: emptied, outcome: work(query) }
      in_progress.set(key, own)
      try {
        const outcome = await own.outcome
        if (outcome.ok && own.began === emptied) store(key, outcome.value)
        return toCacheResult(outcome, 'miss')
      } finally {
        if (in_progress.get(key) === own) in_progress.delete(key)
      }
    }

    return Object.assign(readShared, { cached: (query: Query) => find(keyOf(query)) })
  }
  return Object.assign(share, { forget })
}

export const toCacheResult = <T>(
  outcome: Outcome<T>,
  cache: CacheState,
): Outcome<CacheResult<T>> => (outcome.ok ? ok({ body: outcome.value, cache }) : outcome)
