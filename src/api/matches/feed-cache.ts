import { LRUCache } from 'lru-cache'
/** Rendered feed; `etag` is the hash of its bytes. */
type RenderedFeed = { etag: string; bytes: Uint8Array<ArrayBuffer> }

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
export function createFeedCache(bytes_max = BYTES_MAX): FeedCache {
  const entries = new LRUCache<string, RenderedFeed & { version: string }>({
    maxSize: bytes_max,
    maxEntrySize: bytes_max / 2,
    sizeCalculation: ({ bytes }) => bytes.byteLength + ENTRY_BYTES,
  })
  return {
    get(monitor_id, version, render) {
      const cached = entries.get(monitor_id)
      if (cached?.version === version) return cached
      const entry = { version, ...toRendered(render()) }
      entries.set(monitor_id, entry)
      return entry
    },
    bytes: () => entries.calculatedSize,
  }
}

function toRendered(text: string): RenderedFeed {
  const bytes = new TextEncoder().encode(text)
  return { bytes, etag: `"${Bun.hash(bytes).toString(36)}"` }
}
