import { LRUCache } from 'lru-cache'

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
  const entries = new LRUCache<string, CachedFeed>({
    maxSize: bytes_max,
    maxEntrySize: bytes_max / 2,
    sizeCalculation: sizeOf,
    dispose: ({ hold }) => hold?.release(),
  })

  budget?.onPressure((needed) => {
    const target = entries.calculatedSize - needed
    while (entries.size > 0 && entries.calculatedSize > target) entries.pop()
  })

  return {
    get(monitor_id, version, render) {
      const cached = entries.get(monitor_id)
      if (cached?.version === version) return cached
      entries.delete(monitor_id)
      const entry: CachedFeed = { version, ...toRendered(render()), hold: null }
      if (sizeOf(entry) > bytes_max / 2) return entry
      const hold = budget?.take(null, 'cache', sizeOf(entry)) ?? null
      // Without room it is answered and not kept.
      if (typeof hold === 'string') return entry
      entry.hold = hold
      entries.set(monitor_id, entry)
      return entry
    },
    bytes: () => entries.calculatedSize,
  }
}

const sizeOf = ({ bytes }: RenderedFeed): number => bytes.byteLength + ENTRY_BYTES

function toRendered(text: string): RenderedFeed {
  const bytes = new TextEncoder().encode(text)
  return { bytes, etag: `"${Bun.hash(bytes).toString(36)}"` }
}
