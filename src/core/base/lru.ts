import { LRUCache } from 'lru-cache'

/**
 * The `entries_max` most recently used entries. Its memory grows with its use: `max` of lru-cache allocates the places of
 * all entries when the cache is created.
 */
export const createLru = <K extends {}, V extends {}>(entries_max: number): LRUCache<K, V> =>
  new LRUCache({ maxSize: entries_max, sizeCalculation: () => 1 })
