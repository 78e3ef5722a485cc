import type { ByteBudget, HeldBytes } from '../../core/limits/byte-budget.ts'

/** Rendered feed; `etag` is the hash of its bytes. */
type RenderedFeed = { etag: string; bytes: Uint8Array<ArrayBuffer> }

type CachedFeed = RenderedFeed & { version: string; hold: HeldBytes | null }

/** Bytes of all rendered feeds; one feed may take half. */
const BYTES_MAX = 16 * 1024 * 1024
/** Memory of an entry besides its bytes. */
const ENTRY_BYTES = 512

/** Rendered feeds by monitor, least recently used evicted first. */
export type FeedCache = {
  /**
   * Feed of a monitor; rendered if there is none of this `version`, which identifies its content.
   */
  get(monitor_id: string, version: string, render: () => string): RenderedFeed
  bytes(): number
}

/**
 * Creates a cache of rendered feeds: rendering fifty matches takes milliseconds of the event loop,
 * comparing versions does not.
 */
export function createFeedCache({
  bytes_max = BYTES_MAX,
  budget,
}: {
  bytes_max?: number
  /** Counts the kept feeds, which are evicted when calls need the memory. */
  budget?: ByteBudget
} = {}): FeedCache {
  const entries = new Map<string, CachedFeed>()
  let total = 0

  function forget(monitor_id: string) {
    const entry = entries.get(monitor_id)
    if (entry === undefined) return
    entries.delete(monitor_id)
    total -= entry.bytes.byteLength + ENTRY_BYTES
    entry.hold?.release()
  }

  budget?.onPressure((needed) => {
    const target = total - needed
    for (const oldest of entries.keys()) {
      if (total <= target) break
      forget(oldest)
    }
  })

  return {
    get(monitor_id, version, render) {
      const cached = entries.get(monitor_id)
      forget(monitor_id)
      const entry: CachedFeed =
        cached?.version === version ? cached : { version, ...toRendered(render()), hold: null }
      const size = entry.bytes.byteLength + ENTRY_BYTES
      if (size > bytes_max / 2) return entry
      for (const oldest of entries.keys()) {
        if (total + size <= bytes_max) break
        forget(oldest)
      }
      const hold = budget?.take(null, 'cache', size) ?? null
      // Without room it is answered and not kept.
      if (typeof hold === 'string') return entry
      entry.hold = hold
      entries.set(monitor_id, entry)
      total += size
      return entry
    },
    bytes: () => total,
  }
}

function toRendered(text: string): RenderedFeed {
  const bytes = new TextEncoder().encode(text)
  return { bytes, etag: `"${Bun.hash(bytes).toString(36)}"` }
}
