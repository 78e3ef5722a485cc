import { hash } from 'node:crypto'

import { iso } from '../base/time.ts'
import { isErasedRow } from '../forum/purge.ts'

/**
 * Reasons for which a delivery is not sent. `low_relevance`: by the filter's heuristic; `irrelevant`: by the operator's
 * model; `unjudged`: it waited for a verdict until its monitor was removed, or its content was to be erased.
 */
const SUPPRESSED_REASONS = [
  'delivery_ceiling',
  'stale_item',
  'low_relevance',
  'item_deleted',
  'irrelevant',
  'unjudged',
] as const

export type Suppressed = {
  reason: (typeof SUPPRESSED_REASONS)[number]
  [figure: string]: string | number
}

export type DigestInfo = {
  monitor_name: string | null
  /** Period of its matches; an ISO 8601 instant each. */
  from: string
  to: string
  /** IANA time zone of its hour. */
  time_zone: string
}

export type Envelope = {
  delivery_id: string
  monitor_id: string
  /** Rows in their public form, with enrichment. */
  items: readonly object[]
  grouped: boolean
  digest?: DigestInfo
  suppressed?: Suppressed
  test?: true
}

/** Serialises the body of a delivery. Built once and stored with its message, see {@link deliveryBody}. */
export function envelope(content: Envelope): Uint8Array {
  const { delivery_id, monitor_id, items, grouped, digest, suppressed, test } = content
  const count = items.length
  const body = { delivery_id, monitor_id, count, grouped, digest, items, suppressed, test }
  return new TextEncoder().encode(JSON.stringify(body))
}

const ID_BEFORE = Buffer.from('{"delivery_id":"')
const QUOTE = '"'.charCodeAt(0)

/**
 * The body of one delivery of a message, from the stored one: with its own id and, if it is not sent for a reason, with that
 * (JSON). Every attempt sends and signs the same bytes.
 */
export function deliveryBody(stored: Uint8Array, id: string, suppressed: string | null): Buffer {
  const bytes = Buffer.from(stored.buffer, stored.byteOffset, stored.byteLength)
  if (!ID_BEFORE.equals(bytes.subarray(0, ID_BEFORE.length))) return bytes
  const rest = bytes.subarray(bytes.indexOf(QUOTE, ID_BEFORE.length))
  return suppressed === null
    ? Buffer.concat([ID_BEFORE, Buffer.from(id), rest])
    : Buffer.concat([
        ID_BEFORE,
        Buffer.from(id),
        rest.subarray(0, -1),
        Buffer.from(`,"suppressed":${suppressed}}`),
      ])
}

/** A stored body without its erased items, as one that is still to be sent goes out. */
export function withoutErasedItems(stored: Uint8Array): Uint8Array {
  const body: { items?: Readonly<Record<string, unknown>>[] } = JSON.parse(
    new TextDecoder().decode(stored),
  )
  const items = (body.items ?? []).filter((it) => !isErasedRow(it))
  return new TextEncoder().encode(JSON.stringify({ ...body, count: items.length, items }))
}

export type AlarmContent = {
  delivery_id: string
  monitor_id: string
  monitor_name: string | null
  type: 'monitor.alarm' | 'monitor.alarm_ended'
  kind: 'silent' | 'degraded'
  /** Time at which it opened, epoch ms. */
  since_at: number
  /** 0: not a repeat. */
  repeat: number
  /** Hours without a match, for an alarm of kind silent. */
  silent_after_h: number | null
}

/**
 * Serialises the body of an alarm: without items, with `type` and `alarm`, whose title and message are for people.
 */
export function alarmBody(content: AlarmContent): Uint8Array {
  const { delivery_id, monitor_id, monitor_name, type, kind, since_at, repeat } = content
  const since = iso(since_at)
  const alarm = { kind, since, repeat, monitor_name, ...alarmText(content) }
  const body = { delivery_id, monitor_id, count: 0, grouped: false, items: [], type, alarm }
  return new TextEncoder().encode(JSON.stringify(body))
}

function alarmText(content: AlarmContent): { title: string; message: string } {
  const { monitor_name, monitor_id, type, kind, since_at, repeat, silent_after_h } = content
  const name = monitor_name ?? monitor_id
  const state = { silent: 'no matches', degraded: 'coverage degraded' }[kind]
  const why = {
    silent: `The monitor ${name} has had no match for ${silent_after_h} hours or more.`,
    degraded: `The monitor ${name} may have missed items: its coverage is degraded. Its health lists the gaps.`,
  }[kind]
  if (type === 'monitor.alarm_ended') {
    const over = {
      silent: `The monitor ${name} is not silent any more.`,
      degraded: `No gap is known any more in the last 24 hours of the monitor ${name}.`,
    }[kind]
    return {
      title: `Ended: ${state}: ${name}`,
      message: `${over} The alarm began ${iso(since_at)}.`,
    }
  }
  const times = repeat === 0 ? '' : ` Repeat ${repeat}: the alarm is not acknowledged yet.`
  return { title: `Alarm: ${state}: ${name}`, message: why + times }
}

export const ERASURE_REASONS = ['author', 'platform', 'author_gone', 'request'] as const
export type ErasureReason = (typeof ERASURE_REASONS)[number]

/** Content of the delivery of `item.deleted`, which has no text. Instants are epoch ms. */
export type DeletedContent = {
  delivery_id: string
  monitor_id: string
  item: { id: string; source: string }
  /** Monitors of which the target had received it. */
  monitor_ids: readonly string[]
  reason: ErasureReason
  detected_at: number
}

/** Serialises the body of `item.deleted`; `id` of the item is its fullname. */
export function deletedBody(content: DeletedContent): Uint8Array {
  const { delivery_id, monitor_id, item, monitor_ids, reason, detected_at } = content
  const body = {
    delivery_id,
    monitor_id,
    count: 0,
    grouped: false,
    items: [],
    type: 'item.deleted',
    item,
    monitor_ids,
    reason,
    detected_at: iso(detected_at),
  }
  return new TextEncoder().encode(JSON.stringify(body))
}

/** Serialises the body of `item.edited`: the item as it is now, in the form in which matches have it. */
export function editedBody(content: {
  delivery_id: string
  monitor_id: string
  row: object
  detected_at: number
}): Uint8Array {
  const { delivery_id, monitor_id, row, detected_at } = content
  const body = {
    delivery_id,
    monitor_id,
    count: 1,
    grouped: false,
    items: [row],
    type: 'item.edited',
    detected_at: iso(detected_at),
  }
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

/** Name of an item in {@link deliveryId}: another item under the same id has another. `edition`: its creation, epoch s. */
export const editionName = (item_id: string, edition = 0): string =>
  edition === 0 ? item_id : `${item_id}@${edition}`

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
