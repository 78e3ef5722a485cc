import type { Item, Page } from '../core/items.ts'
import { ok, type Outcome } from '../core/outcome.ts'
import { joinPlaces } from '../core/planner.ts'
import type { StreamKind } from '../core/stream.ts'
import type { Clock } from '../outside.ts'
import { createShare, type Read } from './cache.ts'
import type { Watch } from './watch.ts'

/** Feeds that one request lists together. */
export type Lot = { kind: StreamKind; places: readonly string[] }

/** Looks at what is there, for who wants to try a filter: not a check, and nothing is written down. */
export type Sampling = {
  /** The newest rows of a lot. What another has just asked for is answered from memory. */
  page(lot: Lot): Promise<Outcome<Read<Page<Item>>>>
  /** An item as it is now, a comment with its thread's title and address; null when it is gone or kept from us. */
  item(fullname: string): Promise<Outcome<Item | null>>
}

const PAGE_ROWS = 100
/** Who types a filter asks again with every pause. */
const KEEP_MS = 30_000

/** Sampling through the monitors' own way to the platform. */
export function createSampling({ watch, clock }: { watch: Watch; clock: Clock }): Sampling {
  const share = createShare(clock, KEEP_MS)
  const never = new AbortController().signal
  const listed = share(
    (lot: Lot) => `${lot.kind} ${joinPlaces(lot.kind, lot.places)}`,
    ({ kind, places }) =>
      watch.page(
        { kind, place: joinPlaces(kind, places) },
        { limit: PAGE_ROWS, after: null },
        never,
      ),
  )

  /** Asked for by its id, a comment does not say what stands above it. */
  async function withThread(item: Item): Promise<Item> {
    if (item.kind === 'post' || item.link_title !== null) return item
    const found = await watch.again([`t3_${item.post_id}`])
    const [top] = found.ok ? found.value : []
    if (top?.kind !== 'post') return item
    return { ...item, link_title: top.title, link_url: top.link_url ?? top.url }
  }

  return {
    page: listed,
    async item(fullname) {
      const found = await watch.again([fullname])
      if (!found.ok) return found
      const item = found.value.find(({ name }) => name === fullname)
      return ok(item === undefined ? null : await withThread(item))
    },
  }
}

/** The feeds of a spec in at most `most` requests, each kind apart, as evenly as they go. */
export function lotsOf(
  places: readonly { kind: StreamKind; place: string }[],
  most: number,
): Lot[] {
  const kinds = [...Map.groupBy(places, ({ kind }) => kind)]
  return kinds.flatMap(([kind, mine]): Lot[] => {
    const names = mine.map(({ place }) => place)
    const room = Math.max(1, Math.floor(most / kinds.length))
    // Of the others none can be listed together, or joined they are soon too long: the first ones speak for all.
    if (kind !== 'posts' && kind !== 'comments')
      return names.slice(0, room).map((it) => ({ kind, places: [it] }))
    const count = Math.min(room, names.length)
    return Array.from({ length: count }, (_, at) => ({
      kind,
      places: names.filter((__, i) => i % count === at),
    }))
  })
}
