import { encodeItem } from '../../../src/core/archive/rows.ts'
import type { Item } from '../../../src/core/forum/items.ts'
import { createWorld } from './match-world.ts'

/** Creation of the first item, epoch seconds. */
export const START_S = 1_764_547_200
/** A million items in thirty days. */
export const EVERY_S = 2.592
export const AUTHORS = 20_000
export const SCOPES = ['m:1', 'm:2', 'm:3', 'm:4']
const PLACES = 50

/** The item of a number, in a world of posts: of one of 50 places and 20,000 authors. */
export function archivedItem(world: ReturnType<typeof createWorld>, at: number): Item {
  const created_utc = Math.floor(START_S + at * EVERY_S)
  return {
    ...world.post(at),
    subforum: `place${at % PLACES}`,
    author: `author${(at * 7919) % AUTHORS}`,
    created_utc,
    created: new Date(created_utc * 1000).toISOString(),
    upvotes: (at * 31) % 200,
  }
}

/** The rows of the queue that copies these items, numbered from `from`. */
export const queuedItems = (items: readonly Item[], from: number) =>
  items.map((item, n) => ({
    seq: n,
    item_id: item.name,
    item: encodeItem(item),
    scopes: JSON.stringify([SCOPES[(from + n) % SCOPES.length]]),
    seen_at: (item.created_utc + 60) * 1000,
  }))
