import { fail, ok, type Outcome } from '../core/base/result.ts'
import { HOME, type Item, ofItemKey, type Page } from '../core/forum/items.ts'
import type { ByteBudget } from '../core/limits/byte-budget.ts'
import { joinPlaces } from '../core/polling/batching.ts'
import type { FeedKind, WatchedFeed } from '../core/polling/feed.ts'
import type { Clock } from '../runtime/runtime.ts'
import { type CacheResult, createShare } from './cache.ts'
import type { Watch, Watches } from './watch.ts'

export type Listed = 'posts' | 'comments'

/** Feeds that one request lists together. `of`: the items that are listed of a source that is read by ids. */
export type PreviewBatch = {
  source?: string | undefined
  kind: FeedKind
  places: readonly string[]
  of?: Listed
}

/** Reads the present items for a filter preview: not a check, and nothing is stored. */
export type PreviewSource = {
  /** The newest items of a batch. An identical recent request is answered from the cache. */
  page(batch: PreviewBatch): Promise<Outcome<CacheResult<Page<Item>>>>
  /**
   * An item by its key as it is now, a comment with its post's title and address; null if it is deleted or not
   * visible to us.
   */
  item(key: string): Promise<Outcome<Item | null>>
}

const PAGE_ROWS = 100
/** Rows of a source that is read by ids, which are requested one by one. */
const SAMPLE_ROWS = 50
/** A preview runs again with every pause in typing. */
const KEEP_MS = 30_000

/** Lookups by id return comments without the title of their post. */
async function withThread(watch: Watch, item: Item): Promise<Item> {
  if (watch.proof !== 'time_listing' || item.kind === 'post' || item.link_title !== null)
    return item
  const { found } = await watch.refetch([`t3_${item.post_id}`])
  const [top] = found
  if (top?.kind !== 'post') return item
  return { ...item, link_title: top.title, link_url: top.link_url ?? top.url }
}

export function createPreviewSource({
  watches,
  clock,
  budget,
}: {
  watches: Watches
  clock: Clock
  /** Counts the cached pages. */
  budget?: ByteBudget | undefined
}): PreviewSource {
  const share = createShare(clock, KEEP_MS, undefined, budget)
  const never = new AbortController().signal
  const cachedPage = share(
    ({ source = HOME, kind, places, of = 'posts' }: PreviewBatch) =>
      `${kind === 'all' ? of : kind} ${kind} ${source} ${joinPlaces(kind, places)}`,
    async ({ source = HOME, kind, places, of = 'posts' }) => {
      const place = joinPlaces(kind, places)
      const watch = watches.get(kind === 'all' ? place : source)
      if (watch === undefined) return fail({ kind: 'not_found', reason: 'absent' })
      return watch.sample({ kind, place, of }, kind === 'all' ? SAMPLE_ROWS : PAGE_ROWS, never)
    },
  )

  return {
    page: cachedPage,
    async item(key) {
      const { source, name: fullname } = ofItemKey(key)
      const watch = watches.get(source)
      if (watch === undefined) return ok(null)
      const { found, fault } = await watch.refetch([fullname])
      if (fault !== null) return fail(fault)
      const item = found.find(({ name }) => name === fullname)
      return ok(item === undefined ? null : await withThread(watch, item))
    },
  }
}

/**
 * The feeds of a filter in at most `most` requests, each kind apart, evenly distributed. `listed`: the items that the
 * filter takes, one request each for a source that is read by ids.
 */
export function previewBatches(
  places: readonly WatchedFeed[],
  most: number,
  listed: readonly Listed[] = ['posts'],
): PreviewBatch[] {
  const kinds = [...Map.groupBy(places, ({ source, kind }) => `${kind} ${source ?? ''}`).values()]
  return kinds.flatMap((mine): PreviewBatch[] => {
    const [{ source, kind } = { source: undefined, kind: 'all' as const }] = mine
    const names = mine.map(({ place }) => place)
    const requests_max = Math.max(1, Math.floor(most / kinds.length))
    // Other kinds cannot be combined, or become too long: the first ones are a sample of all.
    if (kind === 'all')
      return names
        .slice(0, Math.max(1, Math.floor(requests_max / listed.length)))
        .flatMap((it) => listed.map((of) => ({ kind, places: [it], of })))
    if (kind !== 'posts' && kind !== 'comments')
      return names.slice(0, requests_max).map((it) => ({ source, kind, places: [it] }))
    const count = Math.min(requests_max, names.length)
    return Array.from({ length: count }, (_, at) => ({
      source,
      kind,
      places: names.filter((__, i) => i % count === at),
    }))
  })
}
