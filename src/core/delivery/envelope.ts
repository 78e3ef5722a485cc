import { hash } from 'node:crypto'

/**
 * Reason why a delivery was suppressed, with its figures, such as `oldest_age_s` and `threshold_s`.
 */
export type Suppressed = {
  reason: 'delivery_ceiling' | 'stale_item' | 'low_relevance'
  [figure: string]: string | number
}

/** Body of a delivery before serialisation. */
export type Envelope = {
  delivery_id: string
  monitor_id: string
  /** Rows in their public form, with enrichment. */
  items: readonly object[]
  grouped: boolean
  suppressed?: Suppressed
  test?: true
}

/**
 * Serialises the body of a delivery. It is built once and frozen: every attempt sends and signs the
 * same bytes.
 */
export function envelope(content: Envelope): Uint8Array {
  const { delivery_id, monitor_id, items, grouped, suppressed, test } = content
  const body = { delivery_id, monitor_id, count: items.length, grouped, items, suppressed, test }
  return new TextEncoder().encode(JSON.stringify(body))
}

const ID_LENGTH = 22

/**
 * Stable id of one monitor's delivery of these items, in this order, to one target: `dlv_` and 22
 * characters. A match found again after a crash gets the same id, so that receivers can
 * deduplicate. `webhook_id` is null for a row without a target.
 */
export function deliveryId(
  instance_id: string,
  monitor_id: string,
  webhook_id: string | null,
  item_ids: readonly string[],
): string {
  // No id contains `|`, so two different lists never join to the same text.
  const parts = [instance_id, monitor_id, webhook_id ?? '', ...item_ids].join('|')
  return `dlv_${hash('sha256', parts, 'base64url').slice(0, ID_LENGTH)}`
}

/** Limits of a bundle. */

const BUNDLE_ITEMS_MAX = 25
/** Bytes of a body, with room for the fields around the items. */
const BUNDLE_BYTES_MAX = 256 * 1024 - 1024

/** Item of a bundle: creation time (epoch ms), name as a tie-breaker, bytes in the body. */
export type Sized = { created_at: number; name: string; bytes: number }

/** True if a bundle has room for `bytes` more. The first item always fits, however large. */
export const fitsBundle = (bundle: { items: number; bytes: number }, bytes: number): boolean =>
  bundle.items === 0 ||
  (bundle.items < BUNDLE_ITEMS_MAX && bundle.bytes + bytes + 1 <= BUNDLE_BYTES_MAX)

/** Splits matches into bundles, oldest first; the same matches always split the same way. */
export function cutBundles<T extends Sized>(matches: readonly T[]): T[][] {
  const bundles: T[][] = []
  let bytes = 0
  for (const it of matches.toSorted(byAge)) {
    const last = bundles.at(-1)
    if (last !== undefined && fitsBundle({ items: last.length, bytes }, it.bytes)) {
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
