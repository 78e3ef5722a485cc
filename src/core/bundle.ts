/** How matches are put together that travel in one delivery. */

const BUNDLE_ITEMS_MAX = 25
/** Of a body, with room left for what stands around the items. */
const BUNDLE_BYTES_MAX = 256 * 1024 - 1024

/** What may be bundled: its age (epoch ms), its name to tell equals apart, its size in the body. */
export type Sized = { created_at: number; name: string; bytes: number }

/** Whether one more of so many bytes still fits. The first always does, however large. */
export const hasRoom = (held: { items: number; bytes: number }, bytes: number): boolean =>
  held.items === 0 || (held.items < BUNDLE_ITEMS_MAX && held.bytes + bytes + 1 <= BUNDLE_BYTES_MAX)

/** Cuts matches into bundles, oldest first; the same matches are always cut the same way. */
export function cutBundles<T extends Sized>(matches: readonly T[]): T[][] {
  const bundles: T[][] = []
  let bytes = 0
  for (const it of matches.toSorted(byAge)) {
    const last = bundles.at(-1)
    if (last !== undefined && hasRoom({ items: last.length, bytes }, it.bytes)) {
      last.push(it)
      bytes += it.bytes + 1
    } else {
      bundles.push([it])
      bytes = it.bytes
    }
  }
  return bundles
}

const byAge = (a: Sized, b: Sized): number =>
  a.created_at - b.created_at || (a.name < b.name ? -1 : a.name > b.name ? 1 : 0)
