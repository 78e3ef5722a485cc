import { ok } from '../../src/core/base/result.ts'
import { earliestOffset, reportedOffset } from '../../src/core/base/time.ts'
import { HOME } from '../../src/core/forum/items.ts'
import { createWatch, type ListingWatch, type Watches } from '../../src/gateway/watch.ts'
import type { ItemStates, SourceReads } from '../../src/platforms/port.ts'
import { READ_CAPABILITIES, type Source } from '../../src/platforms/source.ts'

/** A watch of listings with no items, but for what is given. `measured_ms`: lead of its clock. */
export const listingWatch = ({
  measured_ms = () => 0,
  ...given
}: Partial<ListingWatch> = {}): ListingWatch => ({
  name: HOME,
  proof: 'time_listing',
  has: () => true,
  isPlace: () => true,
  spell: (place) => place,
  place: async () => ({ kind: 'exists' }),
  placeNames: async () => [],
  partialFor: () => null,
  per_minute: () => Infinity,
  createdAt: async () => ok(null),
  refetch: async (tried) => ({ tried, found: [], fault: null }),
  sample: async () => ok({ rows: [], after: null }),
  left_out: () => null,
  measured_ms,
  ahead_ms: () => reportedOffset(measured_ms()),
  earliest_ms: () => earliestOffset(measured_ms()),
  behind_ms: () => 0,
  ours: (at) => at,
  page: async () => ok({ rows: [], after: null }),
  byId: async () => ok([]),
  present: async () => ok([]),
  copy_ms: () => 0,
  ...given,
})

/** The source `home` alone. */
export const watchesOf = (watch: ListingWatch): Watches => new Map([[watch.name, watch]])

/** A source whose listings are polled, over scripted reads. */
export const listedSource = (
  reads: SourceReads,
  { states, ahead_ms = () => 0 }: { states?: ItemStates | undefined; ahead_ms?: () => number } = {},
): Source => ({
  kind: 'reddit',
  url: 'https://www.forum.test',
  capabilities: new Set(READ_CAPABILITIES),
  reads,
  watch: null,
  has_listings: true,
  ...(states && { states }),
  acts: {},
  authorization: null,
  isPlace: () => true,
  place_examples: [],
  targetOf: () => null,
  clock_offset_ms: ahead_ms,
  isDown: () => false,
  probe: async () => ok({ title: null, version: null, notes: [] }),
})

/** @throws {Error} if the source has no listings */
export function createListingWatch(options: Parameters<typeof createWatch>[0]): ListingWatch {
  const watch = createWatch(options)
  if (watch?.proof !== 'time_listing') throw new Error('the source has no listings')
  return watch
}
